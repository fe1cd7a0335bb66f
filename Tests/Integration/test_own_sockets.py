"""Sockets: one that the daemon makes is right from the first instant, one that it was passed it never touches."""
import grp
import os
import re
import shutil
import socket
import stat
import threading

import pytest

from harness import UPLINKD, request, until

GROUP = grp.getgrnam("nogroup")
SETTINGS = "[Intake]\nSocketMode=0660\nSocketGroup=nogroup\n[Control]\nSocketMode=0600\nSocketGroup=nogroup"
FILE_CALLS = "bind,listen,chmod,fchmod,fchmodat,chown,fchown,fchownat,lchown,rename,renameat,renameat2,unlink,unlinkat"


def look(path):
    status = os.stat(path)
    assert stat.S_ISSOCK(status.st_mode)
    return stat.S_IMODE(status.st_mode), status.st_gid, status.st_ino


def test_right_from_the_first_instant(daemons):
    """Whoever looks without pause sees nothing, or the mode and the group asked for, and can connect at once."""
    seen, failed = set(), []
    enough = threading.Event()

    def watch(path):
        while not enough.is_set():
            try:
                seen.add(look(path)[:2])
                with socket.socket(socket.AF_UNIX) as link:
                    link.connect(path)
            except FileNotFoundError:
                continue
            except ConnectionRefusedError:
                failed.append(path)

    daemon = daemons(sections=SETTINGS)
    watcher = threading.Thread(target=watch, args=(daemon.events,))
    watcher.start()
    for _ in range(10):
        daemon.start()
        daemon.stop()
        # The socket of a daemon that is gone refuses; it is there until the next start takes its place.
        if os.path.exists(daemon.events):
            os.unlink(daemon.events)
        failed.clear()
    enough.set()
    watcher.join(10)
    assert seen == {(0o660, GROUP.gr_gid)}


def calls(trace):
    with open(trace) as file:
        return re.findall(r"(\w+)\((.*)\) += 0$", file.read(), re.M)


def test_the_order_of_calls(daemons, home):
    """The path appears by a rename, after bind, listen, chown and chmod under another name, and is not touched again."""
    trace = os.path.join(home, "trace")
    daemon = daemons(sections=SETTINGS, wrap=[shutil.which("strace"), "-f", "-e", f"trace={FILE_CALLS}", "-o", trace])
    daemon.start()
    assert look(daemon.events)[:2] == (0o660, GROUP.gr_gid)
    assert look(daemon.control)[:2] == (0o600, GROUP.gr_gid)
    assert not [name for name in os.listdir(daemon.home) if name.endswith("~")]
    daemon.stop()
    for path in (daemon.events, daemon.control):
        other = path[:-1] + "~"
        mine = [(name, words) for name, words in calls(trace) if f'"{other}"' in words or f'"{path}"' in words]
        assert [name for name, _ in mine][:3] == ["bind", "chown", "chmod"], mine
        assert mine[3][0].startswith("rename") and f'"{path}"' in mine[3][1], mine
        assert all(f'"{path}"' not in words for name, words in mine[:3]), mine


@pytest.mark.parametrize("kind", ["a file", "a folder"])
def test_what_has_the_other_name_is_left_alone(daemons, kind):
    daemon = daemons(sections=SETTINGS)
    other = daemon.events[:-1] + "~"
    if kind == "a file":
        with open(other, "w") as file:
            file.write("mine")
    else:
        os.mkdir(other)
    daemon.start(wait=False)
    assert daemon.process.wait(10) == 73
    assert os.path.exists(other) and not os.path.exists(daemon.events)


PASS = """
import os, socket, sys
paths = sys.argv[1:3]
for number, path in enumerate(paths, 3):
    made = socket.socket(socket.AF_UNIX)
    made.bind(path)
    made.listen(16)
    os.chmod(path, 0o604)
    os.chown(path, -1, 65534)
    os.dup2(made.fileno(), 100 + number)
for number in (3, 4):
    os.dup2(100 + number, number)
    os.set_inheritable(number, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="2", LISTEN_FDNAMES="events:control")
os.execv(sys.argv[3], sys.argv[3:])
"""


def test_passed_sockets_are_never_touched(daemons, home):
    """No call names them, over start, reload and stop; they keep inode, mode and group."""
    trace = os.path.join(home, "trace")
    daemon = daemons(sections=SETTINGS)
    daemon.wrap = [shutil.which("strace"), "-f", "-e", f"trace=execve,{FILE_CALLS}", "-o", trace,
                   "/usr/bin/python3", "-c", PASS, daemon.events, daemon.control]
    daemon.start()
    before = [look(path) for path in (daemon.events, daemon.control)]
    assert [each[:2] for each in before] == [(0o604, 65534)] * 2
    assert request(daemon.control, "POST", "/v1/reload")[0] < 300
    assert request(daemon.events, "POST", "/v1/events", b'{"n":1}')[0] == 202
    daemon.stop()
    assert [look(path) for path in (daemon.events, daemon.control)] == before
    with open(trace) as file:
        _, started, after = file.read().partition(f'execve("{UPLINKD}"')
    assert started
    named = [line for line in after.splitlines()[1:] if daemon.events in line or daemon.control in line]
    assert not named, named
    until(lambda: daemon.process.poll() is not None, 5, "it is gone")
