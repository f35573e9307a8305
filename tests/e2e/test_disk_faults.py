"""What a person is told when the disk refuses, and that nothing is lost by it (docs/log-format.md, section W)."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

import pytest

from tests.e2e.sessions import folder, listed, live, load, log_of, opening, restarted, said
from tests.e2e.stage import Stage, script, stop_reason
from tests.support import launch
from tests.support.client import Client
from tests.support.trace import Obj

NOTICES: Obj = {"session": {"notices": {}}}
ORDINARY = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
"""Starts a command without root's right to pass over permissions."""


def ordinary(stage: Stage, capabilities: Obj | None = NOTICES) -> Client:
    """Start a server that permissions bind, and shake hands."""
    wrap: tuple[str, ...] = ()
    if os.geteuid() == 0:
        if shutil.which(ORDINARY[0]) is None:
            pytest.skip("permissions do not bind root, and setpriv is not there to give root's rights up")
        wrap = ORDINARY
    client = stage.client(wrap=wrap)
    client.initialize(capabilities)
    return client


@contextmanager
def forbidden(path: Path, mode: int = 0o500) -> Iterator[None]:
    """Take rights on a directory away for a while."""
    before = path.stat().st_mode & 0o777
    path.chmod(mode)
    try:
        yield
    finally:
        path.chmod(before)


def full(client: Client, session: str) -> list[str]:
    return [title for title in notices(client, session) if "disk is full" in title]


def notices(client: Client, session: str) -> list[str]:
    return [u.fields["title"] for u in live(client, session) if u.kind == "notice"]


@pytest.fixture
def disk(stage: Stage) -> Iterator[Path]:
    """The state directory on a small file system of its own."""
    stage.state.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", "size=512k", "none", str(stage.state)]
    with suppress(OSError):
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            yield stage.state
            for client in stage.clients:
                if client.agent.popen.poll() is None:
                    client.agent.end()
            subprocess.run(["umount", str(stage.state)], check=True)
            return
    pytest.skip("only root can mount, and not everywhere")


def fill(disk: Path) -> Path:
    """Take all that is left of the disk; return the file to remove."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    return ballast


# -- no space


def test_a_full_disk_is_told_and_nothing_is_lost_once_there_is_room(stage: Stage, disk: Path) -> None:
    client = stage.client()
    client.initialize(NOTICES)
    session, beside = client.new_session(stage.project), client.new_session(stage.project)
    for one in (session, beside):
        client.prompt(one, script("say One."))
    ballast = fill(disk)
    ident = client.ask(session, script("burst 2000 0123456789abcdef{n}"))
    assert client.trace.wait(lambda: full(client, session) != [], 30)
    assert str(log_of(stage, session)) in full(client, session)[0]
    assert {entry["sessionId"] for entry in listed(client)} == {session, beside}
    assert client.wait(ident, 4.0) is None, "the turn waits, for longer than a short outage"
    assert len(full(client, session)) == 1
    ballast.unlink()
    assert stop_reason(client.answer(ident, 30)) == "end_turn"
    assert notices(client, session)[-1] == "The disk takes this session's events again; nothing is missing."
    shown = said(live(client, session))
    assert shown.endswith("0123456789abcdef1999")
    answer, turn = client.prompt(session, script("say Two."))
    assert (stop_reason(answer), client.said(turn)) == ("end_turn", "Two.")
    client = restarted(stage)
    assert said(load(client, session, stage.project)) == f"{shown}Two."
    assert said(load(client, beside, stage.project)) == "One."


def test_a_turn_that_waits_for_the_disk_can_be_cancelled(stage: Stage, disk: Path) -> None:
    client = stage.client()
    client.initialize(NOTICES)
    session = client.new_session(stage.project)
    client.prompt(session, script("say One."))
    ballast = fill(disk)
    ident = client.ask(session, script("burst 2000 0123456789abcdef{n}"))
    assert client.trace.wait(lambda: full(client, session) != [], 30)
    assert client.wait(ident, 4.0) is None
    client.notify("session/cancel", {"sessionId": session})
    assert stop_reason(client.answer(ident, 30)) == "cancelled"
    shown = said(live(client, session))
    ident = client.ask(session, script("say Two."))
    assert client.wait(ident, 1.0) is None, "the next turn waits as well"
    ballast.unlink()
    assert stop_reason(client.answer(ident, 30)) == "end_turn"
    assert said(load(restarted(stage), session, stage.project)) == f"{shown}Two."


def test_a_tool_waits_for_the_disk_before_it_acts(stage: Stage, disk: Path) -> None:
    client = stage.client()
    client.initialize(NOTICES)
    session = client.new_session(stage.project)
    client.prompt(session, script("say One."))
    client.result("session/set_mode", {"sessionId": session, "modeId": "auto"})
    ballast = fill(disk)
    filler = Random(5).randbytes(8_000).hex()
    made = stage.project / "made.txt"
    call = f'call write {{"path": "{made}", "content": "{filler}"}}'
    ident = client.ask(session, script(call, "step", "say Two."))
    assert client.trace.wait(lambda: full(client, session) != [], 30)
    assert (client.wait(ident, 4.0), made.exists()) == (None, False)
    ballast.unlink()
    assert stop_reason(client.answer(ident, 30)) == "end_turn"
    assert made.read_text() == filler


def test_a_disk_that_is_full_from_the_start_leaves_no_half_session(stage: Stage, disk: Path) -> None:
    ballast = fill(disk)
    client = stage.client()
    client.initialize()
    session = client.new_session(stage.project)
    answer, _ = client.prompt(session, script("say One."))
    assert answer["error"]["code"] == -32603
    assert "disk is full" in answer["error"]["data"]["details"]
    assert listed(client) == []
    assert list((disk / "sessions").glob("--*/*/session.jsonl*")) == []
    ballast.unlink()
    answer, turn = client.prompt(session, script("say Two."))
    assert (stop_reason(answer), client.said(turn)) == ("end_turn", "Two.")
    assert said(load(restarted(stage), session, stage.project)) == "Two."


# -- no right to write


def test_a_read_only_disk_shows_and_refuses(stage: Stage, disk: Path) -> None:
    client, session = stage.open()
    client.prompt(session, script("say One."))
    assert client.agent.end() is None
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    client = stage.client()
    client.initialize(NOTICES)
    assert [entry["sessionId"] for entry in listed(client)] == [session]
    assert said(load(client, session, stage.project)) == "One."
    assert client.trace.wait(lambda: any("read-only" in title for title in notices(client, session)), 5)
    refusal = client.answer(client.ask(session, script("say Two.")))["error"]
    assert (refusal["code"], "read-only" in refusal["data"]["details"]) == (-32600, True)
    other = client.new_session(stage.project)
    refusal = client.answer(client.ask(other, script("say Two.")))["error"]
    assert (refusal["code"], "read-only" in refusal["data"]["details"]) == (-32603, True)
    assert [entry["sessionId"] for entry in listed(client)] == [session]
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    assert said(load(client, session, stage.project)) == "One."
    for one in (session, other):
        answer, turn = client.prompt(one, script("say Three."))
        assert (stop_reason(answer), client.said(turn)) == ("end_turn", "Three.")


def test_a_state_directory_that_is_not_ours_shows_and_refuses(stage: Stage) -> None:
    client, session = stage.open()
    client.prompt(session, script("say One."))
    assert client.agent.end() is None
    client = ordinary(stage)
    with (
        forbidden(folder(stage, session)),
        forbidden(folder(stage, session).parent),
        forbidden(stage.state / "sessions"),
    ):
        (folder(stage, session) / "session.lock").chmod(0o400)
        log_of(stage, session).chmod(0o400)
        assert [entry["sessionId"] for entry in listed(client)] == [session]
        assert said(load(client, session, stage.project)) == "One."
        refusal = client.answer(client.ask(session, script("say Two.")))["error"]
        assert (refusal["code"], "permission" in refusal["data"]["details"]) == (-32600, True)
        new = client.answer(client.ask(client.new_session(stage.project), script("say Two.")))["error"]
        assert (new["code"], "permission" in new["data"]["details"]) == (-32603, True)
        assert client.error("session/delete", {"sessionId": session})["code"] == -32603
    assert [entry["sessionId"] for entry in listed(client)] == [session]


def test_a_directory_that_is_closed_for_two_seconds_costs_nothing(stage: Stage) -> None:
    client = ordinary(stage)
    session = client.new_session(stage.project)
    client.prompt(session, script("say One."))
    place = folder(stage, session)
    ident = client.ask(session, script("pace 20", "chunks words", f"say {'word ' * 200}"))
    client.wait_update("agent_message_chunk", len(client.trace.frames))
    with forbidden(place, 0o000):
        assert client.trace.wait(lambda: any("permission" in title for title in notices(client, session)), 3)
        assert client.wait(ident, 2.0) is None
    answer = client.answer(ident)
    assert stop_reason(answer) == "end_turn"
    answer, _ = client.prompt(session, script("say Three."))
    assert stop_reason(answer) == "end_turn"
    assert said(load(restarted(stage), session, stage.project)) == f"One.{'word ' * 200}".rstrip() + "Three."


def test_a_session_whose_first_write_was_refused_lives_on(stage: Stage) -> None:
    client = ordinary(stage)
    first = client.new_session(stage.project)
    client.prompt(first, script("say Here."))
    session = client.new_session(stage.project)
    with forbidden(folder(stage, first).parent):
        refusal = client.answer(client.ask(session, script("say One.")))["error"]
        assert (refusal["code"], "permission" in refusal["data"]["details"]) == (-32603, True)
    answer, turn = client.prompt(session, script("say Two."))
    assert (stop_reason(answer), client.said(turn)) == ("end_turn", "Two.")
    assert said(load(restarted(stage), session, stage.project)) == "Two."


def test_a_log_that_another_program_removed_is_told_and_a_fork_saves_everything(stage: Stage) -> None:
    client, session = stage.open()
    client.prompt(session, script("say One."))
    log_of(stage, session).unlink()
    refusal = client.answer(client.ask(session, script("say Two.")))["error"]
    assert (refusal["code"], "fork" in refusal["data"]["details"]) == (-32603, True)
    fork = client.result("_acp_server/session/fork", {"sessionId": session})["sessionId"]
    answer, _ = client.prompt(fork, script("say Three."))
    assert stop_reason(answer) == "end_turn"
    assert said(load(restarted(stage), fork, stage.project)) == "One.Three."


# -- no home


def test_without_any_variable_the_accounts_home_is_asked_for(stage: Stage) -> None:
    """A client whose environment names no home lists what lies in the account's; nothing is made there."""
    client = stage.client(env={**launch.source_path(), "ACP_SERVER_MODEL": launch.SCRIPTED})
    client.initialize()
    assert "sessions" in client.result("session/list", {})
    client.new_session(stage.project)


def test_without_any_home_a_session_says_what_to_set(stage: Stage) -> None:
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root can start a process of an account that nobody knows")
    if not os.access(launch.REPOSITORY, os.R_OK):
        pytest.skip("this checkout is not readable by everybody")
    nobody = ("setpriv", "--reuid=54321", "--clear-groups")
    env = {**launch.source_path(), "PYTHONDONTWRITEBYTECODE": "1", "ACP_SERVER_MODEL": launch.SCRIPTED}
    reads = subprocess.run([*nobody, *launch.COMMAND[:1], "-c", "import acp_server"], env=env, check=False)
    if reads.returncode:
        pytest.skip("this interpreter or checkout is not readable by everybody")
    client = stage.client(env=env, wrap=nobody)
    client.initialize()
    for method, params in (
        ("session/new", {"cwd": "/", "mcpServers": []}),
        ("session/list", {}),
        ("session/load", opening("x", "/")),
    ):
        refusal = client.error(method, params)
        assert (refusal["code"], "ACP_SERVER_HOME" in refusal["data"]["details"]) == (-32603, True)
