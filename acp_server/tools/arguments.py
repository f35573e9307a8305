"""The arguments of a call: raw text from a model into a checked value, and the schema that the model is shown.

What is wrong is told field by field, in words that a model can act on.
"""

from __future__ import annotations

import json
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from acp_server.base.json_value import JsonObject
from acp_server.messages.request import ToolSchema
from acp_server.tools.tool import AnyTool, ToolError

MOST_TOLD: Final = 8
"""Violations that one error names; a model that mends these learns of the rest."""


def read_arguments(tool: AnyTool, text: str) -> BaseModel:
    """Return the arguments of a call; empty text counts as no arguments.

    Raises:
        ToolError: INVALID_ARGS, with every field that is wrong and why.
    """
    try:
        given = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise ToolError("INVALID_ARGS", f"the arguments of {tool.name} are no JSON: {_first_line(error)}") from error
    if not isinstance(given, dict):
        raise ToolError("INVALID_ARGS", f"the arguments of {tool.name} must be a JSON object")
    try:
        return tool.arguments.model_validate(given)
    except ValidationError as error:
        raise ToolError("INVALID_ARGS", _violations(tool, error)) from error


def schema_of(tool: AnyTool) -> ToolSchema:
    """Return the tool as the model sees it; titles that only repeat a field's name are left out."""
    return ToolSchema(tool.name, tool.description, _without_titles(tool.arguments.model_json_schema()))


def _violations(tool: AnyTool, error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    told = [f"{'.'.join(map(str, item['loc'])) or 'arguments'}: {item['msg']}" for item in found[:MOST_TOLD]]
    more = f"\n… and {len(found) - MOST_TOLD} more" if len(found) > MOST_TOLD else ""
    return f"the arguments of {tool.name} are wrong:\n" + "\n".join(told) + more


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _without_titles(schema: Any, *, named: bool = False) -> Any:
    """`named` is whether the keys of this object are names of fields, among which `title` is one like any other."""
    if isinstance(schema, list):
        return [_without_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: item for key, item in schema.items() if named or key != "title" or not isinstance(item, str)}
    result: JsonObject = {
        key: _without_titles(item, named=not named and key in ("properties", "$defs")) for key, item in kept.items()
    }
    return result
