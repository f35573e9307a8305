"""Keeping one session within its model's window: before each step, after an overflow, and when the person asks.

Owns the decisions: when the limit is reached, what is tried in which order, when nothing more is tried, and what the
person is told (docs/compaction.md, clauses K-1 to K-9). A failure here never ends a turn: the step goes on with the
Surface as it is, and the provider decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from acp_server.base.cancel import CancelToken
from acp_server.base.errors import ServerError
from acp_server.base.values import value
from acp_server.compaction.compactor import Compactor, Order, Outcome
from acp_server.compaction.estimate import message_parts, message_tokens
from acp_server.compaction.meter import Meter
from acp_server.compaction.policy import Policy, Room, room_of
from acp_server.compaction.scene import Kit
from acp_server.llm.failure import LlmError
from acp_server.llm.waiting import until
from acp_server.messages.blocks import Message, UserSource
from acp_server.messages.request import CallConfig
from acp_server.session.history import derive_message

WARNED_FROM: Final = 0.9
"""The share of the room from which on the person is warned where nothing is compacted by itself."""
PRUNED: Final = 8
"""Cutting results is enough when it leaves so great a part of the window below the limit."""
NEAR: Final = (0.85, 1.15)
"""Shares of the limit between which an estimate may be wrong about it."""
DOUBT: Final = 20
"""Estimates are counted exactly when they are more than such a part of the window."""
QUIET: Final = 16
"""After an attempt that gained too little, none is made before so great a part of the window has come in between."""


@value
class Reading:
    """How full a window is, in tokens; `limit` is where compaction begins, None where it does not by itself."""

    used: int
    window: int | None
    limit: int | None


class Keeper:
    """See agent.keeping.Keeper."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._meter = Meter(kit.session.events)
        self._compactor = Compactor(kit, self._meter)
        self._overflows = 0
        self._quiet_until = 0
        self._warned = False

    async def before_step(
        self, config: CallConfig, turn: int, entering: Sequence[Message], cancel: CancelToken
    ) -> None:
        """Make room when the request to come would be beyond the limit."""
        self._overflows = 0
        if self._kit.session.request_header() is None:
            return
        policy = self._kit.policies().of(config.provider, config.model)
        room = await self._room(policy, config, cancel)
        if room is None:
            return
        pending = self._meter.calibrated(sum(map(message_tokens, entering)), (config.provider, config.model))
        total = self._total(config) + pending
        if self._doubtful(config, room, total):
            await self._count(config, cancel)
            total = self._total(config) + pending
        if not policy.auto:
            self._warn(total, room)
            return
        if total < room.limit:
            self._quiet_until = 0
            return
        if total < self._quiet_until and total <= room.hard:
            return
        keep = not any(isinstance(message.source, UserSource) for message in entering)
        order = Order("pressure", turn, config, policy, keep_request=keep)
        await self._relieve(order, room, pending, cancel)
        left = self._total(config) + pending
        self._quiet_until = left + room.window // QUIET if left >= room.limit else 0

    async def after_overflow(self, config: CallConfig, turn: int, cancel: CancelToken) -> bool:
        """Return whether the request got smaller, so that it can be made again."""
        policy = self._kit.policies().of(config.provider, config.model)
        self._overflows += 1
        if not policy.auto or self._overflows > policy.max_overflow_retries + 1:
            return False
        order = Order("overflow", turn, config, policy)
        before = self._meter.surface
        if self._overflows <= policy.max_overflow_retries:
            await self._compactor.prune(policy)
            failed = await self._tried(order, 0, cancel)
            if failed is None and self._meter.surface < before:
                return True
        return await self._trimmed(order, self._meter.surface // 2)

    async def compact(self, config: CallConfig, focus: str, command_id: str, cancel: CancelToken) -> str:
        """Compact what there is, outside of turns; return what the person is told.

        Raises:
            ServerError: it failed; nothing has changed then.
            Cancelled: the token was cancelled.
        """
        policy = self._kit.policies().of(config.provider, config.model)
        order = Order("manual", None, config, policy, focus, command_id)
        done = None
        if self._kit.session.request_header() is not None:
            done = await self._compactor.compact(order, 0, cancel)
        if done is None:
            return "There is nothing to compact yet."
        await self._kit.journal.flush()
        self._quiet_until = 0
        return compacted_words(done)

    def reading(self, config: CallConfig, window: int | None) -> Reading:
        """Return how full the window is, for the person; `window` is the model's, as far as it is known."""
        policy = self._kit.policies().of(config.provider, config.model)
        limit = int(window * policy.threshold_ratio) if window is not None and policy.auto else None
        return Reading(self._total(config), window, limit)

    def _total(self, config: CallConfig) -> int:
        return self._meter.total((config.provider, config.model))

    def _doubtful(self, config: CallConfig, room: Room, total: int) -> bool:
        """Return whether the limit is near and what says so is mostly estimates."""
        if self._kit.count is None or not room.limit * NEAR[0] <= total <= room.limit * NEAR[1]:
            return False
        nodes = self._meter.estimated_nodes((config.provider, config.model))
        return sum(map(self._meter.price, nodes)) * DOUBT > room.window

    async def _count(self, config: CallConfig, cancel: CancelToken) -> None:
        """Put exact counts in the place of estimates, where they can be had."""
        seqs = self._meter.estimated_nodes((config.provider, config.model))
        parts = [message_parts(derive_message(self._kit.session.events[seq])) for seq in seqs]
        texts = [text for _, own in parts for text in own]
        if self._kit.count is None:
            return
        try:
            counts = await self._kit.count(config.model, texts, cancel)
        except OSError as error:
            self._kit.report(error)
            return
        if counts is None:
            return
        left = iter(counts)
        self._meter.correct(
            {seq: fixed + sum(next(left) for _ in own) for seq, (fixed, own) in zip(seqs, parts, strict=True)}
        )

    async def _room(self, policy: Policy, config: CallConfig, cancel: CancelToken) -> Room | None:
        try:
            runtime = await until(self._kit.runtime(), cancel)
            return room_of(policy, runtime.model(config.provider, config.model), config)
        except LlmError:
            return None  # the step itself tells that there is no such model
        except ServerError as error:
            self._kit.tell(error.message)
            return None

    async def _relieve(self, order: Order, room: Room, pending: int, cancel: CancelToken) -> None:
        """Cut results where that is enough, else summarise, and where that is not enough either, trim.

        Results are cut only when that makes room for a while: each time breaks the provider's prefix cache, and a
        summary's request is to hit it.
        """
        route = (order.config.provider, order.config.model)
        over = self._total(order.config) + pending - room.limit
        if await self._compactor.prune(order.policy, over + room.window // PRUNED):
            return
        retain, failed = room.retain, None
        for _ in range(1 + order.policy.compaction_retries):
            failed = await self._tried(order, self._meter.estimated(retain, route), cancel)
            if failed is not None or self._total(order.config) + pending < room.limit:
                break
            retain //= 4
        if self._total(order.config) + pending > room.hard:
            target = self._meter.estimated(max(room.limit - pending, room.limit // 4), route) - self._meter.header
            await self._trimmed(order, max(target, 0) * 3 // 4)
        elif failed is not None:
            self._kit.tell(f"The conversation could not be compacted: {failed.message}")

    async def _tried(self, order: Order, retain: int, cancel: CancelToken) -> ServerError | None:
        """Compact all but `retain` estimated tokens, once.

        Return why that failed, None when it did not or when there was nothing to compact.
        """
        try:
            await self._compactor.compact(order, retain, cancel)
        except ServerError as error:
            self._kit.report(error)
            return error
        return None

    async def _trimmed(self, order: Order, target: int) -> bool:
        """Leave out what does not fit into `target` estimated tokens; return whether that was anything."""
        try:
            done = await self._compactor.trim(order, target)
        except ServerError as error:
            self._kit.report(error)
            return False
        if done is not None:
            self._kit.tell("The beginning of the conversation was left out so that it fits the model's window.")
        return done is not None

    def _warn(self, total: int, room: Room) -> None:
        if total < WARNED_FROM * room.hard:
            self._warned = False
        elif not self._warned:
            self._warned = True
            full = min(100, round(100 * total / room.window))
            self._kit.tell(
                f"The context window is {full} % full and compaction is off: `/compact` makes room, "
                "a new session or a model with a larger window does too."
            )


def compacted_words(done: Outcome) -> str:
    """Return what the person is told of a compaction."""
    return f"Compacted {done.count} messages: about {done.before:,} tokens became {done.after:,}."
