"""Bad input: what clients send that is wrong gets a clear answer, costs nobody else anything, and loses nothing."""
import json
import socket

import pytest

from harness import LineClient
from intake_box import EVENT_LIMIT, HEAD_LIMIT, KILO, LINES, MEGA, REQUEST_LIMIT, Exchange, event_of, head
from intake_box import box, shared_box  # noqa: F401

NOT_JSON = {
    "words": b"hello",
    "a number that goes on": b"01",
    "single quotes": b"{'a':1}",
    "a comment": b'{"a":1} // one',
    "a comma at the end": b'{"a":1,}',
    "an open object": b'{"a":1',
    "two objects": b'{"a":1} {"a":2}',
    "a control character": b'{"a":"\x01"}',
    "a zero byte": b'{"a":"\x00"}',
    "a bad escape": b'{"a":"\\x41"}',
    "a byte that is no UTF-8": b'{"a":"\xff"}',
    "a surrogate in UTF-8": b'{"a":"\xed\xa0\x80"}',
    "an overlong UTF-8": b'{"a":"\xc0\xaf"}',
    "an unfinished UTF-8": b'{"a":"\xe2\x82"}',
    "a byte order mark": b'\xef\xbb\xbf{"a":1}',
    "UTF-16": '{"a":1}'.encode("utf-16-le"),
    "NaN": b'{"a":NaN}',
    "nesting 65": b'{"a":' * 65 + b"1" + b"}" * 65,
    "nesting 10,000": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "arrays nested 10,000": b'{"a":' + b"[" * 10_000 + b"]" * 10_000 + b"}",
}
NO_OBJECT = {"an array": b'[1,{"a":1}]', "a number": b"17", "a string": b'"a"', "null": b"null", "true": b"true"}


def nested(depth):
    return b'{"a":' * depth + b"1" + b"}" * depth


@pytest.mark.parametrize("name", NOT_JSON)
def test_not_json(box, name):
    """By HTTP 400 with the place; by line an error of that line, and the lines around it are taken."""
    body = NOT_JSON[name]
    answer = box.post(body, expected=400)
    assert answer["index"] == 0 and 0 <= answer["offset"] <= len(body)
    answer = box.post(b'[{"n":1},' + body + b',{"n":2}]', expected=400)
    # A comment and a second object begin behind an event that is whole.
    assert answer["index"] == 1 and answer["offset"] >= 9
    answer = box.post(b'{"n":1}\n' + body + b'\n{"n":2}\n', LINES, expected=400)
    assert answer["line"] == 2 and answer["offset"] >= 8
    if body[:1] in b"{ ":
        answers = box.lines(b'{"n":1}\n' + body + b'\n{"n":2}\n')
        assert [each["error"]["status"] for each in answers if "error" in each] == [400], answers
        assert [each["error"]["line"] for each in answers if "error" in each] == [2]
        assert answers[-1] == {"accepted": 2}


@pytest.mark.parametrize("name", NO_OBJECT)
def test_no_object(box, name):
    value = NO_OBJECT[name]
    assert box.post(value if value[:1] != b"[" else b"[" + value + b"]", expected=400)["index"] == 0
    assert box.post(b'[{"n":1},' + value + b"]", expected=400)["index"] == 1
    assert box.post(b'{"n":1}\n' + value, LINES, expected=400)["line"] == 2
    answers = box.lines(b'{"n":1}\n' + value + b'\n{"n":2}\n')
    assert {"line": 2, "status": 400} == {key: answers[-2]["error"][key] for key in ("line", "status")}, answers
    assert answers[-1] == {"accepted": 2}


def test_taken_though_odd(box):
    """What is unusual and right: it arrives as it came."""
    for body in (nested(64), b'{"a":"\\ud800"}', b'{"a":1,"a":2}', b'{"a":%s}' % (b"9" * 500), b"{}",
                 b' \t\r\n{"a":1}\r\n ', b'{"\\u0000":-0.0e-0}'):
        assert box.post(body)["accepted"] == 1
        # On a line a line feed ends the event.
        assert box.lines(body.replace(b"\n", b" ") + b"\r\n")[-1] == {"accepted": 1}
    for nothing in (b"[]", b" [ ] "):
        assert box.post(nothing, headers_of_answer=False) == {"accepted": 0, "duplicates": 0}
    assert box.post(b"", LINES)["accepted"] == 0
    assert box.post(b'\n\n{"n":1}\n\n{"n":2}', LINES)["accepted"] == 2
    assert box.post(b'{"n":1}', {"Content-Type": "Application/JSON; charset=utf-8"})["accepted"] == 1
    assert box.post(b'{"n":1}', query="?lane=urgent")["accepted"] == 1
    assert box.lines(b"\n\n  \n") == []


def test_event_over_the_limit(box):
    assert box.post(event_of(EVENT_LIMIT))["accepted"] == 1
    assert box.post(event_of(EVENT_LIMIT + 1), expected=413)["index"] == 0
    assert box.post(b'[{"n":1},' + event_of(EVENT_LIMIT + 1) + b"]", expected=413)["index"] == 1
    box.post(b'{"n":1}\n' * (REQUEST_LIMIT // 8 + 1), LINES, expected=413)
    box.post(b"[" + b'{"n":1},' * 70_000 + b'{"n":1}]', expected=413)
    answers = box.lines(b'{"n":1}\n' + event_of(EVENT_LIMIT + 1) + b"\n" + event_of(EVENT_LIMIT) + b"\n"
                        + event_of(REQUEST_LIMIT - 1) + b'\n{"n":2}\n')
    errors = [each["error"] for each in answers if "error" in each]
    assert [(each["line"], each["status"]) for each in errors] == [(2, 413), (4, 413)]
    assert answers[-1] == {"accepted": 3}


def test_a_line_without_end(box):
    """100 MB of a line: answered with 413 and closed; the daemon never holds more than a line's limit of it."""
    before = box.memory()
    link = LineClient(box.daemon.events, timeout=30)
    link.send(b'{"n":1}\n')
    assert link.answer() == {"accepted": 1}
    box.acknowledged += 1
    sent = 0
    try:
        for _ in range(100):
            link.send(b"{" + b"x" * (MEGA - 1))
            sent += 1
    except (BrokenPipeError, ConnectionResetError):
        pass
    grown = box.memory("VmHWM") - before
    answer = link.answer()
    assert answer["error"]["status"] == 413 and answer["error"]["line"] == 2, answer
    assert link.answer() is None, "the connection is closed"
    link.close()
    assert grown < 8 * KILO, f"{grown} KB more for a line of {sent} MB"


def test_a_body_without_end(box):
    """Chunks that never end: 413 as soon as they pass the limit."""
    link = Exchange(box.daemon.events)
    link.send(head("Content-Type: application/json", "Transfer-Encoding: chunked"))
    for _ in range(20):
        link.send(b"20000\r\n" + b" " * 0x20000 + b"\r\n")
    assert link.answer()[0] == 413
    assert link.ended()
    link.close()


HEADS = {
    "a head over 16 KiB": (431, head("X: " + "x" * HEAD_LIMIT)),
    "a head over 16 KiB without an end": (431, head("X: 1")[:-2] + b"Y: " + b"y" * HEAD_LIMIT),
    "200 fields": (431, head(*[f"X{number}: 1" for number in range(200)])),
    "length and chunked": (400, head("Content-Length: 7", "Transfer-Encoding: chunked") + b'{"n":1}'),
    "two lengths": (400, head("Content-Length: 7", "Content-Length: 7") + b'{"n":1}'),
    "two lengths in one": (400, head("Content-Length: 7, 7") + b'{"n":1}'),
    "a negative length": (400, head("Content-Length: -7") + b'{"n":1}'),
    "a length with a sign": (400, head("Content-Length: +7") + b'{"n":1}'),
    "a length without end": (400, head("Content-Length: 99999999999999999999") + b'{"n":1}'),
    "a length over the limit": (413, head(f"Content-Length: {REQUEST_LIMIT + 1}") + b'{"n":1}'),
    "transfer coding gzip": (501, head("Transfer-Encoding: gzip") + b'{"n":1}'),
    "gzip, chunked": (501, head("Transfer-Encoding: gzip, chunked") + b'{"n":1}'),
    "chunked twice": (501, head("Transfer-Encoding: chunked", "Transfer-Encoding: chunked") + b"0\r\n\r\n"),
    "a chunk without a size": (400, head("Transfer-Encoding: chunked") + b'{"n":1}\r\n'),
    "a chunk of negative size": (400, head("Transfer-Encoding: chunked") + b'-7\r\n{"n":1}\r\n'),
    "a chunk over the limit": (413, head("Transfer-Encoding: chunked") + b"ffffffff\r\n{"),
    "a chunk of endless size": (400, head("Transfer-Encoding: chunked") + b"fffffffffffffff\r\n{"),
    "a chunk that is longer": (400, head("Transfer-Encoding: chunked") + b'2\r\n{"n":1}\r\n0\r\n\r\n'),
    "another version": (505, head(version="HTTP/2.0")),
    "no version": (400, b"POST /v1/events\r\n\r\n"),
    "bare line feeds": (400, b"POST /v1/events HTTP/1.1\nHost: h\nContent-Length: 7\n\n{}     "),
    "a folded field": (400, head("X: 1\r\n more")),
    "space before the colon": (400, head("Content-Length : 7") + b'{"n":1}'),
    "a zero byte": (400, head("X: a\0b")),
    "another expectation": (417, head("Expect: a-miracle", "Content-Length: 7") + b'{"n":1}'),
    "a content coding": (415, head("Content-Encoding: gzip", "Content-Length: 7") + b'{"n":1}'),
}


@pytest.mark.parametrize("name", HEADS)
def test_bad_head(box, name):
    """Answered with the status and closed: where the next request would begin is not known."""
    expected, data = HEADS[name]
    status, fields, problem = box.exchange(data)
    assert (status, problem["status"]) == (expected, expected), problem
    assert fields["Connection"] == "close"


def test_wrong_requests(box):
    """Whole requests that ask for something that is not there; the connection goes on where no body came."""
    accepted = "application/json, application/x-ndjson"
    for content_type in ("text/plain", "multipart/form-data", "application/jsonx"):
        answer = box.post(b'{"n":1}', {"Content-Type": content_type}, expected=415)
        assert accepted in answer["detail"] and accepted in answer["headers"]["Accept"]
    answer = box.post(b"n=1", {"Content-Type": "application/x-www-form-urlencoded"}, expected=415)
    assert accepted in answer["detail"]
    assert "colour" in box.post(b'{"n":1}', query="?colour=red", expected=422)["detail"]
    for query in ("?lane=fast", "?lane=", "?lane=urgent&lane=bulk", "?%ff=1", "?lane=urgent&colour=red"):
        box.post(b'{"n":1}', query=query, expected=422)
    link = Exchange(box.daemon.events)
    for method, target, expected, allow in (
        ("GET", "/", 404, None), ("POST", "/v1/event", 404, None), ("GET", "/v1/status", 404, None),
        ("GET", "/v1/events", 405, "POST"), ("DELETE", "/v1/events", 405, "POST"), ("PUT", "/v1/events", 405, "POST"),
        ("POST", "/livez", 405, "GET, HEAD"), ("GET", "/livez", 200, None), ("GET", "/readyz", 200, None),
    ):
        link.send(head(method=method, target=target))
        status, fields, _ = link.answer(method)
        assert (status, fields["Allow"]) == (expected, allow), (method, target)
    link.close()
    box.post(json.dumps({"id": "1", "source": "s", "type": "t"}), {"Content-Type": "application/cloudevents+json"},
             expected=422)


def test_cut_short(box):
    """A request whose client ends its side too early is refused, and nothing of it is taken."""
    for data in (head("Content-Length: 70") + b'{"n":1}', head("Transfer-Encoding: chunked") + b'7\r\n{"n":1}\r\n',
                 head()[:-2], b"P"):
        link = Exchange(box.daemon.events)
        link.send(data)
        link.socket.shutdown(socket.SHUT_WR)
        assert link.answer()[0] == 400 and link.ended()
        link.close()
