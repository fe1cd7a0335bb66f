"""Clients that post numbered events and remember what became of each."""
import contextlib
import json
import random
import threading
import time

from harness import LineClient, until


class Load(threading.Thread):
    """A client that posts numbered lines, reconnects when the daemon goes, and remembers what was acknowledged.

    Numbers of a connection that broke before their answer may have been taken or not; they are never sent again.
    """

    def __init__(self, daemon, client, pause=0.0, padding=0):
        super().__init__(daemon=True)
        self.daemon_under_test, self.client, self.pause = daemon, client, pause
        self.padding = b"x" * padding
        self.next = 0
        self.acknowledged = set()
        self.refusals = []
        self.enough = threading.Event()

    def run(self):
        while not self.enough.is_set():
            try:
                self.connection()
            except (OSError, ValueError):
                pass
            time.sleep(0.01)

    def connection(self):
        link = LineClient(self.daemon_under_test.events, timeout=5)
        sent, base = [], 0
        try:
            while not self.enough.is_set():
                batch = range(self.next, self.next + random.choice((1, 3, 20)))
                self.next = batch.stop
                sent += batch
                link.send(b"".join(
                    b'{"n":"%d-%d","p":"%s"}\n' % (self.client, number, self.padding) for number in batch))
                while base < len(sent):
                    answer = link.answer()
                    if answer is None:
                        return
                    if "error" in answer:
                        self.refusals.append(answer["error"])
                        return
                    for number in sent[base : answer["accepted"]]:
                        self.acknowledged.add(f"{self.client}-{number}")
                    base = answer["accepted"]
                time.sleep(self.pause)
        finally:
            link.close()


@contextlib.contextmanager
def clients(daemon):
    """Four that post and come again, whatever happens to their connections."""
    made = [Load(daemon, number, pause=0.02) for number in range(4)]
    for each in made:
        each.start()
    try:
        yield made
    finally:
        for each in made:
            each.enough.set()
        for each in made:
            each.join(40)


def all_go_on(made, count=20, seconds=30):
    """Each of them has so many more events acknowledged."""
    before = {each: len(each.acknowledged) for each in made}
    until(lambda: all(len(each.acknowledged) >= before[each] + count for each in made), seconds, "all go on")


def acknowledged(made):
    return set().union(*(each.acknowledged for each in made))


class Poster:
    """Posts arrays of numbered events of about 1,000 bytes; each array is taken whole or refused."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.next = 0
        self.accepted, self.refused = [], []
        self.refusal = None

    def post(self, count=20):
        """True where they were taken; else `refusal` has status, headers and problem."""
        numbers = list(range(self.next, self.next + count))
        self.next += count
        answer = self.daemon.post([{"n": number, "text": "x" * 980} for number in numbers])
        taken = answer[0] == 202
        (self.accepted if taken else self.refused).extend(numbers)
        if not taken:
            self.refusal = answer
        return taken

    def until_refused(self, seconds=30):
        """Posts until not even one event is taken; what fits only a few is refused before."""
        end = time.monotonic() + seconds
        for count in (20, 1):
            while self.post(count):
                assert time.monotonic() < end, "it takes everything"
        return self.refusal


class Client(threading.Thread):
    """Posts numbered events, five at a time, on a connection that it keeps or on a new one each time.

    It knows what was acknowledged, and where a connection was refused or reset: neither is to happen while systemd
    holds the sockets.
    """

    def __init__(self, path, name, speaks_http, is_kept, pause=0.0):
        super().__init__(daemon=True)
        self.path, self.name, self.speaks_http, self.is_kept = path, name, speaks_http, is_kept
        self.pause = pause
        self.count = 0
        self.acknowledged, self.faults, self.connections = [], [], 0
        self.enough = threading.Event()

    def run(self):
        while not self.enough.is_set():
            try:
                self.connect()
            except BrokenPipeError:
                continue  # written after the daemon had said goodbye
            except (OSError, ValueError) as error:
                self.faults.append(repr(error))

    def connect(self):
        link = LineClient(self.path, timeout=30)
        self.connections += 1
        taken = 0
        try:
            while not self.enough.is_set():
                numbers = [f"{self.name}-{self.count + each}" for each in range(5)]
                self.count += 5
                if self.speaks_http:
                    accepted = self.post(link, numbers)
                else:
                    link.send(b"".join(b'{"n":"%s"}\n' % number.encode() for number in numbers))
                    accepted = self.lines(link, taken, 5)
                self.acknowledged += numbers[:accepted]
                taken += accepted
                time.sleep(self.pause)
                if accepted < 5 or not self.is_kept:
                    return
        finally:
            link.close()

    @staticmethod
    def lines(link, before, count):
        """How many of the lines were taken."""
        accepted = 0
        while accepted < count:
            answer = link.answer()
            if answer is None or "error" in answer:
                assert answer is None or answer["error"]["status"] == 503, answer
                return accepted
            accepted = answer["accepted"] - before
        return accepted

    @staticmethod
    def post(link, numbers):
        """How many of the request's events were taken: all or none."""
        body = json.dumps([{"n": number} for number in numbers]).encode()
        link.send(b"POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                  b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        head = link.reader.readline()
        if not head:
            return 0
        length = 0
        while (line := link.reader.readline().strip()):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        text = link.reader.read(length)
        assert head.split()[1] in (b"202", b"503"), (head, text)
        return len(numbers) if head.split()[1] == b"202" else 0

    @classmethod
    def four(cls, path, pause=0.0):
        """One of each kind: HTTP or lines, a connection kept or made anew; started."""
        made = [cls(path, f"{http}{kept}", http, kept, pause) for http in (0, 1) for kept in (0, 1)]
        for client in made:
            client.start()
        return made


def finish(clients):
    """Ends the clients; none of them was refused or reset. What was acknowledged to them."""
    for client in clients:
        client.enough.set()
    for client in clients:
        client.join(40)
        assert not client.is_alive()
    assert not {client.name: client.faults for client in clients if client.faults}
    acknowledged = {number for client in clients for number in client.acknowledged}
    assert len(acknowledged) == sum(len(client.acknowledged) for client in clients)
    return acknowledged
