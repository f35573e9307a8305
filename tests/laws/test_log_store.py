from __future__ import annotations

import os
import shutil
from pathlib import Path
from tempfile import mkdtemp

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from acp_server.base.ids import SessionId
from acp_server.persistence.batches import Encoding
from acp_server.persistence.held_session import HeldSession
from acp_server.persistence.packed_log import PackedLog
from acp_server.session.events import SessionEvent
from acp_server.session.repair import closing_events
from tests.support.logs import text_delta, user_message, whole_turn
from tests.support.stores import SESSION, new_header, store

EXAMPLES = int(os.environ.get("ACP_TEST_EXAMPLES", "40"))
ENCODINGS: list[Encoding] = ["zstd", "none"]


class StoredSession(RuleBasedStateMachine):
    """A session on disk beside a list of events: whatever is done to it, reading gives the list."""

    @initialize(encoding=st.sampled_from(ENCODINGS))
    def begin(self, encoding: Encoding) -> None:
        self.root = Path(mkdtemp(prefix="law-"))
        self.store = store(self.root, encoding)
        self.files: HeldSession | None = self.store.fresh(new_header())
        self.events: list[SessionEvent] = []
        self.forks: dict[SessionId, list[SessionEvent]] = {}

    def teardown(self) -> None:
        if self.files is not None:
            self.files.release()
        shutil.rmtree(self.root)

    def write(self, batch: list[SessionEvent]) -> None:
        assert self.files is not None
        self.files.commit(batch)
        self.events += batch

    @precondition(lambda self: self.files is not None)
    @rule(deltas=st.integers(0, 6))
    def run_a_turn(self, deltas: int) -> None:
        self.write(whole_turn(len(self.events), 1, deltas))

    @precondition(lambda self: self.files is not None)
    @rule(deltas=st.integers(1, 6))
    def break_off(self, deltas: int) -> None:
        self.write(whole_turn(len(self.events), 1, 0)[:3])
        self.write([text_delta(len(self.events) + at, "x") for at in range(deltas)])

    @precondition(lambda self: self.files is not None and self.events)
    @rule()
    def close(self) -> None:
        assert self.files is not None
        self.files.release()
        self.files = None

    @precondition(lambda self: self.files is None and self.events)
    @rule(tail=st.binary(max_size=40))
    def open(self, tail: bytes) -> None:
        """Open what a crash may have left: rubbish behind the last batch."""
        path = Path(self.store.place_of(SESSION).path)
        with path.open("ab") as file:
            file.write(tail)
        self.files, loaded = self.store.open(SESSION)
        self.events += closing_events(PackedLog(self.events))
        assert list(loaded.log.since(0)) == self.events
        assert any("session.torn" in notice for notice in loaded.notices) == bool(tail)

    @precondition(lambda self: self.events and len(self.forks) < 3)
    @rule()
    def fork(self) -> None:
        child = SessionId(f"child-{len(self.forks)}")
        closed = self.events + closing_events(PackedLog(self.events))
        files, loaded = self.store.fork(SESSION, None, new_header(child), None)
        files.release()
        assert list(loaded.log.since(0)) == closed
        self.forks[child] = closed

    @precondition(lambda self: self.files is None and self.events)
    @rule()
    def delete(self) -> None:
        assert self.store.delete(SESSION) is not None
        self.files, self.events = self.store.fresh(new_header()), []

    @precondition(lambda self: self.files is not None)
    @rule(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
    def say(self, text: str) -> None:
        self.write([user_message(len(self.events), text)])

    @invariant()
    def reading_gives_the_events(self) -> None:
        if self.events:
            closed = self.events + closing_events(PackedLog(self.events))
            assert list(self.store.inspect(SESSION).log.since(0)) == closed
            seq = len(self.events) // 2
            assert list(self.store.suffix(SESSION, seq).since(seq)) == self.events[seq:]
        for child, events in self.forks.items():
            assert list(self.store.inspect(child).log.since(0)) == events


TestStoredSession = StoredSession.TestCase
TestStoredSession.settings = settings(max_examples=EXAMPLES, stateful_step_count=20, deadline=None)
