"""The protocol as a state machine: sequences that hypothesis draws, played to a live server and to a model of it.

What the model says of each answer has to be so; every request is answered once, and nothing that runs outlives its
sequence. One server plays many sequences, each with sessions of its own.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, rule, run_state_machine_as_test

from tests.support import invariants, launch, schema
from tests.support.client import Client, Launch
from tests.support.process import MARK, left_behind
from tests.support.trace import Obj, Trace

STEPS = 12
SECONDS = 30.0
HANG = "@script\nsay begun\nhang"
QUICK = "@script\nsay ok"
OWN = "_acp_server/session/"
JUDGED = 10
"""Of so many sequences one is held to the schema and to all rules of traces, which takes longer than playing it."""
MOST_MIB = 250
SEQUENCES_A_SERVER = 5000


@dataclass
class Known:
    """What the model knows of one session."""

    ident: str
    open: bool = True
    deleted: bool = False
    prompted: bool = False
    touched: bool = False
    """Whether something was kept for it."""
    answered: bool = False
    """Whether a turn of it ended by itself: what was cancelled at once may have left no message."""
    running: list[int] = field(default_factory=list)
    """Prompts that have no answer: the first runs, the others wait."""
    mode: str = "ask"
    title: str | None = None


class Server:
    """A live server that many sequences share."""

    def __init__(self, root: Path) -> None:
        self.mark = f"states-{os.getpid()}-{time.monotonic_ns()}"
        (root / "project").mkdir()
        self.cwd = str(root / "project")
        environment = launch.environment(root, more={MARK: self.mark})
        (root / "state" / "settings.toml").write_text('persistence = "memory"\n', "utf-8")
        self.client = Client(Launch(launch.COMMAND, environment, root, root))
        self.client.start()
        self.client.initialize()
        self.sequences = 0
        self.longest = 0.0

    def ask(self, method: str, params: Obj) -> Obj:
        """Send a request and return its answer; how long the longest took is kept."""
        begun = time.monotonic()
        answer = self.client.answer(self.client.request(method, params), SECONDS)
        self.longest = max(self.longest, time.monotonic() - begun)
        return answer

    def end(self) -> list[str]:
        """End the server; return what is wrong with how it ended."""
        peak = self.client.agent.peak_rss_mib()
        ended = self.client.agent.end()
        wrong = [ended] if ended else []
        said = self.client.agent.stderr().decode("utf-8", "replace")
        wrong += [f"stderr: {said[-400:]}"] if said else []
        wrong += [f"left running: {words}" for words in left_behind(self.mark)]
        return wrong + ([f"{peak:.0f} MiB at its peak"] if peak > MOST_MIB else [])


class Machine(RuleBasedStateMachine):
    """One sequence. `server` is set by whoever runs it."""

    server: ClassVar[Server]
    sessions = Bundle("sessions")

    def __init__(self) -> None:
        super().__init__()
        self.known: list[Known] = []
        self.server.sequences += 1
        self.first = len(self.server.client.trace.frames)
        self.prompts: dict[int, bool] = {}
        """Every prompt that was sent, and whether it was cancelled."""

    # -- what is done

    @rule(target=sessions)
    def new(self) -> Known:
        answer = self.server.ask("session/new", {"cwd": self.server.cwd, "mcpServers": []})
        known = Known(answer["result"]["sessionId"])
        assert answer["result"]["modes"]["currentModeId"] == "ask"
        self.known.append(known)
        return known

    @rule(session=sessions)
    def prompt(self, session: Known) -> None:
        if session.running:
            return
        answer = self.server.ask("session/prompt", self._prompt(session, QUICK))
        if session.open:
            session.prompted = session.answered = session.touched = True
            assert answer["result"] == {"stopReason": "end_turn"}
        else:
            assert answer["error"]["code"] == -32002

    @rule(session=sessions, text=st.sampled_from((HANG, QUICK)))
    def prompt_and_go_on(self, session: Known, text: str) -> None:
        """A prompt whose answer nobody waits for; the first one of a session never ends by itself."""
        if not session.open or len(session.running) > 3:
            return
        ident = self.server.client.request("session/prompt", self._prompt(session, text if session.running else HANG))
        session.prompted = session.touched = True
        session.running.append(ident)
        self.prompts[ident] = False

    @rule(session=sessions)
    def steer(self, session: Known) -> None:
        answer = self.server.ask(f"{OWN}steer", self._prompt(session, QUICK))
        if not session.open:
            assert answer["error"]["code"] == -32002
            return
        assert answer["result"] == {}
        session.prompted = session.touched = True
        if not session.running:  # it has opened a turn that ends by itself
            self._idle(session)

    @rule(session=sessions)
    def cancel(self, session: Known) -> None:
        self.server.client.notify("session/cancel", {"sessionId": session.ident})
        self._all_cancelled(session)

    @rule(session=sessions, number=st.integers(0, 3))
    def cancel_one(self, session: Known, number: int) -> None:
        """The first one takes all with it, each other one only itself."""
        if number >= len(session.running):
            self.server.client.notify("$/cancel_request", {"requestId": 10**9 + number})
            return
        self.server.client.notify("$/cancel_request", {"requestId": session.running[number]})
        if number == 0:
            self._all_cancelled(session)
        else:
            self._cancelled(session.running.pop(number))

    @rule(session=sessions, mode=st.sampled_from(("ask", "auto", "plan", "full", "nonsense")), old=st.booleans())
    def set_mode(self, session: Known, mode: str, old: bool) -> None:
        params: Obj = {"modeId": mode} if old else {"configId": "mode", "value": mode}
        method = "session/set_mode" if old else "session/set_config_option"
        answer = self.server.ask(method, {"sessionId": session.ident, **params})
        if not session.open:
            assert answer["error"]["code"] == -32002
        elif mode == "nonsense":
            assert answer["error"]["code"] == -32602
        else:
            session.touched = session.touched or mode != session.mode
            session.mode = mode
            assert old or values(answer["result"]["configOptions"])["mode"] == mode

    @rule(session=sessions, title=st.sampled_from(("One", "Two words", "")))
    def rename(self, session: Known, title: str) -> None:
        answer = self.server.ask(f"{OWN}rename", {"sessionId": session.ident, "title": title})
        if not session.open:
            assert answer["error"]["code"] == -32002
        elif title:
            session.title, session.touched = title, True
            assert answer["result"] == {"title": title}
        else:
            assert answer["error"]["code"] == -32602

    @rule(session=sessions)
    def status(self, session: Known) -> None:
        answer = self.server.ask(f"{OWN}status", {"sessionId": session.ident})
        if not session.open:
            assert answer["error"]["code"] == -32002
            return
        found = answer["result"]
        assert found["state"] == ("running" if session.running else "idle")
        assert found["options"]["mode"] == session.mode
        waiting = [one for one in found["queue"] if one["text"] != QUICK or len(session.running) > 1]
        assert len(waiting) >= max(0, len(session.running) - 1)
        if session.title is not None:
            assert found["title"] == session.title

    @rule(session=sessions, method=st.sampled_from(("session/load", "session/resume")))
    def open_again(self, session: Known, method: str) -> None:
        before = len(self.server.client.trace.frames)
        answer = self.server.ask(method, {"sessionId": session.ident, "cwd": self.server.cwd, "mcpServers": []})
        if session.running:
            assert answer["error"]["code"] == -32600
        elif session.deleted or (not session.open and not self._kept(session)):
            assert answer["error"]["code"] == -32002
        else:
            session.open = True
            assert values(answer["result"]["configOptions"])["mode"] == session.mode
            updates = self.server.client.trace.updates(before, len(self.server.client.trace.frames), session.ident)
            shown = [update for update in updates if update.kind == "user_message_chunk"]
            assert not shown or (session.prompted and method == "session/load")
            assert shown or method == "session/resume" or not session.answered

    @rule(session=sessions)
    def close(self, session: Known) -> None:
        assert self.server.ask("session/close", {"sessionId": session.ident})["result"] == {}
        self._all_cancelled(session)
        session.open = False

    @rule(session=consumes(sessions))
    def delete(self, session: Known) -> None:
        assert self.server.ask("session/delete", {"sessionId": session.ident})["result"] == {}
        self._all_cancelled(session)
        session.open, session.deleted = False, True

    @rule(session=sessions, form=st.sampled_from(("markdown", "jsonl")))
    def export(self, session: Known, form: str) -> None:
        answer = self.server.ask(f"{OWN}export", {"sessionId": session.ident, "format": form})
        assert ("result" in answer) == (session.open or self._kept(session))

    @rule(session=sessions, target=sessions)
    def fork(self, session: Known) -> Known:
        answer = self.server.ask(f"{OWN}fork", {"sessionId": session.ident})
        if "error" in answer:
            assert answer["error"]["code"] in (-32600, -32002)
            assert session.running or not self._kept(session)
            return session
        child = replace(session, ident=answer["result"]["sessionId"], open=True, running=[])
        self.known.append(child)
        return child

    @rule(session=sessions, on=st.booleans())
    def follow(self, session: Known, on: bool) -> None:
        method = f"{OWN}events/{'subscribe' if on else 'unsubscribe'}"
        answer = self.server.ask(method, {"sessionId": session.ident})
        assert ("result" in answer) == session.open

    @rule(session=sessions)
    def preview_undo(self, session: Known) -> None:
        answer = self.server.ask(f"{OWN}undo", {"sessionId": session.ident})
        if session.open and session.answered and not session.running:
            assert answer["result"]["applied"] is False
        elif not session.open or session.running or not session.prompted:
            assert answer["error"]["code"] == (-32600 if session.open else -32002)

    @rule()
    def initialize_again(self) -> None:
        self.server.client.initialize()

    @rule()
    def unknown(self) -> None:
        assert self.server.ask("session/prompt", {"sessionId": "nobody", "prompt": []})["error"]["code"] == -32002
        assert self.server.ask("no/such", {})["error"]["code"] == -32601

    # -- what has to hold at the end of each

    def teardown(self) -> None:
        """End what runs, and judge the sequence."""
        for session in self.known:
            if not session.deleted:
                self.server.ask("session/delete", {"sessionId": session.ident})
                self._all_cancelled(session)
        trace = self.server.client.trace
        frames = trace.frames[self.first :]
        answered = Counter(frame.value["id"] for frame in frames if frame.is_answer())
        asked = [frame.value["id"] for frame in frames if frame.way == "sent" and frame.is_request()]
        assert answered == Counter(asked)
        if self.server.sequences % JUDGED == 0:
            part = Trace()
            for frame in frames:
                part.add(frame.proc, frame.way, frame.raw)
            assert invariants.stdout_lines(part) + schema.stable().agent_trace(part) == []

    def _prompt(self, session: Known, text: str) -> Obj:
        return {"sessionId": session.ident, "prompt": [{"type": "text", "text": text}]}

    def _kept(self, session: Known) -> bool:
        """Return whether the store has the session: one without any event leaves nothing."""
        return not session.deleted and session.touched

    def _idle(self, session: Known) -> None:
        """Return when a turn that ends by itself has ended: a command is answered behind it."""
        answer = self.server.ask("session/prompt", self._prompt(session, "@script\nsay ok"))
        assert answer["result"] == {"stopReason": "end_turn"}
        session.answered = True

    def _all_cancelled(self, session: Known) -> None:
        for ident in session.running:
            self._cancelled(ident)
        session.running.clear()

    def _cancelled(self, ident: int) -> None:
        assert self.server.client.answer(ident, SECONDS)["result"] == {"stopReason": "cancelled"}
        self.prompts[ident] = True


def values(options: list[Any]) -> dict[str, str]:
    return {option["id"]: option["currentValue"] for option in options}


@contextmanager
def serving() -> Iterator[Server]:
    """Give a server for some sequences; raise AssertionError when it ends badly."""
    with tempfile.TemporaryDirectory(prefix="states-") as folder:
        server = Server(Path(folder))
        try:
            Machine.server = server
            yield server
            wrong = server.end()
            assert wrong == [], wrong
        finally:
            server.client.close()


def play_states(count: int, number: int) -> tuple[int, float]:
    """Play so many sequences; return how many were, and the seconds of the longest answer. Raise at the first fault."""
    with serving() as server:
        chosen = settings(
            max_examples=count,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate,),
            print_blob=False,
        )
        run_state_machine_as_test(seed(number)(Machine), settings=chosen)
        return server.sequences, server.longest


def states(count: int, number: int) -> int:
    """Play that many sequences on several servers, one after the other; print what came of it; return the exit code."""
    begun, played, longest = time.monotonic(), 0, 0.0
    while played < count:
        some, slow = play_states(min(SEQUENCES_A_SERVER, count - played), number + played)
        played, longest = played + some, max(longest, slow)
        sys.stdout.write(f"{played} sequences, {time.monotonic() - begun:.0f} s, longest answer {longest:.2f} s\n")
        sys.stdout.flush()
    return 0
