"""A queue with a past that the real daemon wrote, copies of it to be damaged, and a guard over its segments."""
import contextlib
import ctypes
import os
import random
import re
import select
import shutil
import struct
import threading

from harness import Collector, Daemon, Script, until

OPTIONS = "RetryMin=250ms\nFlushSpread=0\nBatchMaxEvents=50"
REACHABILITY = "[Reachability]\nCheckInterval=500ms"
# Segments of 128 KiB.
SECTIONS = "MaxSize=8M\nKeepFree=0%\n" + REACHABILITY
EVENT_BYTES = 3000
ONCE, ALL = "once", "all"
SEGMENT = re.compile(r"[0-9a-f]{16}-(\d{20})\.segment")


def event(number):
    return {"n": number, "x": random.Random(number).choice("abcdef") * EVENT_BYTES}


class Past:
    """A queue of three lanes: some of it delivered, its segments retired and recycled, the rest queued, a record of it
    damaged and set aside."""

    def __init__(self, home):
        self.folder = os.path.join(home, "past")
        os.makedirs(self.folder, mode=0o700)
        collector = Collector()
        daemon = Daemon(self.folder, url=collector.url, options=OPTIONS, sections=SECTIONS)
        self.queue = daemon.queue
        self.lanes = {}
        daemon.start()
        self.post(daemon, "normal", 150)
        self.post(daemon, "urgent", 5)
        until(lambda: daemon.assert_ledger()["queued"] == 0, 20, "the first are delivered")
        daemon.stop()
        shutil.copy(os.path.join(self.queue, "cursors"), os.path.join(self.folder, "older-cursors"))
        daemon.start()
        self.post(daemon, "normal", 60)
        until(lambda: daemon.assert_ledger()["queued"] == 0, 20, "more are delivered")
        collector.script = Script(status=503)
        self.post(daemon, "normal", 100)
        self.post(daemon, "urgent", 20)
        self.post(daemon, "bulk", 20)
        daemon.kill()
        self.delivered = set(collector.numbers())
        self.posted = set(self.lanes)
        self.queued = self.posted - self.delivered
        self.broken = max(number for number in self.queued if self.lanes[number] == "bulk")
        self.flip(self.broken)
        daemon.start()
        # It is named when it is found at the start or read.
        until(lambda: f"at {self.offset}" in daemon.read_log(), 20, f"the damage is named\n{daemon.read_log()}")
        daemon.kill()
        collector.stop()
        assert os.listdir(os.path.join(self.queue, "quarantine"))

    def post(self, daemon, lane, count):
        for number in range(len(self.lanes), len(self.lanes) + count):
            code, _, answer = daemon.post([event(number)], lane=lane)
            assert code == 202, answer
            self.lanes[number] = lane

    def flip(self, number):
        """Flips a bit in the event of that number."""
        for path in segments(self.queue):
            data = open(path, "rb").read()
            place = data.find(b'{"n": %d, "x' % number)
            if place >= 0 and struct.unpack_from("<I", data, place - 44)[0] < 2 * EVENT_BYTES:
                self.offset = place - 48
                with open(path, "r+b") as file:
                    file.seek(place + 20)
                    file.write(bytes([data[place + 20] ^ 1]))
                return
        raise AssertionError(f"event {number} is in no segment")

    def side_files(self):
        """The paths of all files that are no segments, from the queue's folder."""
        found = []
        for base, _, names in os.walk(self.queue):
            paths = [os.path.relpath(os.path.join(base, name), self.queue) for name in names]
            found += [path for path in paths if not path.endswith(".segment")]
        return sorted(found)


def segments(queue):
    """The paths of a queue's segments, log by log, in order."""
    folder = os.path.join(queue, "logs")
    return [os.path.join(folder, log, name) for log in sorted(os.listdir(folder))
            for name in sorted(os.listdir(os.path.join(folder, log))) if SEGMENT.fullmatch(name)]


class Guard(threading.Thread):
    """Sees each segment that goes (inotify(7)), and what the collector or another segment had at that moment."""

    DELETE, MOVED_FROM, NONBLOCK = 0x200, 0x40, os.O_NONBLOCK
    EVENT = struct.Struct("iIII")

    def __init__(self, queue, arrived):
        super().__init__(daemon=True)
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(self.NONBLOCK)
        self.queue, self.arrived, self.gone, self.is_ending = queue, arrived, [], False
        self.logs = {}
        for log in os.listdir(os.path.join(queue, "logs")):
            path = os.path.join(queue, "logs", log)
            if os.path.isdir(path):
                self.logs[libc.inotify_add_watch(self.fd, path.encode(), self.DELETE | self.MOVED_FROM)] = log
        self.start()

    def end(self):
        """What went: log, segment, and what had arrived or was kept elsewhere then."""
        self.is_ending = True
        self.join()
        os.close(self.fd)
        return self.gone

    def run(self):
        while select.select([self.fd], [], [], 0.05)[0] or not self.is_ending:
            with contextlib.suppress(BlockingIOError):
                self.note(os.read(self.fd, 65536))

    def note(self, data):
        at = 0
        while at < len(data):
            watch, mask, _, length = self.EVENT.unpack_from(data, at)
            name = data[at + 16 : at + 16 + length].rstrip(b"\0").decode()
            at += 16 + length
            if SEGMENT.fullmatch(name) and watch in self.logs:
                # What is committed again stands in two segments.
                had = {number for path in segments(self.queue) for number in numbers_in(path)}
                self.gone.append((self.logs[watch], name, had.union(self.arrived())))


def numbers_in(path):
    """The numbers of the events in a segment's file, in order."""
    with contextlib.suppress(FileNotFoundError, IsADirectoryError):
        found = re.findall(rb'\{"n": ?(\d+), ?"x', open(path, "rb").read())
        return [int(number) for number in found]
    return []


class Copies:
    """Damaged copies of a past, each with a daemon that has to cope with it."""

    def __init__(self, home):
        self.home, self.count = home, 0
        self.lock = threading.Lock()
        self.collector = Collector()

    def make(self, past):
        """A copy and a daemon for it, not yet started."""
        with self.lock:
            self.count += 1
            name = f"c{self.count}"
        folder = os.path.join(self.home, name)
        os.makedirs(folder, mode=0o700)
        shutil.copytree(past.queue, os.path.join(folder, "queue"), symlinks=True)
        daemon = Daemon(folder, url=f"http://127.0.0.1:{self.collector.port}/{name}", options=OPTIONS,
                        sections=SECTIONS)
        daemon.arrived = lambda: self.arrived(name)
        return daemon

    def arrived(self, name):
        with self.collector.lock:
            return [each["n"] for one in self.collector.requests if one[2] == f"/{name}" for each in one[4]]

    def assert_bears(self, past, daemon, may_miss=(), may_repeat=None, more=(), keeps=(), unnamed=()):
        """Starts the daemon, twice: all that was queued arrives but `may_miss`, and what was posted since, `more`;
        nothing else; no segment goes before what it held has arrived; the files `keeps` stay. With `may_repeat` what
        was delivered before comes again, ALL of it at each start. Of `unnamed` nothing is left that would tell of
        them. Gives the numbers that were missing, and the log."""
        held = {os.path.basename(path): numbers_in(path) for path in segments(past.queue)}
        guard = Guard(daemon.queue, daemon.arrived)
        for turn in range(2):
            daemon.start()
            code, _, answer = daemon.post([{"n": f"new {turn}", "x": ""}])
            assert code == 202, (answer, daemon.read_log())
            until(lambda: f"new {turn}" in daemon.arrived() and daemon.assert_ledger()["queued"] == 0, 30,
                  f"all arrives\n{daemon.read_log()}")
            ledger = daemon.assert_ledger()
            if turn == 0:
                daemon.kill()
        assert daemon.stop() == 0, "SIGTERM is honoured"
        arrived = daemon.arrived()
        old = [number for number in arrived if isinstance(number, int)]
        log = open(daemon.log).read()
        lost = past.queued - set(old)
        assert lost <= {past.broken, *may_miss, *unnamed}, (sorted(lost), log)
        assert set(old) <= past.posted, "nothing that was never posted"
        assert may_repeat or not set(old) & past.delivered, "what was delivered comes again"
        assert may_repeat == ALL or len(set(old)) == len(old), "each comes once"
        for lane in ("urgent", "normal", "bulk"):
            of_lane = [number for number in dict.fromkeys(old) if past.lanes[number] == lane]
            assert of_lane == sorted(of_lane), f"{lane} is out of order"
        assert list(dict.fromkeys(each for each in arrived if isinstance(each, str))) == [*more, "new 0", "new 1"]
        for path in keeps:
            assert os.path.lexists(path), f"{path} was taken away"
        assert ledger["quarantined"] >= len(lost - set(unnamed)), (ledger, sorted(lost), log)
        for name, segment, had in guard.end():
            needed = set(held.get(segment, ())) & past.queued - lost
            assert needed <= had, f"{name}/{segment} went before {sorted(needed - had)[:9]} had arrived"
        shutil.rmtree(daemon.home)
        return lost, log

    def close(self):
        self.collector.stop()
