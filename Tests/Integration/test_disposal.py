"""Events that end otherwise than by delivery: their time is over, or the queue is full. Each is counted."""
import json
import os
import re
import threading
import time

from harness import LineClient, request, until

SETTINGS = "RetryMin=250ms\nFlushSpread=0"
CHECK = "[Reachability]\nCheckInterval=1s\n"


def post(daemon, numbers, size=0, **parameters):
    """Posts events of about `size` bytes in one request."""
    code, _, answer = daemon.post([{"n": number, "x": "x" * size} for number in numbers], **parameters)
    assert code == 202 and answer["accepted"] == len(numbers), (code, answer)


def disk_bytes(daemon):
    return sum(os.stat(os.path.join(folder, name)).st_blocks * 512
               for folder, _, names in os.walk(daemon.queue) for name in names)


def test_a_time_to_live_ends_while_the_collector_is_down(daemons, collector):
    """What expires at the head goes though nobody asks for it; what expires behind it is not sent; all over a kill."""
    collector.stop()
    # A batch that was tried keeps its bytes, so the events that have no time to live make up one of their own.
    daemon = daemons(url=collector.url, options=SETTINGS + "\nBatchMaxEvents=3", sections=CHECK).start()
    post(daemon, range(5), ttl="1s")
    post(daemon, range(5, 8))
    post(daemon, range(8, 12), ttl="1500ms")
    post(daemon, range(12, 14), ttl="1h")
    until(lambda: daemon.assert_ledger()["expired"] == 5, 40, "the events at the head have expired")
    assert daemon.assert_ledger()["queued"] == 9
    daemon.kill()
    daemon.start()
    ledger = daemon.assert_ledger()
    assert ledger["accepted"] == 14 and ledger["expired"] == 5, ledger
    # The clock of a machine without a time service is not trusted, so time off does not count: late, never early.
    time.sleep(2.5)
    collector.start()
    until(lambda: daemon.assert_ledger()["queued"] == 0, 20, "the rest is sent")
    ledger = daemon.assert_ledger()
    assert (ledger["delivered"], ledger["expired"]) == (5, 9), ledger
    assert collector.numbers() == [5, 6, 7, 12, 13]
    assert "5 events of log normal expired, not acknowledged by destination main" in daemon.read_log()


def test_a_bad_time_to_live_is_refused(daemons):
    daemon = daemons(url="http://127.0.0.1:9/").start()
    for value in ("0", "-1s", "soon", "", "137y", "5000000000"):
        code, _, answer = daemon.post([{"n": 1}], ttl=value)
        assert code == 422 and "ttl" in answer["detail"], (value, code, answer)
    assert daemon.destination()["ledger"]["accepted"] == 0


def test_nothing_expires_by_the_largest_age_before_its_time(daemons, collector):
    collector.stop()
    sections = CHECK + "[Queue]\nMaxAge=3s\n"
    daemon = daemons(url=collector.url, options=SETTINGS, sections=sections).start()
    post(daemon, range(3))
    began = time.monotonic()
    while time.monotonic() - began < 2.5:
        assert daemon.assert_ledger()["expired"] == 0
        time.sleep(0.1)
    until(lambda: daemon.assert_ledger()["expired"] == 3, 40, "they have expired")
    collector.start()
    post(daemon, [3])
    until(lambda: daemon.assert_ledger()["delivered"] == 1, 20, "a young one is sent")
    assert collector.numbers() == [3], "the batch that was being tried has gone with its events"


def test_a_full_queue_gives_up_the_oldest(daemons, collector):
    """With the collector down three times as much comes as fits: only bulk events, for which nothing more urgent is
    given up, are refused; each that was taken is accounted for."""
    collector.stop()
    sections = CHECK + "[Queue]\nMaxSize=4M\nKeepFree=0%\nWhenFull=drop-oldest\n"
    daemon = daemons(url=collector.url, options=SETTINGS, sections=sections).start()
    count, taken = 3_000, {"urgent": [], "normal": [], "bulk": []}
    for first in range(0, count, 20):
        lane = {0: "urgent", 1: "bulk"}.get(first // 20 % 20, "normal")
        events = [{"n": number, "x": "x" * 4_000} for number in range(first, first + 20)]
        code, _, answer = daemon.post(events, lane=lane)
        assert code == 202 or (code, lane) == (503, "bulk"), (code, lane, answer)
        if code == 202:
            taken[lane] += range(first, first + 20)
        assert disk_bytes(daemon) <= 4 << 20
        if first == count // 2:
            daemon.kill()
            daemon.start()
    ledger = daemon.assert_ledger()
    accepted = sum(map(len, taken.values()))
    assert ledger["accepted"] == accepted and ledger["evicted"] > count // 2 and taken["bulk"], ledger
    assert daemon.status()["storage"]["state"] == "ok"
    collector.start()
    until(lambda: daemon.assert_ledger()["queued"] == 0, 60, "the rest is sent")
    ledger = daemon.assert_ledger()
    assert ledger["accepted"] == accepted == ledger["delivered"] + ledger["evicted"], ledger
    got = collector.numbers()
    assert len(set(got)) == ledger["delivered"], "none came twice"
    assert [number for number in got if number in taken["urgent"]] == taken["urgent"], "the urgent outlive the rest"
    normal = [number for number in got if number in taken["normal"]]
    assert normal == taken["normal"][-len(normal):], "the newest are left, in order"
    told = re.findall(r"The queue is full: (\d+) events? of log (\w+) made room", daemon.read_log())
    assert {log for _, log in told} == {"normal", "bulk"} and len(told) <= 8, told
    told = re.findall(r"[Tt]he queue is full", daemon.read_log())
    assert len(told) <= 20, told


def syncs(trace):
    """When the log's segments were synced, in seconds."""
    text = open(trace, errors="replace").read()
    return [float(at) for at in re.findall(r"^\d+ +([\d.]+) fdatasync\(\d+<[^>]*\.segment>", text, re.M)]


def test_a_commit_delay_gathers_what_comes(daemons):
    """Many clients, each waiting for its answer: a sync for each span of the delay, not one for each event."""
    delay = 0.2
    daemon = daemons(sections="[Queue]\nCommitDelay=200ms\n")
    trace = os.path.join(daemon.home, "trace")
    daemon.wrap = ["strace", "-f", "-q", "-ttt", "-y", "-e", "trace=fdatasync", "-o", trace]
    daemon.start()
    waits = []

    def client():
        link = LineClient(daemon.events, timeout=30)
        for number in range(5):
            began = time.monotonic()
            link.send(b'{"n":%d}\n' % number)
            assert link.answer() == {"accepted": number + 1}
            waits.append(time.monotonic() - began)
        link.close()

    clients = [threading.Thread(target=client) for _ in range(20)]
    began = time.monotonic()
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    took = time.monotonic() - began
    code, _, body = request(daemon.control, "GET", "/v1/queue")
    daemon.stop()
    assert len(waits) == 100 and max(waits) >= delay and sum(waits) / 100 >= delay / 2, sorted(waits)
    assert code != 200 or json.loads(body)["logs"]["normal"]["events"] == 100
    made = len(syncs(trace))
    assert 5 <= made <= took / delay + 2, (made, took)
