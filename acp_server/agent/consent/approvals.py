"""Asking the person about a call, durably: the question and its answer are events, and only a clear yes is one.

Owns one session's mode, its rules and its open questions. The question is made of the effect that runs; who carries it
to the person is given as a port. docs/tools.md, table C and clauses Q-1 to Q-6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal, Protocol, TypeAlias
from urllib.parse import urlsplit

from acp_server.agent.consent.grants import RULE_EVENT, KeptRules, fold_rule, rule_data, session_rules
from acp_server.agent.consent.harmless import is_harmless, reads_trees
from acp_server.agent.consent.judge import OFF, Surroundings, judge, level_for
from acp_server.agent.consent.rules import Rule, Scope, Verdict
from acp_server.agent.consent.words import split_command
from acp_server.agent.hooks import ALLOW, Allow, Ask, Decision, Deny
from acp_server.agent.modes import MODE_EVENT, Mode, mode_of
from acp_server.agent.network import NETWORK_EVENT, Reach, reach_of
from acp_server.agent.tools import CallPlace
from acp_server.base.cancel import Cancelled, CancelToken
from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonValue
from acp_server.base.ports import Ids, Journal
from acp_server.base.values import replace, value
from acp_server.llm.waiting import until
from acp_server.sandbox.hosts import canonical_host
from acp_server.sandbox.policy import Level, Network
from acp_server.session.events import SessionEvent
from acp_server.session.session import Session
from acp_server.tools.tool import Card, Effect

Outcome: TypeAlias = Literal[
    "allowed-once",
    "allowed-session",
    "allowed-project",
    "rejected",
    "rejected-session",
    "rejected-project",
    "cancelled",
    "unavailable",
]
KEPT: Final[Mapping[Outcome, Verdict]] = {
    "allowed-session": "allow",
    "allowed-project": "allow",
    "rejected-session": "deny",
    "rejected-project": "deny",
}
"""The answers that are remembered, and what the rule that each makes says."""
Remembered: TypeAlias = Literal["session", "project", "never"]
"""For how long the one yes that is remembered holds; clients show one such option at most."""


@value
class Question:
    """What the person is asked: the call, what it would do, why it is asked, and whether a yes can be kept.

    `kept` is the rule that an "allow for this session" or "for this project" would make, None where there is none; a no
    that is remembered makes the same one, which denies.
    """

    call_id: str
    tool: str
    effect: Effect
    card: Card
    reason: str
    kept: Rule | None = None
    cwd: str = "/"
    bounds: str = ""
    """What confines it, one sentence."""


def bounds(level: Level, network: Network) -> str:
    """Return what confines a command, one sentence for the person."""
    if level == "full-access":
        return "Nothing confines it: it may do whatever you may."
    changes = "may change no file" if level == "read-only" else "may change files of the project only"
    if network.mode == "on":
        return f"It is confined: it {changes}, and may reach the network."
    hosts = f"may reach {', '.join(network.hosts)} alone" if network.mode == "allow-list" else "has no network"
    return f"It is confined: it {changes} and {hosts}."


def denied_hosts(rules: tuple[Rule, ...]) -> tuple[str, ...]:
    """Return the hosts that rules deny."""
    return tuple(rule.host for rule in rules if rule.subject == "fetch" and rule.verdict == "deny" and rule.host)


def denied_paths(rules: tuple[Rule, ...]) -> tuple[str, ...]:
    """Return the paths whose changes rules deny."""
    return tuple(rule.path for rule in rules if rule.subject == "edit" and rule.verdict == "deny" and rule.path)


def with_hosts(network: Network, hosts: tuple[str, ...]) -> Network:
    """Return the network with further hosts; one that reaches everything stays."""
    if not hosts or network.mode == "on":
        return network
    listed = network.hosts if network.mode == "allow-list" else ()
    return Network("allow-list", tuple(dict.fromkeys((*listed, *hosts))), network.denied)


class Asker(Protocol):
    """Carries a question to the person."""

    async def ask(self, question: Question, cancel: CancelToken) -> Outcome:
        """Return the answer; everything but a clear yes is `rejected`, `cancelled` or `unavailable`.

        Raises:
            Cancelled: the turn was cancelled while the question was open.
        """
        ...


class Judged(Protocol):
    """What approvals need of the tools."""

    def effect(self, place: CallPlace) -> Effect | None:
        """Return what the call would do, None for a call that cannot run anyway."""
        ...

    def card(self, place: CallPlace) -> Card:
        """Return how the call is drawn."""
        ...


class Approvals:
    """The consent of one session."""

    def __init__(
        self,
        session: Session,
        tools: Judged,
        places: Surroundings,
        asker: Asker,
        *,
        journal: Journal,
        ids: Ids,
        kept: KeptRules,
        project: str,
        remember: Callable[[], Remembered] = lambda: "session",
        network: Callable[[Reach | None], Network] = lambda _reach: OFF,
    ) -> None:
        self._session = session
        self._tools = tools
        self._places = places
        self._asker = asker
        self._journal = journal
        self._ids = ids
        self._kept = kept
        self._project = project
        self._remember = remember
        self._network = network
        self._reach = reach_of(session.events)
        self._session_rules = list(session_rules(session.events.of_types((RULE_EVENT,))))
        self._granted: dict[str, tuple[str, ...]] = {}
        self._levels: dict[str, Level] = {}
        self._networks: dict[str, Network] = {}
        self._hiding: set[str] = set()
        self._denied: dict[str, tuple[str, ...]] = {}
        self._mode: Mode = mode_of(session.events)
        session.observe(self._follow)

    @property
    def mode(self) -> Mode:
        """Return the mode in force."""
        return self._mode

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Return the rules in force: those that were kept, then those of this session."""
        return (*self._kept.rules(self._project), *self._session_rules)

    def granted(self, call_id: str) -> tuple[str, ...]:
        """Return the paths that the person allowed for that very call."""
        return self._granted.get(call_id, ())

    def level(self, call_id: str) -> Level:
        """Return how that call is confined: as in the mode in which it was judged; one that was not may only read.

        A mode that is set while a question is open, or between the judgement and the run, counts for later calls.
        """
        return self._levels.get(call_id, "read-only")

    def asks(self, place: CallPlace) -> bool:
        """Return whether the call is asked as things stand, a hook's word aside."""
        effect = self._tools.effect(place)
        return effect is not None and judge(self._mode, effect, self.rules, self._places).answer == "ask"

    def network(self, call_id: str) -> Network:
        """Return what that call may reach, as it was judged or asked."""
        return self._networks.get(call_id, OFF)

    def hides_secrets(self, call_id: str) -> bool:
        """Return whether that call reads whole directories though nobody was asked: then no secret is among them."""
        return call_id in self._hiding

    def denied(self, call_id: str) -> tuple[str, ...]:
        """Return the paths that rules let that call not change, as it was judged."""
        return self._denied.get(call_id, ())

    async def guard(self, place: CallPlace, before: Decision) -> Decision:
        """Return what becomes of the call; a hook before may forbid it or insist on a question, never allow it."""
        effect = self._tools.effect(place)
        if effect is None or isinstance(before, Deny):
            return before
        self._levels[place.call.id] = level_for(self._mode, effect)
        try:
            rules, network = self.rules, self._network(self._reach)
            decision = judge(self._mode, effect, rules, self._places, network)
        except ServerError as error:  # rules that cannot be read may have denied it
            return Deny(error.message)
        if decision.answer == "deny":
            return Deny(decision.reason)
        self._denied[place.call.id] = denied_paths(rules)
        self._bound(place.call.id, effect, rules, network, widened=decision.answer == "allow")
        return Ask(decision.reason) if decision.answer == "ask" else before

    def _bound(self, call_id: str, effect: Effect, rules: tuple[Rule, ...], network: Network, *, widened: bool) -> None:
        """Keep what a command may reach: nothing in plan mode, and its own hosts where they are allowed."""
        if effect.kind != "execute":
            return
        network = OFF if self._mode == "plan" else network
        network = replace(network, denied=denied_hosts(rules))
        self._networks[call_id] = with_hosts(network, effect.hosts) if widened else network
        if self._mode != "full" and is_harmless(effect.command or "") and reads_trees(effect.command or ""):
            self._hiding.add(call_id)

    async def ask(self, place: CallPlace, reason: str, cancel: CancelToken) -> Decision:
        """Put the question and return Allow or Deny; both question and answer are durable before the call can run.

        Raises:
            Cancelled: the turn was cancelled; the answer is in the log as cancelled.
        """
        effect = self._tools.effect(place)
        if effect is None:
            return ALLOW
        rule = self._rule_for(effect)
        question = Question(
            place.call.id, place.call.name, effect, self._tools.card(place), reason, rule, self._project
        )
        reached = with_hosts(self.network(place.call.id), effect.hosts)
        question = replace(question, bounds=bounds(self.level(place.call.id), reached))
        ident = self._ids.new()
        self._session.append("approval/asked", _asked(ident, place, question))
        try:
            await until(self._journal.barrier(), cancel)
            outcome = await self._asker.ask(question, cancel)
        except Cancelled:
            self._decided(ident, "cancelled")
            raise
        self._decided(ident, outcome)
        await until(self._journal.barrier(), cancel)
        answer = _answer(outcome)
        if rule is not None and outcome in KEPT:
            self._keep(replace(rule, verdict=KEPT[outcome]))
        if isinstance(answer, Allow):
            self._granted[place.call.id] = effect.paths
            self._networks[place.call.id] = with_hosts(self.network(place.call.id), effect.hosts)
        return answer

    def _rule_for(self, effect: Effect) -> Rule | None:
        """Return the rule that a remembered yes would be: what widens, and what cannot be named exactly, has none."""
        scope = self._remember()
        if scope == "never" or not judge(self._mode, effect, (), self._places).rememberable:
            return None
        return _rule_for(effect, scope)

    def _keep(self, rule: Rule) -> None:
        """Keep a rule, for this session where it cannot be kept for longer."""
        if rule.scope != "session":
            try:
                self._kept.add(rule, self._project)
            except ServerError:
                rule = replace(rule, scope="session")
        self._session.append(RULE_EVENT, rule_data("added", rule), ignorable=True)

    def _follow(self, event: SessionEvent) -> None:
        """A mode counts from the moment it is in the log, whoever put it there."""
        if event.type == MODE_EVENT:
            self._mode = mode_of(self._session.events)
        elif event.type == RULE_EVENT:
            fold_rule(self._session_rules, event)
        elif event.type == NETWORK_EVENT:
            self._reach = reach_of(self._session.events)
        elif event.type == "step/end":
            self._granted.clear()
            self._levels.clear()
            self._networks.clear()
            self._hiding.clear()
            self._denied.clear()

    def _decided(self, ident: str, outcome: Outcome) -> None:
        self._session.append("approval/decided", {"id": ident, "outcome": outcome})


def _rule_for(effect: Effect, scope: Scope) -> Rule | None:
    """Return the rule that a remembered yes stands for: exact words, or the very file."""
    if effect.kind == "execute":
        parts = split_command(effect.command or "")
        return Rule("allow", "command", scope, words=parts[0]) if parts is not None and len(parts) == 1 else None
    if effect.kind == "mcp":  # by the server's name alone, which another session may give to another server
        return Rule("allow", "mcp", "session", server=effect.server, tool=effect.tool)
    if effect.kind == "fetch":
        host = canonical_host(urlsplit(effect.url or "").hostname or "")
        return None if host is None else Rule("allow", "fetch", scope, host=host)
    if effect.kind == "edit" and len(effect.paths) == 1:
        return Rule("allow", "edit", scope, path=effect.paths[0])
    return None


def _asked(ident: str, place: CallPlace, question: Question) -> dict[str, JsonValue]:
    effect: dict[str, JsonValue] = {"kind": question.effect.kind}
    if question.effect.paths:
        effect["paths"] = list(question.effect.paths)
    if question.effect.hosts:
        effect["hosts"] = list(question.effect.hosts)
    if question.effect.background:
        effect["background"] = True
    names = ("command", "url", "server", "tool")
    told = ((name, getattr(question.effect, name)) for name in names)
    effect |= {key: text for key, text in told if text is not None}
    return {
        "id": ident,
        "toolName": question.tool,
        "callId": place.call.id,
        "reason": question.reason,
        "effect": effect,
    }


def _answer(outcome: Outcome) -> Allow | Deny:
    match outcome:
        case "allowed-once" | "allowed-session" | "allowed-project":
            return ALLOW
        case "rejected":
            return Deny("the person said no")
        case "rejected-session" | "rejected-project":
            return Deny("the person said no, and that it is not to be asked again")
        case "cancelled":
            return Deny("the question was cancelled")
        case "unavailable":
            return Deny("nobody could be asked")
