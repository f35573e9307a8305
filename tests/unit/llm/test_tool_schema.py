from __future__ import annotations

import pytest

from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.llm.adapters.tool_schema import DEEPEST, as_object, parameters
from acp_server.llm.failure import LlmError
from acp_server.messages.request import ToolSchema


def tool(schema: JsonObject, name: str = "probe") -> ToolSchema:
    return ToolSchema(name, "Probe.", schema)


def test_an_object_schema_keeps_what_it_says_and_loses_annotations() -> None:
    schema: JsonObject = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "examples": {"type": "string", "examples": ["a"], "default": "a"},
            "any": True,
            "tree": {"$ref": "#/$defs/tree"},
            "pick": {"anyOf": [{"type": "string", "$comment": "x"}, {"enum": ["$schema"]}]},
        },
        "$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}, "deprecated": True}},
        "required": ["any"],
        "anyOf": [{"required": ["tree"]}],
    }
    assert parameters(tool(schema)) == {
        "type": "object",
        "properties": {
            "examples": {"type": "string", "default": "a"},
            "any": {},
            "tree": {"$ref": "#/$defs/tree"},
            "pick": {"anyOf": [{"type": "string"}, {"enum": ["$schema"]}]},
        },
        "$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
        "required": ["any"],
    }


def test_no_schema_is_an_object_without_properties() -> None:
    assert as_object(tool({})) == {
        "name": "probe",
        "description": "Probe.",
        "parameters": {"type": "object", "properties": {}},
    }


def test_a_dialect_drops_keywords_but_no_property_of_that_name() -> None:
    schema: JsonObject = {"properties": {"pattern": {"type": "string", "pattern": "a"}}}
    assert parameters(tool(schema), frozenset({"pattern"})) == {
        "type": "object",
        "properties": {"pattern": {"type": "string"}},
    }


def nested(depth: int) -> JsonValue:
    return {"type": "array", "items": nested(depth - 1)} if depth else {"type": "string"}


@pytest.mark.parametrize(
    ("offered", "why"),
    [
        (tool({}, "a.b"), "its name may have only letters, digits, '_' and '-', at most 64 of them"),
        (tool({}, "x" * 65), "its name may have only letters, digits, '_' and '-', at most 64 of them"),
        (tool({"type": "array"}), "its parameters are no object"),
        (tool({"oneOf": [{"type": "object"}]}), "its parameters are a choice of schemas"),
        (tool({"properties": {"a": {"$ref": "other.json"}}}), "its parameters refer to another document"),
        (tool({"properties": {"a": nested(DEEPEST + 1)}}), f"its parameters are nested deeper than {DEEPEST} levels"),
    ],
)
def test_what_cannot_be_said_is_an_error_that_names_the_tool(offered: ToolSchema, why: str) -> None:
    with pytest.raises(LlmError) as raised:
        parameters(offered)
    message = f"The tool {offered.name!r} cannot be offered to this model server: {why}."
    assert (raised.value.code, raised.value.message) == ("UNSUPPORTED_OPTION", message)
