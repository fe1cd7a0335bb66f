"""What collectors answer: nothing is lost to any of it, and refused events are set apart."""
import json
import os
import subprocess
import time

import pytest

from harness import UPLINKCTL, Collector, Script, request, until

OPTIONS = "RetryMin=20ms\nRetryMax=200ms\nFlushSpread=0\nTimeout=5s\n"
CHECKS = "[Reachability]\nCheckInterval=200ms\n"


class Picky(Collector):
    """Decides the answer from the events: `judge(events, body length)` gives a status."""

    def __init__(self, judge, **options):
        self.judge = judge
        self.bodies = []
        super().__init__(**options)

    def serve(self, reader, writer):
        self.script = Script(200)
        # After an interim answer the final one would be waited for.
        return super().serve(reader, writer) and self.script.status >= 200

    def parse(self, content_type, body):
        events = super().parse(content_type, body)
        if events:
            self.script = Script(self.judge(events, len(body)), body=b'{"why":"\x1b[31mno\\n"}')
            self.bodies.append((events, body))
        return events


def ctl(daemon, *words, check=True):
    done = subprocess.run([UPLINKCTL, "--socket", daemon.control, *words], capture_output=True, text=True, timeout=60)
    assert not check or done.returncode == 0, (words, done.returncode, done.stdout, done.stderr)
    return done


def post_all(daemon, count, first=0):
    for start in range(first, first + count, 1000):
        daemon.post_numbers(range(start, min(start + 1000, first + count)))


def drained(daemon, seconds=60, name="main"):
    until(lambda: daemon.destination(name)["ledger"]["queued"] == 0, seconds, lambda: daemon.destination(name))
    return daemon.assert_ledger(name)


@pytest.fixture
def picky():
    made = []

    def make(judge):
        made.append(Picky(judge))
        return made[-1]

    yield make
    for each in made:
        each.stop()


def test_five_of_ten_thousand_are_set_apart(daemons, picky):
    bad = {17, 2500, 2501, 7777, 9999}
    collector = picky(lambda events, _: 400 if any(event["n"] in bad for event in events) else 200)
    daemon = daemons(url=collector.url, options=OPTIONS, sections=CHECKS)
    collector.stop()
    daemon.start()
    post_all(daemon, 10_000)
    collector.start()
    ledger = drained(daemon)
    assert ledger["delivered"] == 9_995 and ledger["dead"] == 5, ledger
    assert sorted(collector.numbers()) == sorted(set(range(10_000)) - bad)
    # A batch ends where what was read ends, too: 20 full ones and some that are not.
    assert len(collector.posts()) <= 30 + 5 * 11, len(collector.posts())
    listed = ctl(daemon, "dead", "ls").stdout
    assert len(listed.splitlines()) == 6 and "400" in listed and "\x1b" not in listed, listed
    assert ctl(daemon, "status", "--check", check=False).returncode == 4


def test_too_long_is_halved_and_remembered(daemons, picky):
    collector = picky(lambda events, length: 413 if length > 1_024 else 200)
    daemon = daemons(url=collector.url, options=OPTIONS, sections=CHECKS)
    collector.stop()
    daemon.start()
    post_all(daemon, 2_000)
    code, _, _ = daemon.post([{"n": 2_000, "long": "x" * 5_000}])
    assert code == 202
    collector.start()
    ledger = drained(daemon)
    assert ledger["delivered"] == 2_000 and ledger["dead"] == 1, ledger
    assert sorted(collector.numbers()) == list(range(2_000))
    assert len(collector.posts()) - len([1 for events, body in collector.bodies if len(body) <= 1_024]) <= 12


def test_a_collector_that_refuses_everything(daemons, picky):
    cured = []
    collector = picky(lambda *_: 200 if cured else 422)
    daemon = daemons(url=collector.url, options=OPTIONS, sections=CHECKS).start()
    post_all(daemon, 3_000)
    until(lambda: "held" in daemon.destination()["flags"], 30, daemon.destination)
    assert daemon.destination()["reason"] == "refusing"
    for _ in range(40):
        ctl(daemon, "flush")
        time.sleep(0.02)
    assert daemon.assert_ledger()["dead"] <= 10 and not collector.numbers()
    cured.append(True)
    ctl(daemon, "flush", "main")
    ledger = drained(daemon)
    assert ledger["dead"] <= 10 and ledger["delivered"] + ledger["dead"] == 3_000
    # The letters of those days are sent again, with their ids.
    before = {line.split()[0] for line in ctl(daemon, "dead", "ls").stdout.splitlines()[1:]}
    assert len(before) == ledger["dead"] > 0
    assert ctl(daemon, "dead", "retry", "--all").stdout.strip() == f"to be sent again: {len(before)}"
    until(lambda: daemon.destination()["ledger"]["delivered"] == 3_000, 20, daemon.destination)
    ledger = drained(daemon)
    assert ledger["dead"] == 0 and sorted(collector.numbers()) == list(range(3_000))
    assert before <= {event["event_id"] for event in collector.taken[-len(before):]}
    assert ctl(daemon, "status", "--check", check=False).returncode == 0


def test_a_hold_ends_with_its_last_event(daemons, picky):
    """Nothing is left that could be tried, so nothing needs a person any more; what comes next is tried at once."""
    collector = picky(lambda *_: 400)
    daemon = daemons(url=collector.url, options=OPTIONS, sections=CHECKS).start()
    post_all(daemon, 12)
    until(lambda: "held" in daemon.destination()["flags"], 30, daemon.destination)
    ctl(daemon, "resume", "main")
    until(lambda: daemon.destination()["ledger"]["dead"] == 12, 10, daemon.destination)
    until(lambda: daemon.destination()["flags"] == [], 10, daemon.destination)
    assert daemon.destination()["next_attempt_at"] is None
    assert ctl(daemon, "resume").stdout == "main has nothing to be sent\n"
    assert ctl(daemon, "status", "--check", check=False).returncode == 4, "letters lie there"
    ctl(daemon, "dead", "drop", "--all", "--yes")
    assert ctl(daemon, "status", "--check", check=False).returncode == 0
    assert "main is no longer held" in daemon.read_log()
    before = len(collector.posts())
    daemon.post_numbers([12])
    until(lambda: daemon.destination()["ledger"]["dead"] == 1, 5, daemon.destination)
    assert len(collector.posts()) == before + 1 and daemon.destination()["flags"] == []


def test_dead_letters_by_hand(daemons, picky):
    bad = {1, 2, 3}
    collector = picky(lambda events, _: 422 if any(event["n"] in bad for event in events) else 200)
    daemon = daemons(url=collector.url, options=OPTIONS, sections=CHECKS).start()
    daemon.post_numbers(range(6))
    until(lambda: daemon.destination()["ledger"]["dead"] == 3, 20, daemon.destination)
    code, _, body = request(daemon.control, "GET", "/v1/dead")
    letters = json.loads(body)["dead"]
    assert code == 200 and [each["status"] for each in letters] == [422] * 3
    assert {"id", "destination", "status", "detail", "attempts", "at"} <= set(letters[0])
    first, second, third = (each["id"] for each in letters)
    shown = json.loads(ctl(daemon, "dead", "show", first).stdout)["dead"][0]
    assert shown["event"] == {"n": 1} and "\x1b" not in ctl(daemon, "dead", "show", first).stdout
    assert ctl(daemon, "dead", "drop", "--yes", first).stdout.strip() == "thrown away: 1"
    assert ctl(daemon, "dead", "show", first, check=False).returncode == 1
    assert ctl(daemon, "dead", "retry", "0000000000000000-1", check=False).returncode == 1
    assert ctl(daemon, "dead", "drop", check=False).returncode == 2
    refused = ctl(daemon, "dead", "drop", "--all", check=False)
    assert refused.returncode == 2 and "give --yes" in refused.stderr, refused
    # Refused again: a letter again, with another try.
    ctl(daemon, "dead", "retry", second)
    until(lambda: daemon.destination()["ledger"]["queued"] == 0, 10, daemon.destination)
    letters = json.loads(request(daemon.control, "GET", "/v1/dead")[2])["dead"]
    assert {each["id"]: each["attempts"] for each in letters} == {second: 2, third: 1}
    bad.clear()
    ctl(daemon, "dead", "retry", second, third)
    until(lambda: daemon.destination()["ledger"]["delivered"] == 5, 10, daemon.destination)
    ledger = drained(daemon)
    assert ledger["purged"] == 1 and ledger["dead"] == 0 and sorted(collector.numbers()) == [0, 2, 3, 4, 5]
    assert {event["network_connection_type"] for event in collector.taken} == {"loopback"}
    # All of it holds over a restart.
    assert daemon.stop() == 0
    daemon.start()
    assert daemon.assert_ledger() == ledger
    for body in (b"", b"{}", b'{"ids":[],"all":true}', b"[]", b'{"ids":[1]}'):
        assert request(daemon.control, "POST", "/v1/dead/drop", body)[0] == 422, body


def test_letters_and_retries_survive_a_kill(daemons, picky):
    bad = {3, 4}
    collector = picky(lambda events, _: 422 if any(event["n"] in bad for event in events) else 200)
    daemon = daemons(url=collector.url, options=OPTIONS, sections=CHECKS).start()
    daemon.post_numbers(range(8))
    until(lambda: daemon.destination()["ledger"]["dead"] == 2, 20, daemon.destination)
    daemon.kill()
    daemon.start()
    until(lambda: daemon.destination()["ledger"]["delivered"] == 6, 20, daemon.destination)
    assert daemon.assert_ledger()["dead"] == 2
    ctl(daemon, "pause")
    ctl(daemon, "dead", "retry", "--all")
    assert daemon.assert_ledger()["queued"] == 2
    daemon.kill()
    bad.clear()
    daemon.start()
    until(lambda: daemon.destination()["ledger"]["delivered"] == 8, 20, daemon.destination)
    assert drained(daemon)["dead"] == 0


def test_pause_resume_forget_rename(daemons, collector):
    daemon = daemons(url=collector.url, options=OPTIONS, sections=CHECKS).start()
    until(lambda: daemon.state() == "reachable", 10, "reachable")
    ctl(daemon, "pause", "main")
    daemon.post_numbers(range(5))
    time.sleep(0.5)
    assert daemon.destination()["flags"] == ["paused"] and daemon.destination()["reason"] == "operator"
    assert not collector.numbers()
    daemon.write_configuration(OPTIONS + "BatchMaxEvents=7\n", CHECKS)
    ctl(daemon, "reload")
    assert daemon.destination()["flags"] == ["paused"], "a reload ends no pause"
    ctl(daemon, "resume")
    assert drained(daemon)["delivered"] == 5
    ctl(daemon, "pause", "main", "--for", "1s")
    daemon.post_numbers(range(5, 8))
    drained(daemon, 10)
    assert [event.get("queue_reason") for event in collector.taken[5:]] == ["paused"] * 3
    assert ctl(daemon, "pause", "--for", "never", check=False).returncode == 2
    assert ctl(daemon, "pause", "nobody", check=False).returncode == 1
    # A destination that is removed: its events go to another name, or nowhere.
    ctl(daemon, "pause")
    daemon.post_numbers(range(8, 12))
    assert ctl(daemon, "destination", "forget", "--yes", "main", check=False).returncode == 1
    daemon.destinations = {}
    daemon.write_configuration(OPTIONS, CHECKS)
    ctl(daemon, "reload")
    assert daemon.destination()["flags"] == ["removed"] and daemon.destination()["ledger"]["queued"] == 4
    ctl(daemon, "destination", "rename", "main", "other")
    assert daemon.destination("other")["ledger"]["queued"] == 4
    daemon.destinations = {"other": collector.url}
    daemon.write_configuration(OPTIONS, CHECKS)
    ctl(daemon, "reload")
    assert drained(daemon, name="other")["delivered"] == 12
    assert collector.numbers() == list(range(12))
    daemon.destinations = {}
    daemon.write_configuration(OPTIONS, CHECKS)
    ctl(daemon, "reload")
    daemon.post_numbers(range(12, 15))
    assert "3" in ctl(daemon, "destination", "forget", "--yes", "other").stdout
    assert daemon.status()["destinations"] == []
    assert daemon.stop() == 0
    daemon.start()
    assert daemon.status()["destinations"] == []


def order(daemon, path, **body):
    """The status of the answer, and its document."""
    status, _, answer = request(daemon.control, "POST", path, json.dumps(body) if body else "")
    return status, json.loads(answer)


def test_orders_for_destinations_that_are_gone(daemons, picky):
    """Two have the same refused event; orders come faster than the loop's thread hears of what the disk's did."""
    collector = picky(lambda events, _: 400 if any(event["n"] == 1 for event in events) else 200)
    names = ["a", "b", "main"]
    daemon = daemons(destinations={name: collector.url for name in names}, options=OPTIONS, sections=CHECKS).start()
    daemon.post_numbers(range(4))
    for name in names:
        until(lambda: daemon.destination(name)["ledger"]["dead"] == 1, 20, lambda: daemon.destination(name))
        assert drained(daemon, name=name)["delivered"] == 3
    daemon.destinations = {"main": collector.url}
    daemon.write_configuration(OPTIONS, CHECKS)
    ctl(daemon, "reload")
    # Nothing sends the letters of those that are gone.
    status, answer = order(daemon, "/v1/dead/retry", all=True, destination="a")
    assert status == 409 and "a is no longer configured" in answer["detail"], answer
    assert order(daemon, "/v1/dead/drop", all=True, destination="nix")[0] == 404
    assert ctl(daemon, "dead", "ls", "--destination", "nix", check=False).returncode == 1
    assert [daemon.destination(name)["ledger"]["dead"] for name in names] == [1, 1, 1]
    assert order(daemon, "/v1/dead/retry", all=True) == (200, {"count": 1}), "that of main"
    assert order(daemon, "/v1/dead/drop", all=True, destination="a") == (200, {"count": 1})
    assert order(daemon, "/v1/destinations/b/rename", to="c")[0] == 409, "it has a letter"
    assert order(daemon, "/v1/dead/drop", all=True, destination="b") == (200, {"count": 1})
    answers = [order(daemon, f"/v1/destinations/{old}/rename", to=new)[0] for old, new in ("ac", "bc", "ad")]
    assert answers == [200, 409, 404], daemon.read_log()
    answers = [order(daemon, f"/v1/destinations/{name}/forget") for name in ("main", "c", "c")]
    assert [status for status, _ in answers] == [409, 200, 404], answers
    assert {each["name"] for each in daemon.status()["destinations"]} == {"b", "main"}


def test_what_is_forgotten_counts_its_letters(daemons, picky):
    collector = picky(lambda events, _: 400 if any(event["n"] == 1 for event in events) else 200)
    daemon = daemons(url=collector.url, options=OPTIONS, sections=CHECKS).start()
    daemon.post_numbers(range(4))
    until(lambda: daemon.destination()["ledger"]["dead"] == 1, 20, daemon.destination)
    assert drained(daemon)["delivered"] == 3
    daemon.destinations = {}
    daemon.write_configuration(OPTIONS, CHECKS)
    ctl(daemon, "reload")
    assert order(daemon, "/v1/destinations/main/forget") == (200, {"count": 1})


def test_a_token_is_read_anew(daemons):
    valid = ["t0ken-1"]

    class Guarded(Collector):
        def serve(self, reader, writer):
            self.script = Script(200)
            return super().serve(reader, writer)

    collector = Guarded()
    parse = collector.parse
    daemon = daemons(url=collector.url)
    path = os.path.join(daemon.home, "token")
    with open(path, "w") as file:
        file.write("t0ken-1\n")
    seen = []

    def judge(content_type, body):
        events = parse(content_type, body)
        if events:
            collector.script = Script(200 if seen and seen[-1] == f"Bearer {valid[0]}" else 401)
        return events

    collector.parse = judge
    serve = collector.serve

    def note(reader, writer):
        class Reading:
            def readline(self):
                line = reader.readline()
                if line.lower().startswith(b"authorization:"):
                    seen.append(line.split(b":", 1)[1].strip().decode())
                return line

            read = reader.read

        return serve(Reading(), writer)

    collector.serve = note
    try:
        daemon.write_configuration(OPTIONS + f"TokenFile={path}\n", CHECKS)
        daemon.start()
        daemon.post_numbers(range(3))
        drained(daemon)
        valid[0] = "t0ken-2"
        with open(path, "w") as file:
            file.write("t0ken-2\n")
        daemon.post_numbers(range(3, 6))
        drained(daemon, 10)
        assert "held" not in daemon.destination()["flags"]
        valid[0] = "t0ken-3"
        daemon.post_numbers(range(6, 9))
        until(lambda: "held" in daemon.destination()["flags"], 10, daemon.destination)
        assert daemon.destination()["reason"] == "unauthorized"
        with open(path, "w") as file:
            file.write("t0ken-3\n")
        ctl(daemon, "reload")
        drained(daemon, 10)
        assert sorted(collector.numbers()) == list(range(9))
        assert "t0ken" not in daemon.read_log() and "t0ken" not in json.dumps(daemon.status())
    finally:
        collector.stop()


def test_a_token_that_no_header_can_hold(daemons, collector, home):
    """It holds its destination and nothing else, at the start and at a reload; each reason tells what is wrong."""
    path = os.path.join(home, "token")

    def write(text):
        with open(path, "wb") as file:
            file.write(text)

    def reason():
        return (daemon.destination("b")["last_error"] or {}).get("detail", "")

    write(b"s3cret t0ken\n")
    daemon = daemons(destinations={"main": collector.url, "b": collector.url})
    daemon.write_configuration(OPTIONS + f"TokenFile={path}\n", CHECKS)
    with open(daemon.configuration) as file:
        # Only the second has a token.
        text = file.read().replace(f"TokenFile={path}\n", "", 1)
    with open(daemon.configuration, "w") as file:
        file.write(text)
    daemon.start()
    daemon.post_numbers([1])
    drained(daemon, 10)
    until(lambda: "byte 7 " in reason(), 10, lambda: daemon.destination("b"))
    assert path in reason() and daemon.destination("b")["reason"] == "unauthorized", daemon.destination("b")
    for wrong, saying in ((b"a\0b", "byte 2 "), ("tok\u00e9".encode(), "byte 4 "), (b"", "empty")):
        write(wrong)
        ctl(daemon, "reload")
        until(lambda: saying in reason(), 10, lambda: daemon.destination("b"))
    write(b"b\tb\n")
    ctl(daemon, "resume", "b")
    until(lambda: "byte 2 " in reason(), 10, lambda: daemon.destination("b"))
    write(b"g00d\n")
    ctl(daemon, "resume", "b")
    drained(daemon, 10, "b")
    assert "s3cret" not in daemon.read_log()


@pytest.mark.parametrize("body", [b"", b"no\r\nX: \x1b[31m" * 20])
def test_every_status(daemons, picky, body):
    """Each status once, then the cure: nothing is lost, and what waits leaves within a second or at `resume`."""
    sick = [100]
    collector = picky(lambda *_: sick[0])
    daemon = daemons(url=collector.url, options=OPTIONS, sections=CHECKS).start()
    until(lambda: daemon.state() == "reachable", 10, "reachable")
    posted = 0
    # An interim answer costs a check.
    interim = range(100, 200) if os.environ.get("UPLINKD_EVERY_STATUS") else (100, 101, 102, 103, 104, 150, 199)
    for status in (*interim, *range(200, 600)):
        sick[0] = status
        answered = len(collector.posts())
        daemon.post_numbers(range(posted, posted + 3))
        posted += 3
        until(lambda: len(collector.posts()) > answered or 200 <= status < 300, 10, f"{status} is answered")
        before = daemon.assert_ledger()["dead"]
        sick[0] = 200
        if "held" in daemon.destination()["flags"]:
            request(daemon.control, "POST", "/v1/destinations/main/resume")
        ledger = drained(daemon, 10)
        assert ledger["accepted"] == posted, (status, ledger)
        assert status in (400, 413, 415, 422) or ledger["dead"] == before, (status, ledger)
    assert ledger["delivered"] + ledger["dead"] == posted and ledger["dead"] <= 12, ledger
    assert len(set(collector.numbers())) == ledger["delivered"]


def test_commit_then_silence(daemons, collector):
    collector.script = Script(200, silent=True)
    daemon = daemons(url=collector.url, options=OPTIONS.replace("Timeout=5s", "Timeout=1s"), sections=CHECKS).start()
    daemon.post_numbers(range(4))
    until(lambda: len(collector.posts()) >= 1, 10, "a first try")
    collector.script = Script(200)
    drained(daemon, 20)
    tries = collector.posts()
    assert tries[0][4] == tries[1][4], "the same events, marks and ids"
    assert tries[0][3]["idempotency-key"] == tries[1][3]["idempotency-key"]
    assert [each[3]["uplink-attempt"] for each in tries[:2]] == ["1", "2"]


@pytest.mark.parametrize("status", [401, 404])
def test_held_for_a_while(daemons, collector, status):
    collector.script = Script(status)
    daemon = daemons(url=collector.url, options=OPTIONS, sections=CHECKS).start()
    daemon.post_numbers(range(4))
    until(lambda: "held" in daemon.destination()["flags"], 10, daemon.destination)
    collector.script = Script(200)
    # Its first try is after a minute, give or take.
    ledger = drained(daemon, 75)
    assert ledger["delivered"] == 4 and ledger["dead"] == 0


def test_the_rate_is_kept(daemons, collector):
    daemon = daemons(url=collector.url, options=OPTIONS + "MaxEventsPerSecond=200\n", sections=CHECKS).start()
    until(lambda: daemon.state() == "reachable", 10, "reachable")
    began = time.monotonic()
    post_all(daemon, 800)
    drained(daemon, 20)
    assert 2.8 <= time.monotonic() - began <= 8


def test_the_rate_bounds_what_is_refused(daemons, picky):
    """Six in a hundred are refused: in any span of time no more is delivered, or asked, than the rate says."""
    rate, collector = 200, picky(lambda events, length: 400 if any(event["n"] % 17 == 3 for event in events) else 200)
    daemon = daemons(url=collector.url, options=OPTIONS + f"MaxEventsPerSecond={rate}\n", sections=CHECKS).start()
    until(lambda: daemon.state() == "reachable", 10, "reachable")
    post_all(daemon, 800)
    ledger = drained(daemon, 60)
    assert (ledger["delivered"], ledger["dead"]) == (800 - 47, 47), ledger
    sent = [(each[0], len(each[4]), any(event["n"] % 17 == 3 for event in each[4])) for each in collector.posts()]
    for first, (began, _, _) in enumerate(sent):
        taken = asked = carried = 0
        for at, events, is_refused in sent[first:]:
            taken += 0 if is_refused else events
            asked += 1
            carried += events
            # On its way a request may be late by what a busy machine takes.
            allowed = rate * (at - began + 0.25)
            assert taken <= allowed + rate and asked <= allowed + 1 and carried <= 10 * allowed + rate, sent
    assert sent[-1][0] - sent[0][0] < 25, "and all is gone in time"
