"""The Debian package in a bare Debian: put in, upgraded under load, downgraded, taken out, put in again."""
import os
import re
import stat
import subprocess
import time

import pytest

from box import PEER_SETTINGS, PEER_URL, UNITS
from harness import Script, run, until
from load import Client, finish
from package_box import PackageBox, build_package, repacked

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a systemd of its own needs root")
SOCKETS = UNITS[:2]


@pytest.fixture(scope="module")
def package():
    return build_package()


@pytest.fixture(scope="module")
def others(package, tmp_path_factory):
    """An older and a newer package."""
    folder = str(tmp_path_factory.mktemp("packages"))
    return repacked(package, "0.0.9", folder), repacked(package, "99.0", folder)


@pytest.fixture(scope="module")
def machine():
    made = PackageBox()
    yield made
    made.down()


def test_a_bare_debian_runs_it(box, package):
    assert not [name for name in box.sh("ls /usr/bin /usr/lib /opt /usr/lib/x86_64-linux-gnu").stdout.split()
                if "swift" in name.lower()], "there is no Swift"
    box.install(package)
    for unit in UNITS:
        assert (box.show("ActiveState", unit), box.show("UnitFileState", unit)) == ("active", "enabled"), unit
    assert box.show("StatusText") == "no destination is configured; nothing queued"
    assert box.show("NRestarts") == "0"
    assert "not found" not in box.sh("ldd /usr/sbin/uplinkd /usr/bin/uplinkctl", check=False).stdout
    assert box.sh("dpkg --verify uplinkd").stdout == ""
    users = {line.split(":")[0]: line.strip().split(":") for line in open(box.path("/etc/passwd"))}
    groups = {line.split(":")[0]: int(line.split(":")[2]) for line in open(box.path("/etc/group"))}
    assert int(users["uplinkd"][2]) < 1000 and users["uplinkd"][6] == "/usr/sbin/nologin"
    for path, group in ((box.events, "uplinkd-clients"), (box.control, "uplinkd-admin")):
        about = os.lstat(path)
        assert (stat.S_IMODE(about.st_mode), about.st_uid, about.st_gid) == (0o660, 0, groups[group]), path
    about = os.lstat(box.path("/var/lib/uplinkd"))
    assert (stat.S_IMODE(about.st_mode), about.st_uid) == (0o700, int(users["uplinkd"][2]))
    # What reads them may not be installed, but it is to find them.
    listed = box.sh("dpkg -L uplinkd").stdout.split()
    for name in ("man1/uplinkctl.1.gz", "man5/uplinkd.conf.5.gz", "man5/uplinkd-queue.5.gz",
                 "man7/uplinkd-protocol.7.gz", "man8/uplinkd.8.gz"):
        assert f"/usr/share/man/{name}" in listed
    assert {"/usr/share/doc/uplinkd/messages.md", "/usr/libexec/uplinkd/swift-backtrace"} <= set(listed)
    box.post(range(10))
    said = box.exec("journalctl", "-q", "SYSLOG_IDENTIFIER=uplinkd", "-x", "-n", "1").stdout
    assert "What to do:" in said, "the catalog is in force"
    box.again("reboot")
    assert box.show("ActiveState") == "active"
    assert box.status()["intake"]["accepted"] == 0 and box.status()["queue"]["logs"]["normal"]["events"] == 10


def unbroken(text):
    """Without what lines are broken by, and without Markdown's signs."""
    return re.sub(r"[\s\u2010`*]", "", text)


def test_every_page_and_document_is_sound(package, tmp_path):
    run("dpkg-deb", "-x", package, str(tmp_path))
    program = tmp_path / "usr/sbin/uplinkd"
    symbols = subprocess.check_output(["nm", str(program)])
    assert b"SegmentWriter" in symbols, "a trap has names"
    assert b"_StringProcessing" not in symbols, "a function of String that links a megabyte for regular expressions"
    run("strip", "-o", str(tmp_path / "stripped"), str(program))
    assert os.path.getsize(tmp_path / "stripped") <= 10_000_000
    pages = sorted(str(path) for path in (tmp_path / "usr/share/man").glob("man?/*.gz"))
    assert len(pages) == 5
    for page in pages:
        done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", page], env={**os.environ, "LC_ALL": "C.UTF-8"},
                              capture_output=True, text=True)
        assert done.returncode == 0 and done.stderr == "", (page, done.stderr)
        if "uplinkctl" in page:
            commands = done.stdout
        if "uplinkd.conf" in page:
            settings = done.stdout
        if "uplinkd-queue" in page:
            format = unbroken(done.stdout)
    helped = subprocess.check_output([str(tmp_path / "usr/bin/uplinkctl"), "--help"], text=True)
    names = re.findall(r"^  ([a-z]+(?: [a-z]+)*)", helped.split("Commands:")[1].split("Options:")[0], re.M)
    assert len(names) >= 7
    for name in names:
        assert re.search(rf"^   {name}\b", commands, re.M), name
    keys = re.findall(r"^#([A-Z]\w+=\S*)", (tmp_path / "etc/uplinkd/uplinkd.conf").read_text(), re.M)
    assert len(keys) > 30
    assert settings.count('[Destination "main"]') == 2
    for key in keys:
        assert f"       {key}" in settings, key
    documents = tmp_path / "usr/share/doc/uplinkd"
    rows = re.findall(r"^\| *([^|]*?) *\|(?: *([^|]*?) *\|)? *([^|]*?) *\|$",
                      (documents / "queue-format.md").read_text(), re.M)
    assert len(rows) > 90
    for row in rows:
        if set(row[0]) != {"-"} and row[2]:
            assert unbroken(", ".join(filter(None, row[:2])) + row[2]) in format, row
    messages = (documents / "messages.md").read_text()
    catalog = (tmp_path / "usr/lib/systemd/catalog/uplinkd.catalog").read_text()
    identifiers = re.findall(r"^-- (\w{32})$", catalog, re.M)
    assert len(identifiers) > 30
    assert re.findall(r"^`(\w{32})`$", messages, re.M) == identifiers
    assert messages.count("What to do:") == len(identifiers) and "@" not in messages
    for named in re.findall(r"file:(/usr\S*)", catalog) + re.findall(
            r"file:(/usr\S*)", (tmp_path / "lib/systemd/system/uplinkd.service").read_text()):
        assert (tmp_path / named[1:]).exists(), named


@pytest.mark.parametrize("line, offered", [
    ("", {"status", "send", "verify"}), ("sta", {"status"}), ("send --la", {"--lane"}),
    ("send --lane ", {"urgent", "normal", "bulk"}), ("send --lane=b", {"bulk"}),
    ("send --lane = b", {"bulk"}), ("dead s", {"show"}), ("--json status --ch", {"--check"}), ("flush --ch", set()),
    ("pause ", set()), ("destination forget ", set()), ("send ", {"usr"}), ("verify ", {"usr"}),
])
def test_bash_completes(package, tmp_path, line, offered):
    run("dpkg-deb", "-x", package, str(tmp_path))
    script = """
        . usr/share/bash-completion/completions/uplinkctl
        read -ra COMP_WORDS <<< "uplinkctl $1"
        [[ "$1" != *" " && -n "$1" ]] || COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _uplinkctl
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    done = subprocess.run(["bash", "-c", script, "_", line], cwd=tmp_path, capture_output=True, text=True,
                          env={"PATH": f"{tmp_path}/usr/bin:/usr/bin:/bin"})
    found = set(done.stdout.split())
    assert done.stderr == "" and found >= offered and (offered or not found), done


@pytest.mark.parametrize("line, offered", [
    ("", {"status:how daemon, network and destinations are", "dead:ls, show, retry, drop"}),
    ("sta", {"status:how daemon, network and destinations are"}), ("send --lane=b", {"bulk:"}),
    ("send ", {"_files"}), ("verify ", {"_files -/"}), ("pause ", set()),
])
def test_zsh_completes(package, tmp_path, line, offered):
    """What zsh's completion is told; `_describe` and `_files` are its own."""
    run("dpkg-deb", "-x", package, str(tmp_path))
    script = """
        _describe() { print -l -- "${(@P)2}"; }
        _files() { print -- _files "$@"; }
        compset() { :; }
        words=(uplinkctl ${(s: :)1}); [[ $1 != *" " && -n $1 ]] || words+=("")
        CURRENT=$#words PREFIX=$words[-1]
        . usr/share/zsh/vendor-completions/_uplinkctl
    """
    done = subprocess.run(["zsh", "-fc", script, "_", line], cwd=tmp_path, capture_output=True, text=True,
                          env={"PATH": f"{tmp_path}/usr/bin:/usr/bin:/bin"})
    found = set(filter(None, done.stdout.splitlines()))
    assert done.stderr == "" and found >= offered and (offered or not found), done


def test_upgrade_and_downgrade_under_load(box, package, others):
    """500 events a second, on connections kept and made anew: nobody is refused or reset, and all of it arrives."""
    older, newer = others
    collector = box.collector()
    box.install(older)
    box.configure({"main": collector.url})
    box.systemctl("restart", "uplinkd")
    configuration = open(box.path("/etc/uplinkd/uplinkd.conf")).read()
    sockets = [box.show("InvocationID", unit) for unit in SOCKETS]
    files = [os.lstat(path).st_ino for path in (box.events, box.control)]
    clients = Client.four(box.events, pause=0.02)
    began = time.monotonic()
    processes = [box.show("MainPID")]
    for each, version in ((package, None), (newer, "99.0"), (older, "0.0.9")):
        before = {client: len(client.acknowledged) for client in clients}
        until(lambda: all(len(client.acknowledged) >= before[client] + 50 for client in clients), 30, "all go on")
        box.install(each)
        assert version is None or box.version() == f"{version} installed"
        processes.append(box.show("MainPID"))
    until(lambda: time.monotonic() - began > 6, 10, "some seconds have passed")
    acknowledged = finish(clients)
    seconds = time.monotonic() - began
    print(f"{len(acknowledged) / seconds:.0f} events a second over {seconds:.1f} s")
    assert len(set(processes)) == 4 and "0" not in processes, "each version's daemon runs"
    assert os.readlink(box.path(f"/proc/{processes[-1]}/exe")) == "/usr/sbin/uplinkd", "the program of the package"
    assert [box.show("InvocationID", unit) for unit in SOCKETS] == sockets, "the sockets were not touched"
    assert [os.lstat(path).st_ino for path in (box.events, box.control)] == files
    assert open(box.path("/etc/uplinkd/uplinkd.conf")).read() == configuration
    until(lambda: box.destination()["ledger"]["queued"] == 0, 30, "nothing is queued")
    numbers = collector.numbers()
    assert set(numbers) == acknowledged and len(numbers) == len(acknowledged)


def test_removed_purged_and_put_in_again(box, package):
    """The queue stays through all of it; the configuration until the purge."""
    box.install(package)
    box.configure({"main": "http://127.0.0.1:9/"})
    box.systemctl("restart", "uplinkd")
    box.post(range(100))
    box.exec("dpkg", "--remove", "uplinkd", timeout=60)
    for unit in UNITS:
        assert box.show("LoadState", unit) == "not-found" and box.show("ActiveState", unit) == "inactive", unit
    assert not os.path.exists(box.events) and not os.path.exists(box.control)
    assert os.path.exists(box.path("/var/lib/uplinkd/FORMAT"))
    assert "127.0.0.1:9" in open(box.path("/etc/uplinkd/uplinkd.conf")).read()
    box.install(package)
    ledger = box.destination()["ledger"]
    assert (ledger["accepted"], ledger["queued"]) == (100, 100), "as if it had not been away"
    purged = box.exec("dpkg", "--purge", "uplinkd", timeout=60)
    assert "the queue in /var/lib/uplinkd is kept" in purged.stdout + purged.stderr
    assert not os.path.exists(box.path("/etc/uplinkd"))
    left = box.sh("find / -xdev -name '*uplink*' -not -path '/var/lib/uplinkd*' -not -path '/proc/*' "
                  "-not -path '/var/tmp/*' -not -path '/var/log/*'").stdout
    assert left == "", "nothing else is left"
    collector = box.collector()
    box.install(package)
    box.configure({"main": collector.url})
    box.systemctl("reload", "uplinkd")
    until(lambda: collector.numbers() == list(range(100)), 20, "what was accepted before the purge arrives, once")


def test_an_upgrade_keeps_what_was_decided(box, package, others):
    """A service that was disabled and stopped, or masked, stays so."""
    box.install(others[0])
    box.sh(f"systemctl disable --now {' '.join(UNITS)}")
    box.install(package)
    for unit in UNITS:
        assert box.show("UnitFileState", unit) == "disabled", unit
    box.systemctl("stop", *UNITS)
    box.sh("systemctl mask uplinkd.service")
    box.install(others[1])
    assert box.show("ActiveState") == "inactive" and box.show("UnitFileState") == "masked"
    box.sh("systemctl unmask uplinkd.service")


def test_a_boot_without_a_link(box, package):
    """Active, offline in its status, not restarted; everything is sent when the link comes."""
    collector = box.peer_collector(script=Script(headers={"X-Collector": "yes"}))
    box.install(package)
    box.configure({"main": PEER_URL}, PEER_SETTINGS)
    box.systemctl("restart", "uplinkd")
    box.until_state("reachable")
    box.again("reboot", "unplugged")
    box.wait_without_a_path(collector)
    box.link("plug")
    until(lambda: collector.numbers() == list(range(100)), 20, "flushed")
