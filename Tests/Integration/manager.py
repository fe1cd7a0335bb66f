"""What stands for systemd: it hears that the daemon is ready, lives, and stops."""
import os
import socket
import threading
import time

WATCHDOG_SECONDS = 4


class Manager(threading.Thread):
    """Stands for systemd at the other end of $NOTIFY_SOCKET; keeps each datagram with the time of its arrival."""

    def __init__(self, home, reads=True):
        super().__init__(daemon=True)
        self.path = os.path.join(home, "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.datagrams = []
        self.on_ready = lambda: None
        if reads:
            self.start()

    def run(self):
        while True:
            text = self.socket.recv(65536).decode()
            fields = dict(line.split("=", 1) for line in text.splitlines())
            if "READY" in fields:
                self.on_ready()
            self.datagrams.append((time.monotonic(), fields))

    def environment(self, watchdog=WATCHDOG_SECONDS):
        return {"NOTIFY_SOCKET": self.path, "WATCHDOG_USEC": str(int(watchdog * 1_000_000))}

    def kinds(self):
        """What was told, signs of life and bare sentences apart."""
        names = ("READY", "RELOADING", "STOPPING")
        return [name for _, fields in self.datagrams for name in names if name in fields]

    def assert_fed(self, since):
        """Between `since` and now systemd would not have lost patience once."""
        times = [since] + [at for at, fields in self.datagrams if "WATCHDOG" in fields and at >= since]
        gaps = [later - sooner for sooner, later in zip(times, times[1:] + [time.monotonic()])]
        assert max(gaps) < WATCHDOG_SECONDS, f"{max(gaps):.2f} s without a sign of life"
