"""What holds for every agent at every time, whatever a test is about.

Lines on stdout are JSON-RPC; each request has one answer; a tool call is announced once and only moves forward; nothing
of a turn comes outside of a turn; no session is named that the client does not have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tests.support.trace import TURN_KINDS, Frame, Obj, Trace, Update, id_key, parse

ORDER = {"pending": 0, "in_progress": 1, "completed": 2, "failed": 2}
ENDED = 2
OPENS = frozenset({"session/load", "session/resume"})
CLOSES = frozenset({"session/close", "session/delete"})


def broken(trace: Trace, secrets: Iterable[str] = ()) -> list[str]:
    """Return every invariant that the trace breaks; `secrets` are texts that the agent may not show."""
    wrong = stdout_lines(trace) + answered_once(trace) + [why for one in _by_process(trace) for why in sessions(one)]
    shown = [secret for secret in secrets if any(secret.encode() in f.raw for f in trace.frames if f.way == "got")]
    return wrong + [f"a secret of {len(secret)} characters is shown" for secret in shown]


def _by_process(trace: Trace) -> list[list[Frame]]:
    return [[f for f in trace.frames if f.proc == proc] for proc in sorted({f.proc for f in trace.frames})]


# -- lines and answers


def stdout_lines(trace: Trace) -> list[str]:
    """Each line is one JSON-RPC object, a call or an answer, without a CR; an error has no `data` that is null."""
    return [why for frame in trace.frames if frame.way == "got" for why in _line(frame)]


def _line(frame: Frame) -> list[str]:
    value, shown = frame.value, repr(frame.raw[:80])
    wrong = [f"stdout has a CR: {shown}"] if b"\r" in frame.raw else []
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        wrong.append(f"stdout line is no JSON-RPC object: {shown}")
    elif "method" not in value and ("id" not in value or ("result" in value) == ("error" in value)):
        wrong.append(f"stdout line is neither a call nor an answer: {shown}")
    elif isinstance(value.get("error"), dict) and value["error"].get("data", 0) is None:
        wrong.append(f"the data of an error is null: {shown}")
    return wrong


def answered_once(trace: Trace) -> list[str]:
    """Each request has one answer from its process, unless the process was allowed to fall silent."""
    return [why for one in _by_process(trace) for why in _answered_once(one, one[0].proc in trace.open_until)]


def _answered_once(frames: Sequence[Frame], excused: bool) -> list[str]:
    asked = [f.value["id"] for f in frames if f.way == "sent" and _is_sound(f)]
    loose, nameless = _loose([f for f in frames if f.way == "sent"])
    answers = [f.value["id"] for f in frames if f.way == "got" and f.is_answer()]
    wrong = _counts(asked, answers, excused)
    if sum(a is None for a in answers) > nameless + sum(i is None for i in asked):
        wrong.append("an answer with id null that nothing asked for")
    known = {id_key(i) for i in [*asked, *loose, None]}
    return wrong + [f"an answer with id {a!r} that nothing asked for" for a in answers if id_key(a) not in known]


def _counts(asked: Sequence[object], answers: Sequence[object], excused: bool) -> list[str]:
    """Compare how often each id was asked and answered; null also answers lines that are no request."""
    wrong = []
    wanted, given = Counter(map(id_key, asked)), Counter(map(id_key, answers))
    for ident in {id_key(i): i for i in asked}.values():
        want, got = wanted[id_key(ident)], given[id_key(ident)]
        if got > want and ident is not None:
            wrong.append(f"id {ident!r} is answered {got} times")
        if got < want and not excused:
            wrong.append(f"id {ident!r} is not answered" if not got else f"id {ident!r} is answered {got} times")
    return wrong


def _loose(sent: Sequence[Frame]) -> tuple[list[object], int]:
    """Return ids in batches and broken lines, which may be answered or not, and how many lines are no message."""
    loose: list[object] = []
    nameless = 0
    for frame in sent:
        value = frame.value
        if isinstance(value, dict) and "method" in value and ("id" not in value or _is_sound(frame)):
            continue
        nameless += 1
        mended = parse(frame.raw.decode("utf-8", "replace").encode())
        whole = value if isinstance(value, list) else [mended]
        loose += [item["id"] for item in whole if isinstance(item, dict) and "id" in item]
    return loose, nameless


def _is_sound(frame: Frame) -> bool:
    """Return whether the frame is a request that can be answered under its id."""
    if not frame.is_request() or frame.value.get("jsonrpc") != "2.0":
        return False
    ident = frame.value["id"]
    return ident is None or (isinstance(ident, str | int | float) and not isinstance(ident, bool))


# -- sessions, turns, tool calls


@dataclass(slots=True)
class _Session:
    """What a client knows of one session."""

    open: set[str] = field(default_factory=set)
    """Keys of prompts and loads that are not answered."""
    calls: dict[str, str] = field(default_factory=dict)
    """Tool call -> its status."""


def sessions(frames: Sequence[Frame]) -> list[str]:
    """Return what is wrong with the updates and questions of one process."""
    book = _Book()
    for frame in frames:
        if isinstance(frame.value, dict):
            book.take(frame)
    return book.wrong


class _Book:
    """The sessions of one process, as they come and go."""

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self._known: dict[str, _Session] = {}
        self._asked: dict[str, Obj] = {}

    def take(self, frame: Frame) -> None:
        value = frame.value
        params = value.get("params") if isinstance(value.get("params"), dict) else {}
        if frame.way == "sent" and frame.is_request():
            self._asked[id_key(value["id"])] = value
            self._asks(value, params)
        elif frame.way == "got" and frame.is_answer():
            self._answered(value)
        elif frame.way == "got" and "method" in value and "sessionId" in params:
            self._named(frame, params)

    def _asks(self, value: Obj, params: Obj) -> None:
        key = id_key(params.get("sessionId"))
        if value.get("method") in OPENS and isinstance(params.get("sessionId"), str):
            session = self._known.setdefault(key, _Session())
            session.open.add(id_key(value["id"]))
            if value["method"] == "session/load":
                session.calls.clear()
        elif value.get("method") == "session/prompt" and key in self._known:
            self._known[key].open.add(id_key(value["id"]))

    def _answered(self, value: Obj) -> None:
        asked = self._asked.pop(id_key(value["id"]), None)
        if asked is None:
            return
        params = asked.get("params") if isinstance(asked.get("params"), dict) else {}
        key, result = id_key((params or {}).get("sessionId")), value.get("result")
        if isinstance(result, dict) and isinstance(result.get("sessionId"), str):
            self._known[id_key(result["sessionId"])] = _Session()
        session = self._known.get(key)
        if session is None:
            return
        session.open.discard(id_key(value["id"]))
        if asked["method"] == "session/prompt" and not session.open:
            left = {ident: status for ident, status in session.calls.items() if ORDER.get(status) != ENDED}
            self.wrong += [f"call {ident} stays {status} at the end of its turn" for ident, status in left.items()]
        if asked["method"] in CLOSES and "result" in value and not self._opens_again(key):
            del self._known[key]

    def _opens_again(self, key: str) -> bool:
        """Return whether the client has asked for the session once more, behind the call that closed it."""
        waiting = (a for a in self._asked.values() if a["method"] in OPENS and isinstance(a.get("params"), dict))
        return any(id_key(a["params"].get("sessionId")) == key for a in waiting)

    def _named(self, frame: Frame, params: Obj) -> None:
        session = self._known.get(id_key(params["sessionId"]))
        if session is None:
            self.wrong.append(f"{frame.value['method']} names the session {params['sessionId']!r}, which is not open")
            return
        update = frame.update()
        if update is not None:
            self._updated(session, update)
        elif frame.value["method"] == "session/request_permission":
            ident = (params.get("toolCall") or {}).get("toolCallId")
            if id_key(ident) not in session.calls:
                self.wrong.append(f"permission is asked for call {ident!r} before it was announced")

    def _updated(self, session: _Session, update: Update) -> None:
        if update.kind in TURN_KINDS and not session.open:
            self.wrong.append(f"{update.kind} comes while no turn is open")
        if update.kind not in {"tool_call", "tool_call_update"}:
            return
        ident, status = id_key(update.fields.get("toolCallId")), update.fields.get("status")
        before = session.calls.get(ident)
        if update.kind == "tool_call" and before is not None:
            self.wrong.append(f"call {ident} is announced twice")
        if update.kind == "tool_call_update" and before is None:
            self.wrong.append(f"an update for call {ident} before it was announced")
        after = str(status or before or "pending")
        if before is not None and after != before and ORDER.get(after, -1) <= ORDER.get(before, -1):
            self.wrong.append(f"call {ident} goes from {before} to {after}")
        session.calls[ident] = after
