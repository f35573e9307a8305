"""Images in session updates: the presenter names them, their bytes are put in as they are sent (clauses U-16, TC-21).

Owns the two forms of an image's content: with the attachment that it stands for, and as the protocol has it. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Protocol

Find = Callable[[str], str | None]
"""Returns an attachment in base64, or None when it is not at hand."""


class Pictures(Protocol):
    """Where the bytes of images come from."""

    def find(self, ident: str) -> str | None:
        """Return an image in base64 when it is in memory."""
        ...

    async def load(self, session_id: str, idents: Iterable[str]) -> None:
        """Get images of a session into memory, as far as they can be had; raises nothing."""
        ...


class NoPictures:
    """See Pictures; a server that keeps none."""

    def find(self, ident: str) -> str | None:  # noqa: ARG002 - the port's signature
        """See Pictures."""
        return None

    async def load(self, session_id: str, idents: Iterable[str]) -> None:
        """See Pictures."""


NO_PICTURES: Final = NoPictures()


def named(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a logged image block, its bytes still to come."""
    return {"type": "image", "attachment": block["attachment"]}


def named_in(update: Mapping[str, Any]) -> Iterator[str]:
    """Iterate over the attachments whose bytes an update still lacks."""
    for content in _contents(update):
        if _is_named(content):
            yield str(content["attachment"]["attachmentId"])


def filled(update: Mapping[str, Any], find: Find) -> dict[str, Any]:
    """Return the update with the bytes of its images; what cannot be found is told in words."""
    content = update.get("content")
    if isinstance(content, list):
        items = [{**item, "content": _filled(item["content"], find)} if "content" in item else item for item in content]
        return {**update, "content": items}
    return {**update, "content": _filled(content, find)}


def _contents(update: Mapping[str, Any]) -> Iterator[Any]:
    content = update.get("content")
    if isinstance(content, list):
        for item in content:
            yield item.get("content")
    else:
        yield content


def _is_named(content: Any) -> bool:
    return isinstance(content, dict) and "attachment" in content


def _filled(content: Any, find: Find) -> Any:
    if not _is_named(content):
        return content
    image = content["attachment"]
    data = find(image["attachmentId"])
    if data is not None:
        return {"type": "image", "data": data, "mimeType": image["mediaType"]}
    name = f" {image['name']}" if image.get("name") else ""
    size = f"{image['mediaType']}, {image['width']} x {image['height']}"
    return {"type": "text", "text": f"[The image{name} ({size}) is not available.]"}
