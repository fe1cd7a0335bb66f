"""What clients do that mean no good, case by case, on a daemon that serves an honest client meanwhile.

Beside what `test_bad_input.py` and `test_clients.py` have: memory and descriptors stay bounded, the honest client is
served at once, and what was acknowledged arrives.
"""
import contextlib
import json
import os
import resource
import socket
import struct
import threading
import time

import pytest

from harness import LineClient, until
from intake_box import EVENT_LIMIT, KILO, Exchange, head
from intake_box import box, make_box, shared_box  # noqa: F401

BODY = b'{"n":"smuggled"}'
GOOD = head(f"Content-Length: {len(BODY)}") + BODY


class Beside:
    """An honest client that posts every 5 ms while something else goes on; how long its slowest answer took."""

    def __init__(self, box):
        self.box, self.count, self.slowest = box, 0, 0.0
        self.enough = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        link = LineClient(self.box.daemon.events, timeout=30)
        while not self.enough.is_set():
            began = time.monotonic()
            link.send(b'{"n":"honest-%d"}\n' % self.count)
            assert link.answer() == {"accepted": self.count + 1}
            self.count += 1
            self.slowest = max(self.slowest, time.monotonic() - began)
            time.sleep(0.005)
        link.close()

    def __enter__(self):
        self.thread.start()
        until(lambda: self.count > 0, 10, "the honest client is served")
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            until(lambda: self.count >= 10, 10, "the honest client goes on")
        self.enough.set()
        self.thread.join(40)
        self.box.acknowledged += self.count
        if kind is None:
            assert not self.thread.is_alive()
            assert self.slowest < 5, f"{self.slowest:.1f} s"


def descriptors(box):
    return len(os.listdir(f"/proc/{box.daemon.pid()}/fd"))


def silent_end(link):
    """Reads to the end, which may be a reset."""
    with contextlib.suppress(ConnectionResetError):
        return link.reader.read()
    return b""


# What a proxy and the daemon might read differently: bytes, and the statuses that they are answered with in turn.
SMUGGLED = {
    "a length before chunks": (head(f"Content-Length: {len(GOOD)}", "Transfer-Encoding: chunked") + b"0\r\n\r\n" + GOOD, [400]),
    "chunks before a length": (head("Transfer-Encoding: chunked", f"Content-Length: {len(GOOD)}") + b"0\r\n\r\n" + GOOD, [400]),
    "two lengths that differ": (head("Content-Length: 2", f"Content-Length: {len(GOOD) + 2}") + b"{}" + GOOD, [400]),
    "a list of lengths": (head(f"Content-Length: 2, {len(GOOD)}") + b"{}" + GOOD, [400]),
    "a length in hexadecimal": (head("Content-Length: 0x2") + b"{}", [400]),
    "a length with a fraction": (head("Content-Length: 2.0") + b"{}", [400]),
    "a length with a space inside": (head("Content-Length: 1 0") + b"{}", [400]),
    "a length with letters": (head("Content-Length: 2abc") + b"{}", [400]),
    "an empty length": (head("Content-Length:") + b"{}", [400]),
    "a space in the name": (head("Content Length: 2") + b"{}", [400]),
    "a space before the name": (head()[:-2] + b" Content-Length: 2\r\n\r\n{}", [400]),
    "a tab before the colon": (head("Transfer-Encoding\t: chunked") + b"0\r\n\r\n", [400]),
    "a vertical tab before chunked": (head("Transfer-Encoding: \x0bchunked") + b"0\r\n\r\n", [400, 501]),
    "chunked in quotes": (head('Transfer-Encoding: "chunked"') + b"0\r\n\r\n", [400, 501]),
    "x chunked": (head("Transfer-Encoding: xchunked") + b"0\r\n\r\n", [501]),
    "identity and chunked": (head("Transfer-Encoding: identity, chunked") + b"0\r\n\r\n", [501]),
    "chunked, identity": (head("Transfer-Encoding: chunked, identity") + b"0\r\n\r\n", [501, 400]),
    "chunked in HTTP/1.0": (head("Transfer-Encoding: chunked", version="HTTP/1.0") + b"0\r\n\r\n", [400]),
    "a bare carriage return in a value": (head("X: a\rTransfer-Encoding: chunked") + b"0\r\n\r\n", [400]),
    "a bare line feed in a value": (head("X: a\nTransfer-Encoding: chunked") + b"0\r\n\r\n", [400]),
    "a zero byte in a name": (head("X\0Y: 1"), [400]),
    "a zero byte in the target": (head(target="/v1/events\0"), [400]),
    "a colon alone": (head(": 1"), [400]),
    "no colon": (head("nonsense"), [400]),
    "two hosts": (head("Host: other"), [400]),
    "a chunk's size with a sign": (head("Transfer-Encoding: chunked") + b"+2\r\n{}\r\n0\r\n\r\n", [400]),
    "a chunk's size with 0x": (head("Transfer-Encoding: chunked") + b"0x2\r\n{}\r\n0\r\n\r\n", [400]),
    "a chunk's size with a space before": (head("Transfer-Encoding: chunked") + b" 2\r\n{}\r\n0\r\n\r\n", [400]),
    "a chunk's size without an end": (head("Transfer-Encoding: chunked") + b"0" * 5_000, [400]),
    "a chunk that ends in a line feed": (head("Transfer-Encoding: chunked") + b"2\n{}\n0\n\n", [400]),
    "a chunk that is shorter": (head("Transfer-Encoding: chunked") + b"9\r\n{}\r\n0\r\n\r\nxx", [400]),
    "an endless extension": (head("Transfer-Encoding: chunked") + b"2;" + b"x" * 20_000, [400, 431]),
    "an endless trailer": (head("Transfer-Encoding: chunked") + b"0\r\nX: " + b"x" * 20_000, [400, 431]),
    "many trailers": (head("Transfer-Encoding: chunked") + b"0\r\n" + b"X: 1\r\n" * 5_000 + b"\r\n", [400, 431]),
    "a body for GET": (head("Content-Length: 300", target="/livez", method="GET") + GOOD, [200]),
    "a tunnel": (head(target="a:80", method="CONNECT"), [400, 404, 405]),
    "the preface of HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [400, 404, 505]),
    "HTTP/0.9": (b"GET /livez\r\n\r\n", [400]),
    "another protocol": (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", [400]),
    "a method of 20,000 letters": (b"P" * 20_000 + b" / HTTP/1.1\r\n\r\n", [431, 400]),
    "a target of 20,000 letters": (head(target="/" + "x" * 20_000), [431]),
}


@pytest.mark.parametrize("name", SMUGGLED)
def test_smuggling(box, name):
    """One answer, then the end: nothing behind what is not understood is ever taken for a request."""
    data, expected = SMUGGLED[name]
    before = box.daemon.status()["intake"]["accepted"]
    link = Exchange(box.daemon.events)
    link.send(data)
    status, fields, _ = link.answer()
    assert status in expected and fields["Connection"] == "close", (status, expected)
    assert silent_end(link) == b"", "no second answer"
    link.close()
    assert box.daemon.status()["intake"]["accepted"] == before


TAKEN = {
    "an upgrade to HTTP/2": ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"],
    "an upgrade to a web socket": ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"],
    "the path of the socket for a host": ["X: 1"],
    "many fields": [f"X-{number}: {'y' * 80}" for number in range(60)],
    "bytes that are no ASCII": ["X: \xe9\xff"],
    "an origin": ["Origin: https://example.com", "Cookie: a=b", "Accept-Encoding: identity"],
    "a priority": ["Priority: u=1", "TE: trailers", "Via: 1.1 a", "Forwarded: for=1.2.3.4"],
}


@pytest.mark.parametrize("name", TAKEN)
def test_odd_and_taken(box, name):
    """What real clients and proxies add is passed over; the connection goes on in HTTP/1.1."""
    for host in ("h", "", "%2Frun%2Fuplinkd%2Fevents.sock", "[::1]:80", "localhost:99999", "x" * 250):
        fields = [f"Host: {host}", "Content-Length: 7", *TAKEN[name]]
        link = Exchange(box.daemon.events)
        link.send("\r\n".join(["POST /v1/events HTTP/1.1", *fields, "", ""]).encode("latin-1") + b'{"n":1}')
        assert link.answer()[0] == 202
        link.send(b"GET /livez HTTP/1.1\r\n\r\n")
        assert link.answer("GET")[0] == 200
        link.close()
        box.acknowledged += 1


def test_expectations(box):
    """100 Continue comes before the body where it is waited for, once, and not where the body is too large anyway."""
    link = Exchange(box.daemon.events)
    link.send(head("Content-Length: 7", "Expect: 100-continue"))
    assert link.reader.readline().startswith(b"HTTP/1.1 100") and link.reader.readline() == b"\r\n"
    link.send(b'{"n":1}')
    assert link.answer()[0] == 202
    link.send(head("Content-Length: 99999999", "Expect: 100-continue"))
    assert link.answer()[0] == 413 and link.ended()
    link.close()
    box.acknowledged += 1


def test_reset_at_every_place(box):
    """Connections that are reset, at every byte of a request: nothing of a part is taken, and no descriptor stays."""
    before = descriptors(box)
    with Beside(box):
        for cut in range(len(GOOD)):
            link = socket.socket(socket.AF_UNIX)
            link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            link.connect(box.daemon.events)
            link.send(GOOD[:cut])
            link.close()
        until(lambda: box.daemon.status()["intake"]["connections"] <= 1, 10, "they are gone")
    assert descriptors(box) <= before + 4


def test_ten_thousand_connects(box):
    """10,000 clients that come and go, most of them at once: the honest one is served throughout."""
    before = descriptors(box)
    with Beside(box):
        done = 0
        while done < 10_000:
            links = []
            for _ in range(500):
                link = socket.socket(socket.AF_UNIX)
                link.connect(box.daemon.events)
                links.append(link)
            done += len(links)
            for link in links:
                link.close()
        until(lambda: box.daemon.status()["intake"]["connections"] <= 1, 20, "they are gone")
    assert descriptors(box) <= before + 4
    assert box.memory("RssAnon") < 32 * KILO


def test_descriptors_run_out(make_box):
    """With few descriptors left clients wait in the backlog; who was there goes on, and nothing is lost."""
    box = make_box()
    with Beside(box) as beside:
        used = descriptors(box)
        most = resource.prlimit(box.daemon.pid(), resource.RLIMIT_NOFILE)[1]
        resource.prlimit(box.daemon.pid(), resource.RLIMIT_NOFILE, (used + 20, most))
        links = [Exchange(box.daemon.events, timeout=30) for _ in range(60)]
        time.sleep(0.5)
        assert descriptors(box) <= used + 20
        count = beside.count
        until(lambda: beside.count > count + 20, 10, "the honest client goes on")
        for link in links[:5]:
            link.send(GOOD)
            assert link.answer()[0] == 202
        for link in links[:40]:
            link.close()
        # Those that waited come in their turn.
        for link in links[40:]:
            link.send(GOOD)
            assert link.answer()[0] == 202
            link.close()
        box.acknowledged += 25
        resource.prlimit(box.daemon.pid(), resource.RLIMIT_NOFILE, (most, most))
    box.check()


def test_heads_and_bodies_that_drip(make_box):
    """Every place of a head and of a body may be the last for a while: 408 in time, however steadily bytes come."""
    box = make_box()
    drops = {"head": b"POST /v1/events HTTP/1.1\r\nX: ", "name": b"P", "target": b"POST /v1"}
    links = {name: Exchange(box.daemon.events, timeout=30) for name in drops}
    with Beside(box):
        for name, link in links.items():
            link.send(drops[name])
        began = time.monotonic()
        answered = {}
        while len(answered) < len(links) and time.monotonic() < began + 20:
            for name, link in links.items():
                if name not in answered:
                    link.send(b"x")
                    link.socket.settimeout(0.2)
                    with contextlib.suppress(TimeoutError):
                        if link.socket.recv(12, socket.MSG_PEEK):
                            answered[name] = time.monotonic() - began
                    link.socket.settimeout(30)
        assert all(8 < answered.get(name, 99) < 15 for name in links), answered
        for link in links.values():
            assert link.answer()[0] == 408
            link.close()
    box.check()


def test_who_does_not_read(make_box):
    """Clients that send without end and never read are held back: memory stays bounded, and the honest one is served."""
    box = make_box()
    with Beside(box):
        links = []
        for number in range(15):
            link = socket.socket(socket.AF_UNIX)
            link.setblocking(False)
            link.connect(box.daemon.events)
            links.append(link)
        data = [b"[]\n" * 20_000, b"GET /livez HTTP/1.1\r\n\r\n" * 3_000, (head("Content-Length: 2") + b"[}") * 1_000]
        end = time.monotonic() + 2
        while time.monotonic() < end:
            for number, link in enumerate(links):
                with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
                    link.send(data[number % 3])
        assert box.memory("RssAnon") < 32 * KILO
        # One that is shut down and kept goes on holding the daemon's answers, so that no more can be written to it.
        for number, link in enumerate(links):
            link.close() if number % 2 else link.shutdown(socket.SHUT_RDWR)
    until(lambda: box.daemon.status()["intake"]["connections"] == 0, 60, "they are gone")
    box.check()


BIG = {
    # Python reads no longer ones.
    "a number of 4,300 digits": b'{"a":' + b"9" * 4_300 + b"}",
    "a fraction of 250,000 digits": b'{"a":0.' + b"9" * 250_000 + b"}",
    "an exponent of 4,300 digits": b'{"a":1e-' + b"9" * 4_300 + b"}",
    "40,000 members of one name": b"{" + b'"a":1,' * 40_000 + b'"a":1}',
    "a name of 250,000 bytes": b'{"' + b"n" * 250_000 + b'":1}',
    "120,000 values": b'{"a":[' + b"1," * 120_000 + b"1]}",
    "40,000 escapes": b'{"a":"' + b"\\u0041" * 40_000 + b'"}',
    "20,000 lone surrogates": b'{"a":"' + b"\\ud800" * 20_000 + b'"}',
    "1,900 arrays, each 64 deep": b'{"a":[' + b",".join([b"[" * 62 + b"]" * 62] * 1_900) + b"]}",
    "controls for a terminal, escaped": b'{"a":"\\u001b[2J\\u0007\\r\\n-- MESSAGE"}',
    "names that objects of languages have": b'{"__proto__":{},"constructor":1,"toString":null}',
    "a path": b'{"id":"../../../etc/passwd","queue":"\\u0000"}',
    "a white space of 250,000 bytes": b'{"a":1' + b" " * 250_000 + b"}",
}


@pytest.mark.parametrize("name", BIG)
def test_large_and_odd_events(box, name):
    """Taken by both protocols within a second or so, and kept as they came."""
    event = BIG[name]
    assert len(event) <= EVENT_LIMIT
    began = time.monotonic()
    assert box.post(event)["accepted"] == 1
    assert box.lines(event + b"\n") == [{"accepted": 1}]
    assert time.monotonic() - began < 5
    box.check()
    sent = json.loads(event)
    assert [{key: each[key] for key in sent} for each in box.collector.taken[-3:-1]] == [sent, sent]


def test_nothing_of_a_client_reaches_the_log(box):
    """What clients send is neither in the journal nor in answers as it came."""
    canary = "canary-7f3a\x1b[2J"
    box.post(json.dumps({"secret": canary}))
    status, _, problem = box.exchange(head(f"X{canary}: 1"))
    assert status == 400 and "canary" not in json.dumps(problem)
    box.lines(b'{"secret":"%s"\n' % canary.encode())
    assert "canary" not in box.daemon.read_log()
