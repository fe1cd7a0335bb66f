"""A power cut after any write that the block device ever saw: whatever was acknowledged before it is there.

The daemon runs on a device whose every write and flush is logged; images of the device are made as it stood after each
of them, and with a random part of what came since the last flush left out or torn; the daemon starts on each of them.
Takes minutes and qemu-storage-daemon: UPLINKD_BLOCK_WRITES=3 takes every third write; without it nothing is done.
"""
import concurrent.futures
import os
import subprocess
import threading
import time

import pytest

from block_log import Copy, LoggedDevice, Replay, chance_for, same_bytes
from harness import Collector, Daemon, Script, until

STEP = int(os.environ.get("UPLINKD_BLOCK_WRITES", "0"))
SEED = int(os.environ.get("UPLINKD_SEED", "1"))
AT_ONCE = 3
SIZES = {"ext4": 64 << 20, "xfs": 320 << 20}
OPTIONS = "RetryMin=250ms\nFlushSpread=0\nBatchMaxEvents=20\nCompression=none"
# Segments of 128 KiB, so that many are begun, retired and recycled.
SECTIONS = "MaxSize=8M\nKeepFree=0%\n[Reachability]\nCheckInterval=500ms"
LANES = ("normal", "urgent", "bulk")


class Counting(Collector):
    """A collector that knows how many writes the device had seen when it took an event first."""

    def __init__(self, device):
        self.device, self.delivered = device, {}
        super().__init__(script=Script(status=503))

    def serve(self, reader, writer):
        result = super().serve(reader, writer)
        with self.lock:
            for number in [each["n"] for each in self.taken[len(self.delivered):]]:
                self.delivered.setdefault(number, self.device.count())
        return result


class Recording:
    """What a daemon did on a logged device: which events it acknowledged and delivered after how many writes."""

    def __init__(self, home, kind, environment=None):
        self.device = LoggedDevice(home, kind, SIZES[kind])
        self.acknowledged = {}
        self.next = 0
        self.collector = Counting(self.device)
        self.daemon = Daemon(home, url=self.collector.url, environment=environment)
        self.daemon.queue = os.path.join(self.device.mount_point, "queue")
        self.daemon.write_configuration(OPTIONS, SECTIONS)
        os.mkdir(self.daemon.queue, 0o700)
        os.sync()
        self.begin = self.device.count()
        self.daemon.start()
        self.started = self.device.count()

    def post(self, count, size=3000):
        """Posts events one by one, now and then in another lane."""
        for turn in range(count):
            lane = LANES[turn % 7 // 5 + turn % 2 if turn % 7 >= 5 else 0]
            code, _, answer = self.daemon.post([{"n": self.next, "x": "x" * size}], lane=lane)
            assert code == 202, answer
            self.acknowledged[self.next] = self.device.count()
            self.next += 1

    def drain(self):
        self.collector.script = Script()
        until(lambda: self.daemon.assert_ledger()["queued"] == 0, 30, "nothing is queued")
        time.sleep(1.2)  # Cursors are made durable within a second.

    def run(self):
        self.post(90)
        self.daemon.kill()
        self.daemon.start()
        self.post(60)
        self.drain()
        self.post(60)
        self.collector.script = Script(status=503)
        self.post(40)
        assert self.daemon.stop() == 0
        self.end = self.device.count()
        self.device.unmount()

    def close(self):
        if self.daemon.process and self.daemon.process.poll() is None:
            self.daemon.kill()
        self.collector.stop()
        self.device.close()


class Check:
    """Starts the daemon on an image and sees whether it has all that was acknowledged and not delivered before."""

    def __init__(self, recording, home):
        self.recording, self.home = recording, home
        self.collector = Collector()
        self.lock, self.numbers = threading.Lock(), 0

    def folder(self):
        with self.lock:
            self.numbers += 1
            path = os.path.join(self.home, f"c{self.numbers}")
        os.mkdir(path)
        return path

    def run(self, copy, prefix, name):
        """What is wrong with the image `copy` that was made after so many writes; None for nothing."""
        needed = {number for number, at in self.recording.acknowledged.items() if at <= prefix}
        needed -= {number for number, at in self.recording.delivered.items() if at <= prefix}
        daemon = Daemon(copy.folder, url=f"http://127.0.0.1:{self.collector.port}/{name}")
        with copy:
            daemon.queue = os.path.join(copy.mount_point, "queue")
            daemon.write_configuration(OPTIONS, SECTIONS)
            try:
                daemon.start()
                daemon.post_numbers(["new"])
                until(lambda: daemon.assert_ledger()["queued"] == 0, 30, "nothing is queued")
                ledger = daemon.assert_ledger()
                log = daemon.read_log()
            except AssertionError as error:
                return f"{name}: {error}"
            finally:
                if daemon.process.poll() is None:
                    daemon.kill()
        with self.collector.lock:
            arrived = [event["n"] for each in self.collector.requests if each[2] == f"/{name}" for event in each[4]]
        missing = needed - set(arrived)
        strange = set(arrived) - set(range(self.recording.next)) - {"new"}
        # A batch that was never acknowledged may count as damaged where both its ends are there and its middle is not.
        is_damaged = name.endswith("all") and (ledger["quarantined"] or "damaged" in log)
        if missing or strange or "new" not in arrived or is_damaged:
            return f"{name}: missing {sorted(missing)[:9]} of {len(needed)}, strange {strange}, {ledger}\n{log}"
        return None


def check_all(recording, home, step):
    """Checks images after every `step`th write, and each with a part left out; returns what was wrong, and how many."""
    check = Check(recording, home)
    wrong, images = [], 0
    replay = Replay(recording.device, home)
    try:
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            running = set()
            # The very first start is cut after each of its writes.
            first = range(recording.begin, recording.started)
            for prefix in [*first, *range(recording.started, recording.end, step), recording.end]:
                replay.advance(prefix)
                for chance in (None, chance_for(SEED, prefix)):
                    if chance and not replay.pending:
                        continue
                    copy = Copy(check.folder(), recording.device.kind)
                    replay.write_image(copy.image, chance)
                    name = f"p{prefix}-{'part' if chance else 'all'}"
                    running.add(pool.submit(check.run, copy, prefix, name))
                    images += 1
                    if len(running) > 2 * AT_ONCE:
                        done, running = concurrent.futures.wait(running, return_when="FIRST_COMPLETED")
                        wrong += [each.result() for each in done if each.result()]
            wrong += [each.result() for each in running if each.result()]
        replay.advance(recording.device.count())
        replay.write_image(os.path.join(home, "last"))
        assert same_bytes(os.path.join(home, "last"), recording.device.image), "the log tells all that was written"
    finally:
        check.collector.stop()
    return wrong, images


if STEP:

    @pytest.fixture
    def record(home):
        made = []

        def make(kind, environment=None):
            os.mkdir(os.path.join(home, "r"))
            made.append(Recording(os.path.join(home, "r"), kind, environment))
            made[0].run()
            made[0].delivered = made[0].collector.delivered
            return made[0]

        yield make
        for each in made:
            each.close()

    @pytest.mark.parametrize("kind", sorted(SIZES))
    def test_every_prefix(record, home, kind):
        """Nothing acknowledged is missing after a cut at any write, and every cut of the very first start boots."""
        print(f"UPLINKD_SEED={SEED}")
        recording = record(kind)
        wrong, images = check_all(recording, home, STEP)
        print(f"{images} images of {recording.end - recording.begin} writes, {len(recording.acknowledged)} events,"
              f" {recording.started - recording.begin} writes of the first start")
        assert images > 100 / STEP
        assert not wrong, f"{len(wrong)} of {images} are wrong:\n" + "\n".join(wrong[:5])

    def test_the_cuts_catch_a_daemon_that_does_not_sync(record, home):
        """The control run: with syncs turned into nothing acknowledged events are missing after some cut."""
        source, shim = os.path.join(home, "nosync.c"), os.path.join(home, "nosync.so")
        with open(source, "w") as file:
            file.write("int fdatasync(int fd) { return 0 * fd; }\nint fsync(int fd) { return 0 * fd; }\n")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, source], check=True)
        recording = record("ext4", {"LD_PRELOAD": shim})
        wrong, _ = check_all(recording, home, 40)
        assert any("missing [" in each for each in wrong), "cuts that lose nothing without syncs prove nothing"
