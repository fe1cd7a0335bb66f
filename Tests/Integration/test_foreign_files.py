"""Files that have the name of a segment: nobody who reads the queue is misled by them, and none is removed."""
import os
import shutil
import subprocess

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


@pytest.mark.parametrize("passed", [True, False])
def test_a_letter_that_is_none(daemons, collector, passed):
    """A file with the name of a dead letter, of an event that is settled or that waits: told, and nothing more."""
    daemon = daemons(url=collector.url if passed else "http://127.0.0.1:1/", options="FlushSpread=0", sections=SMALL)
    daemon.start()
    daemon.post_numbers(range(20))
    until(lambda: daemon.assert_ledger()["delivered"] == (20 if passed else 0), 10, "the cursor is where it should be")
    assert daemon.stop() == 0
    path = os.path.join(daemon.queue, "dead", "main", "normal-00000000000000000007.letter")
    os.makedirs(os.path.dirname(path))
    with open(path, "wb") as file:
        file.write(b"not a letter")
    status, report = verify(daemon.queue)
    assert status == 1 and [each["kind"] for each in report["damage"]] == ["stray"], report
    daemon.destinations = {"main": collector.url}
    daemon.write_configuration("FlushSpread=0", SMALL)
    for _ in range(2):
        daemon.start()
        until(lambda: daemon.assert_ledger()["queued"] == 0, 20, daemon.destination)
        ledger = daemon.assert_ledger()
        assert (ledger["delivered"], ledger["dead"]) == (20, 0), ledger
        assert os.path.basename(path) in daemon.read_log(), "it is named"
        assert daemon.stop() == 0
    assert sorted(set(collector.numbers())) == list(range(20)) and open(path, "rb").read() == b"not a letter"


def used(daemon):
    """What `du` shows of the queue's directory, bytes, and what status does."""
    shown = int(subprocess.check_output(["du", "-sB1", daemon.queue]).split()[0])
    return shown, daemon.status()["queue"]["bytes"]


def test_what_lies_beside_the_queue_takes_its_room(daemons):
    """Two strays: what is there at the start counts at once, and a lane that is over its share is refused."""
    daemon = daemons(url="http://127.0.0.1:1/", sections=SMALL)
    daemon.start()
    daemon.post_numbers(range(10))
    assert daemon.stop() == 0
    os.makedirs(os.path.join(daemon.queue, "old", "deep"))
    for place in ("core", "old/deep/core"):
        with open(os.path.join(daemon.queue, place), "wb") as file:
            file.write(os.urandom(1_500_000))
    daemon.start()
    shown, told = used(daemon)
    assert told >= shown - 16_384 and told > 3_000_000, (shown, told)
    posted, answers = 0, []
    while len(answers) < 300 and 503 not in answers:
        answers.append(daemon.post([{"n": number, "x": "y" * 1000} for number in range(10)], lane="normal")[0])
        posted += 10 * (answers[-1] == 202)
    assert answers[-1] == 503 and posted > 0, answers
    shown, told = used(daemon)
    assert shown <= 4 << 20 and told >= shown - 16_384, (shown, told)
    assert daemon.assert_ledger()["accepted"] == posted + 10
    assert daemon.stop() == 0
