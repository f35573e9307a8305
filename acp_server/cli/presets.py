"""`acp-server presets`: what the agent of a session can be made of (docs/presets.md)."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from acp_server.agent.presets import SHIPPED, Offer, Preset
from acp_server.app.preset_survey import survey_presets
from acp_server.base.errors import ServerError
from acp_server.base.printable import visible
from acp_server.cli.terminal import ABSENT, json_text, table


def run(arguments: Sequence[str]) -> int:
    """Print the presets; return 0, or 1 when a file of one is wrong, which standard error tells."""
    parser = argparse.ArgumentParser(
        prog="acp-server presets",
        description="List the presets that sessions in a directory can have: shipped, yours, and the project's.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON for a program")
    parser.add_argument("--cwd", type=os.path.abspath, default=".", metavar="DIR", help="the project (default: here)")
    given = parser.parse_args(arguments)
    try:
        offer = survey_presets(os.environ, given.cwd)
    except ServerError as error:
        print(f"acp-server: {error.message}", file=sys.stderr)
        return 1
    print(json_text(_document(offer)) if given.json else "\n".join(_text(offer)))
    for _, sentence in offer.wrong:
        print(f"acp-server: {visible(sentence)}", file=sys.stderr)
    return 1 if offer.wrong else 0


def _document(offer: Offer) -> dict[str, Any]:
    return {
        "presets": [_preset(preset) for preset in offer.presets],
        "untrusted": list(offer.untrusted),
        "wrong": [{"name": name, "message": sentence} for name, sentence in offer.wrong],
    }


def _preset(preset: Preset) -> dict[str, Any]:
    return {
        "id": preset.id,
        "name": preset.name,
        "description": preset.description,
        "from": _origin(preset),
        "tools": None if preset.tools is None else sorted(preset.tools),
        "sections": None if preset.sections is None else sorted(preset.sections),
        "prompt": preset.prompt,
        "model": preset.model,
        "mode": preset.mode,
    }


def _text(offer: Offer) -> Iterator[str]:
    yield table([("PRESET", "FROM", "MODE", "MODEL", "TOOLS", "DESCRIPTION"), *map(_row, offer.presets)])
    if offer.untrusted:
        names = ", ".join(map(visible, offer.untrusted))
        yield f"Brought by the project and not trusted, so not used: {names} (look with /trust in a session)"


def _row(preset: Preset) -> tuple[str, ...]:
    tools = "all" if preset.tools is None else " ".join(sorted(preset.tools)) or "none"
    described = visible(preset.description) or ABSENT
    return preset.id, _origin(preset), preset.mode or ABSENT, visible(preset.model or ABSENT), visible(tools), described


def _origin(preset: Preset) -> str:
    if preset.id in SHIPPED:
        return "shipped"
    return "project" if preset.project else "yours"
