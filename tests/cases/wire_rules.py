"""What can be seen of a wire case from outside the agent: text, thoughts, calls, stop reason, error, second tries.

Usage and the class of an error are judged beside the decoder.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tests.cases.place import repeat
from tests.cases.rules import subset
from tests.support.llm_script import Asked, text_of
from tests.support.trace import Obj

LATER = "after that"
"""What the model says in the request after the case's own answer."""

STOP = {
    "stop": ["end_turn"],
    "tool_calls": ["end_turn"],
    "length": ["max_tokens"],
    "content_filter": ["refusal"],
    "refusal": ["refusal"],
}


@dataclass(frozen=True, slots=True)
class Seen:
    """What came out of one turn."""

    answer: Obj
    text: str
    thought: str
    asked: list[Asked]


def judge(expect: Obj, seen: Seen) -> list[str]:
    """Return what is wrong; where several outcomes are right, the faults of the first."""
    outcomes = expect["outcome"]
    ways = {"message": message, "error": failure}
    tries = [ways[one](expect, seen) for one in (outcomes if isinstance(outcomes, list) else [outcomes])]
    return tries[0] if all(tries) else []


def partial(error: Obj, text: str) -> list[str]:
    """Return whether the text that was shown is the one that came before the fault."""
    want = error.get("partial_text")
    return [] if want is None or text == want else [f"text {text[:80]!r}, not {want[:80]!r}"]


def message(expect: Obj, seen: Seen) -> list[str]:
    wrong, calls = [], expect.get("tool_calls", [])
    count = 2 if calls else 1
    if len(seen.asked) != count:
        wrong.append(f"{len(seen.asked)} model requests, not {count}")
    want = expect["text"] + (LATER if calls else "")
    if seen.text != want:
        wrong.append(f"text {seen.text[-80:]!r}, not {want[-80:]!r}")
    if "reasoning" in expect and seen.thought != expect["reasoning"]:
        wrong.append(f"thought {seen.thought[:80]!r}, not {expect['reasoning'][:80]!r}")
    reason, allowed = (seen.answer.get("result") or {}).get("stopReason"), STOP["stop" if calls else expect["finish"]]
    if reason not in allowed:
        wrong.append(f"stopReason {reason}, not {allowed}")
    return wrong + (next_request(expect, seen.asked[1]) if calls and len(seen.asked) > 1 else [])


def failure(expect: Obj, seen: Seen) -> list[str]:
    error, text, shown = expect.get("error", {}), seen.text, expect.get("error", {}).get("partial_text") or ""
    told = json.dumps(seen.answer.get("error", ""), ensure_ascii=False) + text
    wrong = [f"shows {word!r}" for word in error.get("message_lacks", []) if word in told]
    if shown and text.count(shown) > 1:
        wrong.append("what had been shown is shown again")
    if len(seen.asked) > 1:
        if not error.get("retryable") and error.get("class") != "context_overflow":
            wrong.append(f"asked again {len(seen.asked) - 1} times although it is of no use")
        if "result" in seen.answer and text != shown + LATER:
            wrong.append(f"after another try the text is {text[-80:]!r}")
        return wrong
    missing = [word for word in error.get("message_has", []) if word not in told]
    wrong += [f"does not say {word!r}: {told[:120]}" for word in missing]
    if "error" not in seen.answer and len(text) <= len(shown):
        wrong.append("the turn ends without a word about the failure")
    return wrong + (partial(error, text) if "error" in seen.answer else [])


def next_request(expect: Obj, asked: Asked) -> list[str]:
    """Return what is wrong with what the request after the calls carries back."""
    said = [m for m in asked.messages if m.get("role") == "assistant"]
    if not said:
        return ["the next request has no assistant message"]
    found: list[Obj] = said[-1].get("tool_calls") or []
    wants = expect["tool_calls"]
    if len(found) != len(wants):
        return [f"the next request has {len(found)} calls, not {len(wants)}"]
    wrong = [why for want, got in zip(wants, found, strict=True) for why in _call(want, got)]
    ids = [call.get("id") for call in found]
    if not all(ids) or len(set(ids)) != len(ids):
        wrong.append(f"ids {ids}")
    if expect["text"] and expect["text"] not in text_of(said[-1].get("content")):
        wrong.append("the next request's assistant message lacks the text")
    return wrong + carried_back(expect.get("replay") or {}, said[-1], asked.body)


def _call(want: Obj, got: Obj) -> list[str]:
    function, wrong = got.get("function", {}), []
    if function.get("name") != want["name"] or (want["id"] is not None and got.get("id") != want["id"]):
        wrong.append(f"call {json.dumps(got)[:120]}, not {want['name']} {want['id']}")
    try:
        args = json.loads(function.get("arguments") or "{}")
    except ValueError:
        args = None
    if "args" in want and args != unfold(want["args"]):
        wrong.append(f"arguments {str(args)[:100]}, not {str(want['args'])[:100]}")
    return wrong


def unfold(value: Any) -> Any:
    """Return expected arguments with `@repeat:WORD*N` unfolded."""
    if isinstance(value, str):
        return repeat(value)
    return {key: unfold(inner) for key, inner in value.items()} if isinstance(value, dict) else value


def carried_back(replay: Obj, said: Obj, body: Obj) -> list[str]:
    """Return what the provider's own fields lack in the next request, each protocol in its own shape."""
    wrong = []
    fields = replay.get("assistant_message_has")
    if fields and not subset(fields, said):
        wrong.append(f"the next request's assistant message lacks {fields}")
    if "input_order" in replay and not _in_a_row(replay["input_order"], body.get("input") or []):
        wrong.append(f"the next request's input has not {replay['input_order']} in a row")
    if "assistant_content" in replay:
        blocks = [m.get("content") or [] for m in body.get("messages") or [] if m.get("role") == "assistant"]
        first = blocks[-1][: len(replay["assistant_content"])] if blocks else []
        if not _each(replay["assistant_content"], first):
            wrong.append(f"the next request's assistant content begins with {str(first)[:160]}")
    if replay.get("results_in_one_message") and not _results_together(body):
        wrong.append("the results of the calls are not in one user message")
    return wrong


def _in_a_row(wants: list[Obj], items: list[Obj]) -> bool:
    count = len(wants)
    return any(_each(wants, items[n : n + count]) for n in range(len(items) - count + 1))


def _each(wants: list[Obj], items: Iterable[Obj]) -> bool:
    found = list(items)
    return len(found) == len(wants) and all(subset(want, got) for want, got in zip(wants, found, strict=True))


def _results_together(body: Obj) -> bool:
    contents = [m.get("content") for m in body.get("messages") or [] if m.get("role") == "user"]
    blocks = [content for content in contents if isinstance(content, list)]
    return sum(any(b.get("type") == "tool_result" for b in content) for content in blocks) == 1
