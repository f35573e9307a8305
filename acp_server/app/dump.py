"""The rows of a process as text: TOML, each value with the place that set it. Pure.

Owns what is not shown: values of headers, which may be secrets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from acp_server.app.row import Row
from acp_server.app.rows import Tree
from acp_server.app.toml_lines import key_text
from acp_server.app.toml_write import toml_value
from acp_server.base.json_value import JsonValue

HIDDEN = "***"


def dump_text(tree: Tree, command: str) -> str:
    """Return the rows as a TOML document that begins with the command that printed it."""
    return f"# {command}\n" + "".join(_row_text(tree, row) for row in tree.rows)


def _row_text(tree: Tree, row: Row) -> str:
    lines = [("[[rows]]", tree.origins[row.id, ""])]
    lines += [(f"id = {toml_value(row.id)}", ""), (f"component = {toml_value(row.component)}", "")]
    if row.requires:
        lines.append((f"requires = {toml_value(row.requires)}", ""))
    if row.disabled:
        lines.append(("disabled = true", tree.origins.get((row.id, "disabled"), "")))
    lines += _config_lines(tree, row)
    return "\n" + "".join(f"{text}  # {place}\n" if place else f"{text}\n" for text, place in lines)


def _config_lines(tree: Tree, row: Row) -> Iterator[tuple[str, str]]:
    if row.config:
        yield "[rows.config]", ""
    for key, given in row.config.items():
        yield f"{key_text(key)} = {toml_value(_shown(key, given))}", tree.origins.get((row.id, key), "")


def _shown(key: str, given: JsonValue) -> JsonValue:
    if key == "headers" and isinstance(given, Mapping):
        return dict.fromkeys(given, HIDDEN)
    return given
