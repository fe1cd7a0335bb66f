"""Things that do not answer: name servers, the journal, systemd. Intake, the watchdog and SIGTERM bear it."""
import contextlib
import os
import resource
import shutil
import signal
import socket
import threading
import time

import pytest

from harness import LineClient, collector_in, Script, enter, request, until
from manager import WATCHDOG_SECONDS, Manager
from name_server import NameServer, use_name_server

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces and mounts need root")
# Like the watchdog's, shorter than what a lookup holds up its caller for, and long for a busy machine.
ANSWER_SECONDS = 4


def assert_answers(daemon, seconds, every=0.05):
    """Posts lines and requests for a while; each is answered soon. Returns how many were."""
    link = LineClient(daemon.events)
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        began = time.monotonic()
        link.send(b'{"n":1}\n')
        assert link.answer() == {"accepted": count // 2 + 1}
        daemon.post_numbers([2])
        count += 2
        assert time.monotonic() - began < ANSWER_SECONDS
        time.sleep(every)
    link.close()
    return count


@pytest.fixture
def name_server(network):
    use_name_server(network, network.outer_address)
    yield NameServer(network)
    shutil.rmtree(f"/etc/netns/{network.inner}")


@needs_root
def test_a_name_server_that_never_answers(daemons, network, name_server, home):
    network.route()
    manager = Manager(home)
    options = "PlainHTTP=yes\nExpectHeader=X-Collector\nRetryMin=250ms\nFlushSpread=0"
    names = {f"d{each}": f"http://collector{each}.example:8080/collect" for each in range(4)}
    daemon = daemons(destinations=names, wrap=network.wrap(), environment=manager.environment())
    daemon.write_configuration(options, "[Reachability]\nCheckInterval=2s")
    daemon.start()
    began = time.monotonic()
    until(lambda: name_server.questions > 0, 10, "the name server is asked")
    count = assert_answers(daemon, 8)
    for name in names:
        # Two lookups at a time, five seconds each.
        until(lambda: (daemon.destination(name)["state"], daemon.destination(name)["reason"]) ==
              ("unreachable", "dns"), 15, f"{name} is unreachable for want of an address")
        assert daemon.destination(name)["ledger"]["queued"] == count
    threads = os.listdir(f"/proc/{daemon.pid()}/task")
    assert len(threads) <= 3 + len(names), "one thread a hanging lookup, and no more with time"
    manager.assert_fed(began)
    collector = collector_in(network.outer, "198.51.100.10", script=Script(headers={"X-Collector": "yes"}))
    name_server.answers = "198.51.100.10"
    until(lambda: all(daemon.state(name) == "reachable" for name in names), 30, "it is asked again, and found")
    until(lambda: len(collector.numbers()) == count * len(names), 20, "everything arrives at each")
    with collector.lock:
        assert all(event["queue_reason"] == "connectivity" for event in collector.taken)
    collector.stop()
    assert daemon.stop() == 0


@needs_root
def test_sigterm_while_lookups_hang(daemons, network, name_server):
    network.route()
    daemon = daemons(url="https://collector.example/", wrap=network.wrap())
    daemon.start()
    daemon.post_numbers(range(10))
    until(lambda: name_server.questions > 0, 10, "the name server is asked")
    assert daemon.stop(6) == 0


class Journal:
    """A journal that does not read, until told to; at journald's path, for the daemon alone."""

    path = "/run/systemd/journal/socket"

    def __init__(self, home):
        self.bound = os.path.join(home, "journal")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.bound)
        self.entries = []

    def wrap(self):
        """The command that shows the daemon this journal, and makes it look like one that systemd started."""
        script = (
            "mount --make-rprivate / && mount -t tmpfs none /run && mkdir -p /run/systemd/journal && "
            f"touch {self.path} && mount --bind '{self.bound}' {self.path} && "
            'export SYSTEMD_EXEC_PID=$$ && exec "$@"'
        )
        return ["unshare", "--mount", "sh", "-c", script, "sh"]

    def read(self):
        """From now on it reads."""

        def run():
            while True:
                entry = self.socket.recv(65536).decode(errors="replace")
                self.entries.append(dict(line.split("=", 1) for line in entry.splitlines() if "=" in line))

        threading.Thread(target=run, daemon=True).start()


def chatter(daemon, turns):
    """Has it log 150 lines a turn, no two of one place, which would be repeats: warnings of a reload."""
    for turn in range(turns):
        lines = "\n" * 150 * turn + "".join(f"Nonsense{each}=1\n" for each in range(150))
        daemon.write_configuration(sections=lines)
        code, _, body = request(daemon.control, "POST", "/v1/reload")
        assert code == 200, body


@needs_root
def test_a_journal_that_does_not_read(daemons, home):
    journal, manager = Journal(home), Manager(home)
    daemon = daemons(wrap=journal.wrap(), environment=manager.environment())
    daemon.start()
    began = time.monotonic()
    # More than the log thread's ring, the lines that it has taken, and the journal's own queue hold.
    chatter(daemon, 20)
    assert_answers(daemon, 5)
    manager.assert_fed(began)
    assert not journal.entries
    journal.read()

    def dropped():
        return sum(int(entry["UPLINK_COUNT"]) for entry in journal.entries if "were dropped" in entry["MESSAGE"])

    until(lambda: dropped() + sum("unknown key" in entry["MESSAGE"] for entry in journal.entries) >= 20 * 150, 10,
          "each line is written, or counted as dropped")
    assert dropped() > 0
    assert daemon.stop() == 0
    until(lambda: journal.entries[-1]["MESSAGE"].startswith("Stopped"), 5, "the last line is the last")


@needs_root
def test_sigterm_while_the_journal_does_not_read(daemons, home):
    journal = Journal(home)
    daemon = daemons(wrap=journal.wrap())
    daemon.start()
    chatter(daemon, 10)
    daemon.post_numbers(range(10))
    assert daemon.stop(6) == 0


def test_ready_when_the_sockets_accept(daemons, home):
    manager = Manager(home)
    daemon = daemons(environment=manager.environment())
    answers = []

    def ask():
        answers.append(request(daemon.control, "GET", "/readyz")[0])
        answers.append(daemon.post([{"n": 1}])[0])

    manager.on_ready = ask
    for turn in range(10):
        daemon.start(wait=False)
        until(lambda: len(manager.kinds()) == 2 * turn + 1, 10, "it is ready")
        assert answers == [200, 202] * (turn + 1)
        assert "STATUS" in manager.datagrams[0][1]
        assert daemon.stop() == 0
        until(lambda: len(manager.kinds()) == 2 * turn + 2, 5, "it says that it stops")
    assert manager.kinds() == ["READY", "STOPPING"] * 10


def test_a_start_that_fails_is_never_ready(daemons, home):
    manager = Manager(home)
    daemon = daemons(environment=manager.environment())
    daemon.write_configuration(sections="MaxSize=much\n")
    daemon.start(wait=False)
    assert daemon.process.wait(10) == 78
    until(lambda: manager.datagrams, 5, "it says why")
    assert f"{daemon.configuration}:" in manager.datagrams[-1][1]["STATUS"]
    assert manager.kinds() == []


def test_reload_is_told_also_when_it_fails(daemons, home):
    manager = Manager(home)
    daemon = daemons(environment=manager.environment())
    daemon.start()
    for turn, sections in enumerate(("", "MaxSize=much\n", "")):
        daemon.write_configuration(sections=sections)
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        os.kill(daemon.pid(), signal.SIGHUP)
        until(lambda: len(manager.kinds()) == 2 * turn + 3, 10, "the reload ends")
        assert manager.kinds()[-2:] == ["RELOADING", "READY"], "the old configuration stays in force"
        told = [fields for _, fields in manager.datagrams if "RELOADING" in fields][-1]
        assert before <= int(told["MONOTONIC_USEC"]) <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        daemon.post_numbers([turn])
    stopping = len(manager.datagrams)
    assert daemon.stop() == 0
    until(lambda: manager.kinds()[-1] == "STOPPING", 5, "it says that it stops")
    later = [fields for _, fields in manager.datagrams[stopping:] if "WATCHDOG" not in fields]
    assert "STOPPING" in later[0]


def test_ready_is_told_to_a_manager_that_reads_late(daemons, home):
    """Others may have filled its queue: it would wait for that word, and then end the daemon."""
    manager = Manager(home, reads=False)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as others, contextlib.suppress(BlockingIOError):
        others.setblocking(False)
        while True:
            others.sendto(b"STATUS=another", manager.path)
    daemon = daemons(environment=manager.environment())
    daemon.start()
    daemon.post_numbers([1])
    manager.start()
    until(lambda: manager.kinds(), 5, "it is told")
    os.kill(daemon.pid(), signal.SIGHUP)
    until(lambda: len(manager.kinds()) >= 3, 10, "the reload ends")
    assert daemon.stop() == 0
    until(lambda: manager.kinds()[-1] == "STOPPING", 5, "it says that it stops")
    assert manager.kinds() == ["READY", "RELOADING", "READY", "STOPPING"]


def test_the_watchdog_is_fed_while_clients_hold_all_descriptors(daemons, home):
    manager = Manager(home)
    daemon = daemons(environment=manager.environment())
    daemon.start()
    limit = len(os.listdir(f"/proc/{daemon.pid()}/fd")) + 20
    resource.prlimit(daemon.pid(), resource.RLIMIT_NOFILE, (limit, limit))
    began = time.monotonic()
    with contextlib.ExitStack() as links:
        for _ in range(40):
            links.enter_context(socket.socket(socket.AF_UNIX)).connect(daemon.events)
        until(lambda: len(os.listdir(f"/proc/{daemon.pid()}/fd")) == limit, 5, "none is left")
        time.sleep(2 * WATCHDOG_SECONDS)
        manager.assert_fed(began)
    daemon.post_numbers([1])
    assert daemon.stop() == 0


def test_a_manager_that_does_not_read(daemons, home):
    manager = Manager(home, reads=False)
    daemon = daemons(environment=manager.environment(watchdog=0.02))
    daemon.start()
    count = assert_answers(daemon, 3)
    assert count > 10
    manager.start()
    until(lambda: any("WATCHDOG" in fields for _, fields in manager.datagrams), 5, "it is told again once it reads")
    read = len(manager.datagrams)
    until(lambda: len(manager.datagrams) > read + 20, 5, "and goes on being told")
    assert daemon.stop() == 0
