"""Disks that are slow, or stand still: shown, refused in time, never a reason to restart, and borne by commits.

UPLINKD_FREEZE_SECONDS says for how long a disk stands still, UPLINKD_THROTTLED_SECONDS how long commits are timed.
"""
import contextlib
import os
import re
import signal
import threading
import time

import pytest

from disk_case import OPTIONS, SECTIONS
from harness import LineClient, Script, request, until
from manager import Manager

FREEZE_SECONDS = float(os.environ.get("UPLINKD_FREEZE_SECONDS", "12"))
THROTTLED_SECONDS = float(os.environ.get("UPLINKD_THROTTLED_SECONDS", "15"))
SLICE = 256 * 1024
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")


def percentile(times, share):
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


class Paced(threading.Thread):
    """A client that sends 1,000 events of 300 bytes a second, ten at a time, whatever is answered."""

    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.link = LineClient(daemon.events, timeout=60)
        self.sent, self.accepted = 0, 0
        self.enough = threading.Event()
        threading.Thread(target=self.read, daemon=True).start()
        self.start()

    def run(self):
        begun = time.monotonic()
        while not self.enough.is_set():
            while self.sent < 1_000 * (time.monotonic() - begun):
                self.link.send(b"".join(b'{"n":"p-%d","text":"%s"}\n' % (self.sent + each, b"x" * 270)
                                        for each in range(10)))
                self.sent += 10
            time.sleep(0.005)

    def read(self):
        with contextlib.suppress(OSError):
            while "accepted" in (answer := self.link.answer() or {}):
                self.accepted = answer["accepted"]

    def stop(self):
        self.enough.set()
        self.join()
        until(lambda: self.accepted == self.sent, 30, "every event is answered")


def time_of_sync(path, size, extends):
    """How long a write of so many bytes and its sync take on average, over old bytes or behind them; seconds."""
    with open(path, "w+b", buffering=0) as file:
        file.write(bytes(2 << 20))
        os.fsync(file.fileno())
        times = []
        for number in range(20):
            begun = time.monotonic()
            place = (2 << 20) + number * size if extends else number % 8 * size
            os.pwrite(file.fileno(), bytes([number + 1]) * size, place)
            os.fdatasync(file.fileno())
            times.append(time.monotonic() - begun)
    os.unlink(path)
    return sum(times) / len(times)


def time_of_commits(daemon, collector):
    """What a client waits for an answer beside 1,000 events a second and a backlog that goes out; how much of it did."""
    collector.script, before = Script(status=503), len(collector.numbers())
    for start in range(0, 20_000, 1_000):
        assert daemon.post([{"n": number, "text": "x" * 270} for number in range(start, start + 1_000)])[0] == 202
    collector.script = Script(delay=0.02)
    paced, link = Paced(daemon), LineClient(daemon.events, timeout=60)
    times, end = [], time.monotonic() + THROTTLED_SECONDS
    while time.monotonic() < end:
        begun = time.monotonic()
        link.send(b'{"n":"s-%d"}\n' % len(times))
        assert link.answer() == {"accepted": len(times) + 1}
        times.append(time.monotonic() - begun)
    delivered = len(collector.numbers()) - before
    paced.stop()
    assert delivered > 1_000 and paced.accepted > 500 * THROTTLED_SECONDS
    return times, delivered


def test_commits_on_a_throttled_disk(disks, daemons, collector):
    """50 writes and 10 MB a second, 1,000 events a second, a backlog going out: a commit waits for one slice at most.

    What is timed is more than a commit: a client's event waits for the commit in hand, too. A machine that is busy for
    a while is slow once, a commit that waits for more is so each time.
    """
    disk = disks("ext4", 600, served=True, writes=50, bytes=10 << 20)
    sync = time_of_sync(os.path.join(disk.mount, "probe"), 4096, extends=False)
    piece = time_of_sync(os.path.join(disk.mount, "probe"), SLICE, extends=True)
    daemon = daemons(url=collector.url)
    daemon.disk, daemon.queue = disk, disk.queue
    daemon.write_configuration(OPTIONS + "\nCompression=none\nBatchMaxEvents=100", SECTIONS + "MaxSize=512M")
    collector.script = Script(status=503)
    daemon.start()
    found = []
    for _ in range(3):
        times, delivered = time_of_commits(daemon, collector)
        found.append(" ".join(f"p{share * 100:g} {percentile(times, share) * 1e3:.1f}" for share in (0.5, 0.9, 0.99, 1)))
        found[-1] += f" ms of {len(times)}; a sync {sync * 1e3:.1f}, a slice {piece * 1e3:.1f} ms; {delivered} delivered"
        print(found[-1])
        if percentile(times, 0.99) <= 2 * (sync + piece):
            return
    raise AssertionError(found)


@pytest.fixture
def frozen_daemon(disks, daemons, home):
    """A daemon, not yet started, whose queue lies on a disk that can be frozen."""
    disk, manager = disks("ext4", 200), Manager(home)
    daemon = daemons(environment=manager.environment())
    daemon.disk, daemon.queue, daemon.manager = disk, disk.queue, manager
    daemon.write_configuration(sections="MaxSize=64M\nKeepFree=0%")
    return daemon


def test_a_disk_that_stands_still(frozen_daemon):
    daemon, disk = frozen_daemon, frozen_daemon.disk
    daemon.start()
    daemon.post_numbers(range(10))
    disk.freeze()
    began = time.monotonic()
    waiting = LineClient(daemon.events, timeout=FREEZE_SECONDS + 30)
    waiting.send(b'{"n":1}\n')
    storage = until(lambda: (found := daemon.status()["storage"])["state"] != "ok" and found, 5, "status shows it")
    assert storage["state"] == "slow" and "has not answered" in storage["detail"]
    assert daemon.status()["intake"]["accepted"] == 10, "no answer before the sync"
    # Over ten seconds clients are told at once rather than left to wait.
    until(lambda: request(daemon.control, "GET", "/readyz")[0] == 503, 15, "it is not ready")
    assert time.monotonic() - began > 9
    code, headers, answer = daemon.post([{"n": 2}])
    assert code == 503 and "disk" in answer["detail"] and int(headers["Retry-After"]) > 0
    assert request(daemon.control, "GET", "/livez")[0] == 200
    until(lambda: any("disk has not answered" in fields.get("STATUS", "") for _, fields in daemon.manager.datagrams),
          5, "systemctl status shows it")
    daemon.manager.assert_fed(began)
    until(lambda: time.monotonic() - began > FREEZE_SECONDS, FREEZE_SECONDS, "it stays frozen")
    assert daemon.post([{"n": 2}])[0] == 503
    assert daemon.status()["intake"]["accepted"] == 10
    daemon.manager.assert_fed(began)
    disk.thaw()
    assert waiting.answer() == {"accepted": 1}
    until(lambda: daemon.post([{"n": 3}])[0] == 202, 5, "events are taken again")
    until(lambda: daemon.status()["storage"]["state"] == "ok", 5, "status tells")
    assert daemon.status()["intake"]["accepted"] == 12 and daemon.manager.kinds() == ["READY"]
    until(lambda: "disk" not in [fields["STATUS"] for _, fields in daemon.manager.datagrams if "STATUS" in fields][-1],
          5, "systemctl status shows that, too")
    assert daemon.stop() == 0


def until_ended(pid):
    """The kernel keeps a thread that waits for a frozen disk; all else of the process is to be gone in time."""
    until(lambda: re.search(r"^State:\s+[ZX]", open(f"/proc/{pid}/status").read(), re.M), 6, "the process has ended")


def test_sigterm_while_the_queue_is_opened(frozen_daemon):
    daemon, disk = frozen_daemon, frozen_daemon.disk
    disk.freeze()
    daemon.start(wait=False)
    until(lambda: any(fields.get("STATUS") == "opening the queue" for _, fields in daemon.manager.datagrams), 10,
          "it says that it waits")
    os.kill(daemon.process.pid, signal.SIGTERM)
    until_ended(daemon.process.pid)
    disk.thaw()
    assert daemon.process.wait(5) == 0
    assert daemon.manager.kinds() == ["STOPPING"]
    daemon.start()
    daemon.post_numbers(range(10))


def test_sighup_while_the_queue_is_opened(frozen_daemon):
    daemon, disk = frozen_daemon, frozen_daemon.disk
    disk.freeze()
    daemon.start(wait=False)
    until(lambda: daemon.manager.datagrams, 10, "it says that it waits")
    daemon.destinations["late"] = "http://127.0.0.1:9/"
    daemon.write_configuration(sections="MaxSize=64M\nKeepFree=0%")
    os.kill(daemon.process.pid, signal.SIGHUP)
    time.sleep(0.5)
    disk.thaw()
    until(lambda: daemon.manager.kinds() == ["READY", "RELOADING", "READY"], 10, "it reloads once it is ready")
    assert daemon.state("late") != ""


def test_sigterm_while_the_disk_stands_still(frozen_daemon):
    daemon, disk = frozen_daemon, frozen_daemon.disk
    daemon.start()
    daemon.post_numbers(range(10))
    disk.freeze()
    waiting = LineClient(daemon.events, timeout=30)
    waiting.send(b'{"n":1}\n')
    until(lambda: daemon.status()["storage"]["state"] == "slow", 5, "it waits for the disk")
    pid = daemon.pid()
    os.kill(pid, signal.SIGTERM)
    until_ended(pid)
    disk.thaw()
    assert daemon.process.wait(5) == 0
    with contextlib.suppress(ConnectionError):
        assert waiting.answer() is None
    daemon.start()
    assert daemon.status()["queue"]["logs"]["normal"]["events"] in (10, 11)
