"""One row of what a process is made of. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from acp_server.base.json_value import JsonValue
from acp_server.base.values import value

Config: TypeAlias = Mapping[str, JsonValue]


@value
class Row:
    """One component of the process: its id, `module:factory`, its configuration, the ids of rows that it needs."""

    id: str
    component: str
    config: Config
    requires: tuple[str, ...] = ()
    disabled: bool = False
