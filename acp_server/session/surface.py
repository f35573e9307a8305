"""The Surface: which message events the model sees, and in which order (docs/sessions.md, clauses S-1 to S-9).

Owns planning and applying of append and replace. A plan touches nothing; applying one cannot fail. A replace costs as
many steps as it covers nodes, however long the Surface is. What the nodes say to a model is `history`'s matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.base.values import value
from acp_server.session.events import SURFACE_TYPES, Replace, SessionEvent
from acp_server.session.log import EventLog


@value
class Plan:
    """What one event will do to the Surface: nothing, stand at its end, or stand where `removed` stood."""

    seq: int
    places: bool
    removed: tuple[int, ...] = ()


@value
class Replacement:
    """One replace as it happened: `seq` stands for `shadowed`, which went from `start` to `end`."""

    seq: int
    start: int
    end: int
    shadowed: tuple[int, ...]


_ENDS: Final = -1
"""Stands before the first and behind the last node, so that neither is a special case."""


class Surface:
    """The Surface of one log. It reads what the log holds when it is asked, and follows through `apply` afterwards."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._folded = 0
        self._next: dict[int, int] = {_ENDS: _ENDS}
        self._before: dict[int, int] = {_ENDS: _ENDS}
        self._list: list[int] | None = []
        self._tuple: tuple[int, ...] | None = None
        self._generation = 0

    @property
    def replace_generation(self) -> int:
        """Return how many replaces there were."""
        self._catch_up()
        return self._generation

    @property
    def nodes(self) -> tuple[int, ...]:
        """Return the seqs on the Surface in order."""
        self._catch_up()
        if self._tuple is None:
            if self._list is None:
                self._list = list(self._walk())
            self._tuple = tuple(self._list)
        return self._tuple

    def __len__(self) -> int:
        self._catch_up()
        return len(self._next) - 1

    def __contains__(self, seq: int) -> bool:
        self._catch_up()
        return seq >= 0 and seq in self._next

    def take(self, event: SessionEvent) -> None:
        """Check and apply an event that the log holds already, its next milestone; raise what `plan` raises."""
        if event.surface_op is None and event.source_event_seqs is None and event.type not in SURFACE_TYPES:
            self._folded = event.seq + 1
            return
        self._folded = event.seq
        self.apply(self._plan(event))

    def fold(self) -> None:
        """Take what the log holds and the Surface has not seen."""
        self._catch_up()

    def plan(self, event: SessionEvent) -> Plan:
        """Return what the event, which is the log's next one, would do.

        Raises:
            ServerError: SURFACE_OP_REQUIRED or SURFACE_OP_NOT_ALLOWED (S-1), INVALID_SOURCES (S-3), NOT_ON_SURFACE or
                RANGE_INVERTED (S-4), SOURCES_INCOMPLETE (S-5), TOOL_RESULT_REWRITE (S-6).
        """
        self._catch_up()
        return self._plan(event)

    def apply(self, plan: Plan) -> None:
        """Carry out a plan whose event is in the log by now."""
        if plan.seq != self._folded:
            return
        self._folded = plan.seq + 1
        if plan.removed:
            self._replace(plan.seq, plan.removed)
        elif plan.places:
            self._append(plan.seq)

    def pass_over(self, seq: int) -> None:
        """Take note that the log's event `seq` has nothing to do with the Surface."""
        if seq == self._folded:
            self._folded = seq + 1

    def _catch_up(self) -> None:
        if self._folded == len(self._log):
            return
        for event in self._log.milestones(self._folded):
            self.take(event)
        self._folded = len(self._log)

    def _plan(self, event: SessionEvent) -> Plan:
        if event.type not in SURFACE_TYPES:
            if event.surface_op is None and event.source_event_seqs is None:
                return Plan(event.seq, places=False)
            raise _refused("SURFACE_OP_NOT_ALLOWED", event, "may have neither a surfaceOp nor sources")
        _check_envelope(event)
        removed: tuple[int, ...] = ()
        if isinstance(event.surface_op, Replace):
            removed = self._range(event, event.surface_op)
            _check_coverage(event, removed)
            if event.type == "tool/result":
                _check_rewrite(event, [self._log[seq] for seq in removed])
        return Plan(event.seq, places=True, removed=removed)

    def _walk(self) -> Iterator[int]:
        node = self._next[_ENDS]
        while node != _ENDS:
            yield node
            node = self._next[node]

    def _range(self, event: SessionEvent, operation: Replace) -> tuple[int, ...]:
        """Return the nodes from start to end. Looking both ways finds an inverted range as fast as a right one."""
        start, end = operation.start, operation.end
        for bound in (start, end):
            if bound < 0 or bound not in self._next:
                raise _refused("NOT_ON_SURFACE", event, f"would replace event {bound}, which is not on the Surface")
        covered = [start]
        onward, other = start, end
        while onward != end:
            if onward == _ENDS or other == start:
                raise _refused("RANGE_INVERTED", event, f"would replace from {start} to {end}, which stands before it")
            onward = self._next[onward]
            covered.append(onward)
            other = self._next[other] if other != _ENDS else _ENDS
        return tuple(covered)

    def _append(self, seq: int) -> None:
        last = self._before[_ENDS]
        self._link(last, seq)
        self._link(seq, _ENDS)
        if self._list is not None:
            self._list.append(seq)
        self._tuple = None

    def _replace(self, seq: int, removed: tuple[int, ...]) -> None:
        before, behind = self._before[removed[0]], self._next[removed[-1]]
        for node in removed:
            del self._next[node], self._before[node]
        self._link(before, seq)
        self._link(seq, behind)
        self._list = self._tuple = None
        self._generation += 1

    def _link(self, left: int, right: int) -> None:
        self._next[left] = right
        self._before[right] = left


def fold_surface(events: Iterable[SessionEvent]) -> tuple[tuple[int, ...], tuple[Replacement, ...]]:
    """Return the nodes and the replacements of valid events, in the plainest way: the law that Surface is held to."""
    nodes: list[int] = []
    replacements: list[Replacement] = []
    for event in events:
        operation = event.surface_op
        if isinstance(operation, Replace):
            first, last = nodes.index(operation.start), nodes.index(operation.end)
            shadowed = tuple(nodes[first : last + 1])
            nodes[first : last + 1] = [event.seq]
            replacements.append(Replacement(event.seq, operation.start, operation.end, shadowed))
        elif operation is not None:
            nodes.append(event.seq)
    return tuple(nodes), tuple(replacements)


def _refused(code: str, event: SessionEvent, reason: str) -> ServerError:
    return ServerError(code, f"event {event.seq} ({event.type}) {reason}")


def _check_envelope(event: SessionEvent) -> None:
    if event.surface_op is None:
        raise _refused("SURFACE_OP_REQUIRED", event, "needs a surfaceOp")
    sources = event.source_event_seqs
    if sources is None:
        return
    if not sources and event.type != "assistant/message":
        raise _refused("INVALID_SOURCES", event, "has an empty list of sources")
    # An answer of thousands of chunks names each of them: every test is one call over the whole list.
    if sources and (set(map(type, sources)) != {int} or min(sources) < 0 or max(sources) >= event.seq):
        raise _refused("INVALID_SOURCES", event, "has a source that is no earlier event")
    if len(set(sources)) != len(sources):
        raise _refused("INVALID_SOURCES", event, "names a source twice")


def _check_coverage(event: SessionEvent, removed: tuple[int, ...]) -> None:
    missing = set(removed).difference(event.source_event_seqs or ())
    if missing:
        raise _refused("SOURCES_INCOMPLETE", event, f"replaces event {min(missing)} without naming it as a source")


def _check_rewrite(event: SessionEvent, covered: list[SessionEvent]) -> None:
    if len(covered) != 1 or covered[0].type != "tool/result":
        raise _refused("TOOL_RESULT_REWRITE", event, "may replace exactly one tool result")
    if not _same(_without_content(event.data), _without_content(covered[0].data)):
        raise _refused("TOOL_RESULT_REWRITE", event, "may change nothing but the content of the result it replaces")


def _without_content(data: JsonObject) -> JsonObject:
    message = data["message"]
    if not isinstance(message, Mapping) or not isinstance(message["content"], tuple):
        return data
    blocks = [{**block, "content": None} for block in message["content"] if isinstance(block, Mapping)]
    return {**data, "message": {**message, "content": tuple(blocks)}}


def _same(left: JsonValue, right: JsonValue) -> bool:
    """Compare as JSON does: the order of keys does not count, and true is not 1."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_same(value, right[key]) for key, value in left.items())
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(_same, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and left == right
