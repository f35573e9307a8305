"""Laws of undoing: back and back again is the identity, for files and for what the model sees."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_server.agent.undo import Order, Undo, settle
from acp_server.base.cancel import CancelToken
from acp_server.base.errors import ServerError
from acp_server.base.values import replace
from acp_server.messages.blocks import TextBlock, ToolCallBlock, text_of
from acp_server.session.file_changes import FILE_CHANGE, FileState, change_data
from acp_server.session.file_undo import Present, Step
from acp_server.session.invariants import check_log
from acp_server.session.log import MemoryLog
from acp_server.session.repair import closers
from acp_server.session.surface import fold_surface
from acp_server.session.undo import Past
from tests.support.ids import FakeIds
from tests.support.rig import CountingJournal
from tests.support.story import Story, events_of, session, user

PATHS = ("/p/a", "/p/b", "/p/c")


def state_of(text: str | None) -> FileState:
    return FileState(None) if text is None else FileState(f"d-{text}", len(text), mode=0o640)


class Disk:
    """Files in memory, see UndoFiles; writing fails once `puts_left` are made."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self.kept: dict[str, str] = {}
        self.puts_left = 1000

    def hold(self, path: str) -> FileState:
        text = self.files.get(path)
        if text is None:
            return FileState(None)
        self.kept[f"k-{text}"] = text
        return replace(state_of(text), kept=f"k-{text}")

    async def look(self, paths: Sequence[str], _cancel: CancelToken) -> Mapping[str, Present]:
        return {path: Present(state_of(self.files.get(path))) for path in paths}

    async def keep(self, step: Step) -> FileState:
        return self.hold(step.path)

    async def put(self, step: Step) -> None:
        self.puts_left -= 1
        if self.puts_left < 0:
            raise ServerError("DISK_FULL", "The disk is full.")
        assert state_of(self.files.get(step.path)).digest == step.now.digest
        if step.to.digest is None:
            del self.files[step.path]
        else:
            self.files[step.path] = self.kept[step.to.kept or ""]


class Play:
    """A story with files, and undoing in it."""

    def __init__(self) -> None:
        self.story, self.disk, self.count = Story(), Disk(), 0
        self.story.session.append("session/end-seed", {})

    def turn(self, changes: Sequence[tuple[str, bool]]) -> None:
        """Play a turn in which a call writes, or removes, each file."""
        story = self.story
        story.open_turn()
        story.open_step()
        story.say(user(f"m{story.turn}", f"turn {story.turn}"))
        ident = f"c{story.turn}"
        story.answer(ToolCallBlock(ident, "write", "{}"))
        story.call(ident, "write")
        for path, removed in changes:
            self.count += 1
            before, text = self.disk.hold(path), None if removed else f"text {self.count}"
            story.session.append(FILE_CHANGE, change_data(path, before, state_of(text), ident), ignorable=True)
            self.disk.files.pop(path, None)
            self.disk.files |= {} if text is None else {path: text}
        story.result(ident)
        story.session.append("step/end", story.place)
        story.open_step()
        story.answer(TextBlock(f"done {story.turn}"))
        story.session.append("step/end", story.place)
        story.session.append("turn/end", {"turn": story.turn, "reason": {"kind": "completed"}})

    def undoing(self) -> Undo:
        return Undo(
            self.story.session, self.disk, CountingJournal(), FakeIds(f"u{self.story.session.seq}-"), lambda: None
        )

    def go(self, order: Order) -> str | None:
        outcome = asyncio.run(self.undoing().carry_out(order, None, CancelToken()))
        return outcome.error

    def seen(self) -> tuple[list[str], dict[str, str]]:
        """Return what a model would read, and what the files hold."""
        return [repr(message) for message in self.story.session.messages()], dict(self.disk.files)


TURNS = st.lists(st.lists(st.tuples(st.sampled_from(PATHS), st.booleans()), max_size=4), min_size=1, max_size=5)


@given(TURNS, st.data())
@settings(max_examples=40, deadline=None)
def test_an_undo_and_its_undo_are_the_identity(turns: list[list[tuple[str, bool]]], data: st.DataObject) -> None:
    play, states = Play(), []
    for changes in turns:
        states.append(play.seen())
        play.turn(changes)
    states.append(play.seen())
    at, backs = len(turns), list[int]()
    for _ in range(data.draw(st.integers(1, 8))):
        if at and (not backs or data.draw(st.booleans())):
            back = data.draw(st.integers(1, at))
            assert play.go(Order(back=back)) is None
            at, backs = at - back, [*backs, back]
        else:
            assert play.go(Order(redo=True)) is None
            at += backs.pop()
        assert play.seen() == states[at]
    events = events_of(play.story)
    check_log(events)
    assert closers(MemoryLog(events)) == []
    assert fold_surface(events)[0] == play.story.session.surface.nodes
    assert len(Past(MemoryLog(events)).targets(play.story.session.surface.nodes)) == at


@given(TURNS, st.integers(0, 3), st.data())
@settings(max_examples=40, deadline=None)
def test_what_broke_off_can_be_gone_on_with_and_taken_back(
    turns: list[list[tuple[str, bool]]], puts: int, data: st.DataObject
) -> None:
    play, states = Play(), []
    for changes in turns:
        states.append(play.seen())
        play.turn(changes)
    states.append(play.seen())
    back = data.draw(st.integers(1, len(turns)))
    play.disk.puts_left = puts
    broke = play.go(Order(back=back)) is not None
    play.disk.puts_left = 1000
    assert play.seen()[0] == (states[-1] if broke else states[len(turns) - back])[0]
    if broke and data.draw(st.booleans()):
        assert play.go(Order(redo=True)) is None
        assert play.seen() == states[-1]
    elif broke:
        assert play.go(Order(back=back)) is None
    if play.seen() != states[-1]:
        assert play.seen() == states[len(turns) - back]


@given(TURNS, st.booleans(), st.data())
@settings(max_examples=40, deadline=None)
def test_a_log_that_ends_in_an_undo_is_whole_once_it_is_settled(
    turns: list[list[tuple[str, bool]]], redo: bool, data: st.DataObject
) -> None:
    play = Play()
    for changes in turns:
        play.turn(changes)
    whole = play.seen()[0]
    assert play.go(Order()) is None
    less = play.seen()[0]
    if redo:
        assert play.go(Order(redo=True)) is None
    events = events_of(play.story)
    start = max(event.seq for event in events if event.type == "undo/start")
    cut = session(MemoryLog(events[: data.draw(st.integers(start + 1, len(events)))]), seeded=True)
    settle(cut)
    messages = [repr(message) for message in cut.messages()]
    assert messages in (whole, less)
    assert Past(cut.events).open is None
    assert [text_of(m.content) for m in cut.messages() if m.role == "assistant"][-1:] in (
        [],
        [f"done {len(turns)}"],
        [f"done {len(turns) - 1}"],
    )


@pytest.mark.parametrize("when", ["since", "between"])
def test_own_work_is_never_lost(when: str) -> None:
    play = Play()
    play.turn([("/p/a", False)])
    play.disk.files["/p/a"] = "mine"
    if when == "between":
        play.turn([("/p/a", False)])
    before = play.seen()
    with pytest.raises(ServerError, match="/p/a"):
        play.go(Order(back=len(play.undoing().choices())))
    assert play.seen() == before
