"""Delivery as time goes by: a destination that is dead for long, lanes, what collectors ask for, second tries."""
import json
import os
import shutil
import subprocess
import time
from email.utils import formatdate

import pytest

from harness import UPLINKD, Collector, Script, collector_in, request, until
from peers import Secure, anonymous_kib, certificate

FAST = "FlushSpread=0\nRetryMin=100ms\nRetryMax=500ms\n"
CHECKS = "[Reachability]\nCheckInterval=500ms"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")


class Wire(Collector):
    """A collector that keeps the bodies of its POSTs as they came over the wire."""

    def __init__(self, **options):
        self.bodies = []
        super().__init__(**options)

    def serve(self, reader, writer):
        collector = self

        class Reading:
            readline = reader.readline

            def read(self, count):
                data = reader.read(count)
                if data:
                    collector.bodies.append(data)
                return data

        return super().serve(Reading(), writer)


def stop_all(*collectors):
    for each in collectors:
        each.stop()


def test_one_dead_for_long(daemons, collector):
    """One refuses, one is silent, and a third has every event soon; then both get all, in order, with the same ids."""
    seconds = float(os.environ.get("UPLINKD_DEAD_SECONDS", "10"))
    silent = Collector(script=Script(silent=True))
    gone = Collector()
    stop_all(gone)
    urls = {"gone": gone.url, "silent": silent.url, "well": collector.url}
    daemon = daemons(destinations=urls, options=FAST + "Timeout=1s\n", sections=CHECKS).start()
    until(lambda: daemon.state("well") == "reachable", 10, "reachable")
    posted, late, end = 0, [], time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        daemon.post_numbers(range(posted, posted + 20))
        posted += 20
        until(lambda: len(collector.taken) == posted, 10, "the one that is well has it")
        late.append(time.monotonic() - began)
        time.sleep(0.05)
    late.sort()
    assert late[len(late) // 2] < 0.5, f"half of them took {late[len(late) // 2]:.2f} s, the slowest {late[-1]:.2f} s"
    for name in ("gone", "silent"):
        ledger = daemon.assert_ledger(name)
        assert (ledger["queued"], ledger["delivered"], daemon.state(name)) == (posted, 0, "unreachable"), ledger
    silent.script = Script()
    back = Collector(port=gone.port)
    try:
        for name, each in (("gone", back), ("silent", silent)):
            until(lambda: daemon.assert_ledger(name)["delivered"] == posted, 30, lambda: f"{daemon.destination(name)}")
            # What was in flight when it came to life may have come twice.
            ids = list(dict.fromkeys(event["event_id"] for event in each.taken))
            assert ids == [event["event_id"] for event in collector.taken], name
        assert collector.numbers() == list(range(posted)) and back.numbers() == list(range(posted))
        assert not any("was_queued" in event for event in collector.taken)
        assert all(event["queue_reason"] == "connectivity" for event in back.taken)
    finally:
        stop_all(silent, back)


def test_urgent_overtakes_and_normal_never_does(daemons, collector):
    """While a backlog of 100,000 leaves, each urgent event arrives in a moment, and each normal one behind it."""
    backlog = 100_000
    collector.script = Script(503, close=True)
    options = FAST + "BatchMaxEvents=200\n"
    daemon = daemons(url=collector.url, options=options, sections=CHECKS).start()
    for start in range(0, backlog, 5_000):
        daemon.post_numbers(range(start, start + 5_000))
    collector.script = Script(delay=0.01)
    until(lambda: len(collector.taken) > 1_000, 20, "it leaves")
    took = []
    for number in range(backlog, backlog + 5):
        began = time.monotonic()
        assert daemon.post([{"n": number, "urgent": True}], lane="urgent")[0] == 202
        until(lambda: any(event["n"] == number and "urgent" in event for event in collector.taken[-2_000:]), 10, number)
        took.append(time.monotonic() - began)
        assert daemon.destination()["ledger"]["queued"] > 1_000, "the backlog was gone before"
        daemon.post_numbers([number + 100])
    until(lambda: daemon.assert_ledger()["queued"] == 0, 60, daemon.destination)
    normal = [event["n"] for event in collector.taken if "urgent" not in event]
    assert normal == list(range(backlog)) + list(range(backlog + 100, backlog + 105))
    urgent = [event["n"] for event in collector.taken if "urgent" in event]
    assert urgent == list(range(backlog, backlog + 5))
    assert sorted(took)[2] < 1, took


# What the answer asks for, and how long it takes at least and at most, with jitter and a busy machine.
RETRY_AFTER = {
    "seconds": ({"Retry-After": "1"}, 1, 2),
    "date": ({"Retry-After": "+1", "Date": "+0"}, 1, 2),
    "zero": ({"Retry-After": "0"}, 0.05, 0.5),
    "negative": ({"Retry-After": "-5"}, 0.05, 0.5),
    "a date that is over": ({"Retry-After": "-100", "Date": "+0"}, 0.05, 0.5),
    "garbage": ({"Retry-After": "soon"}, 0.05, 0.5),
    "empty": ({"Retry-After": ""}, 0.05, 0.5),
    "a far future": ({"Retry-After": "99999999999999999999"}, 3_600, 3_960),
    "a date in a far future": ({"Retry-After": "+9999999", "Date": "+0"}, 3_600, 3_960),
}


def test_retry_after(daemons):
    """Each by a destination of its own; a wait that is long is shown, and `flush` ends it."""
    collectors = {}
    for number, (headers, _, _) in enumerate(RETRY_AFTER.values()):
        fields = {key: formatdate(1e9 + int(value), usegmt=True) if "Date" in headers else value
                  for key, value in headers.items()}
        collectors[f"d{number}"] = Wire(script=Script(status=503, headers=fields))
    daemon = daemons(destinations={name: each.url for name, each in collectors.items()}, options=FAST, sections=CHECKS)
    daemon.start()
    try:
        until(lambda: all(daemon.state(name) == "reachable" for name in collectors), 10, "reachable")
        daemon.post_numbers([1])
        until(lambda: all(each.posts() for each in collectors.values()), 10, "a first try")
        until(lambda: all(daemon.destination(name)["flags"] == ["throttled"] for name in collectors), 10, "throttled")
        for each in collectors.values():
            each.script = Script()
        for (name, each), (words, (_, least, most)) in zip(collectors.items(), RETRY_AFTER.items()):
            if least < 10:
                until(lambda: len(each.taken) == 1, most + 10, words)
                times = [one[0] for one in each.posts()]
                # The first gap: later ones grow.
                assert least <= times[1] - times[0] <= most + 2, (words, times)
            else:
                shown = daemon.destination(name)
                assert len(each.posts()) == 1 and shown["flags"] == ["throttled"], (words, shown)
                flush(daemon, name)
                until(lambda: len(each.taken) == 1, 10, words)
        assert all(daemon.assert_ledger(name)["delivered"] == 1 for name in collectors)
    finally:
        stop_all(*collectors.values())


def flush(daemon, name):
    assert request(daemon.control, "POST", f"/v1/destinations/{name}/flush")[0] == 202


@needs_root
def test_the_first_failure_on_a_new_path_costs_a_second(daemons, network):
    """The interval of checks is half a minute."""
    collector = collector_in(network.outer, "198.51.100.10", script=Script(503, close=True))
    options = "PlainHTTP=yes\nExpectHeader=X-Collector\nFlushSpread=0\n"
    daemon = daemons(url="http://198.51.100.10:8080/", wrap=network.wrap(), options=options).start()
    try:
        until(lambda: daemon.state() == "no-path", 10, "no path")
        daemon.post_numbers([1])
        network.route()
        until(lambda: len(collector.requests) >= 2, 15, lambda: f"it is tried twice\n{daemon.destination()}")
        first, second = (each[0] for each in collector.requests[:2])
        assert 0.8 <= second - first <= 5, second - first
        collector.script = Script(headers={"X-Collector": "yes"})
        until(lambda: collector.numbers() == [1], 15, lambda: daemon.destination())
    finally:
        stop_all(collector)


@pytest.mark.parametrize("compression", ["gzip", "none"])
def test_the_second_try_has_the_same_bytes(daemons, compression):
    """The first was taken and not answered: the same body over the wire under the same key, ids over a restart."""
    collector = Wire(script=Script(silent=True))
    options = FAST + f"Timeout=1s\nCompression={compression}\n"
    daemon = daemons(url=collector.url, options=options, sections=CHECKS).start()
    try:
        daemon.post_numbers(range(100))
        until(lambda: len(collector.posts()) >= 3, 15, "it is tried again")
        posts = collector.posts()[:3]
        assert collector.bodies[0] == collector.bodies[1] == collector.bodies[2]
        assert len({post[3]["idempotency-key"] for post in posts}) == 1
        assert [post[3]["uplink-attempt"] for post in posts] == ["1", "2", "3"]
        assert (collector.bodies[0][:2] == b"\x1f\x8b") == (compression == "gzip")
        ids = [event["event_id"] for event in posts[0][4]]
        assert daemon.stop() == 0
        collector.script = Script()
        daemon.start()
        until(lambda: len(collector.taken) == 100, 10, "all is taken")
        assert [event["event_id"] for event in collector.taken] == ids
        assert collector.posts()[-1][3]["idempotency-key"] != posts[0][3]["idempotency-key"]
        until(lambda: daemon.assert_ledger()["delivered"] == 100, 10, "the answer is known")
    finally:
        stop_all(collector)


def test_a_token_from_a_credential(daemons, home):
    """`Credential=` names a file of $CREDENTIALS_DIRECTORY; without it nothing is sent, and status says why."""
    folder = os.path.join(home, "credentials")
    os.makedirs(folder)
    collector = Collector()
    options = FAST + "Credential=collector-token\n"
    daemon = daemons(url=collector.url, options=options, sections=CHECKS, environment={"CREDENTIALS_DIRECTORY": folder})
    daemon.start()
    try:
        daemon.post_numbers([1])
        until(lambda: "held" in daemon.destination()["flags"], 10, daemon.destination)
        shown = daemon.destination()
        assert shown["reason"] == "unauthorized" and f"{folder}/collector-token" in shown["last_error"]["detail"], shown
        assert not collector.posts()
        with open(os.path.join(folder, "collector-token"), "w") as file:
            file.write("s3cret\n")
        flush(daemon, "main")
        until(lambda: collector.numbers() == [1], 10, daemon.destination)
        assert collector.posts()[0][3]["authorization"] == "Bearer s3cret"
        assert "s3cret" not in daemon.read_log() and daemon.assert_ledger()["delivered"] == 1
    finally:
        stop_all(collector)


def test_certificates_that_cannot_be_used(daemons, home):
    """Nothing is lost or sent; status, `--check` and a reload name the file, and a reload reads it again."""
    collector = Secure()
    path = os.path.join(home, "authority.pem")
    daemon = daemons(url=f"https://127.0.0.1:{collector.port}/", options=FAST + f"CACertificate={path}\n",
                     sections=CHECKS)
    for content, words in ((None, "No such file"), (b"no certificate", "certificate")):
        if content:
            with open(path, "wb") as file:
                file.write(content)
        said = subprocess.run([UPLINKD, "--config", daemon.configuration, "--check"], capture_output=True, text=True)
        assert said.returncode == 0 and f"{path}, named by CACertificate, cannot be used" in said.stderr, said
        assert said.stderr.startswith(f"{daemon.configuration}:"), said
        daemon.start()
        try:
            fault = daemon.destination()["file_fault"] or ""
            assert path in fault and words in fault, "also while nothing waits"
            daemon.post_numbers([1])
            until(lambda: daemon.destination()["reason"] == "tls", 10, daemon.destination)
            detail = daemon.destination()["last_error"]["detail"]
            assert path in detail and words in detail, detail
            assert not collector.requests
        finally:
            assert daemon.stop() == 0
    def reload():
        status, _, body = request(daemon.control, "POST", "/v1/reload")
        assert status == 200
        verdict = json.loads(body)
        return verdict["changed"], verdict["warnings"]

    daemon.start()
    try:
        with open(path, "wb") as file:
            file.write(b"no certificate either")
        changed, (warning,) = reload()
        assert path in warning and changed == [], "what cannot be used changes nothing"
        shutil.copy(certificate("authority.pem"), path)
        assert reload() == (['[Destination "main"]: what its files hold'], [])
        assert daemon.destination()["file_fault"] is None
        until(lambda: collector.numbers() == [1, 1], 10, daemon.destination)
        assert reload() == ([], [])
        # What was trusted before is not what the configuration says now.
        with open(path, "wb") as file:
            file.write(b"no certificate")
        changed, (warning,) = reload()
        assert path in warning and path in daemon.destination()["file_fault"]
        daemon.post_numbers([2])
        until(lambda: daemon.destination()["reason"] == "tls", 10, daemon.destination)
        assert path in daemon.destination()["last_error"]["detail"] and collector.numbers() == [1, 1]
    finally:
        stop_all(collector)


def test_bodies_share_their_memory(daemons):
    """Fifteen destinations, each unwell in a way of its own, with a backlog of 50 MB in three lanes."""
    ways = [Script(silent=True), Script(503), Script(404), Script(close=True, status=503), Script(413)]
    collectors = {f"d{number}": Collector(script=ways[number % len(ways)]) for number in range(15)}
    daemon = daemons(destinations={name: each.url for name, each in collectors.items()},
                     options=FAST + "Timeout=1s\nBatchMaxEvents=5000\nBatchMaxSize=4M\n", sections=CHECKS).start()
    most = 0
    try:
        for start in range(0, 50_000, 500):
            lane = ("urgent", "normal", "bulk")[start // 500 % 3]
            events = [{"n": number, "text": "x" * 900} for number in range(start, start + 500)]
            assert daemon.post(events, lane=lane)[0] == 202
            most = max(most, anonymous_kib(daemon))
        end = time.monotonic() + 3
        while time.monotonic() < end:
            most = max(most, anonymous_kib(daemon))
            time.sleep(0.02)
        print(f"at most {most} KiB")
        assert most < 14 << 10, "8 MiB of bodies, and what a daemon has anyway"
        for name in collectors:
            assert daemon.assert_ledger(name)["accepted"] == 50_000
    finally:
        stop_all(*collectors.values())
