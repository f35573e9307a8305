"""Which projects' own skills, hooks and presets the person trusts, and in which content (docs/skills.md, section T).

Owns the file `trust.json` in the place of state, which no tool reaches: a digest by project. A file that is broken, a
link, or writable by others trusts nothing.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from acp_server.app.private_file import alone, replace_file

NAME: Final = "trust.json"
CODE: Final = "TRUST_FAILED"
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
        with alone(str(self._path), CODE):
            self._write({**self._read(), project: digest})

    def revoke(self, project: str) -> None:
        """Trust the project no more; raise as `grant`."""
        with alone(str(self._path), CODE):
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
        replace_file(str(self._path), json.dumps({"version": _FORM, "projects": dict(projects)}, indent=2) + "\n", CODE)
