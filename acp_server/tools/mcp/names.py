"""The names under which a model calls the tools of MCP servers (docs/mcp.md, clauses N-1 to N-4). Pure."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

LONGEST: Final = 64
"""Characters that every provider takes."""
LONGEST_SERVER: Final = 24
DIGEST: Final = 12
_OTHER: Final = re.compile(r"[^A-Za-z0-9_-]+")
_RUN: Final = re.compile(r"_+")


def server_labels(names: Sequence[str]) -> tuple[str, ...]:
    """Return what each server is called to people and in rules: its name, with a number where it was there before."""
    taken: set[str] = set()
    labels = []
    for name in names:
        label, number = name, 1
        while label in taken:
            number += 1
            label = f"{name} ({number})"
        taken.add(label)
        labels.append(label)
    return tuple(labels)


def server_keys(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the part of the tools' names that stands for each server; no two are the same.

    None holds two underscores in a row or ends with one, so that names of two servers are never the same either.
    """
    plain = [_RUN.sub("_", _plain(label))[:LONGEST_SERVER].strip("_") for label in labels]
    counts = Counter(plain)
    return tuple(
        key if counts[key] == 1 and key else f"{key[: LONGEST_SERVER - 7].rstrip('_') or 'x'}_{_digest(label)[:6]}"
        for key, label in zip(plain, labels, strict=True)
    )


def tool_names(key: str, tools: Sequence[str]) -> Mapping[str, str]:
    """Return the name of each tool; it depends on the set of tools, not on their order.

    A name that is too long, or that two tools would have, ends with a digest of the tool's own one.
    """
    plain = {tool: f"mcp__{key}__{_plain(tool)}" for tool in tools}
    counts = Counter(plain.values())
    return {
        tool: name if counts[name] == 1 and len(name) <= LONGEST else _marked(name, tool)
        for tool, name in plain.items()
    }


def _marked(name: str, tool: str) -> str:
    return f"{name[: LONGEST - DIGEST - 1]}_{_digest(tool)}"


def _plain(name: str) -> str:
    return _OTHER.sub("_", name)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST]
