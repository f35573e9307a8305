"""A store of sessions as this version writes it, for later versions to read: `python -m tests.support.sample_store`.

Writes tests/data/log-vN, N being the version of the log's format, and what is read from it. A folder that is there is
kept: logs of a version that was released never change, and a new version gets a folder of its own.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from acp_server.base.ids import SessionId
from acp_server.base.json_value import JsonValue
from acp_server.messages.blocks import ImageBlock, Message, TextBlock, UserSource
from acp_server.messages.chunks import FinishChunk, ReasoningDelta
from acp_server.messages.codec import message_to_json
from acp_server.persistence.attachment_id import attachment_id
from acp_server.persistence.batches import Encoding
from acp_server.persistence.held_session import HeldSession
from acp_server.persistence.lock import Owner
from acp_server.persistence.opening import Store
from acp_server.persistence.paths import INDEX_NAME, LOCK_NAME
from acp_server.persistence.port import PersistenceError
from acp_server.persistence.posix_io import PosixIo
from acp_server.persistence.recovery import look
from acp_server.session.event_json import event_to_json
from acp_server.session.events import REQUIRED_TYPES
from acp_server.session.header import SessionHeader
from acp_server.session.header_json import header_to_json
from acp_server.session.log import EventLog
from acp_server.session.projections import ProjectionSet
from acp_server.session.session import Session
from acp_server.session.stats import StatsProjection
from acp_server.session.title import TitleProjection
from acp_server.session.usage import UsageProjection
from tests.support.launch import REPOSITORY
from tests.support.pictures import png
from tests.support.story import Story, text, ticking, user

VERSION = 1
DATA = REPOSITORY / "tests" / "data"
READ = "read.json"
NAMES = ("talk", "raw", "child", "broken-off", "torn", "damaged", "every-type")
LONG = "A long text goes to a file of its own. " * 7000
LONGEST = 1000
CWD = "/home/me/project"
PLACE: dict[str, JsonValue] = {"turn": 1, "step": 1}
EVERY: tuple[tuple[str, dict[str, JsonValue]], ...] = (
    ("turn/start", {"turn": 1}),
    ("step/start", PLACE),
    ("todo/write", {"todos": [{"content": "look", "status": "in_progress"}]}),
    ("file/change", {"path": "/home/me/project/a.txt", "before": None, "after": {"hash": "0" * 64}}),
    ("llm/retry", {"retryId": "r", **PLACE, "retry": 1, "delayMs": 500, "failure": {"code": "OVERLOADED"}}),
    ("llm/retry-started", {"retryId": "r", **PLACE, "retry": 1}),
    ("model/selected", {"provider": "scripted", "model": "demo", "reasoningEffort": "high"}),
    ("agent-preset/selected", {"agentPreset": "mine", "name": "Mine", "tools": ["read"], "prompt": "Be brief."}),
    ("permission/preset", {"preset": "plan"}),
    ("sandbox/mode", {"mode": "read-only"}),
    ("sandbox/network", {"network": "off"}),
    ("plan/mode", {"active": True}),
    ("approval/asked", {"id": "q", "toolName": "bash"}),
    ("approval/decided", {"id": "q", "outcome": "allowed"}),
    ("approval/rule", {"change": "added", "rule": {"verdict": "allow", "scope": "session"}}),
    ("subagent/spent", {"callId": "c", "sessionId": "s-9", "usage": {}}),
    ("question/asked", {"id": "q2", "question": "Which?"}),
    ("question/answered", {"id": "q2", "outcome": "answered"}),
    ("hook/invoked", {"hookId": "h", "event": "Stop", "command": "true", **PLACE}),
    ("hook/result", {"hookId": "h", "outcome": "passed", "durationMs": 3}),
    ("compaction/start", {"compactionId": "k", "turn": 1, "tokensBefore": 900}),
    ("compaction/summary", {"compactionId": "k", "summary": [{"type": "text", "text": "It was short."}]}),
    ("compaction/prune", {"tokens": 12}),
    ("compaction/end", {"compactionId": "k", "turn": 1, "tokensAfter": 90}),
    ("compaction/auto", {"auto": False}),
    ("step/end", {**PLACE, "contextTokens": 90}),
    ("turn/end", {"turn": 1, "reason": {"kind": "completed"}}),
    ("undo/start", {"undoId": "u", "kind": "undo", "first": 1, "until": 24}),
    ("undo/end", {"undoId": "u", "done": True}),
    ("command/run", {"commandId": "c", "name": "undo"}),
    ("command/done", {"commandId": "c", "kind": "completed"}),
    ("session/title", {"title": "Every type", "messageSeqs": [], "source": {"kind": "user"}}),
    ("subagent/descriptor", {"version": 2, "mode": "spawn", "label": "part"}),
    ("of/the-future", {"anything": [1, 2.5, None, "\u2028\U0001f600"]}),
)


def write_store(root: Path) -> None:
    """Write the sessions below that folder, without what is of one machine: locks and indexes."""
    talk = _write(root, "talk", _talk())
    _write(root, "raw", _short("raw", "It is all plain text."), encoding="none")
    store = _store(root)
    child = SessionHeader(SessionId("child"), 9000, CWD)
    store.fork(SessionId("talk"), None, child, None)[0].release()
    _write(root, "broken-off", _broken_off())
    torn = _write(root, "torn", _short("torn", "This answer is whole."), _short("torn", "This one is not.", 1))
    _cut(torn, lambda data: data[:-9])
    damaged = _write(root, "damaged", *(_short("damaged", "Turn by turn.", turn) for turn in range(3)))
    _cut(
        damaged, lambda data: data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 255]) + data[len(data) // 2 + 1 :]
    )
    _write(root, "every-type", _every())
    for name in (LOCK_NAME, INDEX_NAME):
        for path in root.rglob(name):
            path.unlink()
    (talk.parent / "attachments" / attachment_id(png())).stat()


def read_store(root: Path) -> dict[str, Any]:
    """Return what this version reads from the sessions below that folder; opening them changes them."""
    return {name: _read(root, name) for name in NAMES}


def _read(root: Path, name: str) -> dict[str, Any]:
    store = _store(root)
    stored = look(store.io, store.place_of(SessionId(name)), SessionId(name))
    found: dict[str, Any] = {
        "header": header_to_json(stored.header),
        "events": [event_to_json(event) for event in stored.log.since(0)],
    }
    try:
        files, loaded = store.open(SessionId(name))
    except PersistenceError as error:
        found |= {"refused": error.code, **_folds(stored.header, stored.log)}
    else:
        files.release()
        closers = [event_to_json(event) for event in loaded.log.since(len(found["events"]))]
        found |= {"notices": len(loaded.notices), "closers": closers, **_folds(loaded.header, loaded.log)}
    plain: dict[str, Any] = json.loads(json.dumps(found), object_pairs_hook=_short_texts)
    return plain


def _folds(header: SessionHeader, log: EventLog) -> dict[str, Any]:
    """Return what is derived from the events."""
    projections = ProjectionSet(log)
    for projection in (TitleProjection(), StatsProjection(), UsageProjection()):
        projections.register(projection)
    session = Session(header, now=lambda: 0, log=log)
    return {
        "messages": [message_to_json(message) for message in session.messages()],
        **{key: projections.view(key) for key in ("title", "stats", "usage")},
    }


def _short_texts(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object with a digest in the place of each text that is too long to be read."""
    return {key: _digest(given) if isinstance(given, str) and len(given) > LONGEST else given for key, given in pairs}


def _digest(words: str) -> str:
    return f"{len(words)} characters, sha256 {sha256(words.encode()).hexdigest()}"


def _store(root: Path, encoding: Encoding = "zstd") -> Store:
    return Store(PosixIo(), str(root), encoding, Owner(1, "here", 1))


def _write(root: Path, name: str, *parts: Session, encoding: Encoding = "zstd") -> Path:
    """Store one batch a session of `parts`, which continue each other; return the log."""
    files = _store(root, encoding).fresh(SessionHeader(SessionId(name), 1000, CWD))
    for part in parts:
        _commit(files, part)
    if name == "talk":
        files.put_attachment(png())
    files.release()
    return Path(files.place.path)


def _commit(files: HeldSession, part: Session) -> None:
    files.commit(list(part.events.since(files.stored)))


def _told(name: str) -> Story:
    clock = ticking()
    return Story(Session(SessionHeader(SessionId(name), 1000, CWD), now=lambda: next(clock)))


def _talk() -> Session:
    """Return two turns with everything that a reader packs, joins and folds."""
    story = _told("talk").begin("m1", "What is in the file?")
    story.stream(*(ReasoningDelta(0, part) for part in ("Let ", "me ", "see")), *text("I look at it."))
    story.stream(FinishChunk("tool-calls"))
    story.answer(TextBlock("I look at it."))
    story.call("c1")
    story.result("c1", content="1\tHello, \u4e16\u754c\n")
    story.close_step()
    story.open_step()
    story.stream(*text("It greets the world."), FinishChunk("stop"))
    story.answer(TextBlock("It greets the world."), usage={"inputTokens": 12, "outputTokens": 5})
    story.close_step()
    story.close_turn()
    first = story.session.surface.nodes[0]
    picture = ImageBlock(attachment_id(png()), "image/png", len(png()), 3, 2)
    asked = message_to_json(Message("m2", "user", (TextBlock(LONG), picture), UserSource()))
    story.queue(asked)
    story.open_turn()
    story.claim()
    story.open_step()
    story.say(asked)
    story.replace(first, story.session.surface.nodes[-2], user("summary", "They looked at a file."))
    story.stream(*text("That was long."), FinishChunk("stop"))
    story.answer(TextBlock("That was long."))
    story.close_step()
    story.close_turn()
    story.session.append("session/title", {"title": "A file", "messageSeqs": [], "source": {"kind": "user"}})
    return story.session


def _short(name: str, reply: str, before: int = 0) -> Session:
    story = _told(name)
    for turn in range(before + 1):
        story.whole(f"m{turn}", f"Question {turn}", reply)
    return story.session


def _broken_off() -> Session:
    """Return a session whose process ended in a call of a tool, while another prompt waited."""
    story = _told("broken-off").with_calls("c1", "c2")
    story.call("c1")
    story.queue(user("m2", "And then?"))
    return story.session


def _every() -> Session:
    session = Session(SessionHeader(SessionId("every-type"), 1000, CWD), now=ticking().__next__)
    for kind, data in EVERY:
        session.append(kind, data, ignorable=kind not in REQUIRED_TYPES)
    return session


def _cut(log: Path, change: Any) -> None:
    log.write_bytes(change(log.read_bytes()))


def _text(found: Any) -> str:
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def main(arguments: Iterable[str] = ()) -> int:
    """Write the folder of this version, unless it is there."""
    folder = DATA / f"log-v{VERSION}"
    if folder.exists() and "--again" not in arguments:
        print(f"{folder} is there already")
        return 1
    shutil.rmtree(folder, ignore_errors=True)
    sessions = folder / "sessions"
    sessions.mkdir(parents=True)
    write_store(sessions)
    copy = folder / "copy"
    shutil.copytree(sessions, copy)
    (folder / READ).write_text(_text(read_store(copy)), "utf-8")
    shutil.rmtree(copy)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
