"""Every way in which a path comes and goes that was measured of the kernel, a row each, with the real daemon.

A row says what is done, and what status shows of it: state, reason, connection type, and within what. After each step
two events are posted; where the destination is reachable they arrive, and after the last step all have arrived, once
each and in order. Rows run several at a time.

What this kernel has no links for is named in ABSENT. A kind that comes or goes fails a test, so that no row drops out
unseen.
"""
import concurrent.futures
import dataclasses
import os
import signal
import socket
import ssl
import subprocess
import threading
import time

import pytest

from harness import until
from net_box import (COLLECTOR, INNER, NetBox, OUTER, SHORT, Tunnel, collector_stops, in_namespace, script,
                     send_advertisement, without_netlink)
from name_server import NameServer, use_name_server
from peers import make_identity

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")

AT_ONCE = 10
# What the kernel announces is seen to within this; the machine may be busy with other rows.
SOON = 6
ABSENT = {"bond", "dummy", "ipvlan", "macsec", "vlan", "vrf", "wireguard"}


@dataclasses.dataclass(frozen=True)
class See:
    """What status shows within so many seconds of a step, and for `steady` seconds from then on."""

    state: str
    reason: str = None
    type: str = None
    within: float = SOON
    steady: float = 0


@dataclasses.dataclass(frozen=True)
class Row:
    """`before` is done before the daemon starts; then for each step its commands, and what is to be seen."""

    name: str
    steps: tuple
    before: tuple = ()
    family: int = 4
    options: dict = dataclasses.field(default_factory=dict)
    # A kind of link that it is about.
    kind: str = None
    # For a row that ends while nothing can be delivered.
    ends: str = "delivered"


def reachable(kind="ethernet", **words):
    return See("reachable", "none", kind, **words)


def no_path(reason="no-route", **words):
    return See("no-path", reason, "none", **words)


def unreachable(reason, kind="ethernet", **words):
    return See("unreachable", reason, kind, **words)


def default(family=4, *words):
    return " ".join(["in", "-6" if family == 6 else "-4", "route add default via", OUTER[family], "dev v0", *words])


def no_default(family=4):
    return f"in {'-6' if family == 6 else '-4'} route del default"


def wait(seconds):
    return lambda box: time.sleep(seconds)


def typed(pattern):
    """v0 is said to be another than Ethernet, so that what takes its type from v0 shows it."""
    return {"sections": f"[Reachability]\nCheckInterval=60s\nInterfaceType={pattern}\n"}


def beat(seconds):
    return {"sections": f"[Reachability]\nCheckInterval={seconds}s\n"}


# What a step does beyond `ip`.
def freeze(box):
    os.kill(box.daemon.pid(), signal.SIGSTOP)


def thaw(box):
    os.kill(box.daemon.pid(), signal.SIGCONT)


def route_storm(box, count=15000):
    lines = [f"route add 100.{64 + each // 256}.{each % 256}.0/24 via {OUTER[4]} dev v0\n" for each in range(count)]
    subprocess.run(["ip", "-n", box.network.inner, "-batch", "-"], input="".join(lines), text=True, check=True)
    box.do("in route flush root 100.64.0.0/10")


def container_churn(box, rounds=60):
    """What a container's start and end does to its host's links."""
    for each in range(rounds):
        box.do(f"in link add c{each} type veth peer name d{each}")
        box.do(f"in link set c{each} up")
        box.do(f"in addr add 172.30.{each}.1/24 dev c{each}")
        box.do(f"in link del c{each}")


def starts_under_churn(box, times=20):
    """The daemon is started again and again while links come and go all the time, so that listings are interrupted."""
    lines = [f"link {word}\n" for each in range(40) for word in (f"add x{each} type ifb", f"del x{each}")]
    enough = threading.Event()

    def churn():
        while not enough.is_set():
            subprocess.run(["ip", "-n", box.network.inner, "-batch", "-"], input="".join(lines), text=True, check=True)

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _ in range(times):
            assert box.daemon.stop() == 0
            box.daemon.start()
            until(lambda: box.seen() == ("reachable", "none", "wifi"), SOON, lambda: f"{box.seen()}")
            box.post()
    finally:
        enough.set()
        thread.join()


def tunnel_up(box):
    box.tunnel = Tunnel(box.network)
    box.ends.append(lambda: box.tunnel and box.tunnel.close())
    for line in ("in link set tun0 up", "in addr add 10.77.0.2/24 dev tun0", "out link set tun1 up",
                 "out addr add 10.77.0.1/24 dev tun1"):
        box.do(line)


def tunnel_down(box):
    box.tunnel.close()
    box.tunnel = None


def collector_starts(box):
    box.open_collector()


def advertise(lifetime, prefix=None):
    return lambda box: send_advertisement(box.network, lifetime, prefix)


def second_link(box):
    """Another pair beside the first: v2 of the daemon, v3 of the collector."""
    box.do(f"in link add v2 type veth peer name v3 netns {box.network.outer}")
    for line in ("in link set v2 up", "in addr add 10.204.0.2/24 dev v2", "out link set v3 up",
                 "out addr add 10.204.0.1/24 dev v3"):
        box.do(line)


def move_away(box):
    """The link goes to another namespace, and comes back as it was; perhaps under another number."""
    box.do(f"in link set v0 netns {box.network.outer}")
    box.do(f"out link set v0 netns {box.network.inner}")


def back_in_use(box):
    box.do("in link set v0 up")
    box.do(f"in addr add {INNER[4]} dev v0")
    box.do(default())


def replace_link(box):
    """The pair is made anew, as by a modem that resets."""
    box.do(f"in link add v0 type veth peer name v1 netns {box.network.outer}")
    box.do("out link set v1 up")
    box.do(f"out addr add {OUTER[4]}/24 dev v1")
    back_in_use(box)


def impostor(box):
    """A TLS server in the collector's place that shows a certificate nobody signed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*make_identity(box.home, "portal.example"))
    server = in_namespace(box.network.outer, lambda: socket.create_server((COLLECTOR[4], 8443)))

    def serve():
        while True:
            try:
                context.wrap_socket(server.accept()[0], server_side=True).close()
            except ssl.SSLError:
                continue
            except OSError:
                return

    threading.Thread(target=serve, daemon=True).start()
    box.ends.append(lambda: (server.shutdown(socket.SHUT_RDWR), server.close()))


def has_overrun(box):
    """More was announced than the buffer holds."""
    assert box.metric("uplink_netlink_overruns_total") > 0


def few_evaluations(box):
    """The start takes about five; a storm of half a second is gathered into one or two."""
    assert box.metric("uplink_path_evaluations_total") < 20


def little_work(box):
    """All that was done since the start, a storm of 30,000 announcements among it, took less than 2 s of a core."""
    with open(f"/proc/{box.daemon.pid()}/stat") as file:
        user, system = file.read().rsplit(")", 1)[1].split()[11:13]
    assert (int(user) + int(system)) / os.sysconf("SC_CLK_TCK") < 2


def is_kept(box):
    """The connection in use is still the first."""
    assert box.collector.connections == 1


def is_another(box):
    assert box.collector.connections > 1, "on a connection that may be dead"


def no_change(box):
    """It became reachable by the first check, and has stayed so without another."""
    assert box.checks() == {"answered": 1, "failed": 0, "portal": 0, "abandoned": 0}, box.daemon.read_log()


def packets_are_counted(box):
    box.sent = box.network.packets()


def no_packets(box):
    assert box.network.packets() == box.sent, "a packet left while there was no path"


RENEW = "in addr replace 10.203.0.2/24 dev v0 valid_lft 600 preferred_lft 500"
RULES = ("in rule add not fwmark 51820 table 51820", "in rule add table main suppress_prefixlength 0")

NEAR = ("out addr add fe80::1/64 dev v1 nodad", "in addr add fe80::2/64 dev v0 nodad")
BRIDGE = ("in addr flush dev v0", "in link add br0 type bridge", "in link set v0 master br0", "in link set br0 up",
          f"in addr add {INNER[4]} dev br0", f"in route add default via {OUTER[4]} dev br0")

LINKS = [
    Row("1-2 no carrier at the start, then it comes", before=(default(), "out link set v1 down", wait(0.5)), steps=(
        ((), no_path("link")), (("out link set v1 up",), reachable()))),
    Row("3 carrier lost", before=(default(),), steps=(
        ((), reachable()), (("out link set v1 down",), no_path("link")), (("out link set v1 up",), reachable()))),
    Row("3 carrier lost, IPv6", family=6, before=(default(6),), steps=(
        ((), reachable()), (("out link set v1 down",), no_path("link")), (("out link set v1 up",), reachable()))),
    Row("4-5 admin down takes the default away without a word", before=(default(),), steps=(
        ((), reachable()), (("in link set v0 down",), no_path()), (("in link set v0 up",), no_path(steady=1.5)),
        ((default(),), reachable()))),
    Row("15 renamed while up", before=(default(),), steps=(
        ((), reachable()), (("in link set v0 name w0",), reachable(steady=2)), ((no_change,), reachable()))),
    Row("16 moved to another namespace and back", before=(default(),), steps=(
        ((), reachable()), ((move_away,), no_path()), ((back_in_use,), reachable()))),
    Row("17 the pair is deleted and made anew", before=(default(),), steps=(
        ((), reachable()), (("in link del v0",), no_path()), ((replace_link,), reachable()))),
    Row("19 dormant, as while 802.1X is pending", before=(
        "in link set v0 mode dormant", "in link set v0 down", "in link set v0 up", default()), steps=(
        ((), no_path("link", steady=1)), (("in link set v0 state up",), reachable()))),
    Row("18 a bridge whose port leaves and joins", options=typed("v0:wifi"), before=BRIDGE, steps=(
        ((), reachable("wifi")), (("in link set v0 nomaster",), no_path("link")),
        (("in link set v0 master br0",), reachable("wifi")))),
    # Only a listing of several datagrams can be interrupted.
    Row("6 started under a churn of links", options=typed("v0:wifi"), before=(
        *BRIDGE, *[f"in link add f{n} type ifb" for n in range(60)]), steps=(
        ((), reachable("wifi")), ((starts_under_churn,), reachable("wifi")))),
    Row("18 another link leaves a bridge", before=(
        default(), "in link add br9 type bridge", "in link add c0 type veth peer name d0", "in link set c0 master br9",
        "in link set br9 up", "in link set c0 up"), steps=(
        ((), reachable()), (("in link set c0 nomaster", "in link del br9"), reachable(steady=2)),
        ((no_change, is_kept), reachable()))),
    Row("carrier flaps faster than is announced", before=(default(),), steps=(
        ((), reachable()),
        (("out link set v1 down", "out link set v1 up") * 5, reachable()), ((wait(1.5),), reachable()),
        ((is_another,), reachable()))),
    Row("16 container links come and go", before=(default(),), steps=(
        ((), reachable()), ((container_churn,), reachable(steady=1)), ((no_change, is_kept), reachable()))),
    Row("200 links at the start", before=(default(), *[f"in link add e{n} type ifb" for n in range(100)]), steps=(
        ((), reachable()), ((no_change,), reachable()))),
]

ADDRESSES = [
    Row("6 the last IPv4 address goes, and the default without a word", before=(default(),), steps=(
        ((), reachable()), ((f"in addr del {INNER[4]} dev v0",), no_path()),
        ((f"in addr add {INNER[4]} dev v0",), no_path(steady=1)), ((default(),), reachable()))),
    Row("7 an IPv6 address that is tentative", family=6, before=(
        f"in addr del {INNER[6]} dev v0", "in! sysctl -qw net.ipv6.conf.v0.accept_dad=1",
        *NEAR, "in -6 route add default via fe80::1 dev v0"), steps=(
        ((), no_path("address")), ((f"in addr add {INNER[6]} dev v0",), reachable()))),
    Row("7 an IPv6 address that another has", family=6, ends="queued", before=(
        f"in addr del {INNER[6]} dev v0", "in! sysctl -qw net.ipv6.conf.v0.accept_dad=1",
        *NEAR, "in -6 route add default via fe80::1 dev v0"), steps=(
        ((), no_path("address")), ((f"in addr add {OUTER[6]}/64 dev v0", wait(2)), no_path("address", steady=2)))),
    Row("8 an address whose lifetime ends", before=(default(),), steps=(
        ((), reachable()), (("in addr change 10.203.0.2/24 dev v0 valid_lft 3 preferred_lft 1",), no_path(within=10))),
        ends="queued"),
    Row("27 a lease that is renewed", before=(default(),), steps=(
        ((), reachable()), ((RENEW, wait(0.3), RENEW, wait(0.3), RENEW), reachable(steady=2)),
        ((no_change, is_kept), reachable()))),
    Row("a lease that is renewed by delete and add", before=(default(),), steps=(
        ((), reachable()),
        ((f"in addr del {INNER[4]} dev v0", f"in addr add {INNER[4]} dev v0", default()) * 10, reachable(steady=2)),
        ((no_change,), reachable()))),
    Row("24 the address goes under a request in flight", before=(default(),), steps=(
        ((), reachable()), ((script(delay=20), lambda box: box.post(1), wait(0.5), script(),
                             f"in addr del {INNER[4]} dev v0"), no_path()),
        (("in addr add 10.203.0.9/24 dev v0", default()), reachable()))),
    Row("21 a default advertised for 4 s", family=6, ends="queued", before=(
        *NEAR, "in! sysctl -qw net.ipv6.conf.v0.accept_ra=2", "out -6 route add 2001:db8:7::/64 dev v1"), steps=(
        ((), no_path()), ((advertise(4, "2001:db8:7::"),), reachable()), ((), no_path(within=12)))),
    Row("21 a default that is refreshed after its end", family=6, options=beat(3), before=(
        *NEAR, "in! sysctl -qw net.ipv6.conf.v0.accept_ra=2"), steps=(
        ((advertise(4),), reachable()), ((), no_path(within=12)), ((advertise(600),), reachable(within=10)))),
    Row("21 a default that is taken back", family=6, before=(
        *NEAR, "in! sysctl -qw net.ipv6.conf.v0.accept_ra=2"), steps=(
        ((advertise(600),), reachable()), ((advertise(0),), no_path()), ((advertise(600),), reachable()))),
]


def refusing(kind, reason, family):
    """A route of another kind before the good one."""
    minus = "-6" if family == 6 else "-4"
    return Row(f"11 a default that is {kind}, IPv{family}", family=family, before=(default(family, "metric 100"),),
               steps=(
        ((), reachable()), ((f"in {minus} route add {kind} default metric 50",), no_path(reason)),
        ((f"in {minus} route del {kind} default metric 50",), reachable())))


def nexthop(family):
    minus = "-6" if family == 6 else "-4"
    return Row(f"12-13 a nexthop object, IPv{family}", family=family, before=(
        f"in nexthop add id 7 via {OUTER[family]} dev v0", f"in {minus} route add default nhid 7"), steps=(
        ((), reachable()), ((f"in nexthop replace id 7 via {OUTER[family]} dev v0",), reachable(steady=1.5)),
        (("in nexthop del id 7",), no_path()),
        ((f"in nexthop add id 7 via {OUTER[family]} dev v0", f"in {minus} route add default nhid 7"), reachable())))


ROUTES = [
    Row("9 a default added, replaced, deleted", before=("out addr add 10.203.0.3/24 dev v1",), steps=(
        ((), no_path()), ((default(),), reachable()),
        (("in route replace default via 10.203.0.3 dev v0", wait(1)), reachable()),
        ((is_another, no_default()), no_path()), ((default(),), reachable()))),
    Row("a path that is gone for a moment", before=(default(),), steps=(
        ((), reachable()), ((no_default(), wait(0.4), default()), reachable(steady=1)),
        ((no_change, is_kept), reachable()))),
    Row("9 IPv6 only", family=6, before=("in -4 addr flush dev v0",), steps=(
        ((), no_path()), ((default(6),), reachable()), ((no_default(6),), no_path()), ((default(6),), reachable()))),
    Row("10 a better default without carrier", before=(
        second_link, default(4, "metric 100"), "in route add default via 10.204.0.1 dev v2 metric 600"), steps=(
        ((), reachable()), (("out link set v1 down",), no_path("link")),
        (("in route del default metric 100",), reachable()))),
    *[refusing(kind, reason, family) for family in (4, 6)
      for kind, reason in (("blackhole", "blackhole"), ("unreachable", "no-route"), ("prohibit", "prohibited"))],
    Row("11 a default that is thrown", ends="queued", before=("in route add throw default",), steps=(
        ((), no_path()),)),
    nexthop(4), nexthop(6),
    Row("14 a default by a nexthop that is a blackhole", before=(
        "in nexthop add id 8 blackhole", "in route add default nhid 8"), steps=(
        ((), no_path("blackhole")), (("in nexthop del id 8", default()), reachable()))),
    Row("9 a default in another table, by a rule", before=(
        f"in route add default via {OUTER[4]} dev v0 table 77", "in rule add pref 100 lookup 77"), steps=(
        ((), reachable()), (("in rule del pref 100",), no_path()), (("in rule add pref 100 lookup 77",), reachable()))),
    Row("9 a default in another table, by a rule, IPv6", family=6, before=(
        f"in -6 route add default via {OUTER[6]} dev v0 table 77", "in -6 rule add pref 100 lookup 77"), steps=(
        ((), reachable()), (("in -6 rule del pref 100",), no_path()),
        (("in -6 rule add pref 100 lookup 77",), reachable()))),
    Row("a rule for the daemon's own user", before=(
        f"in route add default via {OUTER[4]} dev v0 table 77", "in rule add pref 100 uidrange 0-0 lookup 77"), steps=(
        ((), reachable()), (("in rule del pref 100",), no_path()),
        (("in rule add pref 100 uidrange 1-9 lookup 77",), no_path(steady=1)),
        (("in rule add pref 101 uidrange 0-9 lookup 77",), reachable()))),
    Row("a rule that prohibits", before=(default(), "in rule add pref 10 to 198.51.100.0/24 prohibit"), steps=(
        ((), no_path("prohibited")), (("in rule del pref 10",), reachable()))),
    Row("two halves of the world instead of a default", before=(
        f"in route add 0.0.0.0/1 via {OUTER[4]}", f"in route add 128.0.0.0/1 via {OUTER[4]}"), steps=(
        ((), reachable()), (("in route del 128.0.0.0/1",), no_path()),
        ((f"in route add 128.0.0.0/1 via {OUTER[4]}",), reachable()))),
    Row("several gateways in one route", before=(
        second_link, f"in route add default nexthop via {OUTER[4]} dev v0 nexthop via 10.204.0.1 dev v2"), steps=(
        ((), reachable()), (("out link set v1 down", "out link set v3 down"), no_path("link")),
        (("out link set v1 up", "out link set v3 up"), reachable()))),
    Row("IPv4 by a gateway of IPv6", before=(*NEAR, "in -4 route add default via inet6 fe80::1 dev v0"), steps=(
        ((), reachable()), ((no_default(),), no_path())), ends="queued"),
    Row("25-26 a storm while the daemon stands still", before=(default(),), steps=(
        ((), reachable()), ((freeze, route_storm, no_default(), thaw), no_path()),
        ((has_overrun, little_work, default()), reachable()), ((no_default(),), no_path()),
        ((default(),), reachable()))),
    Row("25 a storm while the daemon looks on", before=(default(),), steps=(
        ((), reachable()), ((route_storm,), reachable(steady=1)),
        ((no_change, is_kept, few_evaluations, little_work), reachable()))),
    Row("no path, no packet", ends="queued", options=beat(1), steps=(
        ((), no_path()), ((wait(3), packets_are_counted, wait(4), no_packets), no_path()))),
]

TUNNELS = [
    Row("20 a tunnel as a VPN sets it up, and its end", before=(default(),), steps=(
        ((), reachable()), ((tunnel_up, "in route add default dev tun0 table 51820", *RULES), reachable("vpn")),
        ((tunnel_down,), reachable("ethernet")))),
    Row("8 a tunnel with a reader, whose state the kernel does not know", before=(
        tunnel_up, "in route add default dev tun0"), steps=(
        ((), reachable("vpn")), ((tunnel_down,), no_path()), ((default(),), reachable()))),
    Row("20 a tunnel without a reader", ends="queued", before=(
        "in tuntap add tun0 mode tun", "in link set tun0 up", "in route add default dev tun0"), steps=(
        ((), no_path("link", steady=1)),)),
    Row("macvlan takes the type below it", options=typed("v0:cellular"), before=(
        "in addr flush dev v0", "in link add link v0 name m0 type macvlan mode bridge", "in link set m0 up",
        f"in addr add {INNER[4]} dev m0", f"in route add default via {OUTER[4]} dev m0"), steps=(
        ((), reachable("cellular")), (("in link set m0 down",), no_path())), ends="queued"),
    Row("vlan takes the type below it", kind="vlan", options=typed("v0:cellular"), before=(
        "in addr flush dev v0", "in link add link v0 name v0.5 type vlan id 5", "in link set v0.5 up",
        f"in addr add {INNER[4]} dev v0.5", f"in route add default via {OUTER[4]} dev v0.5",
        "out addr flush dev v1", "out link add link v1 name v1.5 type vlan id 5", "out link set v1.5 up",
        f"out addr add {OUTER[4]}/24 dev v1.5"), steps=(
        ((), reachable("cellular")), (("out link set v1.5 down",), unreachable("no-route", "cellular", within=12))),
        ends="queued"),
    Row("bond takes the type of its port", kind="bond", options=typed("v0:wifi"), before=(
        "in link set v0 down", "in link add bond0 type bond mode active-backup miimon 50",
        "in link set v0 master bond0", "in link set bond0 up", f"in addr add {INNER[4]} dev bond0",
        f"in route add default via {OUTER[4]} dev bond0"), steps=(
        ((), reachable("wifi")), (("out link set v1 down",), no_path("link")),
        (("out link set v1 up",), reachable("wifi")))),
    Row("wireguard is a vpn", kind="wireguard", ends="queued", before=(
        "in link add wg0 type wireguard", "in link set wg0 up", "in addr add 10.77.0.2/24 dev wg0",
        "in route add default dev wg0"), steps=(((), unreachable("no-route", "vpn", within=12)),)),
    Row("ipvlan takes the type below it", kind="ipvlan", options=typed("v0:cellular"), before=(
        "in addr flush dev v0", "in link add link v0 name i0 type ipvlan", "in link set i0 up",
        f"in addr add {INNER[4]} dev i0", f"in route add default via {OUTER[4]} dev i0"), steps=(
        ((), reachable("cellular")),)),
    Row("dummy leads nowhere", kind="dummy", ends="queued", before=(
        "in link add d0 type dummy", "in link set d0 up", "in addr add 10.78.0.2/24 dev d0",
        "in route add default dev d0"), steps=(((), unreachable("no-route", within=12)),)),
]

# The kernel says nothing: only what the destination answers tells.
SILENCE = [
    Row("22 the gateway loses its address", options={**beat(2), "options": "ConnectTimeout=5s\n"},
        before=(default(),), steps=(
        ((), reachable()), ((f"out addr del {OUTER[4]}/24 dev v1", "in neigh flush dev v0", lambda box: box.post(1)),
                            unreachable("no-route", within=15)),
        ((f"out addr add {OUTER[4]}/24 dev v1",), reachable(within=10)))),
    Row("23 packets are dropped on the way", options=beat(2), before=(default(),), steps=(
        ((), reachable()),
        (("out! nft add table ip t; nft add chain ip t c '{ type filter hook input priority 0; policy drop; }'",
          lambda box: box.post(1)), unreachable("timeout", within=20)),
        (("out! nft flush ruleset",), reachable(within=10)))),
    *[Row(f"23 a router on the way answers {kind}", options=beat(2), before=(default(),), steps=(
        ((), reachable()),
        (("out addr del 198.51.100.10/32 dev lo", f"out route add {kind} 198.51.100.10", lambda box: box.post(1)),
         unreachable(reason, within=25)),
        ((f"out route del {kind} 198.51.100.10", "out addr add 198.51.100.10/32 dev lo"), reachable(within=10))))
      for kind, reason in (("unreachable", "no-route"), ("prohibit", "no-route"), ("blackhole", "timeout"))],
    Row("20 a connection that is half open", options={**beat(2), "options": "Timeout=60s\n"}, before=(default(),),
        steps=(
        ((), reachable()),
        (("out! nft add table ip t; nft add chain ip t c '{ type filter hook input priority 0; policy drop; }'",
          lambda box: box.post(1)), unreachable("timeout", within=40)),
        (("out! nft flush ruleset",), reachable(within=10)))),
    Row("the collector is ended and started", options=beat(2), before=(default(),), steps=(
        ((), reachable()), ((collector_stops, lambda box: box.post(1)), unreachable("refused", within=10)),
        ((collector_starts,), reachable(within=10)))),
    *[Row(f"28 a portal answers {status}", options=beat(2), before=(default(),), steps=(
        ((), reachable()),
        ((script(status=status, headers={"Location": "http://portal.example/"} if status == 302 else {},
                 body=b"<html>Welcome</html>"), lambda box: box.post(1)),
         See("portal", "portal", "ethernet", within=10, steady=3)), ((script(),), reachable(within=10))))
      for status in (200, 302, 403)],
    Row("28 a portal answers 511", options=beat(2), before=(default(),), steps=(
        ((), reachable()), ((script(status=511, headers={}), lambda box: box.post(1)),
                            See("portal", "portal", "ethernet", within=10)), ((script(),), reachable(within=10)))),
    Row("28 another's certificate", options={"url": f"https://{COLLECTOR[4]}:8443/collect"}, ends="queued", before=(
        default(), impostor), steps=(((), unreachable("tls")), ((), unreachable("tls", steady=1)))),
]

NAMED = {"url": "http://collector.test:8080/collect",
         "hosts": f"{COLLECTOR[6]} collector.test\n{COLLECTOR[4]} collector.test\n"}
BOTH = [
    Row("IPv6 without a route beside IPv4", options=NAMED, before=(default(),), steps=(
        ((), reachable()), ((no_default(),), no_path()), ((default(),), reachable()))),
    Row("IPv6 that is dropped beside IPv4", options=NAMED, before=(
        default(), default(6), "out addr del 2001:db8:1::10/128 dev lo",
        "out -6 route add blackhole 2001:db8:1::10"), steps=(
        ((), reachable()), ((no_default(6),), reachable(steady=2)), ((no_change, is_kept), reachable()),
        ((no_default(), default(6)), unreachable("timeout", within=12)), ((default(),), reachable()))),
    Row("IPv4 that fails beside IPv6", family=6, options=NAMED, before=(default(), default(6)), steps=(
        ((), reachable()), ((no_default(),), reachable(steady=2)), ((no_change, is_kept), reachable()),
        ((no_default(6),), no_path()),
        ((default(6),), reachable()))),
    Row("a name that nobody knows, then one in a file", options={**beat(2), "url": NAMED["url"]}, before=(default(),),
        steps=(
        ((), unreachable("dns", within=15)), ((lambda box: box.add_hosts(NAMED["hosts"]),), reachable(within=15)))),
]


def said_once(box):
    assert box.daemon.read_log().count("Address family not supported") == 1, box.daemon.read_log()


BLIND = [
    Row("no netlink in a sandbox", options={**beat(2), "wrap": without_netlink()}, before=(default(),), steps=(
        ((), reachable("unknown")),
        ((no_default(), lambda box: box.post(1)), unreachable("no-route", "unknown", within=15)),
        ((default(),), reachable("unknown", within=10)), ((said_once,), reachable("unknown")))),
]


def answering(address):
    """A name server on the way answers so from now on: an address, "" for none, None for silence."""
    def do(box):
        box.name_server = getattr(box, "name_server", None) or NameServer(box.network)
        box.name_server.answers = address
    return do


def asking(address):
    """The daemon's resolv.conf is another."""
    return lambda box: use_name_server(box.network, address, SHORT)


def moves(box):
    """The collector goes to another address."""
    box.do("out addr add 198.51.100.11/32 dev lo")
    box.do("out addr del 198.51.100.10/32 dev lo")
    box.open_collector("198.51.100.11")


NAMES = {**beat(2), "url": NAMED["url"]}
DNS = [
    Row("a name server that is silent, then answers", options=NAMES, before=(default(), answering(None)), steps=(
        ((), unreachable("dns", within=15)), ((answering(COLLECTOR[4]),), reachable(within=20)))),
    Row("a name that nobody has, then one has it", options=NAMES, before=(default(), answering("")), steps=(
        ((), unreachable("dns", within=15)), ((answering(COLLECTOR[4]),), reachable(within=15)))),
    Row("a name server that fails while an address is known", options=NAMES, before=(
        default(), answering(COLLECTOR[4])), steps=(
        ((), reachable(within=10)), ((answering(""), no_default()), no_path()), ((default(),), reachable(within=10)),
        ((collector_stops, lambda box: box.post(1)), unreachable("refused", within=10, steady=5)),
        ((collector_starts,), reachable(within=10)))),
    Row("an answer that changes", options=NAMES, before=(default(), answering(COLLECTOR[4])), steps=(
        ((), reachable(within=10)),
        ((answering("198.51.100.11"), moves, lambda box: box.post(1), wait(1)), reachable(within=30)))),
    Row("resolv.conf is replaced while running", options=NAMES, before=(
        default(), answering(COLLECTOR[4]), asking("10.203.0.77")), steps=(
        ((), unreachable("dns", within=15)), ((asking(OUTER[4]),), reachable(within=20)))),
    Row("a name on the own link, without a default", options=NAMES, before=(
        answering(OUTER[4]), lambda box: box.open_collector(OUTER[4])), steps=(((), reachable(within=10)),)),
    Row("no way but to the name server", options=NAMES, before=(answering(COLLECTOR[4]),), steps=(
        ((), no_path()), ((default(),), reachable(within=10)))),
]

ROWS = DNS + BLIND + LINKS + ADDRESSES + ROUTES + TUNNELS + SILENCE + BOTH


def is_possible(kind, network):
    """True where this kernel can make such a link."""
    lower = "link v0 " if kind in ("ipvlan", "macsec", "macvlan", "vlan") else ""
    more = {"vlan": " id 5", "vrf": " table 9"}.get(kind, "")
    made = subprocess.run(f"ip -n {network.inner} link add {lower}name x0 type {kind}{more}", shell=True,
                          capture_output=True, text=True)
    subprocess.run(["ip", "-n", network.inner, "link", "del", "x0"], capture_output=True, check=False)
    assert made.returncode == 0 or "Unknown device type" in made.stderr, made.stderr
    return made.returncode == 0


def play(row):
    """Plays a row to its end."""
    box = NetBox(row.family, **row.options)
    try:
        for command in row.before:
            box.do(command)
        box.daemon.start()
        for number, (commands, see) in enumerate(row.steps):
            for command in commands:
                box.do(command)
            look(box, see, f"{row.name}, step {number}")
        if row.ends == "delivered":
            until(lambda: len(box.collector.numbers()) >= box.posted, 15, box.daemon.read_log)
            assert sorted(set(box.collector.numbers())) == list(range(box.posted))
            ledger = box.daemon.assert_ledger()
            assert (ledger["accepted"], ledger["dead"]) == (box.posted, 0), ledger
    finally:
        box.close()


def look(box, see, what):
    """Sees it, posts two events, and where they can arrive waits for them."""
    wanted = (see.state, see.reason, see.type)
    until(lambda: box.seen() == wanted, see.within, lambda: f"{what}: {see}\n{box.seen()}\n{box.daemon.read_log()}")
    box.post()
    if see.state == "reachable":
        until(lambda: box.posted - 1 in box.collector.numbers(), see.within, lambda: f"{what}\n{box.daemon.read_log()}")
    end = time.monotonic() + see.steady
    while time.monotonic() < end:
        seen = box.seen()
        assert seen == wanted, f"{what}: {see}\n{seen}\n{box.daemon.read_log()}"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def played(request):
    """The rows that are asked for, under way; a test waits for its own."""
    wanted = {item.callspec.params["name"] for item in request.session.items if hasattr(item, "callspec")
              and "name" in item.callspec.params}
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        yield {row.name: pool.submit(play, row) for row in ROWS if row.name in wanted}


def test_the_kinds_of_links_this_kernel_cannot_make(network):
    kinds = ABSENT | {"bridge", "ifb", "macvlan", "veth"} | {row.kind for row in ROWS if row.kind}
    assert {kind for kind in kinds if not is_possible(kind, network)} == ABSENT


@pytest.mark.parametrize("name", [row.name for row in ROWS if row.kind not in ABSENT])
def test_recipe(played, name):
    played[name].result(120)
