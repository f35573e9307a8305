"""What files of settings, profiles and patches give, as a table: tests/unit/app/data/composition.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.unit.app.composing import outcome

DATA = Path(__file__).with_name("data") / "composition.toml"
CASES: list[dict[str, Any]] = tomllib.loads(DATA.read_text("utf-8"))["case"]
FILES = ("settings", "profile", "plugins", "patch")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_files_give(case: dict[str, Any]) -> None:
    found = outcome({name: case[name] for name in FILES if name in case})
    assert found["error"] == case.get("error")
    for kind, name in (("order", "order"), ("places", "touched")):
        if name in case:
            assert found[kind] == case[name]


def test_no_secret_of_a_file_is_ever_told() -> None:
    told = [case["error"] for case in CASES if "error" in case]
    assert [words for words in told if "SECRET" in words or "12345" in words] == []
