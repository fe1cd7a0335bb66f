"""Answers that end at any byte: none that is cut short settles an event, and none that is whole is asked for again."""
import json

import pytest

from harness import until
from test_no_answer import Faulty, reset

# Without checks each failure costs RetryMin, and the batch itself is what is tried.
OPTIONS = "RetryMin=10ms\nRetryMax=10ms\nFlushSpread=0\nTimeout=5s\nCompression=none\nBatchMaxEvents=1\n"
ENDS = b"Connection: close\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n" + ENDS + b"5\r\nhello\r\n0\r\n"
TRAILER = b"X-End: yes\r\n"
# Each with how many of its bytes make it whole; none: all. Where its end is that of the connection its head does, and
# behind the last chunk libcurl does without the very last line feed.
FORMS = {
    "a length": (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n" + ENDS + b"hello", None),
    "chunks": (CHUNKED + b"\r\n", len(CHUNKED) + 1),
    "chunks and a trailer": (CHUNKED + TRAILER + b"\r\n", len(CHUNKED + TRAILER) + 1),
    "until it closes": (b"HTTP/1.1 200 OK\r\n" + ENDS + b"hello", 17 + len(ENDS)),
    "no content": (b"HTTP/1.1 204 No Content\r\n" + ENDS, None),
    "an interim one before": (
        b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + ENDS + b"ok", None),
    # What would set the event apart, hold the destination, or have it wait.
    "a refusal": (b"HTTP/1.1 400 Bad Request\r\nContent-Length: 3\r\n" + ENDS + b"bad", "never"),
    "not found": (b"HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n" + ENDS + b"bad", "never"),
    "a wait": (b"HTTP/1.1 503 Busy\r\nRetry-After: 900\r\nContent-Length: 3\r\n" + ENDS + b"bad", "never"),
}


def read_events(link):
    """The key, the attempt and the numbers of one request."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = link.recv(65536)
        if not more:
            return None
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    fields = dict(line.lower().split(": ", 1) for line in head.decode().split("\r\n")[1:])
    while len(body) < int(fields["content-length"]):
        body += link.recv(65536)
    return fields["idempotency-key"], int(fields["uplink-attempt"]), [event["n"] for event in json.loads(body)]


def cuts(form):
    """Every place to cut an answer, and whether it is whole there; the last is the whole answer, where that settles."""
    answer, whole = FORMS[form]
    if whole == "never":
        return [(answer[:count], False) for count in range(len(answer))]
    return [(answer[:count], count >= (whole or len(answer))) for count in range(len(answer) + 1)]


@pytest.mark.parametrize("end", ["closed", "reset"])
def test_an_answer_may_end_at_any_byte(daemons, end):
    """All forms, all bytes, in turn; of each event every try but the last was cut short, and the last was not."""
    plan = [(form, *cut) for form in FORMS for cut in cuts(form)]
    # A reset can take bytes with it that were sent before.
    plan = [each for each in plan if end == "closed" or not each[2]]
    tries = []

    def answer(link):
        request = read_events(link)
        if not request:
            return
        form, data, is_whole = plan[len(tries)] if len(tries) < len(plan) else ("a length", FORMS["a length"][0], True)
        tries.append((*request, form, len(data), is_whole))
        link.sendall(data)
        if end == "reset" and not is_whole:
            reset(link)

    server = Faulty(answer)
    wholes = sum(is_whole for _, _, is_whole in plan)
    daemon = daemons(url=f"http://127.0.0.1:{server.port}/", options=OPTIONS, sections="[Reachability]\nCheck=no")
    daemon.start()
    try:
        count = wholes + 20
        daemon.post_numbers(range(count))
        until(lambda: len(tries) > len(plan) or daemon.destination()["ledger"]["queued"] == 0, 60,
              lambda: f"{len(tries)} of {len(plan)}: {daemon.destination()}")
        until(lambda: daemon.assert_ledger()["queued"] == 0, 10, daemon.destination)
        ledger = daemon.assert_ledger()
        assert (ledger["delivered"], ledger["dead"]) == (count, 0), ledger
        settled = [(each[3], each[4]) for each, next_one in zip(tries, tries[1:] + [None])
                   if not each[5] and (next_one is None or next_one[2] != each[2])]
        assert not settled, f"cut short, and taken for whole: {settled}"
        for number in range(count):
            of_it = [each for each in tries if each[2] == [number]]
            assert [each[5] for each in of_it] == [False] * (len(of_it) - 1) + [True], of_it
            assert [each[1] for each in of_it] == list(range(1, len(of_it) + 1)), of_it
            assert len({each[0] for each in of_it}) == 1, of_it
        assert [each[2][0] for each in tries] == sorted(each[2][0] for each in tries), "in order"
        assert not daemon.destination()["flags"], daemon.destination()
    finally:
        server.stop()
