"""Outages of every kind, at random and of random length, under load, with the real daemon; seeded.

UPLINKD_OUTAGES says how many; they are shared out among daemons that run beside each other: over IPv4, over IPv6, over
both, and over IPv4 again. Every fourth outage is two faults, of which the second begins before the first is cured.
After each cure the first request comes soon where the kernel said something of it, and within the beat of the checks
where it did not. In the end each event is at the collector, in order; one that came twice was under way when its answer
was lost.
"""
import concurrent.futures
import dataclasses
import os
import random
import socket
import statistics
import threading
import time

import pytest

from harness import Script, until
from net_box import COLLECTOR, HEADER, INNER, NetBox, OUTER, collector_stops, in_namespace, script

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")

OUTAGES = int(os.environ.get("UPLINKD_OUTAGES", "50"))
# The families of IP by which each daemon can reach its collector.
BOXES = ((4,), (6,), (4, 6), (4,))
BEAT = 2
TIMEOUT = 3
# The machine is busy with four of them; nine of ten must be far quicker.
ANNOUNCED = 5
QUICK = 1.5
UNANNOUNCED = BEAT + TIMEOUT + 5
# An answer may be lost from a little before an outage on. What was given up in it may arrive after its cure, when the
# kernel sends once more what it kept, or just before the daemon's patience ends.
MARGIN = 1
BATCH = 20
OTHER = {4: "10.203.0.9/24", 6: "fd09::9/64"}
DROP = "out! nft add table inet t; nft add chain inet t c '{ type filter hook input priority 0; policy drop; }'"


@dataclasses.dataclass(frozen=True)
class Kind:
    """How a path goes, and comes back; `route` is how it leads to the collector before."""

    name: str
    cut: tuple
    cure: tuple
    route: tuple
    undo: tuple
    is_announced: bool = True
    # The way by one family of IP goes, and the other leads on: requests come while it is cut.
    is_partial: bool = False
    # It can be without a carrier meanwhile.
    bears_no_carrier: bool = True

    def bears(self, other):
        """True where the other can begin and end while this one lasts."""
        return other.name != "carrier" or self.bears_no_carrier


def revive(box):
    box.collector.script = Script(headers=HEADER)
    in_namespace(box.network.outer, box.collector.start)


def each(families, *lines):
    """These lines for each family, with `-F` for its flag, GATEWAY, ADDRESS and OTHER."""
    made = []
    for family in families:
        # A default of IPv6 outlives the address that it was set beside.
        words = {"-F": f"-{family}", "GATEWAY": OUTER[family], "ADDRESS": INNER[family], "OTHER": OTHER[family],
                 "NHID": str(family), "NODAD": "nodad" if family == 6 else ""}
        for line in lines:
            for word, value in words.items():
                line = line.replace(word, value)
            made.append(line)
    return tuple(made)


def kinds(families):
    """The kinds for a daemon that reaches its collector by these families."""
    default = "in -F route replace default via GATEWAY dev v0"
    routes = (each(families, default), each(families, "in -F route del default"))
    nexthop = ("in nexthop add id NHID via GATEWAY dev v0", "in -F route add default nhid NHID")
    rule = ("in -F route add default via GATEWAY dev v0 table 77", "in -F rule add pref 100 lookup 77")
    announced = [
        Kind("link", ("in link set v0 down",), ("in link set v0 up", *routes[0]), *routes, bears_no_carrier=False),
        Kind("carrier", ("out link set v1 down",), ("out link set v1 up",), *routes, bears_no_carrier=False),
        Kind("route", routes[1], routes[0], *routes),
        Kind("blackhole", each(families, "in -F route add blackhole default metric 50"),
             each(families, "in -F route del blackhole default metric 50"),
             each(families, default + " metric 100"), routes[1]),
        Kind("address", each(families, "in addr del ADDRESS dev v0"),
             each(families, "in addr add ADDRESS dev v0 NODAD", default), *routes),
        Kind("another address", each(families, "in addr del ADDRESS dev v0"),
             each(families, "in addr add OTHER dev v0 NODAD", default), routes[0],
             each(families, "in addr del OTHER dev v0", "in addr add ADDRESS dev v0 NODAD")
             + each([family for family in families if family == 6], "in -F route del default")),
        Kind("rule", each(families, "in -F rule del pref 100"), each(families, rule[1]), each(families, *rule),
             each(families, "in -F rule del pref 100", "in -F route del default table 77")),
        Kind("nexthop", each(families, "in nexthop del id NHID"), each(families, *nexthop), each(families, *nexthop),
             each(families, "in nexthop del id NHID"), bears_no_carrier=False),
    ]
    if len(families) > 1:
        announced += [Kind(f"route of IPv{family} alone", each([family], "in -F route del default"),
                           each([family], default), *routes, is_partial=True) for family in families]
        announced += [Kind("IPv6 dropped on the way, alone", (f"out -6 route add blackhole {INNER[6][:-3]}",),
                           (f"out -6 route del blackhole {INNER[6][:-3]}",), *routes, is_announced=False,
                           is_partial=True)]
    return announced + [
        Kind("collector killed", (collector_stops,), (revive,), *routes, is_announced=False),
        Kind("silent", (script(silent=True),), (script(),), *routes, is_announced=False),
        Kind("dropped", (DROP,), ("out! nft flush ruleset",), *routes, is_announced=False),
        Kind("portal", (script(status=302, headers={"Location": "http://portal.example/"}),), (script(),), *routes,
             is_announced=False),
    ]


class Link(threading.Thread):
    """Sends a frame every 20 ms from the daemon's end of the pair, and knows when they came to the other.

    The kernel announces a carrier and lets frames out up to a second later, when it next looks after its links
    (linkwatch; at most once a second): until then whatever is sent is thrown away. A check that is sent then, 250 ms
    after the announcement, may fail as no neighbour answers; the next comes a second later, so 2 s after a cure.
    """

    KIND = 0x88B5

    def __init__(self, box):
        super().__init__(daemon=True)
        self.came = []
        self.enough = threading.Event()
        self.ends = [in_namespace(name, lambda link=link: self.open(link))
                     for name, link in ((box.network.inner, "v0"), (box.network.outer, "v1"))]
        threading.Thread(target=self.receive, daemon=True).start()
        self.start()
        box.ends.append(self.enough.set)

    def open(self, link):
        made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(self.KIND))
        made.bind((link, self.KIND))
        return made

    def run(self):
        frame = b"\xff" * 6 + bytes(6) + self.KIND.to_bytes(2, "big") + bytes(46)
        while not self.enough.wait(0.02):
            try:
                self.ends[0].send(frame)
            except OSError:
                pass  # there is no carrier

    def receive(self):
        while not self.enough.is_set():
            try:
                self.ends[1].recv(100)
                self.came.append(time.monotonic())
            except OSError:
                time.sleep(0.01)  # the link is down

    def open_since(self, at):
        """When the first frame came through after then."""
        return next((came for came in self.came if came >= at), time.monotonic())


class Posting(threading.Thread):
    """Posts numbered events, each request taken whole, until told that it is enough."""

    def __init__(self, box):
        super().__init__(daemon=True)
        self.box, self.count = box, 0
        self.enough = threading.Event()

    def run(self):
        while not self.enough.wait(0.05):
            self.box.daemon.post_numbers(range(self.count, self.count + 2))
            self.count += 2


@dataclasses.dataclass
class Outage:
    name: str
    is_announced: bool
    # From the cure, or from when the link carried frames again, to the first request.
    span: float


class Ways:
    """Takes the way to the collector away and gives it back, and remembers when there was none."""

    def __init__(self, box):
        self.box = box
        self.gaps = []
        self.since = time.monotonic()

    def take(self, commands):
        self.since = time.monotonic()
        self.change(commands)

    def change(self, commands):
        for command in commands:
            self.box.do(command)

    def give(self, commands):
        self.change(commands)
        self.gaps.append((self.since, time.monotonic()))

    def was_lost(self, at):
        """True where an answer to what came then may have been lost."""
        return any(begin - MARGIN <= at <= end + TIMEOUT + MARGIN for begin, end in self.gaps)


def suffer(box, kind, length, ways, other=None, other_ends_first=False):
    """One outage, from a way that is used to one that is used again; `other` begins and perhaps ends in it."""
    name = kind.name + (f" and {other.name}" if other else "")
    ways.give(kind.route)
    arrived = len(box.collector.taken)
    until(lambda: len(box.collector.taken) > arrived, UNANNOUNCED + 5, lambda: f"{name}: {box.explain()}")
    before = len(box.collector.requests)
    ways.take(kind.cut)
    changed = time.monotonic()
    time.sleep(length)
    last = kind
    if other:
        ways.change(other.cut)
        time.sleep(length)
        first, last = (other, kind) if other_ends_first else (kind, other)
        ways.change(first.cure)
        time.sleep(length)
    if not kind.is_partial:
        before = len(box.collector.requests)
        changed = time.monotonic()
    ways.give(last.cure)
    cure = changed if kind.is_partial else time.monotonic()
    until(lambda: len(box.collector.requests) > before, UNANNOUNCED + 20,
          lambda: f"{name} of {length:.2f} s: {box.explain()}")
    came = box.collector.requests[before][0]
    until(lambda: box.daemon.state() == "reachable", 10, box.explain)
    ways.take(kind.undo)
    since = cure if kind.is_partial else max(cure, box.link.open_since(changed))
    return Outage(name, last.is_announced, max(0, came - since))


def make_box(families):
    """A daemon and its collector, which listens on all these families."""
    options = {"options": f"Timeout={TIMEOUT}s\nBatchMaxEvents={BATCH}\nCompression=none\n",
               "sections": f"[Reachability]\nCheckInterval={BEAT}s\n"}
    if len(families) == 1:
        return NetBox(families[0], **options)
    hosts = "".join(f"{COLLECTOR[family]} collector.test\n" for family in families)
    box = NetBox(6, url="http://collector.test:8080/collect", hosts=hosts, **options)
    box.collector.stop()
    box.open_collector("::")
    return box


def plan(families, seed, count):
    """The outages of one daemon, each with its length, and with what overlaps it."""
    chance = random.Random(seed)
    known = kinds(families)
    chosen = [known[(seed * count + each) % len(known)] for each in range(count)]
    chance.shuffle(chosen)
    others = [other for other in known if other.name in ("carrier", "collector killed", "silent", "dropped", "portal")]
    for number, kind in enumerate(chosen):
        length = chance.choice((0.1, 0.5, 2, 4)) * chance.uniform(0.5, 1)
        fitting = [other for other in others if kind.bears(other)]
        if number % 4 == 3 and kind.is_announced and not kind.is_partial:
            yield kind, length / 3, chance.choice(fitting), chance.random() < 0.5
        else:
            yield kind, length, None, False


def run(families, seed, count):
    """`count` outages of one daemon; what became of them."""
    box = make_box(families)
    box.explain = lambda: f"seed {seed}, IPv{families}\n{box.daemon.destination()}\n{box.daemon.read_log()}"
    try:
        box.link = Link(box)
        ways = Ways(box)
        # Without an address of the kernel's own making IPv6 solicits no neighbour once its link was down.
        for where, link in (("in", "v0"), ("out", "v1")):
            ways.change([f"{where} link set {link} {word}" for word in ("down", "addrgenmode eui64", "up")])
        box.daemon.start()
        pid = box.daemon.pid()
        posting = Posting(box)
        posting.start()
        outages = [suffer(box, kind, length, ways, other, ends_first)
                   for kind, length, other, ends_first in plan(families, seed, count)]
        ways.give(each(families, "in -F route replace default via GATEWAY dev v0"))
        posting.enough.set()
        posting.join()
        wanted = list(range(posting.count))
        until(lambda: box.collector.taken and box.collector.numbers()[-1] == wanted[-1], 30, box.explain)
        until(lambda: box.daemon.assert_ledger()["delivered"] == len(wanted), 10, box.explain)
        assert box.daemon.pid() == pid and box.daemon.read_log().count("starts with") <= 1
        assert box.daemon.destination()["ledger"]["dead"] == 0
        return outages, judge(box.collector, wanted, ways, seed)
    finally:
        box.close()


def judge(collector, wanted, ways, seed):
    """Each event came, in order; how many came again, each as its answer was lost in an outage."""
    taken = {id(event) for event in collector.taken}
    seen, again = {}, 0
    for at, _, _, _, events in collector.requests:
        for event in events:
            if id(event) not in taken:
                continue
            number = event["n"]
            if number in seen:
                again += 1
                assert ways.was_lost(seen[number]), \
                    f"seed {seed}: {number} came at {seen[number]:.2f} and at {at:.2f}, without an outage\n{ways.gaps}"
            else:
                assert number == len(seen), f"seed {seed}: {number} came before {len(seen)}"
            seen[number] = at
    assert list(seen) == wanted, f"seed {seed}"
    assert again <= BATCH * len(ways.gaps), f"seed {seed}: {again} came again in {len(ways.gaps)} gaps"
    return again


def test_outages():
    seed = int(os.environ.get("UPLINKD_OUTAGE_SEED", "0")) or random.randrange(1, 1 << 20)
    with concurrent.futures.ThreadPoolExecutor(len(BOXES)) as pool:
        runs = [pool.submit(run, families, seed + number, -(-OUTAGES // len(BOXES)))
                for number, families in enumerate(BOXES)]
        results = [run.result() for run in runs]
    outages = [outage for several, _ in results for outage in several]
    print(f"seed {seed}: {len(outages)} outages, {sum(again for _, again in results)} events came again")
    for name in sorted({outage.name for outage in outages}):
        spans = sorted(outage.span for outage in outages if outage.name == name)
        print(f"{name}: {len(spans)}, median {statistics.median(spans):.2f} s, most {spans[-1]:.2f} s")
    for outage in outages:
        assert outage.span <= (ANNOUNCED if outage.is_announced else UNANNOUNCED), (seed, outage)
    announced = sorted(outage.span for outage in outages if outage.is_announced)
    assert announced[len(announced) * 9 // 10] <= QUICK, (seed, announced)
