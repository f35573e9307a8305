"""`acp-server logout`: takes stored keys away (docs/credentials.md)."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from acp_server.app.credentials import Credentials
from acp_server.app.places import account_home, find_places
from acp_server.app.provider_keys import named, provider_keys
from acp_server.base.errors import ServerError


def run(arguments: Sequence[str]) -> int:
    """Take a key away, or all; return 0, or 1 after one line on stderr."""
    parser = argparse.ArgumentParser(prog="acp-server logout", description="Take stored keys away.")
    parser.add_argument("provider", nargs="?", metavar="PROVIDER", help="every key when it is left out")
    given = parser.parse_args(arguments)
    try:
        print("\n".join(_logout(given.provider)))
    except ServerError as error:
        print(f"acp-server: {error.message}", file=sys.stderr)
        return 1
    return 0


def _logout(provider: str | None) -> list[str]:
    variable = (
        None if provider is None else named(provider, provider_keys(find_places(os.environ, account_home))).variable
    )
    gone = () if provider is not None and variable is None else Credentials(os.environ).forget(variable)
    told = [f"Taken away: {', '.join(gone)}." if gone else "No such key was stored."]
    told += [f"{name} is still set in the environment." for name in gone if os.environ.get(name, "").strip()]
    return told
