"""The system text of a conversation, made of sections. Stable for a session: nothing in it changes between requests.

What changes (time, files, state) joins as messages (`contexts`), so that a provider's prefix cache keeps hitting. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from acp_server.base.values import value

IDENTITY: Final = (
    "You are a coding agent. You work inside a person's editor, on the project in the directory named below.\n"
    "Answer in the person's language. Be exact and brief; show code where code says it better than words.\n"
    "Say plainly what you do not know or cannot do, and never claim to have done what you have not."
)
IDENTITY_ORDER: Final = -100
PROJECT_ORDER: Final = 0


@value
class Section:
    """One part of the system text. `text` gets the session's directory and may return nothing to say.

    Sections stand by `order`, then as registered: -100 is the identity, 0 the project, tools follow from 100 on.
    """

    name: str
    order: int
    text: Callable[[str | None], str | None]


def project_text(cwd: str | None) -> str | None:
    """Return the line that names the project's directory."""
    return None if cwd is None else f"Project directory: {cwd}"


SECTIONS: Final = (
    Section("identity", IDENTITY_ORDER, lambda _cwd: IDENTITY),
    Section("project-directory", PROJECT_ORDER, project_text),
)
"""What an agent is told that nobody has composed anything for."""


def render_system(sections: Iterable[Section], cwd: str | None) -> str:
    """Return the text of the sections for a session in `cwd`; empty ones are left out."""
    texts = (section.text(cwd) for section in sorted(sections, key=lambda section: section.order))
    return "\n\n".join(text for text in texts if text)
