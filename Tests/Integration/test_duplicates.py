"""Repeats: a request or a CloudEvent that comes again is answered 202, counted, and arrives once."""
import json
import threading

import pytest

from harness import request, until
from intake_box import JSON, as_user, make_box  # noqa: F401

BATCH = {"Content-Type": "application/cloudevents-batch+json"}


def cloud_event(number, source="/till/1"):
    return {"specversion": "1.0", "type": "sale", "source": source, "id": f"s-{number}", "data": {"n": number}}


def counts(answer):
    return answer["accepted"], answer["duplicates"]


def named(name):
    return {**JSON, "Idempotency-Key": f'"{name}"'}


def post_cloud_events(box, numbers):
    return box.post(json.dumps([cloud_event(number) for number in numbers]), BATCH)


def check_ids(box, ids):
    """Each of these CloudEvents arrives, and once."""
    found = lambda: [event["id"] for event in box.collector.taken if "specversion" in event]  # noqa: E731
    until(lambda: len(found()) >= len(ids), 20, "all arrive")
    assert sorted(found()) == sorted(ids)


def test_cloud_events(make_box):
    box = make_box()
    assert counts(post_cloud_events(box, range(100))) == (100, 0)
    again = post_cloud_events(box, range(100))
    assert counts(again) == (0, 100) and "first" not in again and "last" not in again
    part = post_cloud_events(box, [99, 100, 100, 101])
    assert counts(part) == (2, 2) and part["first"] != part["last"]
    # By lines and as plain JSON nothing names an event.
    assert box.lines(json.dumps(cloud_event("line")).encode())[-1] == {"accepted": 1}
    intake = box.daemon.status()["intake"]
    assert (intake["accepted"], intake["duplicates"]) == (103, 102)
    check_ids(box, [f"s-{number}" for number in [*range(102), "line"]])
    box.check()


def test_idempotency_key(make_box, home):
    box = make_box(sections="[Reachability]\nCheckInterval=1s\n[Intake]\nSocketMode=0666")
    body = json.dumps([{"n": number} for number in range(10)])
    assert counts(box.post(body, named("a"))) == (10, 0)
    assert counts(box.post(body, named("a"))) == (0, 10)
    assert counts(box.post(body, named("b"))) == (10, 0)
    problem = box.post(json.dumps({"n": "other"}), named("a"), expected=422)
    assert problem["type"].endswith(":idempotency-key")
    for query, headers in [("?lane=bulk", {}), ("?ttl=1h", {}), ("?consent=ads", {}),
                           ("", {"Content-Type": "application/x-ndjson"})]:
        box.post(body if not headers else '{"n":1}', {**named("a"), **headers}, query, expected=422)
    with as_user(12345, box.daemon.events):
        assert counts(box.post(body, named("a"))) == (10, 0)
        assert counts(post_cloud_events(box, [1])) == (1, 0)
    assert counts(post_cloud_events(box, [1])) == (1, 0), "a stranger's event suppresses none"
    assert counts(box.post(body, named("a"))) == (0, 10)
    assert box.daemon.status()["intake"]["duplicates"] == 20
    box.check()


@pytest.mark.parametrize("how", ["deny", "consent", "id"])
def test_what_was_purged_is_taken_again(make_box, how):
    box = make_box()

    def order(method, path, what):
        return request(box.daemon.control, method, path, json.dumps(what), timeout=30)

    order("PUT", "/v1/consent/ads", {"state": "hold"})
    event = json.dumps([cloud_event(1)])
    first = box.post(event, BATCH, "?consent=ads")
    assert counts(first) == (1, 0) and counts(box.post(event, BATCH, "?consent=ads")) == (0, 1)
    if how == "deny":
        assert order("PUT", "/v1/consent/ads", {"state": "deny"})[0] == 200
        order("PUT", "/v1/consent/ads", {"state": "hold"})
    else:
        what = {"consent": "ads"} if how == "consent" else {"id": first["first"]}
        assert json.loads(order("POST", "/v1/purge", what)[2]) == {"purged": 1}
    assert counts(box.post(event, BATCH, "?consent=ads")) == (1, 0), "it is nowhere else"
    order("PUT", "/v1/consent/ads", {"state": "allow"})
    check_ids(box, ["s-1"])


@pytest.mark.parametrize("kill", [True, False])
def test_over_a_restart(make_box, kill):
    """The queue keeps what names its events: after a start, orderly or not, a repeat is still known."""
    box = make_box()
    assert counts(post_cloud_events(box, range(50))) == (50, 0)
    assert counts(box.post('{"n":1}', named("k"))) == (1, 0)
    # A batch whose answer a killed daemon has not noted goes out twice.
    until(lambda: box.daemon.assert_ledger()["delivered"] == 51, 10, "all is delivered")
    if kill:
        box.daemon.kill()
    else:
        box.daemon.stop()
    box.daemon.start()
    assert counts(post_cloud_events(box, range(40, 60))) == (10, 10)
    assert counts(box.post('{"n":1}', named("k"))) == (0, 1)
    box.post('{"n":2}', named("k"), expected=422)
    check_ids(box, [f"s-{number}" for number in range(60)])
    box.check()


def test_clients_that_repeat_at_once(make_box):
    """Of eight clients that post the same requests at the same time, each request is taken from one of them."""
    box = make_box()
    sums = [0, 0]
    lock = threading.Lock()

    def post():
        for number in range(100):
            status, _, data = request(box.daemon.events, "POST", "/v1/events", json.dumps({"n": number}),
                                      named(f"r{number}"))
            answer = json.loads(data)
            assert status == 202, answer
            with lock:
                sums[0] += answer["accepted"]
                sums[1] += answer["duplicates"]

    clients = [threading.Thread(target=post) for _ in range(8)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert sums == [100, 700], sums
    box.acknowledged += 100
    assert box.daemon.status()["intake"]["duplicates"] == 700
    box.check()
    assert sorted(event["n"] for event in box.collector.taken if event["n"] != "after") == list(range(100))


def test_the_window(make_box):
    """65,536 events are known; memory does not grow with more."""
    box = make_box()
    for first in range(0, 70_000, 1_000):
        assert counts(post_cloud_events(box, range(first, first + 1_000))) == (1_000, 0)
    before = box.memory("RssAnon")
    for first in range(70_000, 140_000, 1_000):
        assert counts(post_cloud_events(box, range(first, first + 1_000))) == (1_000, 0)
    assert counts(post_cloud_events(box, [139_999, 140_000 - 65_536, 140_000 - 65_537])) == (1, 2)
    grown = box.memory("RssAnon") - before
    assert grown < 4_096, f"{grown} KB more"
    assert box.accepted() == box.acknowledged == 140_001
