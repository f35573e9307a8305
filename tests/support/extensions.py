"""The schema of our own methods: what an agent answers and tells under `_acp_server/`, and what it is asked."""

from __future__ import annotations

import json
from functools import cache

from tests.support.launch import REPOSITORY
from tests.support.trace import Obj

FILE = REPOSITORY / "schemas" / "extensions.schema.json"
PREFIX = "_acp_server/"


@cache
def document() -> Obj:
    """Return the schema file."""
    found: Obj = json.loads(FILE.read_text("utf-8"))
    return found


def methods() -> dict[str, Obj]:
    """Return the schemas of params and result by method."""
    found: dict[str, Obj] = document()["x-methods"]
    return found


def notifications() -> dict[str, Obj]:
    """Return the schemas of the params by notification."""
    found: dict[str, Obj] = document()["x-notifications"]
    return found


def whole(part: Obj) -> Obj:
    """Return one of those schemas as one that stands alone."""
    return {**part, "$defs": document()["$defs"]}
