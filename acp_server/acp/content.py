"""ACP content blocks into neutral blocks (docs/protocol.md, clauses P-01 to P-05 and P-22 to P-26). Pure."""

from __future__ import annotations

from binascii import Error, a2b_base64
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from acp_server.acp.failures import invalid
from acp_server.base.values import value
from acp_server.jsonrpc.errors import RpcError
from acp_server.messages.blocks import TextBlock
from acp_server.messages.pictures import MEDIA_TYPES, picture_of

MOST_BYTES: Final = 20 * 1024 * 1024
"""Bytes of one image."""
MOST_PIXELS: Final = 16_384
"""Pixels of one side of an image."""
MOST_IMAGES: Final = 20
"""Images of one prompt."""
_OTHER_NAMES: Final = {"image/jpg": "image/jpeg", "image/x-png": "image/png"}


@value
class NewImage:
    """An image of a prompt that is checked and not stored yet; sizes as in ImageBlock."""

    content: bytes
    media_type: str
    width: int
    height: int
    name: str | None


Content: TypeAlias = tuple[TextBlock | NewImage, ...]


def blocks_of(prompt: Sequence[Mapping[str, Any]], blind: str | None = None) -> Content:
    """Return the blocks of a prompt in order, empty texts left out.

    `blind` is the name of the prompt's model when it is known to read no images.

    Raises:
        RpcError: -32602 naming the block; nothing of a prompt is taken when one block of it is refused.
    """
    blocks = [made for n, block in enumerate(prompt) for made in _blocks(f"prompt[{n}]", block, blind)]
    if sum(isinstance(block, NewImage) for block in blocks) > MOST_IMAGES:
        raise invalid("prompt", f"has more than {MOST_IMAGES} images")
    return tuple(block for block in blocks if isinstance(block, NewImage) or block.text.strip())


def _blocks(place: str, block: Mapping[str, Any], blind: str | None) -> Content:
    match block["type"]:
        case "text":
            return (TextBlock(_text(place, block, "text")),)
        case "image" if blind is not None:
            raise invalid(f"{place}.type", f"is 'image', and {blind} reads no images; choose a model that does")
        case "image":
            return (_image(place, block),)
        case "resource_link":
            return (TextBlock(_link(_text(place, block, "uri"), block.get("name"))),)
        case "resource":
            return _resource(place, block.get("resource"), blind)
        case "audio":
            raise invalid(f"{place}.type", "is 'audio', and this agent takes no sound")
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


def _image(place: str, block: Mapping[str, Any]) -> NewImage:
    declared = _text(place, block, "mimeType").partition(";")[0].strip().lower()
    uri = block.get("uri")
    image = _checked(f"{place}.data", _text(place, block, "data"), _name_in(uri) if isinstance(uri, str) else None)
    if _OTHER_NAMES.get(declared, declared) != image.media_type:
        raise invalid(f"{place}.mimeType", f"is {declared!r}, but the data are {image.media_type}")
    return image


def _checked(place: str, data: str, name: str | None) -> NewImage:
    """Return the image that the text stands for; raise RpcError -32602 naming what is wrong with it."""
    if len(data) // 4 * 3 > MOST_BYTES + 2:
        raise invalid(place, f"is an image of more than {MOST_BYTES:,} bytes")
    return checked_image(place, _decoded(place, data), name)


def checked_image(place: str, content: bytes, name: str | None) -> NewImage:
    """Return the image that the bytes are, by any name; raise RpcError -32602 naming the place and what is wrong."""
    if len(content) > MOST_BYTES:
        raise invalid(place, f"is an image of more than {MOST_BYTES:,} bytes")
    picture = picture_of(content)
    if picture is None:
        raise invalid(place, f"is none of {', '.join(MEDIA_TYPES)}")
    if not picture.whole:
        raise invalid(place, f"is a damaged image ({picture.media_type}): its end is missing or wrong")
    if max(picture.width, picture.height) > MOST_PIXELS:
        size = f"{picture.width} x {picture.height}"
        raise invalid(place, f"is an image of {size} pixels; {MOST_PIXELS:,} a side are the most")
    return NewImage(content, picture.media_type, picture.width, picture.height, name)


def _decoded(place: str, data: str) -> bytes:
    try:
        return a2b_base64(data, strict_mode=True)
    except (Error, ValueError):
        raise invalid(place, "is no base64") from None


def _resource(place: str, resource: object, blind: str | None) -> Content:
    if not isinstance(resource, Mapping):
        raise invalid(f"{place}.resource", "must be an object")
    uri = _text(f"{place}.resource", resource, "uri")
    where = path_of(uri) or uri
    if isinstance(resource.get("text"), str):
        return (TextBlock(f'<resource uri="{where}">\n{resource["text"]}\n</resource>'),)
    blob = resource.get("blob")
    if not isinstance(blob, str):
        raise invalid(f"{place}.resource", "must have a text or a blob")
    kind = resource.get("mimeType") or "unknown type"
    if blind is None and str(kind).startswith("image/"):
        try:
            image = _checked(f"{place}.resource.blob", blob, _name_in(uri))
        except RpcError:
            pass  # a file that some editor adds by itself is no reason to refuse a prompt
        else:
            return TextBlock(f'<resource uri="{where}">\n(the image that follows)\n</resource>'), image
    size = len(blob) * 3 // 4
    return (TextBlock(f'<resource uri="{where}">\n(binary content, {kind}, {size} bytes, not shown)\n</resource>'),)


def _name_in(uri: str) -> str | None:
    """Return the last part of a path or URI as the image's name, at most 200 characters, or None."""
    where = (path_of(uri) or uri).partition("#")[0].partition("?")[0]
    return where.replace("\\", "/").rstrip("/").rpartition("/")[2][:200] or None


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
