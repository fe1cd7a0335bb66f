"""Destinations that are dead, slow, refuse, come and go: each has a cursor and a ledger of its own, and all is kept."""
import os
import signal
import socket
import subprocess
import time

import pytest

from harness import UPLINKCTL, Collector, Script, until

FAST = "FlushSpread=0\nRetryMin=100ms\nRetryMax=500ms"
CHECKS = "[Reachability]\nCheckInterval=500ms"
NOWHERE = "http://127.0.0.1:1/collect"


class Recorder(Collector):
    """A collector that remembers bodies as they came, and answers each POST by the next of its scripts.

    The last script stays; checks (GET) are answered by the one that is due, and use none up.
    """

    def __init__(self, *scripts):
        self.scripts = list(scripts)
        super().__init__(script=self.scripts[0])

    def serve(self, reader, writer):
        before = len(self.posts())
        going_on = super().serve(reader, writer)
        if len(self.posts()) > before and len(self.scripts) > 1:
            self.scripts.pop(0)
            self.script = self.scripts[0]
        return going_on


@pytest.fixture
def recorder():
    made = []

    def make(*scripts):
        made.append(Recorder(*scripts))
        return made[-1]

    yield make
    for each in made:
        each.stop()


def settled(daemon, count, name="main"):
    """Waits until the ledger says that so many were delivered and none is queued."""
    until(lambda: daemon.assert_ledger(name)["queued"] == 0, 15, f"nothing is queued\n{daemon.read_log()}")
    assert daemon.assert_ledger(name)["delivered"] == count


def control(daemon, *words):
    return subprocess.run([UPLINKCTL, *words], env={**os.environ, "UPLINKCTL_SOCKET": daemon.control},
                          capture_output=True, text=True, timeout=20)


def test_one_dead_one_alive(daemons, collector):
    """The dead one costs the other nothing; when it comes to life it gets all, and the other nothing again."""
    late = Collector()
    port = late.port
    late.stop()
    daemon = daemons(destinations={"alive": collector.url, "late": late.url}, options=FAST, sections=CHECKS).start()
    for start in range(0, 300, 30):
        daemon.post_numbers(range(start, start + 30))
    until(lambda: len(collector.taken) == 300, 10, "the living gets all")
    settled(daemon, 300, "alive")
    ledger = daemon.assert_ledger("late")
    assert (ledger["accepted"], ledger["queued"], ledger["delivered"]) == (300, 300, 0)
    assert daemon.state("late") == "unreachable" and daemon.state("alive") == "reachable"
    daemon.kill()
    daemon.start()
    assert daemon.assert_ledger("late")["queued"] == 300 and daemon.assert_ledger("alive")["delivered"] == 300
    late = Collector(port=port)
    try:
        until(lambda: len(late.taken) == 300, 15, f"the other gets all, too\n{daemon.read_log()}")
        assert late.numbers() == collector.numbers() == list(range(300))
        assert [each["event_id"] for each in late.taken] == [each["event_id"] for each in collector.taken]
        assert all(event["was_queued"] == "true" for event in late.taken)
        settled(daemon, 300, "late")
        settled(daemon, 300, "alive")
        assert daemon.status()["queue"]["logs"]["normal"]["events"] == 0
    finally:
        late.stop()


@pytest.mark.parametrize("status", [500, 503, 429, 408, 409])
def test_refusals_for_a_while_keep_everything(daemons, recorder, status):
    """The same bytes are sent again under the same key until they are taken; the destination stays reachable."""
    collector = recorder(*[Script(status=status)] * 3, Script())
    daemon = daemons(url=collector.url, options=FAST, sections=CHECKS)
    daemon.start()
    daemon.post_numbers(range(40))
    settled(daemon, 40)
    assert collector.numbers() == list(range(40))
    posts = collector.posts()
    assert len(posts) >= 4
    assert posts[1][4] == posts[2][4] == posts[3][4], "what was once refused is formed anew at most once"
    assert len({each[3]["idempotency-key"] for each in posts[1:4]}) == 1
    assert [each[3]["uplink-attempt"] for each in posts[1:4]] == ["2", "3", "4"] or posts[0][4] != posts[1][4]


def test_retry_after(daemons, recorder):
    """Retry-After is obeyed, and shown."""
    collector = recorder(Script(status=503, headers={"Retry-After": "2"}), Script())
    daemon = daemons(url=collector.url, options=FAST, sections=CHECKS).start()
    daemon.post_numbers([1])
    until(lambda: len(collector.posts()) == 1, 5, "a first try")
    shown = until(lambda: [each for each in [daemon.destination()] if each["flags"]], 5, "throttled")[0]
    assert shown["flags"] == ["throttled"] and shown["state"] == "reachable" and shown["next_attempt_at"]
    assert shown["last_error"]["status"] == 503
    settled(daemon, 1)
    first, second = [each[0] for each in collector.posts()]
    assert second - first >= 2
    assert daemon.destination()["flags"] == []


def test_no_answer_keeps_everything(daemons, recorder):
    """A collector that takes requests and says nothing: the limit ends each, nothing is lost or counted."""
    collector = recorder(Script(silent=True))
    daemon = daemons(url=collector.url, options=FAST + "\nTimeout=300ms\nConnectTimeout=300ms", sections=CHECKS).start()
    daemon.post_numbers(range(10))
    until(lambda: daemon.destination()["reason"] == "timeout", 10, f"told\n{daemon.status()}")
    until(lambda: len(collector.requests) >= 3, 10, "it is tried again")
    ledger = daemon.assert_ledger()
    assert (ledger["queued"], ledger["delivered"]) == (10, 0)
    assert daemon.state() == "unreachable"
    collector.script = Script()
    settled(daemon, 10)
    assert collector.numbers() == list(range(10))


def test_no_connection_keeps_everything(daemons, recorder):
    """A host that drops what comes: each connect ends by its limit, and the daemon goes on."""
    silent = socket.socket()
    silent.bind(("127.0.0.1", 0))
    silent.listen(0)
    fillers = [socket.socket() for _ in range(3)]
    for filler in fillers:
        filler.setblocking(False)
        filler.connect_ex(silent.getsockname())
    url = f"http://127.0.0.1:{silent.getsockname()[1]}/collect"
    daemon = daemons(url=url, options=FAST + "\nConnectTimeout=200ms", sections=CHECKS).start()
    daemon.post_numbers(range(10))
    until(lambda: daemon.destination()["reason"] == "timeout", 10, "told")
    attempts = daemon.destination()["attempts"]
    until(lambda: daemon.destination()["attempts"] > attempts + 1, 10, "it is tried again")
    collector = recorder(Script())
    daemon.destinations["main"] = collector.url
    daemon.write_configuration(FAST, CHECKS)
    assert control(daemon, "reload").returncode == 0
    settled(daemon, 10)
    for each in [silent, *fillers]:
        each.close()
    assert daemon.stop() == 0


@pytest.mark.parametrize("status", [404, 401, 403, 302, 501])
def test_what_needs_a_person_holds(daemons, recorder, status):
    """Everything is kept, the state says why; a reload tries at once."""
    collector = recorder(Script(status=status, headers={"Location": "http://elsewhere/"}, body=b"no such tenant"))
    daemon = daemons(url=collector.url, options=FAST, sections=CHECKS).start()
    daemon.post_numbers(range(10))
    until(lambda: daemon.destination()["flags"] == ["held"], 10, "it is held")
    shown = daemon.destination()
    assert shown["ledger"]["queued"] == 10 and shown["last_error"]["status"] == status
    assert shown["last_error"]["detail"] == "no such tenant"
    assert control(daemon, "status", "--check").returncode == 4
    collector.script = Script()
    daemon.write_configuration(FAST + "\nHeader=X-Tenant: other", CHECKS)
    assert control(daemon, "reload").returncode == 0
    settled(daemon, 10)
    assert collector.numbers() == list(range(10)) and collector.posts()[-1][3]["x-tenant"] == "other"
    assert daemon.destination()["flags"] == [] and control(daemon, "status", "--check").returncode == 0


def test_answers_that_come_slowly(daemons, recorder):
    """200 after a while: one request in flight, all in order, and clients wait for nothing."""
    collector = recorder(Script(delay=0.4))
    daemon = daemons(url=collector.url, options=FAST + "\nBatchMaxEvents=10", sections=CHECKS).start()
    until(lambda: daemon.state() == "reachable", 5, "reachable")
    began = time.monotonic()
    for number in range(50):
        daemon.post_numbers([number])
    assert len(collector.taken) < 50, f"50 posts in {time.monotonic() - began:.1f} s waited for no collector"
    settled(daemon, 50)
    assert collector.numbers() == list(range(50))
    posts = collector.posts()
    assert all(later[0] - earlier[0] >= 0.4 for earlier, later in zip(posts, posts[1:])), "one after the other"


def test_connection_cut_before_the_answer(daemons, recorder):
    """The batch comes again: the same events with the same ids, under the same Idempotency-Key."""
    collector = recorder(Script(), Script(close=True), Script(close=True), Script())
    daemon = daemons(url=collector.url, options=FAST, sections=CHECKS).start()
    daemon.post_numbers([0])
    settled(daemon, 1)
    daemon.post_numbers(range(1, 21))
    settled(daemon, 21)
    posts = collector.posts()[1:]
    # Later events may have come after the first cut; those of the first try stay together.
    first = posts[0]
    assert len(posts) >= 3
    for again in posts[:3]:
        assert again[4] == first[4], "the same bytes"
        assert again[3]["idempotency-key"] == first[3]["idempotency-key"]
    # Where a kept connection turns out to be dead, libcurl asks again by itself within one attempt.
    assert [each[3]["uplink-attempt"] for each in posts[:3]] in (["1", "2", "3"], ["1", "1", "2"])
    assert len({each[3]["idempotency-key"] for each in collector.posts()}) == len(collector.posts()) - 2
    assert {event["n"]: event["event_id"] for event in collector.taken} == {
        event["n"]: event["event_id"] for post in posts[2:] for event in post[4]
    } | {0: collector.taken[0]["event_id"]}


def test_no_destination(daemons, collector):
    """It starts, warns, and keeps events; a destination added by a reload gets them from the oldest on."""
    daemon = daemons().start()
    assert "events are kept, and sent nowhere" in daemon.read_log()
    daemon.post_numbers(range(100))
    assert daemon.status()["destinations"] == []
    assert daemon.status()["queue"]["logs"]["normal"]["events"] == 100
    daemon.kill()
    daemon.start()
    daemon.destinations = {"main": collector.url}
    daemon.write_configuration(FAST, CHECKS)
    os.kill(daemon.pid(), signal.SIGHUP)
    until(lambda: len(collector.taken) == 100, 10, f"it gets all\n{daemon.read_log()}")
    assert collector.numbers() == list(range(100))
    settled(daemon, 100)
    second = Collector()
    try:
        daemon.destinations["second"] = second.url
        daemon.write_configuration(FAST, CHECKS)
        daemon.post_numbers(range(100, 110))
        settled(daemon, 110)
        said = control(daemon, "reload")
        assert said.returncode == 0 and "second" in said.stdout, said
        until(lambda: second.taken and second.numbers()[-1] == 109, 10, "the new one gets what is kept")
        # What the other has is gone but for the segment that is being written; none is left out after the oldest.
        assert second.numbers() == list(range(second.numbers()[0], 110))
        settled(daemon, len(second.taken), "second")
        settled(daemon, 110)
    finally:
        second.stop()


def test_destination_removed_and_back(daemons, collector):
    """Its events are kept and shown; it goes on where it was when its section comes back, after a restart, too."""
    daemon = daemons(destinations={"main": collector.url, "gone": NOWHERE}, options=FAST, sections=CHECKS).start()
    daemon.post_numbers(range(20))
    settled(daemon, 20)
    daemon.destinations = {"main": collector.url}
    daemon.write_configuration(FAST, CHECKS)
    assert control(daemon, "reload").returncode == 0
    for _ in range(2):
        shown = daemon.destination("gone")
        assert shown["flags"] == ["removed"] and daemon.assert_ledger("gone")["queued"] == 20, shown
        said = control(daemon, "status", "--check")
        assert said.returncode == 4 and "uplinkctl destination forget gone" in said.stdout, said
        daemon.kill()
        daemon.start()
    daemon.post_numbers(range(20, 30))
    settled(daemon, 30)
    assert daemon.assert_ledger("gone")["queued"] == 30, "it is accountable for what comes meanwhile"
    back = Collector()
    try:
        daemon.destinations["gone"] = back.url
        daemon.write_configuration(FAST, CHECKS)
        os.kill(daemon.pid(), signal.SIGHUP)
        until(lambda: len(back.taken) == 30, 10, f"it goes on\n{daemon.read_log()}")
        assert back.numbers() == list(range(30)) and collector.numbers() == list(range(30))
        settled(daemon, 30, "gone")
        assert daemon.stop() == 0
        daemon.start()
        del daemon.destinations["gone"]
        daemon.write_configuration(FAST, CHECKS)
        assert control(daemon, "reload").returncode == 0
        assert "gone is no longer configured; kept for it: 0 events, and every new one" in daemon.read_log()
        assert control(daemon, "status", "--check").returncode == 0
    finally:
        back.stop()


def test_what_a_destination_lost_is_not_told_again_under_its_new_name(daemons, collector):
    daemon = daemons(destinations={"main": collector.url, "second": NOWHERE}, options=FAST, sections=CHECKS).start()
    told = "3 events of log normal expired, not acknowledged by destination "
    code, _, answer = daemon.post([{"n": number} for number in range(3)], ttl="1s")
    assert code == 202, answer
    until(lambda: daemon.assert_ledger("second")["expired"] == 3, 60, "they expire")
    until(lambda: told + "second" in daemon.read_log(), 5, "that is told")
    del daemon.destinations["second"]
    daemon.write_configuration(FAST, CHECKS)
    assert control(daemon, "reload").returncode == 0
    assert control(daemon, "destination", "rename", "second", "third").returncode == 0
    daemon.destinations["third"] = NOWHERE
    daemon.write_configuration(FAST, CHECKS)
    assert control(daemon, "reload").returncode == 0
    assert daemon.assert_ledger("third")["expired"] == 3
    daemon.post_numbers([9])
    settled(daemon, 4)
    assert daemon.assert_ledger("third")["queued"] == 1
    assert told + "third" not in daemon.read_log(), daemon.read_log()


@pytest.mark.parametrize("text", ['[Destination "main"]\nURL=ftp://x/\n', "[Intake\n", "[Queue]\nMaxSize=lots\n"])
def test_reload_of_a_broken_file(daemons, collector, text):
    """The old configuration stays in force and clients notice nothing; uplinkctl fails and says where."""
    daemon = daemons(url=collector.url, options=FAST, sections=CHECKS).start()
    daemon.post_numbers([1])
    settled(daemon, 1)
    good = open(daemon.configuration).read()
    with open(daemon.configuration, "w") as file:
        file.write(text)
    said = control(daemon, "reload")
    assert said.returncode == 1 and said.stdout == "", said
    assert f"{daemon.configuration}:" in said.stderr, said
    os.kill(daemon.pid(), signal.SIGHUP)
    until(lambda: daemon.read_log().count("The reload was refused") == 2, 5, "the log tells, too")
    os.unlink(daemon.configuration)
    assert control(daemon, "reload").returncode == 1
    daemon.post_numbers([2])
    settled(daemon, 2)
    assert collector.numbers() == [1, 2]
    with open(daemon.configuration, "w") as file:
        file.write(good)
    assert control(daemon, "reload").returncode == 0
    daemon.post_numbers([3])
    settled(daemon, 3)
    assert daemon.stop() == 0


def test_reload_under_load(daemons, recorder):
    """Twenty reloads while a slow collector is being sent to: no event is lost or left unaccounted for."""
    collector = recorder(Script(delay=0.02))
    daemon = daemons(url=collector.url, options=FAST + "\nBatchMaxEvents=7", sections=CHECKS).start()
    for turn in range(20):
        daemon.post_numbers(range(turn * 20, turn * 20 + 20))
        daemon.write_configuration(FAST + f"\nBatchMaxEvents={7 + turn % 2}\nHeader=X-Turn: {turn}", CHECKS)
        os.kill(daemon.pid(), signal.SIGHUP)
    until(lambda: daemon.assert_ledger()["queued"] == 0, 20, f"all is sent\n{daemon.read_log()}")
    assert daemon.assert_ledger()["delivered"] == 400
    first = list(dict.fromkeys(collector.numbers()))
    assert first == list(range(400)), "all of them, in order of their first arrival"
    ids = {event["n"]: event["event_id"] for event in collector.taken}
    assert all(ids[event["n"]] == event["event_id"] for event in collector.taken), "an event keeps its id"
