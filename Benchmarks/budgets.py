"""The rows of DESIGN's budgets that have no twin: each gives its figure as a text."""
import http.server
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zlib

from rig import HERE, figures, free_port, until

INTEGRATION = os.path.join(os.path.dirname(HERE), "Tests", "Integration")
CHECKS = "[Reachability]\nCheckInterval=1s"
PLAIN = "Compression=none"


def harness(rig):
    """The integration tests' own daemon, namespaces and file systems."""
    os.environ["UPLINKD_BIN_DIR"] = rig.options.bin
    if INTEGRATION not in sys.path:
        sys.path.insert(0, INTEGRATION)
    import harness as module

    return module


def milliseconds(seconds):
    return f"{1000 * seconds:.2f} ms"


def mebibytes(kib):
    return f"{kib / 1024:.1f} MiB"


def anonymous_kib(server):
    text = open(f"/proc/{server.process.pid}/status").read()
    return int(re.search(r"RssAnon:\s+(\d+)", text).group(1))


def switches(server):
    """How often any of its threads was scheduled, as far as it had waited."""
    folder = f"/proc/{server.process.pid}/task"
    texts = [open(f"{folder}/{thread}/status").read() for thread in os.listdir(folder)]
    return sum(int(re.search(r"\nvoluntary_ctxt_switches:\s+(\d+)", text).group(1)) for text in texts)


def metric(rig, name):
    text = harness(rig).request(os.path.join(rig.options.scratch, "uplinkd", "control.sock"), "GET", "/metrics")[2]
    return next(float(line.split()[1]) for line in text.decode().splitlines() if line.startswith(name))


def a_body(rig):
    """What a full request carries, as it came over the wire."""
    bodies = []

    class Keeper(http.server.BaseHTTPRequestHandler):
        def answer(self):
            bodies.append(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST = answer

        def log_message(self, *words):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Keeper)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    daemon, events = rig.daemon(f"http://127.0.0.1:{server.server_address[1]}/", CHECKS, PLAIN)
    try:
        rig.generate(events, 5_000, 4, 1_000)
        until(lambda: sum(body.count(b"@E") for body in bodies) >= 5_000, 30, "all has come")
        return max(bodies, key=len)
    finally:
        daemon.end()
        server.shutdown()


def zlib_alone(rig):
    """Events/s and CPU seconds per million of zlib at level 1 on one thread, with such bodies as the daemon sends."""
    body = a_body(rig)
    events, done = body.count(b"@E"), 0
    began, cpu = time.monotonic(), time.process_time()
    while time.monotonic() - began < 2:
        packer = zlib.compressobj(1, zlib.DEFLATED, 31)
        packer.compress(body)
        packer.flush()
        done += events
    return done / (time.monotonic() - began), (time.process_time() - cpu) / done * 1e6


def latency(rate):
    """From the client's clock to the collector's, with a collector that answers at once."""
    def measure(rig):
        sink, port, control = rig.collector()
        server, events = rig.daemon(f"http://127.0.0.1:{port}/", CHECKS, PLAIN)
        try:
            rig.generate(events, rate, 4, 1_000, rate)
            rig.ask(control, "reset")
            rig.generate(events, 10 * rate, 4, 1_000, rate)
            rig.ask(control, "quiet 500 5000")
            stats = figures(rig.ask(control, "stats"))
            return f"{stats['e2e_p50_us'] / 1000:.2f} / {stats['e2e_p99_us'] / 1000:.2f} ms"
        finally:
            server.end()
            sink.end()

    return measure


def first_request(rig):
    """Median of five, less the quarter of a second for which routes must have rested."""
    module = harness(rig)
    takings = []
    for _ in range(5):
        with tempfile.TemporaryDirectory(prefix="upl-", dir="/var/tmp") as home:
            network = module.NetworkPair()
            script = module.Script(headers={"X-Collector": "yes"})
            collector = module.collector_in(network.outer, "198.51.100.10", script=script)
            daemon = module.Daemon(
                home, url="http://198.51.100.10:8080/", wrap=network.wrap(),
                options="PlainHTTP=yes\nExpectHeader=X-Collector")
            try:
                daemon.start()
                module.until(lambda: daemon.state() == "no-path", 10, "no path")
                daemon.post_numbers(range(10))
                time.sleep(1)
                network.route()
                began = time.monotonic()
                module.until(lambda: collector.posts(), 10, "a request")
                takings.append(collector.posts()[0][0] - began - 0.25)
            finally:
                daemon.stop()
                collector.stop()
                network.close()
    return milliseconds(sorted(takings)[2])


def longest_turn(rig):
    """While a million events drain, or as many as were asked for."""
    longest = 0.0

    def look(server):
        nonlocal longest
        longest = max(longest, metric(rig, "uplink_loop_longest_turn"))
        time.sleep(0.1)

    rig.drain(lambda port: rig.daemon(f"http://127.0.0.1:{port}/", CHECKS, PLAIN), rig.options.events, look)
    return milliseconds(longest)


def idle_memory(rig):
    sink, port, control = rig.collector()
    server, events = rig.daemon(f"http://127.0.0.1:{port}/", CHECKS)
    try:
        rig.generate(events, 100_000, 4, 1_000)
        rig.ask(control, "wait 100000 30000", timeout=40)
        # Connections, and what they took, are given back after half a minute.
        time.sleep(35)
        return mebibytes(anonymous_kib(server))
    finally:
        server.end()
        sink.end()


def draining_memory(rig):
    most = 0

    def look(server):
        nonlocal most
        most = max(most, anonymous_kib(server))

    rig.drain(lambda port: rig.daemon(f"http://127.0.0.1:{port}/", CHECKS), rig.options.events, look)
    return mebibytes(most)


def draining_memory_of_many(rig):
    """Of a tenth of the events, as each goes out sixteen times."""
    count, destinations, most = max(1, rig.options.events // 10), 16, 0
    sink, port, control = rig.collector(is_open=False)
    others = "".join(f'[Destination "d{number}"]\nURL=http://127.0.0.1:{port}/{number}\nFlushSpread=0\n'
                     for number in range(1, destinations))
    server, events = rig.daemon(f"http://127.0.0.1:{port}/", f"{CHECKS}\n{others}")
    try:
        rig.generate(events, count, 4, 1_000)
        rig.ask(control, "listen on")
        end = time.monotonic() + 120
        while (stats := figures(rig.ask(control, "stats")))["uniq"] + stats["dup"] < destinations * count:
            if time.monotonic() > end:
                raise SystemExit(f"bench: {stats['uniq'] + stats['dup']:.0f} of {destinations * count} have come")
            most = max(most, anonymous_kib(server))
            time.sleep(0.02)
        return mebibytes(most)
    finally:
        server.end()
        sink.end()


def allocations(rig):
    """In a million events with 4 clients and 1,000 outstanding, after a fifth of them."""
    path = os.path.join(rig.options.scratch, "mallocs")
    environment = {"LD_PRELOAD": rig.tool("mallocs.so"), "MALLOCS": path}
    server, events = rig.daemon(f"http://127.0.0.1:{free_port()}/", environment=environment)

    def counted():
        with open(path, "rb") as file:
            return int.from_bytes(file.read(8), sys.byteorder)

    try:
        rig.generate(events, max(1_000, rig.options.events // 5), 4, 1_000)
        before = counted()
        rig.generate(events, rig.options.events, 4, 1_000)
        return f"{(counted() - before) / rig.options.events:.4f}"
    finally:
        server.end()


def start_with_a_backlog(rig):
    """The least of three: one start in several is not held up by something else."""
    module = harness(rig)
    from made_queue import MadeQueue, checksum_library, numbered

    with tempfile.TemporaryDirectory(prefix="upl-", dir="/var/tmp") as home:
        daemon = module.Daemon(home, url=f"http://127.0.0.1:{free_port()}/", sections="MaxSize=120G\nKeepFree=0%")
        daemon.start()
        daemon.stop()
        made = MadeQueue(daemon.queue, checksum_library(home))
        for number in range(1_600):
            made.add(64 << 20, [numbered(6 * number + back, 3, 300) for back in (0, 3)])
        notify = os.path.join(home, "notify")
        takings = []
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
            told.bind(notify)
            told.settimeout(60)
            daemon.environment = {"NOTIFY_SOCKET": notify}
            for _ in range(3):
                began = time.monotonic()
                daemon.start(wait=False)
                while b"READY=1" not in told.recv(65536):
                    pass
                takings.append(time.monotonic() - began)
                daemon.stop()
        return milliseconds(min(takings))


def idle_wakeups(rig):
    """Of all threads together, in ten half-periods of a watchdog of 6 s, a minute after the last event."""
    sink, port, control = rig.collector()
    notify = os.path.join(rig.options.scratch, "notify")
    half_period = 3
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind(notify)
        environment = {"NOTIFY_SOCKET": notify, "WATCHDOG_USEC": str(2_000_000 * half_period)}
        server, events = rig.daemon(f"http://127.0.0.1:{port}/", environment=environment)
        threading.Thread(target=swallow, args=(told,), daemon=True).start()
        try:
            rig.generate(events, 100, 1, 1)
            rig.ask(control, "wait 100 10000", timeout=20)
            time.sleep(60)
            before = switches(server)
            time.sleep(10 * half_period)
            return f"{(switches(server) - before) / 10:.1f}"
        finally:
            server.end()
            sink.end()
            os.unlink(notify)


def swallow(told):
    try:
        while told.recv(65536):
            pass
    except OSError:
        pass


def flushes(rig):
    """What reaches an ext4 device of its own per commit of one event: flushes, and bytes; a journal's would be more."""
    harness(rig)
    import disks

    count = 800
    with tempfile.TemporaryDirectory(prefix="upl-", dir="/var/tmp") as home:
        disk = disks.Disk(home, "ext4", 256)
        try:
            server, events = rig.daemon(None, "MaxSize=1G\nKeepFree=0%", home=disk.queue)
            statistics = f"/sys/block/{os.path.basename(disk.device)}/stat"
            try:
                # Into the second segment, of 16 MiB, and until the file system has nothing of its own to write.
                rig.generate(events, 400, 1, 1)
                time.sleep(8)
                before = [int(word) for word in open(statistics).read().split()]
                rig.generate(events, count, 1, 1)
                after = [int(word) for word in open(statistics).read().split()]
            finally:
                server.end()
        finally:
            disk.close()
    # Flushes completed, and sectors written (the kernel's Documentation/block/stat.rst).
    return f"{(after[15] - before[15]) / count:.2f} / {512 * (after[6] - before[6]) / count:,.0f}"


def binary(rig):
    stripped = os.path.join(rig.options.scratch, "stripped")
    subprocess.run(["strip", "-o", stripped, os.path.join(rig.options.bin, "uplinkd")], check=True)
    return f"{os.path.getsize(stripped) / 1e6:.2f} MB"


# Name, bar, whether it needs root, and what measures it.
ROWS = [
    ("from the settled route to the first request", "<= 100 ms", True, first_request),
    ("event to collector at 1,000/s, p50 / p99", "<= 1 / 5 ms", False, latency(1_000)),
    ("event to collector at 10,000/s, p50 / p99", "<= 1 / 5 ms", False, latency(10_000)),
    ("longest turn of the loop while it drains", "<= 50 ms", False, longest_turn),
    ("RssAnon idle, after 100,000 events", "<= 10 MiB", False, idle_memory),
    ("RssAnon at most, draining to 1 destination", "<= 32 MiB", False, draining_memory),
    ("RssAnon at most, draining to 16 destinations", "<= 32 MiB", False, draining_memory_of_many),
    ("allocations an event, intake and log", "0", False, allocations),
    ("start to READY with 100 GB queued", "<= 200 ms", False, start_with_a_backlog),
    ("wakeups idle, of all threads, a watchdog half-period", "<= 1", False, idle_wakeups),
    ("device flushes / bytes written a commit of one event", "<= 1 / 4,096", True, flushes),
    ("binary, stripped", "<= 10 MB", False, binary),
]
