"""A fair share: whatever one user does, another's events are taken at no less than half their rate."""
import contextlib
import os
import subprocess
import sys
import time

import pytest

import hostile
from harness import LineClient, request, until
from intake_box import KILO, as_user, make_box  # noqa: F401

HOSTILE_USER = 12345
OPEN = ("[Reachability]\nCheckInterval=1s\n[Intake]\nSocketMode=0666\n"
        "[Queue]\nMaxSize=1G\nWhenFull=drop-oldest\nKeepFree=0%")


# What the honest client has to post: so many events each time, so often, or as soon as the last are answered.
AT_A_TIME = 50
PACE = float(os.environ.get("UPLINKD_HONEST_PACE_MS", 10)) / 1000


class Honest:
    """Posts numbered lines and waits for each answer."""

    def __init__(self, box):
        self.box = box
        self.link = LineClient(box.daemon.events, timeout=20)
        self.count = 0
        self.slowest = 0.0

    def rate(self, seconds):
        """Acknowledged events a second, over so long."""
        began, first = time.monotonic(), self.count
        while (now := time.monotonic()) < began + seconds:
            numbers = range(self.count, self.count + AT_A_TIME)
            self.link.send(b"".join(b'{"n":"honest-%d","filler":"%s"}\n' % (number, b"x" * 200) for number in numbers))
            while self.count < numbers.stop:
                answer = self.link.answer()
                assert "accepted" in answer, answer
                self.count = answer["accepted"]
            took = time.monotonic() - now
            self.slowest = max(self.slowest, took)
            time.sleep(max(0, PACE - took))
        return (self.count - first) / (time.monotonic() - began)


@contextlib.contextmanager
def hostile_user(box, kind):
    """The hostile process at work; afterwards what it says of itself is in the list."""
    said = []
    with as_user(0, box.daemon.events):
        pass
    process = subprocess.Popen(
        ["setpriv", "--reuid", str(HOSTILE_USER), "--clear-groups", "nice", "-n", "5", sys.executable,
         hostile.__file__, kind, box.daemon.events],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/")
    try:
        assert process.stdout.readline() == "ready\n"
        yield said
        process.stdin.close()
        said += map(int, process.stdout.readline().split())
    finally:
        process.kill()
        process.wait(10)


@pytest.mark.parametrize("kind", hostile.kinds(""))
def test_half_the_rate(make_box, kind):
    box = make_box(sections=OPEN)
    # What comes in is measured here, not what goes out: the collector lives in this process.
    assert request(box.daemon.control, "POST", "/v1/destinations/main/pause")[0] == 200
    honest = Honest(box)
    honest.rate(0.5)
    alone, beside, told, done = [], [], 0, 0
    memory = 0
    # More rounds where other work on the machine has made them differ.
    while len(alone) < 3 or sum(beside) < sum(alone) / 2 and len(alone) < 8:
        alone.append(honest.rate(0.7))
        with hostile_user(box, kind) as said:
            beside.append(honest.rate(1.0))
            memory = max(memory, box.memory("RssAnon"))
        told, done = told + said[0], done + said[1]
    share = sum(beside) / sum(alone)
    print(f"{kind}: {share:.2f} of {sum(alone) / len(alone):.0f} events a second, the slowest answer {honest.slowest * 1000:.0f} ms,"
          f" {memory} KB, {told} events and {done} of the hostile user")
    assert done > 0
    assert memory < 80 * KILO, f"{memory} KB"
    until(lambda: box.daemon.status()["intake"]["connections"] == 1, 20, "the hostile are gone")
    # What the hostile sent behind its last answer may be durable or not.
    assert box.accepted() >= honest.count + told
    assert box.daemon.status()["intake"]["accepted"] >= honest.count + told
    assert share >= 0.5, (alone, beside)
