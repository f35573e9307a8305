"""What a server says of its tools (docs/mcp.md, clauses N-5 to N-8, R-1 to R-3)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from acp_server.tools.mcp.offers import (
    LARGEST_SCHEMA,
    LONGEST_DESCRIPTION,
    MOST_TOOLS,
    Offer,
    read_offers,
    within_bounds,
)
from acp_server.tools.mcp.pins import Pins, sort_offers
from acp_server.tools.mcp.servers import McpServer

SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}}


def entry(name: str = "t", description: str = "Does.", schema: object = SCHEMA) -> dict[str, object]:
    return {"name": name, "description": description, "inputSchema": schema}


def offer(name: str = "t", description: str = "Does.", schema: object = SCHEMA) -> Offer:
    (found,) = read_offers([entry(name, description, schema)]).tools
    return found


def nested(depth: int) -> dict[str, Any]:
    inner: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        inner = {"type": "object", "properties": {"x": inner}}
    return inner


def test_a_tool_is_taken_as_it_is() -> None:
    found = offer()
    assert (found.name, found.description, found.schema) == ("t", "Does.", SCHEMA)


def test_a_tool_without_words_is_called_by_its_title() -> None:
    (found,) = read_offers([{"name": "t", "title": "Title"}]).tools
    assert (found.description, found.schema) == ("Title", {"type": "object"})


def test_a_long_description_is_cut_and_still_told_apart() -> None:
    one, two = (offer(description="x" * 5000 + end) for end in "ab")
    assert one.description == two.description == "x" * LONGEST_DESCRIPTION + "…"
    assert one.digest != two.digest


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ([], "its parameters are no object"),
        ({"type": "array"}, "its parameters are no object"),
        ({"anyOf": [{"type": "object"}]}, "its parameters are a choice of schemas"),
        ({"properties": {"x": {"$ref": "http://127.0.0.1/s.json"}}}, "its parameters refer to another document"),
        (nested(40), "its parameters are nested deeper than 32 levels"),
        (nested(5000), "the value is nested too deeply"),
        ({"properties": {"x": {"maximum": 2**70}}}, "the integer is too large to be read back exactly"),
        ({"properties": {"x" * LARGEST_SCHEMA: {}}}, f"its parameters take more than {LARGEST_SCHEMA} bytes"),
    ],
)
def test_a_schema_that_nobody_could_take_costs_that_tool_alone(schema: object, why: str) -> None:
    found = read_offers([entry("bad", schema=schema), entry("good")])
    assert [tool.name for tool in found.tools] == ["good"]
    assert found.refused == (f"its tool 'bad' cannot be used: {why}",)


def test_entries_that_are_none_and_names_that_come_twice_are_told() -> None:
    found = read_offers([5, {"name": " "}, entry("a", "first"), entry("a", "second")])
    assert [tool.description for tool in found.tools] == ["first"]
    assert found.refused == (*["one of its tools has no name"] * 2, "it has two tools named 'a'")


def test_only_wanted_tools_are_looked_at() -> None:
    assert read_offers([entry("a"), entry("b", schema=5)], ("a",)).refused == ()


def test_tools_are_bounded_by_number_and_by_size() -> None:
    small, large = offer(), offer(description="x" * 200_000)
    assert len(within_bounds([small] * 500, 10, 0)) == MOST_TOOLS - 10
    assert within_bounds([large, large, small], 0, 0) == (large,)


def test_a_changed_tool_keeps_its_words_and_is_set_apart() -> None:
    old, new, other = offer(), offer(description="Obey."), offer("u")
    found = sort_offers((new, other), {"t": old}, {})
    assert (found.trusted, found.changed) == ({"t": old, "u": other}, {"t": new})


def test_a_tool_that_changed_since_an_earlier_session_is_not_there() -> None:
    old, new = offer(), offer(description="Obey.")
    found = sort_offers((new,), {}, {"t": old.digest})
    assert (found.trusted, found.changed) == ({}, {"t": new})
    assert sort_offers((old,), {}, {"t": old.digest}).trusted == {"t": old}


def test_a_schema_that_changed_is_a_change() -> None:
    assert offer().digest != offer(schema={"type": "object", "properties": {"key": {"type": "string"}}}).digest


def test_pins_outlive_the_process_one_file_a_way_to_a_server(tmp_path: Path) -> None:
    folder = str(tmp_path / "mcp")
    one, two = McpServer("s", command="x"), McpServer("s", command="x", args=("--new",))
    Pins(one, folder).keep({"a": "1"})
    Pins(one, folder).keep({"b": "2"})
    assert Pins(one, folder).read() == {"a": "1", "b": "2"}
    assert Pins(two, folder).read() == {}
    (file,) = Path(folder).iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text("{", "utf-8")
    assert Pins(one, folder).read() == {}


def test_pins_without_a_place_and_in_a_place_that_takes_nothing_keep_nothing(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", "utf-8")
    for folder in (None, str(blocked / "mcp")):
        pins = Pins(McpServer("s", command="x"), folder)
        pins.keep({"a": "1"})
        assert pins.read() == {}


def test_a_server_shows_no_value_of_its_environment() -> None:
    server = McpServer("s", url="http://127.0.0.1/", env=(("A", "hidden-1"),), headers=(("B", "hidden-2"),))
    assert "hidden" not in repr(server)
    assert server.secrets == ("hidden-1", "hidden-2")
