"""Composing rows from texts: the folder that they lie in is called HERE."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from acp_server.app.layers import Choice, full_tree, read_settings
from acp_server.app.places import Places
from acp_server.app.rows import Tree
from acp_server.app.toml_write import toml_value
from acp_server.base.errors import ServerError

PROFILE = "mine"


def outcome(files: Mapping[str, str]) -> dict[str, Any]:
    """Return the order of rows and the touched values with their places, or the error, of these files."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder).resolve()
        places = Places(str(here), str(here), str(here))
        try:
            tree = composed(files, places)
        except ServerError as error:
            return {"error": error.message.replace(str(here), "HERE")}
        touched = [line.replace(str(here), "HERE") for line in touched_values(tree)]
        return {"error": None, "order": [row.id for row in tree.rows], "places": touched}


def composed(files: Mapping[str, str], places: Places) -> Tree:
    """Write the files and compose them."""
    here = Path(places.config)
    profile = here / "profiles" / PROFILE
    where = {
        "settings": here / "settings.toml",
        "patch": here / "more.toml",
        "profile": profile / "profile.toml",
        "plugins": profile / "plugins.toml",
    }
    for name, text in files.items():
        where[name].parent.mkdir(parents=True, exist_ok=True)
        where[name].write_bytes(text.encode())
    settings = read_settings(places) if "settings" in files else None
    patches = (str(where["patch"]),) if "patch" in files else ()
    return full_tree(Choice(PROFILE if "profile" in files else None, "acp", patches), places, settings)


def touched_values(tree: Tree) -> list[str]:
    """Return `row.key = value  # place` for everything that no bundle has set."""
    lines = []
    for row in tree.rows:
        for (ident, key), place in tree.origins.items():
            if ident != row.id or place.startswith("bundle "):
                continue
            shown = {"": row.component, "disabled": row.disabled}.get(key, row.config.get(key))
            lines.append(
                f"{row.id}.{key} = {toml_value(shown)}  # {place}" if key else f"{row.id} = {shown}  # {place}"
            )
    return lines
