"""Presets as files: keys, their checks, and the words for what is wrong (docs/presets.md)."""

from __future__ import annotations

import json
import tomllib

import jsonschema  # type: ignore[import-untyped]  # it ships no annotations
import pytest

from acp_server.agent.presets import MINIMAL, Preset
from acp_server.app.preset_file import LARGEST, preset_in
from acp_server.base.errors import ServerError
from tests.support import generated
from tests.support.launch import REPOSITORY

PAGE = (REPOSITORY / "docs" / "presets.md").read_text("utf-8")
EXAMPLE = PAGE.split("```toml\n")[1].split("```")[0]


def test_the_example_of_the_page_is_taken_by_file_and_schema() -> None:
    preset = preset_in("/p/review.toml", "review", EXAMPLE.encode(), project=False)
    assert preset == Preset(
        "review",
        "Review",
        "Reads and says what is wrong.",
        frozenset({"read", "list", "glob", "grep", "todo", "mcp__tracker__*"}),
        None,
        "Review changes. Name file and line of whatever is wrong, the worst first. Change nothing.\n",
        "anthropic/claude-sonnet-5-5",
        "plan",
    )
    schema = json.loads(generated.PRESET_SCHEMA_FILE.read_text("utf-8"))
    jsonschema.validate(tomllib.loads(EXAMPLE), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"toools": []}, schema)


def test_the_schema_is_that_of_the_model() -> None:
    assert generated.PRESET_SCHEMA_FILE.read_text("utf-8") == generated.preset_schema_text()


def test_what_a_file_does_not_say_is_that_of_its_base() -> None:
    assert preset_in("/p/a.toml", "a", b'base = "minimal"', project=True) == Preset(
        "a", "a", "", MINIMAL.tools, MINIMAL.sections, project=True
    )
    assert preset_in("/p/a.toml", "a", b"", project=False) == Preset("a", "a", "")


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a", b"tools = ['x']\nmodes = 'ask'", "/p/a.toml:2: unknown key 'modes'. Did you mean 'mode'?"),
        ("a", b"\n\nmode = 'wild'", "/p/a.toml:3: mode must be one of 'ask', 'auto', 'plan' or 'full'."),
        ("a", b"tools = 'read'", "/p/a.toml:1: tools must be a list, not text."),
        ("a", b"tools = ['read', 'a b']", "/p/a.toml:1: tools[2] must be a tool's name, `*` at its end at most."),
        ("a", b"model = 'gpt'", "/p/a.toml:1: model must be provider/model."),
        ("a", b"name = ''", "/p/a.toml:1: name must be text that is not empty."),
        ("a", b"tools = [", "/p/a.toml:1: "),
        ("a", b"\xff", "/p/a.toml cannot be read: it is not UTF-8."),
        ("a", b"#" * (LARGEST + 1), "/p/a.toml is larger than 64 KiB."),
        ("a b", b"", "/p/a b.toml: a preset's name has letters, digits, `-` and `_`, 64 at most."),
        ("minimal", b"", "/p/minimal.toml: the name minimal is that of a shipped preset."),
    ],
)
def test_what_is_wrong_is_told_with_file_key_and_line(name: str, data: bytes, words: str) -> None:
    with pytest.raises(ServerError) as told:
        preset_in(f"/p/{name}.toml", name, data, project=False)
    assert told.value.code == "INVALID_PRESET"
    assert told.value.message.startswith(words)
