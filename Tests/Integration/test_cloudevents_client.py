"""CloudEvents as the `cloudevents` package makes them: structured and batched; what is no CloudEvent is 422."""
import json
import sys

import pytest

from intake_box import box, shared_box  # noqa: F401
from peers import PYPI

sys.path.append(PYPI)
http_binding = pytest.importorskip("cloudevents.core.bindings.http")
json_format = pytest.importorskip("cloudevents.core.formats.json")
v1 = pytest.importorskip("cloudevents.core.v1.event")

SINGLE, BATCH = ({"Content-Type": f"application/cloudevents{kind}+json"} for kind in ("", "-batch"))
EVENT = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}


def made(number, **more):
    attributes = {"id": f"client-{number}", "source": "urn:example:till", "type": "com.example.sale", "specversion": "1.0"}
    return v1.CloudEvent(attributes={**attributes, **more}, data={"n": number, "text": "é\u2028"})


def structured(event):
    """The headers and the body that the package would send."""
    message = http_binding.to_structured(event, json_format.JSONFormat())
    return {key.title(): value for key, value in message.headers.items()}, bytes(message.body)


def test_structured(box):
    event = made(1, subject="a", datacontenttype="application/json")
    headers, body = structured(event)
    assert headers["Content-Type"].startswith("application/cloudevents+json")
    assert box.post(body, headers)["accepted"] == 1
    assert box.post(body, headers)["duplicates"] == 1
    box.check()
    arrived = next(each for each in box.collector.taken if each.get("id") == "client-1")
    sent = json.loads(body)
    assert {key: arrived[key] for key in sent} == sent


def test_batched(box):
    events = [json.loads(structured(made(number))[1]) for number in range(10, 20)]
    answer = box.post(json.dumps(events), BATCH)
    assert (answer["accepted"], answer["duplicates"]) == (10, 0)
    box.check()
    arrived = [each for each in box.collector.taken if each.get("id") in {f"client-{n}" for n in range(10, 20)}]
    assert [each["data"]["n"] for each in arrived] == list(range(10, 20))


WRONG = {
    **{f"no {name}": {key: value for key, value in EVENT.items() if key != name} for name in EVENT},
    **{f"an empty {name}": {**EVENT, name: ""} for name in EVENT},
    **{f"a number for {name}": {**EVENT, name: 1} for name in EVENT},
    **{f"null for {name}": {**EVENT, name: None} for name in EVENT},
    "another version": {**EVENT, "specversion": "0.3"},
    "an object for id": {**EVENT, "id": {"a": "b"}},
}


@pytest.mark.parametrize("name", WRONG)
def test_required_attributes(box, name):
    event = WRONG[name]
    answer = box.post(json.dumps(event), SINGLE, expected=422)
    assert answer["index"] == 0 and answer["type"].endswith(":cloudevents-attribute")
    whole = {**EVENT, "id": name}
    assert box.post(json.dumps([whole, event]), BATCH, expected=422)["index"] == 1
    assert box.post(json.dumps([whole]), BATCH)["accepted"] == 1, "nothing of the batch was taken"


def test_shapes(box):
    """A batch is an array of objects, a single event an object; an empty batch is one."""
    assert box.post(b"[]", BATCH)["accepted"] == 0
    box.post(json.dumps(EVENT), BATCH, expected=400)
    box.post(json.dumps([EVENT]), SINGLE, expected=400)
    assert box.post(b"[17]", BATCH, expected=400)["index"] == 0
    escaped = '{"specversion":"1.0","\\u0069d":"e","source":"\\/s","type":"t"}'
    assert box.post(escaped, SINGLE)["accepted"] == 1
    assert box.post('{"specversion":"1.0","id":"e","source":"/s","type":"t"}', SINGLE)["duplicates"] == 1
