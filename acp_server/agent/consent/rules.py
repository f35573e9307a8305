"""Rules that the person has given: what is allowed or denied without asking again (clauses R-1 to R-6). Pure.

Deny always wins. A rule for a command names exact words, or a name with every argument; each part of a chained command
needs a rule of its own, and text outside of the grammar matches no allow rule at all.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias, cast

from acp_server.agent.consent.words import Words, split_command
from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.base.values import value

Verdict: TypeAlias = Literal["allow", "deny"]
Scope: TypeAlias = Literal["session", "project", "user"]
Subject: TypeAlias = Literal["command", "edit", "fetch", "mcp"]
SCOPES: Final[tuple[Scope, ...]] = ("session", "project", "user")
SUBJECTS: Final[tuple[Subject, ...]] = ("command", "edit", "fetch", "mcp")
_NAMED_BY: Final[Mapping[Subject, str]] = {"command": "words", "edit": "path", "fetch": "host", "mcp": "server"}


@value
class Rule:
    """One rule. `words` are a command's exact words, or its first words when `any_rest`.

    For an edit `path` is a directory or a file, absolute; for a fetch `host` is a name. For tools of MCP servers
    `server` and `tool` are names, None for every one.
    """

    verdict: Verdict
    subject: Subject
    scope: Scope
    words: Words = ()
    any_rest: bool = False
    path: str | None = None
    host: str | None = None
    server: str | None = None
    tool: str | None = None

    def to_json(self) -> dict[str, JsonValue]:
        """Return the rule as it is kept; what does not apply is left out."""
        data: dict[str, JsonValue] = {"verdict": self.verdict, "subject": self.subject, "scope": self.scope}
        if self.words:
            data |= {"words": list(self.words), "anyRest": self.any_rest}
        named = (("path", self.path), ("host", self.host), ("server", self.server), ("tool", self.tool))
        data |= {key: text for key, text in named if text is not None}
        return data

    @property
    def what(self) -> str:
        """Return what the rule is about, for a person: its words, with `…` for any others, its path, host or server."""
        if self.words:
            return shlex.join(self.words) + (" …" if self.any_rest else "")
        if self.server is not None:
            return f"{self.server}: {self.tool or 'any'}"
        return self.path or self.host or "any"

    def describe(self) -> str:
        """Return one line for a person."""
        return f"{self.verdict} {self.subject} {self.what} ({self.scope})"


def rule_from_json(data: JsonObject) -> Rule:
    """Return the rule; raise ServerError INVALID_RULE naming the field that is wrong.

    A rule names what it is about: one for everything is none that is kept.
    """
    if data.get("verdict") not in ("allow", "deny") or data.get("subject") not in SUBJECTS:
        raise ServerError("INVALID_RULE", f"a rule needs a verdict (allow, deny) and a subject ({', '.join(SUBJECTS)})")
    if data.get("scope") not in SCOPES:
        raise ServerError("INVALID_RULE", f"a rule's scope is one of {', '.join(SCOPES)}")
    needed = _NAMED_BY[cast("Subject", data["subject"])]
    if not data.get(needed) or any(data.get(other) for other in _NAMED_BY.values() if other != needed):
        raise ServerError("INVALID_RULE", f"a rule for {data['subject']} has {needed}, and only that")
    if data.get("tool") is not None and needed != "server":
        raise ServerError("INVALID_RULE", "a tool is named beside its server")
    words = data.get("words", ())
    if isinstance(words, str | Mapping) or not all(isinstance(word, str) for word in cast("Iterable[object]", words)):
        raise ServerError("INVALID_RULE", "words must be an array of texts")
    return Rule(
        verdict=cast("Verdict", data["verdict"]),
        subject=cast("Subject", data["subject"]),
        scope=cast("Scope", data["scope"]),
        words=tuple(str(word) for word in cast("Iterable[object]", words)),
        any_rest=data.get("anyRest") is True,
        path=_text(data, "path"),
        host=_text(data, "host"),
        server=_text(data, "server"),
        tool=_text(data, "tool"),
    )


def _text(data: JsonObject, key: str) -> str | None:
    found = data.get(key)
    if found is not None and not isinstance(found, str):
        raise ServerError("INVALID_RULE", f"{key} must be a text")
    return found


def judge_command(rules: Iterable[Rule], command: str) -> Verdict | None:
    """Return what the rules say of a command, None when they say nothing.

    A deny of any part denies the whole; an allow needs every part to be allowed.
    """
    parts = split_command(command)
    own = [rule for rule in rules if rule.subject == "command"]
    if parts is None:
        looks_denied = any(rule.verdict == "deny" and _occurs(rule.words, command) for rule in own)
        return "deny" if looks_denied else None
    if any(_matches(rule, words) for rule in own if rule.verdict == "deny" for words in parts):
        return "deny"
    allows = [rule for rule in own if rule.verdict == "allow"]
    allowed = all(any(_matches(rule, words) for rule in allows) for words in parts)
    return "allow" if allowed else None


def judge_path(rules: Iterable[Rule], path: str) -> Verdict | None:
    """Return what the rules say of a change to an absolute path."""
    found = {rule.verdict for rule in rules if rule.subject == "edit" and _covers(rule.path, path)}
    return "deny" if "deny" in found else "allow" if "allow" in found else None


def judge_host(rules: Iterable[Rule], host: str) -> Verdict | None:
    """Return what the rules say of a request to a host."""
    found = {rule.verdict for rule in rules if rule.subject == "fetch" and rule.host in (None, host)}
    return "deny" if "deny" in found else "allow" if "allow" in found else None


def judge_server_tool(rules: Iterable[Rule], server: str, tool: str) -> Verdict | None:
    """Return what the rules say of a tool of an MCP server."""
    own = [
        rule for rule in rules if rule.subject == "mcp" and rule.server in (None, server) and rule.tool in (None, tool)
    ]
    found = {rule.verdict for rule in own}
    return "deny" if "deny" in found else "allow" if "allow" in found else None


def _matches(rule: Rule, words: Words) -> bool:
    if not rule.words:
        return True
    return words[: len(rule.words)] == rule.words if rule.any_rest else words == rule.words


def _occurs(words: Words, command: str) -> bool:
    """A deny rule also holds for text that only a shell could take apart: better a refusal too many."""
    return not words or " ".join(words) in " ".join(command.split())


def _covers(directory: str | None, path: str) -> bool:
    return directory is None or path == directory or path.startswith(directory.rstrip("/") + "/")
