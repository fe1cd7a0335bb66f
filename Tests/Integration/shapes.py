"""The shapes of JSON that Documentation/control.md describes, read from that page."""
import os
import re

import harness

TOKEN = re.compile(r'\s*("[^"]*"|\w+|[{}\[\]|?:,=])')
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
ID = re.compile(r"[0-9a-f]{16}-[1-9][0-9]*")


def whole(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


PLAIN = {
    "text": lambda value: isinstance(value, str),
    "time": lambda value: isinstance(value, str) and TIME.fullmatch(value),
    "id": lambda value: isinstance(value, str) and ID.fullmatch(value),
    "count": whole,
    "number": lambda value: whole(value) or isinstance(value, float),
    "bool": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "any": lambda value: True,
}


class Shapes:
    """What each command prints, and the parts with a name; `lines` holds the commands that print a line for each."""

    def __init__(self, page=os.path.join(harness.ROOT, "Documentation", "control.md")):
        with open(page) as file:
            block = re.search(r"^```shapes\n(.*?)^```", file.read(), re.M | re.S).group(1)
        self.parts, self.commands, self.lines = {}, {}, set()
        for statement in re.split(r"\n(?=\S)", block.strip()):
            if found := re.match(r"uplinkctl ([a-z ]+): (lines of )?(.*)", statement, re.S):
                self.commands[found[1]] = self.parse(found[3])
                if found[2]:
                    self.lines.add(found[1])
            else:
                name, text = statement.split(" = ", 1)
                self.parts[name] = self.parse(text)

    def parse(self, text):
        tokens = TOKEN.findall(text)
        assert "".join(tokens) == re.sub(r"\s", "", text), f"not understood: {text}"
        shape = self.either(tokens)
        assert not tokens, tokens
        return shape

    def either(self, tokens):
        shapes = [self.one(tokens)]
        while tokens[:1] == ["|"]:
            tokens.pop(0)
            shapes.append(self.one(tokens))
        return ("either", shapes) if len(shapes) > 1 else shapes[0]

    def one(self, tokens):
        token = tokens.pop(0)
        if token == "[":
            shape = self.either(tokens)
            assert tokens.pop(0) == "]"
            return ("list", shape)
        if token != "{":
            return ("literal", token[1:-1]) if token[0] == '"' else ("name", token)
        members = {}
        while tokens[0] != "}":
            name = tokens.pop(0)
            optional = tokens[0] == "?" and bool(tokens.pop(0))
            assert tokens.pop(0) == ":", name
            members[name if name == "NAME" else name[1:-1]] = (optional, self.either(tokens))
            if tokens[0] == ",":
                tokens.pop(0)
        tokens.pop(0)
        return ("map", members["NAME"][1]) if list(members) == ["NAME"] else ("object", members)

    def fault(self, value, shape, place="it"):
        """Where a value is not as the shape says; None where it is."""
        kind, detail = shape
        if kind == "name" and detail in PLAIN:
            return None if PLAIN[detail](value) else f"{place} is {value!r}, no {detail}"
        if kind == "name":
            return self.fault(value, self.parts[detail], place)
        if kind == "literal":
            return None if value == detail else f"{place} is {value!r}, not {detail!r}"
        if kind == "either":
            faults = [self.fault(value, each, place) for each in detail]
            return None if None in faults else " and ".join(faults)
        if kind == "list":
            if not isinstance(value, list):
                return f"{place} is {value!r}, no list"
            return next(filter(None, (self.fault(each, detail, f"{place}[]") for each in value)), None)
        if not isinstance(value, dict):
            return f"{place} is {value!r}, no object"
        if kind == "map":
            faults = (self.fault(each, detail, f"{place}.{name}") for name, each in value.items())
            return next(filter(None, faults), None)
        if unknown := set(value) - set(detail):
            return f"{place} has {sorted(unknown)}"
        for name, (optional, each) in detail.items():
            if name not in value and not optional:
                return f"{place} has no {name}"
            if name in value and (fault := self.fault(value[name], each, f"{place}.{name}")):
                return fault
        return None
