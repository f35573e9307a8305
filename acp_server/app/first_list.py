"""The session list for a client that asks for it right after `initialize`, before anything that serves is loaded.

A person waits for it with nothing else on the screen, and it needs the store's catalogue alone, while what serves
sessions takes four times as long to load. Owns the judgement whether the request is the plain one, of a process that
nobody has configured; anything else is left to the full server, byte for byte (docs/decisions/0011-first-list.md).
"""

from __future__ import annotations

import os
import select
from collections.abc import Mapping
from typing import Any, Final

PATIENCE_MS: Final = 5
"""How long the client may take to ask, from the answer to `initialize` on; loading begins afterwards anyway."""
READ_SIZE: Final = 65536
METHOD: Final = b"session/list"
SETTINGS: Final = "settings.toml"


def serve_first_list(in_fd: int, out_fd: int, unread: bytes, environment: Mapping[str, str]) -> bytes:
    """Answer the next request if it is for the first page of the list; return the bytes that nobody has served.

    Raises:
        BrokenPipeError: nobody reads the answer.
    """
    if b"\n" not in unread and _readable(in_fd):
        unread += os.read(in_fd, READ_SIZE)
    line, separator, rest = unread.partition(b"\n")
    if not separator or METHOD not in line:
        return unread
    answer = _answer(line, environment)
    if answer is None:
        return unread
    while answer:
        answer = answer[os.write(out_fd, answer) :]
    return rest


def _readable(fd: int) -> bool:
    waiting = select.poll()
    waiting.register(fd, select.POLLIN)
    return any(happened & select.POLLIN for _, happened in waiting.poll(PATIENCE_MS))


def _answer(line: bytes, environment: Mapping[str, str]) -> bytes | None:
    from acp_server.jsonrpc.envelope import Call, read_message  # noqa: PLC0415 - most clients ask for something else

    call = read_message(line)
    if not isinstance(call, Call) or call.method != METHOD.decode() or type(call.id) not in (int, str):
        return None
    if any(value is not None for value in call.params.values()):  # a directory, a later page
        return None
    try:
        result = _first_page(environment)
    except Exception:  # noqa: BLE001 - whatever it is, the full server meets it too, and tells
        return None
    if result is None:
        return None
    from acp_server.jsonrpc.encoding import response_bytes  # noqa: PLC0415 - likewise

    return response_bytes(call.id, result)  # type: ignore[arg-type]  # a number or a text


def _first_page(environment: Mapping[str, str]) -> dict[str, Any] | None:
    from acp_server.app.places import account_home, find_places  # noqa: PLC0415 - likewise

    places = find_places(environment, account_home)
    if os.path.exists(f"{places.config}/{SETTINGS}"):  # noqa: PTH110 - pathlib is not on the start path
        return None
    from acp_server.acp.listing import PAGE, list_result  # noqa: PLC0415 - likewise
    from acp_server.persistence.listing import first_page  # noqa: PLC0415 - likewise
    from acp_server.persistence.posix_io import PosixIo  # noqa: PLC0415 - likewise

    page = first_page(PosixIo(), places.sessions, None, PAGE)
    return None if page is None else list_result(page)
