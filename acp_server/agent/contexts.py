"""What the model is told of a state that changes: a message for what has changed, which takes the earlier one's place.

Owns the message and the fold that knows what was told last and still stands on the Surface. A message joins in
front of those that a step begins with and behind all that was sent before, which stays as it was. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from acp_server.base.json_value import JsonValue
from acp_server.base.values import value
from acp_server.messages.blocks import Message, PluginSource, TextBlock
from acp_server.session.session import Session

PLUGIN: Final = "acp-server/contexts"
PREAMBLE: Final = (
    "The state at this moment, told by the server; each part takes the place of the earlier one of its name."
)
NOTHING: Final = "This no longer applies."


@value
class Context:
    """One part of the state. `text` gets the session's directory and may return nothing to say.

    `of` stands in the place of `text` for what depends on more of a session than its directory.
    """

    name: str
    order: int
    text: Callable[[str | None], str | None]
    of: Callable[[Session], str | None] | None = None

    def told(self, session: Session) -> str | None:
        """Return what there is to say in this session."""
        return self.text(session.header.cwd) if self.of is None else self.of(session)


class Told:
    """What one session's model was told last, by the part's name; each event is looked at once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._seen = 0
        self._generation = 0
        self._parts: dict[str, tuple[int, str]] = {}
        """By name: the event that told it, and its words; empty words for what no longer applies."""

    def update(self, contexts: Iterable[Context], new_id: Callable[[], str]) -> Message | None:
        """Return the message that tells what has changed, or None when nothing has."""
        self._catch_up()
        now = {
            context.name: words
            for context in sorted(contexts, key=lambda context: context.order)
            if (words := context.told(self._session))
        }
        gone = [name for name, (_, words) in self._parts.items() if words and name not in now]
        changed = {name: words for name, words in now.items() if self._parts.get(name, (0, ""))[1] != words}
        changed |= dict.fromkeys(gone, "")
        if not changed:
            return None
        lines = [f"[{name}]\n{words or NOTHING}" for name, words in changed.items()]
        sections: list[JsonValue] = [{"name": name, "text": words} for name, words in changed.items()]
        source = PluginSource(PLUGIN, {"sections": sections})
        return Message(new_id(), "user", (TextBlock("\n\n".join([PREAMBLE, *lines])),), source)

    def _catch_up(self) -> None:
        session = self._session
        if self._seen < session.seq:
            for event in session.events.milestones(self._seen):
                if event.type == "user/message":
                    self._take(event.seq, event.data["source"])
            self._seen = session.seq
        generation = session.surface.replace_generation
        if generation != self._generation:
            self._generation = generation
            self._parts = {name: part for name, part in self._parts.items() if part[0] in session.surface}

    def _take(self, seq: int, source: JsonValue) -> None:
        if not isinstance(source, Mapping) or source.get("plugin") != PLUGIN:
            return
        sections = source.get("sections")
        for section in sections if isinstance(sections, tuple) else ():
            if isinstance(section, Mapping):
                self._parts[str(section.get("name"))] = (seq, str(section.get("text")))
