"""Plays the wire cases at the decoders: bytes in, blocks, usage, failure and the next request out.

`judge` says what is wrong with one case. Each case is played whole, byte by byte and cut as it says, and has to give
the same chunks each time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import jsonschema  # type: ignore[import-untyped]  # it ships no annotations

from acp_server.base.json_value import freeze
from acp_server.llm.adapter import WireProtocol
from acp_server.llm.adapters.anthropic.protocol import AnthropicProtocol
from acp_server.llm.adapters.chat.protocol import ChatProtocol
from acp_server.llm.adapters.responses.protocol import ResponsesProtocol
from acp_server.llm.answer_body import body_of
from acp_server.llm.failure import LlmError
from acp_server.llm.inflate import inflater
from acp_server.llm.limits import HttpLimits
from acp_server.llm.retry import TRANSIENT
from acp_server.messages.assembler import BlockAssembler
from acp_server.messages.blocks import (
    Block,
    Message,
    ModelSource,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolSource,
    UserSource,
    text_of,
)
from acp_server.messages.chunk_codec import chunk_to_json
from acp_server.messages.chunks import FinishChunk, StreamChunk, TextDelta, ToolCallDelta
from acp_server.messages.request import CallConfig, GenerateOptions

Case: TypeAlias = Mapping[str, Any]

CASES: Final = Path(__file__).parent / "wire"
SCHEMA: Final = Path(__file__).parent / "wire.schema.json"
PROTOCOLS: Final[Mapping[str, WireProtocol]] = {
    "chat": ChatProtocol(),
    "responses": ResponsesProtocol(),
    "anthropic": AnthropicProtocol(),
}
CONFIG: Final = CallConfig("mock", "mock-1")
GO: Final = Message("m1", "user", (TextBlock("go"),), UserSource())

FINISHES: Final = {
    "stop": "stop",
    "tool_calls": "tool-calls",
    "length": "max-tokens",
    "content_filter": "refusal",
    "refusal": "refusal",
}
CODES: Final = {
    "auth": {"AUTH"},
    "quota": {"QUOTA"},
    "rate_limit": {"RATE_LIMIT"},
    "overloaded": {"OVERLOADED"},
    "server": {"SERVER"},
    "transport": {"TRANSPORT", "STREAM_CLOSED"},
    "timeout": {"TIMEOUT"},
    "context_overflow": {"CONTEXT_WINDOW_EXCEEDED"},
    "invalid_request": {"INVALID_REQUEST", "UNKNOWN_MODEL"},
    "empty": {"EMPTY_RESPONSE"},
    "protocol": {"MALFORMED_RESPONSE", "INVALID_RESPONSE", "HTTP_302"},
}
ENDS: Final = {
    "stall": ("TIMEOUT", "The model server was silent for too long."),
    "cut": ("TRANSPORT", "The connection to the model server was lost."),
}


@dataclass
class Played:
    """What one way of reading the answer gave."""

    chunks: list[StreamChunk] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.assembler = BlockAssembler()
        for chunk in self.chunks:
            self.assembler.push(chunk)
        self.blocks = self.assembler.blocks()
        self.finish = self.assembler.finish
        self.shown = "".join(chunk.text for chunk in self.chunks if isinstance(chunk, TextDelta))

    @property
    def calls(self) -> list[ToolCallBlock]:
        return [block for block in self.blocks if isinstance(block, ToolCallBlock)]

    @property
    def begun_calls(self) -> list[str]:
        names: dict[int, str] = {}
        for chunk in self.chunks:
            if isinstance(chunk, ToolCallDelta):
                names[chunk.index] = chunk.name or names.get(chunk.index, "")
        return list(names.values())


@cache
def cases() -> tuple[Case, ...]:
    """Return all cases, in order of their ids."""
    return tuple(json.loads(path.read_text("utf-8")) for path in sorted(CASES.glob("*.json")))


def judge(case: Case, folder: Path = CASES) -> list[str]:
    """Return what is wrong with the case, one sentence each; nothing when it passes."""
    wrong = _misspelt(case)
    if wrong:
        return wrong
    body = (folder / case["body"]).read_bytes()
    if len(body) != case["body_bytes"]:
        return [f"the body has {len(body)} bytes, not {case['body_bytes']}"]
    ways = {name: Played(list(_play(case, pieces))) for name, pieces in _ways(case, body)}
    whole = ways.pop("whole")
    wrong = [
        f"read {name} it gives other chunks than whole" for name, way in ways.items() if way.chunks != whole.chunks
    ]
    return wrong + _loose_ends(whole) + _outcome(case, whole)


def _misspelt(case: Case) -> list[str]:
    schema = json.loads(SCHEMA.read_text("utf-8"))
    errors = jsonschema.Draft202012Validator(schema).iter_errors(case)
    return [f"{error.json_path}: {error.message}" for error in errors]


def _ways(case: Case, body: bytes) -> Iterator[tuple[str, list[bytes]]]:
    yield "whole", [body]
    yield "byte by byte", [body[at : at + 1] for at in range(len(body))]
    if edges := case.get("cuts"):
        yield "cut", [body[a:b] for a, b in zip([0, *edges], [*edges, len(body)], strict=True)]


def _play(case: Case, pieces: Sequence[bytes]) -> Iterator[StreamChunk]:
    """Give the chunks as the HTTP driver has them made, with dates of one moment; nothing comes after the finish."""
    http = case["http"]
    headers = {name.lower(): re.sub(r"@NOW(?:\+(\d+))?", _date, value) for name, value in http["headers"].items()}
    try:
        for chunk in _read(case, http["status"], headers, pieces):
            yield chunk
            if isinstance(chunk, FinishChunk):
                return
    except LlmError as error:
        yield FinishChunk("error", error.failure)


def _read(case: Case, status: int, headers: Mapping[str, str], pieces: Sequence[bytes]) -> Iterator[StreamChunk]:
    options = GenerateOptions(CONFIG, (GO,))
    body = body_of(status, headers, PROTOCOLS[case["protocol"]], options, HttpLimits())
    unpack = inflater(headers.get("content-encoding", ""))
    try:
        for piece in pieces:
            yield from body.feed(piece if unpack is None else unpack.feed(piece))
        if case["ending"] != "clean":
            raise LlmError(*ENDS[case["ending"]])  # noqa: TRY301 - as the driver would
        if unpack is not None:
            unpack.finish()
        last = body.end()
    except LlmError as error:
        last = body.broken(error)
    yield from last


def _date(found: re.Match[str]) -> str:
    return formatdate(1_767_225_600 + int(found[1] or 0), usegmt=True)


def _loose_ends(played: Played) -> list[str]:
    """Return breaches of what holds for every stream: one finish, at the end; strict JSON; calls with ids."""
    wrong = []
    finishes = [chunk for chunk in played.chunks if isinstance(chunk, FinishChunk)]
    if len(finishes) != 1 or played.chunks[-1] is not finishes[0]:
        wrong.append(f"{len(finishes)} finishes, or one that is not last")
    for chunk in played.chunks:
        freeze(chunk_to_json(chunk))
    ids = [call.id for call in played.calls]
    if not all(ids) or len(set(ids)) != len(ids):
        wrong.append(f"the ids of calls are {ids}")
    if played.finish.failure is None and (played.finish.kind == "tool-calls") != bool(played.calls):
        wrong.append(f"the finish is {played.finish.kind} with {len(ids)} calls")
    return wrong


def _outcome(case: Case, played: Played) -> list[str]:
    expect = case["expect"]
    wanted = expect["outcome"] if isinstance(expect["outcome"], list) else [expect["outcome"]]
    got = "message" if played.finish.failure is None else "error"
    if got not in wanted:
        return [f"the outcome is {got}: {played.finish}"]
    return _message(case, played) if got == "message" else _error(expect.get("error", {}), played)


def _message(case: Case, played: Played) -> list[str]:
    expect, wrong = case["expect"], []
    reasoning = [block.text for block in played.blocks if isinstance(block, ReasoningBlock)]
    for name, got in (
        ("text", text_of(played.blocks)),
        ("reasoning", "".join(reasoning)),
        ("reasoning_parts", reasoning),
        ("finish", played.finish.kind),
    ):
        wanted = FINISHES[expect[name]] if name == "finish" else expect.get(name, got)
        if got != wanted:
            wrong.append(f"{name} is {got!r}, not {wanted!r}")
    if played.shown != text_of(played.blocks):
        wrong.append("what was shown is not what the message says")
    wrong += _usage(expect.get("usage", {}), played)
    if "tool_calls" in expect:
        wrong += _calls(expect["tool_calls"], played.calls)
    dropped = [call["name"] for call in expect.get("dropped_tool_calls", [])]
    if played.begun_calls != [call.name for call in played.calls] + dropped:
        wrong.append(f"of the calls {played.begun_calls} only {dropped} may be dropped")
    return wrong + _next_request(case, played)


def _usage(expected: Mapping[str, int], played: Played) -> list[str]:
    usage = played.assembler.usage
    if not expected or usage is None:
        return ["no usage was told"] if expected else []
    got = {
        "input": usage.input + (usage.cache_read or 0) + (usage.cache_write or 0),
        "output": usage.output,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
        "reasoning": usage.reasoning,
    }
    return [f"usage {name} is {got[name]}, not {value}" for name, value in expected.items() if got[name] != value]


def _calls(expected: Sequence[Mapping[str, Any]], calls: Sequence[ToolCallBlock]) -> list[str]:
    if [call.name for call in calls] != [call["name"] for call in expected]:
        return [f"the calls are {calls}"]
    wrong = []
    for wanted, call in zip(expected, calls, strict=True):
        if wanted["id"] not in (None, call.id):
            wrong.append(f"the id of {call.name} is {call.id}, not {wanted['id']}")
        args = arguments(call)
        if "args" in wanted and args != _unfolded(wanted["args"]):
            wrong.append(f"the arguments of {call.name} are {call.arguments[:200]!r}")
        if "args_error" in wanted and args is not None:
            wrong.append(f"the arguments of {call.name} should be no JSON")
    return wrong


def arguments(call: ToolCallBlock) -> dict[str, Any] | None:
    """Return the call's arguments, or None when they are no JSON object."""
    try:
        value = json.loads(call.arguments or "{}")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _unfolded(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("@repeat:"):
        word, _, times = value.removeprefix("@repeat:").rpartition("*")
        return word * int(times)
    return {key: _unfolded(inner) for key, inner in value.items()} if isinstance(value, dict) else value


def _error(expected: Mapping[str, Any], played: Played) -> list[str]:
    failure, wrong = played.finish.failure, []
    assert failure is not None
    classes = expected["class"] if isinstance(expected["class"], list) else [expected["class"]]
    if not any(failure.code in CODES[name] for name in classes):
        wrong.append(f"the failure is {failure}, not {classes}")
    if (failure.code in TRANSIENT) != expected["retryable"]:
        wrong.append(f"{failure.code} counts as {'retryable' if failure.code in TRANSIENT else 'permanent'}")
    if "retry_after_s" in expected:
        off = (failure.retry_after_ms or 0) / 1000 - expected["retry_after_s"]
        if abs(off) > expected.get("retry_after_tolerance_s", 0):
            wrong.append(f"retry after {failure.retry_after_ms} ms, not {expected['retry_after_s']} s")
    if played.shown != expected.get("partial_text", played.shown):
        wrong.append(f"shown was {played.shown!r}")
    kept = text_of(played.assembler.interrupted_blocks())
    if kept != played.shown:
        wrong.append(f"shown was {played.shown!r}, kept is {kept!r}")
    wrong += [
        f"the message lacks {words!r}" for words in expected.get("message_has", []) if words not in failure.message
    ]
    wrong += [f"the message has {words!r}" for words in expected.get("message_lacks", []) if words in failure.message]
    return wrong


def _next_request(case: Case, played: Played) -> list[str]:
    """Encode the request that follows, and hold it against what must go back."""
    body = PROTOCOLS[case["protocol"]].encode(GenerateOptions(CONFIG, _history(played)))
    sent = json.loads(json.dumps(body, ensure_ascii=False, allow_nan=False).encode())
    wrong = _well_formed(case["protocol"], sent, played)
    for key, expected in case["expect"].get("replay", {}).items():
        wrong += REPLAYS[key](sent, expected)
    return wrong


def _history(played: Played) -> tuple[Message, ...]:
    source = ModelSource(CONFIG.provider, CONFIG.model, freeze(played.assembler.replay_state))
    said = Message("m2", "assistant", played.blocks, source)
    results = [_result(call) for call in played.calls]
    return (GO, said, *results) if results else (GO, said, Message("m3", "user", (TextBlock("and?"),), UserSource()))


def _result(call: ToolCallBlock) -> Message:
    failed = arguments(call) is None
    content: tuple[Block, ...] = (TextBlock("these arguments are no JSON" if failed else "done"),)
    return Message(f"r-{call.id}", "user", (ToolResultBlock(call.id, content, failed),), ToolSource(call.id))


def _well_formed(protocol: str, sent: Mapping[str, Any], played: Played) -> list[str]:
    """Return breaches of what every provider asks for: text kept, calls and results paired and next to each other."""
    wrong = []
    if text_of(played.blocks).strip() and text_of(played.blocks) not in _all_text(sent):
        wrong.append("the next request lacks the text")
    calls, results = PAIRS[protocol](sent)
    if calls != [call.id for call in played.calls] or sorted(results) != sorted(calls):
        wrong.append(f"the next request has the calls {calls} and the results {results}")
    return wrong


def _all_text(value: Any) -> str:
    if isinstance(value, str):
        return value + "\n"
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return "".join(_all_text(part) for part in inner)


def _chat_pairs(sent: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    messages = sent["messages"]
    calls = [call["id"] for message in messages for call in message.get("tool_calls", [])]
    start = next((n + 1 for n, message in enumerate(messages) if message.get("tool_calls")), len(messages))
    results = [message.get("tool_call_id") for message in messages[start : start + len(calls)]]
    return calls, results


def _responses_pairs(sent: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    items = sent["input"]
    calls = [item["call_id"] for item in items if item["type"] == "function_call"]
    start = next((n for n, item in enumerate(items) if item["type"] == "function_call_output"), len(items))
    return calls, [item.get("call_id") for item in items[start : start + len(calls)]]


def _anthropic_pairs(sent: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    messages = sent["messages"]
    calls = [block["id"] for message in messages for block in message["content"] if block["type"] == "tool_use"]
    start = next((n + 1 for n, message in enumerate(messages) if message["role"] == "assistant"), len(messages))
    after = messages[start]["content"] if start < len(messages) else []
    return calls, [block["tool_use_id"] for block in after if block["type"] == "tool_result"]


def _assistant_message_has(sent: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    said = next(message for message in sent["messages"] if message["role"] == "assistant")
    return [] if _holds(said, expected) else [f"the next request's message lacks {expected}: {said}"]


def _input_order(sent: Mapping[str, Any], expected: Sequence[Mapping[str, Any]]) -> list[str]:
    runs = (sent["input"][at : at + len(expected)] for at in range(len(sent["input"])))
    found = any(len(run) == len(expected) and all(map(_holds, run, expected)) for run in runs)
    return [] if found else [f"the next request lacks the run {expected}: {sent['input']}"]


def _assistant_content(sent: Mapping[str, Any], expected: Sequence[Mapping[str, Any]]) -> list[str]:
    said = next(message for message in sent["messages"] if message["role"] == "assistant")["content"]
    found = len(said) >= len(expected) and all(map(_holds, said, expected))
    return [] if found else [f"the next request's message does not begin with {expected}: {said}"]


def _results_in_one_message(sent: Mapping[str, Any], _expected: object) -> list[str]:
    holders = [m for m in sent["messages"] if any(block["type"] == "tool_result" for block in m["content"])]
    return [] if len(holders) == 1 else [f"{len(holders)} messages hold tool results"]


def _holds(value: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
    return all(key in value and value[key] == inner for key, inner in expected.items())


PAIRS: Final[Mapping[str, Callable[[Mapping[str, Any]], tuple[list[str], list[str]]]]] = {
    "chat": _chat_pairs,
    "responses": _responses_pairs,
    "anthropic": _anthropic_pairs,
}
REPLAYS: Final[Mapping[str, Callable[[Mapping[str, Any], Any], list[str]]]] = {
    "assistant_message_has": _assistant_message_has,
    "input_order": _input_order,
    "assistant_content": _assistant_content,
    "results_in_one_message": _results_in_one_message,
}
