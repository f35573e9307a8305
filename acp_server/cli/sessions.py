"""`acp-server sessions`: the stored conversations from a shell (docs/sessions-command.md).

Owns the arguments, the exit codes, and that every failure is one sentence on stderr.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from io import TextIOWrapper
from typing import Final, TypeAlias

from acp_server.base.errors import ServerError
from acp_server.cli.sessions_change import UsageError, delete, fork, rename, repair
from acp_server.cli.sessions_export import FORMATS, export
from acp_server.cli.sessions_look import list_sessions, show, verify
from acp_server.cli.sessions_store import SessionFiles, note, open_files
from acp_server.cli.sessions_sweep import TRASH_DAYS, sweep

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 130

LISTED: Final = 50
_Command: TypeAlias = Callable[[argparse.Namespace, SessionFiles], Awaitable[int]]


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand and its own subcommands."""
    parser = commands.add_parser("sessions", help="list, read, check, repair and remove stored conversations")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    _add_looking(verbs)
    _add_changing(verbs)


def run(given: argparse.Namespace) -> int:
    """Run one verb; return its exit code after one sentence on stderr when it failed."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        return asyncio.run(_run(given))
    except UsageError as error:
        note(error.message)
        return USAGE
    except ServerError as error:
        note(error.message)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left must not fail again at the end
        return DONE
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        note(f"The disk failed: {error.strerror or 'no reason is given'}.")
    except Exception as error:  # noqa: BLE001 - a traceback may hold what was said in a session
        note(f"The command failed in a way that it should not ({type(error).__name__}).")
    return FAILED


async def _run(given: argparse.Namespace) -> int:
    files = open_files()
    command: _Command = given.command_of_verb
    try:
        code = await command(given, files)
        sys.stdout.flush()
        return code
    finally:
        await files.persistence.shutdown()


def _add_looking(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    listing = _verb(verbs, "list", list_sessions, "list sessions, newest first")
    listing.add_argument("--cwd", type=os.path.abspath, metavar="DIR", help="only those whose working directory is DIR")
    listing.add_argument("--children", action="store_true", help="the sub-agents of each session below it")
    amount = listing.add_mutually_exclusive_group()
    amount.add_argument("--limit", type=_from(1), default=LISTED, metavar="N", help=f"at most N (default: {LISTED})")
    amount.add_argument("--all", action="store_true", help="every one")
    _add_json(listing)
    showing = _verb(verbs, "show", show, "show the facts of one session, also while it is open elsewhere")
    _add_session(showing)
    _add_json(showing)
    exporting = _verb(verbs, "export", export, "write one conversation as Markdown, or as the lines of its log")
    _add_session(exporting)
    exporting.add_argument("--format", choices=FORMATS, default=FORMATS[0], help=f"(default: {FORMATS[0]})")
    exporting.add_argument("-o", "--output", metavar="FILE", help="write to FILE (default: standard output)")
    exporting.add_argument("--force", action="store_true", help="replace FILE when it exists")
    checking = _verb(verbs, "verify", verify, "read every byte of logs and say what is wrong")
    named = checking.add_mutually_exclusive_group(required=True)
    named.add_argument("sessions", nargs="*", default=[], metavar="ID", help="an id, or the start of one")
    named.add_argument("--all", action="store_true", help="every session")
    _add_json(checking)


def _add_changing(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    repairing = _verb(verbs, "repair", repair, "make a session of what can be read of a damaged one; that one is kept")
    _add_session(repairing)
    repairing.add_argument(
        "--salvage-tail", action="store_true", help="keep the complete lines of a torn end; they may be stale"
    )
    sweeping = _verb(verbs, "sweep", sweep, "remove attachments that no event names, or empty the trash")
    swept = sweeping.add_mutually_exclusive_group(required=True)
    swept.add_argument("sessions", nargs="*", default=[], metavar="ID", help="an id, or the start of one")
    swept.add_argument("--all", action="store_true", help="every session")
    swept.add_argument("--trash", action="store_true", help="remove deleted sessions for good instead")
    days = f"of the trash, what was deleted that long ago (default: {TRASH_DAYS})"
    sweeping.add_argument("--older-than", type=_from(0), metavar="DAYS", help=days)
    sweeping.add_argument("--yes", action="store_true", help="do not ask")
    forking = _verb(verbs, "fork", fork, "make a session that begins as another one")
    _add_session(forking)
    forking.add_argument("--at", type=_from(0), metavar="SEQ", help="the last event that it inherits (default: all)")
    renaming = _verb(verbs, "rename", rename, "give a session a title")
    _add_session(renaming)
    renaming.add_argument("title", metavar="TITLE")
    deleting = _verb(verbs, "delete", delete, "move sessions to the trash")
    deleting.add_argument("sessions", nargs="+", metavar="ID", help="an id, or the start of one")
    deleting.add_argument("--yes", action="store_true", help="do not ask")


def _verb(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser], name: str, command: _Command, purpose: str
) -> argparse.ArgumentParser:
    parser = verbs.add_parser(name, help=purpose, description=f"{purpose[0].upper()}{purpose[1:]}.")
    parser.set_defaults(run=run, command_of_verb=command)
    return parser


def _add_session(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="ID", help="the session's id, or the start of it")


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def _from(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if value < least:
            raise ValueError(text)
        return value

    return number
