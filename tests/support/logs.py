"""Generated events, batches and logs for the tests of the session log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from random import Random

from hypothesis import strategies as st

from acp_server.base.ids import SessionId
from acp_server.base.json_value import FrozenObject, JsonValue, freeze
from acp_server.persistence.batches import Encoding, encode_batch
from acp_server.persistence.records import encode_events, encode_header
from acp_server.session.events import Replace, SessionEvent, SurfaceOp
from acp_server.session.header import SessionHeader

HEADER = SessionHeader(id=SessionId("s-1"), created_at=1_750_000_000_000, cwd="/home/me/project")
NOW = 1_750_000_000_000
_LETTERS = 'abc{}"\\\u2028\u00e9\U0001f600 '


def frozen(value: object) -> FrozenObject:
    data = freeze(value)
    assert isinstance(data, FrozenObject)
    return data


def event(
    seq: int,
    kind: str,
    data: object,
    *,
    time: int | None = None,
    surface_op: SurfaceOp | None = None,
    sources: tuple[int, ...] | None = None,
    ignorable: bool = False,
) -> SessionEvent:
    moment = NOW + seq if time is None else time
    return SessionEvent(kind, seq, moment, frozen(data), surface_op, sources, ignorable)


def text_delta(seq: int, text: str, *, time: int | None = None, turn: int = 1, index: int = 0) -> SessionEvent:
    chunk = {"type": "text-delta", "index": index, "text": text}
    return event(seq, "assistant/chunk", {"turn": turn, "step": 1, "chunk": chunk}, time=time)


def user_message(seq: int, text: str) -> SessionEvent:
    message = {
        "id": f"m-{seq}",
        "role": "user",
        "content": [{"type": "text", "text": text}],
        "source": {"kind": "user"},
    }
    return event(seq, "user/message", message, surface_op="append")


def whole_turn(first: int, turn: int, deltas: int, text: str = "word ") -> list[SessionEvent]:
    """Return a prompt, its streamed answer and the brackets around them."""
    seqs = count(first)
    start = [
        event(next(seqs), "turn/start", {"turn": turn}),
        user_message(next(seqs), f"question {turn}"),
        event(next(seqs), "step/start", {"turn": turn, "step": 1}),
    ]
    stream = [text_delta(next(seqs), f"{text}{number} ", turn=turn) for number in range(deltas)]
    answer = {
        "id": f"a-{turn}",
        "role": "assistant",
        "content": [{"type": "text", "text": "".join(f"{text}{number} " for number in range(deltas))}],
        "source": {"kind": "model", "provider": "scripted", "model": "demo"},
    }
    end = [
        event(next(seqs), "assistant/message", {"turn": turn, "step": 1, "message": answer}, surface_op="append"),
        event(next(seqs), "step/end", {"turn": turn, "step": 1}),
        event(next(seqs), "turn/end", {"turn": turn, "reason": {"kind": "completed"}}),
    ]
    return [*start, *stream, *end]


def log_bytes(
    batches: Iterable[Sequence[SessionEvent]], encoding: Encoding = "zstd", header: SessionHeader = HEADER
) -> bytes:
    parts = [encode_batch(encoding, encode_header(header))]
    parts += [encode_batch(encoding, encode_events(batch)) for batch in batches]
    return b"".join(parts)


def in_batches(events: Sequence[SessionEvent], random: Random, largest: int = 12) -> list[list[SessionEvent]]:
    batches: list[list[SessionEvent]] = []
    position = 0
    while position < len(events):
        size = random.randint(1, largest)
        batches.append(list(events[position : position + size]))
        position += size
    return batches


def random_events(random: Random, number: int, first: int = 0) -> list[SessionEvent]:
    """Return a plausible run of events: mostly deltas of several blocks, some others in between."""
    events: list[SessionEvent] = []
    while len(events) < number:
        seq = first + len(events)
        kind = random.randrange(5)
        if kind == 0:
            words = "".join(
                random.choice('abc{}"\\\u2028\u00e9\U0001f600 ') for _ in range(random.choice([1, 30, 900]))
            )
            events.append(user_message(seq, words))
        elif kind == 1:
            events.append(event(seq, "session/title", {"title": f"title {seq}", "messageSeqs": []}))
        else:
            run = random.randint(1, 9)
            words = random.choice(["x", "some words ", "Ω" * 40, "line\n"])
            events += [text_delta(seq + n, f"{words}{n}", turn=kind, time=NOW + seq) for n in range(run)]
    return events[:number]


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_SAFE = st.integers(-(2**53) + 1, 2**53 - 1)
_JSON = st.recursive(
    st.none() | st.booleans() | _SAFE | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def chunk_data(draw: st.DrawFn) -> dict[str, JsonValue]:
    """Draw what a chunk event holds: mostly what may be packed, sometimes nearly so."""
    kind = draw(st.sampled_from(["text-delta", "reasoning-delta", "tool-call-delta", "usage"]))
    chunk: dict[str, JsonValue] = {"type": kind, "index": draw(st.integers(0, 1))}
    if kind == "tool-call-delta":
        chunk["id"] = draw(st.sampled_from(["c1", "c2"]))
        if draw(st.booleans()):
            chunk["name"] = draw(st.sampled_from(["read", "edit"]))
        chunk["argumentsDelta"] = draw(_TEXT)
    elif kind != "usage":
        chunk["text"] = draw(_TEXT)
    oddity = draw(st.sampled_from(["", "", "", "", "", "extra", "text", "order", "index"]))
    if oddity == "extra":
        chunk["more"] = True
    elif oddity == "text":
        chunk["text"] = 7
    elif oddity == "order":
        chunk = dict(reversed(chunk.items()))
    elif oddity == "index":
        chunk["index"] = True
    return {"turn": draw(st.integers(1, 2)), "step": 1, "chunk": chunk}


@st.composite
def event_lists(draw: st.DrawFn, most: int = 24) -> list[SessionEvent]:
    """Draw events with seqs from 0, in long runs of like deltas, in mixed ones, and others in between."""
    events: list[SessionEvent] = []
    for _ in range(draw(st.integers(0, 5))):
        if len(events) >= most:
            break
        seq = len(events)
        if draw(st.booleans()):
            data = draw(chunk_data())
            length = draw(st.integers(1, 6))
            times = draw(st.lists(_SAFE | st.integers(0, 50), min_size=length, max_size=length))
            events += [event(seq + at, "assistant/chunk", data, time=time) for at, time in enumerate(times)]
        else:
            events.append(draw(plain_events(seq)))
    return events


@st.composite
def plain_events(draw: st.DrawFn, seq: int) -> SessionEvent:
    data = draw(st.dictionaries(_TEXT, _JSON, max_size=3))
    choices: list[SurfaceOp | None] = [None, "append", Replace(0, seq)]
    operation = draw(st.sampled_from(choices))
    sources = draw(st.none() | st.lists(st.integers(0, 5), max_size=3).map(tuple))
    known = draw(st.booleans())
    kind = draw(st.sampled_from(["user/message", "todo/write", "turn/start"])) if known else "plug/in"
    return event(seq, kind, data, time=draw(_SAFE), surface_op=operation, sources=sources, ignorable=not known)
