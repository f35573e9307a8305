"""`acp-server plugin`: packages of plugins in a profile (docs/how-to/write-a-plugin.md)."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from acp_server.app.layers import installed_plugins
from acp_server.app.places import Places, account_home, find_places
from acp_server.app.profiles import add_plugin, ensure_profile, remove_plugin
from acp_server.base.errors import ServerError

COMMAND_NOT_FOUND = 127


def run(arguments: Sequence[str]) -> int:
    """Run the verb; return 0, or 1 after one line on stderr; 127 when there is no pip."""
    parser = argparse.ArgumentParser(
        prog="acp-server plugin", description="Add, remove and list packages of plugins of one profile."
    )
    parser.add_argument("--profile", required=True, metavar="NAME", help="the profile; add makes one that is not there")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    add = verbs.add_parser("add", help="install a package into the profile and add its rows")
    add.add_argument("package", help="as pip takes it: a name, a name with a version, a path")
    remove = verbs.add_parser("remove", help="take a package and its rows away")
    remove.add_argument("package", help="the package's name")
    verbs.add_parser("list", help="print the packages, their versions and rows")
    given = parser.parse_args(arguments)
    try:
        places = find_places(os.environ, account_home)
        _run(given, places)
    except ServerError as error:
        print(f"acp-server plugin: {error.message}", file=sys.stderr)
        return COMMAND_NOT_FOUND if error.code == "NO_PIP" else 1
    return 0


def _run(given: argparse.Namespace, places: Places) -> None:
    match given.verb:
        case "add":
            plugin = add_plugin(places, given.profile, given.package)
            print(f"{plugin.package} {plugin.version}: added {', '.join(row.id for row in plugin.rows)}")
        case "remove":
            plugin = remove_plugin(places, given.profile, given.package)
            print(f"{plugin.package} {plugin.version}: removed {', '.join(row.id for row in plugin.rows)}")
        case _:
            ensure_profile(places, given.profile)
            for plugin in installed_plugins(places, given.profile):
                print(f"{plugin.package} {plugin.version}: {', '.join(row.id for row in plugin.rows)}")
