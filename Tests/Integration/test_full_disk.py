"""Full disks: refused with a reason and counted, drained without a byte free, and taken up again without a restart."""
import contextlib
import os
import subprocess
import threading

import pytest

from disk_case import Case
from disks import run
from harness import UPLINKCTL, Script, request, until
from manager import Manager

# For how long a client insists while the disk is full, and the lines are counted.
FULL_SECONDS = int(os.environ.get("UPLINKD_FULL_SECONDS", "3"))
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")


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


@pytest.mark.parametrize("first", ["normal", "bulk"])
@pytest.mark.parametrize("kind", ["ext4", "tmpfs"])
def test_urgent_is_refused_last(disks, daemons, collector, kind, first):
    """On a full file system as in a full queue; and whoever is told of it is told which lanes are refused.

    XFS refuses sooner than it says, and whom it likes.
    """
    disk = disks(kind, 6 if kind == "tmpfs" else 16)
    daemon = Case(disk, daemons, collector, "MaxSize=512M").daemon
    accepted = {}

    def post(lane, count=1):
        code, _, answer = daemon.post([{"lane": lane, "text": "x" * 980}] * count, lane=lane)
        assert code in (202, 503), answer
        if code == 202:
            accepted[lane] = accepted.get(lane, 0) + count
        return code == 202

    def ready():
        return [request(path, "GET", "/readyz")[0] for path in (daemon.events, daemon.control)]

    for lane in dict.fromkeys((first, "normal")):
        for count in (20, 1):
            while post(lane, count):
                pass
    queue = until(lambda: (found := daemon.status()["queue"])["refused"] == ["bulk", "normal"] and found, 5, "told")
    assert ready() == [200, 200], "urgent events are taken"
    assert queue["bound"] == "file-system" and queue["bound_bytes"] < 16 << 20 < queue["limit_bytes"], queue
    assert queue["bytes"] > 0.8 * queue["bound_bytes"], queue
    screen = subprocess.run([UPLINKCTL, "status", "--socket", daemon.control], capture_output=True, text=True).stdout
    assert "the queue takes no bulk and normal events: the file system is full" in screen, screen
    assert f"To do    free space on the file system of {disk.queue}" in screen, screen
    daemon.stop(5)
    daemon.start()
    while post("urgent"):
        assert not post("bulk"), "while normal ones are refused"
    assert accepted["urgent"] > 50, accepted
    assert not post("normal") and not post("bulk"), "where an urgent one is refused"
    until(lambda: daemon.status()["queue"]["refused"] == ["bulk", "normal", "urgent"], 5, "told")
    assert ready() == [503, 503]
    collector.script = Script()
    until(lambda: daemon.assert_ledger()["queued"] == 0, 30, "all arrives")
    assert daemon.assert_ledger()["delivered"] == sum(accepted.values())
    until(lambda: ready() == [200, 200] and all(map(post, ("bulk", "normal", "urgent"))), 10, "all are taken again")


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
    """RLIMIT_FSIZE, less than any segment: EFBIG instead of a signal that ends it."""
    case = Case(disks("ext4", 64), daemons, collector)
    assert case.poster.post()
    run("prlimit", f"--pid={case.daemon.pid()}", "--fsize=61440:unlimited")
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


@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("how", ["full", "read-only"])
def test_start_on_a_disk_that_takes_nothing(disks, daemons, home, collector, how, used):
    """READY all the same, refused with a time to retry, cured by itself; and then it is locked against a second one."""
    disk, manager = disks("tmpfs", 4), Manager(home)
    case = Case(disk, daemons, collector, "MaxSize=2M", environment=manager.environment(), start=used)
    if used:
        assert case.poster.post()
        assert case.daemon.stop(5) == 0
    if how == "full":
        disk.fill()
    else:
        run("mount", "-o", "remount,ro", disk.mount)
    case.daemon.start()
    until(lambda: manager.kinds()[-1:] == ["READY"], 10, "it is ready")
    # A spare that the last run made may still take some.
    case.poster.until_refused()
    case.assert_refused("full|disk")
    assert case.daemon.status()["state"] == "degraded"
    if used:
        collector.script = Script()
        until(lambda: collector.numbers() == case.poster.accepted, 10, "what was there is delivered")
    if how == "full":
        disk.clear()
    else:
        run("mount", "-o", "remount,rw", disk.mount)
    case.assert_taken_again()
    case.assert_drains()
    case.daemon.kill()
    case.daemon.start()
    assert case.poster.post()
    case.assert_drains()
    second = daemons("second")
    second.queue = disk.queue
    second.write_configuration()
    second.start(wait=False)
    assert second.process.wait(10) == 74, second.read_log()
    assert case.daemon.stop(5) == 0
