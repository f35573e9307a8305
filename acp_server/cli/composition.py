"""`--dump-config` and `--dump-default-config`: what a process would be made of. Nothing is started."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from acp_server.app.dump import dump_text
from acp_server.app.layers import Choice, default_tree, full_tree, read_settings
from acp_server.app.places import account_home, find_places
from acp_server.app.profiles import ensure_profile
from acp_server.base.errors import ServerError


def run(arguments: Sequence[str]) -> int:
    """Print the rows; return 0, or 1 after one line on stderr."""
    parser = argparse.ArgumentParser(prog="acp-server", description="Print what a process is made of.")
    kinds = parser.add_mutually_exclusive_group(required=True)
    kinds.add_argument("--dump-config", action="store_true", help="with all layers, each value with its place")
    kinds.add_argument("--dump-default-config", action="store_true", help="the bundles alone")
    parser.add_argument("--profile", metavar="NAME")
    parser.add_argument("--patch", metavar="FILE", action="append", default=[])
    given = parser.parse_args(arguments)
    try:
        print(_text(given), end="")
    except ServerError as error:
        print(f"acp-server: {error.message}", file=sys.stderr)
        return 1
    return 0


def _text(given: argparse.Namespace) -> str:
    places = find_places(os.environ, account_home)
    choice = Choice(given.profile, "acp", tuple(given.patch))
    if given.profile is not None:
        ensure_profile(places, given.profile)
    if given.dump_default_config:
        return dump_text(default_tree(choice, places), "acp-server --dump-default-config")
    settings = read_settings(places) if (Path(places.config) / "settings.toml").is_file() else None
    return dump_text(full_tree(choice, places, settings), "acp-server --dump-config")
