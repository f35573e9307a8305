"""Building components of rows: requirements first, everything undone together, hot ones again."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from acp_server.acp.commands import Command
from acp_server.app.components import Close, Components, hot
from acp_server.app.registries import Parts, Registries
from acp_server.app.row import Config, Row
from acp_server.app.session_access import SessionAccess
from acp_server.base.errors import ServerError
from acp_server.base.values import replace

MODULE = "tests_components_of_rows"


async def no_store() -> Any:
    raise AssertionError("nothing is stored here")


@pytest.fixture
def closed() -> Iterator[list[str]]:
    module, ends = ModuleType(MODULE), list[str]()

    def command(parts: Parts, config: Config) -> Close:
        name = str(config.get("name", parts.row))
        parts.commands.add(Command(name, "Nothing.", lambda _agent, _args: ""))
        if config.get("broken"):
            raise ServerError("INVALID_CONFIG", "the config is broken.")
        return lambda: ends.append(name)

    def fault(_parts: Parts, _config: Config) -> None:
        raise OSError("a secret path")

    @hot
    def warm(parts: Parts, config: Config) -> None:
        command(parts, config)

    vars(module).update(command=command, warm=warm, fault=fault)
    sys.modules[MODULE] = module
    yield ends
    del sys.modules[MODULE]


def row(ident: str, factory: str = "command", requires: tuple[str, ...] = (), **config: str | bool) -> Row:
    return Row(ident, f"{MODULE}:{factory}", config, requires)


def made() -> tuple[Registries, Components]:
    tables = Registries({}, SessionAccess(no_store, lambda _error: None))
    return tables, Components(tables)


def names(tables: Registries) -> list[str]:
    return [command.name for command in tables.commands.items]


async def test_rows_are_built_in_order_and_closed_in_reverse(closed: list[str]) -> None:
    tables, components = made()
    components.build([row("a"), row("b", requires=("a",)), replace(row("c"), disabled=True)])
    assert names(tables) == ["a", "b"]
    await components.close()
    assert (names(tables), closed) == ([], ["b", "a"])


def test_everything_that_is_missing_is_named_before_anything_is_built(closed: list[str]) -> None:
    tables, components = made()
    rows = [row("a", requires=("z",)), row("b", "nothing"), Row("c", "no_such_module:plugin", {})]
    with pytest.raises(ServerError) as caught:
        components.build(rows)
    assert (caught.value.code, caught.value.message) == (
        "MISSING_REQUIREMENT",
        (
            "Not everything is there: the row 'a' needs the row 'z'; the row 'b' needs nothing of the module "
            f"{MODULE}; the row 'c' needs the module no_such_module, which is not installed."
        ),
    )
    assert names(tables) == []


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (row("b", broken=True), "The row 'b' cannot be built: the config is broken."),
        (row("b", "fault"), "The row 'b' cannot be built: OSError."),
        (row("b", name="a"), "The row 'b' cannot be built: There is a command 'a' already."),
    ],
)
async def test_a_row_that_cannot_be_built_takes_everything_back(closed: list[str], bad: Row, words: str) -> None:
    tables, components = made()
    with pytest.raises(ServerError) as caught:
        components.build([row("a"), bad])
    assert (caught.value.code, caught.value.message, names(tables)) == ("COMPONENT_FAILED", words, [])
    await components.close()
    assert closed == ["a"]


def test_hot_rows_change_and_others_wait(closed: list[str]) -> None:
    tables, components = made()
    components.build([row("cold"), row("w1", "warm"), row("w2", "warm")])
    changed = [row("cold", name="other"), row("w1", "warm", name="one"), row("new"), row("w3", "warm")]
    assert components.update(changed) == ["cold", "new"]
    assert names(tables) == ["cold", "one", "w3"]


def test_a_change_that_fails_leaves_all_as_it_was(closed: list[str]) -> None:
    tables, components = made()
    components.build([row("w1", "warm"), row("w2", "warm")])
    with pytest.raises(ServerError, match="the config is broken"):
        components.update([row("w1", "warm", name="one"), row("w2", "warm", broken=True)])
    assert names(tables) == ["w1", "w2"]
    assert components.update([row("w1", "warm"), row("w2", "warm")]) == []
