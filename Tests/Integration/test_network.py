"""The main job in two namespaces joined by veth: what comes when the network goes and comes (run as root)."""
import json
import os
import socket
import subprocess
import time

import pytest

from harness import UPLINKCTL, collector_in, request, Script, until

COLLECTOR = "198.51.100.10"
OPTIONS = "PlainHTTP=yes\nExpectHeader=X-Collector: uplink\nRetryMin=1s"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")


@pytest.fixture
def box(network, daemons):
    """A daemon in the inner namespace with a collector in the outer one; no default route yet."""

    class Box:
        pass

    box = Box()
    box.network = network
    box.collector = collector_in(network.outer, COLLECTOR, script=Script(headers={"X-Collector": "uplink"}))
    box.daemon = daemons(
        url=f"http://{COLLECTOR}:8080/collect", options=OPTIONS, wrap=network.wrap(),
        sections="[Reachability]\nCheckInterval=30s",
    )
    yield box
    box.collector.stop()


def assert_queued(events, reason="connectivity"):
    for event in events:
        assert event["was_queued"] == "true", event
        assert event["queue_reason"] == reason, event


def test_queued_while_the_route_is_gone(box):
    daemon, collector, network = box.daemon, box.collector, box.network
    daemon.start()
    until(lambda: daemon.state() == "no-path", 5, "the loss of the path is announced")
    sent = network.packets()
    for start in range(0, 1000, 50):
        daemon.post_numbers(range(start, start + 50))
    ledger = daemon.assert_ledger()
    assert (ledger["accepted"], ledger["queued"]) == (1000, 1000)
    assert collector.requests == []
    time.sleep(2)
    assert network.packets() == sent, "a packet left while there was no path"
    network.route()
    returned = time.monotonic()
    until(lambda: len(collector.taken) >= 1000, 15, f"all events arrive\n{daemon.read_log()}")
    first = collector.requests[0][0]
    assert first - returned < 1.0, f"the first request came {first - returned:.3f} s after the route"
    assert collector.numbers() == list(range(1000)), "once each and in order"
    assert_queued(collector.taken)
    assert all(event["network_connection_type"] == "none" for event in collector.taken)
    until(lambda: daemon.assert_ledger()["delivered"] == 1000, 5, "the ledger knows")

    assert daemon.state() == "reachable"
    daemon.post_numbers(range(1000, 1010))
    until(lambda: len(collector.taken) >= 1010, 5, "events posted online arrive")
    for event in collector.taken[1000:]:
        assert "was_queued" not in event and "queue_reason" not in event, event
        assert event["network_connection_type"] == "ethernet"
    assert len({event["event_id"] for event in collector.taken}) == 1010


def test_queued_while_the_carrier_is_gone(box):
    daemon, collector, network = box.daemon, box.collector, box.network
    network.route()
    daemon.start()
    until(lambda: daemon.state() == "reachable", 10, f"reachable\n{daemon.read_log()}")
    network.peer_link(False)
    until(lambda: daemon.state() == "no-path", 6, "the loss of the carrier is announced")
    daemon.post_numbers(range(300))
    assert collector.posts() == []
    network.peer_link(True)
    until(lambda: len(collector.taken) >= 300, 20, f"all events arrive\n{daemon.read_log()}")
    assert collector.numbers() == list(range(300))
    assert_queued(collector.taken)


def test_a_collector_that_is_down_is_found_by_the_check(box):
    daemon, collector, network = box.daemon, box.collector, box.network
    network.route()
    collector.stop()
    daemon.write_configuration(OPTIONS, "[Reachability]\nCheckInterval=2s")
    daemon.start()
    until(lambda: daemon.state() == "unreachable", 10, "the destination is unreachable")
    daemon.post_numbers(range(100))
    time.sleep(1)
    box.collector = collector_in(network.outer, COLLECTOR, script=Script(headers={"X-Collector": "uplink"}))
    until(lambda: len(box.collector.taken) >= 100, 8, f"the check finds it\n{daemon.read_log()}")
    assert box.collector.numbers() == list(range(100))
    assert_queued(box.collector.taken)


def test_an_event_cancels_no_check(box):
    """The route returns while the collector is down: an event posted before the next check changes nothing of it."""
    daemon, network = box.daemon, box.network
    box.collector.stop()
    daemon.write_configuration(OPTIONS, "[Reachability]\nCheckInterval=8s")
    daemon.start()
    until(lambda: daemon.state() == "no-path", 5, "no path")
    network.route()
    until(lambda: daemon.state() == "unreachable", 5, "nobody answers")
    time.sleep(5)
    daemon.post_numbers([1])
    before = time.monotonic()
    box.collector = collector_in(network.outer, COLLECTOR, script=Script(headers={"X-Collector": "uplink"}))
    until(lambda: len(box.collector.taken) == 1, 12, f"the next check finds the collector\n{daemon.read_log()}")
    assert time.monotonic() - before < 8 * 1.15 + 1.5


def test_no_check_while_reachable(box):
    daemon, collector, network = box.daemon, box.collector, box.network
    network.route()
    daemon.write_configuration(OPTIONS, "[Reachability]\nCheckInterval=1s")
    daemon.start()
    until(lambda: daemon.state() == "reachable", 10, "reachable")
    time.sleep(1)
    requests = len(collector.requests)
    time.sleep(6)
    assert len(collector.requests) == requests, "a check was sent while reachable"


def test_a_network_of_a_type_that_is_not_allowed(box):
    """Only `urgent` may leave by cellular; the rest goes once the link is said to be Wi-Fi, by a reload."""
    daemon, collector = box.daemon, box.collector
    box.network.route()
    options = OPTIONS + "\nFlushSpread=0\nNetworkTypes=wifi urgent:wifi,cellular"
    daemon.write_configuration(options, "[Reachability]\nInterfaceType=v0:cellular")
    daemon.start()
    until(lambda: daemon.state() == "reachable", 10, "a check is made by any network")
    daemon.post_numbers(range(20))
    daemon.post([{"n": number} for number in range(20, 25)], lane="urgent")
    until(lambda: len(collector.taken) == 5, 5, "what is urgent arrives")
    time.sleep(1)
    assert collector.numbers() == list(range(20, 25))
    assert not any("was_queued" in event for event in collector.taken)
    daemon.write_configuration(options, "[Reachability]\nInterfaceType=v0:wifi")
    assert request(daemon.control, "POST", "/v1/reload")[0] == 200
    until(lambda: len(collector.taken) == 25, 5, f"the rest arrives\n{daemon.read_log()}")
    assert collector.numbers()[5:] == list(range(20))
    assert_queued(collector.taken[5:], "policy")
    assert all(event["network_connection_type"] == "cellular" for event in collector.taken)


def test_no_network_type_is_allowed(box):
    daemon = box.daemon
    box.network.route()
    daemon.write_configuration(OPTIONS + "\nNetworkTypes=wifi", "[Reachability]\nInterfaceType=v*:vpn")
    daemon.start()
    until(lambda: daemon.state() == "reachable", 10, "reachable")
    assert daemon.destination()["reason"] == "policy"
    daemon.post_numbers(range(5))
    text = "all waits for wifi; the network is vpn"
    shown = [subprocess.run([UPLINKCTL, "--socket", daemon.control, word], capture_output=True, text=True).stdout
             for word in ("status", "flush")]
    assert f"NetworkTypes= does not let all of it leave by this network (policy): {text}\n" in shown[0], shown
    assert shown[1] == f"main is sent only what NetworkTypes= lets leave: {text}\n"
    box.network.route(False)
    until(lambda: daemon.state() == "no-path", 5, "no path")
    assert daemon.destination()["reason"] == "no-route"
    assert box.collector.posts() == []


def test_what_is_counted(box):
    daemon = box.daemon
    daemon.start()
    until(lambda: daemon.state() == "no-path", 5, "no path")
    box.network.route()
    until(lambda: daemon.state() == "reachable", 5, "reachable")
    box.network.peer_link(False)
    until(lambda: daemon.state() == "no-path", 6, "no path")
    lines = request(daemon.control, "GET", "/metrics")[2].decode().splitlines()
    values = {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines if not line.startswith("#")}
    assert values['uplink_netlink_messages_total{group="ipv4-route"}'] >= 1
    assert values['uplink_netlink_messages_total{group="link"}'] >= 1
    assert values["uplink_netlink_overruns_total"] == 0 and values["uplink_path_evaluations_total"] >= 3
    assert values['uplink_checks_total{destination="main",result="answered"}'] == 1
    spans = {state: values[f'uplink_destination_state_seconds_total{{destination="main",state="{state}"}}']
             for state in ("no-path", "reachable", "portal")}
    assert spans["reachable"] > 1 and spans["no-path"] > 0 and spans["portal"] == 0, spans


def test_each_change_with_its_cause(box):
    """What `uplinkctl monitor` prints while the path comes and goes."""
    daemon = box.daemon
    daemon.start()
    until(lambda: daemon.state() == "no-path", 5, "no path")
    with subprocess.Popen([UPLINKCTL, "--socket", daemon.control, "--json", "monitor"], stdout=subprocess.PIPE) as tool:
        until(lambda: any("socket" in os.readlink(f"/proc/{tool.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{tool.pid}/fd")),
              5, "it is connected")
        time.sleep(0.3)
        box.network.route()
        until(lambda: daemon.state() == "reachable", 5, "reachable")
        box.network.route(False)
        until(lambda: daemon.state() == "no-path", 5, "no path")
        box.collector.script = Script(status=401, headers={"X-Collector": "uplink"})
        daemon.post_numbers([1])
        box.network.route()
        until(lambda: "held" in daemon.destination()["flags"], 5, "held")
        assert request(daemon.control, "POST", "/v1/reload")[0] == 200
        daemon.destinations = {"new": "http://127.0.0.1:1/", **daemon.destinations}
        daemon.write_configuration(OPTIONS)
        assert request(daemon.control, "POST", "/v1/reload")[0] == 200
        until(lambda: daemon.state("new") == "unreachable", 10, "the new one is asked")
        assert daemon.stop() == 0
        assert tool.wait(5) == 0
        lines = [json.loads(line) for line in tool.stdout]
    states = [(each["from"], each["to"], each["cause"]) for each in lines if each["kind"] == "state"]
    assert states[:4] == [
        ("no-path", "verifying", "kernel ipv4-route"), ("verifying", "reachable", "check"),
        ("reachable", "no-path", "kernel ipv4-route"), ("no-path", "verifying", "kernel ipv4-route")], lines
    networks = [each["to"] for each in lines if each["kind"] == "network"]
    assert networks == ["ethernet", "none", "ethernet", "loopback"], "the new destination is the first"
    assert [each["to"] for each in lines if each["kind"] == "gate"][:2] == ["open", "connectivity"], lines
    assert ("held", "unauthorized") in [(each["to"], each["reason"]) for each in lines if each["kind"] == "delivery"]
    reloads = [at for at, each in enumerate(lines) if each["kind"] == "configuration"]
    assert lines[reloads[0]]["detail"] == "nothing changed" and len(reloads) == 2
    told = {(each["destination"], each["kind"], each["cause"]) for each in lines[reloads[0]:] if each["kind"] == "state"}
    assert {name for name, _, _ in told} == {"new"} and ("new", "state", "reload") in told, lines
    assert (lines[-1]["kind"], lines[-1]["to"]) == ("daemon", "stopping")


def test_so_many_watch_and_no_more(box):
    """Those who watch, and do not read, leave the control socket to others."""
    daemon = box.daemon
    daemon.start()
    watching = []

    def watch():
        watching.append(socket.socket(socket.AF_UNIX))
        watching[-1].settimeout(5)
        watching[-1].connect(daemon.control)
        watching[-1].sendall(b"GET /v1/watch HTTP/1.1\r\nHost: x\r\n\r\n")
        return int(watching[-1].recv(4096).split()[1])

    assert [watch() for _ in range(9)] == [200] * 8 + [503]
    watching[0].close()
    until(lambda: watch() == 200, 5, "one that has gone makes room")
    watching[1].shutdown(socket.SHUT_RD)
    assert [watch(), watch()] == [200, 503], "one that reads no more makes room, though nothing was written since"
    watching.pop(1)
    box.network.route()
    until(lambda: daemon.state() == "reachable", 5, "reachable")
    for each in watching[1:7]:
        assert b'"to":"reachable"' in each.recv(65536)
        each.close()
