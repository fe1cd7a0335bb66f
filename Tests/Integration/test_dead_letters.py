"""Many dead letters cost nobody else anything: not intake while they go, not another destination that has few."""
import contextlib
import os
import struct
import subprocess
import threading
import time

import pytest

from harness import Collector, Script, request, until
from made_queue import checksum_library

OPTIONS = "Format=object\nRetryMin=250ms\nFlushSpread=0"
LETTERS = 2000


def make_letters(daemon, count, log="normal", destination="main"):
    """Writes letters for the first events of a log, all of them delivered, as a run that died after it would have
    left them: the start counts them as dead."""
    crc = checksum_library(daemon.home)
    with open(os.path.join(daemon.queue, "FORMAT"), "rb") as file:
        seal = struct.unpack_from("<I", file.read(), 16)[0]
    folder = os.path.join(daemon.queue, "dead", destination)
    os.makedirs(folder, mode=0o700)
    os.chmod(os.path.dirname(folder), 0o700)
    names = destination.encode() + log.encode()
    for number in range(1, count + 1):
        event = b'{"n":%d}' % number
        body = struct.pack(
            "<QQqqHBBIIHBB", 7, number, 1_700_000_000_000, 1_700_000_001_000, 400, 2, 0, 1, len(event), 0,
            len(destination), len(log)) + names + event
        with open(os.path.join(folder, f"{log}-{number:020d}.letter"), "wb") as file:
            file.write(b"UPD1" + struct.pack("<I", crc(body, seal)) + body)


def letters_left(daemon, destination="main"):
    return len(os.listdir(os.path.join(daemon.queue, "dead", destination)))


def deliver(daemon, numbers, **parameters):
    """Posts numbers and waits until all destinations have them."""
    for first in range(0, len(numbers), 500):
        code, _, answer = daemon.post([{"n": number} for number in numbers[first:first + 500]], **parameters)
        assert code == 202, answer
    until(lambda: all(daemon.destination(name)["ledger"]["queued"] == 0 for name in daemon.destinations), 30, "sent")


@contextlib.contextmanager
def slow_unlinks(daemon, microseconds):
    """Each unlink(2) of the daemon takes so long."""
    tracer = subprocess.Popen(
        ["strace", "-f", "-qq", "-o", "/dev/null", "-p", str(daemon.pid()), "-e", "trace=unlink",
         "-e", f"inject=unlink:delay_enter={microseconds}"], stderr=subprocess.DEVNULL)
    until(lambda: "TracerPid:\t0" not in open(f"/proc/{daemon.pid()}/status").read(), 10, "strace is attached")
    yield
    tracer.terminate()
    tracer.wait(10)


class Order(threading.Thread):
    """A request to the control socket, under way."""

    def __init__(self, daemon, method, target, body):
        super().__init__(daemon=True)
        self.words = (daemon.control, method, target, body, {"Content-Type": "application/json"}, 60)
        self.answer = None
        self.start()

    def run(self):
        with contextlib.suppress(OSError):
            self.answer = request(*self.words)


ORDERS = {
    "drop": ("normal", {}, ("POST", "/v1/dead/drop", '{"all":true}')),
    "deny": ("consent-ads", {"consent": "ads"}, ("PUT", "/v1/consent/ads", '{"state":"deny"}')),
}


@pytest.fixture(params=ORDERS)
def many_letters(request, daemons, collector):
    """A daemon with 2,000 dead letters, and an order that takes all of them away."""
    log, parameters, order = ORDERS[request.param]
    daemon = daemons(url=collector.url, options=OPTIONS)
    daemon.start()
    deliver(daemon, range(1, LETTERS + 2), **parameters)
    daemon.stop()
    make_letters(daemon, LETTERS, log)
    daemon.start()
    assert daemon.assert_ledger()["dead"] == LETTERS
    return daemon, order


def test_intake_goes_on_while_many_letters_go(many_letters):
    daemon, words = many_letters
    waits, pages = [], []
    with slow_unlinks(daemon, 2000):
        order = Order(daemon, *words)
        while order.is_alive():
            began = time.monotonic()
            daemon.post_numbers([10_000 + len(waits)])
            waits.append(time.monotonic() - began)
            began = time.monotonic()
            assert request(daemon.control, "GET", "/livez")[0] == 200
            pages.append(time.monotonic() - began)
            time.sleep(0.02)
    assert order.answer and order.answer[0] == 200, order.answer
    assert letters_left(daemon) == 0, "none is there after the receipt"
    assert daemon.assert_ledger()["purged"] == LETTERS
    # The unlinks alone take four seconds.
    assert len(waits) >= 20 and sorted(waits)[len(waits) * 99 // 100] < 1.5, sorted(waits)[-5:]
    assert max(pages) < 1.5, sorted(pages)[-5:]


def test_a_kill_between_two_slices_counts_each_letter_once(many_letters):
    daemon, words = many_letters
    with slow_unlinks(daemon, 2000):
        Order(daemon, *words)
        until(lambda: 0 < letters_left(daemon) < LETTERS - 200, 20, "some are gone")
        daemon.kill()
    left = letters_left(daemon)
    assert 0 < left < LETTERS
    daemon.start()
    if words[0] == "PUT":
        until(lambda: letters_left(daemon) == 0, 20, "what is denied is purged by itself")
    ledger = until(lambda: daemon.assert_ledger(), 5, "status")
    assert ledger["dead"] == letters_left(daemon)
    assert ledger["dead"] + ledger["purged"] + ledger["delivered"] == ledger["accepted"]
    assert request(daemon.control, *words, {"Content-Type": "application/json"}, 60)[0] == 200
    ledger = daemon.assert_ledger()
    assert letters_left(daemon) == ledger["dead"] == 0 and ledger["purged"] >= LETTERS


def test_the_letters_of_one_destination_leave_another_its_share(daemons):
    """`full` has as many letters as it may and is held; `other` sets its first bad event apart and goes on."""
    collectors = {name: Collector() for name in ("full", "other")}
    daemon = daemons(
        destinations={name: each.url for name, each in collectors.items()}, options=OPTIONS,
        sections="[Queue]\nMaxSize=16M\nKeepFree=0%")
    daemon.start()
    share = (16 << 20) // 10 // 2 // 4096
    deliver(daemon, range(1, share + 2))
    daemon.stop()
    make_letters(daemon, share, destination="full")
    daemon.start()
    assert daemon.assert_ledger("full")["dead"] == share
    for each in collectors.values():
        each.script = Script(status=400)
    daemon.post_numbers([5_000])
    until(lambda: "held" in daemon.destination("full")["flags"], 10, "full is held")
    assert "KiB of" in daemon.destination("full")["last_error"]["detail"]
    until(lambda: daemon.assert_ledger("other")["dead"] == 1, 10, "other has its letter")
    collectors["other"].script = Script()
    daemon.post_numbers(range(6_000, 6_020))
    until(lambda: daemon.assert_ledger("other")["queued"] == 0, 10, "other goes on")
    assert "held" not in daemon.destination("other")["flags"]
    assert daemon.assert_ledger("full")["dead"] == share
    for each in collectors.values():
        each.stop()
