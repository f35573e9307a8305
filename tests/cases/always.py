"""What holds in every case, said or not: the invariants of the pipes, and well-formed model requests."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tests.cases.options import Options
from tests.support import invariants, schema
from tests.support.llm_script import Asked, text_of
from tests.support.mock_llm import KEY
from tests.support.trace import Obj, Trace


def broken(trace: Trace, asked: Sequence[Asked], options: Options) -> list[str]:
    """Return what does not hold; this repository's server also keeps the invariants, and with strict the schema."""
    wrong = invariants.stdout_lines(trace) + invariants.answered_once(trace) + model_requests(asked)
    if options.own or options.strict:
        wrong += invariants.broken(trace, [KEY])
    if options.strict:
        wrong += schema.stable().agent_trace(trace)
    return list(dict.fromkeys(wrong))


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
