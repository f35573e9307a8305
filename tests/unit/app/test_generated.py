"""Files that are made from others are as their source says: run `python -m tests.support.generated` otherwise."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]  # it ships no annotations
import pytest

from acp_server.app.breaches import check
from acp_server.app.default_rows import ROWS
from acp_server.app.dump import dump_text
from acp_server.app.layers import Choice, default_tree, full_tree, read_settings
from acp_server.app.places import Places
from acp_server.app.settings_schema import CONFIGS, Settings
from tests.support import generated
from tests.support.launch import REPOSITORY

SNAPSHOTS = Path(__file__).with_name("data")
SETTINGS = """\
model = "local/m"

[providers.local]
protocol = "chat"
base_url = "http://127.0.0.1:8000/v1"
key = { env = "LOCAL_KEY" }
headers = { "X-Key" = "secret" }
models = ["m"]

[models."local/m"]
context_window = 1000
prices = { input = 1, output = 2.5 }

[limits]
max_steps = 5

[[patch]]
id = "title"
disabled = true

[[patch]]
after = "commands"
insert = [{ id = "mine", component = "my_package:plugin", requires = ["acp"], config = { "a b" = [1, true, "x"] } }]
"""


def test_the_default_rows_are_those_of_the_bundles() -> None:
    assert generated.ROWS_FILE.read_text("utf-8") == generated.rows_text()


def test_the_descriptions_of_the_tools_are_theirs() -> None:
    for path, tools in generated.described():
        assert path.read_text("utf-8") == generated.tools_text(tools)


def test_the_schema_is_that_of_the_models() -> None:
    assert generated.SCHEMA_FILE.read_text("utf-8") == generated.schema_text()


def test_the_schema_takes_what_the_models_take(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text(SETTINGS, "utf-8")
    source = read_settings(Places(str(tmp_path), str(tmp_path), str(tmp_path)))
    schema = json.loads(generated.SCHEMA_FILE.read_text("utf-8"))
    jsonschema.validate(source.document, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**source.document, "modle": "a/b"}, schema)


def test_the_example_of_the_documents_is_taken() -> None:
    text = (REPOSITORY / "docs" / "settings.md").read_text("utf-8")
    example = text.split("```toml\n")[1].split("```")[0]
    check(Settings, tomllib.loads(example))


def test_every_shipped_config_is_as_its_component_wants_it() -> None:
    for row in ROWS:
        check(CONFIGS[row.component], dict(row.config))


@pytest.mark.parametrize("name", ["default", "whole"])
def test_a_dump_is_as_it_was(name: str, tmp_path: Path) -> None:
    places = Places(str(tmp_path), str(tmp_path), str(tmp_path))
    (tmp_path / "settings.toml").write_text(SETTINGS, "utf-8")
    whole = full_tree(Choice(), places, read_settings(places))
    tree = default_tree(Choice(), places) if name == "default" else whole
    text = dump_text(tree, "dump").replace(str(tmp_path), "HERE")
    assert text == (SNAPSHOTS / f"dump-{name}.toml").read_text("utf-8")
