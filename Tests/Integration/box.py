"""A real systemd in namespaces of its own, with uplinkd installed as `make install` does it."""
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time

from harness import BIN, ROOT, collector_in, request, until

BOOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "boot-systemd.sh")
UNITS = ("uplinkd-events.socket", "uplinkd-control.socket", "uplinkd.service")
# Another Debian's tree to boot than this machine's own, such as that of a later release.
OTHER_ROOT = os.environ.get("UPLINKD_BOX_ROOT")
QUEUE = "/var/lib/uplinkd"
SETTINGS = "RetryMin=250ms\nFlushSpread=0\n"
PEER_URL = "http://192.0.2.1:8080/collect"
PEER_SETTINGS = SETTINGS + "PlainHTTP=yes\nExpectHeader=X-Collector\n"


def make(*words):
    """`make` in the checkout with the programs under test; what it prints."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    return subprocess.run(["make", "-C", ROOT, f"BIN_DIR={BIN}", *words], check=True, env=environment,
                          stdout=subprocess.PIPE, text=True).stdout


class Box:
    """One booted system; `root` is its file system, whose sockets take clients from outside, too."""

    def __init__(self):
        self.tree = tempfile.mkdtemp(prefix="upl-tree-", dir="/var/tmp")
        make("-s", "install", f"DESTDIR={self.tree}")
        self.boot("--tree", self.tree)
        self.sh("systemd-sysusers; systemd-tmpfiles --create uplinkd.conf; journalctl --update-catalog")
        self.sh(f"systemctl enable {' '.join(UNITS)}")

    def boot(self, *options):
        if OTHER_ROOT and "--root" not in options:
            options += ("--root", OTHER_ROOT)
        command = [BOOT, "up", "--net", *options, "--limit", "900"]
        self.state = subprocess.check_output(command, text=True).strip()
        self.collectors = []
        self.cursor = ""

    def down(self):
        subprocess.run([BOOT, "down", self.state], check=True)
        if self.tree:
            shutil.rmtree(self.tree)

    def again(self, how, *words):
        """Boots again, after an orderly `reboot` or after a `crash` of everything at once; `unplugged`, or `dark`."""
        subprocess.run([BOOT, how, self.state, *words], check=True)

    def reset(self):
        """As after the installation: sockets listening, no queue, no drop-ins, the shipped configuration."""
        self.link("carrier-on")
        self.sh(f"systemctl stop {' '.join(UNITS)}; rm -rf /etc/systemd/system/uplinkd.service.d /var/lib/uplinkd/*")
        shutil.copy(os.path.join(self.tree, "etc/uplinkd/uplinkd.conf"), self.path("/etc/uplinkd/uplinkd.conf"))
        self.sh("systemctl daemon-reload; systemctl reset-failed; "
                "systemctl start uplinkd-events.socket uplinkd-control.socket")
        self.forget_journal()

    def forget_journal(self):
        """What was logged until now is of no interest."""
        self.cursor = self.sh("journalctl -q -n 0 --show-cursor").stdout.split()[-1]

    def close_collectors(self):
        for each in self.collectors:
            each.stop()
        self.collectors = []

    @property
    def root(self):
        with open(os.path.join(self.state, "pid")) as file:
            return f"/proc/{file.read().strip()}/root"

    def path(self, inside):
        return self.root + inside

    @property
    def events(self):
        return self.path("/run/uplinkd/events.sock")

    @property
    def control(self):
        return self.path("/run/uplinkd/control.sock")

    def exec(self, *command, check=True, timeout=40, **options):
        """Runs a command in the box; exit status, standard output, standard error."""
        done = subprocess.run([BOOT, "exec", self.state, *command], stdin=options.pop("stdin", subprocess.DEVNULL),
                              capture_output=True, text=True, timeout=timeout, **options)
        assert not check or done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def sh(self, script, **options):
        return self.exec("sh", "-c", script, **options)

    def systemctl(self, *words, **options):
        return self.exec("systemctl", *words, **options)

    def show(self, name, unit="uplinkd.service"):
        """A property of a unit."""
        return self.systemctl("show", unit, "-p", name, "--value").stdout.strip()

    def journal(self, *words):
        """The entries of the daemon's unit since `reset`, oldest first, each with its fields."""
        after = f"--after-cursor={self.cursor}"
        lines = self.exec("journalctl", "-q", "-u", "uplinkd", "-o", "json", after, *words).stdout.splitlines()
        return [json.loads(line) for line in lines]

    def said(self):
        """The messages of the daemon's unit since `reset`."""
        return self.exec("journalctl", "-q", "-u", "uplinkd", "-o", "cat", f"--after-cursor={self.cursor}").stdout

    def configure(self, destinations=None, options=SETTINGS, sections="[Reachability]\nCheckInterval=1s\n"):
        """Writes the configuration: destinations by name, options of each, and further sections."""
        with open(self.path("/etc/uplinkd/uplinkd.conf"), "w") as file:
            file.write(sections)
            for name, url in (destinations or {}).items():
                file.write(f'[Destination "{name}"]\nURL={url}\n{options}')

    def drop_in(self, text):
        """Overrides settings of the service."""
        folder = self.path("/etc/systemd/system/uplinkd.service.d")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "test.conf"), "w") as file:
            file.write(text)
        self.systemctl("daemon-reload")

    def preload(self, source):
        """Compiles a library into the box; the line of a unit that has the daemon use it."""
        library = self.path("/usr/local/lib/preload.so")
        command = ["cc", "-O1", "-fno-omit-frame-pointer", "-shared", "-fPIC", "-o", library, "-xc", "-"]
        subprocess.run(command, input=source, text=True, check=True)
        return "Environment=LD_PRELOAD=/usr/local/lib/preload.so\n"

    @contextlib.contextmanager
    def queue_on(self, disk):
        """The queue lies on that file system, also after a boot."""
        about = os.stat(disk.device)
        disk.detach_file_system()
        # What was mounted before a crash may take its time to go, and shows until then.
        script = (f"#!/bin/sh\n[ -e /dev/queue ] || mknod /dev/queue b {os.major(about.st_rdev)} "
                  f"{os.minor(about.st_rdev)}\nfor try in $(seq 100); do\n"
                  f"mount /dev/queue {QUEUE} && touch {QUEUE}/probe && rm {QUEUE}/probe && exit\n"
                  f"umount {QUEUE}\nsleep 0.1\ndone\nexit 1\n")
        unit = ("[Unit]\nBefore=uplinkd.service uplinkd-events.socket uplinkd-control.socket\nDefaultDependencies=no\n"
                "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=sh /usr/local/sbin/queue-disk\n"
                f"ExecStop=umount {QUEUE}\n[Install]\nWantedBy=sockets.target\n")
        for path, text in (("/usr/local/sbin/queue-disk", script), ("/etc/systemd/system/queue-disk.service", unit)):
            with open(self.path(path), "w") as file:
                file.write(text)
        try:
            self.sh(f"mkdir -p {QUEUE}; systemctl daemon-reload; "
                    f"systemctl enable --now queue-disk && rm -rf {QUEUE}/*")
            yield
        finally:
            self.sh(f"fsfreeze -u {QUEUE}", check=False)
            self.sh("systemctl stop uplinkd; systemctl disable --now queue-disk; "
                    "rm /etc/systemd/system/queue-disk.service /dev/queue; systemctl daemon-reload")
            disk.attach_file_system()

    def link(self, how):
        """Switches the link to the peer: carrier-off, carrier-on, down, up; plug after a start without."""
        subprocess.run([BOOT, "net", self.state, how], check=True)

    def collector(self, **options):
        """A collector on the box's own loopback."""
        return self.collect(self.path("/proc/1/ns/net"), "127.0.0.1", **options)

    def peer_collector(self, **options):
        """A collector at the other end of the link, at PEER_URL."""
        with open(os.path.join(self.state, "peerpid")) as file:
            return self.collect(f"/proc/{file.read().strip()}/ns/net", "192.0.2.1", **options)

    def collect(self, namespace, address, **options):
        made = collector_in(namespace, address, **options)
        self.collectors.append(made)
        return made

    def status(self):
        code, _, body = request(self.control, "GET", "/v1/status")
        assert code == 200, body
        return json.loads(body)

    def destination(self, name="main"):
        return next(each for each in self.status()["destinations"] if each["name"] == name)

    def until_state(self, state, name="main", seconds=15):
        until(lambda: self.destination(name)["state"] == state, seconds, f"{name} is {state}")

    def post(self, numbers):
        """Posts one request of events; all are acknowledged."""
        body = json.dumps([{"n": number} for number in numbers])
        code, _, answer = request(self.events, "POST", "/v1/events", body, {"Content-Type": "application/json"}, 30)
        assert code == 202, answer

    def wait_without_a_path(self, collector):
        """Posts 100 events and waits: active and offline, nothing restarted, nothing sent."""
        self.post(range(100))
        end = time.monotonic() + float(os.environ.get("UPLINKD_UNPLUGGED_SECONDS", "8"))
        while time.monotonic() < end:
            assert [self.show(each) for each in ("ActiveState", "SubState", "NRestarts")] == ["active", "running", "0"]
            time.sleep(1)
        assert self.show("StatusText") == "main no-path, 100 queued"
        assert collector.numbers() == []
