"""Full disks: refused with a reason and counted, drained without a byte free, and taken up again without a restart."""
import contextlib
import os
import re
import threading
import time

import pytest

from disks import run
from harness import Script, until
from load import Poster

# For how long a client insists while the disk is full, and the lines are counted.
FULL_SECONDS = int(os.environ.get("UPLINKD_FULL_SECONDS", "4"))
LINES_A_MINUTE = 10
CURE_SECONDS = 10
OPTIONS = "RetryMin=250ms\nFlushSpread=0"
SECTIONS = "[Reachability]\nCheckInterval=500ms\n[Queue]\nKeepFree=0%\n"
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")


class Case:
    """A daemon whose queue lies on a disk of its own, and what its clients and its collector know."""

    def __init__(self, disk, daemons, collector, sections="MaxSize=64M", wrap=()):
        self.disk, self.collector = disk, collector
        self.daemon = daemons(url=collector.url, wrap=wrap)
        self.daemon.disk = disk
        self.daemon.queue = disk.queue
        self.daemon.write_configuration(OPTIONS, SECTIONS + sections)
        self.poster = Poster(self.daemon)
        self.kills = 0
        collector.script = Script(status=503)
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
        storage = until(lambda: (found := self.daemon.status()["storage"])["state"] != "ok" and found, 5, "status tells")
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
        assert list(dict.fromkeys(numbers)) == self.poster.accepted, "nothing that was refused, in order"
        batch = max(len(events) for *_, events in self.collector.posts())
        assert len(numbers) <= len(self.poster.accepted) + batch * self.kills, "once"
        ledger = self.daemon.assert_ledger()
        assert ledger["accepted"] == ledger["delivered"] == len(self.poster.accepted), ledger


class Greed(threading.Thread):
    """Takes each byte of a disk that gets free, until told to stop."""

    def __init__(self, disk):
        super().__init__(daemon=True)
        self.disk, self.enough = disk, threading.Event()
        self.start()

    def run(self):
        while not self.enough.wait(0.02):
            with contextlib.suppress(OSError):
                self.disk.fill()


    def stop(self):
        self.enough.set()
        self.join()


@pytest.mark.parametrize("by", ["the queue", "another"])
@pytest.mark.parametrize("kind", ["ext4", "xfs", "tmpfs", "btrfs"])
def test_full_disk(disks, daemons, collector, kind, by):
    """Filled by the queue or by another file; SIGTERM, starts and a kill while it is full; drained at 0 bytes free."""
    disk = disks(kind)
    case = Case(disk, daemons, collector)
    assert case.poster.post()
    if by == "another":
        disk.fill()
    case.poster.until_refused()
    storage = case.assert_refused("full")
    assert storage["state"] == "full"
    greed = Greed(disk)
    case.assert_quiet(FULL_SECONDS)
    assert case.daemon.stop(5) == 0
    for _ in range(5):
        case.daemon.start()
        case.assert_refused("full")
        assert case.daemon.assert_ledger()["queued"] == len(case.poster.accepted)
        case.daemon.kill()
        case.kills += 1
    case.daemon.start()
    case.assert_drains()
    greed.stop()
    disk.clear()
    case.assert_taken_again()
    case.assert_drains()
    assert case.daemon.stop(5) == 0


def test_keep_free(disks, daemons, collector):
    """What `KeepFree` reserves is no room; other files eat into it, the queue does not."""
    disk = disks("ext4")
    case = Case(disk, daemons, collector, "MaxSize=64M\nKeepFree=40%")
    case.poster.until_refused()
    storage = case.assert_refused("full")
    total = os.statvfs(disk.mount)
    assert disk.free() >= total.f_blocks * total.f_frsize * 0.4 - (1 << 16), "it keeps its word"
    assert "keep" in storage["detail"] or "free" in storage["detail"], storage
    disk.fill()
    case.assert_drains()
    disk.clear()
    case.assert_taken_again()
    case.assert_drains()


@pytest.mark.parametrize("kind", ["ext4", "tmpfs"])
def test_no_inodes(disks, daemons, collector, kind):
    """No file can be made, though there are bytes enough."""
    disk = disks(kind, make=("-N", "32")) if kind == "ext4" else disks(kind, options="nr_inodes=32")
    case = Case(disk, daemons, collector, "MaxSize=6M")
    assert case.poster.post()
    names = []
    try:
        while len(names) < 64:
            path = os.path.join(disk.mount, f"small-{len(names)}")
            open(path, "w").close()
            names.append(path)
    except OSError:
        pass
    assert len(names) < 64 and disk.free() > 1 << 20
    case.poster.until_refused()
    case.assert_refused("")
    case.assert_quiet(FULL_SECONDS)
    assert case.daemon.stop(5) == 0
    case.daemon.start()
    case.assert_refused("")
    for path in names:
        os.unlink(path)
    case.assert_taken_again()
    case.assert_drains()


def test_limit_of_file_sizes(disks, daemons, collector):
    """RLIMIT_FSIZE: EFBIG instead of a signal that ends it."""
    case = Case(disks("ext4", 64), daemons, collector)
    assert case.poster.post()
    run("prlimit", f"--pid={case.daemon.pid()}", "--fsize=65536:unlimited")
    case.poster.until_refused()
    assert "EFBIG" in case.assert_refused("disk")["detail"]
    case.assert_quiet(FULL_SECONDS)
    run("prlimit", f"--pid={case.daemon.pid()}", "--fsize=unlimited")
    case.assert_taken_again()
    case.assert_drains()
    assert case.daemon.stop(5) == 0


def test_quota(disks, daemons, collector):
    """EDQUOT, from a group of btrfs: room by statvfs, and none for this folder."""
    disk = disks("btrfs", 128)
    run("btrfs", "quota", "enable", disk.mount)
    os.rmdir(disk.queue)
    run("btrfs", "subvolume", "create", disk.queue)
    os.chmod(disk.queue, 0o700)
    run("btrfs", "qgroup", "limit", "4M", disk.queue)
    case = Case(disk, daemons, collector, "MaxSize=32M")
    case.poster.until_refused()
    storage = case.assert_refused("full|disk")
    assert disk.free() > 16 << 20
    assert "EDQUOT" in storage["detail"], storage
    case.assert_quiet(FULL_SECONDS)
    assert case.daemon.stop(5) == 0
    case.daemon.start()
    case.assert_refused("full|disk")
    run("btrfs", "qgroup", "limit", "64M", disk.queue)
    case.assert_taken_again()
    case.assert_drains()
