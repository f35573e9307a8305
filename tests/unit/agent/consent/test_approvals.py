"""The consent of one session: the question and its answer in the log, and what a yes stands for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from acp_server.agent.consent.approvals import Approvals, Outcome, Question, Remembered
from acp_server.agent.consent.grants import rule_data, session_rules
from acp_server.agent.consent.judge import Surroundings, judge
from acp_server.agent.consent.rules import Rule
from acp_server.agent.hooks import ALLOW, Allow, Ask, Decision, Deny
from acp_server.agent.modes import MODE_EVENT
from acp_server.agent.tools import CallPlace
from acp_server.base.cancel import BY_USER, Cancelled, CancelToken
from acp_server.base.errors import ServerError
from acp_server.base.ids import SessionId
from acp_server.base.values import replace
from acp_server.messages.blocks import ToolCallBlock
from acp_server.sandbox.policy import Network
from acp_server.session.header import SessionHeader
from acp_server.session.session import Session
from acp_server.tools.tool import Card, Effect
from tests.support.clock import FakeClock
from tests.support.ids import FakeIds
from tests.support.rig import CountingJournal


def frozen(rule: Rule) -> dict[str, object]:
    """A rule as the log holds it."""
    return {key: tuple(part) if isinstance(part, list) else part for key, part in rule.to_json().items()}


ASKED = Ask("Each change of a file is asked in this mode.")
COMMANDED = Ask("Each command that does more than look is asked in this mode.")
PLACES = Surroundings(
    inside=lambda path: path.startswith("/p/"), secret=lambda path: False, protected=lambda path: "/.git" in path
)


def edit(*paths: str) -> Effect:
    return Effect("edit", paths)


def command(text: str) -> Effect:
    return Effect("execute", command=text)


class Shelf:
    """Kept rules in memory; `failure` is what using them raises."""

    def __init__(self, *rules: Rule) -> None:
        self.known = list(rules)
        self.failure: ServerError | None = None

    def rules(self, project: str) -> tuple[Rule, ...]:
        assert project == "/p"
        if self.failure is not None:
            raise self.failure
        return tuple(self.known)

    def add(self, rule: Rule, project: str) -> None:
        assert self.rules(project) is not None
        self.known.append(rule)

    def remove(self, rule: Rule, project: str) -> bool:
        raise NotImplementedError


class Desk:
    """A session with its approvals; `effects` are what each call would do, `answers` what the person says."""

    def __init__(self, *answers: Outcome | BaseException, rules: Sequence[Rule] = ()) -> None:
        self.session = Session(SessionHeader(SessionId("s"), 0, "/p"), now=FakeClock().now_ms)
        self.journal = CountingJournal(lambda: self.session.seq)
        self.effects: dict[str, Effect | None] = {}
        self.questions: list[Question] = []
        self.stood: list[tuple[int, int]] = []
        self.answers = list(answers)
        self.kept = Shelf(*rules)
        self.remember: Remembered = "session"
        self.approvals = Approvals(
            self.session,
            self,
            PLACES,
            self,
            journal=self.journal,
            ids=FakeIds("q"),
            kept=self.kept,
            project="/p",
            remember=lambda: self.remember,
        )

    def effect(self, place: CallPlace) -> Effect | None:
        return self.effects[place.call.id]

    def card(self, place: CallPlace) -> Card:
        return Card(place.call.name, "other")

    async def ask(self, question: Question, cancel: CancelToken) -> Outcome:
        self.questions.append(question)
        self.stood.append((self.session.seq, self.journal.flushed[-1]))
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def place(self, effect: Effect | None, ident: str = "c") -> CallPlace:
        self.effects[ident] = effect
        return CallPlace("s", 1, 1, ToolCallBlock(ident, "tool", "{}"))

    async def guard(self, effect: Effect | None, before: Decision = ALLOW) -> Decision:
        return await self.approvals.guard(self.place(effect), before)

    async def put(self, effect: Effect | None, reason: str = "Why.", ident: str = "c") -> Decision:
        return await self.approvals.ask(self.place(effect, ident), reason, CancelToken())

    def mode(self, mode: str) -> None:
        self.session.append(MODE_EVENT, {"preset": mode})

    def logged(self) -> list[tuple[str, object]]:
        return [(event.type, event.data) for event in self.session.events.since(0)]


async def test_the_mode_in_the_log_is_the_mode_in_force() -> None:
    desk = Desk()
    assert (desk.approvals.mode, await desk.guard(edit("/p/a"))) == ("ask", ASKED)
    desk.mode("auto")
    assert (desk.approvals.mode, await desk.guard(edit("/p/a"))) == ("auto", ALLOW)
    desk.mode("plan")
    assert await desk.guard(edit("/p/a")) == Deny("In plan mode nothing is changed.")
    desk.mode("no-such-mode")
    assert (desk.approvals.mode, await desk.guard(edit("/p/a"))) == ("ask", ASKED)


async def test_a_hook_may_forbid_or_insist_but_not_allow() -> None:
    desk = Desk()
    assert await desk.guard(Effect("none"), Deny("no")) == Deny("no")
    assert await desk.guard(Effect("none"), Ask("sure?")) == Ask("sure?")
    assert await desk.guard(edit("/p/a"), ALLOW) == ASKED
    desk.mode("plan")
    assert await desk.guard(edit("/p/a"), Ask("sure?")) == Deny("In plan mode nothing is changed.")


async def test_a_call_that_cannot_run_is_not_judged() -> None:
    desk = Desk()
    assert (await desk.guard(None), await desk.put(None), desk.questions) == (ALLOW, ALLOW, [])
    assert desk.logged() == []


async def test_question_and_answer_are_durable_events() -> None:
    desk = Desk("allowed-once")
    assert await desk.put(edit("/p/a")) == ALLOW
    effect = {"kind": "edit", "paths": ("/p/a",)}
    asked = {"id": "q-1", "toolName": "tool", "callId": "c", "reason": "Why.", "effect": effect}
    assert desk.logged() == [
        ("approval/asked", asked),
        ("approval/decided", {"id": "q-1", "outcome": "allowed-once"}),
    ]
    assert (desk.stood, desk.journal.flushed) == ([(1, 1)], [1, 2])
    kept = Rule("allow", "edit", "session", path="/p/a")
    bounds = "It is confined: it may change no file and has no network."
    assert desk.questions == [Question("c", "tool", edit("/p/a"), Card("tool", "other"), "Why.", kept, "/p", bounds)]


@pytest.mark.parametrize(("barrier", "asked", "outcome"), [(1, 0, "cancelled"), (2, 1, "allowed-once")])
async def test_a_cancel_ends_the_wait_for_the_disk(barrier: int, asked: int, outcome: str) -> None:
    desk, cancel = Desk("allowed-once"), CancelToken()
    desk.journal.out_from = barrier
    waiting = asyncio.create_task(desk.approvals.ask(desk.place(edit("/p/a")), "Why.", cancel))
    await desk.journal.waiting.wait()
    cancel.cancel(BY_USER)
    with pytest.raises(Cancelled):
        await waiting
    assert len(desk.questions) == asked
    assert desk.logged()[-1] == ("approval/decided", {"id": "q-1", "outcome": outcome})
    assert desk.approvals.granted("c") == ()


async def test_a_command_and_an_address_are_in_the_question_as_they_are() -> None:
    desk = Desk("rejected", "rejected")
    await desk.put(command("make  'all'"))
    await desk.put(Effect("fetch", url="https://example.org/"))
    effects = [event.data["effect"] for event in desk.session.events.since(0) if event.type == "approval/asked"]
    assert effects == [
        {"kind": "execute", "command": "make  'all'"},
        {"kind": "fetch", "url": "https://example.org/"},
    ]


@pytest.mark.parametrize(
    ("outcome", "decision"),
    [
        ("allowed-once", ALLOW),
        ("allowed-session", ALLOW),
        ("allowed-project", ALLOW),
        ("rejected", Deny("the person said no")),
        ("rejected-session", Deny("the person said no, and that it is not to be asked again")),
        ("rejected-project", Deny("the person said no, and that it is not to be asked again")),
        ("cancelled", Deny("the question was cancelled")),
        ("unavailable", Deny("nobody could be asked")),
    ],
)
async def test_only_a_yes_allows(outcome: Outcome, decision: Allow | Deny) -> None:
    desk = Desk(outcome)
    assert await desk.put(edit("/p/a")) == decision
    kept = outcome.endswith(("-session", "-project"))
    assert desk.logged()[1] == ("approval/decided", {"id": "q-1", "outcome": outcome})
    assert len(desk.logged()) == 2 + kept
    assert desk.approvals.granted("c") == (("/p/a",) if decision == ALLOW else ())
    assert len(desk.approvals.rules) == kept


async def test_a_cancelled_question_is_in_the_log_as_cancelled() -> None:
    desk = Desk(Cancelled(BY_USER))
    with pytest.raises(Cancelled):
        await desk.put(edit("/p/a"))
    assert desk.logged()[-1] == ("approval/decided", {"id": "q-1", "outcome": "cancelled"})
    assert (desk.approvals.granted("c"), desk.approvals.rules) == ((), ())


async def test_an_answer_that_is_not_durable_allows_nothing() -> None:
    desk = Desk("allowed-session")
    desk.journal.fail_from = 1
    with pytest.raises(ServerError):
        await desk.put(edit("/p/a"))
    assert (desk.approvals.granted("c"), desk.approvals.rules) == ((), ())


@pytest.mark.parametrize(
    ("effect", "rule"),
    [
        (edit("/p/a"), Rule("allow", "edit", "session", path="/p/a")),
        (command("make 'a b'"), Rule("allow", "command", "session", words=("make", "a b"))),
        (edit("/p/a", "/p/b"), None),
        (edit("/q"), None),
        (edit("/p/.git/config"), None),
        (command("make; make"), None),
        (command("make $(x)"), None),
        (Effect("read", ("/q",)), None),
        (Effect("fetch", url="https://example.org/a"), Rule("allow", "fetch", "session", host="example.org")),
        (Effect("mcp", server="s", tool="t"), Rule("allow", "mcp", "session", server="s", tool="t")),
    ],
)
async def test_a_yes_for_the_session_is_offered_where_a_rule_can_say_it(effect: Effect, rule: Rule | None) -> None:
    desk = Desk("allowed-session")
    await desk.put(effect)
    assert desk.questions[0].kept == rule
    assert desk.approvals.rules == (() if rule is None else (rule,))


async def test_a_no_for_the_session_denies_without_a_question() -> None:
    desk = Desk("rejected-session", "rejected-session")
    await desk.put(command("make"))
    await desk.put(edit("/p/a"))
    made = (
        Rule("deny", "command", "session", words=("make",)),
        Rule("deny", "edit", "session", path="/p/a"),
    )
    assert desk.approvals.rules == made
    assert await desk.guard(command("make && ls")) == Deny("A rule of yours denies this command.")
    desk.mode("auto")
    assert await desk.guard(edit("/p/a")) == Deny("A rule of yours denies changes there.")
    await desk.guard(command("ls"))
    assert desk.approvals.denied("c") == ("/p/a",)


async def test_a_rule_of_the_session_holds_until_it_is_taken_back() -> None:
    given = Rule("deny", "edit", "user", path="/p/b")
    desk = Desk("allowed-session", rules=[given])
    await desk.put(command("make"))
    made = Rule("allow", "command", "session", words=("make",))
    assert list(desk.approvals.rules) == [given, made]
    assert [await desk.guard(command(text)) for text in ("make", "make all")] == [ALLOW, COMMANDED]
    assert await desk.guard(edit("/p/b")) == Deny("A rule of yours denies changes there.")
    assert desk.logged()[-1] == ("approval/rule", {"change": "added", "rule": frozen(made)})
    desk.session.append("approval/rule", rule_data("revoked", made), ignorable=True)
    assert list(desk.approvals.rules) == [given]
    assert await desk.guard(command("make")) == COMMANDED


async def test_paths_are_granted_to_one_call_until_its_step_ends() -> None:
    desk = Desk("allowed-once")
    await desk.put(edit("/q"))
    assert (desk.approvals.granted("c"), desk.approvals.granted("other")) == (("/q",), ())
    desk.session.append("step/end", {"turn": 1, "step": 1})
    assert desk.approvals.granted("c") == ()


async def test_a_call_is_confined_as_the_mode_says_in_which_it_was_judged() -> None:
    desk = Desk()
    assert desk.approvals.level("c") == "read-only"
    levels = []
    for mode in ("auto", "plan", "full", "ask"):
        desk.mode(mode)
        await desk.guard(command("ls"))
        desk.mode("full")
        levels.append(desk.approvals.level("c"))
    assert levels == ["workspace-write", "read-only", "full-access", "workspace-write"]
    desk.session.append("step/end", {"turn": 1, "step": 1})
    assert desk.approvals.level("c") == "read-only"


async def test_rules_of_the_session_come_back_with_its_log() -> None:
    desk = Desk("allowed-session", "allowed-session")
    await desk.put(command("make"))
    await desk.put(edit("/p/a"))
    made = Rule("allow", "command", "session", words=("make",))
    desk.session.append("approval/rule", rule_data("revoked", made), ignorable=True)
    desk.session.append("approval/rule", {"change": "added", "rule": {}}, ignorable=True)
    desk.session.append("approval/rule", rule_data("added", replace(made, scope="user")), ignorable=True)
    assert session_rules(desk.session.events.milestones()) == (Rule("allow", "edit", "session", path="/p/a"),)
    assert session_rules(desk.session.events.milestones()) == desk.approvals.rules


async def test_a_yes_for_the_project_outlives_the_session() -> None:
    desk = Desk("allowed-project", "allowed-project")
    desk.remember = "project"
    await desk.put(command("make"))
    made = Rule("allow", "command", "project", words=("make",))
    assert (desk.kept.known, session_rules(desk.session.events.milestones())) == ([made], ())
    assert desk.logged()[-1] == ("approval/rule", {"change": "added", "rule": frozen(made)})
    assert await desk.guard(command("make")) == ALLOW


async def test_nothing_is_remembered_where_nothing_shall_be() -> None:
    desk = Desk("allowed-session")
    desk.remember = "never"
    await desk.put(command("make"))
    assert (desk.questions[0].kept, desk.approvals.rules) == (None, ())


async def test_rules_that_cannot_be_read_allow_nothing_and_one_that_cannot_be_kept_is_the_session_s() -> None:
    desk = Desk("allowed-project")
    desk.remember = "project"
    desk.kept.failure = ServerError("BROKEN_RULES", "The rules are broken.")
    assert await desk.guard(command("ls")) == Deny("The rules are broken.")
    await desk.put(command("make"))
    assert session_rules(desk.session.events.milestones()) == (Rule("allow", "command", "session", words=("make",)),)


async def test_a_path_is_denied_by_where_it_leads() -> None:
    rules = (Rule("deny", "edit", "user", path="/p/real"),)
    places = replace(PLACES, canonical=lambda path: path.replace("/p/link", "/p/real"))
    denied = [judge("auto", edit(path), rules, places).answer for path in ("/p/link/a", "/p/real/a", "/p/other")]
    assert denied == ["deny", "deny", "allow"]


async def test_a_command_reaches_its_hosts_once_they_are_allowed_and_no_others() -> None:
    desk = Desk("allowed-once", "rejected", rules=[Rule("deny", "fetch", "user", host="bad.test")])
    wanting = Effect("execute", command="make", hosts=("a.test",))
    for ident in ("c", "d"):
        await desk.approvals.guard(desk.place(wanting, ident), ALLOW)
        await desk.put(wanting, ident=ident)
    told = "It is confined: it may change files of the project only and may reach a.test alone."
    assert desk.questions[0].bounds == told
    assert desk.approvals.network("c") == Network("allow-list", ("a.test",), ("bad.test",))
    assert [desk.approvals.network(ident).mode for ident in ("d", "other")] == ["off", "off"]
    desk.session.append("step/end", {"turn": 1, "step": 1})
    assert desk.approvals.network("c") == Network()


async def test_what_nobody_was_asked_about_finds_no_secrets() -> None:
    desk = Desk()
    for ident, text in (("c", "grep -rn a ."), ("d", "grep -n a b"), ("e", "make; grep -r a .")):
        await desk.approvals.guard(desk.place(command(text), ident), ALLOW)
    assert [desk.approvals.hides_secrets(ident) for ident in ("c", "d", "e")] == [True, False, False]
