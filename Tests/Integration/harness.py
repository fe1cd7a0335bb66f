"""What the integration tests share: the real daemon, clients, a scripted collector, network namespaces.

Every event carries a unique id in its member `n`; a test adds up what was acknowledged, delivered and counted.
"""
import contextlib
import gzip
import http.client
import itertools
import json
import os
import signal
import socket
import socketserver
import subprocess
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("UPLINKD_BIN_DIR") or os.path.join(ROOT, ".build", "release")
UPLINKD = os.path.join(BIN, "uplinkd")
UPLINKCTL = os.path.join(BIN, "uplinkctl")


def until(ready, seconds, what):
    """Waits until `ready` gives something true and returns it; `what` is words, or what gives them once it is late."""
    deadline = time.monotonic() + seconds
    while True:
        value = ready()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"within {seconds} s: {what() if callable(what) else what}")
        time.sleep(0.01)


class UnixHTTPConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path, timeout=10):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def request(path, method, target, body=None, headers=None, timeout=10):
    """One request over a Unix socket: status, headers, body."""
    connection = UnixHTTPConnection(path, timeout)
    try:
        connection.request(method, target, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


class Daemon:
    """uplinkd with a configuration and a queue of its own."""

    def __init__(self, home, url=None, destinations=None, options="", wrap=(), environment=None, sections=""):
        self.home = home
        self.queue = os.path.join(home, "queue")
        self.events = os.path.join(home, "events.sock")
        self.control = os.path.join(home, "control.sock")
        self.log = os.path.join(home, "log")
        self.configuration = os.path.join(home, "uplinkd.conf")
        self.wrap = list(wrap)
        self.environment = environment or {}
        self.process = None
        # What its queue lies on, where that is no folder of `home`.
        self.disk = None
        os.makedirs(self.queue, mode=0o700, exist_ok=True)
        self.destinations = destinations if destinations is not None else ({"main": url} if url else {})
        self.write_configuration(options, sections)

    def write_configuration(self, options="", sections=""):
        """`options` go to each destination, `sections` are further sections."""
        with open(self.configuration, "w") as file:
            file.write(
                f"[Intake]\nSocket={self.events}\n[Control]\nSocket={self.control}\n"
                f"[Queue]\nDirectory={self.queue}\n{sections}\n"
            )
            for name, url in self.destinations.items():
                file.write(f'[Destination "{name}"]\nURL={url}\n{options}\n')

    def start(self, wait=True):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("NOTIFY_")}
        environment.update(self.environment)
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.wrap + [UPLINKD, "--config", self.configuration], stdout=log, stderr=log, env=environment
            )
        if wait:
            until(self.is_serving, 10, f"uplinkd serves\n{self.read_log()}")
        return self

    def is_serving(self):
        if self.process.poll() is not None:
            raise AssertionError(f"uplinkd ended with {self.process.returncode}:\n{self.read_log()}")
        try:
            return request(self.control, "GET", "/livez", timeout=2)[0] == 200
        except OSError:
            return False

    def read_log(self):
        with open(self.log, errors="replace") as file:
            return file.read()[-8000:]

    def pid(self):
        """The daemon's own process, below a wrapper such as strace or `ip netns exec`."""
        pid = self.process.pid
        while os.path.basename(os.readlink(f"/proc/{pid}/exe")) != "uplinkd":
            children = open(f"/proc/{pid}/task/{pid}/children").read().split()
            assert children, f"process {pid} has no uplinkd below it"
            pid = int(children[0])
        return pid

    def kill(self):
        os.kill(self.pid(), signal.SIGKILL)
        self.process.wait(10)

    def stop(self, seconds=6):
        """SIGTERM; returns the exit status."""
        if self.process is None or self.process.poll() is not None:
            return None
        os.kill(self.pid(), signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.kill(self.pid(), signal.SIGKILL)
            self.process.wait(10)
            raise AssertionError(f"uplinkd did not stop within {seconds} s:\n{self.read_log()}")

    def status(self):
        code, _, body = request(self.control, "GET", "/v1/status")
        assert code == 200, body
        return json.loads(body)

    def destination(self, name="main"):
        return next(each for each in self.status()["destinations"] if each["name"] == name)

    def state(self, name="main"):
        return self.destination(name)["state"]

    def assert_ledger(self, name="main"):
        """The promise's sum for one destination; returns the ledger."""
        ledger = self.destination(name)["ledger"]
        settled = sum(ledger[key] for key in ("delivered", "dead", "expired", "evicted", "purged", "quarantined"))
        assert ledger["accepted"] == settled + ledger["queued"], ledger
        return ledger

    def post(self, events, **parameters):
        """Posts an array of events over HTTP; status, headers and JSON."""
        query = "?" + "&".join(f"{key}={value}" for key, value in parameters.items()) if parameters else ""
        code, headers, body = request(
            self.events, "POST", "/v1/events" + query, json.dumps(events), {"Content-Type": "application/json"}
        )
        return code, headers, json.loads(body)

    def post_numbers(self, numbers):
        code, _, answer = self.post([{"n": number} for number in numbers])
        assert code == 202 and answer["accepted"] == len(numbers), (code, answer)
        return answer


class Script:
    """How the collector answers; the last rule stays."""

    def __init__(self, status=200, headers=None, body=b"", delay=0.0, close=False, silent=False):
        self.status, self.headers, self.body = status, headers or {}, body
        self.delay, self.close, self.silent = delay, close, silent


class Collector:
    """An HTTP collector that keeps every event of every request that it answered with 2xx, in order."""

    def __init__(self, port=0, address="127.0.0.1", script=None):
        self.script = script or Script()
        self.requests = []  # (monotonic time, method, path, headers, events)
        self.taken = []  # events of requests that got a 2xx
        self.connections = 0
        self.lock = threading.Lock()
        self.address = address
        self.port = port
        self.server = None
        self.start()

    def start(self):
        collector = self

        class Handler(socketserver.StreamRequestHandler):
            timeout = 60

            def handle(self):
                collector.connections += 1
                with contextlib.suppress(OSError):
                    while collector.serve(self.rfile, self.wfile):
                        pass

        class Server(socketserver.ThreadingTCPServer):
            address_family = socket.AF_INET6 if ":" in self.address else socket.AF_INET
            allow_reuse_address = True
            daemon_threads = True
            request_queue_size = 128

        self.server = Server((self.address, self.port), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def serve(self, reader, writer):
        line = reader.readline()
        if not line:
            return False
        method, path, _ = line.decode().split()
        headers = {}
        while (line := reader.readline().strip()):
            key, value = line.decode().split(":", 1)
            headers[key.lower()] = value.strip()
        body = reader.read(int(headers.get("content-length", 0)))
        if headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        events = self.parse(headers.get("content-type", ""), body)
        script = self.script
        with self.lock:
            self.requests.append((time.monotonic(), method, path, headers, events))
            if 200 <= script.status < 300 and not script.silent:
                self.taken += events
        if script.delay:
            time.sleep(script.delay)
        if script.silent:
            time.sleep(60)
            return False
        if script.close:
            return False
        head = f"HTTP/1.1 {script.status} Scripted\r\nContent-Length: {len(script.body)}\r\n"
        head += "".join(f"{key}: {value}\r\n" for key, value in script.headers.items())
        writer.write(head.encode() + b"\r\n" + script.body)
        writer.flush()
        return True

    @staticmethod
    def parse(content_type, body):
        if not body:
            return []
        if content_type.startswith("application/x-ndjson"):
            return [json.loads(line) for line in body.splitlines() if line.strip()]
        value = json.loads(body)
        return value if isinstance(value, list) else [value]

    def numbers(self):
        with self.lock:
            return [event["n"] for event in self.taken]

    def posts(self):
        with self.lock:
            return [each for each in self.requests if each[1] == "POST"]

    def stop(self):
        if self.server:
            self.server.shutdown()
            self.server.server_close()
            self.server = None

    @property
    def url(self):
        return f"http://{self.address}:{self.port}/collect"


class LineClient:
    """Posts newline JSON and knows what was acknowledged."""

    def __init__(self, path, timeout=10):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        self.socket.connect(path)
        self.reader = self.socket.makefile("rb")

    def send(self, data):
        self.socket.sendall(data)

    def answer(self):
        line = self.reader.readline()
        return json.loads(line) if line else None

    def finish(self):
        self.socket.shutdown(socket.SHUT_WR)
        return [json.loads(line) for line in self.reader]

    def close(self):
        self.reader.close()
        self.socket.close()


class NetworkPair:
    """Two namespaces joined by veth: the daemon in `inner`, its collector in `outer`; removed at the end."""

    counter = itertools.count()
    inner_address, outer_address = "10.203.0.2", "10.203.0.1"

    def __init__(self):
        tag = f"{os.getpid() % 100000}-{next(self.counter)}"
        self.inner, self.outer = f"upl-i-{tag}", f"upl-o-{tag}"
        for name in (self.inner, self.outer):
            run("ip", "netns", "add", name)
        run("ip", "link", "add", "v0", "netns", self.inner, "type", "veth", "peer", "name", "v1", "netns", self.outer)
        # Without link-local addresses the kernel sends nothing by itself, so packets can be counted.
        self.ip("link", "set", "v0", "addrgenmode", "none")
        run("ip", "-n", self.outer, "link", "set", "v1", "addrgenmode", "none")
        self.ip("addr", "add", f"{self.inner_address}/24", "dev", "v0")
        run("ip", "-n", self.outer, "addr", "add", f"{self.outer_address}/24", "dev", "v1")
        run("ip", "-n", self.outer, "addr", "add", "198.51.100.10/32", "dev", "lo")
        for name in (self.inner, self.outer):
            run("ip", "-n", name, "link", "set", "lo", "up")
        self.ip("link", "set", "v0", "up")
        run("ip", "-n", self.outer, "link", "set", "v1", "up")

    def ip(self, *words):
        """`ip` in the daemon's namespace."""
        run("ip", "-n", self.inner, *words)

    def route(self, present=True):
        self.ip("route", "add" if present else "del", "default", "via", self.outer_address)

    def peer_link(self, up):
        run("ip", "-n", self.outer, "link", "set", "v1", "up" if up else "down")

    def wrap(self):
        return ["ip", "netns", "exec", self.inner]

    def packets(self):
        """Packets of any kind that left the daemon's side so far."""
        out = subprocess.check_output(["ip", "-n", self.inner, "-s", "-j", "link", "show", "v0"])
        return json.loads(out)[0]["stats64"]["tx"]["packets"]

    def close(self):
        for name in (self.inner, self.outer):
            subprocess.run(["ip", "netns", "del", name], check=False)


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def collector_in(namespace, address, port=8080, **options):
    """A `Collector` whose listening socket lives in another network namespace."""
    created = []

    def make():
        enter(namespace)
        created.append(Collector(port=port, address=address, **options))

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    return created[0]


def enter(namespace):
    """Moves this thread into a network namespace, given by its name or the path of its file."""
    import ctypes

    with open(os.path.join("/run/netns", namespace)) as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), 0x40000000):
            raise OSError(ctypes.get_errno(), "setns")
