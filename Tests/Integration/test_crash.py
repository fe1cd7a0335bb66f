"""The promise against `kill -9`, and against a file system that is shut down below the daemon."""
import concurrent.futures
import http.client
import itertools
import os
import random
import re
import subprocess
import time

import pytest

from harness import LineClient, Script, until
from load import Load

KILLS = int(os.environ.get("UPLINKD_KILLS", "20"))
CUTS = int(os.environ.get("UPLINKD_CUTS", "5"))


def test_kill_at_random_under_load(daemons, collector):
    seed = int(os.environ.get("UPLINKD_SEED", time.time_ns() % 1_000_000))
    print(f"UPLINKD_SEED={seed}")
    chance = random.Random(seed)
    daemon = daemons(url=collector.url, options="RetryMin=250ms\nFlushSpread=0\nBatchMaxEvents=50",
                     sections="[Reachability]\nCheckInterval=1s")
    daemon.start()
    loads = [Load(daemon, client) for client in range(4)]
    for load in loads:
        load.start()
    for _ in range(KILLS):
        time.sleep(chance.uniform(0.05, 0.4))
        daemon.kill()
        daemon.start()
    time.sleep(0.3)
    for load in loads:
        load.enough.set()
    for load in loads:
        load.join(20)
    acknowledged = set().union(*(load.acknowledged for load in loads))
    assert len(acknowledged) > 100 * KILLS / 20
    until(lambda: acknowledged <= set(collector.numbers()), 30,
          f"every acknowledged event arrives; missing {len(acknowledged - set(collector.numbers()))}")
    until(lambda: daemon.assert_ledger()["queued"] == 0, 10, "nothing is queued")
    numbers = collector.numbers()
    sent_again = len(numbers) - len(set(numbers))
    assert sent_again <= 50 * KILLS, f"{sent_again} events came twice: more than one batch a kill"
    ledger = daemon.assert_ledger()
    assert ledger["quarantined"] == 0 and ledger["dead"] == 0
    assert ledger["accepted"] >= len(acknowledged)
    # Of each client, the order of acceptance is the order of first arrival.
    for client in range(4):
        first = {}
        for place, number in enumerate(numbers):
            first.setdefault(number, place)
        places = [first[f"{client}-{number}"] for number in range(loads[client].next)
                  if f"{client}-{number}" in first]
        assert places == sorted(places), f"client {client} is out of order (seed {seed})"


def test_every_answer_follows_a_sync(daemons):
    """strace sees an fdatasync between the reception of each line and its answer, and none is answered without."""
    daemon = daemons()
    trace = os.path.join(daemon.home, "trace")
    daemon.wrap = ["strace", "-f", "-q", "-e", "trace=recvfrom,fdatasync,sendto", "-s", "64", "-o", trace]
    daemon.start()
    link = LineClient(daemon.events)
    count = 50
    for number in range(count):
        link.send(b'{"n":%d}\n' % number)
        assert link.answer() == {"accepted": number + 1}
    link.close()
    daemon.stop()
    received, synced, answered = [], [], []
    for place, line in enumerate(open(trace, errors="replace")):
        if re.search(r'recvfrom\(.*\{\\"n\\":', line) or re.search(r'recvfrom resumed>"\{\\"n\\":', line):
            received.append(place)
        elif re.search(r"fdatasync\(\d+\)\s+= 0|fdatasync resumed>\)\s+= 0", line):
            synced.append(place)
        elif re.search(r'sendto\(.*accepted', line):
            answered.append(place)
    assert len(received) >= count and len(answered) >= count, (len(received), len(answered))
    for arrival, answer in zip(received, answered):
        assert any(arrival < sync < answer for sync in synced), "an answer without a sync before it"


# What a queue's files are changed by.
CHANGES = (
    "pwrite64", "fdatasync", "fsync", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "unlink", "unlinkat",
)


def first_start_killed(daemon, collector, call, turn):
    """Kills a daemon, which is on an empty directory, at that turn of a system call; False where it did not come so far
    until an event was acknowledged. Whatever had been acknowledged has to arrive after the next start."""
    name = os.path.basename(daemon.home)
    daemon.wrap = ["strace", "-f", "-q", "-o", os.path.join(daemon.home, "trace"), "-e", f"trace={call}",
                   "-e", f"inject={call}:signal=KILL:when={turn}"]
    daemon.start(wait=False)
    acknowledged = []
    try:
        until(daemon.is_serving, 20, "it serves")
        daemon.post_numbers([f"{name}-0"])
        acknowledged.append(f"{name}-0")
    except (AssertionError, OSError, http.client.HTTPException):
        assert daemon.process.wait(10) != 0
    comes_so_far = daemon.process.poll() is not None
    if not comes_so_far:
        try:
            daemon.kill()
        except (AssertionError, OSError):
            # It was killed in between.
            comes_so_far = daemon.process.wait(10) != 0
            assert comes_so_far
    daemon.wrap = []
    daemon.start()
    daemon.post_numbers([f"{name}-1"])
    acknowledged.append(f"{name}-1")
    until(lambda: set(acknowledged) <= set(collector.numbers()), 20, f"{name}: all arrives\n{daemon.read_log()}")
    until(lambda: daemon.assert_ledger()["queued"] == 0, 10, "nothing is queued")
    ledger = daemon.assert_ledger()
    assert ledger["quarantined"] == 0 and len(acknowledged) <= ledger["accepted"] <= 2, (name, ledger)
    assert daemon.stop() == 0
    return comes_so_far


def test_first_start_killed_anywhere(daemons, collector):
    """On an empty directory, killed at each call that changes a file until the first event is acknowledged."""

    def kill_at_each(call):
        turns = itertools.count(1)
        while first_start_killed(daemons(f"{call}{(turn := next(turns))}", url=collector.url, options="FlushSpread=0"),
                                 collector, call, turn):
            assert turn < 100
        return turn - 1

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        counts = dict(zip(CHANGES, pool.map(kill_at_each, CHANGES)))
    print("Calls until the first event was acknowledged:", counts)
    assert counts["pwrite64"] > 3 and counts["fdatasync"] > 3 and counts["rename"] + counts["renameat"] > 1, counts


class PowerCuts:
    """A loop mount that is shut down below a loaded daemon, as a power cut would, several times."""

    OPTIONS = "RetryMin=250ms\nFlushSpread=0"
    SECTIONS = "[Reachability]\nCheckInterval=1s\n[Queue]\nMaxSize=256M\nKeepFree=0%"

    def __init__(self, disk, daemons, collector, environment=None, padding=0):
        self.disk, self.collector, self.padding = disk, collector, padding
        collector.script = Script(status=503)
        self.daemon = daemons(url=collector.url, environment=environment)
        self.daemon.disk, self.daemon.queue = disk, disk.queue
        self.daemon.write_configuration(self.OPTIONS, self.SECTIONS)
        self.acknowledged = set()

    def cut(self, number):
        self.daemon.start()
        loads = [Load(self.daemon, 10 * number + client, padding=self.padding) for client in range(4)]
        for load in loads:
            load.start()
        time.sleep(0.5)
        self.disk.shut_down()
        for load in loads:
            load.enough.set()
        self.daemon.kill()
        for load in loads:
            load.join(10)
            self.acknowledged |= load.acknowledged
        self.disk.remount()

    def missing(self):
        return self.acknowledged - set(self.collector.numbers())

    def arrive(self):
        """What was acknowledged comes to the collector, which takes nothing more afterwards."""
        self.collector.script = Script()
        self.daemon.start()
        until(lambda: not self.missing(), 60, lambda: f"every acknowledged event arrives\n{self.daemon.read_log()}")
        until(lambda: self.daemon.assert_ledger()["queued"] == 0, 10, "nothing is queued")
        assert self.daemon.stop() == 0
        self.collector.script = Script(status=503)


@pytest.mark.skipif(os.geteuid() != 0, reason="loop mounts need root")
@pytest.mark.parametrize("padding", [0, 20_000])
@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_file_system_shut_down(disks, daemons, collector, kind, padding):
    """What was acknowledged before a power cut of the file system is there after it; with large events, which come
    faster than segments are zero-filled, too."""
    cuts = PowerCuts(disks(kind, 400), daemons, collector, padding=padding)
    for number in range(CUTS):
        cuts.cut(number)
        # Before the queue is full and a cut meets nothing that is being written.
        if number % (2 if padding else 5) == 0 or number == CUTS - 1:
            cuts.arrive()
    assert len(cuts.acknowledged) > 50 * CUTS


@pytest.mark.skipif(os.geteuid() != 0, reason="loop mounts need root")
def test_the_cut_catches_a_daemon_that_does_not_sync(disks, daemons, collector, home):
    """The control run: with syncs turned into nothing the same cut loses acknowledged events."""
    shim = os.path.join(home, "nosync.so")
    source = os.path.join(home, "nosync.c")
    with open(source, "w") as file:
        file.write("int fdatasync(int fd) { return 0 * fd; }\nint fsync(int fd) { return 0 * fd; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, source], check=True)
    cuts = PowerCuts(disks("ext4", 400), daemons, collector, environment={"LD_PRELOAD": shim})
    cuts.cut(0)
    collector.script = Script()
    cuts.daemon.start()
    until(lambda: cuts.daemon.assert_ledger()["queued"] == 0, 20, "what there is arrives")
    assert cuts.missing(), "a power cut that loses nothing without syncs proves nothing"
