"""The agent's names for the neutral tools and arguments of the cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.support.trace import Obj


def pairs(text: str) -> dict[str, str]:
    """Return the table that `read_file=read,shell=bash` says."""
    return dict(item.split("=", 1) for item in text.split(",") if item)


@dataclass(frozen=True, slots=True)
class Names:
    """`tools` by neutral name; `args` by neutral name, or by TOOL.NAME where one tool differs."""

    tools: Mapping[str, str] = field(default_factory=dict)
    args: Mapping[str, str] = field(default_factory=dict)

    def tool(self, name: str) -> str:
        return self.tools.get(name, name)

    def arg(self, tool: str, name: str) -> str:
        return self.args.get(f"{tool}.{name}") or self.args.get(name, name)

    def call(self, tool: str, args: Obj) -> tuple[str, Obj]:
        """Return the agent's tool, and the arguments by the agent's names."""
        out: Obj = {}
        for key, value in args.items():
            parts = value
            if key == "edits":
                parts = [{self.arg(tool, k): v for k, v in edit.items()} for edit in value]
            out[self.arg(tool, key)] = parts
        return self.tool(tool), out


OURS = Names(
    tools={
        "read_file": "read",
        "write_file": "write",
        "edit_file": "edit",
        "list_dir": "list",
        "search": "grep",
        "shell": "bash",
    },
    args={"old": "old_string", "new": "new_string", "all": "replace_all"},
)
"""This repository's server."""
