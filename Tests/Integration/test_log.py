"""The log says what is true when it is true: nothing that is overtaken, counts that hold, causes of their own."""
import json
import os
import re
import subprocess

from harness import UPLINKCTL, Script, UnixHTTPConnection, until

FAST = "RetryMin=250ms\nRetryMax=1s\nFlushSpread=0"
CHECKS = "[Reachability]\nCheckInterval=1s\n"
NOWHERE = "http://127.0.0.1:9/collect"
REMARK = re.compile(r" \((?:(\d+) times since the last such line)?(?:, )?(?:(?:the last )?(\d+) s ago)?\)$")


def ctl(daemon, *words):
    done = subprocess.run([UPLINKCTL, "--socket", daemon.control, *words], capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, (words, done)
    return done.stdout


def lines(daemon):
    return [line.removeprefix("uplinkd: ") for line in daemon.read_log().splitlines()]


def place(daemon, text):
    """Where the line that holds `text` stands; there must be one such line."""
    found = [number for number, line in enumerate(lines(daemon)) if text in line]
    assert len(found) == 1, (text, daemon.read_log())
    return found[0]


def test_what_is_overtaken_is_not_told(daemons, collector, home):
    """A stop writes what is held back: by then it is forgotten, taken out, or mended."""
    daemon = daemons(destinations={"main": collector.url, "auth": NOWHERE}, options=FAST, sections=CHECKS)
    pem = os.path.join(home, "none.pem")
    with open(daemon.configuration, "a") as file:
        file.write(f'CACertificate={pem}\nColour=blue\n[Destination "tls"]\nURL=https://127.0.0.1:9/\nCACertificate={pem}\n')
    daemon.start()
    daemon.post_numbers(range(11))
    ctl(daemon, "reload")
    for destinations in ({"main": collector.url}, {"main": collector.url}):
        daemon.destinations = destinations
        daemon.write_configuration(FAST, CHECKS)
        ctl(daemon, "reload")
    ctl(daemon, "destination", "forget", "auth", "--yes")
    ctl(daemon, "reload")
    assert daemon.stop() == 0
    told = lines(daemon)
    taken_out = next(number for number, line in enumerate(told) if line.startswith("The configuration was reloaded: "))
    forgotten = place(daemon, "auth is forgotten")
    for text, last in [("cannot be used", taken_out), ("Colour", taken_out), ("auth is no longer configured", forgotten)]:
        found = [number for number, line in enumerate(told) if text in line]
        assert found and max(found) < last, (text, found, last, daemon.read_log())


def test_outages_are_counted_as_what_they_are(daemons, collector):
    daemon = daemons(url=collector.url, options=FAST, sections=CHECKS).start()
    until(lambda: daemon.state() == "reachable", 10, "it is reachable")
    for number in range(3):
        collector.script = Script(close=True)
        daemon.post_numbers([number])
        until(lambda: daemon.state() == "unreachable", 10, "it is not")
        collector.script = Script()
        until(lambda: daemon.state() == "reachable", 10, "it is again")
    assert daemon.stop() == 0

    def count(text):
        return sum(int((REMARK.search(line) or [0, None])[1] or 1) for line in lines(daemon) if text in line)

    assert count("main is reachable") == 1 + 3, daemon.read_log()
    assert count("main is unreachable: ") == 1, f"the others were overtaken\n{daemon.read_log()}"


def test_a_refused_event_is_named(daemons, collector):
    collector.script = Script(status=422, body=b'no member "at"\nin event')
    daemon = daemons(url=collector.url, options=FAST, sections=CHECKS).start()
    code, _, answer = daemon.post([{"n": 1}])
    assert code == 202
    until(lambda: daemon.assert_ledger()["dead"] == 1, 20, lambda: daemon.destination())
    line = f'Destination main refused event {answer["first"]} for good: status 422, no member "at"\\x0ain event'
    until(lambda: line in lines(daemon), 5, lambda: daemon.read_log())


def test_the_end_of_a_pause(daemons, collector):
    """It is logged, and those who watch are told that its time was over."""
    daemon = daemons(url=collector.url, options=FAST, sections=CHECKS).start()
    until(lambda: daemon.state() == "reachable", 10, "it is reachable")
    connection = UnixHTTPConnection(daemon.control)
    connection.request("GET", "/v1/watch")
    watching = connection.getresponse()
    ctl(daemon, "pause", "--for", "1s", "main")
    changes = []
    while len(changes) < 2:
        change = json.loads(watching.readline())
        if change["kind"] == "gate":
            changes.append((change["from"], change["to"], change["cause"]))
    connection.close()
    assert changes == [("open", "paused", "operator"), ("paused", "open", "timer")]
    until(lambda: "The pause of destination main is over" in lines(daemon), 5, daemon.read_log)
    place(daemon, "main is paused by an operator for 1s")


def test_a_queue_that_fills_says_so_in_order(daemons, collector):
    """How full it is, is told before what is refused for it, and never after."""
    collector.stop()
    for lane in ("normal", "bulk"):
        daemon = daemons(name=lane, url=collector.url, options=FAST, sections="MaxSize=8M\nKeepFree=0%\n").start()
        code = 202
        while code == 202:
            code, _, answer = daemon.post([{"x": "x" * 20_000}] * 20, lane=lane)
        assert code == 503, answer
        for _ in range(5):
            daemon.post([{"x": "x" * 2_000}] * 20, lane=lane)
        until(lambda: "New events are refused" in daemon.read_log(), 5, "that is told")
        assert daemon.stop() == 0
        refused = min(number for number, line in enumerate(lines(daemon)) if line.startswith("New events are refused"))
        filling = [(number, line) for number, line in enumerate(lines(daemon)) if "% full" in line]
        assert filling and max(filling)[0] < refused, (lane, daemon.read_log())
        if lane == "normal":
            assert any("80 % full" in line or "95 % full" in line for _, line in filling), daemon.read_log()
