"""`uplinkctl probe`: each thing that can be wrong on the way, in namespaces, is named, with what to do of it.

A case says what is done before the probe, and what the probe says: its reason, a part of its last sentence, and how far
it came. Cases run several at a time.
"""
import concurrent.futures
import dataclasses
import json
import os
import re
import socket
import ssl
import subprocess
import threading
import time

import pytest

from harness import Script, UPLINKCTL, request, until
from name_server import NameServer
from net_box import COLLECTOR, HEADER, NetBox, OUTER, in_namespace, script
from peers import certificate, make_identity

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")

AT_ONCE = 6
DEFAULT = f"in route add default via {OUTER[4]} dev v0"
# What answers is thrown away, so that nothing comes.
DROP = "out route add blackhole 10.203.0.2/32"
NAMED = "http://collector.test:8080/collect"
SECURE = "https://collector.test:8443/collect"
TRUST = f"CACertificate={certificate('authority.pem')}\n"
KNOWN = f"{COLLECTOR[4]} collector.test\n"
PROXY = f"Proxy=http://{COLLECTOR[4]}:3128\n"
STEPS = ("dns", "routes", "tcp", "tls", "http")


def no_collector(box):
    box.collector.stop()


def name_server(answers):
    def do(box):
        box.name_server = NameServer(box.network)
        box.name_server.answers = answers
    return do


def tls(name=None, at_once=True):
    """A server at port 8443 that shows that certificate, or one of its own making, and answers 204 to whom it suits."""
    def do(box):
        paths = [certificate(name + end) for end in (".pem", ".key")] if name else make_identity(box.home, "own.test")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*paths)
        listen(box, 8443, lambda each: reply(context.wrap_socket(each, server_side=True), b"204 No Content"), at_once)
    return do


def plain_at_the_port_of_tls(box):
    listen(box, 8443, lambda each: (each.recv(9), each.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")))


def proxy(answer):
    return lambda box: listen(box, 3128, lambda connection: reply(connection, answer))


def mute(box):
    """Takes connections and never answers."""
    no_collector(box)
    listen(box, 8080, lambda connection: time.sleep(10))


def reply(connection, status):
    with connection:
        head = b""
        while b"\r\n\r\n" not in head:
            received = connection.recv(65536)
            if not received:
                return
            head += received
        connection.sendall(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n")


def listen(box, port, serve, at_once=True):
    """Serves each connection by a thread, or, unless `at_once`, one to its end before the next."""
    server = in_namespace(box.network.outer, lambda: socket.create_server((COLLECTOR[4], port)))
    box.ends.append(lambda: (server.shutdown(socket.SHUT_RDWR), server.close()))

    def each(connection):
        try:
            serve(connection)
        except OSError:
            pass

    def run():
        while True:
            try:
                connection = server.accept()[0]
            except OSError:
                return
            if at_once:
                threading.Thread(target=each, args=(connection,), daemon=True).start()
            else:
                each(connection)

    threading.Thread(target=run, daemon=True).start()


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    before: tuple
    reason: str
    says: str
    # The steps of which the report tells.
    steps: tuple
    box: dict = dataclasses.field(default_factory=dict)


def case(name, before, reason, says, steps, **box):
    return Case(name, before, reason, says, tuple(steps.split()), box)


CASES = [
    case("all is well", (DEFAULT,), "none", "All is well: main answers", "dns routes tcp http"),
    case("a name, and all is well", (DEFAULT,), "none", "All is well", "dns routes tcp http", url=NAMED, hosts=KNOWN),
    case("TLS, and all is well", (DEFAULT, tls("server")), "none", "All is well", "dns routes tcp tls http",
         url=SECURE, hosts=KNOWN, options=TRUST),
    case("no route", (), "no-route", "no way to 198.51.100.10", "dns routes"),
    case("no carrier", (DEFAULT, "out link set v1 down", lambda box: time.sleep(0.5)), "link", "The link is not up",
         "dns routes"),
    case("a blackhole", ("in route add blackhole default",), "blackhole", "forbids", "dns routes"),
    case("a name without a route", (), "no-route", "no way out", "dns routes", url=NAMED),
    case("DNS is silent", (DEFAULT, name_server(None)), "dns", f"No name server answers ({OUTER[4]})", "dns routes",
         url=NAMED),
    case("a name that nobody has", (DEFAULT, name_server("")), "dns", "Nobody knows the name collector.test",
         "dns routes", url=NAMED),
    case("refused", (DEFAULT, no_collector), "refused", "nothing listens at port 8080", "dns routes tcp"),
    case("dropped", (DEFAULT, DROP), "timeout", "Nothing answers at 198.51.100.10 port 8080", "dns routes tcp"),
    case("no gateway", (f"out addr del {OUTER[4]}/24 dev v1", DEFAULT), "no-route", "look whether the gateway",
         "dns routes tcp", options="ConnectTimeout=5s\n"),
    case("taken and not answered", (DEFAULT, mute), "timeout", "A connection is taken, but no answer",
         "dns routes tcp http"),
    case("broken off", (DEFAULT, script(close=True)), "reset", "the answer breaks off", "dns routes tcp http"),
    case("an unknown issuer", (DEFAULT, tls()), "tls", "does not trust CN=own.test", "dns routes tcp tls",
         url=SECURE, hosts=KNOWN, options=TRUST),
    case("an unknown issuer, one at a time", (DEFAULT, tls(at_once=False)), "tls", "does not trust CN=own.test",
         "dns routes tcp tls", url=SECURE, hosts=KNOWN, options=TRUST),
    case("all is well, one at a time", (DEFAULT, tls("server", at_once=False)), "none", "All is well",
         "dns routes tcp tls http", url=SECURE, hosts=KNOWN, options=TRUST),
    case("expired", (DEFAULT, tls("expired")), "tls", "has expired (20", "dns routes tcp tls",
         url=SECURE, hosts=KNOWN, options=TRUST),
    case("a wrong name", (DEFAULT, tls("server")), "tls", "not for other.test", "dns routes tcp tls",
         url="https://other.test:8443/collect", hosts=f"{COLLECTOR[4]} other.test\n", options=TRUST),
    case("no TLS", (DEFAULT, plain_at_the_port_of_tls), "tls", "does not speak TLS", "dns routes tcp tls",
         url=SECURE, hosts=KNOWN, options=TRUST),
    case("certificates that are not there", (DEFAULT, tls("server")), "tls", "mend the file", "dns routes tcp tls",
         url=SECURE, hosts=KNOWN, options="CACertificate=/nonexistent\n"),
    case("401", (DEFAULT, script(status=401)), "unauthorized", "renew the token", "dns routes tcp http"),
    case("404", (DEFAULT, script(status=404)), "not-found", "has nothing at /collect", "dns routes tcp http"),
    case("a redirect", (DEFAULT, script(status=308, headers={**HEADER, "Location": "http://there.example/"})),
         "redirect", "sends to http://there.example/", "dns routes tcp http"),
    case("a portal", (DEFAULT, script(status=302, headers={"Location": "http://portal.example/"})), "portal",
         "log in at the hotspot", "dns routes tcp http"),
    case("503", (DEFAULT, script(status=503)), "throttled", "asks for time", "dns routes tcp http"),
    case("a proxy that wants a password", (DEFAULT, proxy(b"407 Proxy Authentication Required")), "proxy",
         "The proxy wants a user and a password", "dns routes tcp http", url="https://c.test/", options=PROXY),
    case("a proxy that refuses", (DEFAULT, proxy(b"403 Forbidden")), "proxy", "does not let it through",
         "dns routes tcp http", url="https://c.test/", options=PROXY),
]


def probe(box, *options):
    return subprocess.run([UPLINKCTL, "--socket", box.daemon.control, *options, "probe"], capture_output=True,
                          text=True, timeout=60)


def play(this):
    box = NetBox(**this.box)
    try:
        for command in this.before:
            box.do(command)
        box.daemon.start()
        box.post()
        for_people = probe(box)
        # A check of the daemon's own may have changed its state meanwhile, but the way is the same.
        for_programs = probe(box, "--json")
        report = json.loads(for_programs.stdout)
        there = tuple(step for step in STEPS if report[step])
        problem = f"{this.name}: {for_people.stdout}{for_people.stderr}\n{for_programs.stdout}\n{box.daemon.read_log()}"
        assert (report["reason"], there) == (this.reason, this.steps), problem
        assert this.says in report["next"] and re.fullmatch(r"[A-Z0-9].*\.", report["next"]), problem
        assert for_people.stdout.endswith(report["next"] + "\n"), problem
        well = this.reason == "none"
        assert for_people.returncode == for_programs.returncode == (0 if well else 1), problem
        assert report["took_ms"] < 26_000, problem
        box.daemon.assert_ledger()
        return report
    finally:
        box.close()


@pytest.fixture(scope="module")
def played(request):
    wanted = {item.callspec.params["name"] for item in request.session.items if hasattr(item, "callspec")
              and "name" in item.callspec.params}
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        yield {each.name: pool.submit(play, each) for each in CASES if each.name in wanted}


@pytest.mark.parametrize("name", [each.name for each in CASES])
def test_probe(played, name):
    report = played[name].result(180)
    if report["tls"] and report["tls"]["chain"]:
        own = report["tls"]["chain"][0]
        assert own["subject"] and own["issuer"] and own["valid_from"] < own["valid_to"], own
        assert report["tls"]["protocol"] == "TLSv1.3"
        assert report["tls"]["host_matches"] == (name != "a wrong name" and "collector.test" in own["names"])
    if name == "all is well":
        assert report["dns"]["from"] == "literal"
        route = report["routes"][0]
        assert (route["interface"], route["connection_type"], route["gateway"]) == ("v0", "ethernet", OUTER[4])
        assert route["kernel"].startswith(f"unicast via {OUTER[4]} src 10.203.0.2 table 254"), route
        assert report["tcp"][0]["ms"] is not None and report["http"]["first_line"] == "HTTP/1.1 200 Scripted"
        assert 0 < report["http"]["connected_ms"] <= report["http"]["first_byte_ms"] <= report["http"]["ended_ms"]


@pytest.fixture
def box():
    made = NetBox(sections="[Reachability]\nCheckInterval=60s\n")
    yield made
    made.close()


def test_a_probe_sends_no_event_and_holds_nothing(box):
    """While paused, and held, and reachable: what is queued stays queued, and no state changes."""
    box.do(DEFAULT)
    box.daemon.start()
    until(lambda: box.daemon.state() == "reachable", 10, "reachable")
    assert request(box.daemon.control, "POST", "/v1/destinations/main/pause")[0] == 200
    box.post()
    for status, says in ((200, "it is paused"), (404, "has nothing"), (500, "asks for time"), (302, "sends to")):
        before = box.daemon.destination()
        box.collector.script = Script(status=status, headers=HEADER)
        report = json.loads(probe(box, "--json").stdout)
        assert says in report["next"], report
        after = box.daemon.destination()
        # By the wall clock, which drifts against the other by a millisecond now and then.
        assert before["since"][:19] == after["since"][:19]
        for key in ("state", "reason", "flags", "ledger", "attempts", "last_error"):
            assert before[key] == after[key], (status, key, before, after)
    assert box.collector.posts() == [] and [each[1] for each in box.collector.requests].count("GET") == 5


def test_one_at_a_time_while_the_loop_goes_on(box):
    """A second probe is refused while one waits; events are taken and the loop turns meanwhile; a stop ends it."""
    box.do(DEFAULT)
    box.do(DROP)
    box.daemon.start()
    until(lambda: box.daemon.state() == "unreachable", 10, "unreachable")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        ask = lambda: request(box.daemon.control, "POST", "/v1/destinations/main/probe", timeout=40)
        first = pool.submit(ask)
        time.sleep(0.3)
        assert ask()[0] == 409, "the second is refused"
        began = time.monotonic()
        box.post()
        assert time.monotonic() - began < 1
        assert first.result()[0] == 200
        assert request(box.daemon.control, "POST", "/v1/destinations/none/probe")[0] == 404
        last = pool.submit(ask)
        time.sleep(0.3)
        assert box.daemon.stop() == 0
        assert last.result()[0] == 503
    text = box.daemon.read_log()
    assert "stood still" not in text, text


def test_an_answer_to_a_probe_has_the_destination_checked(box):
    """The collector comes back, which no check would find for seconds: the probe finds it, and delivery goes on."""
    box.do(DEFAULT)
    box.collector.stop()
    box.daemon.start()
    until(lambda: box.daemon.destination()["reason"] == "refused", 10, "refused")
    # The early checks come 1, 2, 4, 8 and 16 s after the start, each step 15 % sooner or later.
    time.sleep(9.5)
    box.post()
    box.open_collector()
    report = json.loads(probe(box, "--json").stdout)
    assert report["reason"] == "none", report
    until(lambda: box.collector.numbers() == [0, 1], 2, "what was queued arrives")


def test_a_collector_at_a_unix_socket(box):
    path = os.path.join(box.home, "collector.sock")
    box.daemon.destinations = {"main": "http+unix://" + path.replace("/", "%2F") + "/collect"}
    box.daemon.write_configuration("RetryMin=200ms\n")
    box.daemon.start()
    report = json.loads(probe(box, "--json").stdout)
    assert report["reason"] == "refused" and path in report["next"] and report["dns"] is None, report
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()

    def serve():
        while True:
            try:
                reply(server.accept()[0], b"204 No Content")
            except OSError:
                return

    threading.Thread(target=serve, daemon=True).start()
    report = json.loads(probe(box, "--json").stdout)
    assert report["reason"] == "none" and report["http"]["status"] == 204, report
    server.shutdown(socket.SHUT_RDWR)
    server.close()


def test_secrets_are_not_shown(box):
    """A token in the query, in a field and in an answer that gives them back."""
    secret = "s3cr3t-of-the-owner"
    box.do(DEFAULT)
    box.daemon.destinations = {"main": f"http://{COLLECTOR[4]}:8080/collect?key={secret}"}
    box.daemon.write_configuration(f"PlainHTTP=yes\nExpectHeader=X-Collector: uplink\nHeader=X-Api-Key: {secret}\n")
    box.collector.script = Script(status=302, headers={**HEADER, "Location": f"http://x/?key={secret}"},
                                  body=secret.encode())
    box.daemon.start()
    for shown in (probe(box), probe(box, "--json")):
        assert secret not in shown.stdout and "sends to" in shown.stdout, shown.stdout
