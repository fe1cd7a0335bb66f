"""What the daemon costs while nothing happens, in each state: turns of its threads, and packets.

UPLINKD_IDLE_SECONDS says for how long. Each daemon has a watchdog, and is left alone until what came before is over.
"""
import concurrent.futures
import os
import time

import pytest

from harness import Script, until
from manager import Manager
from net_box import NetBox, OUTER
from name_server import NameServer

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")

SECONDS = float(os.environ.get("UPLINKD_IDLE_SECONDS", "15"))
# Where it is long the connection to the collector closes before, as it idles; in a short one it stays.
REST = 40 if SECONDS > 20 else 6
WATCHDOG_SECONDS = 10
INTERVAL = 3
DEFAULT = f"in route add default via {OUTER[4]} dev v0"


def refuse(box):
    box.collector.stop()


def intercept(box):
    box.collector.script = Script(status=302, headers={"Location": "http://portal.example/"})


def nobody_knows(box):
    box.name_server = NameServer(box.network)
    box.name_server.answers = ""


# The state, what is done before, and for each look or check the most turns of threads and packets that it may cost.
STATES = {
    "reachable": ((DEFAULT,), "reachable", 0, 0),
    "no-path": ((), "no-path", 1, 0),
    "refused": ((DEFAULT, refuse), "unreachable", 3, 3),
    "portal": ((DEFAULT, intercept), "portal", 6, 6),
    "dns": ((DEFAULT, nobody_knows), "unreachable", 8, 4),
}


def switches(pid):
    """How often the threads have gone to sleep of themselves."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status") as file:
            total += next(int(line.split()[1]) for line in file if line.startswith("voluntary_ctxt_switches"))
    return total


def look(name):
    """Leaves a daemon alone in a state, and gives what that cost."""
    before, state, _, _ = STATES[name]
    box = NetBox(url="http://collector.test:8080/collect" if name == "dns" else None,
                 sections=f"[Reachability]\nCheckInterval={INTERVAL}s\n")
    try:
        box.manager = Manager(box.home)
        box.daemon.environment = box.manager.environment(WATCHDOG_SECONDS)
        for command in before:
            box.do(command)
        box.daemon.start()
        box.post()
        until(lambda: box.daemon.state() == state, 20, lambda: f"{name}\n{box.daemon.read_log()}")
        time.sleep(REST)
        pid = box.daemon.pid()
        looks, fed = box.metric("uplink_path_evaluations_total"), len(box.manager.datagrams)
        # The answer to that question is over.
        time.sleep(1)
        turns, packets = switches(pid), box.network.packets()
        time.sleep(SECONDS)
        turns, packets = switches(pid) - turns, box.network.packets() - packets
        fed = len(box.manager.datagrams) - fed
        assert box.daemon.state() == state, box.daemon.read_log()
        looks = box.metric("uplink_path_evaluations_total") - looks
        return looks, fed, turns, packets
    finally:
        box.close()


@pytest.fixture(scope="module")
def looked():
    with concurrent.futures.ThreadPoolExecutor(len(STATES)) as pool:
        yield {name: pool.submit(look, name) for name in STATES}


@pytest.mark.parametrize("name", STATES)
def test_idle_costs(looked, name):
    looks, fed, turns, packets = looked[name].result()
    _, state, turns_each, packets_each = STATES[name]
    print(f"{name}: in {SECONDS:.0f} s {looks:.0f} looks, {fed} signs of life, {turns} turns, {packets} packets")
    # No gap between looks is longer than the interval, and none shorter than 85 % of it.
    most = (SECONDS + 1) / (INTERVAL * 0.85) + 1
    assert looks == 0 if state == "reachable" else SECONDS / INTERVAL - 1 <= looks <= 2 * most, looks
    # The watchdog's timer and one turn more, as for a message of the manager that is late.
    assert turns <= fed + 2 + looks * turns_each, turns
    assert packets <= looks * packets_each, packets
