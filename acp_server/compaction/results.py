"""Results of tools that are cut, and the files where all of their texts stay readable (clause R-4).

Owns which texts are kept before they are cut: those that no file holds yet and that no reading gives again. The log has
them all, but a model cannot read the log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acp_server.base.errors import ServerError
from acp_server.compaction.policy import Policy
from acp_server.compaction.prune import NOWHERE, calls_of, is_reading, plan_cuts, with_content
from acp_server.compaction.scene import Kit, Nodes
from acp_server.messages.blocks import Message, ToolResultBlock, text_of
from acp_server.session.events import Replace, SessionEvent
from acp_server.session.history import derive_message
from acp_server.session.session import Session
from acp_server.session.whole_texts import whole_path


def shorter_results(nodes: Nodes, policy: Policy, wholes: Mapping[int, str] = NOWHERE) -> list[tuple[int, Message]]:
    """Return the places of the results that may be cut, each with the message that is left of it."""
    cuts = plan_cuts(nodes.messages, policy.prune, wholes)
    return [
        (cut.place, with_content(message, cut.content))
        for cut in cuts
        if (message := nodes.messages[cut.place]) is not None
    ]


async def kept_whole(kit: Kit, nodes: Nodes, places: Sequence[int]) -> dict[int, str]:
    """Return the file that holds the whole text of each result, by its place; a text that none holds is kept in one.

    What is no result, what can be read again, and what cannot be kept has none.
    """
    calls = calls_of(nodes.messages)
    found: dict[int, str] = {}
    for place in places:
        first = _first_of(kit.session, nodes.seqs[place])
        if first.type != "tool/result" or is_reading(calls.get(place)):
            continue
        path = whole_path(first) or await _kept(kit, _text(first))
        if path is not None:
            found[place] = path
    return found


async def _kept(kit: Kit, text: str) -> str | None:
    try:
        return await kit.keep_text(text)
    except ServerError as error:  # the text is in the log all the same, and the turn goes on
        kit.report(error)
        return None


def _first_of(session: Session, seq: int) -> SessionEvent:
    """Return the result as it was before anything of it was cut."""
    event = session.events[seq]
    while isinstance(event.surface_op, Replace) and event.type == "tool/result" and event.source_event_seqs:
        event = session.events[event.source_event_seqs[0]]
    return event


def _text(event: SessionEvent) -> str:
    message = derive_message(event)
    blocks = () if message is None else message.content
    return "".join(text_of(block.content) for block in blocks if isinstance(block, ToolResultBlock))
