"""An image file as a tool's result: kept beside the log, named to the model, shown on the card.

Owns which images can be shown to a model, and what it is told of the others.
"""

from __future__ import annotations

from typing import Final

from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonObject
from acp_server.messages.blocks import ImageBlock, TextBlock
from acp_server.messages.pictures import Picture, picture_of
from acp_server.tools.file_kinds import describe_binary, is_image
from acp_server.tools.files import FileContent
from acp_server.tools.tool import Card, ToolContext, ToolError, ToolResult

MOST_BYTES: Final = 3_750_000
"""Bytes of an image file: what 5 MB of base64 hold, which every provider takes."""
MOST_PIXELS: Final = 8000
"""Pixels of one side, likewise."""
_HEAD: Final = 8192
_TAKEN: Final = ("a PNG ", "a JPEG ", "a GIF ", "a WebP ")
_BROKEN: Final = "it is damaged or cut, so no model can look at it"


async def image_result(content: FileContent, card: Card, name: str, context: ToolContext) -> ToolResult | None:
    """Return the file as an image; None when it is no image. `content` has at least MOST_BYTES of a longer file.

    Raises:
        ToolError: NOT_TEXT for a kind that no model reads, or when the model reads none; TOO_LARGE; BROKEN_IMAGE;
            NOT_KEPT when it cannot be kept.
    """
    words = describe_binary(content.data[:_HEAD])
    picture = picture_of(content.data)
    what = f"{name} is {words}, {content.size:,} bytes"
    if picture is None:
        if words.startswith(_TAKEN):
            raise ToolError("BROKEN_IMAGE", f"{what}; {_BROKEN}")
        if is_image(words):
            raise ToolError("NOT_TEXT", f"{what}; PNG, JPEG, GIF and WebP are the images that can be looked at")
        return None
    _require_fit(picture, content, what)
    if not context.reads_images:
        raise ToolError("NOT_TEXT", f"{what}; the model of this session reads no images, another model might")
    try:
        ident = await context.keep_image(content.data)
    except ServerError as error:
        raise ToolError("NOT_KEPT", f"{what}; it could not be kept: {error.message}") from error
    size = f"{picture.width} x {picture.height}"
    note = TextBlock(f"[{name}: {picture.media_type}, {size} pixels, {content.size:,} bytes; the image follows]")
    image = ImageBlock(ident, picture.media_type, content.size, picture.width, picture.height, _last(content.path))
    output: JsonObject = {"path": content.path, "mediaType": picture.media_type}
    return ToolResult((note, image), card, output)


def _require_fit(picture: Picture, content: FileContent, what: str) -> None:
    if content.size > MOST_BYTES or len(content.data) < content.size:
        raise ToolError("TOO_LARGE", f"{what}; {MOST_BYTES:,} are the most, so make a smaller copy of it first")
    if max(picture.width, picture.height) > MOST_PIXELS:
        raise ToolError("TOO_LARGE", f"{what}; {MOST_PIXELS:,} pixels a side are the most")
    if not picture.whole:
        raise ToolError("BROKEN_IMAGE", f"{what}; {_BROKEN}")


def _last(path: str) -> str:
    return path.rpartition("/")[2][:200]
