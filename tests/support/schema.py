"""The schema oracle: frames of both directions, held against the stable v1 schema of the protocol's own SDK.

Two judgements of each frame of an agent: the schema itself, and a stricter audit that finds keys which the schema does
not know, at any depth. Free-form objects (`_meta`, `rawInput` and the like) are open to any key. A client's frames are
judged by the schema alone, and those that a test marks as odd not at all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, TypeAlias

import jsonschema  # type: ignore[import-untyped]  # it ships no annotations
from jsonschema.exceptions import best_match  # type: ignore[import-untyped]  # it ships no annotations

from tests.support import extensions, node
from tests.support.trace import Frame, Obj, Trace, id_key

Validator: TypeAlias = Callable[[Any], list[str]]
"""Returns what is wrong with a value; nothing when it fits."""

FREE_TEXTS = frozenset({"text", "title", "sessionId", "messageId", "toolCallId", "cwd", "details"})
"""Fields of frames in which the schema allows every text."""

ENVELOPES = {
    frozenset({"jsonrpc", "id", "method", "params"}),
    frozenset({"jsonrpc", "id", "method"}),
    frozenset({"jsonrpc", "method", "params"}),
    frozenset({"jsonrpc", "method"}),
    frozenset({"jsonrpc", "id", "result"}),
    frozenset({"jsonrpc", "id", "error"}),
}


def validator(schema: Obj) -> Validator:
    """Return a function that says where a value leaves the schema and why; one sentence for one fault."""
    compiled = jsonschema.Draft202012Validator(schema)

    def judge(value: Any) -> list[str]:
        return [_sentence(error) for error in compiled.iter_errors(value)]

    return judge


def _sentence(error: Any) -> str:
    deepest = best_match([error]) if error.context else error
    return f"{deepest.json_path}: {deepest.message[:200]}"


class Oracle:
    """Judges frames of one agent by one schema, whose definitions say to which side and method they belong."""

    def __init__(self, schema: Obj) -> None:
        self._definitions: Obj = schema["$defs"]
        self._roots: dict[str, Obj] = {}
        self._validators: dict[int, tuple[Obj, Any]] = {}
        self.calls: dict[str, str] = {}
        """Method -> definition of the params, for what an agent sends."""
        self.results: dict[str, str] = {}
        """Method -> definition of the result, for what an agent answers."""
        self.client_calls: dict[str, str] = {}
        """Method -> definition of the params, for what a client sends."""
        self.client_results: dict[str, str] = {}
        """Method -> definition of the result, for what a client answers."""
        for name, definition in self._definitions.items():
            side, method = definition.get("x-side"), definition.get("x-method")
            if not method:
                continue
            is_call, is_answer = name.endswith(("Request", "Notification")), name.endswith("Response")
            if is_call and side in {"client", "protocol"}:
                self.calls[method] = name
            if is_call and side in {"agent", "protocol"}:
                self.client_calls[method] = name
            if is_answer:
                (self.results if side == "agent" else self.client_results)[method] = name
        self._updates: dict[str, Obj] = {
            variant["properties"]["sessionUpdate"]["const"]: variant
            for variant in self._definitions["SessionUpdate"]["oneOf"]
        }
        notification = self._definitions["SessionNotification"]
        around = {**notification["properties"], "update": {"type": "object"}}
        self._around_update: Obj = {**notification, "properties": around}

    def frame(self, value: Any, answered: str | None = None) -> list[str]:
        """Return what is wrong with one frame; `answered` is the method that an answer belongs to."""
        if not isinstance(value, dict) or frozenset(value) not in ENVELOPES:
            return [f"the envelope is {sorted(value) if isinstance(value, dict) else value!r}"]
        if "method" in value:
            return self._call(value)
        if "error" in value:
            return self._fits(self._root("Error"), value["error"], "error")
        if not isinstance(value["result"], dict):
            return [f"the result of {answered} is {value['result']!r}, no object"]
        if answered in extensions.methods():
            return [f"result of {answered}: {why}" for why in own_result(answered)(value["result"])]
        if answered not in self.results:
            return []
        return self._fits(self._root(self.results[answered]), value["result"], f"result of {answered}")

    def client_frame(self, value: Any, answered: str | None = None) -> list[str]:
        """Return what is wrong with one frame of a client; `answered` is the method of the agent that it answers."""
        if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
            return ["it is no JSON-RPC message"]
        if "method" in value:
            method = value["method"]
            known = self.client_calls.get(method) if isinstance(method, str) else None
            if known is None:
                return [] if isinstance(method, str) and method.startswith("_") else [f"{method!r} is no method"]
            return self._says(known, value.get("params") or {}, method)
        if "error" in value:
            return self._says("Error", value["error"], "error")
        if answered not in self.client_results:
            return []
        return self._says(self.client_results[answered], value.get("result"), f"result of {answered}")

    def _says(self, name: str, value: Any, where: str) -> list[str]:
        wrong = self._validator(self._root(name)).iter_errors(value)
        return [f"{where}: {_sentence(error)}" for error in wrong]

    def _call(self, value: Obj) -> list[str]:
        method = value["method"]
        if method.startswith("_"):
            return self._own_call(value)
        if method not in self.calls:
            return [f"{method} is no method that an agent may call"]
        is_request = self.calls[method].endswith("Request")
        if is_request != ("id" in value):
            return [f"{method} has {'no id' if is_request else 'an id'}"]
        if method == "session/update":
            return self._update(value.get("params"))
        return self._fits(self._root(self.calls[method]), value.get("params"), method)

    def _own_call(self, value: Obj) -> list[str]:
        method = value["method"]
        if not method.startswith(extensions.PREFIX):
            return []
        if method not in extensions.notifications() or "id" in value:
            return [f"{method} is no notification of ours"]
        return [f"{method}: {why}" for why in own_notification(method)(value.get("params"))]

    def _update(self, params: Any) -> list[str]:
        """Judge an update by the one variant that its kind names: quicker than by all, and with a plain sentence."""
        wrong = self._fits(self._around_update, params, "session/update")
        if wrong:
            return wrong
        kind = params["update"].get("sessionUpdate")
        if kind not in self._updates:
            return [f"session/update: there is no update {kind!r}"]
        return self._fits(self._updates[kind], params["update"], kind)

    def _fits(self, schema: Obj, value: Any, where: str) -> list[str]:
        wrong = [_sentence(error) for error in self._validator(schema).iter_errors(value)]
        strange = self._unknown([schema], value, "$") if not wrong else ()
        wrong += [f"{path} is a key that the schema does not know" for path in strange]
        return [f"{where}: {why}" for why in wrong]

    def _unknown(self, schemas: list[Obj], value: Any, path: str) -> Iterator[str]:
        shapes = [shape for schema in schemas for shape in self._shapes(schema, value)]
        if isinstance(value, list):
            items = [shape["items"] for shape in shapes if "items" in shape]
            for n, item in enumerate(value):
                yield from self._unknown(items, item, f"{path}[{n}]")
        elif isinstance(value, dict):
            tables: list[Obj] = [shape["properties"] for shape in shapes if "properties" in shape]
            if not tables or any(shape.get("additionalProperties") for shape in shapes):
                return
            for key, inner in value.items():
                found = [table[key] for table in tables if key in table]
                if found:
                    yield from self._unknown(found, inner, f"{path}.{key}")
                else:
                    yield f"{path}.{key}"

    def _shapes(self, schema: Obj, value: Any) -> Iterator[Obj]:
        """Give the plain schemas that hold for this value: through references, and of choices those that fit."""
        yield schema
        if "$ref" in schema:
            yield from self._shapes(self._definitions[schema["$ref"].rsplit("/", 1)[1]], value)
        for part in schema.get("allOf", []):
            yield from self._shapes(part, value)
        for part in schema.get("anyOf", []) + schema.get("oneOf", []):
            if self._validator(part).is_valid(value):
                yield from self._shapes(part, value)

    def _root(self, name: str) -> Obj:
        return self._roots.setdefault(name, {"$ref": f"#/$defs/{name}"})

    def _validator(self, schema: Obj) -> Any:
        """Return the compiled schema, kept with it: the parts of one schema are told apart by identity."""
        if id(schema) not in self._validators:
            compiled = jsonschema.Draft202012Validator({**schema, "$defs": self._definitions})
            self._validators[id(schema)] = (schema, compiled)
        return self._validators[id(schema)][1]

    def trace(self, trace: Trace) -> list[str]:
        """Return what is wrong with all frames of both sides; those that differ in free texts share one look."""
        return self.agent_trace(trace) + self.client_trace(trace)

    def client_trace(self, trace: Trace) -> list[str]:
        """Return what is wrong with the frames of the client that are not marked as odd."""
        asked = {(f.proc, id_key(f.value["id"])): f.value["method"] for f in trace.frames if _asks(f)}
        found = [
            (why, frame)
            for frame in trace.frames
            if frame.way == "sent" and not frame.odd
            for why in self.client_frame(frame.value, asked.get((frame.proc, _id_of(frame.value))))
        ]
        return [f"the client's {why}: {frame.raw[:200]!r}" for why, frame in found]

    def agent_trace(self, trace: Trace) -> list[str]:
        """Return what is wrong with the frames of the agent."""
        wrong: list[str] = []
        asked: dict[tuple[int, str], str] = {}
        params: dict[tuple[int, str], Any] = {}
        sound: set[tuple[str | None, str]] = set()
        for frame in trace.frames:
            value = frame.value
            if frame.way == "sent":
                if frame.is_request() and isinstance(value["method"], str):
                    asked[frame.proc, id_key(value["id"])] = value["method"]
                    params[frame.proc, id_key(value["id"])] = value.get("params")
                continue
            answered = asked.get((frame.proc, id_key(value["id"]))) if frame.is_answer() else None
            if answered in extensions.methods() and "result" in value:
                taken = params[frame.proc, id_key(value["id"])]
                wrong += [f"params of {answered}: {why}" for why in own_params(answered)(taken)]
            form = (
                answered,
                json.dumps(_form(value | {"id": 0} if frame.is_answer() and type(value["id"]) is int else value)),
            )
            if form not in sound:
                found = [f"{why}: {frame.raw[:200]!r}" for why in self.frame(value, answered)]
                wrong += found
                sound |= set() if found else {form}
        return wrong


@cache
def own_params(method: str) -> Validator:
    """Return the judge of params of a method of ours."""
    return validator(extensions.whole(extensions.methods()[method]["params"]))


@cache
def own_result(method: str) -> Validator:
    """Return the judge of results of a method of ours."""
    return validator(extensions.whole(extensions.methods()[method]["result"]))


@cache
def own_notification(method: str) -> Validator:
    """Return the judge of the params of a notification of ours."""
    return validator(extensions.whole(extensions.notifications()[method]))


def _asks(frame: Frame) -> bool:
    return frame.way == "got" and frame.is_request()


def _id_of(value: Any) -> str:
    return id_key(value.get("id")) if isinstance(value, dict) else ""


def _form(value: Any, key: str = "") -> Any:
    """Return the value with one text in the place of all texts of fields that may hold any."""
    if isinstance(value, dict):
        return {name: _form(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_form(inner) for inner in value]
    return "" if key in FREE_TEXTS and isinstance(value, str) else value


@cache
def stable() -> Oracle:
    """Return the oracle of the stable v1 schema; Node's packages are installed when they are not there."""
    return Oracle(json.loads((node.schema_folder() / "schema.json").read_text("utf-8")))


@cache
def unstable() -> Oracle:
    """Return the oracle of the schema that has what no stable version of the protocol has yet."""
    return Oracle(json.loads((node.schema_folder() / "schema.unstable.json").read_text("utf-8")))
