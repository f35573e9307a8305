"""Components of what a conversation begins with: sections of the system text, and the title."""

from __future__ import annotations

from acp_server.agent.contexts import Context
from acp_server.agent.system_prompt import IDENTITY, IDENTITY_ORDER, PROJECT_ORDER, Section, project_text
from acp_server.app.clock import SystemClock
from acp_server.app.components import hot
from acp_server.app.instructions import Instructions
from acp_server.app.registries import Parts, TitleChoice
from acp_server.app.row import Config
from acp_server.app.session_access import SessionObserver
from acp_server.app.surroundings import checked_out, day
from acp_server.session.title import fallback_for


@hot
def identity(parts: Parts, config: Config) -> None:
    """Register who the agent is; `text` takes the place of the shipped words."""
    text = config.get("text")
    words = text if isinstance(text, str) else IDENTITY
    parts.sections.add(Section("identity", IDENTITY_ORDER, lambda _cwd: words, template=isinstance(text, str)))


@hot
def project_directory(parts: Parts, config: Config) -> None:  # noqa: ARG001 - a factory's signature
    """Register the line that names the project's directory."""
    parts.sections.add(Section("project-directory", PROJECT_ORDER, project_text))


@hot
def title(parts: Parts, config: Config) -> None:
    """Register the title of a session's first words, and with `by = "model"` that a model is asked for one as well."""
    parts.titles.add(fallback_for)
    if config.get("by") == "model":
        provider, _, model = str(config.get("model", "")).partition("/")
        parts.title_choices.add(TitleChoice((provider, model) if model else None))


@hot
def surroundings(parts: Parts, config: Config) -> None:
    """Register what is checked out, what is open in the editor, and with `date` the day, told when they change."""
    clock = SystemClock()
    if config.get("date") is True:
        parts.contexts.add(Context("date", 0, lambda _cwd: day(clock.now_ms)))
    parts.contexts.add(Context("git", 10, checked_out))
    family = parts.family
    if family is not None:
        parts.contexts.add(Context("editor", 15, lambda _cwd: None, lambda session: family.editor_words(session.id)))


@hot
def instructions(parts: Parts, config: Config) -> None:  # noqa: ARG001 - likewise
    """Register the instructions of the project's own files, told when they change or when others come to count."""
    found = Instructions()
    parts.contexts.add(Context("instructions", 20, lambda _cwd: None, found.text))
    parts.observers.add(SessionObserver(closed=found.forget))
