"""Going back to an earlier message, files included, and back again: what would happen, and making it happen.

Owns the order of steps: everything is looked at and nothing written; what is there is kept and recorded, durably; then
files are written one by one; then the conversation changes, in one step. docs/undo.md, clauses U-1 to U-9, and
docs/sessions.md, clauses U-1 to U-8.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from acp_server.agent.undo_files import UndoFiles
from acp_server.base.cancel import CancelToken
from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonValue
from acp_server.base.ports import HeldJournal, Ids
from acp_server.base.values import value
from acp_server.messages.blocks import Message, ModelSource, text_of
from acp_server.messages.codec import message_to_json
from acp_server.session.events import APPEND, Replace
from acp_server.session.file_changes import FILE_CHANGE, FileChange, change_data, changes_in
from acp_server.session.file_undo import FilePlan, Step, by_path, plan_files
from acp_server.session.history import derive_message
from acp_server.session.session import Session
from acp_server.session.undo import (
    RESTORES,
    UNDO_END,
    UNDO_START,
    Bracket,
    Past,
    Target,
    UndoKind,
    removal_in,
    restored_nodes,
    restoring_data,
)

INTERRUPTED: Final = "It was interrupted."
_RECORDED: Final = frozenset({"write", "edit", "multi_edit", "job_list", "job_output", "job_stop"})
"""Tools whose every change of a file is in the log, or that make none."""
_PLAN: Final = "todo/write"
_ONLY_LOOKING: Final = frozenset({"read", "search", "think"})
"""Kinds of cards whose calls change nothing."""


@value
class Order:
    """What is asked for: the undo of the last undo, or going back before a message of the person.

    That is the one with `message_id`, else the `back`-th from the end. Without `files` no file is touched.
    """

    redo: bool = False
    back: int = 1
    message_id: str | None = None
    files: bool = True


@value
class Proposal:
    """What would happen. `messages` are the person's that go, or come back, the oldest first.

    `others` counts the calls, by tool, of which nobody knows what they changed.
    """

    kind: UndoKind
    bracket: Bracket | None
    target: Target | None
    first: int
    messages: tuple[tuple[str, str], ...]
    plan: FilePlan
    others: tuple[tuple[str, int], ...] = ()


@value
class Outcome:
    """What happened: the proposal, the files that changed, and what went wrong, None for nothing.

    When something did, the conversation is as it was.
    """

    proposal: Proposal
    changed: tuple[Step, ...]
    error: str | None = None


class Undo:
    """The undoing in one session. Nothing of it may overlap with a turn."""

    def __init__(
        self, session: Session, files: UndoFiles, journal: HeldJournal, ids: Ids, used: Callable[[], int | None]
    ) -> None:
        """`used` gives what the next request would have, in tokens, as far as it is known."""
        self._session = session
        self._files = files
        self._journal = journal
        self._ids = ids
        self._used = used

    async def propose(self, order: Order, cancel: CancelToken) -> Proposal:
        """Return what would happen; nothing does.

        Raises:
            ServerError: NOTHING_TO_UNDO, NO_SUCH_MESSAGE.
        """
        past = Past(self._session.events)
        found = self._redo(past) if order.redo else self._undo(past, order)
        if not order.files:
            return found
        changes = self._changes(found)
        present = await self._files.look(list(by_path(changes)), cancel)
        kind, bracket, target, first = found.kind, found.bracket, found.target, found.first
        return Proposal(kind, bracket, target, first, found.messages, plan_files(changes, present), found.others)

    async def carry_out(self, order: Order, until: int | None, cancel: CancelToken) -> Outcome:
        """Do it. `until` is the seq from which on the person's order stands in the log.

        Raises:
            ServerError: UNDO_CONFLICT, when a file must not be touched; nothing was changed then. What `propose`
                raises, or the log's refusal.
            Cancelled: the token was cancelled before the first file was written.
        """
        proposal = await self.propose(order, cancel)
        if proposal.plan.conflicts:
            names = ", ".join(conflict.path for conflict in proposal.plan.conflicts)
            raise ServerError("UNDO_CONFLICT", f"Nothing was changed, because of {names}.")
        ident = self._begin(proposal, until)
        try:
            changed, error = await self._write(proposal.plan.steps, cancel)
        except BaseException:
            self._session.append(UNDO_END, {"undoId": ident, "done": False, "error": INTERRUPTED}, ignorable=True)
            raise
        if error is None:
            self._turn_over(proposal)
        end: dict[str, JsonValue] = {
            "undoId": ident,
            "done": error is None,
            **(self._after(proposal) if error is None else {}),
        }
        self._session.append(UNDO_END, end if error is None else {**end, "error": error}, ignorable=True)
        await self._journal.flush()
        return Outcome(proposal, changed, error)

    def settle(self) -> None:
        """Close a bracket that an earlier life left open; see `settle`."""
        settle(self._session)

    def choices(self) -> tuple[Target, ...]:
        """Return the messages that can be gone back to, the newest first."""
        return Past(self._session.events).targets(self._session.surface.nodes)

    def _undo(self, past: Past, order: Order) -> Proposal:
        targets = past.targets(self._session.surface.nodes)
        if not targets:
            raise ServerError("NOTHING_TO_UNDO", "There is no message to go back to.")
        number = order.back - 1
        if order.message_id is not None:
            number = next((n for n, one in enumerate(targets) if one.message_id == order.message_id), len(targets))
        if not 0 <= number < len(targets):
            far = f"only {len(targets)} message(s) can be taken back"
            raise ServerError("NO_SUCH_MESSAGE", f"There is no such message to go back to; {far}.")
        target = targets[number]
        messages = tuple((one.message_id, one.text) for one in reversed(targets[: number + 1]))
        others = _unrecorded(past, target.first)
        return Proposal("undo", None, target, target.first, messages, FilePlan(), others)

    def _redo(self, past: Past) -> Proposal:
        bracket = past.latest
        if bracket is None:
            raise ServerError("NOTHING_TO_UNDO", "There is no undo that could be undone.")
        log = self._session.events
        derived = ((derive_message(log[node]), log[node].data) for node in restored_nodes(log, bracket))
        messages = tuple(
            (message.id, text_of(message.content, " "))
            for message, data in derived
            if message is not None and _person(data.get("source"))
        )
        return Proposal("redo", bracket, None, bracket.start, messages if bracket.done else (), FilePlan())

    def _changes(self, found: Proposal) -> tuple[FileChange, ...]:
        """Return the changes that go; those of an undo that is taken back, and what came to its files since."""
        changes = changes_in(self._session.events.of_types((FILE_CHANGE,), found.first))
        if found.bracket is None:
            return changes
        end = self._session.seq if found.bracket.end is None else found.bracket.end
        own = {change.path for change in changes if change.seq < end}
        return tuple(change for change in changes if change.path in own)

    def _begin(self, proposal: Proposal, until: int | None) -> str:
        ident, seq = self._ids.new(), self._session.seq
        first = proposal.first if proposal.kind == "undo" else seq
        data: dict[str, JsonValue] = {
            "undoId": ident,
            "kind": proposal.kind,
            "first": first,
            "until": seq if until is None or proposal.kind == "redo" else until,
        }
        of = {} if proposal.bracket is None else {"of": proposal.bracket.id}
        self._session.append(UNDO_START, {**data, **of}, ignorable=True)
        return ident

    async def _write(self, steps: Sequence[Step], cancel: CancelToken) -> tuple[tuple[Step, ...], str | None]:
        """Write the files; return those that were, and why it ended early."""
        done: list[Step] = []
        try:
            cancel.raise_if_cancelled()
            kept = [(step, await self._files.keep(step)) for step in steps]
            cancel.raise_if_cancelled()
            for step, before in kept:
                self._session.append(FILE_CHANGE, change_data(step.path, before, step.to), ignorable=True)
            if kept:
                await self._journal.flush()
            for step in steps:
                await self._files.put(step)
                done.append(step)
        except ServerError as error:
            where = "" if len(done) == len(steps) else f"{steps[len(done)].path}: "
            return tuple(done), where + error.message
        return tuple(done), None

    def _turn_over(self, proposal: Proposal) -> None:
        """Change the conversation: one event takes messages away; copies bring them back."""
        session = self._session
        if proposal.target is not None:
            _remove(session, proposal.target.nodes)
        elif proposal.bracket is not None and proposal.bracket.done:
            for node in restored_nodes(session.events, proposal.bracket):
                event = session.events[node]
                session.append(event.type, restoring_data(event), surface_op=APPEND, sources=(node,))

    def _after(self, proposal: Proposal) -> dict[str, JsonValue]:
        """Return the plan and the size of the conversation as they are, where they are others than before."""
        facts: dict[str, JsonValue] = {}
        todos = _plan_after(self._session, proposal)
        if todos is not None:
            facts["todos"] = todos
        used = self._used()
        return facts if used is None else {**facts, "contextTokens": used}


def settle(session: Session) -> None:
    """Close a bracket that an earlier life left open: what was whole stands, what was half is taken off again."""
    bracket = Past(session.events).open
    if bracket is None:
        return
    whole = bracket.kind == "undo" and removal_in(session.events, bracket) is not None
    nodes = [seq for seq in session.surface.nodes if seq > bracket.start and RESTORES in session.events[seq].data]
    if nodes:
        _remove(session, nodes)
    data: dict[str, JsonValue] = {"undoId": bracket.id, "done": whole}
    session.append(UNDO_END, data if whole else {**data, "error": INTERRUPTED}, ignorable=True)


def _remove(session: Session, nodes: Sequence[int]) -> None:
    """Take nodes that stand in a row off the Surface: an answer without content stands for them."""
    header = session.request_header()
    source = ModelSource("none", "none") if header is None else ModelSource(header.config.provider, header.config.model)
    message = Message(f"undo-{session.seq}", "assistant", (), source)
    data: dict[str, JsonValue] = {"turn": 1, "step": 1, "message": message_to_json(message)}
    session.append("assistant/message", data, surface_op=Replace(nodes[0], nodes[-1]), sources=tuple(nodes))


def _unrecorded(past: Past, first: int) -> tuple[tuple[str, int], ...]:
    """Return the tools, with the number of their calls, that may have changed what no event tells of."""
    names = Counter[str]()
    for event in past.visible(first):
        if event.type == "tool/call" and event.data["name"] not in _RECORDED:
            view = event.data.get("view")
            if not isinstance(view, Mapping) or view.get("kind") not in _ONLY_LOOKING:
                names[str(event.data["name"])] += 1
    return tuple(names.items())


def _plan_after(session: Session, proposal: Proposal) -> JsonValue:
    """Return the plan that holds after it, an empty one for none, or None when it is the same as before."""
    past, log = Past(session.events), session.events
    begun = proposal.bracket.first if proposal.bracket is not None else proposal.first
    ends = proposal.bracket.until if proposal.bracket is not None else None
    written = [event for event in log.of_types((_PLAN,)) if not past.is_hidden(event.seq) or event.seq >= begun]
    within = [event for event in written if event.seq >= begun and (ends is None or event.seq < ends)]
    if not within:
        return None
    if proposal.kind == "redo":
        return within[-1].data["todos"]
    before = [event for event in written if event.seq < begun]
    return before[-1].data["todos"] if before else []


def _person(source: JsonValue) -> bool:
    return isinstance(source, Mapping) and source.get("kind") == "user"
