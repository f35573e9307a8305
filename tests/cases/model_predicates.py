"""The predicates of rpc cases about what the model was asked."""

from __future__ import annotations

import itertools
import json
import re

from tests.cases.rules import TEXT_RULES, fill_all, short, text_rules
from tests.cases.steps import Run
from tests.support.llm_script import Asked, text_of
from tests.support.trace import Obj

SYSTEM = ("system", "developer")


def llm_requests(run: Run, want: int | Obj) -> list[str]:
    count = len(run.mock.asked)
    low, high = (want, want) if isinstance(want, int) else (want.get("min", 0), want.get("max", count))
    return [] if low <= count <= high else [f"{count} model requests, not {want}"]


def llm_hung_up(run: Run, numbers: list[int]) -> list[str]:
    asked = run.mock.asked
    return [f"model request {n} was not hung up" for n in numbers if n > len(asked) or not asked[n - 1].hung_up]


def request_text(asked: Asked, roles: tuple[str, ...] = ()) -> str:
    """Return all that the messages (of these roles, if any are named) say: text, reasoning, arguments, results."""
    out = []
    for message in asked.messages:
        if roles and message.get("role") not in roles:
            continue
        out += [message.get("reasoning_content") or "", text_of(message.get("content"))]
        out += [call.get("function", {}).get("arguments") or "" for call in message.get("tool_calls") or []]
    return "\n".join(out)


def turn_requests(run: Run) -> list[Asked]:
    return [asked for asked in run.mock.asked if not asked.side]


def chosen(run: Run, want: Obj) -> list[Asked]:
    """Return the requests that `which` and `prompt` name."""
    which = want.get("which", "all")
    if which == "side":
        return [asked for asked in run.mock.asked if asked.side]
    pool = run.asked_in(want["prompt"]) if "prompt" in want else turn_requests(run)
    if isinstance(which, int):
        return pool[which - 1 : which]
    return {"first": pool[:1], "last": pool[-1:]}.get(which, pool)


def model_requests(run: Run, wants: list[Obj]) -> list[str]:
    wrong = []
    for want in wants:
        found = chosen(run, want)
        of = f" of prompt {want['prompt']!r}" if "prompt" in want else ""
        where = f"model request ({want.get('which', 'all')}{of})"
        if not found:
            wrong.append(f"{where}: there is none")
        tries = [one_request(run, want, asked, where) for asked in found]
        if want.get("which") == "any":
            wrong += tries[-1] if tries and all(tries) else []
        else:
            wrong += [why for one in tries for why in one]
        count = want.get("count")
        if count and not count.get("min", 0) <= len(found) <= count.get("max", len(found)):
            wrong.append(f"{where}: {len(found)} of them, not {count}")
    return wrong


def one_request(run: Run, want: Obj, asked: Asked, where: str) -> list[str]:
    wrong = text_rules(run, {k: want[k] for k in TEXT_RULES if k in want}, request_text(asked), where)
    for key, role, name in (("user_has", "user", "user message"), ("tool_has", "tool", "tool result")):
        texts = [text_of(m.get("content")) for m in asked.messages if m.get("role") == role]
        missing = [w for w in fill_all(run, want.get(key, [])) if not any(w in text for text in texts)]
        wrong += [f"{where}: no {name} has {short(w)}" for w in missing]
    names = asked.tools
    wrong += [f"{where}: no tool is called …{w}…" for w in want.get("tools_have", []) if not any(w in n for n in names)]
    if "max_bytes" in want and asked.size > want["max_bytes"]:
        wrong.append(f"{where}: {asked.size} bytes")
    return wrong


def requests_grow(run: Run, breaks: int) -> list[str]:
    pool = [asked for asked in turn_requests(run) if not asked.refused]
    wrong = []
    for n, (old, new) in enumerate(itertools.pairwise(pool), 1):
        same = [a == b for a, b in zip(old.messages, new.messages, strict=False)]
        if len(new.messages) < len(old.messages) or not all(same):
            at = same.index(False) if False in same else len(new.messages)
            wrong.append(f"turn request {n + 1} leaves the messages of turn request {n} at message {at}")
        elif any(old.body.get(k) != new.body.get(k) for k in ("tools", "model")):
            wrong.append(f"turn request {n + 1} has other tools or another model than turn request {n}")
    return wrong if len(wrong) > breaks else []


def side_requests_grow(run: Run, _: object) -> list[str]:
    wrong: list[str] = []
    last: Asked | None = None
    for n, asked in enumerate(run.mock.asked, 1):
        if not asked.side:
            last = last if asked.refused else asked
        elif last and not _begins_as(asked, last):
            wrong.append(f"side request {n} does not start as the turn request before it")
    return wrong


def _begins_as(asked: Asked, last: Asked) -> bool:
    same_tools = asked.body.get("tools") == last.body.get("tools")
    return asked.messages[: len(last.messages)] == last.messages and same_tools


def system_same(run: Run, _: object) -> list[str]:
    pool = turn_requests(run)
    texts = {request_text(asked, SYSTEM) for asked in pool}
    tools = {json.dumps(asked.body.get("tools")) for asked in pool}
    wrong = [f"{len(texts)} different system messages"] if len(texts) > 1 else []
    return wrong + ([f"{len(tools)} different sets of tools"] if len(tools) > 1 else [])


def system_lacks(run: Run, patterns: list[str]) -> list[str]:
    text = "\n".join(request_text(asked, SYSTEM) for asked in run.mock.asked)
    return [f"the system message has {found[0]!r}" for p in patterns if (found := re.search(p, text))]


def shrinks_after_overflow(run: Run, _: object) -> list[str]:
    wrong = []
    for n, (old, new) in enumerate(itertools.pairwise(turn_requests(run)), 1):
        if old.refused and run.owner(old) == run.owner(new) and new.size >= old.size:
            wrong.append(f"turn request {n} was too long with {old.size} bytes, the next has {new.size}")
    return wrong


def shrinks(run: Run, pairs: list[Obj]) -> list[str]:
    wrong = []
    for pair in pairs:
        old, new = run.asked_in(pair["from"]), run.asked_in(pair["to"])
        if not old or not new:
            wrong.append(f"no model requests for prompt {pair['to' if old else 'from']!r}")
        elif new[0].size >= old[-1].size:
            sizes = f"starts with {new[0].size} bytes, prompt {pair['from']!r} ended with {old[-1].size}"
            wrong.append(f"prompt {pair['to']!r} {sizes}")
    return wrong


ALL = (
    llm_requests,
    llm_hung_up,
    model_requests,
    requests_grow,
    side_requests_grow,
    system_same,
    system_lacks,
    shrinks_after_overflow,
    shrinks,
)
