"""The table of modes and effects, row by row (docs/tools.md, table C and clauses R-1 to R-6)."""

from __future__ import annotations

import pytest

from acp_server.agent.consent.judge import MODE_LEVELS, OFF, Answer, Decision, Surroundings, judge
from acp_server.agent.consent.rules import Rule, rule_from_json
from acp_server.agent.modes import MODES, Mode
from acp_server.sandbox.policy import Network
from acp_server.tools.tool import Effect

PLACES = Surroundings(
    inside=lambda path: path.startswith("/p/"),
    secret=lambda path: path.endswith(".env"),
    protected=lambda path: "/.git" in path,
    ruling=lambda path: path.endswith("/permissions.json"),
)
ROWS: dict[str, tuple[Effect, tuple[Answer, Answer, Answer, Answer]]] = {
    "none": (Effect("none"), ("allow", "allow", "allow", "allow")),
    "read inside": (Effect("read", ("/p/a",)), ("allow", "allow", "allow", "allow")),
    "read nothing": (Effect("read"), ("allow", "allow", "allow", "allow")),
    "read outside": (Effect("read", ("/p/a", "/q")), ("ask", "ask", "ask", "ask")),
    "read a secret": (Effect("read", ("/p/a", "/p/.env")), ("ask", "ask", "ask", "ask")),
    "edit inside": (Effect("edit", ("/p/a", "/p/b")), ("ask", "allow", "deny", "allow")),
    "edit outside": (Effect("edit", ("/p/a", "/q")), ("ask", "ask", "deny", "ask")),
    "edit a protected name": (Effect("edit", ("/p/a", "/p/.git/config")), ("ask", "ask", "deny", "ask")),
    "edit the rules": (Effect("edit", ("/p/a", "/p/permissions.json")), ("deny", "deny", "deny", "deny")),
    "edit a secret": (Effect("edit", ("/p/a", "/p/.env")), ("ask", "ask", "deny", "ask")),
    "look": (Effect("execute", command="ls -la"), ("allow", "allow", "allow", "ask")),
    "command": (Effect("execute", command="make"), ("ask", "allow", "ask", "ask")),
    "no command": (Effect("execute"), ("ask", "allow", "ask", "ask")),
    "fetch": (Effect("fetch", url="https://example.org/a"), ("ask", "ask", "ask", "ask")),
    "no address": (Effect("fetch"), ("ask", "ask", "ask", "ask")),
    "tool of a server": (Effect("mcp", server="s", tool="t"), ("ask", "ask", "ask", "ask")),
}


@pytest.mark.parametrize("row", ROWS)
def test_table_c(row: str) -> None:
    effect, answers = ROWS[row]
    assert tuple(judge(mode, effect, (), PLACES).answer for mode in ("ask", "auto", "plan", "full")) == answers


def test_the_modes_confine_commands() -> None:
    assert MODE_LEVELS == {
        "ask": "workspace-write",
        "auto": "workspace-write",
        "plan": "read-only",
        "full": "full-access",
    }


REMEMBERED = {
    "ask": ["edit inside", "command", "no command", "fetch", "no address", "tool of a server"],
    "auto": ["fetch", "no address", "tool of a server"],
    "plan": ["command", "no command", "fetch", "no address"],
    "full": ["look", "command", "no command", "fetch", "no address", "tool of a server"],
}


@pytest.mark.parametrize("mode", MODES)
def test_only_what_a_rule_can_allow_is_remembered(mode: Mode) -> None:
    decisions = {row: judge(mode, effect, (), PLACES) for row, (effect, _) in ROWS.items()}
    assert [row for row, decision in decisions.items() if decision.rememberable] == REMEMBERED[mode]
    assert [row for row, decision in decisions.items() if not decision.reason.endswith(".")] == []


def rule(verdict: str, subject: str, **more: object) -> Rule:
    return Rule(verdict, subject, "session", **more)  # type: ignore[arg-type]  # a row of a table


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("denied", "effect"),
    [
        (rule("deny", "command", words=("ls",), any_rest=True), Effect("execute", command="ls -la")),
        (rule("deny", "command", words=("ls",), any_rest=True), Effect("execute", command="pwd; ls -la")),
        (rule("deny", "command", words=("rm",), any_rest=True), Effect("execute", command="$(rm a)")),
        (rule("deny", "command"), Effect("execute", command="ls")),
        (rule("deny", "edit", path="/p/a"), Effect("edit", ("/p/b", "/p/a"))),
        (rule("deny", "edit", path="/p"), Effect("edit", ("/p/a",))),
        (rule("deny", "edit"), Effect("edit", ("/q",))),
        (rule("deny", "fetch", host="example.org"), Effect("fetch", url="https://user@EXAMPLE.org:8080/a")),
        (rule("deny", "mcp", server="s"), Effect("mcp", server="s", tool="t")),
        (rule("deny", "mcp", tool="t"), Effect("mcp", server="s", tool="t")),
    ],
)
def test_what_a_rule_denies_is_denied_in_every_mode(mode: Mode, denied: Rule, effect: Effect) -> None:
    allows = tuple(rule("allow", subject) for subject in ("command", "edit", "fetch", "mcp"))
    assert judge(mode, effect, (*allows, denied), PLACES).answer == "deny"


ALLOWED = (rule("allow", "command", words=("make", "test")), rule("allow", "edit", path="/p/a"))


@pytest.mark.parametrize(
    ("effect", "answer"),
    [
        (Effect("execute", command="make test"), "allow"),
        (Effect("execute", command="make  'test'"), "allow"),
        (Effect("execute", command="make test; make test"), "allow"),
        (Effect("execute", command="make test; make all"), "ask"),
        (Effect("execute", command="make test; ls"), "ask"),
        (Effect("execute", command="make test -k"), "ask"),
        (Effect("execute", command="make testing"), "ask"),
        (Effect("execute", command="make"), "ask"),
        (Effect("execute", command="make test > a"), "ask"),
        (Effect("execute", command="make test $(touch a)"), "ask"),
        (Effect("execute", command="make test\ntouch a"), "ask"),
        (Effect("edit", ("/p/a",)), "allow"),
        (Effect("edit", ("/p/a/b",)), "allow"),
        (Effect("edit", ("/p/ab",)), "ask"),
        (Effect("edit", ("/p/a", "/p/b")), "ask"),
        (Effect("edit"), "ask"),
    ],
)
def test_a_rule_allows_what_it_names(effect: Effect, answer: Answer) -> None:
    assert judge("ask", effect, ALLOWED, PLACES).answer == answer


@pytest.mark.parametrize("path", ["/p/.git/config", "/p/.env", "/q"])
def test_no_rule_allows_an_edit_of_what_is_always_asked(path: str) -> None:
    allowed = (rule("allow", "edit"), rule("allow", "edit", path=path))
    assert [judge(mode, Effect("edit", (path,)), allowed, PLACES).answer for mode in MODES] == [
        *("ask", "ask"),
        *("deny", "ask"),
    ]


def test_a_rule_allows_one_host() -> None:
    allowed = (rule("allow", "fetch", host="example.org"),)
    hosts = [
        "example.org",
        "www.example.org",
        "example.org.evil.test",
        "example.org@evil.test",
        "evil.test/example.org",
    ]
    answers = [judge("ask", Effect("fetch", url=f"https://{host}/"), allowed, PLACES).answer for host in hosts]
    assert answers == ["allow", "ask", "ask", "ask", "ask"]


LISTED = Network("allow-list", ("listed.test", "*.many.test"))
NAMED = Rule("allow", "fetch", "user", host="named.test")
BANNED = Rule("deny", "fetch", "user", host="banned.test")


@pytest.mark.parametrize(
    ("hosts", "network", "answers"),
    [
        (("evil.test",), OFF, ("ask", "ask", "deny", "ask")),
        (("evil.test",), LISTED, ("ask", "ask", "deny", "ask")),
        (("listed.test", "a.many.test", "named.test"), LISTED, ("ask", "allow", "deny", "ask")),
        (("listed.test",), OFF, ("ask", "ask", "deny", "ask")),
        (("evil.test",), Network("on"), ("ask", "allow", "deny", "ask")),
        (("banned.test",), Network("on"), ("deny", "deny", "deny", "deny")),
        (("127.0.0.1",), LISTED, ("deny", "deny", "deny", "deny")),
        (("*.test",), LISTED, ("deny", "deny", "deny", "deny")),
        (("Listed.test",), LISTED, ("deny", "deny", "deny", "deny")),
    ],
)
def test_a_command_reaches_what_is_listed_or_asks(
    hosts: tuple[str, ...], network: Network, answers: tuple[Answer, ...]
) -> None:
    effect, rules = Effect("execute", command="make", hosts=hosts), (NAMED, BANNED)
    assert (
        tuple(judge(mode, effect, rules, PLACES, network).answer for mode in ("ask", "auto", "plan", "full")) == answers
    )


def test_reaching_further_is_asked_whatever_rule_allows_the_command_and_is_never_remembered() -> None:
    rules = (Rule("allow", "command", "user", words=("make",)),)
    decision = judge("ask", Effect("execute", command="make", hosts=("evil.test",)), rules, PLACES)
    assert decision == Decision("ask", "It would reach evil.test, which is not allowed so far.")


@pytest.mark.parametrize(
    ("allowed", "answers"),
    [
        (rule("allow", "mcp", server="s", tool="t"), ("allow", "ask", "ask")),
        (rule("allow", "mcp", server="s"), ("allow", "allow", "ask")),
        (rule("allow", "mcp"), ("allow", "allow", "allow")),
        (rule("allow", "fetch"), ("ask", "ask", "ask")),
    ],
)
def test_a_rule_allows_a_tool_or_all_of_a_server_but_not_in_plan_mode(allowed: Rule, answers: tuple[Answer]) -> None:
    effects = [Effect("mcp", server=server, tool=tool) for server, tool in (("s", "t"), ("s", "u"), ("s (2)", "t"))]
    assert tuple(judge("auto", effect, (allowed,), PLACES).answer for effect in effects) == answers
    assert {judge("plan", effect, (allowed,), PLACES).answer for effect in effects} == {"ask"}


def test_a_rule_for_a_tool_of_a_server_is_kept_and_told() -> None:
    kept = rule("allow", "mcp", server="s", tool="t")
    assert rule_from_json(kept.to_json()) == kept
    assert (kept.describe(), rule("deny", "mcp", server="s").describe()) == (
        "allow mcp s: t (session)",
        "deny mcp s: any (session)",
    )
