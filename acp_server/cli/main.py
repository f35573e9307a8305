"""The command line besides serving: help, version and the subcommands."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from acp_server import __version__
from acp_server.cli import demo, sessions

DESCRIPTION = "A coding-agent server that editors and scripts talk to in the Agent Client Protocol."
EPILOG = (
    "Without a subcommand and without a terminal on stdin, acp-server serves the protocol. "
    "The model is chosen by ACP_SERVER_MODEL (provider/model), else by the first provider with a key."
)


def run(arguments: Sequence[str]) -> int:
    """Run a subcommand; return its exit code. A wrong argument prints the usage to stderr and exits with 2."""
    parser = argparse.ArgumentParser(prog="acp-server", description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument("--version", action="version", version=f"acp-server {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.add_parser("acp", help="serve the protocol on stdin and stdout (see acp-server acp --help)")
    demo.add_parser(commands)
    sessions.add_parser(commands)
    given = parser.parse_args(arguments)
    if given.command is None:
        parser.print_help(sys.stdout)
        return 0
    code: int = given.run(given)
    return code
