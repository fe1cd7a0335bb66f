"""What operators do by hand: sockets that they may not use, a configuration with errors, metrics."""
import contextlib
import grp
import os
import pty
import re
import shutil
import subprocess

import pytest

from harness import ROOT, UPLINKCTL, UPLINKD, Script, request, until

# .ci/packages takes it from the package prometheus.
PROMTOOL = os.path.join(ROOT, ".run", "promtool", "usr", "bin", "promtool")
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


@pytest.mark.parametrize("words, socket, group, is_opened", [
    (["send"], "events", "daemon", True), (["status"], "control", "uucp", False),
    (["queue", "ls"], "control", "uucp", False),
])
def test_a_refused_socket_says_how_to_get_in(daemons, home, words, socket, group, is_opened):
    daemon = daemons()
    daemon.write_configuration()
    with open(daemon.configuration) as file:
        text = file.read()
    text = text.replace(f"Socket={daemon.events}", f"Socket={daemon.events}\nSocketGroup=daemon")
    text = text.replace(f"Socket={daemon.control}", f"Socket={daemon.control}\nSocketGroup=uucp")
    with open(daemon.configuration, "w") as file:
        file.write(text)
    daemon.start()
    for folder in (home, daemon.home):
        os.chmod(folder, 0o755)
    programs = os.path.join(home, "uplinkctl")
    shutil.copy(UPLINKCTL, programs)
    path = getattr(daemon, socket)
    command = [programs, *words, "--socket", path]
    done = subprocess.run(NOBODY + command, input='{"n":1}', capture_output=True, text=True)
    assert done.returncode == 77 and not done.stdout, done
    assert done.stderr.splitlines()[:4] == [
        f"uplinkctl: not allowed to talk to {path}",
        f"  Members of the group {group} may. To join it:",
        f'      sudo usermod -aG {group} "$USER"',
        "  and log in again: a group counts from the next login on.",
    ], done.stderr
    assert ("sudo systemctl edit uplinkd-events.socket" in done.stderr) == is_opened
    # Whoever does as it says gets in.
    member = ["setpriv", "--reuid=65534", "--regid=65534", f"--groups={grp.getgrnam(group).gr_gid}"]
    done = subprocess.run(member + command, input='{"n":1}', capture_output=True, text=True)
    assert done.returncode == 0, done


BROKEN = {
    "a bad size": ("[Queue]\nMaxSize=12Q\n", 1),
    "three at once": ("[Queue]\nMaxSize=1\nBlock=7\n[Intake]\nSocketMode=9\n", 3),
    "a line that is none": ("nonsense\n", 1), "no URL": ('[Destination "a"]\n', 1),
    "a check elsewhere": ('[Destination "a"]\nURL=https://a.example/\nCheckURL=https://b.example/\n', 1),
    "plain http": ('[Destination "a"]\nURL=http://a.example/\n', 1),
    "an own header": ('[Destination "a"]\nURL=https://a.example/\nHeader=Host: x\n', 1),
    "a warning": ("[Queue]\nMaxSise=1G\n", 0), "a missing file": (
        '[Destination "a"]\nURL=https://a.example/\nTokenFile=/nowhere/token\n', 0),
}


@pytest.mark.parametrize("text, errors", BROKEN.values(), ids=BROKEN)
def test_config_check_and_the_daemon_agree(tmp_path, text, errors):
    file = tmp_path / "x.conf"
    file.write_text(text)
    asked = subprocess.run([UPLINKCTL, "config", "check", file], capture_output=True, text=True)
    daemon = subprocess.run([UPLINKD, "--config", file, "--check"], capture_output=True, text=True)

    def places(lines):
        return [line.split(" ")[:2] for line in lines]

    assert places(asked.stdout.splitlines()[:-1]) == places(daemon.stderr.splitlines()), (asked, daemon)
    assert (asked.returncode, daemon.returncode) == ((1, 78) if errors else (0, 0))
    assert asked.stdout.count(": error: ") == errors and asked.stdout.startswith(f"{file}:")


@pytest.mark.skipif(not os.path.exists(PROMTOOL), reason="promtool is not in .run")
def test_metrics_are_what_prometheus_takes(daemons, collector):
    collector.script = Script(status=400)
    daemon = daemons(destinations={"main": collector.url, "a-b": "http://127.0.0.1:9/x"}).start()
    daemon.post_numbers(range(3))
    code, headers, body = request(daemon.control, "GET", "/metrics")
    assert code == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4")
    done = subprocess.run([PROMTOOL, "check", "metrics"], input=body, capture_output=True)
    assert done.returncode == 0 and not done.stdout and not done.stderr, done


def test_a_flush_shows_on_a_terminal_how_far_it_has_come(daemons, collector):
    """With a carriage return, on standard error, and gone at the end; elsewhere there is none of it."""
    collector.script = Script(status=503, headers={"Retry-After": "600"})
    daemon = daemons(url=collector.url, options="BatchMaxEvents=10\nFlushSpread=0").start()
    daemon.post_numbers(range(100))
    until(lambda: daemon.destination()["flags"] == ["throttled"], 10, "throttled")
    collector.script = Script(delay=0.2)
    ours, theirs = pty.openpty()
    flush = [UPLINKCTL, "flush", "--socket", daemon.control]
    done = subprocess.run(flush, stdout=subprocess.PIPE, stderr=theirs, text=True)
    os.close(theirs)
    shown = ""
    with contextlib.suppress(OSError):
        while piece := os.read(ours, 65_536):
            shown += piece.decode()
    os.close(ours)
    assert done.returncode == 0 and done.stdout == "main is tried now\n" and "\n" not in shown, (done, shown)
    steps = [int(each) for each in re.findall(r"\r\[[#.]{30}\] \d+ %, (\d+) of 100 events have left", shown)]
    assert len(steps) >= 3 and steps == sorted(steps), shown
    assert not shown.split("\r")[-2].strip() and shown.endswith("\r"), shown
    assert sorted(collector.numbers()) == list(range(100)), "it is watched to the end"
    collector.script = Script()
    done = subprocess.run(flush, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("main has nothing to be sent\n", "")


def examples(page):
    """The lines of a manual page's examples, as they are read."""
    with open(os.path.join(ROOT, "Documentation", "man", page + ".in")) as file:
        text = file.read().split(".SH EXAMPLES\n.EX\n")[1].split("\n.EE")[0]
    return text.replace("\\-", "-").replace("\\e", "\\")


@pytest.mark.parametrize("page", ["uplinkctl.1", "uplinkd.8", "uplinkd-protocol.7"])
def test_examples_of_the_manual_run(daemons, collector, home, page):
    """As they stand, but for where the sockets and files are, and without the journal, which is not this daemon's."""
    daemon = daemons(url=collector.url).start()
    for line in examples(page).splitlines():
        if line.startswith("journalctl"):
            continue
        command = line.replace("/run/uplinkd", daemon.home).replace("/var/lib/uplinkd", daemon.queue)
        command = command.replace("/etc/uplinkd/uplinkd.conf", daemon.configuration)
        environment = {"PATH": f"{os.path.dirname(UPLINKCTL)}:/usr/bin:/bin", "UPLINKCTL_SOCKET": daemon.control,
                       "UPLINKD_SOCKET": daemon.events}
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, timeout=30,
                              env=environment)
        assert done.returncode == 0 and done.stdout, (line, done)


def test_example_of_a_configuration_is_good(tmp_path):
    file = tmp_path / "x.conf"
    token = tmp_path / "token"
    token.write_text("secret")
    file.write_text(examples("uplinkd.conf.5").replace("/etc/uplinkd/token", str(token)))
    done = subprocess.run([UPLINKCTL, "config", "check", file], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"{file}: good\n"), done
    shown = subprocess.run([UPLINKCTL, "config", "show", file], capture_output=True, text=True).stdout
    assert re.search(rf"^TokenFile={token} +{file}:3$", shown, re.M) and "secret" not in shown, shown
