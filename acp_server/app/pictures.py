"""The images of all sessions in base64, the latest in memory: for requests to models and for editors.

Owns how much of them is kept in memory. An attachment's id is made of its content, so one entry serves every session
that names it; which session may name what is the log's matter.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Final, TypeAlias

from acp_server.base.cancel import CancelToken
from acp_server.base.errors import ServerError
from acp_server.base.ids import SessionId
from acp_server.base.ports import Attachments
from acp_server.llm.waiting import until
from acp_server.messages.blocks import ImageBlock, images_of
from acp_server.messages.request import GenerateOptions
from acp_server.persistence.port import SessionPersistence

Store: TypeAlias = Callable[[], Awaitable[SessionPersistence]]
MOST: Final = 64 * 1024 * 1024
"""Characters of base64 kept in memory; what is asked for at once is kept whatever it takes."""


class Pictures:
    """See acp.picture_updates.Pictures."""

    def __init__(self, store: Store, most: int = MOST) -> None:
        self._store = store
        self._most = most
        self._kept: dict[str, str] = {}
        """The one that was asked for last is the last."""
        self._size = 0
        self._loading: list[dict[str, None]] = []

    def find(self, ident: str) -> str | None:
        """See acp.picture_updates.Pictures."""
        return self._kept.get(ident)

    def of(self, image: ImageBlock) -> str | None:
        """Return the image in base64; see llm.adapters.images.ImageLoader."""
        return self._kept.get(image.attachment_id)

    def keep(self, ident: str, content: bytes) -> None:
        """Take an attachment's content into memory."""
        self._add(ident, content)
        self._shrink(ident)

    async def load(self, session_id: str, idents: Iterable[str]) -> None:
        """See acp.picture_updates.Pictures; all of these stay in memory until the next call."""
        wanted = dict.fromkeys(idents)
        self._loading.append(wanted)
        try:
            for ident in wanted:
                if ident in self._kept:
                    self._kept[ident] = self._kept.pop(ident)
                else:
                    with suppress(ServerError):  # what is gone or damaged is told where it is missed
                        store = await self._store()
                        self._add(ident, await store.get_attachment(SessionId(session_id), ident))
            self._shrink()
        finally:
            self._loading.remove(wanted)

    async def ready(self, options: GenerateOptions, cancel: CancelToken) -> None:
        """Have the images of a request in memory when this returns, as far as there are any; raise Cancelled.

        They stay there until other images are asked for, which nobody can before the caller awaits something else.
        """
        idents = [image.attachment_id for message in options.messages for image in images_of(message.content)]
        if idents and options.session_id is not None:
            await until(self.load(options.session_id, idents), cancel)

    def _add(self, ident: str, content: bytes) -> None:
        self._size -= len(self._kept.pop(ident, ""))
        text = self._kept[ident] = b2a_base64(content, newline=False).decode("ascii")
        self._size += len(text)

    def _shrink(self, *newest: str) -> None:
        """Let the oldest go, but for what somebody is waiting for."""
        wanted = set(newest).union(*self._loading)
        for ident in [ident for ident in self._kept if ident not in wanted]:
            if self._size <= self._most:
                return
            self._size -= len(self._kept.pop(ident))


class Remembered:
    """See base.ports.Attachments: what is kept beside the log stays in memory for a while."""

    def __init__(self, attachments: Attachments, pictures: Pictures) -> None:
        self._attachments = attachments
        self._pictures = pictures

    async def put(self, content: bytes) -> str:
        """See base.ports.Attachments."""
        ident = await self._attachments.put(content)
        self._pictures.keep(ident, content)
        return ident
