"""Adapters that do what a test says."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

from acp_server.base.cancel import CancelToken
from acp_server.llm.adapter import ModelInfo
from acp_server.messages.blocks import Block, Message, TextBlock, UserSource
from acp_server.messages.chunks import StreamChunk
from acp_server.messages.request import CallConfig, GenerateOptions

Play = Callable[[GenerateOptions, CancelToken], AsyncIterator[StreamChunk]]


class FakeAdapter:
    def __init__(self, play: Play | Sequence[StreamChunk | Exception] = (), info: ModelInfo | None = None) -> None:
        self.play = play
        self.info = info
        self.asked: list[GenerateOptions] = []
        self.closed = 0

    def model(self, provider: str, model: str) -> ModelInfo:
        return self.info or ModelInfo(provider, model, model)

    def stream(self, options: GenerateOptions, cancel: CancelToken) -> AsyncIterator[StreamChunk]:
        self.asked.append(options)
        return self.play(options, cancel) if callable(self.play) else self._steps(self.play)

    async def _steps(self, steps: Sequence[StreamChunk | Exception]) -> AsyncIterator[StreamChunk]:
        try:
            for step in steps:
                if isinstance(step, Exception):
                    raise step
                yield step
        finally:
            self.closed += 1


def asking(*content: Block | str, provider: str = "p", model: str = "m") -> GenerateOptions:
    blocks = tuple(TextBlock(block) if isinstance(block, str) else block for block in content)
    return GenerateOptions(CallConfig(provider, model), (Message("m-1", "user", blocks, UserSource()),))


async def collect(stream: AsyncIterator[StreamChunk]) -> list[StreamChunk]:
    return [chunk async for chunk in stream]
