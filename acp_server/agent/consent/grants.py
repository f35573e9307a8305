"""The rules of one session as a fold over its log, and the port to kept ones (docs/tools.md, clauses R-6 to R-9).

Each change of a rule is an event: those of the session's scope are folded from there, the others are told there. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, Protocol, TypeAlias

from acp_server.agent.consent.rules import Rule, rule_from_json
from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonValue
from acp_server.session.events import SessionEvent

RULE_EVENT: Final = "approval/rule"
Change: TypeAlias = Literal["added", "revoked"]


class KeptRules(Protocol):
    """Rules of projects and of the person, where no tool can write. A project is a directory's canonical path."""

    def rules(self, project: str) -> tuple[Rule, ...]:
        """Return the rules that hold there, the person's first; raise ServerError when they cannot be read."""
        ...

    def add(self, rule: Rule, project: str) -> None:
        """Keep a rule of the scope project or user; one that is there is kept once. Raise ServerError."""
        ...

    def remove(self, rule: Rule, project: str) -> bool:
        """Take a rule away and return whether it was there; raise ServerError."""
        ...


def rule_data(change: Change, rule: Rule) -> dict[str, JsonValue]:
    """Return the data of the event that tells of a change."""
    return {"change": change, "rule": rule.to_json()}


def session_rules(events: Iterable[SessionEvent]) -> tuple[Rule, ...]:
    """Return the rules of the session's own scope that hold after these events."""
    rules: list[Rule] = []
    for event in events:
        if event.type == RULE_EVENT:
            fold_rule(rules, event)
    return tuple(rules)


def fold_rule(rules: list[Rule], event: SessionEvent) -> None:
    """Apply one such event; one that this server could not have written changes nothing."""
    data = event.data.get("rule")
    if not isinstance(data, dict):
        return
    try:
        rule = rule_from_json(data)
    except ServerError:
        return
    if rule.scope != "session":
        return
    change = event.data.get("change")
    if change == "added" and rule not in rules:
        rules.append(rule)
    elif change == "revoked" and rule in rules:
        rules.remove(rule)
