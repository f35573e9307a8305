"""Taking away what lies beside a log and nothing names (docs/log-format.md, clauses G-6 and G-7). Blocking.

Whoever sweeps holds the session's lock: an attachment is made before the event that names it, and by its owner only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from acp_server.base.ids import SessionId
from acp_server.base.values import value
from acp_server.persistence.attachment_id import is_attachment_id
from acp_server.persistence.batches import read_batch
from acp_server.persistence.io_port import LogIo
from acp_server.persistence.paths import ATTACHMENTS_NAME, TORN_PREFIX, LogPlace
from acp_server.persistence.recovery import Found, look

_NAME: Final = re.compile(rb"sha256-[0-9a-f]{64}")
_HALF: Final = ".tmp"


@value
class Swept:
    """How many files went and how many bytes they had; `kept` is why nothing was touched, or None."""

    files: int = 0
    size: int = 0
    kept: str | None = None


def sweep(io: LogIo, place: LogPlace, session_id: SessionId) -> Swept:
    """Remove the attachments of a session whose ids stand nowhere in its log, and what broken-off writes left.

    Of a log that is not whole nothing is removed: what cannot be read may name what lies beside it.

    Raises:
        PersistenceError: as `look`.
        OSError: the disk refused.
    """
    found = look(io, place, session_id)
    names = io.list_dir(place.directory)
    if found.scan.damage is not None or any(name.startswith(TORN_PREFIX) for name in names):
        return Swept(kept="its log is not whole, or has a torn end set aside")
    if ATTACHMENTS_NAME not in names:
        return Swept()
    folder, named = f"{place.directory}/{ATTACHMENTS_NAME}", set(_named(found))
    gone = [name for name in io.list_dir(folder) if _is_ours(name) and name not in named]
    size = 0
    for name in gone:
        size += io.facts(f"{folder}/{name}").size
        io.unlink(f"{folder}/{name}")
    if gone:
        io.sync_dir(folder)
    return Swept(len(gone), size)


def _is_ours(name: str) -> bool:
    return is_attachment_id(name.removesuffix(_HALF))


def _named(found: Found) -> Iterator[str]:
    """Iterate over every id in the log, whatever it means there: too much kept is no harm."""
    for span in found.scan.spans:
        payload, _ = read_batch(found.place.encoding, found.data, span.offset)
        yield from (match.decode() for match in _NAME.findall(payload))
