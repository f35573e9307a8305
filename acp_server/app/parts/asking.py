"""The component of questions to the person: the tool by which a model asks one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from acp_server.app.registries import Parts, Toolkit
from acp_server.app.row import Config

if TYPE_CHECKING:
    from acp_server.tools.tool import AnyTool


def asking(parts: Parts, config: Config) -> None:  # noqa: ARG001 - a factory's signature
    """Register the tool; what it does is loaded by its first call."""
    parts.toolkits.add(Toolkit(_describe, _nothing))


def _make() -> Sequence[AnyTool]:
    from acp_server.tools.ask import AskTool  # noqa: PLC0415 - tools are not for the start path

    return (AskTool(),)


def _describe() -> Sequence[AnyTool]:
    from acp_server.tools.late_tool import ASK_DESCRIPTION, LateTools, described  # noqa: PLC0415 - likewise

    return LateTools(_make).tools(described(ASK_DESCRIPTION))


def _nothing() -> None:
    return None
