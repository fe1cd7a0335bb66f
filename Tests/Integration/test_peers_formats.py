"""Requests in each format, read by decoders that others wrote."""
import json
import sys

import pytest

from harness import request, until
from peers import CHECKS, FAST, PYPI, Bodies

sys.path.append(PYPI)
http_binding = pytest.importorskip("cloudevents.core.bindings.http")
json_format = pytest.importorskip("cloudevents.core.formats.json")


@pytest.fixture
def bodies():
    made = Bodies()
    yield made
    made.stop()


def post(daemon, body, content_type):
    status, _, answer = request(daemon.events, "POST", "/v1/events", body.encode(),
                                {"Content-Type": content_type})
    assert status == 202, answer
    return json.loads(answer)


def delivered(daemon, count):
    until(lambda: daemon.assert_ledger()["delivered"] == count, 15, lambda: f"{count} delivered\n{daemon.read_log()}")


def read(content_type, body):
    """By the `cloudevents` package: attributes and data."""
    message = http_binding.HTTPMessage({"content-type": content_type}, body)
    event = http_binding.from_structured(message, json_format.JSONFormat())
    attributes = event.get_attributes()
    attributes.pop("time", None)  # It puts the present one there.
    return attributes, event.get_data()


def test_cloud_events(daemons, bodies):
    options = FAST + "Format=cloudevents\nCloudEventsSource=urn:till:7\nCloudEventsType=com.example.sale\n"
    daemon = daemons(url=bodies.url, options=options).start()
    own = {"specversion": "1.0", "id": "a-1", "source": "/door", "type": "open", "subject": "b",
           "datacontenttype": "text/plain", "data": "x\u001b\"", "count": 7}
    post(daemon, json.dumps(own), "application/cloudevents+json")
    raw = '{ "specversion":"1.0",\n"\\u0069d" : "1", "source":"/s","type":"t","data":[12345678901234567,1.0,1e3],"x":"" }'
    post(daemon, raw, "application/json")
    plain = {"n": 1, "was_queued": "mine", "id": "7"}
    answer = post(daemon, json.dumps(plain), "application/json")
    delivered(daemon, 3)
    (first, data), (second, numbers), (third, event) = (read(*each) for each in bodies.bodies)
    assert {each["networktype"] for each in (first, second, third)} == {"loopback"}
    assert {key: first[key] for key in own if key != "data"} == {key: own[key] for key in own if key != "data"}
    assert first.keys() - own.keys() - {"acceptedat"} <= {"networktype", "wasqueued", "queuereason"}
    assert data == own["data"]
    assert second["id"] == "1" and second["x"] == "" and numbers == [12345678901234567, 1.0, 1e3]
    assert bodies.bodies[1][1].startswith(raw[:-1].encode())
    assert (third["id"], third["source"], third["type"]) == (answer["first"], "urn:till:7", "com.example.sale")
    assert event == plain and {each[0] for each in bodies.bodies} == {"application/cloudevents+json"}


def test_a_cloud_event_that_waited(daemons):
    late = Bodies()
    late.stop()
    options = FAST + "Format=cloudevents\nCloudEventsSource=/a\nCloudEventsType=t\n"
    daemon = daemons(url=late.url, options=options, sections=CHECKS).start()
    until(lambda: daemon.state() == "unreachable", 10, "nobody answers")
    daemon.post_numbers([1])
    late = Bodies(port=late.port)
    try:
        delivered(daemon, 1)
        attributes, data = read(*late.bodies[0])
        assert (attributes["wasqueued"], attributes["queuereason"], data["n"]) == ("true", "connectivity", 1)
    finally:
        late.stop()


TRAPS = [
    "{}", "{ \t}", '{"n":12345678901234567,"m":-0.0,"e":1e400,"f":1E-7}', '{"a":1,"a":2}', '{"":""}',
    r'{"s":"\"\\\/\b\f\n\r\t\u0000\ud834\udd1e\ud800"}', '{"ü€😀":"ü€😀\u2028","}":"{\\"}"}',
    '{"network_connection_type":null}', r'{"network\u005fconnection_type":"x"}', r'{"network_connection_type\u0020":1}',
    '{"deep":{"network_connection_type":1,"}":[[{}]]}}', '{"long":"' + "x" * (256 * 1024 - 11) + '"}',
]


@pytest.mark.parametrize("format, opening, between, closing", [
    ("json", "[", ",", "]"), ("ndjson", "", "\n", "\n"), ("object", "", "", ""),
])
def test_every_byte_of_an_event_is_kept(daemons, bodies, format, opening, between, closing):
    options = FAST + f"Format={format}\nEnrichWith=network_connection_type\n"
    daemon = daemons(url=bodies.url, options=options).start()
    broken = '{\n\t"a" :\r\n[ 1,2 ]\n}'
    events = TRAPS + [broken]
    post(daemon, "[" + ", ".join(TRAPS[:-1]) + "]", "application/json")
    post(daemon, TRAPS[-1], "application/json")
    post(daemon, broken, "application/json")
    delivered(daemon, len(events))
    member = '"network_connection_type":"loopback"'
    expected = []
    for event in events:
        has_it = event in TRAPS[7:9]
        is_empty = event in TRAPS[:2]
        one = event if has_it else event[:-1] + ("" if is_empty else ",") + member + "}"
        expected.append(one.replace("\n", " ").replace("\r", " ") if format == "ndjson" else one)
    sent = [body.decode() for _, body in bodies.bodies]
    assert all(body.startswith(opening) and body.endswith(closing) for body in sent)
    inner = [body[len(opening):len(body) - len(closing)] for body in sent]
    assert between.join(inner) == between.join(expected)


def test_tealium(daemons, bodies):
    """Whatever is shared, each event arrives with its own values."""
    options = FAST + "Format=tealium\nEnrichWith=event_id network_connection_type\n"
    daemon = daemons(url=bodies.url.replace("/collect", "/v3/collect"), options=options).start()
    events = [{"n": number, "visitor": "v" if number != 7 else "w", "account": "a", "even": number % 2 == 0}
              for number in range(25)]
    assert daemon.post(events)[0] == 202
    delivered(daemon, 25)
    assert daemon.post([{"n": 25, "visitor": "v"}])[0] == 202
    delivered(daemon, 26)
    paths = [each[2] for each in bodies.posts()]
    sizes, seen = [], []
    for (_, body), path in zip(bodies.bodies, paths):
        bulk = json.loads(body)
        single = path == "/v3/collect/event"
        assert single or path == "/v3/collect/bulk-event"
        requested = [bulk] if single else [{**bulk["shared"], **each} for each in bulk["events"]]
        if not single:
            assert len(bulk["events"]) > 1 and bulk["shared"]["account"] == "a"
            assert all(not bulk["shared"].keys() & each.keys() for each in bulk["events"])
        sizes.append(len(requested))
        seen += requested
    assert max(sizes) <= 10 and sizes[-1] == 1, sizes
    assert len({each.pop("event_id") for each in seen}) == 26
    assert {each.pop("network_connection_type") for each in seen} == {"loopback"}
    assert seen == events + [{"n": 25, "visitor": "v"}]
