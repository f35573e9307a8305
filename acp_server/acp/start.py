"""The first exchange of a process: reads up to the first line and answers a plain `initialize` at once.

On the start path (see `handshake`). Whatever is not a plain `initialize` is handed on unread, byte for byte, so the
full server is the only one that judges odd input.
"""

from __future__ import annotations

import os
import sys

from acp_server.acp.handshake import initialize_result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

READ_SIZE = 65536
BOM = b"\xef\xbb\xbf"


class Start:
    """What the first exchange left: bytes that nobody has served, and the params of a served `initialize`."""

    __slots__ = ("ended", "initialized", "unread")

    def __init__(self, unread: bytes, initialized: dict[str, Any] | None, *, ended: bool) -> None:
        self.unread = unread
        self.initialized = initialized
        self.ended = ended
        """Whether the input has ended."""


def first_exchange(in_fd: int, out_fd: int, *, unstable: bool = False) -> Start:
    """Read until a line is whole, answer it when it is a plain `initialize`, return what is left.

    Raises:
        BrokenPipeError: nobody reads the answer.
    """
    data = b""
    while True:
        piece = os.read(in_fd, READ_SIZE)
        if not piece:
            return Start(data, None, ended=True)
        data += piece
        line, separator, rest = data.partition(b"\n")
        if not separator:
            if len(data) >= READ_SIZE:
                return Start(data, None, ended=False)
            continue
        if not line.removeprefix(BOM).strip():
            data = rest
            if rest:
                return Start(rest, None, ended=False)
            continue
        request = _plain_initialize(line, unstable=unstable)
        if request is None:
            return Start(data, None, ended=False)
        answer, params = request
        _write(out_fd, answer)
        return Start(rest, params, ended=False)


class _Strict:
    """What the interpreter's own JSON scanner is told; the package `json` around it costs a third of the path."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


def _plain_initialize(line: bytes, *, unstable: bool) -> tuple[bytes, dict[str, Any]] | None:
    """Return the answer and the params when the line is an `initialize` request without any oddity."""
    try:
        from _json import encode_basestring_ascii, make_scanner  # noqa: PLC0415 - an interpreter may lack it
    except ImportError:
        return None
    try:
        text = line.removeprefix(BOM).decode().strip(" \t\r\n")
        message, end = make_scanner(_Strict)(text, 0)  # type: ignore[arg-type]  # it reads attributes, whatever holds them
    except (StopIteration, ValueError, RecursionError):
        return None
    if end != len(text) or not isinstance(message, dict):
        return None
    ident, params = message.get("id"), message.get("params")
    if message.get("jsonrpc") != "2.0" or message.get("method") != "initialize" or not isinstance(params, dict):
        return None
    if isinstance(ident, bool) or not isinstance(ident, int | str):
        return None
    result = initialize_result(params, sys.executable, unstable=unstable)
    if result is None or (isinstance(ident, str) and any("\ud800" <= character <= "\udfff" for character in ident)):
        return None
    answer = {"jsonrpc": "2.0", "id": ident, "result": result}
    return (_json_text(answer, encode_basestring_ascii) + "\n").encode(), params


def _json_text(value: Any, quoted: Callable[[str], str]) -> str:
    """Return the JSON of a value made of objects, arrays, texts, truth values and whole numbers."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{quoted(key)}:{_json_text(inner, quoted)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_json_text(inner, quoted) for inner in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return quoted(value) if isinstance(value, str) else str(value)


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
