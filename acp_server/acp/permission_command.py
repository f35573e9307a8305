"""`/permissions`: the rules of consent, listed and changed by the person (docs/tools.md, clauses R-10 to R-12)."""

from __future__ import annotations

import os
from typing import Final

from acp_server.acp.rendering import shown_line
from acp_server.agent.agent import Agent
from acp_server.agent.consent.grants import RULE_EVENT, Change, KeptRules, rule_data, session_rules
from acp_server.agent.consent.rules import Rule, Scope, rule_from_json
from acp_server.agent.consent.words import split_command
from acp_server.agent.modes import DESCRIPTIONS, mode_of
from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonValue
from acp_server.base.values import replace
from acp_server.sandbox.hosts import canonical_host

HINT: Final = "revoke N | keep N project|user | allow|deny session|project|user command|edit|fetch|mcp WHAT"


def permissions(agent: Agent, args: str, kept: KeptRules) -> str:
    """Do what the text behind `/permissions` says; return what the person is told. Raise ServerError."""
    return _Desk(agent, kept).answer(args)


class _Desk:
    """The rules of one session, numbered from 1: the person's, the project's, the session's."""

    def __init__(self, agent: Agent, kept: KeptRules) -> None:
        self._session = agent.session
        self._kept = kept
        self._cwd = agent.session.header.cwd or "/"
        self._project = os.path.realpath(self._cwd)
        self._rules = (*kept.rules(self._project), *session_rules(agent.session.events.milestones()))

    def answer(self, args: str) -> str:
        """Do what was said; raise ServerError."""
        words = args.split()
        match words:
            case []:
                return self._list()
            case ["revoke", number]:
                return self._revoke(self._numbered(number))
            case ["keep", number, "project" | "user" as scope]:
                return self._keep_for(self._numbered(number), scope)
            case ["allow" | "deny" as verdict, "session" | "project" | "user" as scope, subject, *_] if len(words) > 3:
                what = args.split(None, 3)[3].strip()
                rule = self._rule(verdict, scope, subject, what)
                self._add(rule)
                return f"It holds from here on: {_line(rule)}."
        return f"Say `/permissions` alone, or with: {HINT}."

    def _list(self) -> str:
        mode = mode_of(self._session.events)
        lines = [f"The mode is {mode}: {DESCRIPTIONS[mode][1]}"]
        lines += [f"{number}. {_line(rule)}" for number, rule in enumerate(self._rules, 1)]
        if not self._rules:
            lines.append("There are no rules.")
        return "\n".join([*lines, "", f"Change them with: {HINT}."])

    def _numbered(self, number: str) -> Rule:
        place = int(number) if number.isascii() and number.isdigit() and len(number) < 6 else 0
        if not 0 < place <= len(self._rules):
            raise ServerError("NO_SUCH_RULE", f"There is no rule {number!r}; `/permissions` numbers them.")
        return self._rules[place - 1]

    def _revoke(self, rule: Rule) -> str:
        if rule.scope != "session" and not self._kept.remove(rule, self._project):
            raise ServerError("NO_SUCH_RULE", "The rule is gone already.")
        self._tell("revoked", rule)
        return f"It does not hold any more: {_line(rule)}."

    def _keep_for(self, rule: Rule, scope: Scope) -> str:
        wider = replace(rule, scope=scope)
        self._add(wider)
        if rule.scope != scope:
            self._revoke(rule)
        return f"It is kept: {_line(wider)}."

    def _add(self, rule: Rule) -> None:
        if rule.scope != "session":
            self._kept.add(rule, self._project)
        self._tell("added", rule)

    def _tell(self, change: Change, rule: Rule) -> None:
        self._session.append(RULE_EVENT, rule_data(change, rule), ignorable=True)

    def _rule(self, verdict: str, scope: str, subject: str, what: str) -> Rule:
        data: dict[str, JsonValue] = {"verdict": verdict, "scope": scope, "subject": subject}
        match subject:
            case "command":
                return rule_from_json({**data, **_words(what)})
            case "edit":
                return rule_from_json(
                    {**data, "path": os.path.realpath(f"{self._cwd}/{what}" if what[:1] != "/" else what)}
                )
            case "fetch":
                return rule_from_json({**data, "host": _host(what)})
            case "mcp":
                server, _, tool = what.partition(": ")
                return rule_from_json({**data, "server": server, **({"tool": tool.strip()} if tool.strip() else {})})
        raise ServerError("INVALID_RULE", f"A rule is for command, edit, fetch or mcp, not for {subject}.")


def _words(what: str) -> dict[str, JsonValue]:
    any_rest = what.endswith((" *", " …"))
    parts = split_command(what[:-2].rstrip() if any_rest else what)
    if parts is None or len(parts) != 1:
        raise ServerError("INVALID_RULE", "A rule names the plain words of one command; ` *` at its end is any others.")
    return {"words": list(parts[0]), "anyRest": any_rest}


def _host(what: str) -> str:
    host = canonical_host(what)
    if host is None:
        raise ServerError("INVALID_RULE", f"{what} is no host's name.")
    return host


def _line(rule: Rule) -> str:
    return shown_line(rule.describe())
