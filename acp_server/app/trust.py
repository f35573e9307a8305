"""Which projects' own skills, hooks and presets the person trusts, and in which content (docs/skills.md, section T).

Owns the file `trust.json` in the place of state, which no tool reaches: a digest by project. A file that is broken, a
link, or writable by others trusts nothing.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Final

from acp_server.base.errors import ServerError

NAME: Final = "trust.json"
_LARGEST: Final = 1 << 20
_FORM: Final = 1


class TrustFile:
    """The file in `folder`, which is made when there is something to keep."""

    def __init__(self, folder: str) -> None:
        self._path = Path(folder, NAME)

    def trusts(self, project: str, digest: str) -> bool:
        """Return whether the project is trusted in exactly that content."""
        return self._read().get(project) == digest

    def grant(self, project: str, digest: str) -> None:
        """Trust the project in that content and in no other.

        Raises:
            ServerError: TRUST_FAILED.
        """
        with self._alone():
            self._write({**self._read(), project: digest})

    def revoke(self, project: str) -> None:
        """Trust the project no more; raise as `grant`."""
        with self._alone():
            self._write({name: digest for name, digest in self._read().items() if name != project})

    def _read(self) -> Mapping[str, str]:
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return {}
        with os.fdopen(descriptor, "rb") as file:
            facts = os.fstat(descriptor)
            if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_mode & 0o022:
                return {}
            data = file.read(_LARGEST)
        try:
            document = json.loads(data)
            projects = document["projects"] if document["version"] == _FORM else {}
            return {str(name): str(digest) for name, digest in projects.items()}
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
            return {}

    def _write(self, projects: Mapping[str, str]) -> None:
        fresh = self._path.with_name(f"{NAME}.{secrets.token_hex(8)}")
        try:
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(json.dumps({"version": _FORM, "projects": dict(projects)}, indent=2) + "\n")
                file.flush()
                os.fsync(descriptor)
            fresh.replace(self._path)
        except OSError as error:
            with suppress(OSError):
                fresh.unlink()
            raise ServerError("TRUST_FAILED", f"{self._path} cannot be written: {error.strerror}.") from error

    @contextmanager
    def _alone(self) -> Iterator[None]:
        lock = self._path.with_name(f"{NAME}.lock")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ServerError("TRUST_FAILED", f"{self._path.parent} cannot be used: {error.strerror}.") from error
        try:
            flock(descriptor, LOCK_EX)  # held for one small write
            yield
        finally:
            os.close(descriptor)
