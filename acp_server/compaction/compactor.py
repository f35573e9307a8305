"""One compaction of one session: from the choice of nodes to the end of its bracket (clauses T-1 to T-4, D-1 and D-2).

Owns what is put in the place of what goes. When to do it, and what to do when it fails, is `keeper`'s matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from acp_server.base.cancel import Cancelled, CancelToken
from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonValue
from acp_server.compaction.estimate import blocks_tokens, message_tokens
from acp_server.compaction.meter import Meter
from acp_server.compaction.policy import Policy, summary_budget
from acp_server.compaction.prune import calls_of, pointer_to
from acp_server.compaction.results import kept_whole, shorter_results
from acp_server.compaction.scene import Kit, Nodes, Plan, nodes_of
from acp_server.compaction.selection import head_length, tail_start
from acp_server.compaction.summarize import Summarizer, Summary, SummaryFailed
from acp_server.compaction.transaction import (
    OpenBracket,
    Transaction,
    begin,
    close_stale,
    rewrite_message,
    rewrite_result,
)
from acp_server.compaction.trim import is_result, newest_request, request_blocks, shorten, shorter_block
from acp_server.compaction.words import checkpoint
from acp_server.llm.runtime import LlmRuntime
from acp_server.messages.blocks import Block, Message
from acp_server.messages.chunk_codec import usage_to_json
from acp_server.messages.request import CallConfig
from acp_server.session.request_header import EpochHeader

Reason: TypeAlias = Literal["pressure", "overflow", "manual"]
CHANGED: Final = "COMPACTION_CHANGED"
BUSY: Final = "COMPACTION_BUSY"
NO_GAIN: Final = "COMPACTION_NO_GAIN"
LEAST_REQUEST: Final = 1024
"""Tokens of the person's newest request that stay word for word in any case."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is asked for.

    Attributes:
        reason: why.
        turn: the turn it happens in; None outside of turns.
        config: where the request to come goes.
        policy: the settings for that model.
        focus: what the person wants to be kept especially.
        command_id: the command that asked for it.
    """

    reason: Reason
    turn: int | None
    config: CallConfig
    policy: Policy
    focus: str = ""
    command_id: str | None = None
    keep_request: bool = True
    """Whether the person's newest request on the Surface is still the one that is worked on."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a compaction did: how many messages went, and the tokens of a request before and after."""

    count: int
    before: int
    after: int


class Compactor:
    """Compactions of one session, one at a time."""

    def __init__(self, kit: Kit, meter: Meter) -> None:
        self._kit = kit
        self._meter = meter
        self._plan = Plan(kit.session)
        self._bracket = OpenBracket(kit.session)
        self._running = False

    async def prune(self, policy: Policy, least: int = 1) -> bool:
        """Cut the results of tools that may be cut, when that saves `least` tokens; return whether it did.

        Only inside a turn.
        """
        nodes = nodes_of(self._kit.session, self._meter)
        cuts = shorter_results(nodes, policy)
        saved = sum(nodes.prices[place] - message_tokens(shorter) for place, shorter in cuts)
        if not cuts or self._meter.calibrated(saved) < least:
            return False
        wholes = await kept_whole(self._kit, nodes, [place for place, _ in cuts])
        for place, shorter in shorter_results(nodes, policy, wholes):
            rewrite_result(self._kit.session, nodes.seqs[place], shorter, nodes.prices[place])
        return True

    async def compact(self, order: Order, retain: int, cancel: CancelToken) -> Outcome | None:
        """Put a summary in the place of everything but about the newest `retain` tokens; None when nothing may go.

        They are estimated tokens, as prices of nodes are.

        Raises:
            SummaryFailed: no summary was to be had.
            ServerError: COMPACTION_BUSY, COMPACTION_NO_GAIN, COMPACTION_CHANGED, or the log refused.
            Cancelled: the token was cancelled.
            The Surface is as it was then.
        """
        nodes = nodes_of(self._kit.session, self._meter)
        length = head_length(nodes.messages, nodes.prices, retain)
        if length == 0:
            return None
        return await self._in_bracket(order, nodes, length, cancel)

    async def _in_bracket(self, order: Order, nodes: Nodes, length: int, cancel: CancelToken) -> Outcome:
        before = self._meter.total()
        taken = self._begin(order, nodes, length, before)
        self._running = True
        try:
            summary = await self._summary(order, nodes, length, cancel)
            cancel.raise_if_cancelled()
            message = self._checkpoint(order, taken, nodes, length, summary.text)
            _require_gain(message, taken)
            taken.commit(message, _facts(summary))
        except BaseException as error:
            self._failed(taken, error)
            raise
        finally:
            self._running = False
        after = self._meter.total()
        taken.end({"tokensBefore": before, "tokensAfter": after})
        return Outcome(length, before, after)

    async def trim(self, order: Order, target: int) -> Outcome | None:
        """Make the messages fit into `target` estimated tokens without a model; None when nothing more can go.

        Raises:
            ServerError: COMPACTION_BUSY, or the log refused.
        """
        before = self._meter.total()
        nodes = nodes_of(self._kit.session, self._meter)
        length = tail_start(nodes.messages, nodes.prices, target)
        gone = self._drop_head(order, nodes, length, before) if length else 0
        if order.turn is not None:
            gone += await self._shorten(target)
        after = self._meter.total()
        return Outcome(gone, before, after) if after < before else None

    def _drop_head(self, order: Order, nodes: Nodes, length: int, before: int) -> int:
        taken = self._begin(order, nodes, length, before)
        try:
            message = self._checkpoint(order, taken, nodes, length, None)
            if message_tokens(message) >= taken.price:
                taken.end({"error": "Nothing could be left out."})
                return 0
            taken.commit(message, {}, kind="compaction/prune")
        except BaseException as error:
            self._failed(taken, error)
            raise
        taken.end({"tokensBefore": before, "tokensAfter": self._meter.total(), "trimmed": True})
        return length

    async def _shorten(self, target: int) -> int:
        nodes = nodes_of(self._kit.session, self._meter)
        places = [one.place for one in shorten(nodes.messages, target)]
        wholes, calls = await kept_whole(self._kit, nodes, places), calls_of(nodes.messages)
        pointers = {place: pointer_to(calls.get(place), wholes.get(place)) for place in places}
        shorter = shorten(nodes.messages, target, pointers)
        for one in shorter:
            seq, price = nodes.seqs[one.place], nodes.prices[one.place]
            rewrite = rewrite_result if is_result(one.message) else rewrite_message
            rewrite(self._kit.session, seq, one.message, price)
        return len(shorter)

    def _begin(self, order: Order, nodes: Nodes, length: int, before: int) -> Transaction:
        if self._running:
            raise ServerError(BUSY, "The conversation is being compacted already.")
        stale = self._bracket.start
        if stale is not None:
            close_stale(self._kit.session, stale)
        facts: dict[str, JsonValue] = {"compactionId": self._kit.ids.new(), "turn": order.turn}
        facts |= {"reason": order.reason, "tokensBefore": before}
        if order.command_id is not None:
            facts["sourceCommandId"] = order.command_id
        return begin(self._kit.session, facts, nodes.seqs[:length], sum(nodes.prices[:length]))

    def _failed(self, taken: Transaction, error: BaseException) -> None:
        if taken.done:
            return
        facts: dict[str, JsonValue] = {"error": error.message if isinstance(error, ServerError) else "It broke off."}
        if isinstance(error, Cancelled):
            facts = {"error": "It was cancelled.", "cancelled": True}
        try:
            taken.end(facts)
        except ServerError as refused:
            self._kit.report(refused)

    async def _summary(self, order: Order, nodes: Nodes, length: int, cancel: CancelToken) -> Summary:
        session, kit = self._kit.session, self._kit
        header = session.request_header()
        runtime = await kit.runtime()
        if header is None:
            raise SummaryFailed("NO_REQUEST", "Nothing was asked in this conversation yet.")
        asked = _asked(order, header, runtime)
        info = runtime.model(asked.provider, asked.model)
        summarizer = Summarizer(
            runtime=runtime,
            config=asked,
            info=info,
            budget=summary_budget(order.policy, info.context_window),
            focus=order.focus,
            session_id=session.id,
            cancel=cancel,
            new_id=kit.ids.new,
            sleep=kit.clock.sleep,
            random=kit.random,
            now_ms=kit.clock.now_ms,
        )
        price = self._meter.header + self._meter.calibrated(sum(nodes.prices[:length]))
        return await summarizer.summarize(header, nodes.messages[:length], price)

    def _checkpoint(self, order: Order, taken: Transaction, nodes: Nodes, length: int, summary: str | None) -> Message:
        facts: dict[str, JsonValue] = {"compactionId": taken.id}
        if order.command_id is not None:
            facts["sourceCommandId"] = order.command_id
        request = _request(nodes, length, max(LEAST_REQUEST, taken.price // 4)) if order.keep_request else ()
        return checkpoint(self._kit.ids.new(), summary, facts=facts, todo=self._plan.open(), request=request)


def _asked(order: Order, header: EpochHeader, runtime: LlmRuntime) -> CallConfig:
    """Return who summarises: the model of the settings, else that of the last request, else that of the next one.

    The last request's prefix is what a provider may still have; its model is gone when the person's settings changed.
    """
    if order.policy.summary is not None:
        return CallConfig(*order.policy.summary)
    return header.config if header.config.provider in runtime.providers() else order.config


def _require_gain(message: Message, taken: Transaction) -> None:
    if message_tokens(message) >= taken.price:
        raise ServerError(NO_GAIN, "The summary is no shorter than what it would stand for.")


def _request(nodes: Nodes, length: int, room: int) -> tuple[Block, ...]:
    """Return the person's newest request when it is among what goes: it stays, cut only where it takes all room."""
    place = newest_request(nodes.messages)
    if place is None or place >= length:
        return ()
    content = request_blocks(nodes.messages[place])
    if blocks_tokens(content) <= room:
        return content
    return tuple(shorter_block(block, room * 2) for block in content)


def _facts(summary: Summary) -> Mapping[str, JsonValue]:
    text: Mapping[str, JsonValue] = {"type": "text", "text": summary.text}
    facts: dict[str, JsonValue] = {
        "summary": [text],
        "provider": summary.config.provider,
        "model": summary.config.model,
        "pieces": summary.pieces,
    }
    if summary.config.max_tokens is not None:
        facts["maxTokens"] = summary.config.max_tokens
    if summary.usage is not None:
        facts["usage"] = usage_to_json(summary.usage)
    return facts
