"""The component of sub-agents: the tool by which a model starts one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from acp_server.app.registries import Parts, Toolkit
from acp_server.app.row import Config

if TYPE_CHECKING:
    from acp_server.app.delegation import Delegation
    from acp_server.tools.tool import AnyTool


def subagents(parts: Parts, config: Config) -> Callable[[], Awaitable[None]]:  # noqa: ARG001 - a factory's signature
    """Register the tool; what it does is loaded by its first call."""
    made: list[Delegation] = []

    def make() -> Sequence[AnyTool]:
        from acp_server.app.delegation import Delegation  # noqa: PLC0415 - tools are not for the start path
        from acp_server.tools.task import TaskTool  # noqa: PLC0415 - likewise

        made.append(Delegation(parts.family))
        return (TaskTool(made[-1]),)

    def describe() -> Sequence[AnyTool]:
        from acp_server.tools.late_tool import TASK_DESCRIPTION, LateTools, described  # noqa: PLC0415 - likewise

        return LateTools(make).tools(described(TASK_DESCRIPTION))

    async def close() -> None:
        for delegation in made:
            await delegation.close()

    parts.toolkits.add(Toolkit(describe, _nothing))
    return close


def _nothing() -> None:
    return None
