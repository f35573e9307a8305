"""The command line besides serving: help, version and the subcommands."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from acp_server import __version__
from acp_server.cli import demo, sessions

DESCRIPTION = "A coding-agent server that editors and scripts talk to in the Agent Client Protocol."
EPILOG = (
    "Without a subcommand and without a terminal on stdin, acp-server serves the protocol. "
    "The model is chosen by ACP_SERVER_MODEL (provider/model), else by the first provider with a key."
)

LATE: Final = {
    "editors": ("acp_server.cli.editors", "say what to paste into an editor to start this installation"),
    "run": ("acp_server.cli.run", "do one task without an editor, for scripts and CI"),
    "config": ("acp_server.cli.config", "read and change the settings file"),
    "plugin": ("acp_server.cli.plugin", "add, remove and list packages of plugins of a profile"),
    "login": ("acp_server.cli.login", "store a provider's key in a file that you alone may read"),
    "models": ("acp_server.cli.models", "list the models that can be used, and servers on this machine"),
    "presets": ("acp_server.cli.presets", "list what the agent of a session can be made of"),
    "logout": ("acp_server.cli.logout", "take stored keys away"),
    "doctor": ("acp_server.cli.doctor", "say what is configured, found and missing"),
}
"""Commands whose modules are loaded when they are named: what reads settings takes a fifth of a second to load."""
DUMPS: Final = ("--dump-config", "--dump-default-config")


def run(arguments: Sequence[str]) -> int:
    """Run a subcommand; return its exit code. A wrong argument prints the usage to stderr and exits with 2."""
    late = LATE.get(arguments[0]) if arguments else None
    if late is not None:
        return _run_late(late[0], arguments[1:])
    if any(dump in arguments for dump in DUMPS):
        return _run_late("acp_server.cli.composition", arguments)
    parser = argparse.ArgumentParser(prog="acp-server", description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument("--version", action="version", version=f"acp-server {__version__}")
    parser.add_argument("--dump-config", action="store_true", help="print the rows with all layers and their places")
    parser.add_argument("--dump-default-config", action="store_true", help="print the rows of the bundles alone")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.add_parser("acp", help="serve the protocol on stdin and stdout (see acp-server acp --help)")
    demo.add_parser(commands)
    sessions.add_parser(commands)
    for name, (_, words) in LATE.items():
        commands.add_parser(name, help=words)
    given = parser.parse_args(arguments)
    if given.command is None:
        parser.print_help(sys.stdout)
        return 0
    code: int = given.run(given)
    return code


def _run_late(module: str, arguments: Sequence[str]) -> int:
    code: int = import_module(module).run(arguments)
    return code
