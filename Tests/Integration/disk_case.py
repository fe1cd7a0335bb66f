"""A daemon whose queue lies on a disk of its own, and what its clients and its collector know."""
import re
import time

from disks import run
from harness import Script, until
from load import Poster

LINES_A_MINUTE = 10
CURE_SECONDS = 10
OPTIONS = "RetryMin=250ms\nRetryMax=5s\nFlushSpread=0"
SECTIONS = "[Reachability]\nCheckInterval=500ms\n[Queue]\nKeepFree=0%\n"


class Case:
    """A daemon whose queue lies on a disk of its own, and what its clients and its collector know."""

    def __init__(self, disk, daemons, collector, sections="MaxSize=64M", start=True, **options):
        self.disk, self.collector = disk, collector
        self.daemon = daemons(url=collector.url, **options)
        self.daemon.disk = disk
        self.daemon.queue = disk.queue
        self.daemon.write_configuration(OPTIONS, SECTIONS + sections)
        self.poster = Poster(self.daemon)
        self.kills = 0
        # Refused after they had been written: a start may find them.
        self.unsure = set()
        collector.script = Script(status=503)
        if start:
            self.daemon.start()

    def __str__(self):
        status = self.daemon.status()
        return (f"{self.poster.refusal}\n{status['storage']}\n{status['queue']}\n{self.disk.free()} bytes free\n"
                f"{run('find', self.disk.mount, '-ls')}\n{self.daemon.read_log()}")

    def assert_refused(self, told):
        """Nothing is taken, with a reason and a time to retry; status and readiness say so."""
        assert not self.poster.post(1)
        status, headers, problem = self.poster.refusal
        assert status == 503 and int(headers["Retry-After"]) > 0, self.poster.refusal
        assert re.search(told, problem["detail"]), problem
        storage = until(lambda: (found := self.daemon.status()["storage"])["state"] != "ok" and found, 5,
                        f"status tells {self}")
        assert storage["detail"], storage
        return storage

    def assert_quiet(self, seconds):
        """A client that insists gets refusals, and the log a few lines of it."""
        lines, begun = len(open(self.daemon.log).readlines()), len(self.poster.refused)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert not self.poster.post(1)
            time.sleep(0.01)
        assert len(self.poster.refused) > begun + 10
        new = open(self.daemon.log).readlines()[lines:]
        assert len(new) <= LINES_A_MINUTE * max(1, seconds / 60), "".join(new)

    def assert_taken_again(self):
        """Once cured it takes events again by itself, and says so."""
        until(lambda: self.poster.post(1), CURE_SECONDS, f"takes events again\n{self}")
        until(lambda: self.daemon.status()["storage"]["state"] == "ok", 5, "status tells")
        assert self.daemon.status()["state"] == "running"

    def assert_drains(self):
        """What was acknowledged arrives, in order, and nothing else; once, but for a batch after a kill."""
        self.collector.script = Script()
        until(lambda: set(self.collector.numbers()) >= set(self.poster.accepted), 30,
              f"all arrives: {len(set(self.collector.numbers()))} of {len(self.poster.accepted)}")
        until(lambda: self.daemon.assert_ledger()["queued"] == 0, 10, "nothing is queued")
        numbers = self.collector.numbers()
        salvaged = set(numbers) & self.unsure
        first = [number for number in dict.fromkeys(numbers) if number not in salvaged]
        assert first == self.poster.accepted, "nothing that was refused, in order"
        batch = max(len(events) for *_, events in self.collector.posts())
        taken = len(first) + len(salvaged)
        assert len(numbers) <= taken + batch * self.kills, "once"
        ledger = self.daemon.assert_ledger()
        assert ledger["accepted"] == ledger["delivered"] == taken, ledger
