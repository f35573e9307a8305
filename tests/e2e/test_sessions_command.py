"""`acp-server sessions` as a process, on a store that the product wrote."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from acp_server.base.ids import SessionId
from acp_server.messages.chunks import TextDelta
from acp_server.persistence.jsonl import JsonlPersistence
from acp_server.persistence.raw_batches import encode_raw
from acp_server.session.header import SessionHeader
from acp_server.session.session import Session
from tests.support import launch
from tests.support.story import Story

COMMAND = (sys.executable, "-m", "acp_server", "sessions")
START = 1_750_000_000_000
CREATED = "2025-06-15T15:06:40.000Z"
EVIL = "\x1b]0;owned\x07\x1b[2J\u202e"


class Ended(NamedTuple):
    """How a command ended: its exit code and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Shelf:
    """A store below a home, the sessions put there, and the command run on it."""

    def __init__(self, root: Path) -> None:
        self.environment = {**launch.environment(root), "TZ": "UTC"}
        self.sessions = root / "state" / "sessions"
        self.root = root
        self.runner = asyncio.Runner()
        self.store = self.runner.run(self._opened())
        self.held: list[JsonlPersistence] = []

    async def _opened(self) -> JsonlPersistence:
        return JsonlPersistence(self.sessions)

    def close(self) -> None:
        for store in (self.store, *self.held):
            self.runner.run(store.shutdown())
        self.runner.close()

    def put(
        self, ident: str, cwd: str = "/home/me/project", *, title: str = "", turns: int = 1, raw: bool = False
    ) -> Story:
        """Store a session of whole turns, each turn a batch of its own."""
        return self.runner.run(self._put(SessionHeader(SessionId(ident), START, cwd), title, turns, raw=raw))

    async def _put(self, header: SessionHeader, title: str, turns: int, *, raw: bool) -> Story:
        store = JsonlPersistence(self.sessions, compression="none") if raw else self.store
        await store.create(header)
        moments = count(START, 1000)
        story = Story(Session(header, now=lambda: next(moments)))
        store.attach(story.session)
        if title:
            story.session.append("session/title", {"title": title, "messageSeqs": [], "source": {"kind": "fallback"}})
        for number in range(1, turns + 1):
            story.whole(f"m{number}", f"Question {number}?", f"The answer is {number}.")
            await store.flush(story.session)
        await store.close(header.id)
        if raw:
            await store.shutdown()
        return story

    def hold(self, ident: str) -> None:
        """Keep a session open in this process."""
        self.held.append(self.runner.run(self._hold(ident)))

    async def _hold(self, ident: str) -> JsonlPersistence:
        store = JsonlPersistence(self.sessions)
        await store.prepare(SessionId(ident))
        return store

    def log(self, ident: str) -> Path:
        (log,) = self.sessions.glob(f"--*--/{ident}/session.jsonl*")
        return log

    def cut(self, ident: str, size: int) -> bytes:
        """Take bytes off the end of a log, and return what is left."""
        log = self.log(ident)
        left = log.read_bytes()[:-size]
        log.write_bytes(left)
        return left

    def run(self, *words: str, stdin: int = subprocess.DEVNULL, more: Mapping[str, str] | None = None) -> Ended:
        environment = {**self.environment, **(more or {})}
        done = subprocess.run(
            [*COMMAND, *words],
            stdin=stdin,
            capture_output=True,
            env=environment,
            cwd=self.root,
            timeout=60,
            check=False,
        )
        out, err = done.stdout.decode(), done.stderr.decode()
        for text in (out, err):
            assert "Traceback" not in text
            assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text), "a control character got out"
        return Ended(done.returncode, out, err)

    def title(self, ident: str) -> str | None:
        return str(self.run("show", ident, "--json").json["title"])


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    with closing(Shelf(tmp_path)) as made:
        yield made


def said(text: str) -> str:
    return f"acp-server sessions: {text}\n"


# -- list


def test_the_list_is_newest_first_with_id_time_title_and_cwd(shelf: Shelf) -> None:
    for ident, cwd, moment in (("aa", "/x/one", 1), ("bb", "/x/two", 3), ("cc", "/x/one", 2)):
        shelf.put(ident, cwd, title=f"Title of {ident}")
        os.utime(shelf.log(ident), (START // 1000 + moment, START // 1000 + moment))
    assert shelf.run("list") == Ended(
        0,
        "bb  2025-06-15 15:06:43  Title of bb  /x/two\n"
        "cc  2025-06-15 15:06:42  Title of cc  /x/one\n"
        "aa  2025-06-15 15:06:41  Title of aa  /x/one\n",
        "",
    )
    assert [line[:2] for line in shelf.run("list", "--cwd", "/x/one").out.splitlines()] == ["cc", "aa"]
    assert [line[:2] for line in shelf.run("list", "--limit", "2").out.splitlines()] == ["bb", "cc"]
    assert shelf.run("list", "--limit", "1", "--json").json == [
        {
            "id": "bb",
            "cwd": "/x/two",
            "title": "Title of bb",
            "createdAt": CREATED,
            "updatedAt": "2025-06-15T15:06:43.000Z",
            "events": 18,
            "turns": 1,
            "parent": None,
        }
    ]


def test_the_list_has_a_limit_that_all_lifts(shelf: Shelf) -> None:
    for number in range(203):
        folder = shelf.sessions / "--p--" / f"s-{number:03}"
        folder.mkdir(parents=True)
        head = {"type": "session", "version": 1, "id": folder.name, "createdAt": START, "cwd": "/p"}
        batches = [
            (json.dumps(head, separators=(",", ":")) + "\n").encode(),
            b'{"type":"x","seq":0,"time":1,"data":{}}\n',
        ]
        (folder / "session.jsonl").write_bytes(b"".join(map(encode_raw, batches)))
    counts = [len(shelf.run("list", *words).out.splitlines()) for words in ((), ("--limit", "201"), ("--all",))]
    assert counts == [50, 201, 203]
    assert len(shelf.run("list", "--all", "--json").json) == 203


def test_an_empty_store_is_said_and_left_alone(shelf: Shelf) -> None:
    assert shelf.run("list") == Ended(0, "", said(f"There is no session to list in {shelf.sessions}."))
    assert shelf.run("list", "--json").json == []
    assert not shelf.sessions.exists()


def test_a_broken_session_is_named_beside_the_list(shelf: Shelf) -> None:
    shelf.put("good")
    shelf.put("bad")
    shelf.log("bad").write_bytes(b"junk")
    ended = shelf.run("list")
    assert (ended.code, [line.split()[0] for line in ended.out.splitlines()]) == (0, ["good"])
    assert "--home-me-project--/bad cannot be listed" in ended.err
    assert [entry["id"] for entry in shelf.run("list", "--json").json] == ["good"]


def test_what_a_log_holds_never_drives_the_terminal(shelf: Shelf) -> None:
    shelf.put("evil", f"/tmp/{EVIL}/dir", title=f"Nice {EVIL} title")
    for words in (("list",), ("list", "--json"), ("show", "evil"), ("show", "evil", "--json"), ("export", "evil")):
        assert shelf.run(*words).code == 0
    assert "Nice title  /tmp/\\x1b]0;owned\\x07\\x1b[2J\\u202e/dir\n" in shelf.run("list").out
    assert shelf.run("show", "evil", "--json").json["cwd"] == f"/tmp/{EVIL}/dir"
    assert "begins with '\\x1b[2J'" in shelf.run("show", "\x1b[2J").err


# -- show and ids


def test_show_tells_the_facts(shelf: Shelf) -> None:
    shelf.put("one", title="First", turns=2)
    log = shelf.log("one")
    os.utime(log, (START // 1000 + 9, START // 1000 + 9))
    size = log.stat().st_size
    assert shelf.run("show", "one") == Ended(
        0,
        "id       one\n"
        "title    First\n"
        "cwd      /home/me/project\n"
        "created  2025-06-15 15:06:40\n"
        "updated  2025-06-15 15:06:49\n"
        "events   33\n"
        "turns    2\n"
        f"size     {size / 1024:.1f} KiB\n"
        f"log      {log}\n",
        "",
    )
    assert shelf.run("show", "one", "--json").json == {
        "id": "one",
        "cwd": "/home/me/project",
        "title": "First",
        "createdAt": CREATED,
        "updatedAt": "2025-06-15T15:06:49.000Z",
        "events": 33,
        "turns": 2,
        "parent": None,
        "inherited": None,
        "size": size,
        "file": str(log),
        "owner": None,
        "damage": None,
    }


def test_show_names_the_process_that_has_a_session_open_and_leaves_it_there(shelf: Shelf) -> None:
    shelf.put("one")
    shelf.hold("one")
    before = {
        path: path.read_bytes() for path in shelf.sessions.rglob("*") if path.is_file() and path.suffix != ".sqlite"
    }
    ended = shelf.run("show", "one")
    assert f"open in  process {os.getpid()} on {socket.gethostname()}\n" in ended.out
    owner = shelf.run("show", "one", "--json").json["owner"]
    assert (owner["pid"], owner["host"]) == (os.getpid(), socket.gethostname())
    assert {path: path.read_bytes() for path in before} == before


def test_the_start_of_an_id_is_enough_when_it_is_one_sessions(shelf: Shelf) -> None:
    for ident in ("abc-1", "abc-2", "abc", "xyz"):
        shelf.put(ident)
    assert shelf.run("show", "x", "--json").json["id"] == "xyz"
    assert shelf.run("show", "abc", "--json").json["id"] == "abc"
    assert shelf.run("show", "abc-") == Ended(1, "", said("'abc-' begins the ids of several sessions: abc-1, abc-2."))
    assert shelf.run("show", "no") == Ended(1, "", said("No stored session has an id that begins with 'no'."))
    assert shelf.run("show", "") == Ended(1, "", said("No stored session has an id that begins with ''."))


@pytest.mark.parametrize(
    "words",
    [
        "",
        "nothing",
        "show",
        "list --limit 0",
        "list --limit 2 --all",
        "verify",
        "verify --all x",
        "fork x --at -1",
        "export x --format pdf",
        "rename x",
    ],
)
def test_a_wrong_argument_ends_with_2(shelf: Shelf, words: str) -> None:
    ended = shelf.run(*words.split())
    assert (ended.code, ended.out, ended.err.startswith("usage: acp-server sessions")) == (2, "", True)


def test_without_a_home_the_variable_is_named(shelf: Shelf) -> None:
    ended = shelf.run("list", more={"ACP_SERVER_HOME": "not/absolute"})
    assert ended == Ended(1, "", said("ACP_SERVER_HOME is 'not/absolute'; it must be an absolute path."))


# -- export


def test_export_writes_a_transcript(shelf: Shelf) -> None:
    shelf.put("one", title="First")
    ended = shelf.run("export", "one")
    assert ended == Ended(
        0,
        "# First\n\n"
        "- Session: `one`\n- Created: 2025-06-15 15:06:40 UTC\n- Working directory: `/home/me/project`\n\n"
        "## You · 2025-06-15 15:06:45 UTC\n\n> Question 1?\n\n"
        "## Assistant · scripted/demo · 2025-06-15 15:06:55 UTC\n\nThe answer is 1.\n",
        "",
    )


@pytest.mark.parametrize("raw", [False, True])
def test_export_tells_each_event_of_the_log(shelf: Shelf, raw: bool) -> None:
    story = shelf.put("one", title="Ünïcode 日本", raw=raw)
    lines = [json.loads(line) for line in shelf.run("export", "one", "--format", "jsonl").out.splitlines()]
    assert lines[0] == {"type": "session", "version": 1, "id": "one", "createdAt": START, "cwd": "/home/me/project"}
    events = list(story.session.events.since(0))
    assert [(line["type"], line["seq"], line["time"]) for line in lines[1:]] == [
        (event.type, event.seq, event.time) for event in events
    ]
    deltas = [line["data"]["chunk"]["text"] for line in lines if line.get("data", {}).get("chunk", {}).get("text")]
    assert "".join(deltas) == "The answer is 1."
    assert (
        b'"title":"\xc3\x9cn\xc3\xafcode \xe6\x97\xa5\xe6\x9c\xac"'
        in shelf.run("export", "one", "--format", "jsonl").out.encode()
    )


def test_export_to_a_file_is_whole_private_and_replaces_nothing_unasked(shelf: Shelf) -> None:
    shelf.put("one")
    target = shelf.root / "out.md"
    assert shelf.run("export", "one", "-o", "out.md") == Ended(0, "", "")
    assert target.read_text("utf-8") == shelf.run("export", "one").out
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    target.write_text("mine", "utf-8")
    assert shelf.run("export", "one", "-o", "out.md") == Ended(1, "", said("out.md exists; --force replaces it."))
    assert target.read_text("utf-8") == "mine"
    assert shelf.run("export", "one", "-o", "out.md", "--force").code == 0
    assert target.read_text("utf-8").startswith("# ")
    assert sorted(path.name for path in shelf.root.iterdir()) == ["home", "out.md", "state", "tmp"]


def test_a_failed_export_writes_nothing(shelf: Shelf) -> None:
    shelf.put("one")
    shelf.log("one").write_bytes(b"junk")
    ended = shelf.run("export", "one", "-o", "out.md")
    assert (ended.code, ended.out) == (1, "")
    assert "is damaged at byte 0" in ended.err
    assert shelf.run("export", "one", "-o", "nowhere/out.md").code == 1
    assert sorted(path.name for path in shelf.root.iterdir()) == ["home", "state", "tmp"]


def test_export_of_a_damaged_log_ends_before_the_damage_and_says_so(shelf: Shelf) -> None:
    shelf.put("one", turns=2)
    shelf.cut("one", 3)
    ended = shelf.run("export", "one")
    assert (ended.code, "Question 1?" in ended.out, "Question 2?" in ended.out) == (0, True, False)
    assert "The log is torn at byte" in ended.err


def test_export_of_an_interrupted_turn_shows_what_was_visible(shelf: Shelf) -> None:
    async def crash() -> None:
        header = SessionHeader(SessionId("one"), START, "/w")
        await shelf.store.create(header)
        story = Story(Session(header, now=lambda: START))
        shelf.store.attach(story.session)
        story.begin().stream(TextDelta(0, "Half an "), TextDelta(0, "answ"))
        await shelf.store.close(header.id)

    shelf.runner.run(crash())
    ended = shelf.run("export", "one")
    assert ended.out.endswith("\n\nHalf an answ\n\n*This answer was interrupted.*\n\n*The turn ended: interrupted.*\n")
    assert "interrupted" not in shelf.run("export", "one", "--format", "jsonl").out


def test_export_of_an_open_session_says_what_is_missing(shelf: Shelf) -> None:
    shelf.put("one")
    shelf.hold("one")
    ended = shelf.run("export", "one")
    assert (ended.code, "The answer is 1." in ended.out) == (0, True)
    assert f"The session is open in process {os.getpid()} on" in ended.err


# -- verify


def test_verify_names_frame_byte_and_event_of_what_is_wrong(shelf: Shelf) -> None:
    shelf.put("good")
    shelf.put("torn", turns=3)
    shelf.put("hole", turns=3, raw=True)
    left = shelf.cut("torn", 3)
    hole = shelf.log("hole")
    content = hole.read_bytes()
    at = content.index(b"Question 2?")
    hole.write_bytes(content[:at] + b"\0" + content[at + 1 :])
    ended = shelf.run("verify", "--all", "--json")
    assert ended.code == 1
    assert ended.err == said("3 sessions read, 2 with something wrong.")
    good, wrong, torn = ended.json
    assert good == {
        "id": "good",
        "sound": True,
        "events": 17,
        "lastSeq": 16,
        "file": str(shelf.log("good")),
        "frame": 0,
        "offset": shelf.log("good").stat().st_size,
        "problem": None,
    }
    assert (wrong["id"], wrong["sound"], wrong["frame"], wrong["lastSeq"]) == ("hole", False, 2, 16)
    assert wrong["problem"].startswith(f"corrupt at byte {wrong['offset']}: ")
    assert (torn["id"], torn["frame"], torn["lastSeq"], torn["file"]) == ("torn", 3, 31, str(shelf.log("torn")))
    assert left[torn["offset"] :].startswith(b"\x28\xb5\x2f\xfd")
    ended = shelf.run("verify", "torn", "good")
    where = f"{shelf.log('torn')}, frame 3, byte {torn['offset']}, last good event 31"
    assert ended.out == f"torn  wrong: {torn['problem']} ({where})\ngood  sound, 17 events\n"


def test_verify_of_sound_logs_ends_with_0_and_changes_nothing(shelf: Shelf) -> None:
    shelf.put("a")
    shelf.put("b", raw=True)
    before = {path: path.read_bytes() for path in shelf.sessions.rglob("session*")}
    assert shelf.run("verify", "--all").code == 0
    assert {path: path.read_bytes() for path in shelf.sessions.rglob("session*")} == before


def test_verify_reads_what_no_list_shows(shelf: Shelf) -> None:
    shelf.put("one")
    shelf.log("one").write_bytes(b"")
    ended = shelf.run("verify", "--all")
    assert ended.code == 1
    assert "the file is empty" in ended.out
    assert "frame 0, byte 0, no good event" in ended.out


# -- repair


def events_of(shelf: Shelf, ident: str) -> list[Any]:
    lines = shelf.run("export", ident, "--format", "jsonl").out.splitlines()
    return [json.loads(line) for line in lines[1:]]


def test_repair_makes_a_session_of_what_can_be_read_and_keeps_the_damaged_one(shelf: Shelf) -> None:
    shelf.put("one", title="Precious", turns=3, raw=True)
    log = shelf.log("one")
    content = log.read_bytes()
    at = content.index(b"Question 2?")
    log.write_bytes(content[:at] + b"\0" + content[at + 1 :])
    damaged = log.read_bytes()
    ended = shelf.run("repair", "one")
    child = ended.out.strip()
    assert ended.code == 0
    assert said("18 events of one are in the new session; the old one is as it was.") in ended.err
    assert "Not kept: From byte" in ended.err
    assert events_of(shelf, child) == events_of(shelf, "one")
    facts = shelf.run("show", child, "--json").json
    assert (facts["parent"], facts["inherited"], facts["title"]) == ("one", 18, "Precious")
    assert log.read_bytes() == damaged
    assert "Precious" in shelf.run("list", "--limit", "1").out


def test_repair_keeps_the_complete_lines_of_a_torn_end_when_it_is_asked_to(shelf: Shelf) -> None:
    story = shelf.put("one", turns=2)
    left = shelf.cut("one", 2)
    whole = shelf.run("repair", "one", "--salvage-tail")
    assert whole.code == 0
    assert len(events_of(shelf, whole.out.strip())) == story.session.seq
    assert shelf.log("one").read_bytes() == left
    plain = shelf.run("repair", "one")
    assert len(events_of(shelf, plain.out.strip())) == 17
    shelf.hold("one")
    shelf.runner.run(shelf.held.pop().shutdown())
    told = shelf.run("repair", "one")
    assert (told.code, told.out) == (0, "")
    assert "session.torn-1; --salvage-tail makes a session with what is whole in it." in told.err
    again = shelf.run("repair", "one", "--salvage-tail")
    assert events_of(shelf, again.out.strip()) == events_of(shelf, whole.out.strip())


def test_repair_of_a_sound_session_does_nothing(shelf: Shelf) -> None:
    shelf.put("one")
    assert shelf.run("repair", "one") == Ended(0, "", said("The session one is sound; there is nothing to repair."))
    assert shelf.run("repair", "one", "--salvage-tail") == Ended(1, "", said("The session one has no torn end."))
    assert len(shelf.run("list", "--json").json) == 1


def test_repair_waits_for_no_other_process(shelf: Shelf) -> None:
    shelf.put("one")
    shelf.hold("one")
    ended = shelf.run("repair", "one")
    holder = f"process {os.getpid()} on {socket.gethostname()}"
    assert ended == Ended(1, "", said(f"The session is open in {holder}; it can be repaired when it is closed there."))


# -- fork


def test_fork_begins_as_its_parent(shelf: Shelf) -> None:
    shelf.put("one", title="First", turns=2)
    ended = shelf.run("fork", "one")
    assert (ended.code, ended.err) == (0, said("The new session begins with 33 events of one."))
    child = ended.out.strip()
    assert events_of(shelf, child) == events_of(shelf, "one")
    assert shelf.run("show", child).out.splitlines()[7] == "parent   one (33 events inherited)"
    earlier = shelf.run("fork", "one", "--at", "17").out.strip()
    assert events_of(shelf, earlier) == events_of(shelf, "one")[:18]


def test_fork_refuses_where_no_session_can_begin(shelf: Shelf) -> None:
    shelf.put("one", turns=1)
    assert shelf.run("fork", "one", "--at", "5") == Ended(
        1, "", said("Turn 1 is still open there; fork before it began or after it ended.")
    )
    assert shelf.run("fork", "one", "--at", "99").code == 1
    assert len(shelf.run("list", "--json").json) == 1


def test_fork_works_while_another_process_has_the_session_open(shelf: Shelf) -> None:
    shelf.put("one")
    shelf.hold("one")
    assert shelf.run("fork", "one").code == 0


# -- rename


def test_rename_pins_a_title(shelf: Shelf) -> None:
    shelf.put("one", title="Made up")
    assert shelf.run("rename", "one", f"My {EVIL}\n title") == Ended(0, "", said("The session one is called My title."))
    assert events_of(shelf, "one")[-1]["data"] == {"title": "My title", "messageSeqs": [], "source": {"kind": "user"}}
    assert (shelf.title("one"), shelf.run("list", "--json").json[0]["title"]) == ("My title", "My title")
    assert shelf.run("verify", "one").code == 0


def test_rename_refuses_what_cannot_be_seen(shelf: Shelf) -> None:
    shelf.put("one", title="Made up")
    assert shelf.run("rename", "one", " \x1b[0m ") == Ended(2, "", said("The title has no character that can be seen."))
    assert shelf.title("one") == "Made up"


def test_rename_leaves_a_session_to_the_process_that_has_it_open(shelf: Shelf) -> None:
    shelf.put("one", title="Made up")
    shelf.hold("one")
    ended = shelf.run("rename", "one", "Mine")
    assert (ended.code, ended.out) == (1, "")
    assert f"The session is open in process {os.getpid()} on {socket.gethostname()}" in ended.err
    assert shelf.title("one") == "Made up"


# -- delete


def test_delete_moves_sessions_to_the_trash(shelf: Shelf) -> None:
    for ident in ("one", "two", "three"):
        shelf.put(ident)
    content = shelf.log("one").read_bytes()
    ended = shelf.run("delete", "one", "two", "--yes")
    assert ended == Ended(0, "", said(f"2 sessions moved to {shelf.sessions}/.trash."))
    assert [entry["id"] for entry in shelf.run("list", "--json").json] == ["three"]
    (kept,) = (shelf.sessions / ".trash").glob("one*/session.jsonl.zstd")
    assert kept.read_bytes() == content


def test_delete_without_a_terminal_needs_yes(shelf: Shelf) -> None:
    shelf.put("one")
    ended = shelf.run("delete", "one")
    assert ended == Ended(2, "", said("Deleting asks on a terminal; without one, --yes says that it is meant."))
    assert shelf.run("show", "one").code == 0


def test_delete_of_an_unknown_id_deletes_nothing(shelf: Shelf) -> None:
    shelf.put("one")
    assert shelf.run("delete", "one", "nobody", "--yes").code == 1
    assert shelf.run("show", "one").code == 0


def test_delete_leaves_what_is_open_elsewhere(shelf: Shelf) -> None:
    shelf.put("one")
    shelf.put("two")
    shelf.hold("one")
    ended = shelf.run("delete", "one", "two", "--yes")
    assert ended.code == 1
    assert f"one stays: The session is open in process {os.getpid()} on" in ended.err
    assert [entry["id"] for entry in shelf.run("list", "--json").json] == ["one"]


@pytest.mark.parametrize(("answer", "code", "left"), [(b"y\n", 0, []), (b"\n", 1, ["one"]), (b"no\n", 1, ["one"])])
def test_delete_asks_on_a_terminal(shelf: Shelf, answer: bytes, code: int, left: list[str]) -> None:
    shelf.put("one")
    master, slave = pty.openpty()
    try:
        os.write(master, answer)
        ended = shelf.run("delete", "one", stdin=slave)
    finally:
        os.close(master)
        os.close(slave)
    assert (ended.code, ended.err.startswith("one\nMove 1 session to the trash? [y/N] ")) == (code, True)
    assert [entry["id"] for entry in shelf.run("list", "--json").json] == left


# -- pipes and terminals


def test_a_reader_that_goes_away_is_no_failure(shelf: Shelf) -> None:
    shelf.put("one", turns=400)
    words = [*COMMAND, "export", "one", "--format", "jsonl"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=shelf.environment, cwd=shelf.root
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_progress_is_shown_on_a_terminal_only(shelf: Shelf) -> None:
    shelf.put("one")
    master, slave = pty.openpty()
    try:
        words = [*COMMAND, "verify", "--all"]
        done = subprocess.run(
            words, stdout=subprocess.PIPE, stderr=slave, env=shelf.environment, cwd=shelf.root, timeout=60, check=False
        )
        shown = os.read(master, 65536)
    finally:
        os.close(master)
        os.close(slave)
    assert (done.returncode, done.stdout) == (0, b"one  sound, 17 events\n")
    assert b"\r\x1b[Kverifying 1 of 1: one\r\x1b[K" in shown


def test_lines_of_a_log_are_ascii_on_a_terminal(shelf: Shelf) -> None:
    shelf.put("one", title="C1 \u0085 日本")
    master, slave = pty.openpty()
    try:
        words = [*COMMAND, "export", "one", "--format", "jsonl"]
        with subprocess.Popen(
            words, stdout=slave, stderr=subprocess.PIPE, env=shelf.environment, cwd=shelf.root
        ) as process:
            os.close(slave)
            shown = b"".join(iter(lambda: _read(master), b""))
    finally:
        os.close(master)
    assert process.returncode == 0
    assert shown.isascii()
    assert b"\\u65e5\\u672c" in shown


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""  # Linux ends a terminal without a writer with EIO


# -- sweep


def test_a_sweep_removes_what_no_event_names(shelf: Shelf) -> None:
    for ident in ("swept", "held", "torn"):
        shelf.put(ident)
        folder = shelf.log(ident).parent / "attachments"
        folder.mkdir()
        (folder / f"sha256-{'0' * 64}").write_bytes(b"12345")
    shelf.hold("held")
    shelf.cut("torn", 3)
    assert shelf.run("sweep", "swept").code == 2
    ended = shelf.run("sweep", "--all", "--yes")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.endswith(said("1 attachment removed, 5 bytes."))
    assert "held stays as it is: the session is open in process" in ended.err
    assert "torn stays as it is: its log is not whole" in ended.err
    left = {path.parents[1].name for path in shelf.sessions.glob("--*--/*/attachments/*")}
    assert left == {"held", "torn"}
    assert shelf.run("sweep", "held", "--yes").code == 1
    assert shelf.run("sweep", "swept", "--yes") == Ended(0, "", said("0 attachments removed, 0 bytes."))


# -- the trash


def test_the_trash_is_emptied_by_age_and_on_request_alone(shelf: Shelf) -> None:
    for ident in ("old", "young", "kept"):
        shelf.put(ident)
    assert shelf.run("delete", "old", "young", "--yes").code == 0
    trash = shelf.sessions / ".trash"
    aged = time.time() - 31 * 24 * 3600
    os.utime(trash / "old.1" / "session.lock", (aged, aged))
    assert shelf.run("sweep", "--trash").code == 2
    assert shelf.run("sweep", "kept", "--older-than", "3", "--yes").code == 2
    first = shelf.run("sweep", "--trash", "--yes")
    assert first == Ended(0, "", said("1 deleted session removed for good; 1 deleted since then stay."))
    assert [path.name for path in trash.iterdir()] == ["young.1"]
    (trash / "young.1").rename(shelf.log("kept").parents[1] / "young")
    assert shelf.run("show", "young").code == 0
    assert shelf.run("delete", "young", "--yes").code == 0
    assert shelf.run("sweep", "--trash", "--older-than", "0", "--yes").err == said(
        "1 deleted session removed for good."
    )
    assert list(trash.iterdir()) == []
    assert shelf.run("show", "kept").code == 0
