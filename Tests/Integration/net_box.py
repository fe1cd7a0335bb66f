"""Two namespaces with IPv4 and IPv6, the daemon in one and its collector in the other, and what happens to them."""
import ctypes
import errno
import fcntl
import os
import platform
import re
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

from harness import Daemon, NetworkPair, Script, collector_in, enter, request, run
from name_server import use_name_server

COLLECTOR = {4: "198.51.100.10", 6: "2001:db8:1::10"}
# Neighbours on the link between the two, `inner` and `outer`.
INNER = {4: "10.203.0.2/24", 6: "fd09::2/64"}
OUTER = {4: "10.203.0.1", 6: "fd09::1"}
HEADER = {"X-Collector": "uplink"}
# A beat that explains no recovery within a test's limits; a connection that is not answered is found out soon.
SECTIONS = "[Reachability]\nCheckInterval=60s\n"
OPTIONS = "PlainHTTP=yes\nExpectHeader=X-Collector: uplink\nFlushSpread=0\nRetryMin=200ms\nRetryMax=1s\n"
OPTIONS += "ConnectTimeout=2s\nTimeout=5s\n"
# What a lookup takes where nobody answers.
SHORT = "options timeout:1 attempts:1\n"


class DualPair(NetworkPair):
    """`NetworkPair` with IPv6 beside IPv4; no address waits for the detection of duplicates."""

    def __init__(self):
        super().__init__()
        for name, link in ((self.inner, "v0"), (self.outer, "v1")):
            self.sh(name, f"sysctl -qw net.ipv6.conf.{link}.accept_dad=0 net.ipv6.conf.{link}.keep_addr_on_down=1")
        for name in (self.inner, self.outer):
            self.sh(name, "sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0")
        self.sh(self.outer, "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1")
        self.ip("addr", "add", INNER[6], "dev", "v0", "nodad")
        run("ip", "-n", self.outer, "addr", "add", f"{OUTER[6]}/64", "dev", "v1", "nodad")
        run("ip", "-n", self.outer, "addr", "add", f"{COLLECTOR[6]}/128", "dev", "lo", "nodad")

    @staticmethod
    def sh(name, script):
        subprocess.run(["ip", "netns", "exec", name, "sh", "-ec", script], check=True)

    def close(self):
        super().close()
        shutil.rmtree(f"/etc/netns/{self.inner}", ignore_errors=True)


class NetBox:
    """The daemon and its collector, and a count of what was posted.

    `family` says at which address the collector is; `url`, another; `options` and `sections` are those of its
    configuration; `hosts` are lines of the daemon's own /etc/hosts; `wrap` is what it is started under.
    """

    def __init__(self, family=4, url=None, options="", sections=SECTIONS, hosts="", wrap=()):
        self.network = DualPair()
        self.home = tempfile.mkdtemp(prefix="upl-", dir=os.environ.get("UPLINKD_TEST_DIR", "/var/tmp"))
        self.family = family
        self.posted = 0
        self.ends = []
        os.makedirs(f"/etc/netns/{self.network.inner}")
        self.hosts = f"/etc/netns/{self.network.inner}/hosts"
        self.add_hosts("127.0.0.1 localhost\n" + hosts)
        use_name_server(self.network, OUTER[4], SHORT)
        self.collector = None
        self.open_collector()
        host = COLLECTOR[family] if family == 4 else f"[{COLLECTOR[family]}]"
        self.daemon = Daemon(self.home, url=url or f"http://{host}:8080/collect", options=OPTIONS + options,
                             sections=sections, wrap=[*self.network.wrap(), *wrap])

    def close(self):
        for end in reversed(self.ends):
            end()
        if self.daemon.process and self.daemon.process.poll() is None:
            self.daemon.kill()
        self.collector.stop()
        self.network.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def open_collector(self, address=None):
        """A new one, at the same address unless another is given, which goes on where the last one ended."""
        taken = self.collector.taken if self.collector else []
        self.collector = collector_in(self.network.outer, address or COLLECTOR[self.family],
                                      script=Script(headers=HEADER))
        self.collector.taken[:0] = taken

    def add_hosts(self, lines):
        """`lines` go to the daemon's own /etc/hosts."""
        with open(self.hosts, "a") as file:
            file.write(lines)

    def do(self, command):
        """`in WORDS` and `out WORDS` are given to ip in the daemon's and the collector's namespace, `in! LINE` and
        `out! LINE` to a shell there; anything else is called."""
        if callable(command):
            return command(self)
        where, line = command.split(" ", 1)
        name = self.network.inner if where.startswith("in") else self.network.outer
        if where.endswith("!"):
            self.network.sh(name, line)
        else:
            run("ip", "-n", name, *line.split())
        return None

    def post(self, count=2):
        self.daemon.post_numbers(range(self.posted, self.posted + count))
        self.posted += count

    def seen(self):
        """State, reason and connection type."""
        status = self.daemon.status()
        main = status["destinations"][0]
        return main["state"], main["reason"], status["network"]["connection_type"]

    def metric(self, series):
        """The value of one."""
        text = request(self.daemon.control, "GET", "/metrics")[2].decode()
        return float(re.search(f"^{re.escape(series)} (.*)$", text, re.M)[1])

    def checks(self):
        """How many checks there were, by what came of them."""
        series = 'uplink_checks_total{destination="main",result="%s"}'
        return {result: self.metric(series % result) for result in ("answered", "failed", "portal", "abandoned")}


def in_namespace(name, work):
    """Runs `work` on a thread in that namespace, and gives what it gave."""
    given = []

    def go():
        enter(name)
        given.append(work())

    thread = threading.Thread(target=go)
    thread.start()
    thread.join()
    return given[0]


def send_advertisement(network, lifetime, prefix=None, valid=120):
    """A router advertisement (RFC 4861, 4.2) from the collector's side, with a prefix to make an address of."""
    packet = struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, lifetime, 0, 0)
    if prefix:
        packet += struct.pack("!BBBBIII", 3, 4, 64, 0xC0, valid, valid, 0) + socket.inet_pton(socket.AF_INET6, prefix)

    def send():
        index = socket.if_nametoindex("v1")
        with socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as raw:
            raw.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
            raw.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
            raw.sendto(packet, ("ff02::1", 0, 0, index))

    in_namespace(network.outer, send)


class Tunnel(threading.Thread):
    """A program that holds both ends of a tunnel, as a VPN does: `tun0` of the daemon, `tun1` of the collector."""

    def __init__(self, network):
        super().__init__(daemon=True)
        self.ends = [in_namespace(name, lambda link=link: self.open(link))
                     for name, link in ((network.inner, b"tun0"), (network.outer, b"tun1"))]
        self.wake = os.pipe()
        self.start()

    @staticmethod
    def open(link):
        fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        fcntl.ioctl(fd, 0x400454CA, struct.pack("16sH14x", link, 0x1001))  # TUNSETIFF, IFF_TUN | IFF_NO_PI
        return fd

    def run(self):
        there = dict(zip(self.ends, reversed(self.ends)))
        while True:
            ready = select.select([*self.ends, self.wake[0]], [], [])[0]
            if self.wake[0] in ready:
                return
            for fd in ready:
                try:
                    os.write(there[fd], os.read(fd, 65536))
                except OSError:
                    time.sleep(0.01)  # a link that is down takes nothing

    def close(self):
        """Both links go with it."""
        os.write(self.wake[1], b"x")
        self.join()
        for fd in [*self.ends, *self.wake]:
            os.close(fd)


def without_netlink():
    """A wrapper under which the kernel says that there are no sockets of AF_NETLINK, as a sandbox does."""
    return [sys.executable, os.path.abspath(__file__)]


def forbid_netlink():
    """A filter of seccomp(2): socket(2) fails with EAFNOSUPPORT where its first argument is AF_NETLINK."""
    number = {"x86_64": 41, "aarch64": 198}[platform.machine()]
    steps = [(0x20, 0, 0, 0), (0x15, 0, 3, number), (0x20, 0, 0, 16), (0x15, 0, 1, socket.AF_NETLINK),
             (0x06, 0, 0, 0x00050000 | errno.EAFNOSUPPORT), (0x06, 0, 0, 0x7FFF0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("@HxxxxxxP", len(steps), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):  # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP
        raise OSError(ctypes.get_errno(), "prctl")


def script(**words):
    """How the collector answers from now on."""
    def do(box):
        box.collector.script = Script(**{"headers": HEADER, **words})
    return do


def collector_stops(box):
    box.collector.stop()
    # On a connection that is kept it breaks off.
    box.collector.script = Script(status=500, close=True)


if __name__ == "__main__":
    forbid_netlink()
    os.execv(sys.argv[1], sys.argv[1:])
