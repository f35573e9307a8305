"""What an agent answers to lines as they stand."""

from __future__ import annotations

import json
from typing import Any

from tests.conformance.check import code_of, expect
from tests.conformance.kit import Kit, got
from tests.support.client import Client

PARSE, INVALID, METHOD, PARAMS, NOT_FOUND = -32700, -32600, -32601, -32602, -32002
UNKNOWN_METHOD = "_conformance/unknown"


def answers(kit: Kit, client: Client, *lines: bytes) -> list[tuple[Any, Any]]:
    """Send lines; return (id, error code or "result") of each answer that comes before silence."""
    first = len(client.trace.frames)
    for line in lines:
        client.send_line(line, odd=True)
    ping = kit.settle(client)
    came = [frame.value for frame in got(client, first) if frame.is_answer()]
    return [(a["id"], code_of(a)) for a in came if a["id"] != ping]


def request(ident: object, method: str = UNKNOWN_METHOD, **fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": ident, "method": method, "params": {}, **fields}).encode()


def note(method: str, **fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": {}, **fields}).encode()


def expect_answers(kit: Kit, line: bytes, *wanted: tuple[Any, Any]) -> None:
    """Raise FaultError unless the ordinary process gives exactly these answers to the line."""
    found = answers(kit, kit.ordinary(), line)
    expect(found == list(wanted), f"{line[:60]!r} is answered by {found or 'nothing'}, not {list(wanted) or 'nothing'}")


def expect_code(answer: dict[str, Any], code: int, what: str) -> None:
    found = code_of(answer)
    expect(found == code, f"{what} is answered by {found}, not {code}: {str(answer)[:160]}")
