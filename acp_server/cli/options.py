"""The options of `acp-server acp`. Read without argparse when there are none, since start-up waits for it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from acp_server.app.log_file import LEVELS
from acp_server.app.options import ServeOptions


def serve_options(arguments: Sequence[str]) -> ServeOptions:
    """Return the options; on a wrong one print the usage to stderr and exit with 2."""
    parser = argparse.ArgumentParser(
        prog="acp-server acp", description="Serve the Agent Client Protocol on stdin and stdout."
    )
    parser.add_argument("--log", metavar="FILE", help="append a diagnostic log to FILE (default: none)")
    parser.add_argument(
        "--log-level", choices=LEVELS, default="info", help="how much is logged; trace adds the wire, secrets masked"
    )
    parser.add_argument(
        "--wait", action="store_true", help="let running turns end after the input has ended (default: cancel them)"
    )
    parser.add_argument(
        "--unstable",
        action="store_true",
        help="offer methods that no stable version of the protocol has (session/fork)",
    )
    parser.add_argument("--profile", metavar="NAME", help="what the process is made of (default: as shipped)")
    parser.add_argument(
        "--patch", metavar="FILE", action="append", default=[], help="change what it is made of; may be repeated"
    )
    given = parser.parse_args(arguments)
    return ServeOptions(
        given.log, given.log_level, given.wait, given.unstable, given.profile, tuple(map(os.path.abspath, given.patch))
    )
