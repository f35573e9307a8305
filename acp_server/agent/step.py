"""One step: a model request, the message it leaves, and the tool calls it asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from acp_server.agent.answer import AnswerSource, Attempt, ModelFailed, log_answer
from acp_server.agent.calls import CallRunner
from acp_server.agent.hooks import shape_request
from acp_server.agent.request import log_header
from acp_server.agent.services import AgentServices, TurnPlace
from acp_server.agent.system_prompt import render_system
from acp_server.agent.turns import COMPLETED, TurnEnd
from acp_server.base.cancel import CancelToken
from acp_server.base.json_value import JsonValue
from acp_server.base.values import record
from acp_server.llm.runtime import LlmRuntime
from acp_server.llm.waiting import until
from acp_server.messages.blocks import Message, ToolCallBlock, images_of
from acp_server.messages.codec import message_to_json
from acp_server.messages.request import CallConfig
from acp_server.session.events import Replace
from acp_server.session.history import derive_message
from acp_server.session.session import Session

OVERFLOW: Final = "CONTEXT_WINDOW_EXCEEDED"
NEVER_TAKEN: Final = frozenset({"INVALID_REQUEST", "UNSUPPORTED_CONTENT"})
"""How a provider refuses an image that it cannot read, and would refuse every later request with it."""


@record
class Step:
    """One step of one turn.

    `turn_start` is the seq from which the turn's nodes on the Surface begin; `stage` takes messages that tools want
    to see in the next step.
    """

    session: Session
    services: AgentServices
    config: CallConfig
    cancel: CancelToken
    place: TurnPlace
    turn_start: int
    stage: Callable[[Message], None]
    first_request: bool
    counted: bool = False
    """Whether the provider said how many tokens the request had."""

    async def run(self) -> TurnEnd | None:
        """Ask the model, log its answer, run its calls; return the turn's end.

        None when the turn goes on: results wait for the model, or it has paused.

        Raises:
            Cancelled: the turn was cancelled.
            ModelFailed: the model failed for good.
            ServerError: the request cannot be made, or the log refused.
        """
        runtime = await until(self.services.runtime(), self.cancel)
        config = self.config
        if self.services.hooks.request.items:
            config = await shape_request(self.services.hooks, self.place.in_session(self.session), config, self.cancel)
        source = AnswerSource(self.session, self.services, self.cancel, self.place)
        attempt = await self._asked(source, runtime, config)
        self.counted = attempt.assembler.usage is not None
        blocks = attempt.assembler.blocks()
        message = source.message(config, blocks, attempt.assembler.replay_state)
        seq = log_answer(self.session, self.place, message, attempt)
        if attempt.finish.kind == "refusal":
            self._remove_exchange(source.message(config, ()), seq)
            return TurnEnd("refusal")
        if attempt.finish.kind == "max-tokens":
            return TurnEnd("max-tokens")
        if attempt.finish.kind == "pause":
            return None  # what was said is on the Surface, so the next request carries it back
        calls = [block for block in blocks if isinstance(block, ToolCallBlock)]
        return await self._run_calls(calls) if calls else COMPLETED

    async def _asked(self, source: AnswerSource, runtime: LlmRuntime, config: CallConfig) -> Attempt:
        """Ask until the request is one that the model can read; nothing of a request that was too long was shown."""
        first = self.first_request
        while True:
            call = runtime.prepare(config)
            tools = tuple(self.services.tools.schemas())
            system = render_system(self.services.sections(), self.session.header.cwd, self.services.variables())
            log_header(self.session, call, system, tools, first=first)
            first = False
            try:
                return await source.ask(runtime, call)
            except ModelFailed as failed:
                if failed.failure.code in NEVER_TAKEN and self._brought_images():
                    self._remove_exchange(source.message(config, ()), self.session.surface.nodes[-1])
                if failed.failure.code != OVERFLOW or not await self._relieved(config):
                    raise

    async def _relieved(self, config: CallConfig) -> bool:
        keeper = self.services.keeper()
        return keeper is not None and await keeper.after_overflow(config, self.place.turn, self.cancel)

    def _brought_images(self) -> bool:
        """Return whether the turn put an image on the Surface (docs/protocol.md, clause P-20)."""
        nodes = set(self.session.surface.nodes)
        events = (event for event in self.session.events.milestones(self.turn_start) if event.seq in nodes)
        messages = (derive_message(event) for event in events)
        return any(message is not None and any(images_of(message.content)) for message in messages)

    def _remove_exchange(self, empty: Message, answer: int) -> None:
        """Take a refused exchange off the Surface: an empty message stands in its place and derives to nothing."""
        nodes = [seq for seq in self.session.surface.nodes if seq >= self.turn_start]
        place = {"turn": self.place.turn, "step": self.place.step}
        data: dict[str, JsonValue] = {**place, "message": message_to_json(empty)}
        self.session.append("assistant/message", data, surface_op=Replace(nodes[0], answer), sources=tuple(nodes))

    async def _run_calls(self, calls: list[ToolCallBlock]) -> TurnEnd | None:
        runner = CallRunner(
            session=self.session,
            services=self.services,
            turn=self.place.turn,
            step=self.place.step,
            cancel=self.cancel,
        )
        await runner.run(calls)
        for message in runner.contexts:
            self.stage(message)
        self.cancel.raise_if_cancelled()
        return COMPLETED if runner.concluded else None
