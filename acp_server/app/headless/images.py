"""The images of a task: files that the command line names, checked as those of an editor are (clause P-22)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from acp_server.acp.content import MOST_BYTES, MOST_IMAGES, NewImage, checked_image
from acp_server.agent.agent import Agent
from acp_server.base.errors import ServerError
from acp_server.jsonrpc.errors import RpcError
from acp_server.messages.blocks import ImageBlock


async def kept_images(agent: Agent, paths: Sequence[str]) -> tuple[ImageBlock, ...]:
    """Return the images of those files, in order, when each of them is durable beside the session's log.

    Raises:
        ServerError: INVALID_IMAGE naming the file, before anything is kept; or what the store raises.
    """
    if len(paths) > MOST_IMAGES:
        raise ServerError("INVALID_IMAGE", f"A task may have {MOST_IMAGES} images at most.")
    images = [await asyncio.to_thread(_read, path) for path in paths]
    return tuple([await _kept(agent, image) for image in images])


async def _kept(agent: Agent, image: NewImage) -> ImageBlock:
    ident = await agent.keep(image.content)
    return ImageBlock(ident, image.media_type, len(image.content), image.width, image.height, image.name)


def _read(path: str) -> NewImage:
    try:
        with Path(path).open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        return checked_image(f"the file {path}", content, Path(path).name)
    except OSError as error:
        raise ServerError("INVALID_IMAGE", f"The image {path} cannot be read: {error.strerror}.") from error
    except RpcError as error:
        words = error.data["details"] if isinstance(error.data, dict) else error.message
        raise ServerError("INVALID_IMAGE", f"{str(words)[:1].upper()}{str(words)[1:]}.") from error
