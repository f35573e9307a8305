"""Tools that are described before they are loaded: a request to a model needs their words, a call needs their code.

Loading all standard tools takes four times as long as everything else that stands between a first prompt and its
request. Their descriptions are made from them by `python -m tests.support.generated`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from acp_server.messages.request import ToolSchema
from acp_server.tools.tool import AnyTool, Card, Effect, ToolContext, ToolFactory, ToolResult

if TYPE_CHECKING:
    from pydantic import BaseModel

DESCRIPTIONS: Final = Path(__file__).with_name("standard_tools.json")
TASK_DESCRIPTION: Final = Path(__file__).with_name("task_tools.json")
ASK_DESCRIPTION: Final = Path(__file__).with_name("ask_tools.json")
WEB: Final = Path(__file__).with_name("web_tools.json")


class LateTools:
    """Tools whose code is loaded once, by whoever needs it first; it may be asked for in any thread."""

    def __init__(self, make: ToolFactory) -> None:
        self._make = make
        self._made: Mapping[str, AnyTool] = {}
        self._lock = threading.Lock()

    def load(self) -> None:
        """Load the code of all tools, unless that was done."""
        with self._lock:
            if not self._made:
                self._made = {tool.name: tool for tool in self._make()}

    def find(self, name: str) -> AnyTool:
        """Return the tool itself."""
        self.load()
        return self._made[name]

    def tools(self, schemas: Sequence[ToolSchema]) -> tuple[LateTool, ...]:
        """Return stand-ins for the tools that these schemas describe."""
        return tuple(LateTool(schema, self.find) for schema in schemas)


class LateTool:
    """See Tool. Everything but name, description and schema loads the code."""

    def __init__(self, schema: ToolSchema, find: Callable[[str], AnyTool]) -> None:
        self.schema = schema
        self.name: Final = schema.name
        self.description: Final = schema.description
        self._find = find

    @property
    def arguments(self) -> type[BaseModel]:
        """See Tool."""
        return self._find(self.name).arguments

    @property
    def seconds(self) -> float | None:
        """Return how long a call may take (run.Limits); raise AttributeError where the tool does not say."""
        found: Any = self._find(self.name)
        seconds: float | None = found.seconds
        return seconds

    def effect(self, arguments: Any, cwd: str) -> Effect:
        """See Tool."""
        return self._find(self.name).effect(arguments, cwd)

    def card(self, arguments: Any, cwd: str) -> Card:
        """See Tool."""
        return self._find(self.name).card(arguments, cwd)

    def parallel(self, arguments: Any) -> bool:
        """See Tool."""
        return self._find(self.name).parallel(arguments)

    async def run(self, arguments: Any, context: ToolContext) -> ToolResult:
        """See Tool."""
        return await self._find(self.name).run(arguments, context)


def standard_schemas() -> tuple[ToolSchema, ...]:
    """Return the standard tools as a model sees them."""
    return described(DESCRIPTIONS)


def described(file: Path) -> tuple[ToolSchema, ...]:
    """Return the tools that a file describes, as a model sees them."""
    entries = json.loads(file.read_text("utf-8"))
    return tuple(ToolSchema(entry["name"], entry["description"], entry["parameters"]) for entry in entries)


def schemas_of(tools: Sequence[AnyTool]) -> tuple[ToolSchema, ...]:
    """Return the tools as a model sees them, by name: the order in which components are built changes no request."""
    return tuple(sorted(map(_schema, tools), key=lambda schema: schema.name))


def _schema(tool: AnyTool) -> ToolSchema:
    schema = getattr(tool, "schema", None)
    if isinstance(schema, ToolSchema):  # one that does not come from a model of arguments
        return schema
    from acp_server.tools.arguments import schema_of  # noqa: PLC0415 - it loads what is late here

    return schema_of(tool)
