"""A wall clock that jumps, by an hour and by years, both ways, while the daemon runs and between its runs.

A preloaded library puts an offset on the wall clock, which the test changes, and says whether it is synchronised. The
clock of the machine stays as it is. UPLINKD_CLOCK_STEPS=all takes four steps instead of two.
"""
import calendar
import email.utils
import os
import struct
import subprocess
import time

import pytest

from harness import Script, until

HOUR, YEAR = 3600, 365 * 86400
STEPS = {"an hour back": -HOUR, "ten years on": 10 * YEAR}
if os.environ.get("UPLINKD_CLOCK_STEPS") == "all":
    STEPS |= {"an hour on": HOUR, "ten years back": -10 * YEAR}
OPTIONS = "RetryMin=250ms\nRetryMax=1s\nFlushSpread=0"
SECTIONS = "[Reachability]\nCheckInterval=1s\n"
SHIM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>
static volatile int64_t *shared;
static int shifts_all;
__attribute__((constructor)) static void begin(void) {
    int fd = open(getenv("TEST_CLOCK"), O_RDONLY | O_CLOEXEC);
    shared = mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    shifts_all = getenv("TEST_CLOCK_ALL") != 0;
}
int clock_gettime(clockid_t clock, struct timespec *at) {
    int result = syscall(SYS_clock_gettime, clock, at);
    if (shared && (shifts_all || clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) at->tv_sec += shared[0];
    return result;
}
int gettimeofday(struct timeval *at, void *zone) {
    int result = syscall(SYS_gettimeofday, at, zone);
    if (shared) at->tv_sec += shared[0];
    return result;
}
time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
int adjtimex(struct timex *state) {
    state->status = shared[1] ? 0 : STA_UNSYNC;
    return shared[1] ? TIME_OK : TIME_ERROR;
}
"""


class WallClock:
    """The wall clock of the daemons that have `environment`."""

    def __init__(self, home, synchronised=True):
        self.library, self.file = os.path.join(home, "clock.so"), os.path.join(home, "clock")
        source = os.path.join(home, "clock.c")
        with open(source, "w") as file:
            file.write(SHIM)
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", self.library, source], check=True)
        self.offset, self.synchronised = 0, synchronised
        self.write()
        self.environment = {"LD_PRELOAD": self.library, "TEST_CLOCK": self.file}

    def write(self):
        data = struct.pack("<qq", self.offset, self.synchronised)
        if not os.path.exists(self.file):
            with open(self.file, "wb") as file:
                file.write(data.ljust(4096, b"\0"))
        with open(self.file, "r+b") as file:
            file.write(data)

    def step(self, seconds):
        self.offset += seconds
        self.write()

    def set(self, synchronised):
        self.synchronised = synchronised
        self.write()

    def now(self):
        return time.time() + self.offset

    def is_now(self, text):
        """True where an RFC 3339 time is about the wall clock's."""
        at = calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S"))
        return abs(at - self.now()) < 60


@pytest.fixture
def clock(home):
    return WallClock(home)


def assert_quiet(daemon):
    """Nothing is expired, and no age is longer than the test."""
    ledger = daemon.assert_ledger()
    assert ledger["expired"] == ledger["dead"] == ledger["quarantined"] == 0, ledger
    status = daemon.status()
    assert 0 <= status["uptime_s"] < 600, status
    for each in status["destinations"]:
        assert each.get("oldest_age_s") is None or 0 <= each["oldest_age_s"] < 600, each


def all_arrives(daemon, collector, count, seconds=20):
    begun = time.monotonic()

    def what():
        arrived = set(collector.numbers())
        missing, more = sorted(set(range(count)) - arrived), sorted(arrived - set(range(count)))
        posts = [(round(each[0] - begun, 1), [event["n"] for event in each[4]]) for each in collector.posts()[-20:]]
        return (f"all arrives; missing {missing}, more {more}, last posts {posts}\n"
                f"{daemon.destination()}\n{daemon.read_log()}")

    until(lambda: sorted(set(collector.numbers())) == list(range(count)), seconds, what)
    until(lambda: daemon.assert_ledger()["queued"] == 0, 10, "nothing is queued")


@pytest.mark.parametrize("step", STEPS)
def test_step_while_running(daemons, clock, collector, step):
    """Nothing stalls: back-off, checks and the cursors' sync go on; what is accepted then has the new time."""
    collector.script = Script(status=503)
    daemon = daemons(url=collector.url, options=OPTIONS, sections=SECTIONS, environment=clock.environment)
    daemon.start()
    daemon.post_numbers(range(10))
    until(lambda: len(collector.posts()) >= 2, 20, "it is tried")
    clock.step(STEPS[step])
    before = len(collector.posts())
    until(lambda: len(collector.posts()) >= before + 3, 20, "it is tried on")
    assert_quiet(daemon)
    daemon.post_numbers(range(10, 20))
    collector.script = Script()
    all_arrives(daemon, collector, 20)
    with collector.lock:
        times = {each["n"]: each["accepted_at"] for each in collector.taken}
    assert all(clock.is_now(times[number]) for number in range(10, 20)), times
    clock.step(-STEPS[step])
    assert all(clock.is_now(times[number]) for number in range(10)), times
    # Once more with a collector that gives no answers, so that it is checked.
    collector.script = Script(close=True, status=503)
    daemon.post_numbers(range(20, 25))
    until(lambda: daemon.state() == "unreachable", 20, "it is noticed")
    clock.step(STEPS[step])
    collector.script = Script()
    all_arrives(daemon, collector, 25)
    # Cursors are durable within a second, so that this is no power cut's repeat.
    time.sleep(1.5)
    daemon.kill()
    daemon.start()
    daemon.post_numbers([25])
    all_arrives(daemon, collector, 26)
    assert len(collector.numbers()) == 26
    assert_quiet(daemon)
    assert daemon.stop() == 0


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("synchronised", [False, True])
def test_step_over_a_restart(daemons, clock, collector, step, synchronised):
    """Nothing that has no time to live expires, nothing stalls, and no age goes wild."""
    clock.set(synchronised)
    collector.script = Script(status=503)
    daemon = daemons(url=collector.url, options=OPTIONS, sections=SECTIONS, environment=clock.environment)
    for turn in range(3):
        daemon.start()
        daemon.post_numbers(range(10 * turn, 10 * turn + 10))
        before = len(collector.posts())
        until(lambda: len(collector.posts()) >= before + 2, 20, "it is tried")
        ledger = daemon.assert_ledger()
        assert (ledger["queued"], ledger["expired"]) == (10 * turn + 10, 0)
        if not synchronised:
            assert_quiet(daemon)
        daemon.kill() if turn % 2 else daemon.stop()
        clock.step(STEPS[step])
    collector.script = Script()
    daemon.start()
    all_arrives(daemon, collector, 30)
    assert collector.numbers() == list(range(30)), "in order, once"
    with collector.lock:
        assert all(("accepted_at" in each) == synchronised for each in collector.taken)
    assert daemon.stop() == 0


@pytest.mark.parametrize("step", STEPS)
def test_retry_after_a_date(daemons, clock, collector, step):
    """A date in Retry-After counts from the answer, whatever the wall clock does meanwhile."""
    dates = [email.utils.formatdate(clock.now() + wait, usegmt=True) for wait in (0, 3)]
    collector.script = Script(status=503, headers=dict(zip(("Date", "Retry-After"), dates)))
    daemon = daemons(url=collector.url, options=OPTIONS, sections=SECTIONS, environment=clock.environment)
    daemon.start()
    daemon.post_numbers(range(3))
    until(lambda: collector.posts(), 20, "it is tried")
    collector.script = Script()
    clock.step(STEPS[step])
    all_arrives(daemon, collector, 3)


def test_sigterm_while_the_log_stands_still(daemons, clock):
    """A wall clock that is not where it was when a wait began makes the wait no longer."""
    daemon = daemons(environment=clock.environment)
    os.mkfifo(daemon.log)
    reader = os.open(daemon.log, os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(daemon.log, os.O_WRONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(BlockingIOError):
            while True:
                os.write(writer, bytes(4096))
        clock.step(HOUR)
        daemon.start(wait=False)
        until(daemon.is_serving, 10, "it serves")
        daemon.post_numbers(range(3))
        daemon.process.terminate()
        assert daemon.process.wait(6) == 0
    finally:
        os.close(writer)
        os.close(reader)
        os.unlink(daemon.log)


def posted_with_ttl(daemon, first):
    """Posts five events that live for two hours and five that live for good."""
    for number in range(first, first + 10):
        parameters = {"ttl": "2h"} if number % 2 else {}
        code, _, answer = daemon.post([{"n": number}], **parameters)
        assert code == 202, answer


@pytest.mark.parametrize("step", STEPS)
def test_time_to_live_while_running(daemons, clock, collector, step):
    """It is counted by what really passed: nothing expires early, and what is due expires, whatever the clock does."""
    collector.script = Script(status=503)
    daemon = daemons(url=collector.url, options=OPTIONS, sections="MaxAge=3h\n" + SECTIONS,
                     environment=clock.environment)
    daemon.start()
    # It is the oldest, and first tried alone: a batch that is tried again goes on with all it had as long as one of its
    # events is left, so that beside others it would arrive though it has expired.
    code, _, answer = daemon.post([{"n": 20}], ttl="5s")
    assert code == 202, answer
    until(lambda: collector.posts() or daemon.assert_ledger()["expired"], 30, "it is tried")
    posted_with_ttl(daemon, 0)
    clock.step(STEPS[step])
    posted_with_ttl(daemon, 10)
    until(lambda: daemon.assert_ledger()["expired"] > 0, 60, "one expires")
    time.sleep(1)
    assert daemon.assert_ledger()["expired"] == 1
    collector.script = Script()
    all_arrives(daemon, collector, 20)
    assert daemon.assert_ledger()["delivered"] == 20


def reboot(daemon):
    """What the daemon wrote down of the clocks is of another boot."""
    with open(os.path.join(daemon.queue, "FORMAT"), "rb") as file:
        seal = int.from_bytes(file.read(20)[16:], "little")
    with open(os.path.join(daemon.queue, "clock"), "r+b") as file:
        record = bytearray(file.read())
        assert len(record) == 512 and record[32] == 36
        record[33:69] = b"0" * 36
        record[4:8] = crc(record[8:], seal).to_bytes(4, "little")
        file.seek(0)
        file.write(record)


def crc(data, seed):
    value = seed ^ 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


@pytest.mark.parametrize("before, after", [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("rebooted", [False, True])
def test_time_to_live_over_a_restart(daemons, clock, collector, step, before, after, rebooted):
    """Over a reboot, time counts where the clock was synchronised before and after and did not go back; never else."""
    clock.set(before)
    collector.script = Script(status=503)
    daemon = daemons(url=collector.url, options=OPTIONS, sections=SECTIONS, environment=clock.environment)
    daemon.start()
    posted_with_ttl(daemon, 0)
    daemon.kill()
    clock.step(STEPS[step])
    clock.set(after)
    if rebooted:
        reboot(daemon)
    daemon.start()
    expired = 5 if rebooted and before and after and STEPS[step] > 2 * HOUR else 0
    collector.script = Script()
    until(lambda: daemon.assert_ledger()["queued"] == 0, 20, "nothing is queued")
    ledger = daemon.assert_ledger()
    assert (ledger["delivered"], ledger["expired"]) == (10 - expired, expired), ledger
    assert sorted(set(collector.numbers())) == [n for n in range(10) if not expired or n % 2 == 0]


@pytest.mark.parametrize("ending", ["killed", "stopped", "rebooted"])
def test_a_step_while_running_is_no_time_off(daemons, clock, collector, ending):
    """A clock that is set while the daemon runs, with nothing posted since, has nothing expire after the next start."""
    collector.script = Script(status=503)
    daemon = daemons(url=collector.url, options=OPTIONS, sections=SECTIONS, environment=clock.environment)
    daemon.start()
    posted_with_ttl(daemon, 0)
    clock.step(10 * YEAR)
    time.sleep(1.2)
    daemon.status()
    time.sleep(0.5)
    daemon.stop() if ending == "stopped" else daemon.kill()
    if ending == "rebooted":
        reboot(daemon)
    daemon.start()
    collector.script = Script()
    until(lambda: daemon.assert_ledger()["queued"] == 0, 20, "nothing is queued")
    ledger = daemon.assert_ledger()
    assert (ledger["delivered"], ledger["expired"]) == (10, 0), ledger
