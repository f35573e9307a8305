"""The file tools on a directory of a test, without a server: the real fence, one session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acp_server.base.cancel import CancelToken
from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonObject
from acp_server.messages.blocks import TextBlock
from acp_server.sandbox.facts import Host
from acp_server.sandbox.policy import Level, Policy
from acp_server.sandbox.roots import Roots
from acp_server.tools.arguments import read_arguments
from acp_server.tools.beside import Beside, NothingBeside
from acp_server.tools.client_side import NO_CLIENT, ClientSide
from acp_server.tools.editor_files import EditorFiles
from acp_server.tools.file_tools import file_tools
from acp_server.tools.files import FileAccess, FileChange, Keep, SeenFiles
from acp_server.tools.local_files import LocalFiles
from acp_server.tools.tool import AnyTool, ToolContext, ToolResult


@dataclass(slots=True)
class Context:
    """What a call is given."""

    cwd: str
    policy: Policy
    cancel: CancelToken = field(default_factory=CancelToken)
    session_id: str = "s"
    call_id: str = "c"
    shown: list[str] = field(default_factory=list)
    recorded: list[tuple[str, JsonObject]] = field(default_factory=list)
    beside: Beside = field(default_factory=NothingBeside)
    facts: list[tuple[str, JsonObject]] = field(default_factory=list)
    client: ClientSide = NO_CLIENT
    reads_images: bool = True
    images: dict[str, bytes] = field(default_factory=dict)
    full: ServerError | None = None
    """Why no image can be kept."""

    async def keep_image(self, content: bytes) -> str:
        if self.full is not None:
            raise self.full
        ident = f"kept-{len(self.images)}"
        self.images[ident] = content
        return ident

    def progress(self, text: str) -> None:
        self.shown.append(text)

    def record(self, kind: str, data: JsonObject, *, ignorable: bool = False) -> None:
        self.recorded.append((kind, data))

    def remember(self, kind: str, fact: JsonObject) -> None:
        self.facts.append((kind, fact))

    def remembered(self, kind: str) -> Iterator[JsonObject]:
        return iter([fact for name, fact in self.facts if name == kind])


class FileRig:
    """Tools over `root/project`; `kept` is what was kept before each write."""

    def __init__(self, root: Path, level: Level = "workspace-write", ripgrep: str | None = None) -> None:
        real = root.resolve()
        self.project = real / "project"
        for folder in (self.project, real / "home", real / "state"):
            folder.mkdir(exist_ok=True)
        self.host = Host(str(real / "home"), "user", str(real / "state"), (str(real / "state"),))
        self.kept: list[tuple[str, bytes | None]] = []
        self.keep: Keep = self._keep
        self.seen = SeenFiles()
        self.context = Context(str(self.project), Policy(level, str(self.project)))
        self._roots = Roots((str(self.project),))
        self.tools: dict[str, AnyTool] = {tool.name: tool for tool in file_tools(self.access, ripgrep)}

    def access(self, context: ToolContext) -> FileAccess:
        local = LocalFiles(self._roots, context.policy, self.host)
        files = EditorFiles(local, context.client, context.cancel) if context.client.reads else local
        return FileAccess(files, self.seen, self.keep)

    async def _keep(self, change: FileChange) -> None:
        self.kept.append((change.path, change.before))

    async def call(self, name: str, arguments: str) -> ToolResult:
        tool = self.tools[name]
        return await tool.run(read_arguments(tool, arguments), self.context)

    async def run(self, name: str, **arguments: Any) -> ToolResult:
        tool = self.tools[name]
        return await tool.run(tool.arguments.model_validate(arguments), self.context)

    async def text(self, name: str, **arguments: Any) -> str:
        return text_of(await self.run(name, **arguments))

    def close(self) -> None:
        self._roots.close()


def text_of(result: ToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextBlock))


def make_tree(root: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
