"""What a plugin imports: everything that its factory meets, under one name (docs/how-to/write-a-plugin.md).

Owns no code. Names that stand here keep their meaning from version to version; other modules are the server's own.
"""

from __future__ import annotations

from acp_server.acp.commands import Command
from acp_server.agent.agent import Agent
from acp_server.agent.contexts import Context
from acp_server.agent.hooks import Allow, Ask, Decision, Deny, Enter, Reject, Revise, Run, StepPlace
from acp_server.agent.system_prompt import Section
from acp_server.agent.tools import CallPlace, ToolOutcome
from acp_server.agent.turns import TurnEnd
from acp_server.app.components import Close, Factory
from acp_server.app.providers import ModelKit, ProviderEntry
from acp_server.app.registries import Parts
from acp_server.app.row import Config
from acp_server.app.session_access import HotSession, SessionAccess, SessionObserver
from acp_server.base.cancel import CancelToken
from acp_server.base.errors import ServerError
from acp_server.llm.adapter import Adapter, ModelInfo
from acp_server.llm.failure import LlmError
from acp_server.messages.blocks import Message, PluginSource, TextBlock, text_of
from acp_server.messages.chunks import BlockEnd, FinishChunk, ReasoningDelta, StreamChunk, TextDelta, UsageChunk
from acp_server.messages.request import CallConfig, GenerateOptions
from acp_server.session.events import SessionEvent
from acp_server.session.projections import Projection
from acp_server.tools.tool import Card, Effect, Tool, ToolContext, ToolError, ToolResult

__all__ = [
    "Adapter",
    "Agent",
    "Allow",
    "Ask",
    "BlockEnd",
    "CallConfig",
    "CallPlace",
    "CancelToken",
    "Card",
    "Close",
    "Command",
    "Config",
    "Context",
    "Decision",
    "Deny",
    "Effect",
    "Enter",
    "Factory",
    "FinishChunk",
    "GenerateOptions",
    "HotSession",
    "LlmError",
    "Message",
    "ModelInfo",
    "ModelKit",
    "Parts",
    "PluginSource",
    "Projection",
    "ProviderEntry",
    "ReasoningDelta",
    "Reject",
    "Revise",
    "Run",
    "Section",
    "ServerError",
    "SessionAccess",
    "SessionEvent",
    "SessionObserver",
    "StepPlace",
    "StreamChunk",
    "TextBlock",
    "TextDelta",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolOutcome",
    "ToolResult",
    "TurnEnd",
    "UsageChunk",
    "text_of",
]
