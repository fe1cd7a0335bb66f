"""Calls and devices that fail: what was acknowledged is never lost, what was not is refused with a reason.

UPLINKD_DISK_ERRORS=all has a power cut after each kind of call, and every kind of device error on each file system.
"""
import errno
import os
import re
import time

import pytest

from disk_case import CURE_SECONDS, OPTIONS, SECTIONS, Case
from disks import run
from harness import Script, until
from load import Load
from shim import Shim

ALL = os.environ.get("UPLINKD_DISK_ERRORS") == "all"
FAILING_SECONDS = int(os.environ.get("UPLINKD_FAILING_SECONDS", "3"))
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
# What the daemon does with its files: commits, the next segment made ready and opened, cursors, retirement, reading.
CALLS = [
    ("pwrite", ".segment"), ("fdatasync", ".segment"), ("open", "/spare"), ("pwrite", "/spare"),
    ("fdatasync", "/spare"), ("rename", "/spare"), ("fsync", "/logs/normal"), ("pwrite", "/cursors"),
    ("fdatasync", "/cursors"), ("rename", ".segment"), ("pread", ".segment"),
]


class Work:
    """Clients that post without end to a daemon that rotates, retires and delivers all the while, on a disk."""

    def __init__(self, disk, daemons, collector, environment=None, size="4M", pause=0.003):
        self.disk, self.collector, self.pause = disk, collector, pause
        self.daemon = daemons(url=collector.url, environment=environment)
        self.daemon.disk, self.daemon.queue = disk, disk.queue
        # Segments of a 64th, 64 KiB at least.
        self.daemon.write_configuration(OPTIONS, SECTIONS + "MaxSize=" + size)
        self.loads, self.acknowledged = [], set()
        self.daemon.start()
        self.begin()

    def begin(self):
        first = len(self.loads)
        new = [Load(self.daemon, first + client, pause=self.pause) for client in range(3)]
        self.loads += new
        for load in new:
            load.start()

    def end(self):
        """Stops the clients; all numbers that were acknowledged to them."""
        for load in self.loads:
            load.enough.set()
        for load in self.loads:
            load.join(20)
            self.acknowledged |= load.acknowledged

    def count(self):
        return sum(len(load.acknowledged) for load in self.loads)

    def refusals(self):
        return [refusal for load in self.loads for refusal in load.refusals]

    def assert_goes_on(self):
        """Events are taken by itself, soon after the cure."""
        before = self.count()
        until(lambda: self.count() > before + 50, CURE_SECONDS, f"takes events again\n{self.daemon.read_log()}")

    def missing(self):
        return self.acknowledged - set(self.collector.numbers())

    def assert_all_arrives(self):
        """Every acknowledged event, each client's in order, nothing that no client sent, and a ledger that adds up."""
        self.collector.script = Script()
        until(lambda: not self.missing(), 30, f"{len(self.missing())} are missing\n{self.daemon.read_log()}")
        until(lambda: self.daemon.assert_ledger()["queued"] == 0, 10, "nothing is queued")
        first = list(dict.fromkeys(self.collector.numbers()))
        for client, load in enumerate(self.loads):
            numbers = [int(each.split("-")[1]) for each in first if each.startswith(f"{client}-")]
            assert numbers == sorted(numbers) and all(number < load.next for number in numbers)
        ledger = self.daemon.assert_ledger()
        assert ledger["quarantined"] == 0 and ledger["accepted"] == ledger["delivered"] >= len(self.acknowledged)

    def cut_power(self):
        """Shuts the file system down below the daemon and starts it again on what is left, without the shim."""
        self.disk.shut_down()
        self.daemon.kill()
        self.end()
        self.disk.remount()
        self.daemon.environment = {}
        self.daemon.start()


def fail(shim, work, call, path, seconds, half=False):
    """One kind of call fails, once or for a while; then all goes on by itself."""
    # While all is delivered at once, segments are recycled and none is made.
    work.collector.script = Script(status=503 if call == "open" else 200)
    shim.fail(call, path, errno.EIO, count=1 if seconds == 0 else -1, half=half)
    until(lambda: shim.hits > 0, 10, f"{call} of {path} is called")
    work.collector.script = Script()
    time.sleep(seconds)
    shim.heal()
    work.assert_goes_on()


@pytest.mark.parametrize("seconds, half", [(0, False), (0, True), (1, False)], ids=["once", "half a write", "a second"])
@pytest.mark.parametrize("calls", [CALLS] if not ALL else [[call] for call in CALLS],
                         ids=["each"] if not ALL else [f"{call} {path}" for call, path in CALLS])
def test_calls_that_fail(disks, daemons, collector, home, calls, seconds, half):
    """EIO of each call, never acknowledged and lost: not then, and not by a power cut after it."""
    shim = Shim(home)
    work = Work(disks("ext4", 64), daemons, collector, shim.environment)
    work.assert_goes_on()
    for call, path in calls:
        fail(shim, work, call, path, seconds, half)
    work.cut_power()
    work.assert_all_arrives()
    assert work.daemon.stop(5) == 0


def test_a_write_that_lies_is_found(disks, daemons, collector, home):
    """The control run: with one write that never happened, acknowledged events are missing."""
    shim = Shim(home)
    work = Work(disks("ext4", 64), daemons, collector, shim.environment)
    work.assert_goes_on()
    collector.script = Script(status=503)
    shim.fail("pwrite", ".segment", 0, count=1)
    until(lambda: shim.hits > 0, 10, "a commit is written")
    work.assert_goes_on()
    work.end()
    collector.script = Script()
    until(lambda: work.daemon.assert_ledger()["queued"] == 0, 20, "nothing is queued")
    assert work.missing(), "this test sees no loss"
    ledger = work.daemon.assert_ledger()
    assert ledger["quarantined"] >= len(work.missing()), "each is counted"


@pytest.mark.parametrize("call", ["pwrite", "fdatasync"])
def test_a_disk_that_keeps_failing(disks, daemons, collector, home, call):
    """Refused with a reason and little noise, delivered and stopped all the same, cured by itself."""
    shim = Shim(home)
    case = Case(disks("ext4", 64), daemons, collector, environment=shim.environment)
    assert case.poster.post()
    shim.fail(call, ".segment", errno.EIO)
    case.poster.until_refused()
    storage = case.assert_refused("disk")
    assert storage["state"] == "failing"
    assert re.search(r"\.segment at \d+: EIO", storage["detail"]), storage
    case.assert_quiet(FAILING_SECONDS)
    assert re.search(r"EIO: .*, /\S+/logs/normal/\S+\.segment at \d+", case.daemon.read_log())
    case.assert_drains()
    assert case.daemon.stop(5) == 0
    if call == "fdatasync":
        case.unsure = set(case.poster.refused)
    case.daemon.start()
    case.poster.until_refused()
    case.assert_refused("disk")
    shim.heal()
    case.assert_taken_again()
    case.assert_drains()


def test_no_descriptors(disks, daemons, collector):
    """EMFILE at the next segment, and at the door: no client that knocks makes it spin."""
    case = Case(disks("ext4", 64), daemons, collector, "MaxSize=4M")
    work = Load(case.daemon, 0)
    work.start()
    until(lambda: work.acknowledged, 5, "events are taken")
    pid = case.daemon.pid()
    run("prlimit", f"--pid={pid}", "--nofile=3:1024")
    until(lambda: work.refusals, 30, "the next segment cannot be opened")
    assert work.refusals[0]["status"] == 503 and "disk" in work.refusals[0]["detail"], work.refusals
    before = cpu_seconds(pid)
    time.sleep(2)
    assert cpu_seconds(pid) - before < 1, "it waits rather than spins"
    run("prlimit", f"--pid={pid}", "--nofile=1024:1024")
    count = len(work.acknowledged)
    until(lambda: len(work.acknowledged) > count + 100, CURE_SECONDS, "takes events again")
    assert "EMFILE" in case.daemon.read_log()
    work.enough.set()
    work.join(10)
    collector.script = Script()
    until(lambda: work.acknowledged <= set(collector.numbers()), 20, "all arrives")
    assert case.daemon.stop(5) == 0


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_file_system_that_goes_read_only(disks, daemons, collector):
    """EROFS below open files, as after an error of the journal: delivers what it has, and starts well after it."""
    disk = disks("ext4", 64)
    case = Case(disk, daemons, collector)
    assert case.poster.post()
    run("mount", "-o", "remount,abort", disk.mount)
    case.poster.until_refused()
    case.assert_refused("disk")
    assert re.search("EROFS|EIO", case.daemon.read_log())
    case.assert_quiet(FAILING_SECONDS)
    collector.script = Script()
    until(lambda: collector.numbers() == case.poster.accepted, 10, "what was there is delivered")
    assert case.daemon.stop(5) == 0
    disk.remount()
    case.kills += 1
    case.daemon.start()
    case.assert_taken_again()
    case.assert_drains()


def test_folder_that_may_not_be_changed(disks, daemons, collector):
    """EPERM at the next segment."""
    disk = disks("ext4", 64)
    case = Case(disk, daemons, collector, "MaxSize=4M")
    assert case.poster.post()
    folder = os.path.join(disk.queue, "logs", "normal")
    run("chattr", "+i", folder)
    try:
        case.poster.until_refused()
        storage = case.assert_refused("disk")
        assert "EPERM" in storage["detail"], storage
        case.assert_quiet(FAILING_SECONDS)
    finally:
        run("chattr", "-i", folder)
    case.assert_taken_again()
    case.assert_drains()


DEVICE = [
    ("ext4", "write", 1), ("xfs", "write", 1), ("ext4", "flush", 0), ("xfs", "flush", 0),
    ("ext4", "write", 0), ("xfs", "write", 0), ("ext4", "write", 5), ("xfs", "write", 5), ("ext4", "flush", 1),
    ("xfs", "flush", 1), ("ext4", "read", 1), ("xfs", "read", 1),
]


@pytest.mark.parametrize("kind, what, seconds", DEVICE if ALL else DEVICE[:4])
def test_devices_that_fail(disks, daemons, collector, kind, what, seconds):
    """EIO of a device, once (0) or for a while: it goes on, or where the file system gave up, after a mount."""
    disk = disks(kind, 128, served=True)
    work = Work(disk, daemons, collector, size="64M", pause=0.01)
    work.assert_goes_on()
    # From here to the cut all must lie on the disk.
    collector.script = Script(status=503)
    if what == "read":
        run("sysctl", "-q", "vm.drop_caches=3")
    disk.fail(what, once=seconds == 0)
    time.sleep(max(seconds, 1))
    is_healed = disk.heal()
    assert "EIO" in work.daemon.read_log() or not disk.is_alive() or what == "read", "nothing failed"
    deadline, before = time.monotonic() + CURE_SECONDS, work.count()
    while work.count() < before + 50 and time.monotonic() < deadline and is_healed and disk.is_alive():
        time.sleep(0.1)
    if work.count() < before + 50:
        assert not is_healed or not disk.is_alive(), f"takes events again\n{work.daemon.read_log()}"
        assert work.refusals() and all(refusal["status"] == 503 for refusal in work.refusals())
        assert work.daemon.stop(5) == 0
        work.end()
        disk.replace()
        work.daemon.start()
        work.begin()
        work.assert_goes_on()
    work.cut_power()
    work.assert_all_arrives()
    assert work.daemon.stop(5) == 0
