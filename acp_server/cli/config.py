"""`acp-server config`: the settings file of the person, read and changed one key at a time."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from acp_server.app.layers import Choice, Source, checked, full_tree, read_settings
from acp_server.app.places import Places, account_home, find_places
from acp_server.app.profiles import write_whole
from acp_server.app.settings_edit import edited, parse_value, value_at
from acp_server.app.settings_schema import Settings
from acp_server.app.toml_lines import split_key
from acp_server.app.toml_write import toml_value
from acp_server.base.errors import ServerError


def run(arguments: Sequence[str]) -> int:
    """Run the verb; return 0, or 1 after one line on stderr; `get` of a key that is not set returns 1 in silence."""
    parser = argparse.ArgumentParser(prog="acp-server config", description="Read and change settings.toml.")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    verbs.add_parser("path", help="print where the file lies, whether it is there or not")
    get = verbs.add_parser("get", help="print a setting as TOML, or all of them")
    get.add_argument("key", nargs="?", help='for example limits.max_steps or models."openai/gpt-5.6".context_window')
    change = verbs.add_parser("set", help="change a setting and nothing else in the file")
    change.add_argument("key")
    change.add_argument("value", help="a TOML value; text may stand without quotes")
    given = parser.parse_args(arguments)
    try:
        places = find_places(os.environ, account_home)
        return _run(given, places)
    except (ServerError, ValueError) as error:
        print(f"acp-server config: {error}", file=sys.stderr)
        return 1


def _run(given: argparse.Namespace, places: Places) -> int:
    path = Path(places.config) / "settings.toml"
    if given.verb == "path":
        print(path)
        return 0
    source = read_settings(places) if path.is_file() else Source(str(path), "", {})
    if given.verb == "set":
        return _set(given, source, places)
    if given.key is None:
        print(source.text, end="")
        return 0
    found = value_at(source.document, split_key(given.key))
    if found is None:
        return 1
    print(toml_value(found))
    return 0


def _set(given: argparse.Namespace, source: Source, places: Places) -> int:
    text = edited(source.text, split_key(given.key), parse_value(given.value))
    changed = checked(source.path, text, Settings, "INVALID_SETTINGS")
    full_tree(Choice(), places, changed)
    try:
        Path(source.path).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(Path(source.path), text)
    except OSError as error:
        raise ServerError("CANNOT_EDIT", f"{source.path} cannot be written: {error.strerror}.") from error
    return 0
