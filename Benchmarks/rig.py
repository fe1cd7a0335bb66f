"""What the rows of the benchmark share: the programs under test, the twin, the load and the collector."""
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def figures(text):
    return {key: float(value) for key, value in re.findall(r"^(\w+)=([0-9.]+)$", text, re.M)}


def until(ready, seconds, what):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if ready():
            return
        time.sleep(0.01)
    raise SystemExit(f"bench: {what} did not happen within {seconds} s")


def connects(path):
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
            return True
        except OSError:
            return False


class Server:
    """A process of this run, ended by its pid."""

    def __init__(self, command, socket_path=None, environment=None):
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **(environment or {})})
        if socket_path:
            until(lambda: connects(socket_path), 20, f"{command[0]} listening")

    def cpu(self):
        return cpu_seconds(self.process.pid)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Rig:
    def __init__(self, options):
        self.options = options
        self.tools = os.path.join(options.scratch, "tools")
        os.makedirs(self.tools)
        subprocess.run(["make", "-s", "-C", os.path.join(HERE, "tools"), f"OUT={self.tools}"], check=True)

    def tool(self, name):
        return os.path.join(self.tools, name)

    def fresh(self, name):
        path = os.path.join(self.options.scratch, name)
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path, mode=0o700)
        return path

    def daemon(self, url, extra="", options="", wrap=(), environment=None, home=None):
        """Starts uplinkd with an empty queue; `home` is where its files go."""
        home = home or self.fresh("uplinkd")
        queue = os.path.join(home, "queue")
        os.makedirs(queue, mode=0o700)
        events = os.path.join(home, "events.sock")
        configuration = os.path.join(home, "uplinkd.conf")
        with open(configuration, "w") as file:
            file.write(
                f"[Intake]\nSocket={events}\n[Control]\nSocket={home}/control.sock\n"
                f"[Queue]\nDirectory={queue}\nMaxSize=4G\n{extra}\n"
            )
            if url:
                file.write(f'[Destination "bench"]\nURL={url}\nFlushSpread=0\n{options}\n')
        command = [*wrap, os.path.join(self.options.bin, "uplinkd"), "--config", configuration]
        return Server(command, events, environment), events

    def twin(self, port):
        home = self.fresh("twin")
        events = os.path.join(home, "events.sock")
        command = [self.tool("refd"), "-e", "raw", "-d", home, "-u", events, "-p", str(port)]
        return Server(command, events), events

    def generate(self, events, count, clients, outstanding, rate=0):
        """Posts so many events of 300 bytes and has each answered; `rate` is in events/s, 0: as fast as it goes."""
        output = subprocess.run(
            [
                self.tool("gen"), "-t", f"unix:{events}", "-a", "cum", "-n", str(count), "-c", str(clients),
                "-d", str(outstanding), "-s", "300", "-T", "120", "-r", str(rate),
            ],
            check=True, capture_output=True, text=True,
        ).stdout
        result = figures(output)
        if result["acked"] != count or result["errors"]:
            raise SystemExit(f"bench: not every event was answered:\n{output}")
        return result

    def intake(self, make, count, clients, outstanding):
        server, events = make()
        try:
            before = server.cpu()
            result = self.generate(events, count, clients, outstanding)
            return result["events_per_s"], (server.cpu() - before) / count * 1e6
        finally:
            server.end()

    def collector(self, is_open=True):
        """Starts one; the process, its port and the port that it is asked at."""
        port, control = free_port(), free_port()
        sink = Server([self.tool("sink"), "-p", str(port), "-c", str(control), *([] if is_open else ["-o"])])
        until(lambda: self.ask(control, "stats") is not None, 5, "the collector's control port")
        return sink, port, control

    def drain(self, make, count, look=None):
        """Fills while the collector is closed, opens it, and times until all unique events are in.

        `look` is called over and over with the server while it drains.
        """
        sink, port, control = self.collector(is_open=False)
        server, events = make(port)
        try:
            self.generate(events, count, 4, 1000)
            before = server.cpu()
            self.ask(control, "listen on")
            waiting = threading.Thread(target=self.ask, args=(control, f"wait {count} 120000", 130))
            waiting.start()
            while waiting.is_alive():
                if look:
                    look(server)
                waiting.join(0.01)
            stats = figures(self.ask(control, "stats"))
            if stats["uniq"] != count:
                raise SystemExit(f"bench: {stats['uniq']:.0f} of {count} events arrived")
            if stats["late"]:
                raise SystemExit("bench: events arrived out of order")
            return count / stats["span_s"], (server.cpu() - before) / count * 1e6
        finally:
            server.end()
            sink.end()

    @staticmethod
    def ask(port, line, timeout=10):
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=timeout) as connection:
                connection.settimeout(timeout)
                connection.sendall(line.encode() + b"\n")
                answer = b""
                while chunk := connection.recv(65536):
                    answer += chunk
                return answer.decode()
        except OSError:
            return None
