"""What the watchdog of a real systemd ends, and what it bears: only a loop that hangs is a reason to restart.

UPLINKD_FREEZE_SECONDS says for how long a disk or the name servers stand still.
"""
import contextlib
import os
import socket
import threading
import time

import pytest

from box import PEER_SETTINGS, PEER_URL, QUEUE
from harness import Script, enter, until
from load import acknowledged, all_go_on, clients

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a systemd of its own needs root")
FREEZE_SECONDS = os.environ.get("UPLINKD_FREEZE_SECONDS")
# As the unit has it, but with less patience.
PATIENCE = "[Service]\nWatchdogSec=3\nTimeoutAbortSec=60\nRestartSec=2\n"
FREEZE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/epoll.h>
#include <unistd.h>
int epoll_wait(int fd, struct epoll_event *events, int count, int timeout) {
    if (access("/usr/local/lib/freeze", F_OK) == 0) for (;;) pause();
    return ((__typeof__(&epoll_wait))dlsym(RTLD_NEXT, "epoll_wait"))(fd, events, count, timeout);
}
"""


def assert_all_arrive(box, collector, made):
    """All that was acknowledged, in the end, and nothing that was not sent."""
    until(lambda: box.destination()["ledger"]["queued"] == 0, 30, "nothing is queued")
    numbers = collector.numbers()
    assert acknowledged(made) <= set(numbers)
    return numbers


def test_a_frozen_loop_is_ended_at_once(box):
    """By the watchdog's SIGABRT, which leaves a trace of where it hung; a kill would have come a minute later."""
    collector = box.collector()
    box.configure({"main": collector.url})
    box.drop_in(PATIENCE + box.preload(FREEZE))
    box.systemctl("start", "uplinkd")
    process = box.show("MainPID")
    with clients(box) as made:
        all_go_on(made)
        began = time.monotonic()
        open(box.path("/usr/local/lib/freeze"), "w").close()
        until(lambda: box.show("SubState") != "running", 30, "the watchdog has had enough")
        os.remove(box.path("/usr/local/lib/freeze"))
        until(lambda: box.show("NRestarts") == "1" and box.show("ActiveState") == "active", 50, "it is restarted")
        print(f"restarted {time.monotonic() - began:.1f} s after it froze")
        all_go_on(made)
    assert box.show("MainPID") != process and box.show("NRestarts") == "1"
    said = box.said()
    assert "Watchdog timeout" in said and "status=6/ABRT" in said and "KILL" not in said
    trace = said[said.index("Program crashed"):]
    for name in ("cl_epoll_wait", "EventLoop", " in uplinkd"):
        assert name in trace, name
    assert_all_arrive(box, collector, made)


@pytest.mark.parametrize("signal", ["QUIT", "ABRT", "SEGV"])
def test_a_fatal_signal_ends_it(box, signal):
    """Also one that was sent, with a trace."""
    box.configure({"main": "http://127.0.0.1:9/"})
    box.drop_in("[Service]\nRestartSec=100ms\n")
    box.systemctl("start", "uplinkd")
    box.post(range(10))
    box.sh(f"systemctl kill --kill-who=main -s {signal} uplinkd")
    until(lambda: box.show("NRestarts") == "1" and box.show("ActiveState") == "active", 20, "it is restarted")
    said = box.said()
    assert f"/{signal}" in said and "Program crashed" in said
    assert box.destination()["ledger"]["queued"] == 10


def test_half_a_second_of_patience_is_enough(box):
    """Offline for ten times the watchdog's interval."""
    box.configure({"main": "http://127.0.0.1:9/"})
    box.drop_in("[Service]\nWatchdogSec=500ms\n")
    box.systemctl("start", "uplinkd")
    box.post(range(100))
    time.sleep(5)
    assert (box.show("NRestarts"), box.show("ActiveState")) == ("0", "active")


def assert_borne(box, seconds, each=lambda: None):
    """For so long nothing is restarted."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        each()
        assert (box.show("NRestarts"), box.show("SubState")) == ("0", "running")
        time.sleep(0.5)


def test_name_servers_that_swallow_what_is_asked(box):
    """Events are taken all the while; once a name server answers, they go out."""
    with open(os.path.join(box.state, "peerpid")) as file:
        peer = f"/proc/{file.read().strip()}/ns/net"
    asked = []

    def swallow():
        enter(peer)
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        server.bind(("192.0.2.1", 53))
        asked.append(server)
        with contextlib.suppress(OSError):
            while True:
                asked.append(server.recv(2048))

    threading.Thread(target=swallow, daemon=True).start()
    until(lambda: asked, 10, "it listens")
    collector = box.peer_collector(script=Script(headers={"X-Collector": "yes"}))
    box.sh("cp /etc/hosts /etc/hosts.before; rm -f /etc/resolv.conf; echo nameserver 192.0.2.1 > /etc/resolv.conf")
    box.configure({"main": PEER_URL.replace("192.0.2.1", "collector.example")}, PEER_SETTINGS)
    box.drop_in(PATIENCE)
    box.systemctl("start", "uplinkd")
    try:
        with clients(box) as made:
            assert_borne(box, float(FREEZE_SECONDS or 6), lambda: all_go_on(made, 1, 4))
            assert len(asked) > 1, "the name server was asked"
            box.until_state("unreachable")
            assert (box.destination()["reason"], collector.numbers()) == ("dns", [])
            box.sh("echo 192.0.2.1 collector.example >> /etc/hosts")
            until(collector.numbers, 30, "it is looked up again, and found")
        numbers = assert_all_arrive(box, collector, made)
        assert len(numbers) == len(set(numbers)), "once"
    finally:
        asked[0].close()
        box.sh("mv /etc/hosts.before /etc/hosts; rm /etc/resolv.conf")


def test_a_disk_that_stands_still(box, disks):
    with box.queue_on(disks("ext4", 200)):
        collector = box.collector()
        box.configure({"main": collector.url})
        box.drop_in(PATIENCE)
        box.systemctl("start", "uplinkd")
        with clients(box) as made:
            all_go_on(made)
            box.sh(f"fsfreeze -f {QUEUE}")
            assert_borne(box, float(FREEZE_SECONDS or 12))
            assert "disk" in box.show("StatusText")
            box.sh(f"fsfreeze -u {QUEUE}")
            all_go_on(made)
        assert box.show("NRestarts") == "0"
        numbers = assert_all_arrive(box, collector, made)
        assert len(numbers) == len(set(numbers)), "once"
