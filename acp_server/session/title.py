"""A session's title: how text becomes one, and the fold that knows it (docs/sessions.md, clauses T-1 to T-3).

Owns clean-up, cutting and the rule of which message may give a title. The latest `session/title` wins; asking a model
for one is somebody else's work.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Final

from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.messages.blocks import UserSource, text_of
from acp_server.session.events import SessionEvent
from acp_server.session.history import derive_message

FALLBACK_WORDS: Final = 5
FALLBACK_COLUMNS: Final = 40
TITLE_BYTES: Final = 80
_READ: Final = 8192
"""Characters of a text that are looked at: a pasted file does not make its title slow."""

_OSC: Final = re.compile(r"\x1b[\]PX^_].*?(?:\x07|\x1b\\|\Z)", re.DOTALL)
_CSI: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]?")
_ESCAPE: Final = re.compile(r"\x1b[ -/]*[0-~]?")
_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
_SPACE: Final = re.compile(r"[\s\x1c-\x1f\x85]+")
_JOINERS: Final = "\u200c\u200d"


def normalize_title(text: str, max_bytes: int = TITLE_BYTES) -> str:
    """Return one clean line of at most `max_bytes` UTF-8 bytes, cut between characters as a person sees them.

    Escape sequences, control characters, bidirectional controls and zero-width spaces go; runs of white space become
    one space. The result may be empty.
    """
    return _cut(_clean(text), max_columns=max_bytes, max_bytes=max_bytes)


def fallback_title(text: str) -> str:
    """Return the title that a first message gives when no model was asked; empty when it has no words.

    It is the first FALLBACK_WORDS words, cut at FALLBACK_COLUMNS columns of a terminal (a CJK character takes two) and
    at TITLE_BYTES bytes. A word that does not fit is left out, unless it is the first.
    """
    title = ""
    for word in _clean(text).split(" ")[:FALLBACK_WORDS]:
        longer = f"{title} {word}" if title else word
        if _fits(longer):
            title = longer
            continue
        return title or _cut(word, FALLBACK_COLUMNS, TITLE_BYTES)
    return title


def fallback_for(event: SessionEvent) -> dict[str, JsonValue] | None:
    """Return the data of the `session/title` that this event gives a session without one, or None.

    Only what the person wrote counts: contexts, steering by a plugin and checkpoints do not.
    """
    if event.type != "user/message":
        return None
    message = derive_message(event)
    if message is None or not isinstance(message.source, UserSource):
        return None
    title = fallback_title(text_of(message.content, "\n"))
    return {"title": title, "messageSeqs": [event.seq], "source": {"kind": "fallback"}} if title else None


class TitleProjection:
    """The latest title, None while there is none."""

    key: Final = "title"
    version: Final = 1

    def initial(self) -> JsonValue:
        """Return None."""
        return None

    def apply(self, state: JsonValue, event: SessionEvent) -> JsonValue:
        """Return the event's title, or the state that there was."""
        return event.data["title"] if event.type == "session/title" else state

    def view(self, state: JsonValue) -> JsonValue:
        """Return the title."""
        return state


def from_first_words(data: JsonObject) -> bool:
    """Return whether a `session/title` was made of the person's first words, so that a better one may replace it."""
    source = data.get("source")
    return isinstance(source, Mapping) and source.get("kind") == "fallback"


def _clean(text: str) -> str:
    text = text[:_READ]
    for sequence in (_OSC, _CSI, _ESCAPE):
        text = sequence.sub("", text)
    line = _SPACE.sub(" ", _INVISIBLE.sub("", text))
    return line.strip(" " + _JOINERS)


def _fits(text: str) -> bool:
    return len(text.encode()) <= TITLE_BYTES and sum(map(_columns, text)) <= FALLBACK_COLUMNS


def _cut(text: str, max_columns: int, max_bytes: int) -> str:
    columns = size = end = 0
    for cluster in _clusters(text):
        columns += sum(map(_columns, cluster))
        size += len(cluster.encode())
        if columns > max_columns or size > max_bytes:
            break
        end += len(cluster)
    return text[:end].rstrip()


def _columns(character: str) -> int:
    if unicodedata.combining(character) or character in _JOINERS or "\ufe00" <= character <= "\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _clusters(text: str) -> Iterator[str]:
    """Iterate over what a person sees as one character: a base with its marks, joined emoji, a pair of flag letters."""
    cluster = ""
    for character in text:
        if cluster and not _continues(cluster, character):
            yield cluster
            cluster = ""
        cluster += character
    if cluster:
        yield cluster


def _continues(cluster: str, character: str) -> bool:
    if unicodedata.category(character) in ("Mn", "Me", "Mc") or character in _JOINERS:
        return True
    if cluster[-1] == "\u200d" or "\U0001f3fb" <= character <= "\U0001f3ff":
        return True
    return _is_flag_letter(character) and len(cluster) == 1 and _is_flag_letter(cluster)


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
