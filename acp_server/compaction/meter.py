"""How full a session's window is: a fold over its log (docs/compaction.md, clauses M-1 to M-7). Pure.

Owns the prices of the nodes on the Surface and the anchor: the last count that a provider reported. Each event is
looked at once, so that asking costs what has happened since the last time, however long the log is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from acp_server.base.values import value
from acp_server.compaction.estimate import header_tokens, message_tokens
from acp_server.messages.chunk_codec import usage_from_json
from acp_server.messages.codec import MessageFormatError
from acp_server.session.events import APPEND, SURFACE_TYPES, Replace, SessionEvent
from acp_server.session.history import derive_message
from acp_server.session.log import EventLog
from acp_server.session.request_header import EpochHeader

Route: TypeAlias = tuple[str, str]
"""Provider and model."""
TRUSTED_FROM: Final = 0.8
"""A report that is lower than this share of the estimate is no count of the whole request, so it is not believed."""
RATIO_MOST: Final = 2.0


@value
class Anchor:
    """A reported count, and what was estimated for the same: `ratio` makes later estimates those of that model."""

    route: Route
    total: int
    estimated: int
    ratio: float
    replaced: int


class Meter:
    """The meter of one log."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._seen = 0
        self._nodes: list[int] = []
        self._prices: dict[int, int] = {}
        self._surface = 0
        self._header = 0
        self._route: Route | None = None
        self._replaced = 0
        self._anchor: Anchor | None = None
        self._exact: set[int] = set()

    @property
    def header(self) -> int:
        """Return the price of the latest header: system text and tools."""
        self._catch_up()
        return self._header

    @property
    def surface(self) -> int:
        """Return the sum of the prices of the nodes."""
        self._catch_up()
        return self._surface

    @property
    def anchored(self) -> bool:
        """Return whether a provider's count is the base of `total` for the route of the last request."""
        self._catch_up()
        return self._anchor is not None and self._anchor.route == self._route

    def price(self, seq: int) -> int:
        """Return the price of a node on the Surface; raise KeyError when there is none."""
        self._catch_up()
        return self._prices[seq]

    def calibrated(self, tokens: int, route: Route | None = None) -> int:
        """Return an estimate as the anchor's model would count it."""
        self._catch_up()
        anchor = self._anchor_for(route)
        return tokens if anchor is None else round(tokens * anchor.ratio)

    def estimated(self, tokens: int, route: Route | None = None) -> int:
        """Return what would be estimated for so many tokens of the anchor's model: the way back from `calibrated`."""
        self._catch_up()
        anchor = self._anchor_for(route)
        return tokens if anchor is None or not anchor.ratio else round(tokens / anchor.ratio)

    def total(self, route: Route | None = None) -> int:
        """Return the tokens of the request that the log stands for, as that model counts; by default the last one's."""
        self._catch_up()
        estimated = self._header + self._surface
        anchor = self._anchor_for(route)
        if anchor is None:
            return estimated
        if anchor.replaced != self._replaced:
            return round(estimated * anchor.ratio)
        return max(0, round(anchor.total + (estimated - anchor.estimated) * anchor.ratio))

    def estimated_nodes(self, route: Route) -> tuple[int, ...]:
        """Return the nodes whose prices are mere estimates: none of them where a provider's count is the base."""
        self._catch_up()
        if self._anchor_for(route) is not None:
            return ()
        return tuple(seq for seq in self._nodes if seq not in self._exact)

    def correct(self, prices: Mapping[int, int]) -> None:
        """Take exact prices of nodes in the place of the estimated ones."""
        for seq, tokens in prices.items():
            if seq in self._prices:
                self._surface += tokens - self._prices[seq]
                self._prices[seq] = tokens
                self._exact.add(seq)

    def _anchor_for(self, route: Route | None) -> Anchor | None:
        anchor = self._anchor
        return anchor if anchor is not None and anchor.route == (route or self._route) else None

    def _catch_up(self) -> None:
        if self._seen == len(self._log):
            return
        for event in self._log.milestones(self._seen):
            self._take(event)
        self._seen = len(self._log)

    def _take(self, event: SessionEvent) -> None:
        if event.type in SURFACE_TYPES:
            before = self._header + self._surface
            self._place(event)
            if event.type == "assistant/message" and event.surface_op == APPEND:
                self._drop_anchor(event, before)
        elif event.type == "request/header":
            header = event.data["header"]
            read = EpochHeader.from_json(header if isinstance(header, Mapping) else {})
            self._header = header_tokens(read)
            self._route = (read.config.provider, read.config.model)

    def _place(self, event: SessionEvent) -> None:
        price = message_tokens(derive_message(event))
        self._prices[event.seq] = price
        self._surface += price
        if not isinstance(event.surface_op, Replace):
            self._nodes.append(event.seq)
            return
        first = self._nodes.index(event.surface_op.start)
        last = self._nodes.index(event.surface_op.end, first)
        for seq in self._nodes[first : last + 1]:
            self._surface -= self._prices.pop(seq)
        self._nodes[first : last + 1] = [event.seq]
        self._replaced += 1

    def _drop_anchor(self, event: SessionEvent, asked: int) -> None:
        """Anchor to what the answer's usage says of the request that had `asked` estimated tokens."""
        given = event.data.get("usage")
        if event.data.get("interrupted"):
            return  # what was said was counted when it began, or not to its end
        if self._route is None or not isinstance(given, Mapping):
            return
        try:
            usage = usage_from_json(given)
        except MessageFormatError:
            return
        read = usage.input + (usage.cache_read or 0) + (usage.cache_write or 0)
        estimated = self._header + self._surface
        if read < TRUSTED_FROM * asked or read + usage.output < TRUSTED_FROM * estimated:
            self._anchor = None
            return
        ratio = min(RATIO_MOST, read / asked) if asked else 1.0
        self._anchor = Anchor(self._route, read + usage.output, estimated, ratio, self._replaced)
