"""nginx before the collector: what it answers by itself, and TLS as it does it."""
import os

import pytest

from harness import Collector, Script, until
from peers import CHECKS, FAST, TRUST, certificate, delivered, free_port, make_identity, reconfigure, to, unreachable


def test_502_then_the_collector_comes(daemons, nginx):
    port = free_port()
    front = nginx(to(port))
    daemon = daemons(url=f"http://127.0.0.1:{front.port}/in", options=FAST, sections=CHECKS).start()
    daemon.post_numbers(range(50))
    until(lambda: (daemon.destination()["last_error"] or {}).get("status") == 502, 10, "nginx answers 502")
    assert "throttled" in daemon.destination()["flags"] and daemon.state() == "reachable"
    collector = Collector(port=port)
    try:
        delivered(daemon, collector, range(50))
    finally:
        collector.stop()


def test_503_of_limit_req_without_a_time(daemons, nginx, collector):
    """Refused requests are tried again with the same batch id, in order, and none is lost."""
    front = nginx("location / { limit_req zone=few; proxy_pass http://127.0.0.1:%d; }" % collector.port,
                  http="limit_req_zone $binary_remote_addr zone=few:1m rate=3r/s;")
    daemon = daemons(url=f"http://127.0.0.1:{front.port}/in", options=FAST + "BatchMaxEvents=5\n",
                     sections=CHECKS).start()
    daemon.post_numbers(range(60))
    delivered(daemon, collector, range(60))
    assert any(int(each[3]["uplink-attempt"]) > 1 for each in collector.posts()), "nginx refused none"


def test_413_above_a_kilobyte(daemons, nginx, collector):
    """The batches become as short as nginx takes them; an event that fits alone is never given up."""
    front = nginx("client_max_body_size 1k; " + to(collector.port))
    daemon = daemons(url=f"http://127.0.0.1:{front.port}/in", options=FAST + "Compression=none\n",
                     sections=CHECKS).start()
    daemon.post([{"n": number, "text": "x" * 300} for number in range(40)])
    delivered(daemon, collector, range(40))


def test_a_unix_socket(daemons, home, nginx, collector):
    front = nginx(f"listen unix:{home}/n.sock; {to(collector.port)}")
    path = f"{home}/n.sock".replace("/", "%2F")
    daemon = daemons(url=f"http+unix://{path}/in?a=b", options=FAST, sections=CHECKS).start()
    daemon.post_numbers(range(5))
    delivered(daemon, collector, range(5))
    assert {each[2] for each in collector.requests} == {"/in?a=b"}
    front.stop()
    daemon.post_numbers([5])
    unreachable(daemon, "refused")
    front.start()
    delivered(daemon, collector, range(6))


def test_tls_of_a_private_authority_with_http_2(daemons, nginx, collector):
    front = nginx(to(collector.port), tls="server")
    daemon = daemons(url=f"https://localhost:{front.port}/in", options=FAST + TRUST, sections=CHECKS).start()
    daemon.post_numbers(range(3))
    delivered(daemon, collector, range(3))
    # More than HTTP/2's first window, compressed and not, in both places at once.
    daemon.post([{"n": 3, "text": "x" * 200_000}], lane="urgent")
    daemon.post([{"n": number, "text": f"{number}" * 30_000} for number in range(4, 10)])
    until(lambda: daemon.assert_ledger()["delivered"] == 10, 20, lambda: f"all\n{daemon.read_log()}")
    assert sorted(collector.numbers()) == list(range(10))
    assert {each[3]["x-protocol"] for each in collector.requests} == {"HTTP/2.0"}


def test_two_requests_at_once_have_a_connection_each(daemons, nginx, collector):
    """So that to give one up takes nothing from the other."""
    front = nginx(to(collector.port), tls="server")
    daemon = daemons(url=f"https://localhost:{front.port}/in", options=FAST + TRUST, sections=CHECKS).start()
    daemon.post_numbers([0])
    delivered(daemon, collector, [0])
    collector.script = Script(delay=0.5)
    daemon.post_numbers([1])
    daemon.post([{"n": 2}], lane="urgent")
    until(lambda: len(collector.posts()) == 3, 10, "both are on their way")
    assert daemon.assert_ledger()["delivered"] == 1
    until(lambda: daemon.assert_ledger()["delivered"] == 3, 10, "both are delivered")
    assert len({each[3]["x-connection"] for each in collector.posts()[1:]}) == 2


@pytest.mark.parametrize("tls", [None, "server"], ids=["plain", "http 2"])
def test_a_server_that_ends_connections_often(daemons, nginx, collector, tls):
    """nginx says goodbye after three requests; that is no failure, and nothing is sent twice."""
    front = nginx("keepalive_requests 3; " + to(collector.port), tls=tls)
    scheme = "https" if tls else "http"
    daemon = daemons(url=f"{scheme}://localhost:{front.port}/in", options=FAST + TRUST + "BatchMaxEvents=1\n",
                     sections=CHECKS).start()
    daemon.post_numbers(range(40))
    delivered(daemon, collector, range(40))
    assert {each[3]["uplink-attempt"] for each in collector.posts()} == {"1"}
    assert daemon.destination()["last_error"] is None
    assert len({each[3]["x-connection"] for each in collector.posts()}) > 10


def test_after_silence_the_next_request_has_a_connection_of_its_own(daemons, nginx, collector):
    """The one that fell silent is still open: HTTP/2 would go on using it."""
    front = nginx(to(collector.port), tls="server")
    collector.script = Script(silent=True)
    daemon = daemons(url=f"https://localhost:{front.port}/in", options=FAST + TRUST + "Timeout=1s\nConnectTimeout=1s\n",
                     sections=CHECKS).start()
    daemon.post_numbers(range(3))
    until(lambda: len(collector.requests) >= 3, 10, "it is tried again")
    collector.script = Script()
    delivered(daemon, collector, range(3))
    used = [each[3]["x-connection"] for each in collector.requests]
    assert len(set(used)) == len(used), used


@pytest.mark.parametrize("pair, host, options, words", [
    ("server", "127.0.0.2", TRUST, "127.0.0.2"),
    ("expired", "localhost", TRUST, "expired"),
    ("server", "localhost", f"CACertificate={certificate('stranger.pem')}\n", "CN=Test Authority"),
    ("server", "localhost", "", "CN=Test Authority"),
], ids=["name", "expired", "stranger", "system"])
def test_who_cannot_be_verified_gets_nothing(daemons, nginx, collector, pair, host, options, words):
    front = nginx(to(collector.port), tls=pair)
    daemon = daemons(url=f"https://{host}:{front.port}/in", options=FAST + options, sections=CHECKS).start()
    daemon.post_numbers(range(5))
    seen = unreachable(daemon, "tls")
    assert words in seen["last_error"]["detail"], seen
    assert not collector.requests and daemon.assert_ledger()["queued"] == 5
    front.stop()
    front.tls = "server"
    front.start()
    reconfigure(daemon, FAST + TRUST, f"https://localhost:{front.port}/in")
    delivered(daemon, collector, range(5))


def test_client_certificates(daemons, home, nginx, collector):
    """Without the certificate that is configured nothing is asked, so that no answer can cost an event."""
    pem, key = make_identity(home, "till-7")
    server = f"ssl_client_certificate {pem}; ssl_verify_client on; {to(collector.port)}"
    front = nginx(server, tls="server")
    options = FAST + TRUST + f"ClientCertificate={home}/shown.pem\nClientKey={home}/shown.key\n"
    daemon = daemons(url=f"https://localhost:{front.port}/in", options=options, sections=CHECKS).start()
    daemon.post_numbers(range(5))
    unreachable(daemon, "tls")
    assert f"{home}/shown.pem" in daemon.read_log()
    _, other = make_identity(home, "other")
    for text, name in ((pem, "shown.pem"), (other, "shown.key")):
        with open(text) as source, open(f"{home}/{name}", "w") as target:
            target.write(source.read())
    reconfigure(daemon, options)
    until(lambda: "the key is not the certificate's" in daemon.read_log(), 5, "the journal names the wrong key")
    assert not collector.requests and daemon.assert_ledger()["queued"] == 5
    with open(key) as source, open(f"{home}/shown.key", "w") as target:
        target.write(source.read())
    reconfigure(daemon, options)
    delivered(daemon, collector, range(5))
    # One that was replaced by something useless: nothing older is shown instead.
    os.truncate(f"{home}/shown.key", 0)
    reconfigure(daemon, options)
    until(lambda: "no key in PEM" in daemon.read_log(), 5, "the journal names the empty file")
    daemon.post_numbers(range(5, 8))
    unreachable(daemon, "tls")
    assert daemon.assert_ledger()["queued"] == 3
    with open(key) as source, open(f"{home}/shown.key", "w") as target:
        target.write(source.read())
    reconfigure(daemon, options)
    delivered(daemon, collector, range(8))
    assert {each[3]["x-client"] for each in collector.requests} == {"CN=till-7"}
    assert "BEGIN" not in daemon.read_log()


def test_a_redirect_to_https_holds_and_names_it(daemons, nginx, collector):
    secure = nginx(to(collector.port), tls="server", name="secure")
    plain = nginx(f"return 301 https://localhost:{secure.port}$request_uri;")
    daemon = daemons(url=f"http://127.0.0.1:{plain.port}/in", options=FAST + TRUST, sections=CHECKS).start()
    daemon.post_numbers(range(5))
    until(lambda: "held" in daemon.destination()["flags"], 10, lambda: f"held: {daemon.destination()}")
    seen = daemon.destination()
    assert seen["reason"] == "redirect" and seen["last_error"]["status"] == 301
    assert seen["last_error"]["location"] == f"https://localhost:{secure.port}/in"
    assert not collector.requests and daemon.assert_ledger()["queued"] == 5
    reconfigure(daemon, FAST + TRUST, f"https://localhost:{secure.port}/in")
    delivered(daemon, collector, range(5))
