"""What the tests of intake share: a daemon whose acknowledged events are added up, and connections byte by byte."""
import contextlib
import http.client
import io
import json
import os
import socket
import tempfile

import pytest

from harness import Collector, Daemon, LineClient, request, until

KILO, MEGA = 1 << 10, 1 << 20
EVENT_LIMIT, REQUEST_LIMIT, HEAD_LIMIT = 256 * KILO, MEGA, 16 * KILO
JSON = {"Content-Type": "application/json"}
LINES = {"Content-Type": "application/x-ndjson"}


class Exchange:
    """A connection over which bytes are sent as they are, and answers read as HTTP."""

    def __init__(self, path, timeout=15):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        self.socket.connect(path)
        self.reader = self.socket.makefile("rb")

    def send(self, data):
        """Sends what the daemon still takes."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def answer(self, method="POST"):
        """The next answer: status, headers, body."""
        answer = http.client.HTTPResponse(Source(self.reader), method=method)
        answer.begin()
        return answer.status, answer.headers, answer.read()

    def ended(self):
        """True once the daemon has closed its side, with nothing more to read."""
        return self.reader.read() == b""

    def close(self):
        self.reader.close()
        self.socket.close()


class Source:
    """What http.client reads an answer from without closing it."""

    def __init__(self, reader):
        self.reader = reader

    def makefile(self, _):
        source = self

        class Kept(io.BufferedIOBase):
            read = staticmethod(source.reader.read)
            readline = staticmethod(source.reader.readline)
            readinto = staticmethod(source.reader.readinto)

        return Kept()


@contextlib.contextmanager
def as_user(user, path):
    """Connects as another user for a while; `path` is the socket, which it must be allowed to write to."""
    folder = os.path.dirname(path)
    while folder not in ("/", "/tmp", "/var/tmp"):
        os.chmod(folder, os.stat(folder).st_mode | 0o011)
        folder = os.path.dirname(folder)
    # The kernel tells the peer who its client was as it connected, by its effective ids.
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(0)


class Box:
    """A daemon and its collector, and the sum of what was acknowledged."""

    def __init__(self, home, name, sections="[Reachability]\nCheckInterval=1s"):
        self.collector = Collector()
        folder = os.path.join(home, name)
        os.makedirs(folder, mode=0o700)
        self.daemon = Daemon(folder, url=self.collector.url, options="FlushSpread=0\nRetryMin=250ms", sections=sections)
        self.daemon.start()
        self.acknowledged = 0

    def post(self, body, headers=JSON, query="", expected=202, headers_of_answer=True):
        """Posts a body; the answer's JSON, with its headers under the key `headers` unless they are not asked for."""
        status, fields, data = request(self.daemon.events, "POST", "/v1/events" + query, body, headers)
        answer = json.loads(data)
        assert status == expected, (status, answer)
        assert fields["Content-Type"] == ("application/json" if status == 202 else "application/problem+json")
        if status == 202:
            self.acknowledged += answer["accepted"]
        else:
            assert answer["status"] == status and answer["type"] and answer["title"] and answer["detail"], answer
        if headers_of_answer:
            answer["headers"] = fields
        return answer

    def lines(self, data):
        """Sends lines and the end of the stream; all answers."""
        link = LineClient(self.daemon.events, timeout=30)
        link.send(data)
        answers = link.finish()
        link.close()
        self.acknowledged += max([each["accepted"] for each in answers if "accepted" in each], default=0)
        return answers

    def exchange(self, data):
        """Sends bytes; the only answer, after which the daemon closes."""
        link = Exchange(self.daemon.events)
        link.send(data)
        status, fields, body = link.answer()
        assert link.ended(), "the connection is closed"
        link.close()
        return status, fields, json.loads(body)

    def memory(self, key="VmRSS"):
        """Kilobytes of memory."""
        for line in open(f"/proc/{self.daemon.pid()}/status"):
            if line.startswith(key + ":"):
                return int(line.split()[1])

    def accepted(self):
        return self.daemon.assert_ledger()["accepted"]

    def check(self):
        """It still takes an event; what it accepted is what it acknowledged, and arrives, each once."""
        self.post(b'{"n":"after"}')
        assert self.daemon.process.poll() is None
        assert self.accepted() == self.acknowledged
        until(lambda: len(self.collector.taken) >= self.acknowledged, 20, "all arrives")
        ids = [event["event_id"] for event in self.collector.taken]
        assert len(ids) == len(set(ids)) == self.acknowledged
        until(lambda: self.daemon.assert_ledger()["delivered"] == self.acknowledged, 10, "the ledger knows")

    def close(self):
        if self.daemon.process.poll() is None:
            self.daemon.kill()
        self.collector.stop()


@pytest.fixture(scope="module")
def shared_box():
    with tempfile.TemporaryDirectory(prefix="upl-", dir=os.environ.get("UPLINKD_TEST_DIR", "/var/tmp")) as home:
        made = Box(home, "shared")
        yield made
        made.close()


@pytest.fixture
def box(shared_box):
    """The daemon of all cases, looked at after each of them."""
    yield shared_box
    shared_box.check()


@pytest.fixture
def make_box(home):
    """Boxes with settings of their own."""
    made = []

    def make(**options):
        made.append(Box(home, f"b{len(made)}", **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


def head(*fields, target="/v1/events", method="POST", version="HTTP/1.1"):
    """The head of a request, with `fields` besides Host."""
    lines = [f"{method} {target} {version}", "Host: h", *fields]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def event_of(size):
    return b'{"a":"' + b"x" * (size - 8) + b'"}'
