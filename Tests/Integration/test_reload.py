"""The reload: each is of the files as they are when it is asked for, and what it reads holds up nothing else."""
import json
import os
import signal
import threading
import time

from harness import Collector, Script, request, until

FAST = "FlushSpread=0\nRetryMin=100ms\nRetryMax=500ms"
NOWHERE = "http://127.0.0.1:1/"


def reload(daemon, timeout=20):
    return request(daemon.control, "POST", "/v1/reload", timeout=timeout)[0]


def in_force(daemon):
    """The destinations that are configured now."""
    return {each["name"] for each in daemon.status()["destinations"] if "removed" not in each["flags"]}


def slowed(path, seconds):
    """A wrapper in which opening a file takes so long, as on a mount that hangs."""
    delay = f"inject=openat:delay_enter={seconds * 1_000_000}"
    return ["strace", "-f", "-qq", "-o", "/dev/null", "-P", path, "-e", "trace=openat", "-e", delay]


def ends_before_it_is_read(daemon, text):
    """SIGTERM; the daemon says that it stopped while strace still holds the thread that reads."""
    os.kill(daemon.pid(), signal.SIGTERM)
    until(lambda: text in daemon.read_log(), 6, f"it stops\n{daemon.read_log()}")
    assert daemon.process.poll() is None, "the file was still being opened"
    daemon.process.wait(30)


def test_an_answered_reload_is_in_force(daemons, collector):
    """Two clients reload without pause; a third edits and reloads: what it is told is true of its own edit."""
    daemon = daemons(url=collector.url).start()
    ended = threading.Event()

    def reload_on():
        while not ended.is_set():
            try:
                reload(daemon)
            except OSError:
                pass

    others = [threading.Thread(target=reload_on) for _ in range(2)]
    for each in others:
        each.start()
    stale = []
    try:
        for turn in range(60):
            daemon.destinations = {"main": collector.url, f"x{turn % 7}": NOWHERE}
            daemon.write_configuration()
            # The others may catch the file half written, which is refused; this one finds it whole.
            assert reload(daemon) == 200
            if in_force(daemon) != set(daemon.destinations):
                stale.append(turn)
    finally:
        ended.set()
        for each in others:
            each.join()
    assert not stale


def test_the_last_of_two_signals_counts(daemons, collector):
    daemon = daemons(url=collector.url).start()
    for turn in range(20):
        for name in (f"a{turn}", f"b{turn}"):
            daemon.destinations = {"main": collector.url, name: NOWHERE}
            daemon.write_configuration()
            os.kill(daemon.pid(), signal.SIGHUP)
        until(lambda: in_force(daemon) == {"main", f"b{turn}"}, 5, f"edit {turn} is in force")


def test_what_needs_a_restart_is_compared_with_what_is_in_force(daemons, collector):
    """It is told at each reload until the file is as it was at the start; then nothing waits."""
    def told(sections):
        daemon.write_configuration(FAST, sections)
        code, _, body = request(daemon.control, "POST", "/v1/reload")
        assert code == 200, body
        return {key: json.loads(body)[key] for key in ("changed", "needs_restart")}

    daemon = daemons(url=collector.url, options=FAST, sections="[Queue]\nMaxSize=512M").start()
    pending = {"changed": [], "needs_restart": ["[Queue] MaxSize: 512M -> 1G (needs a restart)"]}
    assert told("[Queue]\nMaxSize=1G") == pending
    assert told("[Queue]\nMaxSize=1G") == pending
    assert told("[Queue]\nMaxSize=512M") == {"changed": [], "needs_restart": []}


def test_when_the_last_event_left_is_known_after_a_reload(daemons, collector):
    daemon = daemons(url=collector.url, options=FAST).start()
    daemon.post_numbers([1])
    until(lambda: daemon.assert_ledger()["delivered"] == 1, 10, "it is sent")
    daemon.write_configuration(FAST + "\nBatchMaxEvents=7")
    assert reload(daemon) == 200
    assert daemon.destination()["last_success"]


def test_other_checks_leave_what_is_in_flight(daemons, collector):
    """Only [Reachability] changes while a slow collector has the batch: it gets it once."""
    collector.script = Script(delay=1.0)
    daemon = daemons(url=collector.url, options=FAST, sections="[Reachability]\nCheckInterval=500ms").start()
    daemon.post_numbers(range(5))
    until(lambda: collector.posts(), 10, "the batch is on its way")
    daemon.write_configuration(FAST, "[Reachability]\nCheckInterval=700ms")
    assert reload(daemon) == 200
    until(lambda: daemon.assert_ledger()["queued"] == 0, 15, "all is sent")
    assert collector.numbers() == list(range(5))
    assert len(collector.posts()) == 1
    daemon.write_configuration(FAST, "[Reachability]\nCheck=no")
    assert reload(daemon) == 200
    collector.script = Script(close=True)
    daemon.post_numbers([5])
    until(lambda: len(collector.posts()) > 3, 15, "delivery tries by itself")
    collector.script = Script()
    until(lambda: daemon.assert_ledger()["queued"] == 0, 15, "all is sent")


def test_a_fifo_in_place_of_a_file(daemons, collector, home):
    """A token, certificates, a drop-in, the configuration: refused at once; events are taken on."""
    fifo = os.path.join(home, "fifo")
    os.mkfifo(fifo)
    daemon = daemons(url=collector.url, options=f"TokenFile={fifo}\nCACertificate={fifo}").start()
    until(lambda: "TokenFile" in daemon.read_log(), 5, "the log says what cannot be read")
    assert reload(daemon) == 200
    daemon.post_numbers([1])
    os.makedirs(daemon.configuration + ".d")
    os.symlink(fifo, daemon.configuration + ".d/10.conf")
    assert reload(daemon) == 422
    until(lambda: "not a regular file" in daemon.read_log(), 5, "the log says why")
    daemon.post_numbers([2])
    assert daemon.stop() == 0
    assert daemon.start(wait=False).process.wait(10) == 78


def test_a_slow_file_holds_up_no_commit(daemons, collector, home):
    token = os.path.join(home, "token")
    with open(token, "w") as file:
        file.write("secret\n")
    daemon = daemons(url=collector.url, wrap=slowed(token, 15)).start()
    daemon.write_configuration(f"TokenFile={token}")
    os.kill(daemon.pid(), signal.SIGHUP)
    time.sleep(0.5)
    daemon.post_numbers(range(3))
    until(lambda: daemon.assert_ledger()["queued"] == 0, 10, "delivery goes on")
    ends_before_it_is_read(daemon, "Stopped; on disk: 0 events")
    assert "was reloaded" not in daemon.read_log()


def test_sigterm_while_the_configuration_is_read(daemons, collector, home):
    daemon = daemons(url=collector.url, wrap=slowed(os.path.join(home, "d", "uplinkd.conf"), 20)).start(wait=False)
    until(lambda: "starts with" in daemon.read_log(), 10, "it has begun")
    ends_before_it_is_read(daemon, "a signal came before the queue was open")


def test_no_thread_can_be_had(daemons, collector, home):
    """No thread for a configuration, a token or a lookup, ten times: each is refused or tried again, and told."""
    token = os.path.join(home, "token")
    with open(token, "w") as file:
        file.write("secret\n")
    collector.script = Script(401)
    named = Collector()
    destinations = {"main": collector.url, "named": named.url.replace("127.0.0.1", "localhost")}
    # The log's thread, the settings' and the disk's are there before.
    wrap = ["strace", "-o", os.path.join(home, "trace"), "-e", "trace=clone3",
            "-e", "inject=clone3:error=EAGAIN:when=4..13"]
    sections = "[Reachability]\nCheckInterval=100ms\n"
    daemon = daemons(destinations=destinations, wrap=wrap, sections=sections)
    daemon.write_configuration(FAST + f"\nTokenFile={token}\n", sections)
    pid = daemon.start().pid()
    assert reload(daemon) == 422
    daemon.post_numbers(range(10))
    until(lambda: f"{token}, named by TokenFile" in daemon.read_log(), 10, "the token's file is not read")
    collector.script = Script()
    until(lambda: reload(daemon) == 200, 10, "a thread can be had again")
    until(lambda: collector.numbers() == named.numbers() == list(range(10)), 20, "all is delivered")
    for work in ("to read the configuration with", "to read it", "can be made"):
        assert f"no thread {work}: EAGAIN" in daemon.read_log(), daemon.read_log()
    assert daemon.pid() == pid and daemon.stop() == 0
    named.stop()


def test_what_waits_keeps_its_reason(daemons, collector):
    """Other settings while events wait for the collector, then for the network; what nothing held is not marked."""
    collector.script = Script(503, headers={"Retry-After": "3000"})
    checks = "[Reachability]\nCheckInterval=100ms\n"
    daemon = daemons(url=collector.url, options=FAST, sections=checks).start()
    until(lambda: daemon.state() == "reachable", 10, "reachable")
    daemon.post_numbers(range(5))
    until(lambda: "throttled" in daemon.destination()["flags"], 10, "it waits")
    collector.script = Script(close=True)
    for turn in range(3):
        daemon.write_configuration(FAST + f"\nBatchMaxEvents={10 + turn}", checks)
        assert reload(daemon) == 200
    until(lambda: daemon.state() == "unreachable", 10, daemon.destination)
    daemon.post_numbers(range(5, 8))
    daemon.write_configuration(FAST + "\nBatchMaxEvents=20", checks)
    assert reload(daemon) == 200
    collector.script = Script(delay=0.5)
    until(lambda: daemon.assert_ledger()["queued"] == 0, 15, daemon.destination)
    daemon.post_numbers(range(8, 12))
    until(lambda: any(event["n"] == 8 for event in collector.taken), 10, "it is on its way")
    daemon.write_configuration(FAST + "\nBatchMaxEvents=30", checks)
    assert reload(daemon) == 200
    until(lambda: daemon.assert_ledger()["queued"] == 0, 15, daemon.destination)
    reasons = {(event["n"], event.get("queue_reason")) for event in collector.taken}
    expected = [(range(5), "destination"), (range(5, 8), "connectivity"), (range(8, 12), None)]
    assert reasons == {(number, reason) for numbers, reason in expected for number in numbers}, reasons
    assert daemon.stop() == 0


class Choosy(Collector):
    """Refuses every batch that has an odd number in it."""

    def parse(self, content_type, body):
        events = super().parse(content_type, body)
        self.script = Script(400 if any(event["n"] % 2 for event in events) else 200)
        return events


def test_other_settings_while_events_are_set_apart(daemons):
    """The destination is replaced between the order to set an event apart and its answer."""
    collector = Choosy()
    options = "RetryMin=20ms\nFlushSpread=0\nBatchMaxEvents={}\n"
    checks = "[Reachability]\nCheckInterval=100ms\n"
    daemon = daemons(url=collector.url, options=options.format(1), sections=checks).start()
    daemon.post_numbers(range(600))
    for turn in range(60):
        daemon.write_configuration(options.format(2 + turn % 2), checks)
        assert reload(daemon) == 200
        time.sleep(0.02)
    assert daemon.process.poll() is None, daemon.read_log()
    until(lambda: daemon.assert_ledger()["queued"] == 0, 60, daemon.destination)
    ledger = daemon.assert_ledger()
    assert ledger["dead"] == ledger["delivered"] == 300 and set(collector.numbers()) == set(range(0, 600, 2)), ledger
    collector.stop()


def test_forgotten_while_it_comes_back(daemons, collector):
    """Either the order or the reload is first: it is forgotten, or it is refused, and the daemon goes on."""
    daemon = daemons(destinations={"a": collector.url, "main": collector.url}).start()
    daemon.post_numbers(range(3))
    until(lambda: daemon.assert_ledger("a")["queued"] == 0, 10, daemon.status)
    answers = set()
    for turn in range(40):
        daemon.destinations = {"main": collector.url}
        daemon.write_configuration()
        assert reload(daemon) == 200
        daemon.destinations = {"a": collector.url, "main": collector.url}
        daemon.write_configuration()
        coming = threading.Thread(target=reload, args=[daemon])
        coming.start()
        time.sleep(0.0003 * (turn % 20))
        answers.add(request(daemon.control, "POST", "/v1/destinations/a/forget")[0])
        coming.join()
        daemon.post_numbers(range(10 * turn, 10 * turn + 3))
        until(lambda: daemon.assert_ledger("a")["queued"] == 0, 10, daemon.status)
    assert answers <= {200, 409}, answers
    assert daemon.process.poll() is None, daemon.read_log()
