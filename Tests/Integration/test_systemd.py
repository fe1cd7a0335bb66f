"""The units as they are installed, under a real systemd and a real journal."""
import contextlib
import glob
import os
import stat
import time

import pytest

from box import PEER_SETTINGS, PEER_URL, QUEUE
from harness import LineClient, Script, run, until
from load import Client, acknowledged, all_go_on, clients, finish

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a systemd of its own needs root")
STARTED = "bef6b0e35792b5370569c47fcfea5070"
DESTINATION_CHANGED = "50016b101025ff82772be866a38ba58c"
DESTINATION_LOST = "01f7d7c2d8df85d21f29811ab0504694"
FLUSHED = "1bb031f80f8d1eadcf133fc8dc2bb5fb"
RELOAD_REFUSED = "72b43d702b00c9ed56da6e82b12ab819"
RELOADED = "786157ebc537fb5a53522e7bf1761ad6"


def test_starts_ready_and_says_how_it_is(box):
    collector = box.collector()
    box.configure({"main": collector.url})
    box.systemctl("start", "uplinkd")
    assert (box.show("ActiveState"), box.show("SubState")) == ("active", "running")
    box.post(range(10))
    until(lambda: len(collector.numbers()) == 10, 10, "all events arrive")
    until(lambda: box.show("StatusText") == "main reachable, nothing queued", 10, "the sentence is up to date")
    assert 'Status: "main reachable, nothing queued"' in box.systemctl("status", "uplinkd").stdout
    collector.script = Script(close=True)
    collector.stop()
    box.post(range(10, 13))
    until(lambda: box.show("StatusText") == "main unreachable, 3 queued", 10, "the sentence follows")
    assert box.show("NRestarts") == "0"


def test_runs_without_rights(box):
    box.configure()
    box.systemctl("start", "uplinkd")
    box.post([1])
    with open(box.path(f"/proc/{box.show('MainPID')}/status")) as file:
        process = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    users = {line.split(":")[0]: line.split(":") for line in open(box.path("/etc/passwd"))}
    groups = {line.split(":")[0]: int(line.split(":")[2]) for line in open(box.path("/etc/group"))}
    user = int(users["uplinkd"][2])
    assert set(map(int, process["Uid"].split())) == {user}
    assert set(map(int, process["Gid"].split())) == {groups["uplinkd"]}
    assert set(map(int, process["Groups"].split())) - {groups["uplinkd"]} == {groups["uplinkd-admin"]}
    assert {int(process[name], 16) for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
    assert process["NoNewPrivs"] == "1" and process["Seccomp"] == "2"
    children = glob.glob(box.path(f"/proc/{box.show('MainPID')}/task/*/children"))
    assert len(children) >= 3 and not "".join(open(path).read() for path in children), "nobody inherits its environment"
    queue = box.path("/var/lib/uplinkd")
    found = [queue] + [os.path.join(folder, name) for folder, folders, files in os.walk(queue)
                       for name in folders + files]
    assert len(found) > 3
    for path in found:
        about = os.lstat(path)
        assert stat.S_IMODE(about.st_mode) == (0o700 if stat.S_ISDIR(about.st_mode) else 0o600), path
        assert (about.st_uid, about.st_gid) == (user, groups["uplinkd"]), path
    for path, group in ((box.events, "uplinkd-clients"), (box.control, "uplinkd-admin")):
        about = os.lstat(path)
        assert (stat.S_IMODE(about.st_mode), about.st_uid, about.st_gid) == (0o660, 0, groups[group]), path
    about = os.lstat(box.path("/run/uplinkd"))
    assert (stat.S_IMODE(about.st_mode), about.st_uid) == (0o755, 0)


def test_groups_decide_who_posts_and_who_asks(box):
    def as_member(group, command):
        return box.exec("setpriv", "--reuid=nobody", f"--regid={group}", "--clear-groups", "sh", "-c", command,
                        check=False)

    box.configure()
    box.systemctl("start", "uplinkd")
    post = "echo '{\"n\":1}' | nc -N -U /run/uplinkd/events.sock"
    assert as_member("uplinkd-clients", post).stdout == '{"accepted":1}\n'
    for stranger in ("nogroup", "uplinkd-admin"):
        refused = as_member(stranger, post)
        assert refused.returncode != 0 and refused.stdout == "" and "denied" in refused.stderr, refused
    assert "running" in as_member("uplinkd-admin", "uplinkctl status").stdout
    assert as_member("uplinkd-clients", "uplinkctl status").returncode == 77
    assert box.status()["intake"]["accepted"] == 1


@pytest.mark.parametrize("which", ["events", "control"])
def test_a_client_starts_it(box, which):
    box.configure()
    assert box.show("ActiveState") == "inactive"
    if which == "events":
        box.post([1])
    else:
        assert box.status()["state"] == "running"
    until(lambda: box.show("ActiveState") == "active", 10, "it is active")


def test_reload_waits_for_the_verdict(box):
    box.configure({"main": "http://127.0.0.1:9/"})
    box.systemctl("start", "uplinkd")
    names = (["main", "second"], ["main"])
    for turn in range(8):
        box.configure({name: "http://127.0.0.1:9/" for name in names[turn % 2]})
        box.systemctl("reload", "uplinkd")
        shown = [each["name"] for each in box.status()["destinations"] if "removed" not in each["flags"]]
        assert shown == names[turn % 2], f"turn {turn}"
    assert box.show("NRestarts") == "0"


def test_a_broken_reload_changes_nothing(box):
    collector = box.collector()
    box.configure({"main": collector.url})
    box.systemctl("start", "uplinkd")
    process = box.show("MainPID")
    with open(box.path("/etc/uplinkd/uplinkd.conf"), "a") as file:
        file.write('[Destination "other"]\nURL=gopher://nowhere\nTimeout=soon\n')
    lines = open(box.path("/etc/uplinkd/uplinkd.conf")).read().splitlines()
    assert box.systemctl("reload", "uplinkd", check=False).returncode != 0
    assert (box.show("ActiveState"), box.show("SubState"), box.show("MainPID")) == ("active", "running", process)
    until(lambda: any(entry.get("MESSAGE_ID") == RELOAD_REFUSED for entry in box.journal()), 10, "it is logged")
    for line in (len(lines) - 1, len(lines)):
        place = f"/etc/uplinkd/uplinkd.conf:{line}:"
        assert any(place in str(entry["MESSAGE"]) for entry in box.journal()), place
    asked = box.exec("uplinkctl", "reload", check=False)
    assert asked.returncode == 1 and f"/etc/uplinkd/uplinkd.conf:{len(lines)}:" in asked.stderr
    assert [each["name"] for each in box.status()["destinations"]] == ["main"]
    box.post([1])
    until(lambda: collector.numbers() == [1], 10, "the old configuration is in force")
    box.configure({"main": collector.url})
    box.systemctl("reload", "uplinkd")
    assert box.show("MainPID") == process


def test_restart_under_load_refuses_and_resets_nobody(box):
    collector = box.collector()
    box.configure({"main": collector.url})
    box.systemctl("start", "uplinkd")
    clients = Client.four(box.events, pause=0.02)
    for _ in range(10):
        before = {client: len(client.acknowledged) for client in clients}
        until(lambda: all(len(client.acknowledged) >= before[client] + 20 for client in clients), 30, "all go on")
        box.systemctl("restart", "uplinkd")
    acknowledged = finish(clients)
    assert len(acknowledged) >= 4 * 20 * 10
    until(lambda: box.destination()["ledger"]["queued"] == 0, 30, "nothing is queued")
    numbers = collector.numbers()
    # An orderly stop leaves no doubt: what was not acknowledged was not taken, and nothing is sent twice.
    assert set(numbers) == acknowledged
    assert len(numbers) == len(acknowledged)
    assert all(client.connections >= 10 for client in clients)
    assert box.show("NRestarts") == "0"


def test_the_watchdog_ends_a_frozen_loop_and_nothing_else(box):
    box.configure({"main": "http://127.0.0.1:9/"})
    box.drop_in("[Service]\nWatchdogSec=3\nTimeoutAbortSec=1\n")
    box.systemctl("start", "uplinkd")
    box.post(range(100))
    time.sleep(7)
    assert box.show("NRestarts") == "0", "being offline is healthy"
    process = box.show("MainPID")
    box.sh(f"kill -STOP {process}")
    waiting = LineClient(box.events, timeout=30)
    waiting.send(b'{"n":100}\n')
    until(lambda: box.show("NRestarts") == "1", 20, "systemd restarts it")
    until(lambda: box.show("ActiveState") == "active", 10, "it is active again")
    assert box.show("MainPID") != process
    assert any("Watchdog timeout" in str(entry["MESSAGE"]) for entry in box.journal())
    box.post([101])
    ledger = box.destination()["ledger"]
    assert ledger["accepted"] == ledger["queued"] >= 101


def test_the_journal_has_the_fields(box):
    collector = box.collector(script=Script(status=503))
    box.configure({"main": collector.url})
    box.systemctl("start", "uplinkd")
    box.post(range(20))
    until(lambda: len(collector.posts()) > 0, 10, "it is tried")
    collector.script = Script()
    until(lambda: len(collector.numbers()) == 20, 15, "all events arrive")
    collector.script = Script(close=True)
    collector.stop()
    box.post([20])
    box.until_state("unreachable")
    box.systemctl("stop", "uplinkd")
    entries = {entry["MESSAGE_ID"]: entry for entry in box.journal() if entry["SYSLOG_IDENTIFIER"] == "uplinkd"}
    assert all(len(identifier) == 32 for identifier in entries)
    for entry in entries.values():
        assert entry["_TRANSPORT"] == "journal" and entry["_SYSTEMD_UNIT"] == "uplinkd.service"
        assert entry["PRIORITY"] in "34567" and entry["MESSAGE"]
    assert entries[STARTED]["UPLINK_FILE"] == "/etc/uplinkd/uplinkd.conf"
    up = entries[DESTINATION_CHANGED]
    assert (up["UPLINK_DESTINATION"], up["UPLINK_STATE"], up["PRIORITY"]) == ("main", "reachable", "5")
    down = entries[DESTINATION_LOST]
    assert (down["UPLINK_DESTINATION"], down["UPLINK_STATE"]) == ("main", "unreachable")
    assert down["UPLINK_REASON"] in ("refused", "reset")
    assert int(entries[FLUSHED]["UPLINK_EVENTS"]) == 20
    found = box.exec("journalctl", "-q", "UPLINK_DESTINATION=main", "UPLINK_STATE=unreachable", "-x", "-n", "1").stdout
    assert "Destination main is unreachable" in found and "dns of its name" in found, "the catalog explains it"


def test_stop_waits_for_no_collector(box):
    collector = box.collector()
    box.configure({"main": collector.url})
    box.systemctl("start", "uplinkd")
    box.until_state("reachable")
    collector.script = Script(silent=True)
    box.post(range(2000))
    until(lambda: collector.posts(), 10, "a request hangs")
    began = time.monotonic()
    box.systemctl("stop", "uplinkd")
    assert time.monotonic() - began < 8, "five seconds, and what systemctl takes"
    assert (box.show("Result"), box.show("ExecMainStatus"), box.show("ActiveState")) == ("success", "0", "inactive")
    collector.script = Script()
    box.systemctl("start", "uplinkd")
    until(lambda: len(set(collector.numbers())) == 2000, 10, "what waited is delivered after the next start")
    assert collector.numbers() == list(range(2000)), "once each, in order"
    with collector.lock:
        assert all(event["was_queued"] == "true" for event in collector.taken)


def test_a_bad_configuration_keeps_the_sockets(box):
    good = open(box.path("/etc/uplinkd/uplinkd.conf")).read()
    with open(box.path("/etc/uplinkd/uplinkd.conf"), "w") as file:
        file.write("[Queue]\nMaxSize=much\n")
    assert box.systemctl("start", "uplinkd", check=False).returncode != 0
    assert (box.show("ActiveState"), box.show("ExecMainStatus"), box.show("NRestarts")) == ("failed", "78", "0")
    assert "/etc/uplinkd/uplinkd.conf:2:" in box.show("StatusText")
    assert any("/etc/uplinkd/uplinkd.conf:2:" in str(entry["MESSAGE"]) for entry in box.journal())
    waiting = LineClient(box.events, timeout=60)
    waiting.send(b'{"n":1}\n')
    time.sleep(5)
    attempts = sum(entry.get("MESSAGE_ID") == STARTED for entry in box.journal())
    assert 2 <= attempts <= 12, "the client's wait starts it again and again, but not in a busy loop"
    assert box.show("ActiveState", "uplinkd-events.socket") == "active"
    assert box.show("ActiveState", "uplinkd-control.socket") == "active"
    with open(box.path("/etc/uplinkd/uplinkd.conf"), "w") as file:
        file.write(good)
    assert waiting.answer() == {"accepted": 1}, "the client that waited is served, without any command"
    waiting.close()
    until(lambda: box.show("ActiveState") == "active", 10, "it is active")
    box.post([2])


def test_the_sandbox_lets_the_network_be_watched(box):
    collector = box.peer_collector(script=Script(headers={"X-Collector": "yes"}))
    box.configure({"main": PEER_URL}, PEER_SETTINGS, "[Reachability]\nCheckInterval=60s\n")
    box.systemctl("start", "uplinkd")
    box.post(range(5))
    until(lambda: collector.numbers() == list(range(5)), 15, "online, it is delivered")
    assert box.status()["network"]["connection_type"] == "ethernet"
    for turn, (off, on) in enumerate((("carrier-off", "carrier-on"), ("down", "up"))):
        box.link(off)
        box.until_state("no-path")
        numbers = range(100 * (turn + 1), 100 * (turn + 1) + 50)
        box.post(numbers)
        box.link(on)
        until(lambda: collector.numbers()[-50:] == list(numbers), 20, "delivered long before the next check is due")
        with collector.lock:
            assert {(event["was_queued"], event["queue_reason"]) for event in collector.taken[-50:]} == {
                ("true", "connectivity")}
    assert len(collector.numbers()) == 105


@pytest.mark.parametrize("how", ["reboot", "crash", "power cut"])
def test_comes_back_after(box, disks, how):
    """With a backlog and with clients at work; a power cut also takes from the disk what was not synced."""
    with contextlib.ExitStack() as stack:
        if how == "power cut":
            stack.enter_context(box.queue_on(disks("xfs", 400)))
        collector = box.peer_collector(script=Script(headers={"X-Collector": "yes"}))
        box.configure({"main": PEER_URL}, PEER_SETTINGS)
        box.systemctl("start", "uplinkd")
        box.until_state("reachable")
        box.link("carrier-off")
        box.until_state("no-path")
        box.post(range(300))
        with clients(box) as made:
            all_go_on(made)
            if how == "power cut":
                run("xfs_io", "-x", "-c", "shutdown", box.path(QUEUE))
            box.again("reboot" if how == "reboot" else "crash")
            assert box.show("ActiveState") == "active", "it was enabled"
            all_go_on(made)
        until(lambda: box.destination()["ledger"]["queued"] == 0, 30, "nothing is queued")
        numbers = collector.numbers()
        assert numbers[:300] == list(range(300)), "the oldest first"
        assert acknowledged(made) <= set(numbers) and len(set(numbers)) == len(numbers), "all, once"
        ledger = box.destination()["ledger"]
        assert ledger["accepted"] == ledger["delivered"] == len(numbers)


def test_a_boot_without_carrier(box):
    """Active and offline, not restarted; all is sent once there is a carrier."""
    collector = box.peer_collector(script=Script(headers={"X-Collector": "yes"}))
    box.configure({"main": PEER_URL}, PEER_SETTINGS)
    box.again("reboot", "dark")
    box.wait_without_a_path(collector)
    box.link("carrier-on")
    until(lambda: collector.numbers() == list(range(100)), 20, "all of it is sent")
    assert box.show("NRestarts") == "0"


def test_a_killed_daemon_comes_back_and_its_clients_wait(box):
    box.configure({"main": "http://127.0.0.1:9/"})
    box.systemctl("start", "uplinkd")
    box.post(range(50))
    process = box.show("MainPID")
    box.sh(f"kill -KILL {process}")
    box.post([50])  # connects while nobody listens but systemd
    assert box.show("MainPID") not in ("0", process)
    assert box.show("NRestarts") == "1"
    assert box.destination()["ledger"]["queued"] == 51


def test_a_journal_that_ends_takes_nothing_with_it(box):
    box.configure({"main": "http://127.0.0.1:9/"})
    box.systemctl("start", "uplinkd")

    def reloads_told():
        return sum(entry.get("MESSAGE_ID") == RELOADED for entry in box.journal())

    for signal in ("TERM", "KILL"):
        before = reloads_told()
        box.sh(f"systemctl kill -s {signal} systemd-journald")
        box.post([1])
        until(lambda: box.systemctl("reload", "uplinkd") and reloads_told() > before, 10, "lines are written again")
    assert box.show("NRestarts") == "0"
    assert box.status()["intake"]["accepted"] == 2
