"""The store suite: listing many stored sessions, replaying a long one, opening a large one.

Logs are written beforehand as the server writes them, but not synced. Lists and opens are of a fresh process, its
imports included. A load is of a process that has made a session before, as the first request has a figure of its own;
the note tells it for a fresh one. Of another agent nothing is measured: its store is its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from acp_server.base.ids import SessionId
from acp_server.persistence.batches import encode_batch
from acp_server.persistence.paths import CATALOG_NAME, LOG_NAMES, encode_segment, project_key
from acp_server.persistence.records import encode_events, encode_header
from acp_server.session.events import SessionEvent
from acp_server.session.header import SessionHeader
from tests.bench.agent_process import AgentProcess
from tests.bench.figures import TARGETS, Figure
from tests.bench.readings import cpu_us, memory_mb
from tests.bench.setting import SCRIPTED, Setting, environment
from tests.support.logs import NOW, event, whole_turn

LATER_LISTS = 20
KNOWN_SECONDS = 60
DELTAS_OF_A_MESSAGE = 20
DELTAS_OF_A_LARGE_TURN = 60


def run(setting: Setting) -> list[Figure]:
    """Return the suite's figures."""
    if not setting.scripted:
        return []
    return [*_lists(setting), *_loads(setting), *_opens(setting, setting.events, "open", setting.times(3))]


def run_huge(setting: Setting) -> list[Figure]:
    """Return the figures of a log that nobody should have, and somebody will."""
    return _opens(setting, setting.many_events, "open-huge", setting.times(1)) if setting.scripted else []


def _lists(setting: Setting) -> list[Figure]:
    missing, first, later = list[Taken](), list[Taken](), list[Taken]()
    with TemporaryDirectory(prefix="bench-") as folder:
        place = Path(folder)
        for number in range(setting.sessions):
            write_log(place, f"s-{number:06}", [short_turn(number)])
        for _ in range(setting.times(3)):
            for beside in sessions_of(place).glob(f"{CATALOG_NAME}*"):
                beside.unlink()
            with fresh(setting, place) as process:
                missing.append(first_page(process))
                until_known(process)
            with fresh(setting, place) as process:
                first.append(first_page(process))
                later += [first_page(process) for _ in range(LATER_LISTS)]
    return [figure("list-first", first), figure("list-later", later), figure("list-missing", missing)]


def _loads(setting: Setting) -> list[Figure]:
    figures = []
    for name, messages in (("load", setting.messages), ("load-long", 2 * setting.messages)):
        batches, seq = list[Sequence[SessionEvent]](), 0
        for turn in range(1, messages // 2 + 1):
            batches.append(whole_turn(seq, turn, DELTAS_OF_A_MESSAGE))
            seq += len(batches[-1])
        found, first = list[Taken](), list[float]()
        with TemporaryDirectory(prefix="bench-") as folder:
            place = Path(folder)
            write_log(place, "long", batches)
            for _ in range(setting.times(3)):
                with fresh(setting, place) as process:
                    first.append(loaded(process, place)[0].wall)
                with fresh(setting, place) as process:
                    process.call("session/new", {"cwd": str(place), "mcpServers": []})
                    one, shown = loaded(process, place)
                    found.append(one)
        note = f"{messages} messages, {shown} frames, as a process's first request {median(first):.0f} ms, "
        figures.append(figure(name, found, note))
    return figures


def _turns(events: int) -> Iterator[Sequence[SessionEvent]]:
    seq, turn = 0, 1
    while seq < events:
        batch = whole_turn(seq, turn, DELTAS_OF_A_LARGE_TURN)
        seq, turn = seq + len(batch), turn + 1
        yield batch


def _opens(setting: Setting, events: int, name: str, times: int) -> list[Figure]:
    found, sizes = [], []
    with TemporaryDirectory(prefix="bench-") as folder:
        place = Path(folder)
        seq = write_log(place, "large", _turns(events))
        for _ in range(times):
            with fresh(setting, place) as process:
                found.append(taken(process, "session/resume", opening(place, "large"))[0])
                sizes.append(memory_mb(process.pid))
    note = f"{seq} events"
    return [figure(name, found, f"{note}, "), Figure(TARGETS[f"{name}-memory"], median(sizes), note=note)]


@dataclass(frozen=True, slots=True)
class Taken:
    """What a call took: milliseconds of the wall clock, and of the process's own time, later work included."""

    wall: float
    cpu: float


def loaded(process: AgentProcess, place: Path) -> tuple[Taken, int]:
    """Load the long session; return what it takes to the last message's update, and how many of those there are."""
    before = cpu_us(process.pid)
    sent, _, _ = process.call("session/load", opening(place, "long"))
    shown = [moment for moment, line in process.updates if b"_message_chunk" in line]
    return Taken((shown[-1] - sent) / 1e6, (cpu_us(process.pid) - before) / 1e3), len(shown)


def taken(process: AgentProcess, method: str, params: dict[str, object]) -> tuple[Taken, dict[str, Any]]:
    """Make a call; return what it took and its result."""
    before = cpu_us(process.pid)
    sent, answered, result = process.call(method, params)
    return Taken((answered - sent) / 1e6, (cpu_us(process.pid) - before) / 1e3), result


def first_page(process: AgentProcess) -> Taken:
    """Return what the first page of the list takes."""
    found, page = taken(process, "session/list", {})
    if not page["sessions"]:
        raise RuntimeError("nothing is listed")
    return found


def until_known(process: AgentProcess) -> None:
    """Return once the cache knows every session of the first page: their titles are read after a list was given."""
    deadline = time.monotonic() + KNOWN_SECONDS
    while any("title" not in entry for entry in process.call("session/list", {})[2]["sessions"]):
        if time.monotonic() > deadline:
            raise RuntimeError("the titles of the first page are not learned")
        time.sleep(0.05)


def figure(name: str, found: Sequence[Taken], note: str = "") -> Figure:
    """Return the median; the note has the least and the processor time, which other work on the machine spoils less."""
    walls, cpu = [one.wall for one in found], median(one.cpu for one in found)
    return Figure(TARGETS[name], median(walls), note=f"{note}least {min(walls):.0f} ms, processor {cpu:.0f} ms")


def short_turn(number: int) -> list[SessionEvent]:
    """Return a turn with a title, as every listed session has one."""
    turn = whole_turn(0, 1, 3)
    title = {"title": f"Session {number}", "messageSeqs": [1], "source": {"kind": "fallback"}}
    return [*turn, event(len(turn), "session/title", title)]


def write_log(place: Path, ident: str, batches: Iterable[Sequence[SessionEvent]]) -> int:
    """Write a log of these batches below the agent's state; return how many events it has."""
    directory = sessions_of(place) / project_key(str(place)) / encode_segment(ident)
    directory.mkdir(parents=True)
    header = SessionHeader(SessionId(ident), NOW, str(place))
    count = 0
    with (directory / LOG_NAMES["zstd"]).open("wb") as file:
        file.write(encode_batch("zstd", encode_header(header)))
        for batch in batches:
            file.write(encode_batch("zstd", encode_events(batch)))
            count += len(batch)
    return count


def sessions_of(place: Path) -> Path:
    """Return where the agent of that home keeps its sessions."""
    return place / "state" / "sessions"


def opening(place: Path, ident: str) -> dict[str, object]:
    """Return the params of session/load and session/resume."""
    return {"sessionId": ident, "cwd": str(place), "mcpServers": []}


@contextmanager
def fresh(setting: Setting, place: Path) -> Iterator[AgentProcess]:
    """Yield a fresh process of the agent in that home, after the handshake; it ends in order."""
    with AgentProcess(setting.argv, environment(place, {**SCRIPTED, **setting.extra}), place) as process:
        process.initialize()
        yield process
        process.end_input()
