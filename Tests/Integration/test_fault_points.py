"""A debug build killed, and failing, at each named place at which it changes a file."""
import itertools
import os
import time

import pytest

import harness
from harness import until

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEBUG = os.environ.get("UPLINKD_DEBUG_BIN") or os.path.join(ROOT, ".build", "debug", "uplinkd")
PANICKED = 99
PLACES = [
    f"{side}-{call}-{kind}"
    for side, (call, kind) in itertools.product(
        ("before", "after"),
        [("write", "segment"), ("sync", "segment"), ("write", "spare"), ("sync", "spare"), ("rename", "segment"),
         ("directory", "segment"), ("unlink", "segment"), ("write", "cursors"), ("sync", "cursors"),
         ("rename", "cursors"), ("directory", "cursors"), ("rename", "spare")],
    )
]
# The first time, and of what is done often the fourth.
PASSES = [(place, 0) for place in PLACES] + [(place, 3) for place in PLACES if "-write-" in place or "-sync-" in place]
# Small segments, so that each place is passed within a second, the first one shorter, so that it is not used again.
SECTIONS = "[Reachability]\nCheckInterval=1s\n[Queue]\nMaxSize=128M\nKeepFree=0%"

pytestmark = pytest.mark.skipif(not os.path.exists(DEBUG), reason="there is no debug build")


class Case:
    """A daemon that is posted to while its fault waits, and what it acknowledged."""

    def __init__(self, daemons, collector, monkeypatch):
        monkeypatch.setattr(harness, "UPLINKD", DEBUG)
        self.collector = collector
        self.acknowledged = set()
        self.next = 0
        self.daemon = daemons(url=collector.url, options="RetryMin=250ms\nFlushSpread=0", sections=SECTIONS)

    def post(self, count=20):
        numbers = list(range(self.next, self.next + count))
        self.next += count
        try:
            code, _, answer = self.daemon.post([{"n": number, "x": "y" * 1_000} for number in numbers])
        except (OSError, ValueError):
            return
        if code == 202:
            self.acknowledged.update(numbers[: answer["accepted"]])

    def is_over(self):
        return self.daemon.process.poll() is not None

    def check(self):
        """All that was acknowledged arrives, and the sum is right."""
        until(lambda: self.acknowledged <= set(self.collector.numbers()), 20,
              "every acknowledged event arrives")
        until(lambda: self.daemon.assert_ledger()["queued"] == 0, 10, "nothing is queued")
        ledger = self.daemon.assert_ledger()
        assert ledger["quarantined"] == 0 and ledger["dead"] == 0, ledger
        assert ledger["accepted"] >= len(self.acknowledged)


@pytest.mark.parametrize("place, skip", PASSES)
def test_a_daemon_that_ends_there_loses_nothing(daemons, collector, monkeypatch, place, skip):
    case = Case(daemons, collector, monkeypatch)
    case.daemon.environment = {"UPLINKD_FAULT": f"{place}:panic", "UPLINKD_FAULT_SKIP": str(skip)}
    case.daemon.start(wait=False)
    began = time.monotonic()
    while not case.is_over() and time.monotonic() < began + 12:
        case.post()
        time.sleep(0.01)
    if not case.is_over():
        # Rare ones are not passed that many times.
        assert skip, f"{place} was never passed:\n{case.daemon.read_log()}"
        case.daemon.kill()
    else:
        assert case.daemon.process.returncode == PANICKED, case.daemon.read_log()
    case.daemon.environment = {}
    case.daemon.start()
    case.post()
    assert case.acknowledged
    case.check()


@pytest.mark.parametrize("place", PLACES)
def test_one_error_there_loses_nothing(daemons, collector, monkeypatch, place):
    case = Case(daemons, collector, monkeypatch)
    case.daemon.environment = {"UPLINKD_FAULT": f"{place}:eio", "UPLINKD_FAULT_SKIP": "2"}
    case.daemon.start()
    for _ in range(60):
        case.post()
        time.sleep(0.01)
    case.check()
    case.daemon.kill()
    case.daemon.start()
    case.check()
