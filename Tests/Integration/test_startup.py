"""What the daemon finds at its start: sockets, directories, configurations that are good, odd, or another's."""
import hashlib
import os
import re
import struct
import subprocess

import pytest

from harness import UPLINKD, request, until

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="owners and mounts need root")


def fails(daemon, status):
    """Starts a daemon that must end at once with that status; what it said."""
    daemon.start(wait=False)
    assert daemon.process.wait(10) == status, daemon.read_log()
    return daemon.read_log()


def tree(folder):
    """Names, modes, owners and contents of all below a folder."""
    found = {}
    for base, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(base, name)
            status = os.lstat(path)
            data = open(path, "rb").read() if os.path.isfile(path) else b""
            found[path] = (status.st_mode, status.st_uid, status.st_mtime_ns, hashlib.sha256(data).hexdigest())
    return found


def test_stale_socket(daemons):
    """What a killed daemon left at the sockets' paths is taken over."""
    daemon = daemons().start()
    daemon.kill()
    assert os.path.exists(daemon.events) and os.path.exists(daemon.control)
    daemon.start()
    daemon.post_numbers([1])
    assert daemon.stop() == 0


def test_a_backlog_goes_out_though_nobody_asks(daemons, collector):
    """After a start with events queued and a network that stands still: no client, no message wakes the daemon."""
    collector.stop()
    daemon = daemons(url=collector.url, options="FlushSpread=0").start()
    daemon.post_numbers(range(100))
    daemon.stop()
    collector.start()
    daemon.start(wait=False)
    until(lambda: collector.numbers() == list(range(100)), 5, lambda: daemon.read_log())


@pytest.mark.parametrize("same_sockets", [False, True])
def test_second_daemon_on_a_directory(daemons, collector, same_sockets):
    """It is refused with 74, and the first goes on with all that it has."""
    first = daemons("first", url=collector.url).start()
    second = daemons("second", url=collector.url)
    second.queue = first.queue
    if same_sockets:
        second.events, second.control = first.events, first.control
    second.write_configuration()
    first.post_numbers([1])
    assert first.queue in fails(second, 74)
    first.post_numbers([2])
    until(lambda: collector.numbers() == [1, 2], 10, "the first delivers")
    assert first.assert_ledger()["accepted"] == 2
    assert first.stop() == 0


@pytest.mark.parametrize("which", ["events", "control"])
def test_socket_of_a_live_daemon(daemons, which):
    """Refused with 73; clients of the first notice nothing."""
    first = daemons("first").start()
    second = daemons("second")
    setattr(second, which, getattr(first, which))
    second.write_configuration()
    assert getattr(first, which) in fails(second, 73)
    assert first.post_numbers([1])["accepted"] == 1
    assert first.status()["intake"]["accepted"] == 1
    assert first.stop() == 0


@pytest.mark.parametrize("which", ["events", "control"])
@pytest.mark.parametrize("kind", ["file", "empty file", "folder", "link", "dangling link", "pipe"])
def test_something_else_at_a_sockets_path(daemons, which, kind):
    """Refused with 73, and what lies there is left alone byte for byte."""
    daemon = daemons()
    path = getattr(daemon, which)
    precious = os.path.join(daemon.home, "precious")
    with open(precious, "w") as file:
        file.write("precious")
    match kind:
        case "file": os.link(precious, path)
        case "empty file": open(path, "w").close()
        case "folder": os.mkdir(path)
        case "link": os.symlink(precious, path)
        case "dangling link": os.symlink(precious + "-not", path)
        case "pipe": os.mkfifo(path)
    before = os.lstat(path)
    assert path in fails(daemon, 73)
    after = os.lstat(path)
    assert (before.st_ino, before.st_mtime_ns, before.st_mode) == (after.st_ino, after.st_mtime_ns, after.st_mode)
    assert open(precious).read() == "precious" and not os.path.exists(precious + "-not")


def test_directory_is_missing(daemons):
    daemon = daemons()
    os.rmdir(daemon.queue)
    assert daemon.queue in fails(daemon, 74)
    assert not os.path.exists(daemon.queue)
    open(daemon.queue, "w").close()
    assert daemon.queue in fails(daemon, 74)


def test_directory_with_foreign_files(daemons):
    daemon = daemons()
    with open(os.path.join(daemon.queue, "thesis.tex"), "w") as file:
        file.write("years of work")
    before = tree(daemon.queue)
    assert "thesis.tex" in fails(daemon, 74)
    assert tree(daemon.queue) == before


@as_root
def test_directory_of_another_user(daemons):
    daemon = daemons()
    os.chown(daemon.queue, 1, 1)
    assert "user 1" in fails(daemon, 74)
    assert os.listdir(daemon.queue) == []


@as_root
def test_directory_that_may_not_be_read(daemons):
    """Not root, and the directory of another: 77 or 74, and nothing is harmed."""
    daemon = daemons()
    os.chmod(os.path.dirname(daemon.home), 0o755)
    os.chmod(daemon.home, 0o777)
    daemon.wrap = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    assert daemon.queue in fails(daemon, 77)
    assert os.listdir(daemon.queue) == []


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


@pytest.mark.parametrize("place, value, told", [(12, struct.pack("<H", 2), "2"), (32, struct.pack("<Q", 1 << 40), "")])
def test_newer_format(daemons, place, value, told):
    """A later version, or a feature that must be known: 74, one sentence, and nothing is touched."""
    daemon = daemons().start()
    daemon.post_numbers(range(10))
    daemon.stop()
    path = os.path.join(daemon.queue, "FORMAT")
    page = bytearray(open(path, "rb").read())
    for copy in (0, 2048):
        assert page[copy : copy + 8] == b"UPLINKQ\n"
        assert struct.unpack_from("<I", page, copy + 8)[0] == crc32c(page[copy + 12 : copy + 512])
        page[copy + place : copy + place + len(value)] = value
        struct.pack_into("<I", page, copy + 8, crc32c(page[copy + 12 : copy + 512]))
    with open(path, "wb") as file:
        file.write(page)
    before = tree(daemon.queue)
    open(daemon.log, "w").close()
    said = fails(daemon, 74)
    assert path in said and told in said
    assert tree(daemon.queue) == before


def test_format_in_pieces(daemons):
    """FORMAT unreadable in both copies, or gone beside logs: not a queue, nothing is touched."""
    daemon = daemons().start()
    daemon.post_numbers(range(10))
    daemon.stop()
    path = os.path.join(daemon.queue, "FORMAT")
    with open(path, "r+b") as file:
        file.write(b"\0" * 4096)
    before = tree(daemon.queue)
    fails(daemon, 74)
    assert tree(daemon.queue) == before
    os.unlink(path)
    before = tree(daemon.queue)
    fails(daemon, 74)
    assert tree(daemon.queue) == before


BAD = [
    ("[Queue]\nMaxSize=many\n", r":2:9: "),
    ("[Intake]\nMaxConnections=0\n", r":2:16: "),
    ("[Queue]\nMaxAge=-1s\n", r":2:8: "),
    ("[Destination \"UPPER\"]\nURL=http://127.0.0.1/\n", r":1:\d+: "),
    ("[Destination \"a\"]\n", r":1:\d+: "),
    ("[Destination \"a\"]\nURL=ftp://x/\n", r":2:5: "),
    ("[Destination \"a\"]\nURL=http://198.51.100.1/\n", r":2:5: "),
    ("[Queue\n", r":1:\d+: "),
    ("nonsense\n", r":1:1: "),
    ("[Queue]\nDirectory=\xff\n", r":2:1: "),
    ("[Queue]\n\n\n   MaxSize = 5Q  # no\n", r":4:14: "),
]


@pytest.mark.parametrize("text, place", BAD)
def test_bad_configuration(daemons, text, place):
    """78, and each problem as file:line:column: message; --check says the same."""
    daemon = daemons()
    with open(daemon.configuration, "w", encoding="latin-1") as file:
        file.write(text)
    expected = re.escape(daemon.configuration) + place
    assert re.search(expected, fails(daemon, 78))
    checked = subprocess.run([UPLINKD, "--config", daemon.configuration, "--check"], capture_output=True, text=True)
    assert checked.returncode == 78
    assert re.search("^" + expected, checked.stdout + checked.stderr, re.MULTILINE), checked
    assert os.listdir(daemon.queue) == []


def run(*words):
    return subprocess.run([UPLINKD, *words], capture_output=True, text=True, timeout=10)


def test_check_and_other_arguments(daemons):
    daemon = daemons(url="https://collector.example/in")
    good = run("--config", daemon.configuration, "--check")
    assert (good.returncode, good.stdout + good.stderr) == (0, "")
    with open(daemon.configuration, "a") as file:
        file.write("[Queue]\nMaxSise=5M\n")
    odd = run("--check", "--config=" + daemon.configuration)
    assert odd.returncode == 0 and "MaxSize" in odd.stdout + odd.stderr, odd
    missing = run("--check", "--config", daemon.home + "/none")
    assert missing.returncode == 78 and f"{daemon.home}/none:1:1: " in missing.stdout + missing.stderr
    assert re.fullmatch(r"uplinkd \d+\.\d+\.\d+\n", run("--version").stdout)
    assert "--check" in run("--help").stdout
    for words in (["--chek"], ["now"], ["--config"]):
        wrong = run(*words)
        assert wrong.returncode == 2 and wrong.stdout == "" and words[0] in wrong.stderr, wrong
    assert os.listdir(daemon.queue) == [], "none of these touched the queue"


def test_drop_ins_win(daemons):
    """FILE.d/*.conf is read after FILE, in the order of names, and errors there have their own place."""
    daemon = daemons()
    os.mkdir(daemon.configuration + ".d")
    other = os.path.join(daemon.home, "other.sock")
    for name, text in (("20-b.conf", f"[Intake]\nSocket={other}\n"), ("10-a.conf", "[Intake]\nSocket=/nowhere/a\n")):
        with open(os.path.join(daemon.configuration + ".d", name), "w") as file:
            file.write(text)
    daemon.start()
    assert request(other, "POST", "/v1/events", b'{"n":1}')[0] == 202
    with open(os.path.join(daemon.configuration + ".d", "30-c.conf"), "w") as file:
        file.write("[Intake]\nMaxEventSize=none\n")
    daemon.stop()
    assert "30-c.conf:2:14: " in fails(daemon, 78)


def test_strangers_in_the_queue_are_named_and_left(daemons):
    daemon = daemons().start()
    assert daemon.stop() == 0
    names = [f"stranger-{number}" for number in range(10)]
    for name in names:
        open(os.path.join(daemon.queue, name), "w").close()
    daemon.start()
    until(lambda: "2 more names" in daemon.read_log(), 5, f"the rest is counted\n{daemon.read_log()}")
    assert daemon.read_log().count("left alone: stranger-") == 8
    assert daemon.stop() == 0
    assert set(names) <= set(os.listdir(daemon.queue))
