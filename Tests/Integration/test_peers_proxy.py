"""A forward proxy on the way, with and without a password; what is secret stays so."""
import os
import re
import subprocess

import pytest

from harness import UPLINKCTL, Collector, Script, request, until
from peers import CHECKS, FAST, TRUST, delivered, reconfigure, to, unreachable


def through(proxy, who=""):
    return FAST + TRUST + f"Proxy=http://{who}127.0.0.1:{proxy.port}\n"


def held(daemon, reason):
    until(lambda: "held" in daemon.destination()["flags"] and daemon.destination()["reason"] == reason, 10,
          lambda: f"held: {daemon.destination()}")


def test_a_tunnel_to_a_name_that_only_the_proxy_knows(daemons, nginx, proxy, collector):
    front, way = nginx(to(collector.port), tls="server"), proxy()
    daemon = daemons(url=f"https://collector.test:{front.port}/in", options=through(way), sections=CHECKS).start()
    for start in range(0, 20, 10):
        daemon.post_numbers(range(start, start + 10))
        delivered(daemon, collector, range(start + 10))
    assert way.tunnels() == 1 and daemon.state() == "reachable"
    assert {each[3]["x-protocol"] for each in collector.requests} == {"HTTP/2.0"}


def test_the_proxys_outage_is_one(daemons, nginx, proxy, collector):
    front, way = nginx(to(collector.port), tls="server"), proxy()
    way.stop()
    daemon = daemons(url=f"https://collector.test:{front.port}/in", options=through(way), sections=CHECKS).start()
    daemon.post_numbers(range(5))
    unreachable(daemon, "refused")
    way.start()
    delivered(daemon, collector, range(5))


def test_what_the_proxy_cannot_reach(daemons, nginx, proxy, collector):
    front, way = nginx(to(collector.port), tls="server"), proxy()
    front.stop()
    daemon = daemons(url=f"https://collector.test:{front.port}/in", options=through(way), sections=CHECKS).start()
    daemon.post_numbers(range(5))
    seen = unreachable(daemon, "proxy")
    assert re.fullmatch("proxy 50[0-9]", seen["last_error"]["detail"]), seen
    front.start()
    delivered(daemon, collector, range(5))


@pytest.mark.parametrize("who, status, detail", [("", 407, "wants a user and a password"), ("till:wrong@", None, "proxy 401")])
def test_a_proxy_that_wants_to_know_us(daemons, nginx, proxy, collector, who, status, detail):
    """tinyproxy answers a wrong password with 401, which is a matter of the way as every other refusal but 407."""
    front, way = nginx(to(collector.port), tls="server"), proxy("till", "pr0xy-s3cret")
    daemon = daemons(url=f"https://collector.test:{front.port}/in", options=through(way, who), sections=CHECKS)
    daemon.start()
    until(lambda: daemon.destination()["reason"] == "proxy", 10, lambda: f"proxy: {daemon.destination()}")
    daemon.post_numbers(range(5))
    error = daemon.destination()["last_error"]
    assert error["status"] == status and detail in error["detail"], error
    assert not collector.requests and daemon.assert_ledger()["queued"] == 5
    reconfigure(daemon, through(way, "till:pr0xy-s3cret@"))
    delivered(daemon, collector, range(5))
    assert "pr0xy-s3cret" not in daemon.read_log()


def test_plain_http_by_a_proxy_needs_the_collectors_own_header(daemons, proxy):
    way = proxy("till", "pr0xy-s3cret")
    collector = Collector()
    options = through(way, "till:pr0xy-s3cret@") + "PlainHTTP=yes\nExpectHeader=X-Collector\n"
    daemon = daemons(url=f"http://collector.test:{collector.port}/in", options=options, sections=CHECKS).start()
    try:
        daemon.post_numbers(range(5))
        until(lambda: daemon.state() == "portal", 10, lambda: f"a portal: {daemon.destination()}")
        assert daemon.assert_ledger()["queued"] == 5
        collector.taken.clear()
        collector.script = Script(headers={"X-Collector": "yes"})
        delivered(daemon, collector, range(5))
    finally:
        collector.stop()


def told(daemon):
    """All that the daemon tells anybody: log, status, metrics, the tool's screen, its arguments."""
    environment = {**os.environ, "UPLINKCTL_SOCKET": daemon.control}
    texts = [daemon.read_log().encode()]
    for words in (["status"], ["status", "--json"], ["reload"]):
        texts.append(subprocess.run([UPLINKCTL, *words], env=environment, capture_output=True, timeout=20).stdout)
    for target in ("/v1/status", "/metrics", "/readyz"):
        texts.append(request(daemon.control, "GET", target)[2])
    for name in ("cmdline", "environ"):
        with open(f"/proc/{daemon.pid()}/{name}", "rb") as file:
            texts.append(file.read())
    return texts


def kept(daemon):
    """What lies in the queue's directory."""
    for folder, _, files in os.walk(daemon.queue):
        for name in files:
            with open(os.path.join(folder, name), "rb") as file:
                yield file.read()


@pytest.mark.parametrize("status", [400, 401, 403, 404, 500])
def test_secrets_are_told_to_nobody_but_the_collector(daemons, home, nginx, proxy, collector, status):
    front, way = nginx(to(collector.port), tls="server"), proxy("till", "s3cret-proxy")
    with open(f"{home}/token", "w") as file:
        file.write("s3cret-token\n")
    options = through(way, "till:s3cret-proxy@") + (
        f"TokenFile={home}/token\nHeader=Cookie: s3cret-cookie\nHeader=X-Api-Key: s3cret-key\n")
    collector.script = Script(status=status, body=b"no")
    daemon = daemons(url=f"https://collector.test:{front.port}/in", options=options, sections=CHECKS).start()
    daemon.post_numbers(range(3))
    until(lambda: (daemon.destination()["last_error"] or {}).get("status") == status, 10,
          lambda: f"{status} is told: {daemon.destination()}\n{daemon.read_log()}")
    fields = collector.posts()[0][3]
    assert (fields["authorization"], fields["cookie"], fields["x-api-key"]) == (
        "Bearer s3cret-token", "s3cret-cookie", "s3cret-key")
    assert "proxy-authorization" not in fields
    assert not [text for text in told(daemon) + list(kept(daemon)) if b"s3cret" in text]


def test_an_answers_controls_reach_no_terminal(daemons, collector):
    evil = "a\x1b]0;evil\x07\x9b31m\r\nb\u202ec\u009b2J"
    collector.script = Script(status=404, body=evil.encode(), headers={"Location": "http://x/\x1b[2J"})
    daemon = daemons(url=collector.url, options=FAST, sections=CHECKS).start()
    daemon.post_numbers(range(3))
    held(daemon, "not-found")
    assert "evil" in daemon.destination()["last_error"]["detail"]
    for text in told(daemon)[:3]:
        shown = text.decode()
        assert not re.search("[\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f\\u202e]", shown), repr(shown)
        assert "evil" in shown, shown
