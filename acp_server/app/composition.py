"""What this process is made of at the moment: the rows, and the settings as they change (docs/settings.md).

Owns the last good settings: an edit that is wrong changes nothing and is told. Without a settings file, a profile or a
patch no file is read and nothing that reads files is imported.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeAlias

from acp_server.app.components import Components
from acp_server.app.default_rows import ROWS
from acp_server.app.places import HOME_VARIABLE, Places, account_home, find_places
from acp_server.app.row import Row
from acp_server.base.errors import ServerError

if TYPE_CHECKING:
    from acp_server.app.layers import Choice
    from acp_server.app.settings_watch import SettingsWatch

SETTINGS: Final = "settings.toml"
EDITORS: Final = "acp"
"""The front end, and its row, that the rows kept as code are for."""
_Stamp: TypeAlias = tuple[int, int, int]


class Composition:
    """Builds the components of a process and keeps them as the settings say; `tell` tells the person."""

    def __init__(
        self,
        environment: Mapping[str, str],
        components: Components,
        *,
        profile: str | None,
        patches: tuple[str, ...],
        tell: Callable[[str], None],
        front: str = EDITORS,
    ) -> None:
        self._front = front
        self._components = components
        self._profile = profile
        self._patches = patches
        self._tell = tell
        try:
            self._places: Places | None = find_places(environment, account_home)
        except ServerError:
            self._places = None  # told by whoever needs a home
        self._stamp: _Stamp | None = None
        self._watch: SettingsWatch | None = None
        self._problem: ServerError | None = None
        self.notice: str | None = None
        """What is wrong with the settings that were read last, while those before are in force."""

    def start(self) -> None:
        """Build everything; when that fails, build what is shipped, and let `require` say why."""
        self._stamp = self._look()
        try:
            self._components.build(self._rows())
        except ServerError as error:
            self._problem = error
            self._components.build(ROWS)
        if self._problem is None and self._front not in (row.id for row in self._components.rows):
            whose = "editors" if self._front == EDITORS else "runs"
            words = f"The rows have no front end {self._front!r}; a profile for {whose} lists the bundle {self._front}."
            self._problem = ServerError("NO_FRONT", words)

    def require(self) -> None:
        """Take in changed settings; raise ServerError when the process cannot work as it was asked to."""
        self.check()
        if self._problem is not None:
            raise self._problem

    def check(self) -> None:
        """Take in the settings when their file has changed."""
        stamp = self._look()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            waiting = self._components.update(self._rows())
        except ServerError as error:
            self._wrong(error)
            return
        self._problem = self.notice = None
        if waiting:
            names = ", ".join(waiting)
            self._tell(f"The settings have changed; what they say of {names} holds from the next start of the server.")
        self.watch()

    def watch(self) -> None:
        """Notice changes of the settings file at once; without this they are noticed when a turn begins."""
        if self._watch is None and self._stamp is not None and self._places is not None:
            from acp_server.app.settings_watch import SettingsWatch  # noqa: PLC0415 - for who has settings

            loop = asyncio.get_running_loop()
            self._watch = SettingsWatch(self._places.config, SETTINGS, lambda: loop.call_soon_threadsafe(self.check))
            self._watch.start()

    async def close(self) -> None:
        """End everything that was built."""
        if self._watch is not None:
            self._watch.stop()
        await self._components.close()

    def _wrong(self, error: ServerError) -> None:
        if self._problem is not None:
            self._problem = error
            return
        self.notice = f"{error.message} The settings from before stay in force."
        self._tell(self.notice)

    def _look(self) -> _Stamp | None:
        if self._places is None:
            return None
        try:
            facts = os.stat(f"{self._places.config}/{SETTINGS}")  # noqa: PTH116 - pathlib is not on the start path
        except OSError:
            return None
        return facts.st_mtime_ns, facts.st_size, facts.st_ino

    def _rows(self) -> tuple[Row, ...]:
        if self._front == EDITORS and self._stamp is None and self._profile is None and not self._patches:
            return ROWS
        if self._places is None:
            raise ServerError("NO_HOME", f"No home directory is known; set {HOME_VARIABLE} to an absolute path.")
        from acp_server.app import layers  # noqa: PLC0415 - TOML and pydantic are not for the start path

        settings = None
        if self._stamp is not None:
            settings = layers.read_settings(self._places)
        if self._profile is not None:
            _write_template(self._places, self._profile)
        choice = layers.Choice(self._profile, self._front, self._patches)
        rows = layers.full_tree(choice, self._places, settings).rows
        add_plugins(choice, self._places)
        return rows


def add_plugins(choice: Choice, places: Places) -> None:
    """Let the profile's packages be imported, behind everything else, so that they hide nothing."""
    from acp_server.app import layers  # noqa: PLC0415 - for who has a profile

    for folder in layers.plugin_folders(choice, places):
        if folder not in sys.path:
            sys.path.append(folder)


def _write_template(places: Places, profile: str) -> None:
    """Let a shipped profile that is named for the first time be there to be changed, where that can be."""
    from acp_server.app.profiles import ensure_profile  # noqa: PLC0415 - for who names a profile

    with suppress(ServerError):
        ensure_profile(places, profile)
