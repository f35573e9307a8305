"""Lines of a client that went wrong, made from a seed. Pure: the same seed gives the same bytes.

Sound lines are mixed in, each with an id of its own, so that a run can count their answers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.support.trace import Obj

SOUND_SHARE = 0.25
DEEP = (3, 60, 600, 100_000)
HUGE = ("1e400", "-1e400", "9" * 400, "9" * 5000, "0." + "3" * 400, "18446744073709551616", "-0", "1E5", "NaN")
ODD: tuple[Any, ...] = (None, True, False, 0, -1, 1.5, "", "x", [], [1], {}, {"a": 1}, "\ud83d", "\0", "../../etc")
ANSWERS: tuple[Obj, ...] = ({"result": {}}, {"result": None}, {"result": 1}, {"error": {"code": 1, "message": "x"}})
JUNK = (b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"Content-Length: 20\r", b"}{", b"\xe2\x80\xa8", b"\x1b[0m")
ODD_IDS: tuple[Any, ...] = (None, True, 7.5, -3, 2**53, "", [], {}, {"id": 1}, "\ud800", 0)


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its end; `ident` is the id of a sound request, None for all else."""

    raw: bytes
    ident: str | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """What the lines may name: a session that is open, and its folder."""

    session: str
    cwd: str


def generate(count: int, seed: int, known: Known) -> Iterator[Line]:
    """Give so many lines."""
    random = Random(seed)
    for number in range(count):
        if random.random() < SOUND_SHARE:
            ident = f"sound-{number}"
            yield Line(encode({"jsonrpc": "2.0", "id": ident, **_request(random, known)}), ident)
        else:
            yield Line(_mutated(random, number, known).replace(b"\n", b" "))


def encode(value: Any) -> bytes:
    """Return JSON as a client writes it, half surrogate pairs escaped."""
    return json.dumps(value).encode()


def _request(random: Random, known: Known) -> Obj:
    """Return the method and the params of a request that is right in every way."""
    text = {"type": "text", "text": "@script\nsay ok"}
    here = {"cwd": known.cwd, "mcpServers": []}
    forms: list[Obj] = [
        {"method": "initialize", "params": {"protocolVersion": 1, "clientCapabilities": {}}},
        {"method": "initialize", "params": {"protocolVersion": 2, "clientInfo": {"name": "f", "version": "1"}}},
        {"method": "authenticate", "params": {"methodId": "demo"}},
        {"method": "session/new", "params": here},
        {"method": "session/prompt", "params": {"sessionId": known.session, "prompt": [text]}},
        {"method": "session/prompt", "params": {"sessionId": known.session, "prompt": []}},
        {"method": "session/list", "params": {}},
        {"method": "session/list"},
        {"method": "session/load", "params": {"sessionId": "nobody", **here}},
        {"method": "session/set_mode", "params": {"sessionId": known.session, "modeId": "ask"}},
        {"method": "no/such/method", "params": {"any": [1, 2, 3]}},
        {"method": "_own/method", "params": None},
    ]
    weights = [2, 1, 1, 1, 4, 1, 2, 1, 1, 1, 1, 1]
    return random.choices(forms, weights)[0]


def _message(random: Random, number: int, known: Known) -> Obj:
    """Return a message to be spoilt: a request, a notification or an answer."""
    kind = random.random()
    if kind < 0.7:
        return {"jsonrpc": "2.0", "id": f"spoilt-{number}", **_request(random, known)}
    if kind < 0.85:
        cancels = ({"sessionId": known.session}, {"sessionId": "nobody"}, {"requestId": f"sound-{number - 3}"})
        method = random.choice(("session/cancel", "$/cancel_request", "session/update", "_own/notice"))
        return {"jsonrpc": "2.0", "method": method, "params": random.choice(cancels)}
    return {"jsonrpc": "2.0", "id": random.choice((0, 1, 99, "a", None)), **random.choice(ANSWERS)}


def _mutated(random: Random, number: int, known: Known) -> bytes:
    message = _message(random, number, known)
    mutation = random.choice(MUTATIONS)
    raw = mutation(random, message)
    while random.random() < 0.15:
        raw = random.choice(BYTE_MUTATIONS)(random, raw)
    return raw


# -- mutations of the value


def wrong_type(random: Random, message: Obj) -> bytes:
    spoilt = json.loads(json.dumps(message))
    owner, key = random.choice(list(_places(spoilt)))
    owner[key] = random.choice(ODD)
    return encode(spoilt)


def odd_id(random: Random, message: Obj) -> bytes:
    return encode({**message, "id": random.choice(ODD_IDS)})


def without_a_key(random: Random, message: Obj) -> bytes:
    spoilt = json.loads(json.dumps(message))
    owner, key = random.choice(list(_places(spoilt)))
    del owner[key]
    return encode(spoilt)


def with_more_keys(random: Random, message: Obj) -> bytes:
    spoilt = {**message, "type": "x", "meta": {}, random.choice(("result", "error", "_meta")): random.choice(ODD)}
    return encode(spoilt)


def batch(random: Random, message: Obj) -> bytes:
    return encode([message] * random.choice((0, 1, 2, 50)))


def nested(random: Random, message: Obj) -> bytes:
    depth, (opens, closes) = random.choice(DEEP), random.choice(((b"[", b"]"), (b'{"a":', b"}")))
    inner = opens * depth + b"1" + closes * (depth if random.random() < 0.8 else depth // 2)
    return encode({**message, "params": {"deep": 0}}).replace(b": 0}", b": " + inner + b"}")


def huge_number(random: Random, message: Obj) -> bytes:
    number = random.choice(HUGE)
    raw = encode({**message, random.choice(("id", "params", "jsonrpc")): "@"})
    return raw.replace(b'"@"', number.encode())


def doubled_key(random: Random, message: Obj) -> bytes:
    raw = encode(message)
    return raw[:-1] + b', "id": "again", "method": "no/such"}' if random.random() < 0.5 else raw[:-1] + b', "id": null}'


def long_text(random: Random, message: Obj) -> bytes:
    return encode({**message, "method": "x" * random.choice((10, 5000, 200_000))})


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Give (owner, key) of every place inside a value."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(entries):
        yield value, key
        if isinstance(inner, dict | list):
            yield from _places(inner)


# -- mutations of the bytes


def truncated(random: Random, raw: bytes) -> bytes:
    return raw[: random.randrange(len(raw) + 1)]


def flipped(random: Random, raw: bytes) -> bytes:
    spoilt = bytearray(raw or b"x")
    for _ in range(random.choice((1, 1, 2, 8))):
        spoilt[random.randrange(len(spoilt))] = random.randrange(256)
    return bytes(spoilt)


def with_nul(random: Random, raw: bytes) -> bytes:
    at = random.randrange(len(raw) + 1)
    return raw[:at] + bytes(random.choice((1, 4096))) + raw[at:]


def with_junk(random: Random, raw: bytes) -> bytes:
    junk = random.choice(
        (b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"Content-Length: 20\r", b"}{", b"\xe2\x80\xa8", b"\x1b[0m")
    )
    at = random.choice((0, len(raw), random.randrange(len(raw) + 1)))
    return raw[:at] + junk + raw[at:]


def doubled(_: Random, raw: bytes) -> bytes:
    return raw + raw


def blank(random: Random, _: bytes) -> bytes:
    return random.choice((b"", b" ", b"\t\t", b"\r", b"null", b"42", b'"text"', b"true"))


BYTE_MUTATIONS: tuple[Callable[[Random, bytes], bytes], ...] = (
    truncated,
    flipped,
    with_nul,
    with_junk,
    doubled,
    blank,
)


def _of_bytes(mutation: Callable[[Random, bytes], bytes]) -> Callable[[Random, Obj], bytes]:
    return lambda random, message: mutation(random, encode(message))


MUTATIONS: tuple[Callable[[Random, Obj], bytes], ...] = (
    wrong_type,
    wrong_type,
    odd_id,
    without_a_key,
    with_more_keys,
    batch,
    nested,
    huge_number,
    doubled_key,
    long_text,
    *(_of_bytes(mutation) for mutation in BYTE_MUTATIONS),
)
