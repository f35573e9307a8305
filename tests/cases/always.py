"""What holds in every case, said or not: lines on stdout, one answer for each request, well-formed model requests."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tests.support.llm_script import Asked, text_of
from tests.support.trace import Frame, Obj, Trace, id_key, parse


def stdout_lines(trace: Trace) -> list[str]:
    """Each line is one JSON-RPC object, a call or an answer, without a CR."""
    wrong = []
    for frame in trace.frames:
        if frame.way != "got":
            continue
        value, shown = frame.value, repr(frame.raw[:80])
        if b"\r" in frame.raw:
            wrong.append(f"stdout has a CR: {shown}")
        if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
            wrong.append(f"stdout line is no JSON-RPC object: {shown}")
        elif "method" not in value and ("id" not in value or ("result" in value) == ("error" in value)):
            wrong.append(f"stdout line is neither a call nor an answer: {shown}")
    return wrong


def answered_once(trace: Trace) -> list[str]:
    """Each request has one answer from its process, unless the process was allowed to fall silent."""
    wrong = []
    for proc in sorted({f.proc for f in trace.frames}):
        wrong += _answered_once([f for f in trace.frames if f.proc == proc], proc in trace.open_until)
    return wrong


def _answered_once(frames: Sequence[Frame], excused: bool) -> list[str]:
    asked = [f.value["id"] for f in frames if f.way == "sent" and f.is_request()]
    loose, nameless = _loose([f for f in frames if f.way == "sent"])
    answers = [f.value["id"] for f in frames if f.way == "got" and f.is_answer()]
    counts = {id_key(ident): sum(id_key(ident) == id_key(a) for a in answers) for ident in asked}
    wrong = [f"id {ident!r} is answered {counts[id_key(ident)]} times" for ident in asked if counts[id_key(ident)] > 1]
    if not excused:
        wrong += [f"id {ident!r} is not answered" for ident in asked if not counts[id_key(ident)]]
    if sum(a is None for a in answers) > nameless + sum(i is None for i in asked):
        wrong.append("an answer with id null that nothing asked for")
    known = {id_key(i) for i in [*asked, *loose, None]}
    return wrong + [f"an answer with id {a!r} that nothing asked for" for a in answers if id_key(a) not in known]


def _loose(sent: Sequence[Frame]) -> tuple[list[object], int]:
    """Return ids in batches and broken lines, which may be answered or not, and how many lines are no request."""
    loose: list[object] = []
    nameless = 0
    for frame in sent:
        if not isinstance(frame.value, dict):
            nameless += 1
            whole = (
                frame.value if isinstance(frame.value, list) else [parse(frame.raw.decode("utf-8", "replace").encode())]
            )
            loose += [item["id"] for item in whole if isinstance(item, dict) and "id" in item]
        elif "method" not in frame.value:
            nameless += 1
    return loose, nameless


def model_requests(asked: Sequence[Asked]) -> list[str]:
    """Each model request is one that every provider takes."""
    return [f"model request {n}: {why}" for n, one in enumerate(asked, 1) for why in model_request(one)]


def model_request(asked: Asked) -> list[str]:
    """Calls and their results stand together, arguments are JSON text, no message is empty."""
    wrong: list[str] = []
    due: list[object] = []
    for message in asked.messages:
        if message.get("role") == "tool":
            ident = message.get("tool_call_id")
            if ident in due:
                due.remove(ident)
            else:
                wrong.append(f"tool result {ident!r} is not next to its call")
            continue
        wrong += [f"calls without a result next to them: {due}"] if due else []
        due = [call.get("id") for call in message.get("tool_calls") or []]
        wrong += _message(message)
    return wrong + ([f"calls without a result next to them: {due}"] if due else [])


def _message(message: Obj) -> list[str]:
    calls = message.get("tool_calls") or []
    if message.get("role") == "user":
        return [] if message.get("content") else ["an empty user message"]
    if message.get("role") != "assistant":
        return []
    wrong = [f"arguments of call {c.get('id')!r} are no JSON text" for c in calls if not _is_json(c)]
    if not calls and not text_of(message.get("content")) and not message.get("reasoning_content"):
        wrong.append("an empty assistant message")
    return wrong


def _is_json(call: Obj) -> bool:
    try:
        json.loads(call["function"]["arguments"])
    except (ValueError, TypeError, KeyError):
        return False
    return True
