"""Images as Messages takes them; what is too large for it is told in words instead (docs/llm.md, clause W-15). Pure.

An image that the provider refuses would be refused again by every later request of the session.
"""

from __future__ import annotations

from typing import Final

from acp_server.base.json_value import JsonValue
from acp_server.llm.adapters.images import ImageLoader, absent
from acp_server.llm.image_budget import encoded
from acp_server.messages.blocks import ImageBlock, images_of
from acp_server.messages.request import GenerateOptions

MOST_CHARACTERS: Final = 5 * 1024 * 1024
"""Characters of one image in base64."""
MOST_PIXELS: Final = 8000
MANY: Final = 20
PIXELS_OF_MANY: Final = 2000
"""Pixels of one side; the second where a request has more than MANY images."""


class Images:
    """The images of one request."""

    def __init__(self, options: GenerateOptions, load: ImageLoader) -> None:
        count = sum(1 for message in options.messages for _ in images_of(message.content))
        self._pixels = PIXELS_OF_MANY if count > MANY else MOST_PIXELS
        self._load = load

    def part(self, image: ImageBlock) -> dict[str, JsonValue]:
        """Return the image as a part of a message, or the line that stands for it."""
        if encoded(image) > MOST_CHARACTERS or max(image.width, image.height) > self._pixels:
            size = f"{image.width} x {image.height} pixels, {image.size} bytes"
            words = f"[the image {image.name or image.attachment_id} is too large for this model: {size}]"
            return {"type": "text", "text": words}
        data = self._load(image)
        if data is None:
            return {"type": "text", "text": absent(image)}
        return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": data}}
