"""What operators do by hand: sockets that they may not use, a configuration with errors, metrics."""
import grp
import os
import re
import shutil
import subprocess

import pytest

from harness import ROOT, UPLINKCTL, UPLINKD, Script, request

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


@pytest.mark.parametrize("words, socket, group, is_opened", [
    (["send"], "events", "daemon", True), (["status"], "control", "uucp", False), (["queue", "ls"], "control", "uucp", False),
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
    done = subprocess.run(NOBODY + [programs, *words, "--socket", path], input='{"n":1}', capture_output=True, text=True)
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
    done = subprocess.run(member + [programs, *words, "--socket", path], input='{"n":1}', capture_output=True, text=True)
    assert done.returncode == 0, done


BROKEN = {
    "a bad size": ("[Queue]\nMaxSize=12Q\n", 1), "three at once": ("[Queue]\nMaxSize=1\nBlock=7\n[Intake]\nSocketMode=9\n", 3),
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


def promtool():
    """From the package prometheus, unpacked into .run, as 100 MB need not be installed for one check."""
    folder = os.path.join(ROOT, ".run", "promtool")
    tool = os.path.join(folder, "usr", "bin", "promtool")
    if not os.path.exists(tool):
        os.makedirs(folder, exist_ok=True)
        subprocess.run(["apt-get", "-q", "download", "prometheus"], cwd=folder, check=True)
        for name in os.listdir(folder):
            if name.endswith(".deb"):
                subprocess.run(["dpkg-deb", "-x", name, "."], cwd=folder, check=True)
                os.unlink(os.path.join(folder, name))
    return tool


def test_metrics_are_what_prometheus_takes(daemons, collector):
    collector.script = Script(status=400)
    daemon = daemons(destinations={"main": collector.url, "a-b": "http://127.0.0.1:9/x"}).start()
    daemon.post_numbers(range(3))
    code, headers, body = request(daemon.control, "GET", "/metrics")
    assert code == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4")
    done = subprocess.run([promtool(), "check", "metrics"], input=body, capture_output=True)
    assert done.returncode == 0 and not done.stdout and not done.stderr, done


def examples(page):
    """The lines of a manual page's examples, as they are read."""
    with open(os.path.join(ROOT, "Documentation", "man", page)) as file:
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
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, timeout=30, env={
            "PATH": f"{os.path.dirname(UPLINKCTL)}:/usr/bin:/bin", "UPLINKCTL_SOCKET": daemon.control,
            "UPLINKD_SOCKET": daemon.events})
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
