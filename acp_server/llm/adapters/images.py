"""Images in requests: their bytes lie outside the log, so an encoder is given a way to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from acp_server.messages.blocks import ImageBlock

ImageLoader: TypeAlias = Callable[[ImageBlock], str | None]
"""Returns the image in base64, or None when it is gone."""


def no_images(_image: ImageBlock) -> str | None:
    """Return None: the loader of a server without an image store."""
    return None


def absent(image: ImageBlock) -> str:
    """Return what the model reads in place of an image that is gone."""
    return f"[the image {image.name or image.attachment_id} is not available]"
