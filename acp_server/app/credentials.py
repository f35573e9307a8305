"""Keys that a person has stored with `acp-server login`: one file in the config place (docs/credentials.md).

Owns the file: who may read it and which name a key has in it; how it changes is `private_file`'s matter. A stored key
stands in for the variable of the environment of the same name, and the variable wins. No key is ever in a message of
an error.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from acp_server.app.places import account_home, find_places
from acp_server.app.private_file import alone, remove_file, replace_file
from acp_server.base.errors import ServerError

FILE: Final = "credentials.json"
LARGEST: Final = 256 * 1024
LONGEST_KEY: Final = 16 * 1024
CODE: Final = "CREDENTIALS_FAILED"
_FORM: Final = 1


class Credentials:
    """The stored keys by the names of the variables that they stand in for.

    The file is read again whenever it has changed, so that a login or a logout of another process counts at once.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._stamp: tuple[int, ...] | None = None
        self._keys: Mapping[str, str] = {}

    @property
    def path(self) -> str:
        """Return the file's place; raise ServerError NO_HOME or INVALID_HOME."""
        return f"{find_places(self._environment, account_home).config}/{FILE}"

    def find(self, name: str) -> str | None:
        """Return the key of that name; None when there is none, or when the file is not fit to hold any."""
        try:
            return self._read().get(name)
        except ServerError:
            return None

    def names(self) -> tuple[str, ...]:
        """Return the names of the stored keys; raise ServerError as `problem` says it."""
        return tuple(self._read())

    def problem(self) -> str | None:
        """Return why stored keys are not used, in one sentence; None when nothing is wrong."""
        try:
            self._read()
        except ServerError as error:
            return None if error.code in ("NO_HOME", "INVALID_HOME") else error.message
        return None

    def store(self, name: str, key: str) -> str:
        """Keep the key under that name; return the file's place.

        Raises:
            ServerError: INVALID_CREDENTIAL, it is no text that a header can carry; UNSAFE_CREDENTIALS,
                BROKEN_CREDENTIALS, or CREDENTIALS_FAILED when the disk refuses.
        """
        if not key or len(key) > LONGEST_KEY or not all("\x21" <= character <= "\x7e" for character in key):
            raise ServerError("INVALID_CREDENTIAL", "A key has no blanks, line breaks or letters beyond ASCII.")
        with alone(self.path, CODE):
            self._write({**self._read(), name: key})
        return self.path

    def forget(self, name: str | None = None) -> tuple[str, ...]:
        """Take that key away, or all; return the names of those that were there. The empty file goes too.

        Raises:
            ServerError: UNSAFE_CREDENTIALS, BROKEN_CREDENTIALS (not when all are taken away), CREDENTIALS_FAILED.
        """
        if not os.path.lexists(self.path):
            return ()
        with alone(self.path, CODE):
            known = self._known(lenient=name is None)
            gone = tuple(known) if name is None else tuple(known.keys() & {name})
            if name is None or (gone and len(known) == 1):
                remove_file(self.path, CODE)
                self._stamp = None
            elif gone:
                self._write({other: key for other, key in known.items() if other != name})
        return gone

    def _known(self, *, lenient: bool) -> Mapping[str, str]:
        try:
            return self._read()
        except ServerError:
            if not lenient:
                raise
            return {}

    def _read(self) -> Mapping[str, str]:
        path = self.path
        try:
            facts = os.stat(path)  # noqa: PTH116 - pathlib is not on the start path
        except OSError:
            self._stamp, self._keys = None, {}
            return self._keys
        stamp = (facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size, facts.st_ino, facts.st_mode)
        if stamp != self._stamp:
            _require_private(path, facts)
            self._keys = _parsed(path)
            self._stamp = stamp
        return self._keys

    def _write(self, keys: Mapping[str, str]) -> None:
        text = json.dumps({"version": _FORM, "keys": dict(sorted(keys.items()))}, indent=2) + "\n"
        replace_file(self.path, text, CODE)
        self._stamp = None


def stored_keys(environment: Mapping[str, str]) -> Callable[[str], str | None]:
    """Return what looks a stored key up by the name of its variable."""
    return Credentials(environment).find


def _require_private(path: str, facts: os.stat_result) -> None:
    if not stat.S_ISREG(facts.st_mode):
        raise ServerError("UNSAFE_CREDENTIALS", f"{path} is no plain file, so no key is read from it.")
    if facts.st_mode & 0o077:
        raise ServerError("UNSAFE_CREDENTIALS", f"{path} can be read by others, so it is not used: chmod 600 {path}")
    if facts.st_uid != os.getuid():
        raise ServerError("UNSAFE_CREDENTIALS", f"{path} belongs to another account, so no key is read from it.")


def _parsed(path: str) -> Mapping[str, str]:
    document: Any = None
    with suppress(OSError, ValueError, RecursionError), open(path, encoding="utf-8") as file:  # noqa: PTH123 - likewise
        document = json.loads(file.read(LARGEST))
    keys = document.get("keys") if isinstance(document, dict) and document.get("version") == _FORM else None
    if not isinstance(keys, dict):
        remedy = "run acp-server logout, then log in again"
        raise ServerError("BROKEN_CREDENTIALS", f"{path} is not what acp-server login writes: {remedy}.")
    return {name: key for name, key in keys.items() if isinstance(key, str)}
