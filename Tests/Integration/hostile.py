"""Clients that mean no good, run as a process of their own: hostile.py KIND SOCKET.

It says `ready` once it has begun and goes on until its standard input ends; then it closes all and says how many events
it was told are accepted, and how often it did what it does.
"""
import json
import selectors
import socket
import sys
import time

LINKS = 200
EVENT = b'{"n":"hostile","filler":"' + b"x" * 270 + b'"}'
HEAD = b"POST /v1/events HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n"


class Link:
    """A connection that sends `data` again and again as fast as it is taken, and reads what comes back."""

    def __init__(self, path, data, first=b""):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.socket.setblocking(False)
        self.data, self.rest = data, first or data
        self.received = b""
        self.total = self.accepted = 0
        self.has_ended = False

    def send(self):
        try:
            while True:
                sent = self.socket.send(self.rest)
                self.total += sent
                self.rest = self.rest[sent:] or self.data
        except BlockingIOError:
            pass

    def receive(self):
        try:
            data = self.socket.recv(65536)
        except BlockingIOError:
            return
        self.has_ended = not data
        *lines, self.received = (self.received + data).split(b"\n")
        for line in lines:
            if line.startswith(b'{"accepted":'):
                answer = json.loads(line)
                # Lines are told a running count, requests one of their own.
                self.accepted = self.accepted + answer["accepted"] if "duplicates" in answer else answer["accepted"]


def flood(path, data, first=b""):
    """Sends on all connections; one that is closed is made anew."""
    chosen = selectors.DefaultSelector()
    done = [0, 0]

    def connect():
        link = Link(path, data, first)
        chosen.register(link.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, link)

    def end(link):
        chosen.unregister(link.socket)
        link.socket.close()
        done[0] += link.accepted
        done[1] += link.total

    for _ in range(LINKS):
        connect()
    yield
    while (yield):
        for key, ready in chosen.select(0.1):
            link = key.data
            try:
                if ready & selectors.EVENT_READ:
                    link.receive()
                if ready & selectors.EVENT_WRITE and not link.has_ended:
                    link.send()
            except OSError:
                link.has_ended = True
            if link.has_ended:
                end(link)
                connect()
    for key in list(chosen.get_map().values()):
        end(key.data)
    yield tuple(done)


def connects(path):
    """Connects and goes, with a word or without."""
    count = 0
    yield
    while (yield):
        for _ in range(20):
            try:
                with socket.socket(socket.AF_UNIX) as link:
                    link.settimeout(1)
                    link.connect(path)
                    if count % 2:
                        link.send(b"P")
                count += 1
            except OSError:
                time.sleep(0.001)
    yield 0, count


def slow(path):
    """A byte at a time of heads, bodies and lines that never end."""
    starts = [b"POST /v1/events HTTP/1.1\r\nX: ", HEAD % 700_000, b'{"a":"']
    links = []
    for number in range(LINKS):
        link = socket.socket(socket.AF_UNIX)
        link.connect(path)
        link.send(starts[number % 3])
        links.append(link)
    count = 0
    yield
    while (yield):
        for link in links:
            try:
                link.send(b"x")
                count += 1
            except OSError:
                pass
        time.sleep(0.01)
    yield 0, count


def kinds(path):
    lines = (EVENT + b"\n") * 200
    batch = b"[" + b",".join([EVENT] * 200) + b"]"
    unfinished = b'{"a":"' + b"x" * 900_000
    return {
        "lines without end": lambda: flood(path, lines),
        "bad lines without end": lambda: flood(path, (b'{"a":' + b"1" * 100 + b"\n") * 400),
        "requests without end": lambda: flood(path, HEAD % len(batch) + batch),
        "small requests without end": lambda: flood(path, (HEAD % 2 + b"{}") * 300),
        "requests that are wrong": lambda: flood(path, (HEAD % 2 + b"[}") * 300),
        "questions without end": lambda: flood(path, b"GET /livez HTTP/1.1\r\n\r\n" * 300),
        "bodies that do not end": lambda: flood(path, b" ", HEAD % 1_000_000 + unfinished),
        "large lines": lambda: flood(path, b'{"a":"' + b"x" * 250_000 + b'"}\n'),
        "deep events": lambda: flood(path, (b'{"a":' * 64 + b"1" + b"}" * 64 + b"\n") * 100),
        "connects": lambda: connects(path),
        "slow ones": lambda: slow(path),
    }


def main():
    work = kinds(sys.argv[2])[sys.argv[1]]()
    next(work)
    print("ready", flush=True)
    next(work)
    orders = selectors.DefaultSelector()
    orders.register(sys.stdin, selectors.EVENT_READ)
    while not orders.select(0):
        work.send(True)
    print(*work.send(False), flush=True)


if __name__ == "__main__":
    main()
