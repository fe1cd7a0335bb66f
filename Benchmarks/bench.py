#!/usr/bin/env python3
"""The first table of DESIGN's budgets: uplinkd beside the C twin (refd -e raw), round by round.

    bench.py --bin DIR [--rounds N] [--events N] [--scratch DIR]

DIR holds uplinkd and uplinkctl. Each row is the median of its rounds. `cpu` is the CPU time of the daemon in seconds per
million events, `ratio` is events/s over the twin's in the same round, `bar` what DESIGN asks of the ratio.
"""
import argparse
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
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

    def __init__(self, command, socket_path=None):
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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


class Bench:
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

    def daemon(self, url, extra=""):
        home = self.fresh("uplinkd")
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
                file.write(f'[Destination "bench"]\nURL={url}\nCompression={self.options.compression}\nFlushSpread=0\n')
        command = [os.path.join(self.options.bin, "uplinkd"), "--config", configuration]
        return Server(command, events), events

    def twin(self, port):
        home = self.fresh("twin")
        events = os.path.join(home, "events.sock")
        command = [self.tool("refd"), "-e", "raw", "-d", home, "-u", events, "-p", str(port)]
        return Server(command, events), events

    def generate(self, events, count, clients, outstanding):
        output = subprocess.run(
            [
                self.tool("gen"), "-t", f"unix:{events}", "-a", "cum", "-n", str(count), "-c", str(clients),
                "-d", str(outstanding), "-s", "300", "-T", "120",
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

    def drain(self, make, count):
        """Fills while the collector is closed, opens it, and times until all unique events are in."""
        port, control = free_port(), free_port()
        sink = Server([self.tool("sink"), "-p", str(port), "-c", str(control), "-o"])
        until(lambda: self.ask(control, "stats") is not None, 5, "the collector's control port")
        server, events = make(port)
        try:
            self.generate(events, count, 4, 1000)
            before = server.cpu()
            self.ask(control, "listen on")
            self.ask(control, f"wait {count} 120000", timeout=130)
            stats = figures(self.ask(control, "stats"))
            if stats["uniq"] != count:
                raise SystemExit(f"bench: {stats['unique']:.0f} of {count} events arrived")
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


def median(values):
    return statistics.median(values)


def row(name, bar, ours, twin):
    ratios = [a[0] / b[0] for a, b in zip(ours, twin)]
    print(
        f"{name:<34}{median([a[0] for a in ours]):>12,.0f}{median([b[0] for b in twin]):>12,.0f}"
        f"{median(ratios):>8.2f}{bar:>7}{median([a[1] for a in ours]):>9.2f}{median([b[1] for b in twin]):>9.2f}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--scratch")
    parser.add_argument("--compression", default="none")
    options = parser.parse_args()
    made = options.scratch is None
    options.scratch = options.scratch or tempfile.mkdtemp(prefix="uplinkd-bench-", dir=os.getcwd())
    bench = Bench(options)
    unreachable = f"http://127.0.0.1:{free_port()}/"
    print(f"{'':<34}{'uplinkd/s':>12}{'twin/s':>12}{'ratio':>8}{'bar':>7}{'cpu':>9}{'twin cpu':>9}")
    try:
        shapes = [
            ("intake, 1 client, 1 outstanding", ">=0.9", 20_000, 1, 1),
            ("intake, 16 clients, 1 outstanding", ">=0.9", 100_000, 16, 1),
            ("intake, 64 clients, 1 outstanding", ">=0.9", 200_000, 64, 1),
            ("intake, 4 clients, 1000 outstanding", ">=0.5", options.events, 4, 1000),
        ]
        for name, bar, count, clients, outstanding in shapes:
            ours, twin = [], []
            for _ in range(options.rounds):
                ours.append(bench.intake(lambda: bench.daemon(unreachable), count, clients, outstanding))
                twin.append(bench.intake(lambda: bench.twin(free_port()), count, clients, outstanding))
            row(name, bar, ours, twin)
        ours, twin = [], []
        for _ in range(options.rounds):
            ours.append(bench.drain(lambda port: bench.daemon(f"http://127.0.0.1:{port}/", "[Reachability]\nCheckInterval=1s"), options.events))
            twin.append(bench.drain(bench.twin, options.events))
        row(f"drain of {options.events:,}", ">=0.4", ours, twin)
    finally:
        if made:
            shutil.rmtree(options.scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
