"""Updates as bytes, each kind built in one place. Text chunks come from templates, all else from one encoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from acp_server.jsonrpc.encoding import notification_bytes, text_json


def update_frame(session_id: str, update: dict[str, Any]) -> bytes:
    """Return the `session/update` notification that carries the update."""
    return notification_bytes("session/update", {"sessionId": session_id, "update": update})


def chunk_head(session_id: str, kind: str) -> bytes:
    """Return what every text chunk of that kind in that session begins with."""
    return (
        f'{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":{text_json(session_id)},'
        f'"update":{{"sessionUpdate":{text_json(kind)},"content":{{"type":"text","text":'
    ).encode()


def chunk_template(head: bytes, message_id: str) -> Callable[[str], bytes]:
    """Return what renders one text chunk of that message: everything but the text is encoded once."""
    tail = f'}},"messageId":{text_json(message_id)}}}}}}}\n'.encode()
    return lambda text: head + text_json(text).encode() + tail
