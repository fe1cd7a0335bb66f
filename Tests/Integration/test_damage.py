"""Show 4: a log whose tail is cut at many lengths, or that has one byte flipped, costs at most the damaged event.

UPLINKD_DAMAGE_STEP=1 cuts at every length from 0 to 8,192; UPLINKD_FLIPS=2000 flips that many places.
"""
import collections
import concurrent.futures
import glob
import os
import random
import re
import shutil
import struct
import threading

import pytest

from harness import Collector, Daemon, LineClient, until

STEP = int(os.environ.get("UPLINKD_DAMAGE_STEP", "131"))
FLIPS = int(os.environ.get("UPLINKD_FLIPS", "150"))
SEED = int(os.environ.get("UPLINKD_SEED", "4"))
AT_ONCE = 4
SEGMENTS = 3
OPTIONS = "FlushSpread=0\nRetryMin=250ms"
SECTIONS = "[Reachability]\nCheckInterval=500ms\n[Queue]\nMaxSize=64M"
NOWHERE = "http://127.0.0.1:1/collect"
# The format's documented sizes: Queue/Format/BatchHeader.swift and Queue/Log/RecordLayout.swift.
BATCH_HEADER, TABLE_ENTRY, RECORD_HEADER, FIRST_BATCH = 128, 8, 48, 512


class Record:
    """Where an event stands in a segment's file."""

    def __init__(self, sequence, start, length):
        self.sequence, self.start, self.end = sequence, start, start + RECORD_HEADER + length


class Batch:
    """A batch of a segment's file and its records."""

    def __init__(self, data, start):
        self.start = start
        first, count, record_bytes, size, context = struct.unpack_from("<QIIIH", data, start + 32)
        self.end, self.count = start + size, count
        self.records = []
        at = start + BATCH_HEADER + (context + 7) // 8 * 8 + TABLE_ENTRY * count
        for sequence in range(first, first + count):
            length = struct.unpack_from("<I", data, at + 4)[0]
            self.records.append(Record(sequence, at, length))
            at += (RECORD_HEADER + length + 7) // 8 * 8


def batches_of(path):
    """All batches of an undamaged segment."""
    data = open(path, "rb").read()
    found, at = [], FIRST_BATCH
    while at < len(data):
        if data[at : at + 4] == b"UPB1":
            found.append(Batch(data, at))
            at = found[-1].end
        else:
            at += 512
    return found


class Original:
    """A queue of some segments that the real daemon wrote, each event in a batch of a known size, kept as a copy."""

    def __init__(self, home, size, rounds):
        self.size = size
        self.folder = os.path.join(home, f"original-{size}")
        os.makedirs(self.folder, mode=0o700)
        daemon = Daemon(self.folder, url=NOWHERE, options=OPTIONS, sections=SECTIONS)
        self.count = 0
        for _ in range(SEGMENTS):
            daemon.start()
            try:
                self.post(daemon, rounds)
            finally:
                daemon.kill()
        self.queue = daemon.queue
        self.segments = sorted(glob.glob(os.path.join(self.queue, "logs", "normal", "*-*.segment")))
        self.batches = {path: batches_of(path) for path in self.segments}
        assert len(self.segments) >= SEGMENTS, self.segments
        assert {each.count for path in self.segments for each in self.batches[path]} == {size}
        records = [each for path in self.segments for batch in self.batches[path] for each in batch.records]
        found = collections.Counter(each.sequence for each in records)
        assert sorted(found) == list(range(1, self.count + 1))
        # A start commits the newest batches of the run before again.
        self.copied = {sequence for sequence, times in found.items() if times > 1}

    def post(self, daemon, rounds):
        link = LineClient(daemon.events)
        for turn in range(rounds):
            link.send(b"".join(b'{"n":%d}\n' % (self.count + place) for place in range(1, self.size + 1)))
            while link.answer()["accepted"] < (turn + 1) * self.size:
                pass
            self.count += self.size
        link.close()

    def newest(self):
        """The newest segment, its batches, and the file's length."""
        return self.segments[-1], self.batches[self.segments[-1]], os.path.getsize(self.segments[-1])


class Cases:
    """Runs damaged copies of queues, some at once, against one collector that tells them apart by their path."""

    def __init__(self, home):
        self.home = home
        self.collector = Collector()
        self.numbers = 0
        self.lock = threading.Lock()

    def close(self):
        self.collector.stop()

    def taken(self, path):
        """What arrived at a path: (event, event id) in order."""
        with self.collector.lock:
            return [event for each in self.collector.requests if each[2] == path for event in each[4]]

    def run(self, original, damage, missing, may_miss=(), lost_names=()):
        """Damages a copy, starts the daemon on it twice, and checks what arrives and what is told.

        `missing` holds the events that cannot be there, `may_miss` others that need not; each event of `lost_names`
        is to be named in the log. Gives the ledger, and what was missing.
        """
        with self.lock:
            self.numbers += 1
            name = f"c{self.numbers}"
        folder = os.path.join(self.home, name)
        os.makedirs(folder, mode=0o700)
        shutil.copytree(original.queue, os.path.join(folder, "queue"))
        damage(os.path.join(folder, "queue"))
        daemon = Daemon(folder, url=f"http://127.0.0.1:{self.collector.port}/{name}", options=OPTIONS,
                        sections=SECTIONS)
        try:
            return self.check(daemon, f"/{name}", original, set(missing), set(may_miss), set(lost_names))
        finally:
            if daemon.process and daemon.process.poll() is None:
                daemon.kill()
            shutil.rmtree(folder, ignore_errors=True)
            self.forget(f"/{name}")

    def forget(self, path):
        """With tens of thousands of cases it would be gigabytes, and all of it looked through for each."""
        with self.collector.lock:
            self.collector.requests = [each for each in self.collector.requests if each[2] != path]
            self.collector.taken = []

    def check(self, daemon, path, original, missing, may_miss, lost_names):
        daemon.start()
        daemon.post([{"n": "first"}])
        until(lambda: "first" in [each["n"] for each in self.taken(path)], 30, f"all arrives\n{daemon.read_log()}")
        until(lambda: daemon.assert_ledger()["queued"] == 0, 10, "nothing is queued")
        ledger = daemon.assert_ledger()
        events = self.taken(path)
        numbers = [each["n"] for each in events[:-1]]
        lost = set(range(1, original.count + 1)) - set(numbers)
        # Lines are written by a thread of their own.
        until(lambda: lost & lost_names <= named_in(open(daemon.log).read()), 10,
              f"lost {sorted(lost & lost_names)}\n{daemon.read_log()}")
        log = open(daemon.log).read()
        assert numbers == sorted(set(numbers)), "once each and in order"
        assert set(numbers) <= set(range(1, original.count + 1)), "nothing that was never posted"
        assert missing <= lost <= missing | may_miss, (sorted(lost), sorted(missing), log)
        assert all(each["was_queued"] == "true" for each in events[:-1])
        assert len({each["event_id"] for each in events}) == len(events)
        named = named_in(log)
        assert named <= lost | missing | original.copied, f"named {sorted(named)}, lost only {sorted(lost)}\n{log}"
        assert ledger["delivered"] == len(events), ledger
        daemon.kill()
        daemon.start()
        daemon.post([{"n": "second"}])
        until(lambda: self.taken(path)[-1]["n"] == "second", 30, f"the daemon goes on\n{daemon.read_log()}")
        assert [each["n"] for each in self.taken(path)] == numbers + ["first", "second"], "nothing comes again"
        until(lambda: daemon.assert_ledger()["queued"] == 0, 10, "nothing is queued")
        again = daemon.assert_ledger()
        assert (again["delivered"], again["quarantined"]) == (ledger["delivered"] + 1, ledger["quarantined"])
        return ledger, lost, log


def named_in(log):
    """The sequence numbers that the log names as lost."""
    ranges = re.findall(r"cannot be read, damaged: (\d+) to (\d+),|passed over, events (\d+) to (\d+)", log)
    numbers = set()
    for words in ranges:
        first, last = [int(word) for word in words if word]
        numbers |= set(range(first, last + 1))
    return numbers


def relative(original, path):
    return os.path.relpath(path, original.queue)


def cut(path, size):
    def damage(queue):
        os.truncate(os.path.join(queue, path), size)

    return damage


def flip(path, offset, mask):
    def damage(queue):
        with open(os.path.join(queue, path), "r+b") as file:
            file.seek(offset)
            byte = file.read(1)[0]
            file.seek(offset)
            file.write(bytes([byte ^ mask]))

    return damage


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    base = tmp_path_factory.mktemp("damage", numbered=True)
    yield {size: Original(str(base), size, rounds) for size, rounds in ((1, 6), (3, 4), (500, 2))}


@pytest.fixture
def cases(home):
    made = Cases(home)
    yield made
    made.close()


def run_all(jobs):
    """Runs the jobs, a few at once; all are run before the first failure is told."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        futures = [pool.submit(job) for job in jobs]
        concurrent.futures.wait(futures)
    return [each.result() for each in futures]


@pytest.mark.parametrize("size", [1, 3, 500])
def test_tail_cut(originals, cases, size):
    """The newest segment loses its end, counted back from what was written and from the file's end."""
    original = originals[size]
    path, batches, length = original.newest()
    written = batches[-1].end
    lengths = sorted({*range(0, 8193, STEP), 0, 1, 511, 512, 4095, 4096, 8192})
    ends = {max(0, written - back) for back in lengths}
    ends |= {length - back for back in ([0, 1, 511, 512, 4096] if STEP > 1 else lengths)}

    def job(end):
        records = [each for batch in batches for each in batch.records]
        missing = {each.sequence for each in records if each.end > end} - original.copied
        # Of a batch of which nothing is left nobody can know; of a torn one the daemon names what it misses.
        torn = [batch for batch in batches if batch.start + BATCH_HEADER <= end < batch.end]
        named = {each.sequence for batch in torn for each in batch.records if each.end > end} - original.copied
        return lambda: bool(cases.run(original, cut(relative(original, path), end), missing, lost_names=named)[1])

    costs = run_all([job(end) for end in sorted(ends)])
    assert any(costs), "some cut costs an event"
    assert costs.count(False) >= 6, "some cut costs none"


def places(originals, count, chance):
    """Seeded places within the written batches of all queues, each in one of their segments."""
    for _ in range(count):
        original = originals[chance.choice([1, 3, 500])]
        path = chance.choice(original.segments)
        batches = original.batches[path]
        yield original, path, chance.randrange(batches[0].start, batches[-1].end), 1 << chance.randrange(8)


def test_one_byte_flipped(originals, cases):
    """A flipped bit anywhere in the batches costs at most the event whose record holds it, counted and named."""
    print(f"UPLINKD_SEED={SEED}")
    chance = random.Random(SEED)

    def job(original, path, offset, mask):
        records = [each for batch in original.batches[path] for each in batch.records]
        hit = {each.sequence for each in records if each.start <= offset < each.end} - original.copied

        def run():
            ledger, lost, log = cases.run(original, flip(relative(original, path), offset, mask), hit, lost_names=hit)
            assert ledger["quarantined"] == len(lost) <= 1, (ledger, lost, log)
            assert ledger["accepted"] == original.count + 1, ledger
            return lost

        return run

    results = run_all([job(*each) for each in places(originals, FLIPS, chance)])
    assert any(results), "some flip costs an event"
    assert not all(results), "some flip costs none"


def test_headers_and_cursors_flipped(originals, cases):
    """Whatever else is damaged, each segment's header, the cursors, FORMAT: no event is lost."""
    chance = random.Random(SEED)
    original = originals[3]
    files = [relative(original, path) for path in original.segments] + ["cursors", "FORMAT"]

    def job(path):
        offset, mask = chance.randrange(FIRST_BATCH), 1 << chance.randrange(8)
        return lambda: cases.run(original, flip(path, offset, mask), ())

    for ledger, lost, _ in run_all([job(path) for path in files for _ in range(3)]):
        assert not lost and ledger["quarantined"] == 0
        assert ledger["accepted"] == original.count + 1


def test_cursors_lost(originals, cases):
    """Without its cursors the daemon sends what the segments hold, and says that it does not know how far it was."""
    original = originals[3]
    _, lost, log = cases.run(original, lambda queue: os.unlink(os.path.join(queue, "cursors")), ())
    assert not lost
    assert "is unknown; it starts again at event 1" in log
