"""The promise against `kill -9`, and against a file system that is shut down below the daemon."""
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


class PowerCuts:
    """A loop mount that is shut down below a loaded daemon, as a power cut would, several times."""

    OPTIONS = "RetryMin=250ms\nFlushSpread=0"
    SECTIONS = "[Reachability]\nCheckInterval=1s\n[Queue]\nMaxSize=128M\nKeepFree=0%"

    def __init__(self, disk, daemons, collector, environment=None):
        self.disk, self.collector = disk, collector
        collector.script = Script(status=503)
        self.daemon = daemons(url=collector.url, environment=environment)
        self.daemon.disk, self.daemon.queue = disk, disk.queue
        self.daemon.write_configuration(self.OPTIONS, self.SECTIONS)
        self.acknowledged = set()

    def cut(self, number):
        self.daemon.start()
        loads = [Load(self.daemon, 10 * number + client) for client in range(4)]
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


@pytest.mark.skipif(os.geteuid() != 0, reason="loop mounts need root")
@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_file_system_shut_down(disks, daemons, collector, kind):
    """What was acknowledged before a power cut of the file system is there after it."""
    cuts = PowerCuts(disks(kind, 400), daemons, collector)
    for number in range(CUTS):
        cuts.cut(number)
    collector.script = Script()
    cuts.daemon.start()
    assert len(cuts.acknowledged) > 50 * CUTS
    until(lambda: not cuts.missing(), 30, f"every acknowledged event arrives\n{cuts.daemon.read_log()}")
    until(lambda: cuts.daemon.assert_ledger()["queued"] == 0, 10, "nothing is queued")
    assert cuts.daemon.stop() == 0


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
