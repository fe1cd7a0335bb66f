"""Clients that are slow, gone, many or stubborn: each gets what is due to it, and nobody else pays for it."""
import json
import os
import random
import re
import socket
import subprocess
import threading
import time

import pytest

from harness import LineClient, UnixHTTPConnection, until
from intake_box import JSON, KILO, Exchange, event_of, head
from intake_box import box, make_box, shared_box  # noqa: F401


def curl(box, *words, data=None):
    """curl's body and status."""
    out = subprocess.run(["curl", "-sS", "--max-time", "20", "--unix-socket", box.daemon.events, "-w", "\n%{http_code}",
                          *words, "http://localhost/v1/events"], input=data, capture_output=True, timeout=30)
    assert out.returncode == 0, out.stderr
    body, status = out.stdout.decode().rsplit("\n", 1)
    answer = json.loads(body)
    if status == "202":
        box.acknowledged += answer["accepted"]
    return int(status), answer


def test_curl(box):
    assert curl(box, "-d", '{"event":"boot"}')[1]["accepted"] == 1
    assert curl(box, "-d", '[{"n":1},{"n":2}]')[1]["accepted"] == 2
    assert curl(box, "--json", '{"n":1}')[1]["accepted"] == 1
    assert curl(box, "-d", "event=boot")[0] == 415
    many = b'{"n":1}\n' * 1000
    lines = ["-H", "Content-Type: application/x-ndjson", "--data-binary", "@-"]
    assert curl(box, *lines, data=many)[1]["accepted"] == 1000
    assert curl(box, "-H", "Transfer-Encoding: chunked", *lines, data=many)[1]["accepted"] == 1000
    # curl waits a second for 100 Continue, and does so of its own accord from 1 MB on.
    began = time.monotonic()
    expect = ["-H", "Expect: 100-continue", "--expect100-timeout", "15", "-d", "@-"]
    assert curl(box, *expect, data=event_of(200 * KILO))[1]["accepted"] == 1
    assert time.monotonic() - began < 10, "100 Continue came"
    assert curl(box, *expect, "-H", "Content-Type: text/plain", data=b"{}")[0] == 415


def test_documented_line(box):
    """The line of the manual, word for word."""
    out = subprocess.run(["sh", "-c", f"echo '{{\"event\":\"boot\"}}' | nc -N -U {box.daemon.events}"],
                         capture_output=True, timeout=20)
    assert out.stdout == b'{"accepted":1}\n', out
    box.acknowledged += 1


def test_keep_alive_and_pipelining(box):
    connection = UnixHTTPConnection(box.daemon.events)
    for number in range(20):
        connection.request("POST", "/v1/events", b'{"n":%d}' % number, JSON)
        assert json.loads(connection.getresponse().read())["accepted"] == 1
        # A body that is refused costs the connection nothing either.
        connection.request("POST", "/v1/events", b"nonsense", JSON)
        assert connection.getresponse().read() and connection.sock
    connection.close()
    box.acknowledged += 20
    link = Exchange(box.daemon.events)
    count = 300
    body = b'{"n":1}'
    pair = head(f"Content-Length: {len(body)}") + body + head(method="GET", target="/livez")
    threading.Thread(target=link.send, args=(pair * count,)).start()
    ids = []
    for _ in range(count):
        status, _, data = link.answer()
        assert status == 202
        ids.append(json.loads(data)["first"])
        assert link.answer("GET")[0] == 200
    link.close()
    box.acknowledged += count
    numbers = [int(each.split("-")[1]) for each in ids]
    assert numbers == sorted(set(numbers)), "answered in order"


def test_one_byte_at_a_time(box):
    for data in (head("Content-Length: 7", "Connection: close") + b'{"n":1}',
                 head("Transfer-Encoding: chunked", "Connection: close") + b'7\r\n{"n":1}\r\n0\r\n\r\n'):
        link = Exchange(box.daemon.events)
        for byte in data:
            link.send(bytes([byte]))
            time.sleep(0.001)
        assert link.answer()[0] == 202 and link.ended()
        link.close()
        box.acknowledged += 1
    link = LineClient(box.daemon.events)
    for byte in b'{"n":"\xc3\xa9"}\n\n{"n":2}':
        link.send(bytes([byte]))
        time.sleep(0.001)
    assert link.finish()[-1] == {"accepted": 2}
    link.close()
    box.acknowledged += 2


def test_answers_are_in_the_order_of_lines(box):
    """The error of a line comes after a count that covers all good lines before it."""
    chance = random.Random(7)
    kinds = [chance.random() < 0.6 for _ in range(2000)]
    data = b"".join(b'{"n":%d}\n' % line if good else b"[1]\n" for line, good in enumerate(kinds))
    count, errors = 0, []
    for answer in box.lines(data):
        if "error" in answer:
            line = answer["error"]["line"]
            assert count >= sum(kinds[: line - 1]), "the good lines before were counted first"
            errors.append(line)
        else:
            assert answer["accepted"] > count
            count = answer["accepted"]
    assert errors == [line + 1 for line, good in enumerate(kinds) if not good]
    assert count == sum(kinds)


def test_a_client_that_reads_no_answers(box):
    """It is not read from any further, holds little memory, and finds all its answers when it reads."""
    before, lines = box.memory(), 50_000
    link = LineClient(box.daemon.events, timeout=60)
    sender = threading.Thread(target=link.send, args=(b"[]\n" * lines + b'{"n":1}\n',), daemon=True)
    sender.start()
    time.sleep(1)
    assert box.memory("VmHWM") - before < 8 * KILO
    errors = 0
    while "error" in (answer := link.answer()):
        errors += 1
    sender.join(10)
    assert (errors, answer) == (lines, {"accepted": 1})
    link.close()
    box.acknowledged += 1


def test_clients_that_vanish(box):
    """1,000 clients close before their answer: no signal ends the daemon, and what they sent whole is taken."""
    for number in range(1000):
        link = socket.socket(socket.AF_UNIX)
        link.connect(box.daemon.events)
        body = b'{"n":%d}' % number
        link.sendall(body + b"\n" if number % 2 else head(f"Content-Length: {len(body)}") + body)
        link.close()
    box.acknowledged += 1000
    until(lambda: box.accepted() == box.acknowledged, 20, "the events of the vanished are durable")
    until(lambda: box.daemon.status()["intake"]["connections"] == 0, 10, "no connection is left behind")


def test_half_a_request_left_behind(box):
    """Clients that vanish in the midst of a head, a body or a line: nothing of it is taken or kept."""
    before = len(os.listdir(f"/proc/{box.daemon.pid()}/fd"))
    for number in range(300):
        link = socket.socket(socket.AF_UNIX)
        link.connect(box.daemon.events)
        link.sendall([b"POST /v1/ev", head("Content-Length: 700") + b'{"n":1}', b'{"n":'][number % 3])
        link.close()
    until(lambda: box.daemon.status()["intake"]["connections"] == 0, 10, "no connection is left behind")
    assert len(os.listdir(f"/proc/{box.daemon.pid()}/fd")) <= before + 4


def test_half_closed(box):
    """A client that ends its side gets all answers, over either protocol, and then the end."""
    link = Exchange(box.daemon.events)
    link.send((head("Content-Length: 7") + b'{"n":1}') * 5)
    link.socket.shutdown(socket.SHUT_WR)
    assert [link.answer()[0] for _ in range(5)] == [202] * 5
    assert link.ended()
    link.close()
    box.acknowledged += 5
    assert box.lines(b'{"n":1}\n[]\n{"n":2}')[-1] == {"accepted": 2}
    assert box.lines(b'{"n":1}\n{"n":')[-1]["error"]["line"] == 2


def test_noise(box):
    """Requests and lines with bytes changed, left out or repeated: answers or the end, and nothing else is harmed."""
    seed = int(os.environ.get("UPLINKD_SEED", time.time_ns() % 1_000_000))
    print(f"UPLINKD_SEED={seed}")
    chance = random.Random(seed)
    good = [head("Content-Type: application/json", "Content-Length: 17") + b'[{"n":1},{"n":2}]',
            head("Transfer-Encoding: chunked") + b'7\r\n{"n":1}\r\n0\r\n\r\n', b'{"n":1}\n{"n":[1,"x"]}\n{"n":2}\n']
    for _ in range(300):
        data = bytearray(chance.choice(good))
        for _ in range(chance.randrange(1, 6)):
            place = chance.randrange(len(data))
            match chance.randrange(3):
                case 0: data[place] = chance.randrange(256)
                case 1: del data[place : place + chance.randrange(1, 9)]
                case 2: data[place:place] = data[place : place + 20]
        link = Exchange(box.daemon.events)
        link.send(bytes(data))
        link.socket.shutdown(socket.SHUT_WR)
        answers = link.reader.read()
        link.close()
        counts = [int(each) for each in re.findall(rb'{"accepted":(\d+)', answers)]
        box.acknowledged += (sum(counts) if answers.startswith(b"HTTP/") else max(counts, default=0))


def test_too_many_connections(make_box):
    """Of 300 connections of one user 256 are served; the others are told so, each in its protocol."""
    box = make_box()
    links = [Exchange(box.daemon.events) for _ in range(300)]
    until(lambda: box.daemon.status()["intake"]["connections"] == 300, 10, "all are seen")
    for link in links[:254:2]:
        link.send(head("Content-Length: 7") + b'{"n":1}')
        assert link.answer()[0] == 202
    box.acknowledged += 127
    for link in links[256::2]:
        link.send(head("Content-Length: 7") + b'{"n":1}')
        status, fields, _ = link.answer()
        assert status == 429 and int(fields["Retry-After"]) > 0
    for link in links[257::2]:
        link.send(b'{"n":1}\n')
        error = json.loads(link.reader.readline())["error"]
        assert error["status"] == 429 and error["retry_after"] > 0, error
    for link in links:
        link.close()
    until(lambda: box.daemon.status()["intake"]["connections"] == 0, 10, "all are gone")
    box.check()


def test_too_much_unfinished(make_box):
    """40 bodies of 900 KB that do not end: memory stays bounded, some are told to come again, the rest go on."""
    box = make_box()
    before = box.memory()
    body = b'{"n":"' + b"x" * 900_000
    links = [Exchange(box.daemon.events) for _ in range(40)]
    for link in links:
        link.send(head("Content-Type: application/json", f"Content-Length: {len(body) + 2}") + body)
    until(lambda: box.daemon.status()["intake"]["refused"] >= 30, 10, "most are refused")
    grown = box.memory("VmHWM") - before
    assert grown < 24 * KILO, f"{grown} KB for 36 MB of unfinished bodies"
    statuses = []
    for link in links:
        link.send(b'"}')
        status, fields, _ = link.answer()
        statuses.append(status)
        assert status == 413 or int(fields["Retry-After"]) > 0
        link.close()
    assert statuses.count(413) >= 4 and statuses.count(503) >= 30, "an event has at most 256 KB, but that is seen last"
    box.check()


def test_slow_and_silent_clients(make_box):
    """A head that does not end is 408 after 10 s; one that says nothing is closed after IdleTimeout."""
    box = make_box(sections="[Intake]\nIdleTimeout=500ms\n[Reachability]\nCheckInterval=1s")
    silent, slow, line = (Exchange(box.daemon.events, timeout=30) for _ in range(3))
    slow.send(b"POST /v1/events HTTP/1.1\r\n")
    line.send(b'{"n":')
    assert silent.ended()
    assert json.loads(line.reader.readline())["error"]["status"] == 408 and line.ended()
    assert slow.answer()[0] == 408 and slow.ended()
    for link in (silent, slow, line):
        link.close()
    box.check()


@pytest.mark.parametrize("data", [head("Content-Length: 700") + b'{"n":', b"POST /v1/ev", b'{"n":1}\n{"n":'])
def test_stopped_in_the_midst(make_box, data):
    """SIGTERM while a request is half there: told to come again, exit 0, and what was acknowledged is kept."""
    box = make_box()
    box.post(b'[{"n":1},{"n":2}]')
    link = Exchange(box.daemon.events)
    link.send(data)
    if data.startswith(b"{"):
        assert json.loads(link.reader.readline()) == {"accepted": 1}
        box.acknowledged += 1
    else:
        until(lambda: box.daemon.status()["intake"]["connections"] == 1, 5, "it is there")
    assert box.daemon.stop() == 0
    if data.startswith(b"{"):
        error = json.loads(link.reader.readline())["error"]
        assert (error["line"], error["status"]) == (2, 503) and error["retry_after"] > 0, error
    else:
        status, fields, problem = link.answer()
        assert status == 503 and int(fields["Retry-After"]) > 0 and "stopping" in problem.decode()
    assert link.ended()
    link.close()
    box.daemon.start()
    box.check()
