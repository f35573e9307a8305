"""A preset as a file: which keys it may have, and what they make of an agent (docs/presets.md, clauses K-4 to K-9).

Owns the keys, their types and their checks; schemas/preset.schema.json is made from here. Loaded only when there is a
file to check: pydantic takes a tenth of a second.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from acp_server.agent.presets import SHIPPED, Preset
from acp_server.app.layers import checked
from acp_server.app.settings_schema import ModelName, Table, Words
from acp_server.app.skill_text import is_name
from acp_server.base.errors import ServerError
from acp_server.base.values import replace

CODE: Final = "INVALID_PRESET"
LARGEST: Final = 64 * 1024
"""Bytes of a file at most."""
ToolName = Annotated[str, Field(pattern=r"^[^\s*]+\*?$|^\*$")]


class PresetFile(Table):
    """What an agent is made of: a file presets/NAME.toml."""

    name: Words | None = Field(None, description="How a person calls it; else the file's name.")
    description: Words | None = Field(None, description="What it is for, in one line.")
    base: Literal["standard", "minimal"] | None = Field(
        None, description="The shipped preset from which it has what it does not name itself; standard."
    )
    tools: list[ToolName] | None = Field(
        None, description="The tools that it has, by name; `*` at the end stands for any further characters."
    )
    prompt: Words | None = Field(None, description="What the model is told besides, as a part of the system text.")
    model: ModelName | None = Field(None, description="provider/model with which its sessions begin.")
    mode: Literal["ask", "auto", "plan", "full"] | None = Field(
        None, description="The mode in which its sessions begin; a project's preset widens none."
    )


def preset_in(path: str, name: str, data: bytes, *, project: bool) -> Preset:
    """Return the preset that a file holds.

    Raises:
        ServerError: INVALID_PRESET, with file and line, when it is no TOML, breaks the model, or may not be called so.
    """
    if not is_name(name):
        raise ServerError(CODE, f"{path}: a preset's name has letters, digits, `-` and `_`, 64 at most.")
    if name in SHIPPED:
        raise ServerError(CODE, f"{path}: the name {name} is that of a shipped preset.")
    if len(data) > LARGEST:
        raise ServerError(CODE, f"{path} is larger than {LARGEST // 1024} KiB.")
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ServerError(CODE, f"{path} cannot be read: it is not UTF-8.") from error
    file = PresetFile.model_validate(checked(path, text, PresetFile, CODE).document)
    base = SHIPPED[file.base or "standard"]
    made = Preset(name, file.name or name, file.description or "", base.tools, base.sections, project=project)
    tools = base.tools if file.tools is None else frozenset(file.tools)
    return replace(made, tools=tools, prompt=file.prompt, model=file.model, mode=file.mode)
