"""The package obeys the rules of docs/architecture.md, and each rule catches a breach of its kind."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.architecture import checks, graph, rules
from tests.architecture.sizes import Excess, excesses, report

PACKAGE = graph.package()
Check = Callable[[Mapping[str, graph.Module]], list[str]]


@pytest.mark.parametrize(
    "check",
    [
        checks.layer_breaches,
        checks.ring_breaches,
        checks.hidden_breaches,
        checks.purity_breaches,
        checks.name_breaches,
        checks.docstring_breaches,
    ],
)
def test_the_package_obeys(check: Check) -> None:
    assert check(PACKAGE) == []


def test_the_initialize_path_imports_nothing_of_ours_from_the_root() -> None:
    assert graph.edges(PACKAGE)["acp_server"] == set()


def written(**sources: str) -> dict[str, graph.Module]:
    names = {name.replace("__", "."): source for name, source in sources.items()}
    return {
        f"acp_server.{name}": graph.module(f"acp_server.{name}", Path(f"{name}.py"), source)
        for name, source in names.items()
    }


def pure_rows_absent(modules: Mapping[str, graph.Module]) -> list[str]:
    return [
        f"the table of pure modules names {row}, which does not exist"
        for row in rules.PURE
        if f"acp_server.{row}" not in modules
    ]


@pytest.mark.parametrize(
    "source",
    [
        "from acp_server.agent.turn import Turn",
        "def late():\n    from acp_server.agent.turn import Turn\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import acp_server.agent.turn\n",
        "from ..agent.turn import Turn",
    ],
)
def test_an_import_that_points_up_is_caught_wherever_it_stands(source: str) -> None:
    modules = written(llm__http=source, agent__turn="")
    assert checks.layer_breaches(modules) == [
        "acp_server.llm.http imports acp_server.agent.turn, which is not below it"
    ]


def test_an_import_across_one_layer_is_caught() -> None:
    modules = written(llm__http="import acp_server.persistence.writer", persistence__writer="")
    expected = ["acp_server.llm.http imports acp_server.persistence.writer, which is not below it"]
    assert checks.layer_breaches(modules) == expected


def test_a_package_without_a_layer_is_caught() -> None:
    assert checks.layer_breaches(written(web__page="")) == ["the package web stands on no layer"]


def test_a_cycle_closed_by_a_hidden_import_is_caught() -> None:
    modules = written(agent__a="import acp_server.agent.b", agent__b="def f():\n    import acp_server.agent.a\n")
    assert checks.ring_breaches(modules) == ["a cycle: acp_server.agent.a, acp_server.agent.b"]
    assert checks.hidden_breaches(modules) == ["acp_server.agent.b:2 hides an import of acp_server.agent.a"]


@pytest.mark.parametrize(
    ("source", "breach"),
    [
        ("import os.path", "imports os.path"),
        ("from time import monotonic", "imports time.monotonic"),
        ("def f():\n    import asyncio\n", "imports asyncio"),
        ("x = open('f')", "calls open"),
        ("from datetime import datetime\nx = datetime.now()", "reads the clock by datetime.now"),
    ],
)
def test_an_effect_in_a_pure_module_is_caught(source: str, breach: str) -> None:
    modules = written(session__surface=source)
    found = [text for text in checks.purity_breaches(modules) if text not in pure_rows_absent(modules)]
    assert [text.split(" ", 1)[1] for text in found] == [breach]


def test_a_pure_module_that_leans_on_an_impure_one_is_caught() -> None:
    modules = written(llm__sse="import acp_server.llm.http", llm__http="")
    found = [text for text in checks.purity_breaches(modules) if text not in pure_rows_absent(modules)]
    assert found == ["acp_server.llm.sse is pure but imports acp_server.llm.http"]


def test_a_claim_of_purity_is_held() -> None:
    modules = written(agent__step='"""Steps. Pure."""\nimport time')
    found = [text for text in checks.purity_breaches(modules) if text not in pure_rows_absent(modules)]
    assert found == ["acp_server.agent.step:2 imports time"]


def test_a_vague_name_is_caught() -> None:
    modules = written(agent__turn_utils='"""x"""\nclass TurnManager: ...\n')
    assert checks.name_breaches(modules) == [
        "the module acp_server.agent.turn_utils has a vague name",
        "acp_server.agent.turn_utils:2 the class TurnManager has a vague name",
    ]


def test_the_report_marks_what_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "large.py"
    body = "def f(a, b, c, d, e, f, g):\n" + "    pass\n" * 40 + "\n" * 300
    path.write_text(body, "utf-8")
    modules = {"acp_server.large": graph.module("acp_server.large", path, body)}
    assert excesses(modules) == [
        Excess("arguments", "acp_server.large:1 f", 7, 6),
        Excess("function", "acp_server.large:1 f", 41, 40),
        Excess("module", "acp_server.large", 341, 300),
    ]


def test_the_report_is_printed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.architecture"], cwd=graph.ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, "", report(graph.package()) + "\n")
