"""Rules of consent that outlive a session: one file of the person's, which any number of servers may change.

Owns its form and its safety: it belongs to the account and nobody else may write it. Tools cannot reach it: it lies in
a place of the server's own. How it changes is `private_file`'s matter.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from acp_server.agent.consent.rules import Rule, rule_from_json
from acp_server.app.private_file import alone, replace_file
from acp_server.base.errors import ServerError

NAME: Final = "permissions.json"
LARGEST: Final = 4 << 20
CODE: Final = "RULES_FAILED"
_FORM: Final = 1
_Rules: TypeAlias = Mapping[str, tuple[Rule, ...]]
"""By project; the person's own stand at the empty name."""


class RuleFile:
    """See KeptRules. `folder` gives the configuration's directory, which is made when there is something to keep."""

    def __init__(self, folder: Callable[[], str]) -> None:
        self._folder = folder
        self._stamp: tuple[int, ...] | None = None
        self._known: _Rules = {}

    @property
    def path(self) -> str:
        """Return the file's place."""
        return str(Path(self._folder(), NAME))

    def rules(self, project: str) -> tuple[Rule, ...]:
        """See KeptRules. The disk is asked each time, and the file read when it has changed.

        Raises:
            ServerError: UNSAFE_RULES, BROKEN_RULES. Then nothing may be taken for allowed, or for not denied.
        """
        known = self._read()
        return (*known.get("", ()), *known.get(project, ()))

    def add(self, rule: Rule, project: str) -> None:
        """See KeptRules. Raise ServerError: as `rules`, or RULES_FAILED when the disk refuses."""
        place = "" if rule.scope == "user" else project
        with alone(self.path, CODE):
            known = self._read()
            if rule not in known.get(place, ()):
                self._write({**known, place: (*known.get(place, ()), rule)})

    def remove(self, rule: Rule, project: str) -> bool:
        """See KeptRules; raise as `add`."""
        place = "" if rule.scope == "user" else project
        with alone(self.path, CODE):
            known = self._read()
            if rule not in known.get(place, ()):
                return False
            self._write({**known, place: tuple(other for other in known[place] if other != rule)})
        return True

    def _read(self) -> _Rules:
        path = self.path
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            self._stamp, self._known = None, {}
            return self._known
        except OSError as error:
            raise ServerError("UNSAFE_RULES", f"{path} cannot be read: {error.strerror}.") from error
        try:
            facts = os.fstat(descriptor)
            stamp = (facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size, facts.st_ino, facts.st_mode)
            if stamp != self._stamp:
                self._known = _parsed(path, _content(path, descriptor, facts))
                self._stamp = stamp
        finally:
            os.close(descriptor)
        return self._known

    def _write(self, rules: _Rules) -> None:
        path = self.path
        document = {
            "version": _FORM,
            "user": [rule.to_json() for rule in rules.get("", ())],
            "projects": {name: [rule.to_json() for rule in kept] for name, kept in rules.items() if name and kept},
        }
        replace_file(path, json.dumps(document, indent=2) + "\n", CODE)


def _content(path: str, descriptor: int, facts: os.stat_result) -> str:
    if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid():
        raise ServerError("UNSAFE_RULES", f"{path} is no file of this account, so no rule is taken from it.")
    if facts.st_mode & 0o022:
        raise ServerError("UNSAFE_RULES", f"{path} can be written by others, so it is not used: chmod 600 {path}")
    if facts.st_size > LARGEST:
        raise ServerError("BROKEN_RULES", f"{path} is too large to be what this server writes.")
    with os.fdopen(os.dup(descriptor), encoding="utf-8", errors="replace") as file:
        return file.read(LARGEST)


def _parsed(path: str, text: str) -> _Rules:
    try:
        document: Any = json.loads(text)
        rules = {"": tuple(map(rule_from_json, document["user"]))}
        rules |= {str(name): tuple(map(rule_from_json, kept)) for name, kept in document["projects"].items()}
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise ServerError("BROKEN_RULES", f"{path} is not what this server writes; correct it or remove it.") from error
    except ServerError as error:
        raise ServerError("BROKEN_RULES", f"{path} cannot be used: {error.message}.") from error
    if document.get("version") != _FORM:
        raise ServerError("BROKEN_RULES", f"{path} has another form than this server writes.")
    for name, kept in rules.items():
        if any(rule.scope != ("project" if name else "user") for rule in kept):
            raise ServerError("BROKEN_RULES", f"{path} cannot be used: a rule stands where its scope does not belong.")
    return rules
