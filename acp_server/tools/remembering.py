"""What a session remembers of files, in its log: which versions it has seen, and what it changed.

Owns the form of these facts. A version is recognised by the hash of its bytes; of a file that was not read whole, by
its time, size and inode.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from acp_server.base.json_value import FrozenObject, JsonObject
from acp_server.sandbox.replacing import Version, digest_of
from acp_server.session.events import APPEND
from acp_server.session.file_changes import FILE_CHANGE, FileState, change_data
from acp_server.session.log import EventLog
from acp_server.tools.files import FileChange
from acp_server.tools.tool import ToolContext

SEEN: Final = "seen"
"""The kind of fact that tells which version of a file a call has seen."""


def seen_fact(path: str, version: Version) -> JsonObject:
    """Return the fact; numbers beyond what JSON carries safely are texts."""
    if version.digest is not None:
        return {"path": path, "size": version.size, "digest": version.digest}
    return {"path": path, "size": version.size, "mtime": str(version.mtime_ns), "inode": str(version.inode)}


def facts_in(events: EventLog, kind: str) -> Iterator[FrozenObject]:
    """Iterate over the facts of that kind that calls kept with their results, in order."""
    for event in events.of_types(("tool/result",)):
        if event.surface_op == APPEND:
            kept: Any = event.data
            for key in ("meta", "facts", kind):
                kept = kept.get(key) if isinstance(kept, Mapping) else None
            yield from (fact for fact in kept or () if isinstance(fact, FrozenObject))


def seen_before(facts: Iterable[JsonObject]) -> Iterator[tuple[str, Version]]:
    """Iterate over the versions that facts tell of, in order; what is no such fact is passed over."""
    for fact in facts:
        path, size, digest = fact.get("path"), fact.get("size"), fact.get("digest")
        if not isinstance(path, str) or not isinstance(size, int):
            continue
        if isinstance(digest, str):
            yield path, Version(0, size, 0, digest)
        else:
            yield path, Version(_number(fact.get("mtime")), size, _number(fact.get("inode")), None)


async def keep_before(context: ToolContext, change: FileChange) -> None:
    """Keep what a file held and record the change, durably, before it is made.

    Raises:
        ServerError: the disk refused, and the change must not be made.
    """
    before = FileState(None)
    if change.before is not None:
        kept = await context.beside.keep(change.before)
        before = FileState(digest_of(change.before), len(change.before), kept)
    after = FileState(digest_of(change.after), len(change.after))
    context.record(FILE_CHANGE, change_data(change.path, before, after, context.call_id), ignorable=True)
    await context.beside.settle()


def _number(text: object) -> int:
    return int(text) if isinstance(text, str) and text.isdecimal() else -1
