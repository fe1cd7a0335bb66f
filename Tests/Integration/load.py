"""Clients that post numbered events and remember what became of each."""
import random
import threading
import time

from harness import LineClient


class Load(threading.Thread):
    """A client that posts numbered lines, reconnects when the daemon goes, and remembers what was acknowledged.

    Numbers of a connection that broke before their answer may have been taken or not; they are never sent again.
    """

    def __init__(self, daemon, client, pause=0.0):
        super().__init__(daemon=True)
        self.daemon_under_test, self.client, self.pause = daemon, client, pause
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
                link.send(b"".join(b'{"n":"%d-%d"}\n' % (self.client, number) for number in batch))
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
