"""What `uplinkctl status` shows in each situation, whole, as in the files of `screens/`.

What differs from run to run has a name in capitals there. UPLINKD_WRITE_SCREENS=1 writes the files anew: read them.
"""
import errno
import os
import re
import subprocess

import pytest

from harness import ROOT, UPLINKCTL, Script, collector_in, until
from shim import Shim

SCREENS = os.path.join(ROOT, "Tests", "Integration", "screens")
QUICK = "RetryMin=60s\nRetryMax=60s\nFlushSpread=0\n"


def screen(daemon, status=0):
    done = subprocess.run([UPLINKCTL, "status", "--check", "--socket", daemon.control], capture_output=True, text=True)
    assert done.returncode == status and not done.stderr, done
    text = done.stdout.replace(daemon.home, "HOME")
    assert max(map(len, text.splitlines())) <= 165, text
    # Some machines' clocks are synchronised.
    text = re.sub(r"  Clock    not synchronised.*\n", "", text)
    text = re.sub(r"last sync took \S+ \S+", "last sync took SPAN", text)
    text = re.sub(r"Queue    .*? of (\S+ \S+) \(\d+ %\)", r"Queue    SIZE of \1 (SHARE)", text)
    text = re.sub(r"\b\d+ (d|h|min|s)\b( \d+ (h|min|s)\b)?", "SPAN", text)
    text = re.sub(r"tried again (now|in SPAN)", "tried again WHEN", text)
    text = re.sub(r"\d+ (try|tries) without", "N tries without", text)
    text = re.sub(r"uplinkd \d\S*:", "uplinkd VERSION:", text)
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", text)
    return re.sub(r"[0-9a-f]{16}-", "SEGMENT-", text)


def check(name, daemon, status=0):
    found = screen(daemon, status)
    path = os.path.join(SCREENS, name + ".txt")
    if os.environ.get("UPLINKD_WRITE_SCREENS"):
        with open(path, "w") as file:
            file.write(found)
    with open(path) as file:
        assert found == file.read()


def asked(collector):
    return len(collector.posts())


def test_never_configured(daemons):
    daemon = daemons().start()
    daemon.post_numbers(range(2))
    check("never-configured", daemon)


def test_first_start(daemons, collector):
    daemon = daemons(url=collector.url).start()
    until(lambda: daemon.state() == "reachable", 10, "reachable")
    check("first-start", daemon)


def test_offline(daemons, network):
    daemon = daemons(url="https://198.51.100.10/x", wrap=network.wrap()).start()
    daemon.post_numbers(range(1_234))
    until(lambda: daemon.state() == "no-path", 10, "no path")
    check("offline", daemon)


def test_portal(daemons, network):
    network.route()
    portal = collector_in(network.outer, "198.51.100.10", script=Script(body=b"<html>log in</html>"))
    options = QUICK + "PlainHTTP=yes\nExpectHeader=X-Collector\n"
    daemon = daemons(url="http://198.51.100.10:8080/x", options=options, wrap=network.wrap()).start()
    daemon.post_numbers(range(3))
    until(lambda: daemon.state() == "portal" and daemon.destination()["attempts"] >= 1, 10, "a portal")
    check("portal", daemon)
    portal.stop()


@pytest.mark.parametrize("name, script", [
    ("held-401", Script(status=401, body=b"token expired")),
    ("redirected", Script(status=301, headers={"Location": "https://new.example/v2"})),
])
def test_held(daemons, collector, name, script):
    collector.script = script
    daemon = daemons(url=collector.url, options=QUICK).start()
    daemon.post_numbers(range(3))
    until(lambda: daemon.destination()["flags"] == ["held"], 10, "held")
    check(name, daemon, status=4)


def test_throttled(daemons, collector):
    collector.script = Script(status=503, headers={"Retry-After": "120"}, body=b"busy")
    daemon = daemons(url=collector.url, options=QUICK).start()
    daemon.post_numbers([1])
    until(lambda: daemon.destination()["flags"] == ["throttled"], 10, "throttled")
    check("throttled", daemon)


def test_paused(daemons, collector):
    daemon = daemons(url=collector.url).start()
    until(lambda: daemon.state() == "reachable", 10, "reachable")
    daemon.post_numbers([1])
    until(lambda: daemon.assert_ledger()["delivered"] == 1, 10, "it arrives")
    subprocess.run([UPLINKCTL, "pause", "--socket", daemon.control], check=True, stdout=subprocess.DEVNULL)
    daemon.post_numbers([2, 3])
    check("paused", daemon)


def test_full(daemons, network):
    daemon = daemons(url="https://198.51.100.10/x", sections="MaxSize=1M\nKeepFree=0%\n", wrap=network.wrap()).start()
    taken = 0
    while daemon.post([{"n": taken, "x": "x" * 50_000}], lane="urgent")[0] == 202:
        taken += 1
    until(lambda: daemon.status()["storage"]["state"] == "full", 10, "full")
    until(lambda: daemon.state() == "no-path", 10, "no path")
    check("full", daemon, status=4)


def test_disk_failing(daemons, collector, home):
    shim = Shim(home)
    daemon = daemons(url=collector.url, environment=shim.environment).start()
    daemon.post_numbers([1])
    until(lambda: daemon.assert_ledger()["delivered"] == 1, 10, "it arrives")
    shim.fail("fdatasync", ".segment", errno.EIO)
    assert daemon.post([{"n": 2}])[0] == 503
    until(lambda: daemon.status()["storage"]["state"] == "failing", 10, "failing")
    check("disk-failing", daemon, status=4)


def test_draining(daemons, collector):
    daemon = daemons(url=collector.url, options=QUICK + "BatchMaxEvents=1\n").start()
    daemon.post_numbers([1])
    until(lambda: daemon.assert_ledger()["delivered"] == 1, 10, "it arrives")
    before = asked(collector)
    collector.script = Script(delay=20)
    daemon.post_numbers(range(2, 12))
    until(lambda: asked(collector) > before, 10, "the next is on its way")
    check("draining", daemon)


def test_consent_held(daemons, collector):
    daemon = daemons(url=collector.url).start()
    subprocess.run([UPLINKCTL, "consent", "set", "ads", "hold", "--socket", daemon.control], check=True,
                   stdout=subprocess.DEVNULL)
    daemon.post_numbers([1])
    assert daemon.post([{"n": number} for number in (2, 3)], consent="ads")[0] == 202
    until(lambda: daemon.assert_ledger()["delivered"] == 1 and daemon.destination()["reason"] == "consent", 10, "held")
    check("consent-held", daemon)
