"""When a process loads what the first turn needs: not while a long session is being opened."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from acp_server.app import core
from acp_server.app.core import Core
from acp_server.app.warm_up import WarmUp

NOTHING = cast("Any", None)


async def test_the_models_wait_while_a_session_is_being_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "WARM_UP_AFTER", 0.0)
    asked, began = list[bool](), list[int]()
    models = WarmUp[Any](lambda: began.append(len(asked)))
    store = WarmUp[Any](lambda: None)
    warm = models, WarmUp[None](lambda: None), store
    services = Core(NOTHING, NOTHING, NOTHING, NOTHING, *warm, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING)

    def busy() -> bool:
        asked.append(len(asked) < 3)
        return asked[-1]

    loaded = asyncio.Event()
    models.then(loaded.set)
    services.warm_up_soon(busy)
    await loaded.wait()
    assert (asked, began) == ([True, True, True, False], [4])
