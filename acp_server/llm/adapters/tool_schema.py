"""A tool's parameters as a wire protocol takes them (docs/llm.md, clause W-7).

Owns what is dropped and what cannot be said: names other than letters, digits, underscore and hyphen, parameters that
are no object, references that leave the schema, and nesting deeper than DEEPEST.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NoReturn

from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.llm.failure import LlmError
from acp_server.messages.request import ToolSchema

DEEPEST: Final = 32
ANNOTATIONS: Final = frozenset({"$schema", "$id", "$anchor", "$comment", "$vocabulary", "examples", "deprecated"})
"""Keywords that say nothing about a value; servers that check schemas stumble over some of them."""

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_CHOICES: Final = ("anyOf", "oneOf", "allOf", "not", "if", "then", "else", "enum", "const")
_OF_SCHEMAS: Final = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_LISTS_OF_SCHEMAS: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SCHEMAS: Final = frozenset(
    {"items", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames", "unevaluatedProperties"}
)


def parameters(tool: ToolSchema, dropped: frozenset[str] = ANNOTATIONS) -> dict[str, JsonValue]:
    """Return the tool's parameters as an object schema without the dropped keywords.

    Choices at the top, which no provider takes, are dropped beside properties: the tool checks its arguments itself.

    Raises:
        LlmError: UNSUPPORTED_OPTION naming the tool, when it cannot be said.
    """
    _check_name(tool)
    source = tool.parameters
    if source.get("type", "object") != "object":
        _cannot(tool, "its parameters are no object")
    if "properties" not in source and any(word in source for word in ("anyOf", "oneOf", "allOf", "$ref")):
        _cannot(tool, "its parameters are a choice of schemas")
    top = {key: value for key, value in source.items() if key not in _CHOICES}
    schema = _schema({"type": "object", "properties": {}, **top}, tool, dropped, 0)
    return schema if isinstance(schema, dict) else {}


def _check_name(tool: ToolSchema) -> None:
    if not _NAME.fullmatch(tool.name):
        _cannot(tool, "its name may have only letters, digits, '_' and '-', at most 64 of them")


def _schema(value: JsonValue, tool: ToolSchema, dropped: frozenset[str], depth: int) -> JsonValue:
    if depth > DEEPEST:
        _cannot(tool, f"its parameters are nested deeper than {DEEPEST} levels")
    if not isinstance(value, Mapping):
        return value
    reference = value.get("$ref")
    if isinstance(reference, str) and not reference.startswith("#"):
        _cannot(tool, "its parameters refer to another document")
    return {key: _keyword(key, inner, tool, dropped, depth) for key, inner in value.items() if key not in dropped}


def _keyword(key: str, value: JsonValue, tool: ToolSchema, dropped: frozenset[str], depth: int) -> JsonValue:
    if key in _OF_SCHEMAS and isinstance(value, Mapping):
        return {name: _property(schema, tool, dropped, depth) for name, schema in value.items()}
    if key in _LISTS_OF_SCHEMAS and isinstance(value, list | tuple):
        return [_schema(schema, tool, dropped, depth + 1) for schema in value]
    if key in _SCHEMAS:
        return _schema(value, tool, dropped, depth + 1)
    return value


def _property(schema: JsonValue, tool: ToolSchema, dropped: frozenset[str], depth: int) -> JsonValue:
    if schema is True:
        return {}
    return _schema(schema, tool, dropped, depth + 1)


def as_object(tool: ToolSchema, dropped: frozenset[str] = ANNOTATIONS) -> JsonObject:
    """Return `{name, description, parameters}`."""
    return {"name": tool.name, "description": tool.description, "parameters": parameters(tool, dropped)}


def _cannot(tool: ToolSchema, why: str) -> NoReturn:
    raise LlmError("UNSUPPORTED_OPTION", f"The tool {tool.name!r} cannot be offered to this model server: {why}.")
