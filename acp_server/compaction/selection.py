"""Which part of the Surface may go: cuts that part no call from its result (docs/compaction.md, clause S-1). Pure.

A pair is a call and the result that answers it, in whatever order results stand. A call without a result, and a result
without a call, bind nothing: a broken history can always be compacted.
"""

from __future__ import annotations

from collections.abc import Sequence

from acp_server.messages.blocks import Message, ToolCallBlock, ToolResultBlock


def pairs(messages: Sequence[Message | None]) -> list[tuple[int, int]]:
    """Return the positions of each call and its result; an id that is used again names another call."""
    open_calls: dict[str, list[int]] = {}
    early: dict[str, list[int]] = {}
    found: list[tuple[int, int]] = []
    for place, message in enumerate(messages):
        for block in () if message is None else message.content:
            if isinstance(block, ToolCallBlock):
                if early.get(block.id):
                    found.append((early[block.id].pop(0), place))
                else:
                    open_calls.setdefault(block.id, []).append(place)
            elif isinstance(block, ToolResultBlock):
                if open_calls.get(block.tool_call_id):
                    found.append((open_calls[block.tool_call_id].pop(), place))
                else:
                    early.setdefault(block.tool_call_id, []).append(place)
    return found


def cuts(messages: Sequence[Message | None]) -> list[bool]:
    """Return for each position from 0 to the end whether everything before it may go without splitting a pair."""
    steps = [0] * (len(messages) + 2)
    for first, last in pairs(messages):
        steps[first + 1] += 1
        steps[last + 1] -= 1
    allowed, within = [], 0
    for step in steps[: len(messages) + 1]:
        within += step
        allowed.append(within == 0)
    return allowed


def head_length(messages: Sequence[Message | None], prices: Sequence[int], retain: int) -> int:
    """Return how many nodes from the first on may be compacted so that at least `retain` tokens stay, 0 for none.

    With a `retain` of 0 exactly the last node is the seed of what stays.
    """
    place, kept = len(messages), 0
    while place > 0 and (kept < retain or place == len(messages)):
        place -= 1
        kept += prices[place]
    allowed = cuts(messages)
    while place > 0 and not allowed[place]:
        place -= 1
    return place


def tail_start(messages: Sequence[Message | None], prices: Sequence[int], room: int) -> int:
    """Return the first position from which everything fits into `room` tokens, a pair on one side; 0 when all fits.

    When not even the last whole unit fits, it is where that unit begins.
    """
    allowed = cuts(messages)
    kept, best = 0, 0
    fitting: int | None = None
    for place in range(len(messages) - 1, -1, -1):
        kept += prices[place]
        if not allowed[place]:
            continue
        if best == 0:
            best = place
        if kept > room:
            break
        fitting = place
    return best if fitting is None else fitting
