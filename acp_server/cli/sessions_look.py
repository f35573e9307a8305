"""`sessions list`, `show` and `verify`: what there is and whether it is whole. Nothing but the list's cache is written.

Owns what these commands print, for a person and as JSON (docs/sessions-command.md).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Final

from acp_server.base.json_value import JsonValue
from acp_server.base.printable import visible
from acp_server.cli.sessions_check import Finding, check, stored_to_check
from acp_server.cli.sessions_store import SessionFiles, holder_text, note
from acp_server.cli.terminal import ABSENT, counted, iso_time, json_text, local_time, size_text, table, title_text
from acp_server.persistence.lock import Owner
from acp_server.persistence.port import Origin, SessionEntry
from acp_server.persistence.recovery import Found
from acp_server.persistence.summary import Summary, summarize

PAGE: Final = 200


async def list_sessions(given: argparse.Namespace, files: SessionFiles) -> int:
    """Print the sessions that have events, newest first, and name on stderr those that cannot be listed; return 0."""
    entries = await _entries(files, given.cwd, None if given.all else given.limit)
    family = [(entry, 0) for entry in entries]
    if given.children:
        family = with_children(entries, await _entries(files, given.cwd, None, "subagent"), orphans=given.all)
    if given.json:
        print(json_text([_entry_json(entry) for entry, _ in family]))
    elif family:
        sys.stdout.write(table([_entry_row(entry, depth) for entry, depth in family]))
    else:
        note(f"There is no session to list in {files.store.root}{'' if given.cwd is None else f' for {given.cwd}'}.")
    return 0


def with_children(
    entries: Sequence[SessionEntry], children: Sequence[SessionEntry], *, orphans: bool
) -> list[tuple[SessionEntry, int]]:
    """Return the sessions, each with its sub-agents below it and how deep it stands, the oldest of them first.

    Those of sessions that are gone follow at the end when `orphans`.
    """
    below = dict[str | None, list[SessionEntry]]()
    for child in sorted(children, key=lambda entry: (entry.created_at, entry.id)):
        below.setdefault(child.parent_session, []).append(child)
    family = list[tuple[SessionEntry, int]]()

    def add(entry: SessionEntry, depth: int) -> None:
        family.append((entry, depth))
        for child in below.pop(entry.id, ()):
            add(child, depth + 1)

    for entry in entries:
        add(entry, 0)
    for child in children if orphans else ():
        if child in below.get(child.parent_session, ()) and child.parent_session not in {one.id for one in children}:
            add(child, 1)
    return family


async def _entries(
    files: SessionFiles, cwd: str | None, limit: int | None, origin: Origin = None
) -> list[SessionEntry]:
    entries, cursor = list[SessionEntry](), None
    while limit is None or len(entries) < limit:
        wanted = PAGE if limit is None else min(PAGE, limit - len(entries))
        page = await files.persistence.list(cwd, cursor, wanted, origin=origin)
        for broken in page.broken:
            note(f"{broken.place} cannot be listed: {broken.reason}")
        entries += page.entries
        cursor = page.next_cursor
        if cursor is None:
            break
    return entries


def _entry_row(entry: SessionEntry, depth: int = 0) -> tuple[str, ...]:
    cwd = ABSENT if entry.cwd is None else visible(entry.cwd)
    return f"{'  ' * depth}{visible(entry.id)}", local_time(entry.updated_at), title_text(entry.title), cwd


def _entry_json(entry: SessionEntry) -> JsonValue:
    return {
        "id": entry.id,
        "cwd": entry.cwd,
        "title": entry.title,
        "createdAt": iso_time(entry.created_at),
        "updatedAt": iso_time(entry.updated_at),
        "events": entry.events,
        "turns": entry.turns,
        "parent": entry.parent_session,
        **({} if entry.origin is None else {"origin": entry.origin}),
    }


async def show(given: argparse.Namespace, files: SessionFiles) -> int:
    """Print the facts of one session, whoever has it open; return 0."""
    session_id = files.resolve(given.session)
    found, holder = files.look(session_id), files.holder(session_id)
    updated = files.store.io.facts(found.place.path).mtime_ns // 1_000_000
    summary = summarize(found.log.milestones(), found.scan.next_seq)
    if given.json:
        print(json_text(_found_json(found, summary, holder, updated)))
    else:
        sys.stdout.write(table(list(_found_rows(found, summary, holder, updated))))
    return 0


def _found_rows(found: Found, summary: Summary, holder: Owner | None, updated: int) -> Iterator[tuple[str, str]]:
    header, damage = found.header, found.scan.damage
    yield "id", visible(header.id)
    yield "title", title_text(summary.title)
    yield "cwd", ABSENT if header.cwd is None else visible(header.cwd)
    yield "created", local_time(header.created_at)
    yield "updated", local_time(updated)
    yield "events", str(summary.events)
    yield "turns", str(summary.turns)
    if header.parent_session is not None:
        inherited = f"{visible(header.parent_session)} ({counted(header.seed_length or 0, 'event')} inherited)"
        yield "parent", inherited
    yield "size", size_text(len(found.data))
    yield "log", visible(found.place.path)
    if holder is not None:
        yield "open in", visible(holder_text(holder))
    if damage is not None and not (holder is not None and damage.kind == "torn"):
        yield "damage", visible(f"{damage.kind} at byte {damage.offset}: {damage.reason}")


def _found_json(found: Found, summary: Summary, holder: Owner | None, updated: int) -> JsonValue:
    header, damage = found.header, found.scan.damage
    return {
        "id": header.id,
        "cwd": header.cwd,
        "title": summary.title,
        "createdAt": iso_time(header.created_at),
        "updatedAt": iso_time(updated),
        "events": summary.events,
        "turns": summary.turns,
        "parent": header.parent_session,
        "inherited": header.seed_length,
        "size": len(found.data),
        "file": found.place.path,
        "owner": None if holder is None else {"pid": holder.pid, "host": holder.host, "start": iso_time(holder.start)},
        "damage": None
        if damage is None
        else {"kind": damage.kind, "offset": damage.offset, "lastSeq": damage.last_seq, "reason": damage.reason},
    }


async def verify(given: argparse.Namespace, files: SessionFiles) -> int:
    """Read every byte of the named logs or of all; return 1 when anything is wrong with one, else 0."""
    chosen = stored_to_check(files, None if given.all else given.sessions)
    findings = list[Finding]()
    for number, stored in enumerate(chosen, 1):
        _progress(f"verifying {number} of {len(chosen)}: {visible(stored.id or stored.place.path)}")
        finding = await check(files, stored)
        _progress("")
        findings.append(finding)
        if not given.json:
            print(_finding_text(finding), flush=True)
    if given.json:
        print(json_text([_finding_json(finding) for finding in findings]))
    return _verdict(findings)


def _verdict(findings: Sequence[Finding]) -> int:
    wrong = sum(not finding.sound for finding in findings)
    note(f"{counted(len(findings), 'session')} read, {wrong} with something wrong.")
    return 1 if wrong else 0


def _finding_text(finding: Finding) -> str:
    name = visible(finding.id or finding.file)
    if finding.sound:
        return f"{name}  sound, {counted(finding.events, 'event')}"
    last = f"last good event {finding.last_seq}" if finding.last_seq >= 0 else "no good event"
    where = f"{finding.file}, frame {finding.frame}, byte {finding.offset}, {last}"
    return f"{name}  wrong: {visible(finding.problem or '')} ({visible(where)})"


def _finding_json(finding: Finding) -> JsonValue:
    return {
        "id": finding.id,
        "sound": finding.sound,
        "events": finding.events,
        "lastSeq": finding.last_seq,
        "file": finding.file,
        "frame": finding.frame,
        "offset": finding.offset,
        "problem": finding.problem,
    }


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()
