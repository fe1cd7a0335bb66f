"""Answers without an end: they cost neither memory nor time, and what they say of the events counts."""
import contextlib

import pytest

from harness import Collector, Script, until
from peers import CHECKS, FAST, TRUST, anonymous_kib, delivered, to

LONG = 100 << 20
# A body in each place, what is read ahead, and the programs' own; a hundredth of the answers.
ANONYMOUS_KIB = 24 << 10


class Long(Collector):
    """Answers a POST with a body of 100 MiB, and counts how many were taken to their end."""

    finished = 0

    def serve(self, reader, writer):
        going_on = super().serve(reader, writer)
        self.finished += going_on and self.requests[-1][1] == "POST"
        return going_on


class Endless(Collector):
    """Answers a POST with a head of 100 MiB, until it is `cured`."""

    cured = False
    sent = 0

    def serve(self, reader, writer):
        if self.cured:
            return super().serve(reader, writer)
        while reader.readline().strip():
            pass
        with contextlib.suppress(OSError):
            writer.write(b"HTTP/1.1 200 OK\r\n")
            for _ in range(LONG // 8192):
                writer.write(b"X-Long: " + b"y" * 8182 + b"\r\n")
                self.sent += 8192
        return False


@pytest.mark.parametrize("over", ["plain", "http 2"])
def test_a_long_body_counts_by_its_status(daemons, nginx, over):
    collector = Long(script=Script(body=bytes(LONG)))
    url, options = collector.url, FAST + "BatchMaxEvents=1\n"
    if over == "http 2":
        front = nginx("proxy_max_temp_file_size 0; " + to(collector.port), tls="server")
        url, options = f"https://localhost:{front.port}/in", options + TRUST
    daemon = daemons(url=url, options=options, sections=CHECKS).start()
    daemon.post_numbers(range(10))
    most = 0

    def all_delivered():
        nonlocal most
        most = max(most, anonymous_kib(daemon))
        return daemon.assert_ledger()["delivered"] == 10

    try:
        until(all_delivered, 30, lambda: f"all is delivered\n{daemon.destination()}")
        assert collector.numbers() == list(range(10)) and most < ANONYMOUS_KIB, most
        assert collector.finished == 0
    finally:
        collector.stop()


def test_a_long_head_is_no_answer(daemons):
    collector = Endless()
    daemon = daemons(url=collector.url, options=FAST, sections=CHECKS).start()
    try:
        daemon.post_numbers(range(10))
        until(lambda: collector.sent > 4 * 65_536, 10, "it is asked")
        until(lambda: daemon.state() == "unreachable", 10, lambda: f"{daemon.destination()}")
        assert "64 KiB" in daemon.destination()["last_error"]["detail"]
        assert daemon.assert_ledger()["queued"] == 10 and anonymous_kib(daemon) < ANONYMOUS_KIB
        assert collector.sent < LONG
        collector.cured = True
        delivered(daemon, collector, range(10))
    finally:
        collector.stop()
