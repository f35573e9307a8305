"""The system text of a conversation, made of sections. Stable for a session: nothing in it changes between requests.

What changes (time, files, state) joins as messages (`contexts`), so that a provider's prefix cache keeps hitting. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from acp_server.base.errors import ServerError
from acp_server.base.values import value

IDENTITY: Final = (
    "You are a coding agent. You work inside a person's editor, on the project in the directory named below.\n"
    "Answer in the person's language. Be exact and brief; show code where code says it better than words.\n"
    "Say plainly what you do not know or cannot do, and never claim to have done what you have not."
)
IDENTITY_ORDER: Final = -100
PROJECT_ORDER: Final = 0
_NAMED: Final = re.compile(r"\{\{\s*([a-z][a-z0-9_]*)\s*\}\}")
"""A variable in a text; other braces are text."""


@value
class Section:
    """One part of the system text. `text` gets the session's directory and may return nothing to say.

    Sections stand by `order`, then as registered: -100 is the identity, 0 the project, tools follow from 100 on.
    """

    name: str
    order: int
    text: Callable[[str | None], str | None]
    template: bool = False
    """Whether `{{name}}` in it stands for a variable."""


@value
class Variable:
    """What `{{name}}` stands for. `text` gets the session's directory; nothing that changes within a session is one."""

    name: str
    text: Callable[[str | None], str | None]


VARIABLES: Final = (Variable("cwd", lambda cwd: cwd),)


def project_text(cwd: str | None) -> str | None:
    """Return the line that names the project's directory."""
    return None if cwd is None else f"Project directory: {cwd}"


SECTIONS: Final = (
    Section("identity", IDENTITY_ORDER, lambda _cwd: IDENTITY),
    Section("project-directory", PROJECT_ORDER, project_text),
)
"""What an agent is told that nobody has composed anything for."""


def render_system(sections: Iterable[Section], cwd: str | None, variables: Iterable[Variable] = VARIABLES) -> str:
    """Return the text of the sections for a session in `cwd`; empty ones are left out.

    Raises:
        ServerError: UNKNOWN_VARIABLE, a template names one that there is not, or that has no value here.
    """
    known = {variable.name: variable for variable in variables}
    texts = []
    for section in sorted(sections, key=lambda section: section.order):
        text = section.text(cwd)
        texts.append(_filled(text, cwd, known) if text and section.template else text)
    return "\n\n".join(text for text in texts if text)


def _filled(text: str, cwd: str | None, known: dict[str, Variable]) -> str:
    def told(found: re.Match[str]) -> str:
        variable = known.get(found[1])
        words = None if variable is None else variable.text(cwd)
        if words is None:
            names = ", ".join(sorted(known))
            raise ServerError("UNKNOWN_VARIABLE", f"The system text names {found[0]}; there are: {names}.")
        return words

    return _NAMED.sub(told, text)
