"""Files that have the name of a segment: nobody who reads the queue is misled by them, and none is removed."""
import os
import shutil

import pytest

from harness import until
from test_inspect import FIXTURE, export, read, segments_of, verify

SMALL = "MaxSize=4M\nKeepFree=0%\nBlock=512\n"


def copy(queue, log, number, new_log, new_name):
    source = segments_of(queue, log)[number]
    target = os.path.join(queue, "logs", new_log, new_name or os.path.basename(source))
    assert not os.path.exists(target)
    shutil.copy(source, target)
    return target


def made(queue, data, name):
    path = os.path.join(queue, "logs", "normal", name)
    with open(path, "wb") as file:
        file.write(data)
    return path


CASES = {
    "a copy of an older segment": lambda queue: copy(
        queue, "normal", 0, "normal", "0000000000001000-00000000000000000050.segment"),
    "the same segment twice": lambda queue: copy(
        queue, "normal", 0, "normal", os.path.basename(segments_of(queue)[0])[:17] + "00000000000000000050.segment"),
    "another log's": lambda queue: copy(queue, "urgent", 0, "normal", None),
    "another queue's": lambda queue: shutil.copy(
        segments_of(os.path.join(FIXTURE, "queue"))[-1],
        os.path.join(queue, "logs", "normal", "0000000000001000-00000000000000000002.segment")),
    "an empty file": lambda queue: made(queue, b"", "0000000000001000-00000000000000000002.segment"),
    "zeros": lambda queue: made(queue, bytes(65536), "0000000000001000-00000000000000000300.segment"),
    "the greatest id": lambda queue: made(queue, b"{}\n", "0001000000000000-00000000000000000007.segment"),
}


@pytest.mark.parametrize("case", CASES)
def test_nobody_is_misled(daemons, collector, case):
    daemon = daemons(url="http://127.0.0.1:1/", sections=SMALL)
    daemon.start()
    for first in range(0, 600, 60):
        daemon.post([{"n": number, "x": "y" * 200} for number in range(first, first + 60)])
    daemon.post([{"n": number} for number in range(600, 610)], lane="urgent")
    daemon.stop()
    path = CASES[case](daemon.queue)
    before = open(path, "rb").read()
    status, report = verify(daemon.queue)
    assert status == 1 and [each["kind"] for each in report["damage"]] == ["stray"], report
    status, events, summary = export(daemon.queue)
    assert sorted(event["n"] for event in events.values()) == list(range(610)) and not summary["damage"], summary
    assert read(daemon.queue)[0] == events
    daemon.destinations = {"main": collector.url}
    daemon.write_configuration("FlushSpread=0", SMALL)
    daemon.start()
    until(lambda: sorted(set(collector.numbers())) == list(range(610)), 20, lambda: daemon.read_log())
    until(lambda: daemon.assert_ledger()["queued"] == 0, 10, "all is counted")
    ledger = daemon.assert_ledger()
    assert (ledger["delivered"], ledger["quarantined"]) == (610, 0), ledger
    assert os.path.basename(path) in daemon.read_log(), "it is named"
    until(lambda: len(segments_of(daemon.queue)) <= 3, 10, "the others go")
    assert daemon.stop() == 0
    assert open(path, "rb").read() == before
