"""Consent by category, and purges: what is held, sent, refused, and gone from the disk; over kills and damage."""
import json
import os
import re
import select
import subprocess
import time

import pytest

import harness
from harness import UPLINKCTL, Collector, Script, request, until
from test_fault_points import DEBUG, PANICKED

SETTINGS = "RetryMin=250ms\nRetryMax=1s\nFlushSpread=0"
CHECK = "[Reachability]\nCheckInterval=1s\n"
DEAD_END = "http://127.0.0.1:9/collect"
NOTHING_PURGED = "events purged: 0; no destination had anything of it, or not any more\n"


def post(daemon, numbers, consent=None, mark="event"):
    """Posts events whose bytes hold `mark` and the number; returns their ids."""
    parameters = {"consent": consent} if consent else {}
    events = [{"n": number, "secret": f"{mark}-{number}-secret"} for number in numbers]
    code, _, answer = daemon.post(events, **parameters)
    assert code == 202 and answer["accepted"] == len(events), (code, answer)
    epoch, first = answer["first"].rsplit("-", 1)
    return [f"{epoch}-{int(first) + index}" for index in range(len(events))]


def ctl(daemon, *words, status=0):
    done = subprocess.run([UPLINKCTL, "--socket", daemon.control, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
    return done


def put(daemon, category, state):
    code, _, body = request(
        daemon.control, "PUT", f"/v1/consent/{category}", json.dumps({"state": state}), timeout=30)
    return code, json.loads(body)


def purge(daemon, **what):
    code, _, body = request(daemon.control, "POST", "/v1/purge", json.dumps(what), timeout=30)
    return code, json.loads(body)


def found(daemon, text):
    """The files of the queue's directory in which a text stands."""
    return [
        os.path.join(folder, name)
        for folder, _, names in os.walk(daemon.queue)
        for name in names
        if text.encode() in open(os.path.join(folder, name), "rb").read()
    ]


def drained(daemon, name="main", seconds=20):
    until(lambda: daemon.assert_ledger(name)["queued"] == 0, seconds, lambda: daemon.destination(name))
    return daemon.assert_ledger(name)


def reload(daemon, sections, options=SETTINGS):
    daemon.write_configuration(options, sections)
    code, _, body = request(daemon.control, "POST", "/v1/reload")
    assert code == 200, body
    return json.loads(body)


def test_held_events_wait_through_a_restart_and_go_in_order(daemons, collector):
    daemon = daemons(url=collector.url, options=SETTINGS, sections=CHECK).start()
    post(daemon, range(3), "ads")
    drained(daemon)
    watch = subprocess.Popen(
        [UPLINKCTL, "--socket", daemon.control, "--json", "monitor"], stdout=subprocess.PIPE, text=True)
    try:
        until(lambda: "ads" in json.dumps(daemon.status()["consent"]), 5, "the category is known")
        time.sleep(0.3)
        assert ctl(daemon, "consent", "set", "ads", "hold").stdout == "ads: hold\n"
        line = next(each for each in map(json.loads, watch.stdout) if each["kind"] == "consent")
        assert (line["from"], line["to"], line["detail"], line["cause"]) == ("allow", "hold", "ads", "operator")
        post(daemon, range(3, 8), "ads")
        assert select.select([watch.stdout], [], [], 5)[0], "the gate is told at once"
        line = json.loads(watch.stdout.readline())
        assert (line["kind"], line["from"], line["to"]) == ("gate", "open", "consent (consent-ads)"), line
    finally:
        watch.kill()
        watch.communicate()
    post(daemon, range(100, 105), "other")
    post(daemon, range(200, 205))
    until(lambda: len(collector.numbers()) == 13, 10, "the others are not held up")
    status = daemon.status()
    assert status["consent"] == {"ads": "hold", "other": "allow"}
    one = status["destinations"][0]
    assert (one["reason"], one["reason_detail"]) == ("consent", "ads waits for consent"), one
    assert one["ledger"]["queued"] == 5
    daemon.kill()
    daemon.start()
    post(daemon, range(8, 10), "ads")
    time.sleep(1)
    assert daemon.assert_ledger()["queued"] == 7
    assert ctl(daemon, "consent", "show").stdout == "ads  hold\nother  allow\n"
    assert ctl(daemon, "consent", "set", "ads", "allow").stdout == "ads: allow\n"
    drained(daemon)
    post(daemon, [10], "ads")
    drained(daemon)
    ads = [event for event in collector.taken if event["n"] <= 10]
    assert [event["n"] for event in ads] == list(range(11))
    reasons = [event.get("queue_reason") for event in ads]
    assert reasons == [None] * 3 + ["consent"] * 7 + [None], reasons
    assert all(event["was_queued"] == "true" for event in ads[3:10])
    assert not any("was_queued" in event for event in collector.taken if event["n"] >= 100)
    assert daemon.assert_ledger()["delivered"] == 21
    metrics = request(daemon.control, "GET", "/metrics")[2].decode()
    assert re.search(r'uplink_consent_state\{[^}]*category="ads"[^}]*state="allow"[^}]*\} 1', metrics), metrics
    log = daemon.read_log()
    assert "Consent for ads: hold, was allow (operator)" in log and "Consent for ads: allow, was hold" in log


def test_events_accepted_before_the_hold_are_marked_and_a_request_is_given_up(daemons):
    slow = Collector(script=Script(delay=1.5))
    try:
        daemon = daemons(url=slow.url, options=SETTINGS, sections=CHECK)
        slow.script = Script()
        daemon.start()
        post(daemon, [0])
        drained(daemon)
        slow.script = Script(silent=True)
        post(daemon, range(1, 6), "ads")
        until(lambda: any(each[4] for each in slow.posts()[1:]), 5, "they are on their way")
        assert put(daemon, "ads", "hold") == (200, {"state": "hold", "purged": 0})
        slow.script = Script()
        post(daemon, [6])
        until(lambda: 6 in slow.numbers(), 5, "the request in flight holds nothing up")
        assert daemon.assert_ledger()["queued"] == 5
        assert put(daemon, "ads", "allow")[0] == 200
        drained(daemon)
        ads = [event for event in slow.taken if 1 <= event["n"] <= 5]
        assert [event["n"] for event in ads] == list(range(1, 6))
        assert {event["queue_reason"] for event in ads} == {"consent"}
    finally:
        slow.stop()


def test_a_denied_category_is_gone_for_every_destination(daemons, collector):
    """One destination has had some, one is dead, one has refused an event; recycled files and dead letters as well."""
    picky = Collector(script=Script(status=422))
    try:
        sections = CHECK + "[Queue]\nMaxSize=128M\nKeepFree=0%\n"
        destinations = {"main": collector.url, "dead": DEAD_END, "picky": picky.url}
        daemon = daemons(destinations=destinations, options=SETTINGS, sections=sections).start()
        post(daemon, range(1_000, 1_005), mark="kept")
        post(daemon, range(2), "ads", mark="denied")
        until(lambda: daemon.assert_ledger("picky")["dead"] >= 2, 10, "they are refused")
        picky.script = Script(status=401)
        post(daemon, range(2, 300), "ads", mark="denied")
        until(lambda: daemon.assert_ledger("main")["queued"] == 0, 20, "one destination has all")
        assert found(daemon, "denied-1-secret") and found(daemon, "denied-299-secret")
        assert any("/dead/" in path for path in found(daemon, "denied-0-secret"))
        assert ctl(daemon, "consent", "set", "ads", "deny", status=2).stderr.count("--yes") == 1
        done = ctl(daemon, "consent", "set", "ads", "deny", "--yes")
        assert done.stdout == "ads: deny; events purged: 300\n"
        assert found(daemon, "denied-") == []
        assert found(daemon, "kept-")
        for name, purged in [("main", 0), ("dead", 300), ("picky", 300)]:
            ledger = daemon.assert_ledger(name)
            assert (ledger["purged"], ledger["accepted"]) == (purged, 305), (name, ledger)
        code, headers, answer = daemon.post([{"n": 1}], consent="ads")
        assert code == 403 and answer["type"].endswith(":consent-denied") and "Retry-After" not in headers
        assert put(daemon, "ads", "deny") == (200, {"state": "deny", "purged": 0})
        daemon.kill()
        daemon.start()
        assert daemon.post([{"n": 1}], consent="ads")[0] == 403
        assert found(daemon, "denied-") == []
        assert "Purged: 300 events of ads" in daemon.read_log()
        # Allowed again it starts clean.
        assert put(daemon, "ads", "allow")[0] == 200
        post(daemon, [5_000], "ads")
        until(lambda: 5_000 in collector.numbers(), 10, "new ones are sent")
        assert sorted(collector.numbers()) == sorted([*range(300), *range(1_000, 1_005), 5_000])
        assert daemon.assert_ledger("dead")["accepted"] == 306
    finally:
        picky.stop()


def test_recycled_files_hold_nothing_of_it(daemons, collector):
    """Whole segments were delivered and made the next ones; their old bytes go, too."""
    sections = CHECK + "[Queue]\nMaxSize=16M\nKeepFree=0%\n"
    daemon = daemons(url=collector.url, options=SETTINGS, sections=sections).start()
    for start in range(0, 8_000, 200):
        events = [{"n": number, "secret": f"old-{number}-secret", "x": "x" * 700} for number in range(start, start + 200)]
        code, _, answer = daemon.post(events, consent="ads")
        assert code == 202, answer
        drained(daemon)
    spare = os.path.join(daemon.queue, "logs", "consent-ads", "spare")
    until(lambda: os.path.exists(spare) and b"old-" in open(spare, "rb").read(), 10, "a segment is recycled")
    assert ctl(daemon, "purge", "--consent", "ads", "--yes").stdout == NOTHING_PURGED
    assert found(daemon, "old-") == []
    assert post(daemon, [9_999], "ads")
    assert drained(daemon)["delivered"] == 8_001


def test_one_event_is_purged_wherever_it_is(daemons, collector):
    collector.stop()
    daemon = daemons(destinations={"main": collector.url, "dead": DEAD_END}, options=SETTINGS, sections=CHECK).start()
    ids = post(daemon, range(20), mark="one")
    held = put(daemon, "ads", "hold") and post(daemon, range(100, 103), "ads", mark="one")
    assert purge(daemon, id=ids[7]) == (200, {"purged": 1})
    for _ in range(2):
        assert purge(daemon, id=ids[7]) == (200, {"purged": 0}), "it is gone, though its place is not passed yet"
    assert ctl(daemon, "purge", "--id", ids[7], "--yes").stdout == NOTHING_PURGED
    assert daemon.read_log().count("Purged: 1 event\n") == 1
    assert ctl(daemon, "purge", "--id", held[1], "--yes").stdout == "events purged: 1\n"
    assert found(daemon, "one-7-secret") == [] and found(daemon, "one-101-secret") == []
    assert found(daemon, "one-8-secret") and found(daemon, "one-102-secret")
    daemon.kill()
    daemon.start()
    assert found(daemon, "one-7-secret") == []
    put(daemon, "ads", "allow")
    collector.start()
    ledger = drained(daemon)
    assert (ledger["delivered"], ledger["purged"]) == (21, 2), ledger
    assert sorted(collector.numbers()) == sorted({*range(20), 100, 101, 102} - {7, 101})
    dead = daemon.assert_ledger("dead")
    assert dead["accepted"] == 23 and dead["queued"] + dead["purged"] == 23


def test_an_event_on_its_way_is_purged(daemons):
    silent = Collector()
    try:
        daemon = daemons(url=silent.url, options=SETTINGS, sections=CHECK).start()
        post(daemon, [0])
        drained(daemon)
        silent.script = Script(silent=True)
        ids = post(daemon, range(1, 6), mark="way")
        until(lambda: len(silent.posts()) == 2, 20, "they are on their way")
        assert purge(daemon, id=ids[2]) == (200, {"purged": 1})
        silent.script = Script()
        ledger = drained(daemon)
        assert (ledger["delivered"], ledger["purged"]) == (5, 1), ledger
        assert silent.numbers() == [0, 1, 2, 4, 5], "and is in no request after it"
    finally:
        silent.stop()


@pytest.mark.skipif(not os.path.exists(DEBUG), reason="there is no debug build")
@pytest.mark.parametrize(
    "place, is_durable",
    [
        ("before-write-other", False), ("before-rename-other", False), ("after-rename-other", True),
        ("before-sync-cursors", True), ("before-rename-segment", True), ("before-unlink-segment", True),
        ("after-unlink-segment", True), ("after-directory-segment", True),
    ])
def test_a_kill_while_it_is_denied(daemons, collector, monkeypatch, place, is_durable):
    """The state is durable before anything is purged, and a start takes up what a kill has left."""
    monkeypatch.setattr(harness, "UPLINKD", DEBUG)
    daemon = daemons(destinations={"main": collector.url, "dead": DEAD_END}, options=SETTINGS, sections=CHECK).start()
    put(daemon, "ads", "hold")
    post(daemon, range(50), "ads", mark="killed")
    post(daemon, range(100, 110), mark="kept")
    until(lambda: len(collector.numbers()) == 10, 10, "the others are sent")
    time.sleep(1.5)
    daemon.kill()
    assert deny_until_killed(daemon, place), (place, daemon.read_log())
    daemon.environment = {}
    daemon.start()
    if not is_durable:
        assert daemon.status()["consent"]["ads"] == "hold"
        assert daemon.assert_ledger("dead")["queued"] == 60
        assert put(daemon, "ads", "deny")[0] == 200
    assert daemon.status()["consent"]["ads"] == "deny"
    until(lambda: found(daemon, "killed-") == [], 10, "the start goes on with the purge")
    assert daemon.post([{"n": 1}], consent="ads")[0] == 403
    for name in ("main", "dead"):
        until(lambda: daemon.assert_ledger(name)["purged"] == 50, 5, lambda: daemon.destination(name))
        assert daemon.assert_ledger(name)["accepted"] == 60
    assert sorted(collector.numbers()) == list(range(100, 110))


def deny_until_killed(daemon, place):
    """Ends the daemon at a place that it comes to when it denies; those that its start passes before are skipped."""
    for skip in range(12):
        daemon.environment = {"UPLINKD_FAULT": f"{place}:panic", "UPLINKD_FAULT_SKIP": str(skip)}
        daemon.start(wait=False)
        try:
            until(daemon.is_serving, 10, "it serves")
        except AssertionError:
            assert daemon.process.poll() == PANICKED, daemon.read_log()
            continue
        try:
            put(daemon, "ads", "deny")
        except (OSError, ValueError):
            pass
        return daemon.process.wait(5) == PANICKED
    return False


def test_a_damaged_state_holds_all_but_what_the_configuration_denies(daemons, collector):
    sections = CHECK + '[Consent "named"]\nState=allow\n[Consent "never"]\nState=deny\n'
    daemon = daemons(url=collector.url, options=SETTINGS, sections=sections).start()
    post(daemon, [1], "ads")
    drained(daemon)
    put(daemon, "denied", "deny")
    daemon.kill()
    path = os.path.join(daemon.queue, "consent")
    with open(path, "r+b") as file:
        file.seek(3_000)
        file.write(b"\x01")
    damaged = open(path, "rb").read()
    verify = subprocess.run([UPLINKCTL, "verify", daemon.queue], capture_output=True, text=True)
    assert verify.returncode == 1 and "consent" in verify.stdout, verify.stdout
    daemon.start()
    status = daemon.status()
    assert status["consent"] == {"ads": "hold", "denied": "hold", "named": "hold", "never": "deny"}
    assert "ads, denied and all others" in status["consent_detail"]
    assert "could not be read; on hold: ads, denied and all others" in daemon.read_log()
    assert daemon.post([{"n": 4}], consent="never")[0] == 403
    post(daemon, [2], "ads")
    post(daemon, [3], "new")
    time.sleep(0.5)
    assert collector.numbers() == [1], "an operator may have denied what was never used"
    assert open(os.path.join(daemon.queue, "quarantine", "consent"), "rb").read() == damaged
    daemon.kill()
    daemon.start()
    states = daemon.status()["consent"]
    assert states["ads"] == states["new"] == "hold" and states["never"] == "deny", "also after the next start"
    put(daemon, "ads", "allow")
    until(lambda: 2 in collector.numbers(), 10, "until somebody allows it")
    put(daemon, "new", "allow")
    until(lambda: collector.numbers() == [1, 2, 3], 10, "and the other")
    # Without the file, beside a log of a category.
    daemon.kill()
    os.unlink(path)
    daemon.start()
    assert daemon.status()["consent"]["ads"] == "hold"


def test_a_reload_changes_states_and_the_default(daemons, collector):
    daemon = daemons(url=collector.url, options=SETTINGS, sections=CHECK + "[Consent]\nDefault=hold\n").start()
    post(daemon, range(3), "a")
    post(daemon, range(10, 13), "b", mark="reload")
    put(daemon, "kept", "hold")
    post(daemon, [20], "kept")
    time.sleep(0.5)
    assert collector.numbers() == []
    answer = reload(daemon, CHECK + '[Consent]\nDefault=allow\n[Consent "b"]\nState=deny\n[Consent "kept"]\nState=allow\n')
    assert '[Consent] Default: hold -> allow' in answer["changed"] and not answer["needs_restart"], answer
    until(lambda: collector.numbers() == [0, 1, 2], 10, "what the default allows is sent")
    assert {event["queue_reason"] for event in collector.taken} == {"consent"}
    until(lambda: daemon.assert_ledger()["purged"] == 3, 10, "what a section denies is purged")
    assert found(daemon, "reload-") == []
    assert daemon.status()["consent"] == {"a": "allow", "b": "deny", "kept": "hold"}, "an operator's state stays"
    assert daemon.post([{"n": 1}], consent="b")[0] == 403
    reload(daemon, CHECK)
    post(daemon, [13], "b")
    until(lambda: 13 in collector.numbers(), 10, "it may be sent again")
    ledger = daemon.assert_ledger()
    assert (ledger["accepted"], ledger["delivered"], ledger["purged"], ledger["queued"]) == (8, 4, 3, 1), ledger


def test_what_the_configuration_names_has_its_place(daemons):
    named = CHECK + '[Consent "named"]\nState=hold\n[Consent "plain"]\n'
    daemon = daemons(url=DEAD_END, sections=named).start()
    for number in range(62):
        post(daemon, [number], f"c{number}")
    code, _, answer = daemon.post([{"n": 1}], consent="other")
    assert code == 422 and answer["type"].endswith(":too-many-categories"), answer
    assert put(daemon, "other", "hold")[0] == 409
    post(daemon, [62], "named")
    assert put(daemon, "plain", "allow")[0] == 200
    warnings = reload(daemon, named + '[Consent "late"]\nState=hold\n')["warnings"]
    assert len(warnings) == 1 and re.search(r":\d+:\d+: warning: not all of these .*: late$", warnings[0]), warnings
    until(lambda: warnings[0].split(": warning: ")[1] in daemon.read_log(), 5, "the journal is told, too")
    assert daemon.post([{"n": 1}], consent="late")[0] == 422
    assert daemon.assert_ledger()["queued"] == 63


def test_what_is_not_understood(daemons):
    daemon = daemons(url=DEAD_END).start()
    for query in ({"consent": ""}, {"consent": "A"}, {"consent": "x" * 33}, {"consent": "a", "lane": "normal"}):
        code, _, answer = daemon.post([{"n": 1}], **query)
        assert code == 422 and "consent" in answer["detail"], (query, answer)
    for number in range(64):
        post(daemon, [number], f"c{number}")
    code, _, answer = daemon.post([{"n": 1}], consent="another")
    assert code == 422 and answer["type"].endswith(":too-many-categories"), answer
    assert put(daemon, "another", "hold")[0] == 409 and put(daemon, "c5", "hold")[0] == 200
    for body in ({}, {"consent": "a", "id": "b"}, {"consent": "A"}, {"what": 1}, {"id": 5}):
        assert purge(daemon, **body)[0] == 422, body
    assert purge(daemon, id="nonsense")[0] == 404 and purge(daemon, consent="never-used") == (200, {"purged": 0})
    for category, body in (("a", "{}"), ("a", '{"state":"maybe"}'), ("A", '{"state":"hold"}')):
        assert request(daemon.control, "PUT", f"/v1/consent/{category}", body)[0] == 422, (category, body)
    assert request(daemon.control, "GET", "/v1/consent/a")[0] == 405
    ledger = daemon.assert_ledger()
    assert ledger["queued"] == 64, ledger
    ctl(daemon, "consent", "set", "a", "maybe", status=2)
    ctl(daemon, "purge", status=2)
    send = subprocess.run(
        [UPLINKCTL, "--socket", daemon.events, "send", "--consent", "c5"], input='{"n":1}', capture_output=True,
        text=True)
    assert send.returncode == 0, send
    assert daemon.status()["queue"]["logs"]["consent-c5"]["events"] == 2
