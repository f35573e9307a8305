"""What a run writes: the answer to its output, everything else to standard error (docs/headless.md, H-3 and H-4).

Three forms of output behind one port. Text is the answer alone, json one object at the end, stream-json a line an event
(schemas/run-stream.schema.json).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol, TypeAlias

from acp_server.acp.permissions import raw_input
from acp_server.acp.updates import Presenter, TextUpdate
from acp_server.agent.consent.approvals import Question
from acp_server.app.headless.outcome import Outcome
from acp_server.base.values import value
from acp_server.jsonrpc.encoding import json_text, text_json, whole_text
from acp_server.jsonrpc.outbox import Outbox
from acp_server.session.events import SessionEvent

Format: TypeAlias = Literal["text", "json", "stream-json"]
Say: TypeAlias = Callable[[str], None]
"""Writes one line to standard error."""


@value
class Opened:
    """The session that a run works in."""

    session_id: str
    cwd: str
    model: str
    mode: str
    resumed: bool

    def to_json(self) -> dict[str, Any]:
        """Return the fields that a program reads."""
        return {
            "sessionId": self.session_id,
            "cwd": self.cwd,
            "model": self.model,
            "mode": self.mode,
            "resumed": self.resumed,
        }


@value
class Facts:
    """What a run came to: the last answer, the counts of its events, the usage of its models, its time."""

    answer: str
    steps: int
    tool_calls: int
    usage: Any
    seconds: float


class Report(Protocol):
    """Takes what happens in a run, in order."""

    def opened(self, opened: Opened) -> None:
        """Take the session, before anything happens in it."""

    def happened(self, event: SessionEvent) -> None:
        """Take an event of the run."""

    def noticed(self, sentence: str) -> None:
        """Take a sentence for the person."""

    def asked(self, question: Question, *, allowed: bool) -> None:
        """Take a question of consent with its answer."""

    def ended(self, outcome: Outcome, facts: Facts) -> None:
        """Take the end; nothing comes after it."""


class TextReport:
    """The last answer on the output; the session, notices and refusals on standard error, calls of tools on request."""

    def __init__(self, outbox: Outbox, say: Say, *, calls: bool) -> None:
        self._outbox = outbox
        self._say = say
        self._calls = calls
        self._presenter = Presenter()
        self._titles: dict[str, str] = {}

    def opened(self, opened: Opened) -> None:
        """See Report."""
        self._say(f"session {opened.session_id}")

    def happened(self, event: SessionEvent) -> None:
        """See Report."""
        for update in self._presenter.present(event) if self._calls else ():
            if isinstance(update, dict) and update["sessionUpdate"] in ("tool_call", "tool_call_update"):
                self._show_call(update)

    def noticed(self, sentence: str) -> None:
        """See Report."""
        self._say(sentence)

    def asked(self, question: Question, *, allowed: bool) -> None:
        """See Report."""
        if not allowed:
            self._say(f"rejected, since nobody can be asked: {question.card.title} ({question.reason})")

    def ended(self, outcome: Outcome, facts: Facts) -> None:
        """See Report."""
        if facts.answer:
            self._outbox.put((whole_text(facts.answer).removesuffix("\n") + "\n").encode())
        if outcome.words:
            self._say(outcome.words)

    def _show_call(self, update: Mapping[str, Any]) -> None:
        ident, title = update["toolCallId"], str(update.get("title", ""))
        if update.get("status") in ("in_progress", "completed", "failed") and self._titles.get(ident) != title:
            self._titles[ident] = title
            self._say(f"[tool] {title}")


class JsonReport:
    """One object on the output, when the run has ended."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._opened: dict[str, Any] = {}
        self._denied: list[dict[str, Any]] = []
        self._notices: list[str] = []

    def opened(self, opened: Opened) -> None:
        """See Report."""
        self._opened = opened.to_json()

    def happened(self, event: SessionEvent) -> None:
        """See Report."""

    def noticed(self, sentence: str) -> None:
        """See Report."""
        self._notices.append(sentence)

    def asked(self, question: Question, *, allowed: bool) -> None:
        """See Report."""
        if not allowed:
            self._denied.append(_question(question))

    def ended(self, outcome: Outcome, facts: Facts) -> None:
        """See Report."""
        told = {"denied": self._denied, "notices": self._notices}
        self._outbox.put(_line({**self._opened, **outcome.to_json(), **_facts(facts), **told}))


class StreamReport:
    """One line an event: what an editor would get as `session/update`, and the lines of the run itself."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._presenter = Presenter()

    def opened(self, opened: Opened) -> None:
        """See Report."""
        self._put("session", opened.to_json())

    def happened(self, event: SessionEvent) -> None:
        """See Report."""
        for update in self._presenter.present(event):
            if isinstance(update, TextUpdate):
                self._outbox.put_mergeable((update.kind, update.message_id), update.text, _text_line(update))
            else:
                self._put("update", {"update": update})

    def noticed(self, sentence: str) -> None:
        """See Report."""
        self._put("notice", {"message": sentence})

    def asked(self, question: Question, *, allowed: bool) -> None:
        """See Report."""
        self._put("permission", {**_question(question), "allowed": allowed})

    def ended(self, outcome: Outcome, facts: Facts) -> None:
        """See Report."""
        self._put("result", {**outcome.to_json(), **_facts(facts)})

    def _put(self, kind: str, data: Mapping[str, Any]) -> None:
        self._outbox.put(_line({"type": kind, **data}))


def make_report(form: Format, outbox: Outbox, say: Say, *, terminal: bool) -> Report:
    """Return the report of that form; `terminal` is whether a person reads standard error."""
    match form:
        case "text":
            return TextReport(outbox, say, calls=terminal)
        case "json":
            return JsonReport(outbox)
        case "stream-json":
            return StreamReport(outbox)


def _question(question: Question) -> dict[str, Any]:
    return {"toolCallId": question.call_id, "tool": question.tool, "title": question.card.title, **raw_input(question)}


def _facts(facts: Facts) -> dict[str, Any]:
    return {
        "answer": facts.answer,
        "steps": facts.steps,
        "toolCalls": facts.tool_calls,
        "usage": facts.usage,
        "durationMs": round(facts.seconds * 1000),
    }


def _line(data: Mapping[str, Any]) -> bytes:
    return f"{json_text(data)}\n".encode()


def _text_line(update: TextUpdate) -> Callable[[str], bytes]:
    kind, ident = json.dumps(update.kind), json.dumps(update.message_id)
    head = f'{{"type":"update","update":{{"sessionUpdate":{kind},"content":{{"type":"text","text":'
    tail = f'}},"messageId":{ident}}}}}\n'
    return lambda text: f"{head}{text_json(text)}{tail}".encode()
