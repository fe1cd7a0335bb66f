"""What an administrator changes about the units, and what goes wrong around them: each has been somebody's bug."""
import contextlib
import os
import re
import shutil
import stat
import threading
import time

import pytest

from box import PEER_SETTINGS, PEER_URL, UNITS
from harness import ROOT, LineClient, Script, until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a systemd of its own needs root")
EXAMPLES = os.path.join(ROOT, "systemd/examples/uplinkd.service.d")


def use(box, *names):
    """Puts those examples in place of earlier ones, and restarts the service."""
    folder = box.path("/etc/systemd/system/uplinkd.service.d")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for name in names:
        shutil.copy(os.path.join(EXAMPLES, name), folder)
    box.systemctl("daemon-reload")
    done = box.systemctl("restart", "uplinkd", check=False)
    assert done.returncode == 0, done.stderr + box.sh("journalctl -n 20 -u uplinkd").stdout


def test_every_example_can_be_taken(box):
    """systemd finds no fault with a unit that has it, and the daemon runs; what systemd is too old for is told."""
    box.configure()
    version = int(box.systemctl("--version").stdout.split()[1])
    for name in sorted(os.listdir(EXAMPLES)):
        if name == "credential.conf":
            with open(box.path("/etc/uplinkd/token"), "w") as file:
                file.write("secret")
        use(box, name)
        said = box.systemctl("show", "uplinkd", "-p", "LoadError,NeedDaemonReload,DropInPaths").stdout
        assert name in said and "NeedDaemonReload=no" in said
        checked = box.sh("systemd-analyze verify --man=no uplinkd.service 2>&1", check=False).stdout
        if name == "notify-reload.conf" and version < 253:
            assert "notify-reload" in checked
        else:
            assert checked == "", (name, checked)
        box.post([1])


def test_a_dynamic_user_and_back(box):
    """The queue moves to the private folder and back with all that it holds."""
    box.configure({"main": "http://127.0.0.1:9/"})
    box.systemctl("start", "uplinkd")
    box.post(range(1000))
    use(box, "dynamic-user.conf")
    assert stat.S_ISLNK(os.lstat(box.path("/var/lib/uplinkd")).st_mode)
    assert box.destination()["ledger"]["queued"] == 1000
    box.post(range(1000, 1100))
    box.systemctl("reload", "uplinkd")
    use(box)
    assert stat.S_ISDIR(os.lstat(box.path("/var/lib/uplinkd")).st_mode)
    collector = box.collector()
    box.configure({"main": collector.url})
    box.systemctl("reload", "uplinkd")
    until(lambda: len(collector.numbers()) == 1100, 20, "all events arrive")
    assert collector.numbers() == list(range(1100)), "once, in order"


def test_a_credential_is_the_token(box):
    """It is sent; a new one counts after a restart, as the example says."""
    collector = box.collector()
    token = "TokenFile=/run/credentials/uplinkd.service/collector-token\n"
    box.configure({"main": collector.url}, options="RetryMin=250ms\nFlushSpread=0\n" + token)

    def write(text):
        with open(os.open(box.path("/etc/uplinkd/token"), os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)

    def sent(number):
        box.post([number])
        until(lambda: number in collector.numbers(), 10, "it arrives")
        return collector.posts()[-1][3]["authorization"]

    write("first")
    use(box, "credential.conf")
    assert sent(1) == "Bearer first"
    write("second")
    use(box, "credential.conf")
    assert sent(2) == "Bearer second"


def test_an_address_list_is_in_force(box):
    """The collector, which is not on the list, is not reached; taken off, it gets everything."""
    collector = box.peer_collector(script=Script(headers={"X-Collector": "yes"}))
    box.configure({"main": PEER_URL}, PEER_SETTINGS + "ConnectTimeout=1s\n")
    use(box, "address-list.conf")
    box.post(range(20))
    box.until_state("unreachable")
    assert collector.numbers() == []
    use(box)
    until(lambda: collector.numbers() == list(range(20)), 20, "all events arrive")


def test_everybody_may_post(box):
    """With the example for the socket; who may ask stays as it was."""
    folder = box.path("/etc/systemd/system/uplinkd-events.socket.d")
    shutil.copytree(os.path.join(EXAMPLES, "../uplinkd-events.socket.d"), folder)
    try:
        box.sh("systemctl daemon-reload; systemctl restart uplinkd-events.socket")
        box.configure()
        posted = box.exec("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "sh", "-c",
                          "echo '{}' | nc -N -U /run/uplinkd/events.sock; uplinkctl status", check=False)
        assert posted.stdout == '{"accepted":1}\n' and posted.returncode == 77, posted
    finally:
        shutil.rmtree(folder)


def test_the_folders_are_made(box):
    """The queue's and the sockets' folder are gone: the units make them."""
    box.sh(f"systemctl stop {' '.join(UNITS)}; rm -rf /var/lib/uplinkd /run/uplinkd")
    box.configure()
    box.systemctl("start", "uplinkd")
    box.post([1])
    assert stat.S_IMODE(os.lstat(box.path("/var/lib/uplinkd")).st_mode) == 0o700


def test_private_users_know_nobody(box):
    """Every client's user reads as nobody's; who may post is still decided by the socket's group."""
    box.configure()
    box.drop_in("[Service]\nPrivateUsers=yes\n")
    box.systemctl("start", "uplinkd")
    box.post([1])
    refused = box.exec("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "sh", "-c",
                       "echo '{}' | nc -N -U /run/uplinkd/events.sock", check=False)
    assert refused.returncode != 0 and refused.stdout == ""


def test_a_crash_loop_keeps_the_clients(box):
    """Far over any start limit, with clients waiting on both sockets; each is served once the fault is gone."""
    box.configure()
    box.drop_in("[Service]\nRestartSec=100ms\nExecStart=\nExecStart=/bin/sh -c 'sleep 0.05; kill -SEGV $$'\n")
    waiting = [LineClient(box.events, timeout=60) for _ in range(5)]
    for number, client in enumerate(waiting):
        client.send(b'{"n":%d}\n' % number)
    asked = []
    asker = threading.Thread(target=lambda: asked.append(box.exec("uplinkctl", "--json", "status", check=False)))
    asker.start()
    until(lambda: int(box.show("NRestarts")) >= 10, 30, "it crashes again and again")
    for unit in UNITS[:2]:
        assert (box.show("ActiveState", unit), box.show("Result", unit)) == ("active", "success"), unit
    late = LineClient(box.events, timeout=60)
    late.send(b'{"n":5}\n')
    shutil.rmtree(box.path("/etc/systemd/system/uplinkd.service.d"))
    box.systemctl("daemon-reload")
    for client in waiting + [late]:
        assert client.answer() == {"accepted": 1}, "served after the cure, without any command"
        client.close()
    asker.join(40)
    assert not asker.is_alive()
    assert box.status()["intake"]["accepted"] == 6


def test_however_often_it_is_started(box):
    """Whoever posts right after `systemctl start` came back is answered, also the tenth time within seconds."""
    box.configure({"main": "http://127.0.0.1:9/"})
    starts = int(os.environ.get("UPLINKD_STARTS", "10"))
    for number in range(starts):
        box.sh(f"systemctl stop {' '.join(UNITS)}; systemctl start uplinkd")
        box.post([number])
    assert box.destination()["ledger"]["queued"] == starts


@pytest.mark.parametrize("harm, status", [
    ("rm -rf /var/lib/uplinkd/FORMAT", 74),
    ("chown root: /var/lib/uplinkd/FORMAT", None),
    ("printf '[Destination \"x\"]\\nURL=nowhere\\n' > /etc/uplinkd/uplinkd.conf", 78),
])
def test_a_start_that_fails_is_a_failure(box, harm, status):
    """Never "Started"; the exit status says what for, the status what to mend."""
    box.configure()
    box.systemctl("start", "uplinkd")
    box.post([1])
    box.sh(f"systemctl stop {' '.join(UNITS)}")
    box.sh(harm)
    box.drop_in("[Service]\nRestart=no\n")
    assert box.systemctl("start", "uplinkd", check=False).returncode != 0
    assert box.show("ActiveState") == "failed"
    shown = int(box.show("ExecMainStatus"))
    assert shown == status if status else shown in (74, 77)
    assert box.show("StatusText") != ""


SLOW = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
ssize_t pread(int fd, void *to, size_t size, off_t offset) {
    static int left;
    if (!left) left = atoi(getenv("READS"));
    if (!--left) for (;;) pause();
    usleep(100000);
    return ((__typeof__(&pread))dlsym(RTLD_NEXT, "pread"))(fd, to, size, offset);
}
"""
TRAP = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>
ssize_t pwrite(int fd, const void *from, size_t size, off_t offset) {
    if (memmem(from, size, "trapdoor", 8)) __builtin_trap();
    return ((__typeof__(&pwrite))dlsym(RTLD_NEXT, "pwrite"))(fd, from, size, offset);
}
"""


def test_a_long_start_may_last_as_long_as_it_goes_on(box):
    """The disk takes 0.1 s for each read, the start several times its timeout; with a disk that hangs it is ended."""
    box.configure({"main": "http://127.0.0.1:9/"})
    for number in range(12):
        box.sh("systemctl start uplinkd")
        box.post([number])
        box.systemctl("stop", "uplinkd")
    slowly = box.preload(SLOW)

    def start(reads):
        box.drop_in(f"[Service]\nTimeoutStartSec=2\nRestart=no\n{slowly}Environment=READS={reads}\n")
        began = time.monotonic()
        done = box.systemctl("start", "uplinkd", check=False)
        return done.returncode, time.monotonic() - began

    returned, seconds = start(1_000_000)
    assert returned == 0, box.show("Result")
    assert seconds > 3, "it is slow"
    assert box.destination()["ledger"]["queued"] == 12
    box.systemctl("stop", "uplinkd")
    returned, seconds = start(20)
    assert returned != 0 and box.show("Result") == "timeout" and seconds < 20
    shutil.rmtree(box.path("/etc/systemd/system/uplinkd.service.d"))
    box.systemctl("daemon-reload")
    box.systemctl("start", "uplinkd")
    assert box.destination()["ledger"]["queued"] == 12


def test_a_trap_says_where_and_no_more(box):
    """The journal has functions and lines, but nothing of an event; no core is written; the client comes again."""
    box.configure({"main": "http://127.0.0.1:9/"})
    box.drop_in("[Service]\n" + box.preload(TRAP))
    box.systemctl("start", "uplinkd")
    box.post(range(10))
    process = box.show("MainPID")
    limits = open(box.path(f"/proc/{process}/limits")).read()
    assert re.search(r"^Max core file size +0 +0 ", limits, re.M)
    client = LineClient(box.events, timeout=30)
    client.send(b'{"n":"trapdoor-secret"}\n')
    with contextlib.suppress(ConnectionError):
        assert client.answer() is None, "it was not acknowledged"
    until(lambda: box.show("NRestarts") == "1" and box.show("ActiveState") == "active", 20, "it is restarted")
    said = box.said()
    trace = said[said.index("Program crashed"):]
    for name in ("pwrite", "SegmentWriter", "DiskThread", " in uplinkd"):
        assert name in trace, name
    assert "trapdoor" not in said and "status=4/ILL" in said
    assert box.destination()["ledger"]["queued"] == 10


def test_a_core_holds_no_secret(box):
    """Also where an administrator allows cores: where it was, but nothing that it had in memory."""
    secrets = ["token-secret", "proxy-secret", "header-secret", "event-secret"]
    box.sh(f"echo {secrets[0]} > /etc/uplinkd/token")
    box.configure({"main": PEER_URL}, PEER_SETTINGS + "TokenFile=/etc/uplinkd/token\n"
                  f"Proxy=http://user:{secrets[1]}@127.0.0.1:9\nHeader=X-Key: {secrets[2]}\n")
    box.drop_in("[Service]\nLimitCORE=infinity\nStateDirectory=cores\nWorkingDirectory=/var/lib/cores\n")
    box.systemctl("start", "uplinkd")
    box.post([secrets[3]])
    box.until_state("unreachable")
    process = box.show("MainPID")
    assert open(box.path(f"/proc/{process}/coredump_filter")).read() == "00000010\n"
    box.sh(f"kill -ABRT {process}")
    until(lambda: box.show("NRestarts") == "1" and box.show("ActiveState") == "active", 20, "it is restarted")
    if open("/proc/sys/kernel/core_pattern").read()[0] not in "|/":
        core, = os.listdir(box.path("/var/lib/cores"))
        held = open(box.path(f"/var/lib/cores/{core}"), "rb").read()
        assert held[:4] == b"\x7fELF" and not [secret for secret in secrets if secret.encode() in held]


def test_a_short_watchdog_is_fed(box):
    """Two seconds, and pauses of nearly half of it, as a machine makes that sleeps for a moment."""
    box.configure({"main": "http://127.0.0.1:9/"})
    box.drop_in("[Service]\nWatchdogSec=2\nTimeoutAbortSec=1\n")
    box.systemctl("start", "uplinkd")
    process = box.show("MainPID")
    for _ in range(6):
        box.sh(f"kill -STOP {process}; sleep 0.9; kill -CONT {process}; sleep 0.1")
        box.post([1])
    assert (box.show("NRestarts"), box.show("MainPID")) == ("0", process)


def test_a_journal_that_was_stopped_is_written_again(box):
    """Stopped whole, with its sockets, and started: lines come again, and the daemon did not turn in circles."""
    box.configure({"main": "http://127.0.0.1:9/"})
    box.systemctl("start", "uplinkd")
    process = box.show("MainPID")
    sockets = "systemd-journald.socket systemd-journald-dev-log.socket systemd-journald-audit.socket"

    def used():
        fields = open(box.path(f"/proc/{process}/stat")).read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    box.sh(f"systemctl stop {sockets} systemd-journald.service", check=False)
    before = used()
    for number in range(10):
        box.post([number])
        box.systemctl("reload", "uplinkd")
    box.sh(f"systemctl start {sockets} systemd-journald.service", check=False)
    box.forget_journal()
    until(lambda: box.systemctl("reload", "uplinkd") and box.journal(), 10, "lines are written again")
    assert used() - before < 2, "seconds of the processor"
    assert box.destination()["ledger"]["queued"] == 10
    assert (box.show("NRestarts"), box.show("MainPID")) == ("0", process)
