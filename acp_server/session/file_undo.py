"""Which files go back to what, decided before the first of them is touched (docs/undo.md, clauses U-1 to U-9). Pure.

Owns the comparison of a file as it is with what this session's last change left. Whatever cannot be shown to be that is
a conflict: nobody's own work is ever written over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acp_server.base.values import value
from acp_server.session.file_changes import FileChange, FileState

CHANGED = "it was changed since, by you or a command"
CHANGED_BETWEEN = "it was changed by you or a command between two changes of the agent"
NOT_KEPT = "what it held before was not kept"
NOTHING = FileState(None)


@value
class Present:
    """A file as it is; `problem` is why it must not be touched, or None."""

    state: FileState
    problem: str | None = None


@value
class Step:
    """One file that goes from `now` to `to`."""

    path: str
    now: FileState
    to: FileState

    @property
    def verb(self) -> str:
        """Return what happens to the file, in one word."""
        if self.to.digest is None:
            return "delete"
        return "create" if self.now.digest is None else "restore"


@value
class Conflict:
    """A file that stays as it is, and why."""

    path: str
    reason: str


@value
class FilePlan:
    """Every file that would change, and every one that forbids it; both in order of the first change."""

    steps: tuple[Step, ...] = ()
    conflicts: tuple[Conflict, ...] = ()


def by_path(changes: Sequence[FileChange]) -> dict[str, list[FileChange]]:
    """Return the changes of each file, in order."""
    found: dict[str, list[FileChange]] = {}
    for change in changes:
        found.setdefault(change.path, []).append(change)
    return found


def plan_files(changes: Sequence[FileChange], present: Mapping[str, Present]) -> FilePlan:
    """Return how each changed file gets back to what it was before its first change; `present` has all of them."""
    steps: list[Step] = []
    conflicts: list[Conflict] = []
    for path, own in by_path(changes).items():
        now, target = present[path], own[0].before
        if now.problem is None and now.state.digest == target.digest:
            continue
        reason = now.problem or _conflict(own, now.state)
        if reason is None:
            steps.append(Step(path, now.state, target))
        else:
            conflicts.append(Conflict(path, reason))
    return FilePlan(tuple(steps), tuple(conflicts))


def _conflict(changes: Sequence[FileChange], now: FileState) -> str | None:
    target = changes[0].before
    happened, unbroken = _happened(changes)
    last = happened[-1]
    if now.digest not in (last.after.digest, last.before.digest):
        return CHANGED
    if not unbroken:
        return CHANGED_BETWEEN
    return NOT_KEPT if target.digest is not None and target.kept is None else None


def _happened(changes: Sequence[FileChange]) -> tuple[list[FileChange], bool]:
    """Return the changes without those that a crash or a failure kept from happening, and whether they are a chain."""
    kept: list[FileChange] = []
    unbroken = True
    for change in changes:
        if kept and change.before.digest != kept[-1].after.digest:
            if change.before.digest == kept[-1].before.digest:
                kept.pop()
            else:
                unbroken = False
        kept.append(change)
    return kept, unbroken
