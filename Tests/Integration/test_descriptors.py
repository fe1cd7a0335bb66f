"""Few descriptors (RLIMIT_NOFILE) and many who want them: the operator is answered, and what was accepted arrives."""
import contextlib
import http.client
import os
import signal
import socket
import threading
import time

import pytest

from harness import Collector, request, until

DESTINATIONS = 8
STATUS_SECONDS = 3


class Posters:
    """Clients that post one event a request, each over a connection of its own, and remember what was acknowledged."""

    def __init__(self, daemon, count):
        self.daemon, self.acknowledged, self.answers = daemon, set(), []
        self.enough = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(index,), daemon=True) for index in range(count)]
        for thread in self.threads:
            thread.start()

    def run(self, index):
        number = index * 1_000_000
        while not self.enough.is_set():
            number += 1
            with contextlib.suppress(OSError, http.client.HTTPException):
                code, _, _ = request(self.daemon.events, "POST", "/v1/events", '{"n":%d}' % number, timeout=2)
                self.answers.append(code)
                if code == 202:
                    self.acknowledged.add(number)
            time.sleep(0.02)

    def end(self):
        self.enough.set()
        for thread in self.threads:
            thread.join(10)


def time_of_status(daemon):
    began = time.monotonic()
    status = daemon.status()
    assert time.monotonic() < began + STATUS_SECONDS
    return status


@pytest.mark.parametrize("limit", [40, 48, 64])
def test_few_descriptors(daemons, limit):
    """Idle clients and more destinations than there are descriptors for shut out neither the operator nor the disk."""
    collectors = [Collector() for _ in range(DESTINATIONS)]
    daemon = daemons(
        destinations={f"c{index}": collector.url for index, collector in enumerate(collectors)},
        options="RetryMin=100ms\nRetryMax=1s\nFlushSpread=0",
        wrap=["prlimit", f"--nofile={limit}:{limit}"],
    )
    daemon.start()
    assert f"RLIMIT_NOFILE {limit} leaves" in daemon.read_log()
    with contextlib.ExitStack() as idle:
        for _ in range(40):
            link = idle.enter_context(socket.socket(socket.AF_UNIX))
            link.settimeout(1)
            with contextlib.suppress(OSError):
                link.connect(daemon.events)
        posters = Posters(daemon, 8)
        for _ in range(5):
            time_of_status(daemon)
            time.sleep(0.3)
        os.kill(daemon.pid(), signal.SIGHUP)
    until(lambda: time_of_status(daemon) and len(posters.acknowledged) > 100, 30, "events are taken once they left")
    posters.end()
    assert set(posters.answers) <= {202, 503}, set(posters.answers)
    try:
        until(
            lambda: all(each["ledger"]["queued"] == 0 for each in time_of_status(daemon)["destinations"]), 60,
            lambda: f"all is sent: {daemon.read_log()}")
    finally:
        for collector in collectors:
            collector.stop()
    for collector in collectors:
        assert posters.acknowledged <= set(collector.numbers())
    log = daemon.read_log()
    assert "is unreachable: refused" not in log, log
    assert daemon.stop() == 0
