import os
import shutil
import tempfile

import pytest

pytest.register_assert_rewrite("harness", "intake_box", "disk_case", "disks", "load", "manager", "name_server",
                               "net_box", "peers", "shim")

import box as systemd_box  # noqa: E402
import disks as disk_images  # noqa: E402
import harness  # noqa: E402
import peers  # noqa: E402


@pytest.fixture
def home():
    """A folder on a real disk, short enough for a Unix socket's path."""
    path = tempfile.mkdtemp(prefix="upl-", dir=os.environ.get("UPLINKD_TEST_DIR", "/var/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def disks(home):
    """Makes file systems, of the kind `served` where a device's errors or limits are asked for; gone with the test."""
    made = []

    def make(*words, served=False, **options):
        disk = (disk_images.ServedDisk if served else disk_images.Disk)(home, *words, **options)
        made.append(disk)
        return disk

    yield make
    for disk in made:
        disk.close()


@pytest.fixture
def daemons(home, disks):
    """Makes daemons that are ended with the test, before the file systems go."""
    made = []

    def make(name="d", **options):
        folder = os.path.join(home, name)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        daemon = harness.Daemon(folder, **options)
        made.append(daemon)
        return daemon

    yield make
    for daemon in made:
        for disk in (each for each in (daemon.disk,) if each):
            disk.thaw()
        if daemon.process and daemon.process.poll() is None:
            daemon.kill()


@pytest.fixture
def collector():
    made = harness.Collector()
    yield made
    made.stop()


@pytest.fixture
def network():
    pair = harness.NetworkPair()
    yield pair
    pair.close()


@pytest.fixture
def nginx(home):
    """Starts nginx with a server's block; ended with the test."""
    made = []

    def make(*words, **options):
        made.append(peers.Nginx(home, *words, **options))
        return made[-1].start()

    yield make
    for each in made:
        each.stop()


@pytest.fixture
def proxy(home):
    """Starts a proxy, perhaps with a user and a password; ended with the test."""
    made = []

    def make(*words):
        made.append(peers.Tinyproxy(home, *words))
        return made[-1].start()

    yield make
    for each in made:
        each.stop()


@pytest.fixture(scope="module")
def machine():
    """A systemd of its own, for the tests of a module; one that needs another makes its own."""
    made = systemd_box.Box()
    yield made
    made.down()


@pytest.fixture
def box(machine):
    """The machine as it was at first; what it said is printed where a test fails."""
    machine.reset()
    yield machine
    machine.close_collectors()
    print(machine.sh("systemctl status uplinkd; journalctl -n 60 -o short-precise --after-cursor='%s'" % machine.cursor,
                     check=False).stdout)
