"""ACP content blocks into neutral blocks (docs/protocol.md, clauses P-01 to P-05). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from acp_server.acp.failures import invalid
from acp_server.messages.blocks import Block, TextBlock

NOT_TAKEN: Final = {"image": "images", "audio": "sound"}


def blocks_of(prompt: Sequence[Mapping[str, Any]]) -> tuple[Block, ...]:
    """Return the blocks of a prompt in order, empty texts left out; raise RpcError -32602 naming the block."""
    blocks = (_block(f"prompt[{n}]", block) for n, block in enumerate(prompt))
    return tuple(block for block in blocks if block.text.strip())


def _block(place: str, block: Mapping[str, Any]) -> TextBlock:
    match block["type"]:
        case "text":
            return TextBlock(_text(place, block, "text"))
        case "resource_link":
            return TextBlock(_link(_text(place, block, "uri"), block.get("name")))
        case "resource":
            return TextBlock(_resource(place, block.get("resource")))
        case kind if kind in NOT_TAKEN:
            raise invalid(f"{place}.type", f"is {kind!r}, and this agent takes no {NOT_TAKEN[kind]}")
        case kind:
            raise invalid(f"{place}.type", f"is {kind!r}, which is no known kind of content")


def _text(place: str, block: Mapping[str, Any], key: str) -> str:
    value = block.get(key)
    if not isinstance(value, str):
        raise invalid(f"{place}.{key}", "must be a string")
    return value


def _link(uri: str, name: object) -> str:
    where = path_of(uri) or uri
    return f"[{name}]({where})" if isinstance(name, str) and name and name != where else f"[{where}]({where})"


def _resource(place: str, resource: object) -> str:
    if not isinstance(resource, Mapping):
        raise invalid(f"{place}.resource", "must be an object")
    uri = _text(f"{place}.resource", resource, "uri")
    where = path_of(uri) or uri
    if isinstance(resource.get("text"), str):
        return f'<resource uri="{where}">\n{resource["text"]}\n</resource>'
    if isinstance(resource.get("blob"), str):
        kind = resource.get("mimeType") or "unknown type"
        size = len(resource["blob"]) * 3 // 4
        return f'<resource uri="{where}">\n(binary content, {kind}, {size} bytes, not shown)\n</resource>'
    raise invalid(f"{place}.resource", "must have a text or a blob")


def path_of(uri: str) -> str | None:
    """Return the path that a file URI or a bare path names, or None for every other URI.

    A line range in the fragment is kept as editors write it (`#L3-7`).
    """
    from urllib.parse import unquote, urlsplit  # noqa: PLC0415 - not for the start path: it loads ipaddress

    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme == "file":
        path = unquote(parts.path)
        fragment = f"#{parts.fragment}" if parts.fragment else ""
        return path + fragment if path else None
    is_drive = len(parts.scheme) == 1
    return uri if is_drive or not parts.scheme else None
