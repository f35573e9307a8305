"""`acp-server doctor`: what is configured, found and missing. No secret is printed."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from acp_server.app.checkup import examine
from acp_server.base.printable import visible
from acp_server.cli.terminal import json_text

MARKS = {"ok": "ok     ", "missing": "missing", "wrong": "WRONG  "}


def run(arguments: Sequence[str]) -> int:
    """Print the findings; return 1 when one of them keeps the server from working, else 0."""
    parser = argparse.ArgumentParser(
        prog="acp-server doctor", description="Say what is configured, found and missing. No secret is printed."
    )
    parser.add_argument("--json", action="store_true", help="print JSON for a program")
    parser.add_argument("--profile", metavar="NAME", help="look at that profile")
    given = parser.parse_args(arguments)
    findings = examine(os.environ, given.profile)
    wrong = any(finding.state == "wrong" for finding in findings)
    if given.json:
        print(json_text({"ok": not wrong, "findings": [finding.to_json() for finding in findings]}))
    else:
        for finding in findings:
            print(f"{MARKS[finding.state]}  {finding.subject}: {visible(finding.words)}")
    return int(wrong)
