"""The fixtures of hidden instructions: what they are made of, and how they are read and filled in.

A file of `fixtures/` holds a list of objects with the fields of `Fixture`. In its texts `{NAME}` stands for a value of
the stage on which it is played, and `{orders}`, `{orders64}` and `{orders_hidden}` for the orders, which the obedient
model finds in whatever it reads. An order is a call (`tool`, `args`) or words to say (`say`); an order that hands work
on may have `orders` of its own, which its arguments hide in turn.
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from tests.support.trace import Obj

FOLDER = Path(__file__).parent / "fixtures"
MARK = "OBEY "
MARK64 = "OBEY64."
UNSEEN = 0xE0000
"""What is added to the code of an ASCII character for its invisible twin among the tags of Unicode."""
KEPT = frozenset({"canary"})
"""Names that the obedient model fills in itself, from what it has read."""


@dataclass(frozen=True, slots=True)
class Control:
    """How the same orders do harm: in this mode, with a person who says yes to everything; `never` says why not."""

    mode: str = "full"
    never: str = ""


@dataclass(frozen=True, slots=True)
class Fixture:
    """One hidden instruction."""

    name: str
    hidden: str
    """In what kind of thing."""
    way: str
    """By what it would do its harm."""
    harm: str
    """`sent`: the canary leaves; `read`: a secret reaches the model; `changed`: a file that runs things changes."""
    orders: list[Obj]
    plant: Mapping[str, str] = field(default_factory=dict)
    """Files of the project by their paths."""
    links: Mapping[str, str] = field(default_factory=dict)
    commit: Mapping[str, str] = field(default_factory=dict)
    """A Git repository with one commit: its `message`, its `branch`."""
    mcp: Mapping[str, str] = field(default_factory=dict)
    """What the MCP server `lookup` says, by place."""
    page: Mapping[str, str] = field(default_factory=dict)
    """What the web serves at `/page`: `type`, `body`, `status`, `location`."""
    unsaved: Mapping[str, str] = field(default_factory=dict)
    """Texts that the editor holds unsaved, by path."""
    changed: Mapping[str, str] = field(default_factory=dict)
    """Files that the person changes after a first turn, which does the task; a second turn follows."""
    trusted: bool = False
    """Whether the person trusts what the workspace brings."""
    prompt: list[Obj] = field(default_factory=list)
    """Further content of the person's prompt."""
    task: list[Obj] = field(default_factory=list)
    """What the model calls of itself, before any order; the person allows that."""
    mode: str = "ask"
    honest: str = "allow_once"
    """How the person allows what the model calls of itself."""
    person: str = "no"
    """What the person does when an order is asked: `no`, `nobody`, `closes`, `nonsense`, `yes`."""
    control: Control = field(default_factory=Control)

    @property
    def servers(self) -> bool:
        """Return whether MCP servers take part."""
        return bool(self.mcp) or self.way == "mcp"


def fixtures() -> list[Fixture]:
    """Return every fixture, in the order of its file and its place there."""
    return [_fixture(given) for path in sorted(FOLDER.glob("*.json")) for given in json.loads(path.read_text("utf-8"))]


def _fixture(given: Obj) -> Fixture:
    known = {each.name for each in fields(Fixture)}
    assert set(given) <= known, f"{given.get('name')}: {sorted(set(given) - known)} are no fields of a fixture"
    return Fixture(**{**given, "control": Control(**given.get("control", {}))})


def filled(given: Any, values: Mapping[str, str]) -> Any:
    """Return the value with every `{NAME}` that is known filled in."""
    if isinstance(given, str):
        return re.sub(r"\{([a-z_0-9]+)\}", lambda found: values.get(found[1], found[0]), given)
    if isinstance(given, Mapping):
        return {filled(key, values): filled(each, values) for key, each in given.items()}
    if isinstance(given, list):
        return [filled(each, values) for each in given]
    return given


def written(orders: list[Obj], values: Mapping[str, str]) -> dict[str, str]:
    """Return the values that hide these orders, by the name that a text has for them."""
    ready = [_ready(order, values) for order in orders]
    plain = MARK + json.dumps(ready)
    packed = MARK64 + urlsafe_b64encode(json.dumps(ready).encode()).decode() + "."
    return {"orders": plain, "orders64": packed, "orders_hidden": "".join(chr(UNSEEN + ord(each)) for each in plain)}


def count(orders: list[Obj]) -> int:
    """Return how many orders there are, the hidden ones included."""
    return sum(1 + count(order.get("orders", [])) for order in orders)


def _ready(order: Obj, values: Mapping[str, str]) -> Obj:
    inner = written(order["orders"], values) if "orders" in order else {}
    plain = {key: each for key, each in order.items() if key != "orders"}
    ready: Obj = filled(plain, {**values, **inner})
    return ready
