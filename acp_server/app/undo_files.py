"""The files of one session as an undo needs them: the fence, the kept bytes, the editor's unsaved texts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Self

from acp_server.app.beside import SessionBeside
from acp_server.app.places import account_home, find_places
from acp_server.base.cancel import CancelToken
from acp_server.base.errors import ServerError
from acp_server.base.values import replace
from acp_server.sandbox.facts import Host
from acp_server.sandbox.fence import Fence
from acp_server.sandbox.host import read_host
from acp_server.sandbox.policy import Policy
from acp_server.sandbox.probe import leftovers_of
from acp_server.sandbox.replacing import digest_of
from acp_server.sandbox.roots import Roots
from acp_server.session.file_changes import FileState
from acp_server.session.file_undo import Present, Step
from acp_server.session.session import Session
from acp_server.tools.client_side import ClientSide
from acp_server.tools.editor_files import EditorFiles
from acp_server.tools.files import Files
from acp_server.tools.local_files import LocalFiles
from acp_server.tools.restoring import look, put


class SessionFiles:
    """See UndoFiles. The person's order is the consent: exactly the files that they are shown may be written."""

    def __init__(
        self,
        session: Session,
        beside: SessionBeside,
        environment: Mapping[str, str],
        client: Callable[[], ClientSide],
        roots: Callable[[], tuple[str, ...]],
    ) -> None:
        self._session = session
        self._beside = beside
        self._environment = environment
        self._client = client
        self._roots = roots

    async def look(self, paths: Sequence[str], cancel: CancelToken) -> Mapping[str, Present]:
        """See UndoFiles."""
        found: dict[str, Present] = {}
        if not paths:
            return found
        with _Place(self, tuple(paths)) as place:
            editor = place.editor(self._client(), cancel)
            for path in paths:
                cancel.raise_if_cancelled()
                there = await look(place.fence, editor, path)
                found[path] = Present(there.state, there.problem)
        return found

    async def keep(self, step: Step) -> FileState:
        """See UndoFiles."""
        with _Place(self, (step.path,)) as place:
            there = await look(place.fence, None, step.path)
        if there.problem is not None:
            raise ServerError("UNDO_CONFLICT", there.problem)
        if there.state.digest != step.now.digest:
            raise ServerError("UNDO_CONFLICT", "it was changed just before it was to be written")
        if there.state.digest is None:
            return there.state
        kept = await self._beside.keep(there.data)
        if kept is None:
            raise ServerError("NO_ROOM", "what it holds cannot be kept, since the session keeps too much already")
        return replace(there.state, kept=kept)

    async def put(self, step: Step) -> None:
        """See UndoFiles."""
        data = None
        if step.to.digest is not None:
            data = await self._beside.fetch(step.to.kept or "")
            if digest_of(data) != step.to.digest:
                raise ServerError("ATTACHMENT_CORRUPT", "what it held before is damaged")
        with _Place(self, (step.path,)) as place:
            await put(place.fence, step, data)

    def policy(self, paths: tuple[str, ...]) -> Policy:
        """Return what an undo of these files may touch."""
        workspace = os.path.realpath(self._session.header.cwd or "/")
        return Policy("workspace-write", workspace, self._roots(), allowed_paths=paths)

    def host(self) -> Host:
        """Return what the fence has to know of this machine."""
        places = find_places(self._environment, account_home)
        return read_host(self._environment, places.state, (places.state, places.config, places.cache))


class _Place:
    """The fence around some files, with its directories held open."""

    def __init__(self, files: SessionFiles, paths: tuple[str, ...]) -> None:
        self._policy, self._host = files.policy(paths), files.host()
        self._leftovers = leftovers_of(self._host)
        self._held = Roots((self._policy.workspace, *self._policy.roots))
        self.fence = Fence(self._held, self._policy, self._host, self._leftovers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._held.close()

    def editor(self, client: ClientSide, cancel: CancelToken) -> Files | None:
        """Return the files with the editor's texts over them, None where the editor tells none."""
        if not client.reads:
            return None
        return EditorFiles(LocalFiles(self._held, self._policy, self._host, self._leftovers), client, cancel)
