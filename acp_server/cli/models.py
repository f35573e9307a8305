"""`acp-server models`: the models that can be used, and model servers on this machine."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from acp_server.app.model_survey import Survey, survey
from acp_server.base.errors import ServerError
from acp_server.base.printable import visible
from acp_server.cli.terminal import ABSENT, json_text, table
from acp_server.llm.adapter import ModelInfo
from acp_server.llm.local_servers import LocalServer, find_local_servers
from acp_server.messages.prices import prices_to_json


def run(arguments: Sequence[str]) -> int:
    """Print what can be used; return 0, or 1 after one line on stderr."""
    parser = argparse.ArgumentParser(
        prog="acp-server models",
        description="List the models that can be used, and model servers that answer on this machine's usual ports.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON for a program")
    given = parser.parse_args(arguments)
    try:
        found, local = survey(os.environ), find_local_servers()
    except ServerError as error:
        print(f"acp-server: {error.message}", file=sys.stderr)
        return 1
    print(json_text(_document(found, local)) if given.json else _text(found, local))
    return 0


def _document(found: Survey, local: Sequence[LocalServer]) -> dict[str, Any]:
    default = None if found.default is None else f"{found.default.provider}/{found.default.model}"
    return {
        "default": default,
        "models": [_model(model) for model in found.models],
        "providers": [
            {"name": one.name, "ready": one.ready, "missing": None if one.ready else one.missing}
            for one in found.providers
        ],
        "local": [
            {
                "kind": server.kind,
                "baseUrl": server.base_url,
                "provider": _provider_at(server, found),
                "models": [{"id": model.id, "contextWindow": model.context_window} for model in server.models],
            }
            for server in local
        ],
    }


def _model(model: ModelInfo) -> dict[str, Any]:
    return {
        "model": f"{model.provider}/{model.id}",
        "name": model.name,
        "contextWindow": model.context_window,
        "maxOutputTokens": model.max_output_tokens,
        "input": None if model.input_modalities is None else sorted(model.input_modalities),
        "efforts": list(model.efforts),
        "defaultEffort": model.default_effort,
        "prices": None if model.prices is None else prices_to_json(model.prices),
    }


def _text(found: Survey, local: Sequence[LocalServer]) -> str:
    return "\n".join(_parts(found, local)).rstrip("\n")


def _parts(found: Survey, local: Sequence[LocalServer]) -> Iterator[str]:
    if found.models:
        head = ("MODEL", "WINDOW", "EFFORTS", "$/M IN", "$/M OUT")
        yield table([head, *map(_row, found.models)])
    else:
        yield "No provider has a key.\n"
    if found.default is not None:
        yield f"Used when nobody chooses: {visible(f'{found.default.provider}/{found.default.model}')}\n"
    lacking = [one for one in found.providers if not one.ready and one.missing.startswith("Set ")]
    if lacking:
        yield "Without a key (set the variable, or run acp-server login PROVIDER):"
        yield table([(f"  {one.name}", visible(one.missing.removeprefix("Set "))) for one in lacking])
    for server in local:
        names = ", ".join(visible(model.id) for model in server.models) or "no model is loaded"
        yield f"On this machine: {server.kind} at {server.base_url} ({names})"
        if _provider_at(server, found) is None:
            yield "  To use it, put this into the settings (acp-server config path says where they are):"
            yield f"    [providers.{server.kind.replace('.', '-')}]"
            yield f'    protocol = "chat"\n    base_url = "{server.base_url}"\n'


def _row(model: ModelInfo) -> tuple[str, ...]:
    prices = model.prices
    return (
        visible(f"{model.provider}/{model.id}"),
        ABSENT if model.context_window is None else f"{model.context_window:,}",
        visible(" ".join(model.efforts)) or ABSENT,
        ABSENT if prices is None else f"{prices.input:g}",
        ABSENT if prices is None else f"{prices.output:g}",
    )


def _provider_at(server: LocalServer, found: Survey) -> str | None:
    """Return the provider whose base URL is the server's."""
    places = {server.base_url, server.base_url.replace("127.0.0.1", "localhost")}
    return next((one.name for one in found.providers if one.base_url and one.base_url.rstrip("/") in places), None)
