"""Messages made from the protocol's own schema and from ours: right in shape, odd in content, or spoilt in one place.

Pure: the same seed gives the same messages. Every request has an id of its own and is a sound envelope, so each of them
has to be answered once, by a result or by an error of the protocol.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from tests.fuzz.lines import ODD, Known, Line, encode
from tests.support import extensions, node
from tests.support.trace import Obj

SOUND_SHARE = 0.4
DEPTH = 6
TEXTS = (
    "",
    "x",
    "nobody",
    "hello there",
    "\u00e9\u6f22\U0001f600",
    "/status",
    "/model x",
    "../..",
    "a\u2028b",
    "9" * 40,
)
NUMBERS = (0, 1, -1, 2, 40, 2**31, 2**53, -(2**53), 10**30)
RARE = frozenset({"session/new", "logout", "session/fork", "_acp_server/session/fork"})
"""Methods that open sessions or take the models away: seldom, so that others have something to work on."""
RARE_SHARE = 0.15
FATAL = frozenset({"session/close", "session/delete"})
"""Methods that end the session that others work on: they mostly name another one."""


class Shapes:
    """The params of every method that a client may call, as schemas."""

    def __init__(self) -> None:
        whole = json.loads((node.schema_folder() / "schema.json").read_text("utf-8"))
        own = extensions.document()
        self._definitions: Obj = {**whole["$defs"], **{f"own/{name}": part for name, part in own["$defs"].items()}}
        self.requests: dict[str, Obj] = {}
        self.notifications: dict[str, Obj] = {}
        for name, part in whole["$defs"].items():
            method, side = part.get("x-method"), part.get("x-side")
            if side in {"agent", "protocol"} and method:
                if name.endswith("Request"):
                    self.requests[method] = part
                elif name.endswith("Notification"):
                    self.notifications[method] = part
        for method, parts in extensions.methods().items():
            self.requests[method] = {"$ref": "#/$defs/own/" + parts["params"]["$ref"].rsplit("/", 1)[1]}

    def params(self, random: Random, schema: Obj, known: Known) -> Any:
        """Return params of that shape."""
        return self._value(random, schema, known, "", DEPTH)

    def _value(self, random: Random, schema: Any, known: Known, key: str, depth: int) -> Any:
        if not isinstance(schema, dict):
            return _odd(random)
        if "$ref" in schema:
            name = schema["$ref"].partition("/$defs/")[2]
            found = self._definitions.get(f"own/{name}") if name not in self._definitions else self._definitions[name]
            return self._value(random, found, known, key, depth)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return random.choice(schema["enum"])
        choices = schema.get("oneOf") or schema.get("anyOf")
        if choices and "properties" not in schema:
            return self._value(random, random.choice(choices), known, key, depth)
        merged = self._object(random, schema, choices, known, depth)
        if merged is not None:
            return merged
        if "type" not in schema and schema.get("allOf"):
            return self._value(random, schema["allOf"][0], known, key, depth)
        kinds = schema.get("type", "object")
        kind = random.choice(kinds) if isinstance(kinds, list) else kinds
        match kind:
            case "string":
                return _text(random, key, known)
            case "integer":
                return random.choice(NUMBERS)
            case "number":
                return random.choice((*NUMBERS, 0.5, -1.25))
            case "boolean":
                return random.random() < 0.5
            case "null":
                return None
            case "array":
                size = 0 if depth <= 0 else random.choice((0, 1, 1, 2))
                return [self._value(random, schema.get("items"), known, key, depth - 1) for _ in range(size)]
            case _:
                return {} if random.random() < 0.7 else {"any": _odd(random)}

    def _object(self, random: Random, schema: Obj, choices: Any, known: Known, depth: int) -> Obj | None:
        """Return an object with the properties of the schema, of all that it is made of, and of one of its choices."""
        parts = [schema, *schema.get("allOf", ()), *([random.choice(choices)] if choices else [])]
        parts = [self._followed(part) for part in parts]
        tables = [part["properties"] for part in parts if "properties" in part]
        if not tables:
            return None
        required = {name for part in parts for name in part.get("required", ())}
        made: Obj = {}
        for name, inner in (entry for table in tables for entry in table.items()):
            if name in required or (depth > 0 and random.random() < 0.5):
                made[name] = self._value(random, inner, known, name, depth - 1)
        return made

    def _followed(self, part: Obj) -> Obj:
        while "$ref" in part:
            name = part["$ref"].partition("/$defs/")[2]
            part = self._definitions.get(name) or self._definitions[f"own/{name}"]
        return part


def generate(count: int, seed: int, known: Known) -> Iterator[Line]:
    """Give so many messages; the id of every request stands in its line."""
    random, shapes = Random(seed), Shapes()
    common = sorted(set(shapes.requests) - RARE)
    rare = sorted(set(shapes.requests) & RARE)
    for number in range(count):
        if random.random() < 0.08:
            yield Line(encode(_notification(random, shapes, known, number)))
            continue
        method = random.choice(rare if random.random() < RARE_SHARE else common)
        params = shapes.params(random, shapes.requests[method], known)
        if random.random() > SOUND_SHARE:
            params = spoilt(random, params)
        if method in FATAL and isinstance(params, dict) and random.random() < 0.98:
            params["sessionId"] = random.choice(TEXTS)
        ident = f"shape-{number}"
        message = {"jsonrpc": "2.0", "id": ident, "method": method, "params": params}
        yield Line(encode(message).replace(b"\n", b" "), ident)


def _notification(random: Random, shapes: Shapes, known: Known, number: int) -> Obj:
    method = random.choice(sorted(shapes.notifications))
    params = shapes.params(random, shapes.notifications[method], known)
    if method == "$/cancel_request" and random.random() < 0.7:
        params = {"requestId": f"shape-{max(0, number - random.randrange(1, 6))}"}
    return {"jsonrpc": "2.0", "method": method, "params": params if random.random() < 0.8 else spoilt(random, params)}


def spoilt(random: Random, params: Any) -> Any:
    """Return the params with one thing wrong: of another type, missing, or more than there should be."""
    if not isinstance(params, dict) or not params:
        return _odd(random)
    places = list(_places(params))
    owner, key = random.choice(places)
    match random.randrange(4):
        case 0:
            del owner[key]
        case 1:
            owner[key] = _odd(random)
        case 2:
            owner[key] = [owner[key]] * random.choice((0, 1, 3))
        case _:
            params[random.choice(("more", "_meta", "sessionId", "cwd"))] = _odd(random)
    return params


def _odd(random: Random) -> Any:
    """Return an odd value that nobody else holds."""
    return json.loads(json.dumps(random.choice(ODD)))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key, inner in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(inner, dict | list):
            yield from _places(inner)


def _text(random: Random, key: str, known: Known) -> str:
    """Return a text; of fields that name something, mostly one that is there."""
    if random.random() < 0.8:
        match key:
            case "sessionId":
                return known.session
            case "cwd":
                return known.cwd
            case "uri":
                return f"file://{known.cwd}/notes.md"
            case "methodId":
                return "demo"
            case "modeId":
                return random.choice(("ask", "auto", "plan"))
            case "configId":
                return random.choice(("mode", "model", "network", "preset", "compaction"))
            case "text":
                return random.choice(("@script\nsay ok", "/status", "@script\nthink a\nsay b"))
    return random.choice(TEXTS)
