"""The scripted provider as an adapter: it needs no key and no network (docs/llm.md, clauses X-1 to X-7).

Owns the count of tries at one request and the waiting. Which script, which step and which chunks are decided by pure
modules beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Final

from acp_server.base.cancel import CancelToken
from acp_server.llm.adapter import ModelInfo
from acp_server.llm.failure import LlmError
from acp_server.llm.scripted.library import SCRIPTS, side_script
from acp_server.llm.scripted.models import NAMES, scripted_model, scripted_models
from acp_server.llm.scripted.parse import parse_script
from acp_server.llm.scripted.play import Beat, beats
from acp_server.llm.scripted.scene import scene_of
from acp_server.llm.scripted.script import Say, Script, Try, Wait
from acp_server.llm.waiting import pause, until
from acp_server.messages.chunks import StreamChunk
from acp_server.messages.request import GenerateOptions

MOST_REMEMBERED: Final = 256
RUN_LENGTH: Final = 32
"""Chunks given in a row before other tasks get their turn, as a socket would let them."""

_AFTER_THE_LAST_STEP: Final = ((Say("Done."),),)


class ScriptedAdapter:
    """Plays the prompt when it is a script, else the script of its model; `sleep` waits for so many seconds."""

    def __init__(self, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> None:
        self._sleep = sleep
        self._tries: dict[tuple[str | None, str], int] = {}

    def models(self, provider: str) -> tuple[ModelInfo, ...]:
        """Return the shipped scripts as models."""
        return scripted_models(provider)

    def model(self, provider: str, model: str) -> ModelInfo:
        """See Adapter."""
        found = scripted_model(model, provider)
        if found is None:
            raise LlmError("UNKNOWN_MODEL", f"There is no script {model!r}; the scripts are: {', '.join(NAMES)}.")
        return found

    async def stream(self, options: GenerateOptions, cancel: CancelToken) -> AsyncIterator[StreamChunk]:
        """See Adapter.

        Raises:
            LlmError: INVALID_SCRIPT, UNKNOWN_MODEL.
            Cancelled: the token was cancelled while the script waited.
        """
        run = 0
        for beat in self._beats(options):
            if isinstance(beat, Wait):
                run = 0
                await pause(beat.ms / 1000, cancel, self._sleep)
            elif isinstance(beat, str):
                await until(asyncio.get_running_loop().create_future(), cancel)
            else:
                run += 1
                if run % RUN_LENGTH == 0:
                    await self._sleep(0)
                yield beat

    def _beats(self, options: GenerateOptions) -> Iterator[Beat]:
        scene = scene_of(options)
        if options.purpose != "conversation":
            return beats(parse_script(side_script(options.purpose, scene.prompt))[0][0], "")
        written = scene.script
        if written is not None:
            script = parse_script(written)
        elif options.config.model in SCRIPTS:
            script = parse_script(SCRIPTS[options.config.model](scene.prompt))
        else:
            raise LlmError("UNKNOWN_MODEL", f"There is no script {options.config.model!r}.")
        tries = _step(script, scene.step)
        number = self._count(options.session_id, scene.newest)
        return beats(tries[min(number, len(tries) - 1)], f"call-{scene.newest}-")

    def _count(self, session: str | None, newest: str) -> int:
        """Return how often this very request was made before."""
        key = (session, newest)
        number = self._tries.pop(key, -1) + 1
        self._tries[key] = number
        if len(self._tries) > MOST_REMEMBERED:
            del self._tries[next(iter(self._tries))]
        return number


def _step(script: Script, number: int) -> tuple[Try, ...]:
    return script[number] if number < len(script) else _AFTER_THE_LAST_STEP
