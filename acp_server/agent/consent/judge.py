"""The table of modes and effects (docs/tools.md, table C): what is allowed, denied or asked. Pure.

What always asks, in every mode: protected names, secrets, and everything outside of the roots. What a rule denies is
denied in every mode.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

from acp_server.agent.consent.harmless import is_harmless
from acp_server.agent.consent.rules import Rule, Verdict, judge_command, judge_host, judge_path, judge_server_tool
from acp_server.agent.modes import Mode
from acp_server.base.values import value
from acp_server.sandbox.hosts import canonical_host, host_allowed
from acp_server.sandbox.policy import Level, Network
from acp_server.tools.tool import Effect

MODE_LEVELS: Final[dict[Mode, Level]] = {
    "ask": "workspace-write",
    "auto": "workspace-write",
    "plan": "read-only",
    "full": "full-access",
}
OFF: Final = Network()
Answer: TypeAlias = Literal["allow", "deny", "ask"]


@value
class Decision:
    """What becomes of a call. `reason` is one plain sentence; `rememberable` is whether an answer may be kept."""

    answer: Answer
    reason: str
    rememberable: bool = False


@value
class Surroundings:
    """What paths mean for one session. Each test gets an absolute path; `own` is what the session itself has kept."""

    inside: Callable[[str], bool]
    secret: Callable[[str], bool]
    protected: Callable[[str], bool]
    own: Callable[[str], bool] = lambda _path: False
    ruling: Callable[[str], bool] = lambda _path: False
    """Where the person's rules and trust are kept: a yes that was talked out of them would hold for ever."""
    canonical: Callable[[str], str] = str
    """The name to which links and `..` lead."""


ALLOW: Final = Decision("allow", "It is allowed in this mode.")


def judge(mode: Mode, effect: Effect, rules: Sequence[Rule], places: Surroundings, network: Network = OFF) -> Decision:
    """Return what becomes of a call with that effect; `network` is what commands may reach without a question."""
    match effect.kind:
        case "none":
            return ALLOW
        case "read":
            return _judge_read(effect, places)
        case "edit":
            return _judge_edit(mode, effect, rules, places)
        case "execute":
            hosts = _judge_hosts(mode, effect.hosts, rules, network)
            if hosts is not None and (hosts.answer == "deny" or level_for(mode, effect) != "full-access"):
                return hosts
            return _judge_command(mode, effect, rules)
        case "fetch":
            return _judge_fetch(effect.url or "", rules)
        case "mcp":
            return _judge_server_tool(mode, effect, rules)


def level_for(mode: Mode, effect: Effect) -> Level:
    """Return how a call with that effect is confined; plan confines all of them."""
    return "full-access" if effect.unconfined and mode != "plan" else MODE_LEVELS[mode]


def _judge_read(effect: Effect, places: Surroundings) -> Decision:
    for path in effect.paths:
        if places.own(path):
            continue
        if places.secret(path):
            return Decision("ask", f"{path} may hold a secret.")
        if not places.inside(path):
            return Decision("ask", f"{path} lies outside of the session's directories.")
    return ALLOW


def _judge_edit(mode: Mode, effect: Effect, rules: Sequence[Rule], places: Surroundings) -> Decision:
    verdicts = [_judge_path(rules, path, places) for path in effect.paths]
    if "deny" in verdicts:
        return Decision("deny", "A rule of yours denies changes there.")
    if mode == "plan":
        return Decision("deny", "In plan mode nothing is changed.")
    for path in effect.paths:
        if places.ruling(path):
            return Decision("deny", f"{path} holds what the person allows and trusts; only they change it.")
        if places.protected(path):
            return Decision("ask", f"{path} decides what other programs do, so each change of it is asked.")
        if places.secret(path):
            return Decision("ask", f"{path} may hold a secret.")
        if not places.inside(path):
            return Decision("ask", f"{path} lies outside of the session's directories.")
    if mode in ("auto", "full") or (verdicts and all(verdict == "allow" for verdict in verdicts)):
        return ALLOW
    return Decision("ask", "Each change of a file is asked in this mode.", rememberable=True)


def _judge_path(rules: Sequence[Rule], path: str, places: Surroundings) -> Verdict | None:
    """A path is judged by its name and by where it leads: what denies either denies it."""
    verdicts = {judge_path(rules, path), judge_path(rules, places.canonical(path))}
    return "deny" if "deny" in verdicts else "allow" if "allow" in verdicts else None


def _judge_command(mode: Mode, effect: Effect, rules: Sequence[Rule]) -> Decision:
    command = effect.command or ""
    verdict: Verdict | None = judge_command(rules, command)
    if verdict == "deny":
        return Decision("deny", "A rule of yours denies this command.")
    if level_for(mode, effect) == "full-access" and mode != "full":
        return Decision("ask", "It would run in a terminal of the editor, outside of the sandbox.")
    if verdict == "allow" or (mode != "full" and is_harmless(command)):
        return ALLOW
    if mode == "auto":
        return ALLOW
    if mode == "full":
        return Decision("ask", "It would run without any confinement.", rememberable=True)
    return Decision("ask", "Each command that does more than look is asked in this mode.", rememberable=True)


def _judge_hosts(mode: Mode, hosts: Sequence[str], rules: Sequence[Rule], network: Network) -> Decision | None:
    """Return what becomes of a command because of the hosts that it wants to reach, None when they decide nothing."""
    for host in hosts:
        if canonical_host(host) != host:
            return Decision("deny", f"{host} is no host's name.")
        if judge_host(rules, host) == "deny":
            return Decision("deny", f"A rule of yours denies requests to {host}.")
    if mode == "plan" and hosts:
        return Decision("deny", "In plan mode nothing is reached.")
    if mode == "full" or network.mode == "on":
        return None
    listed = network.hosts if network.mode == "allow-list" else ()
    beyond = [host for host in hosts if not host_allowed(host, listed) and judge_host(rules, host) != "allow"]
    return Decision("ask", f"It would reach {', '.join(beyond)}, which is not allowed so far.") if beyond else None


def _judge_fetch(url: str, rules: Sequence[Rule]) -> Decision:
    """What a model has read may be in the address that it asks for, so each host is asked in every mode."""
    host = urlsplit(url).hostname or ""
    verdict = judge_host(rules, host)
    if verdict is not None:
        return ALLOW if verdict == "allow" else Decision("deny", f"A rule of yours denies requests to {host}.")
    return Decision("ask", f"It would send a request to {host}.", rememberable=True)


def _judge_server_tool(mode: Mode, effect: Effect, rules: Sequence[Rule]) -> Decision:
    """Nothing confines a server, so no mode allows its tools by itself, and what it says of them is not believed."""
    server, tool = effect.server or "", effect.tool or ""
    verdict = judge_server_tool(rules, server, tool)
    if verdict == "deny":
        return Decision("deny", f"A rule of yours denies {tool} of the MCP server {server}.")
    if mode == "plan":
        return Decision("ask", f"In plan mode each call of the MCP server {server} is asked: it may change something.")
    if verdict == "allow":
        return ALLOW
    return Decision("ask", f"The MCP server {server} would run {tool}, outside of the sandbox.", rememberable=True)
