"""`acp-server login`: stores a provider's key, from a terminal or a pipe (docs/credentials.md).

The key is never echoed, never an argument, and in no message. The command ends by itself when it is done, since
clients that start it wait for that.
"""

from __future__ import annotations

import argparse
import getpass
import os
import signal
import sys
from collections.abc import Sequence

from acp_server.app.credentials import LONGEST_KEY, Credentials
from acp_server.app.places import account_home, find_places
from acp_server.app.provider_keys import ProviderKey, named, provider_keys
from acp_server.base.errors import ServerError


def run(arguments: Sequence[str]) -> int:
    """Store a key; return 0, 1 after one line on stderr, or 130 when the person broke it off."""
    parser = argparse.ArgumentParser(
        prog="acp-server login",
        description="Store a provider's key in a file that you alone may read; without a terminal it comes from stdin.",
    )
    parser.add_argument("provider", nargs="?", metavar="PROVIDER", help="asked for on a terminal when it is left out")
    given = parser.parse_args(arguments)
    try:
        print(_login(given.provider))
    except ServerError as error:
        print(f"acp-server: {error.message}", file=sys.stderr)
        return 1
    except (KeyboardInterrupt, EOFError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # another one would break the ending and change the exit code
        print("\nacp-server: nothing was stored", file=sys.stderr)
        return 130
    return 0


def _login(provider: str | None) -> str:
    providers = provider_keys(find_places(os.environ, account_home))
    chosen = _asked(providers) if provider is None else named(provider, providers)
    if chosen.variable is None:
        raise ServerError("NO_LOGIN", f"The key of {chosen.provider} {chosen.source}; there is nothing to log in to.")
    path = Credentials(os.environ).store(chosen.variable, _read_key(chosen.provider))
    stored = f"The key for {chosen.provider} is stored in {path}."
    if os.environ.get(chosen.variable, "").strip():
        return f"{stored}\n{chosen.variable} is set too, and wins over it."
    return stored


def _asked(providers: tuple[ProviderKey, ...]) -> ProviderKey:
    """Return the provider that the person chooses."""
    if not sys.stdin.isatty():
        raise ServerError("NO_LOGIN", "Name the provider: acp-server login PROVIDER.")
    offered = [known for known in providers if known.variable is not None]
    for number, known in enumerate(offered, 1):
        print(f"{number:>3}  {known.provider}")
    answer = input("Provider (number or name): ").strip()
    if answer.isascii() and answer.isdigit() and 1 <= int(answer) <= len(offered):
        return offered[int(answer) - 1]
    return named(answer, providers)


def _read_key(provider: str) -> str:
    """Return the key: unseen from the terminal, else the first line of standard input."""
    if sys.stdin.isatty():
        return getpass.getpass(f"Key for {provider} (it is not shown): ").strip()
    return sys.stdin.readline(LONGEST_KEY + 2).strip()
