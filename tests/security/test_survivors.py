"""Nothing of a command is left: not when it is ended, not when the server is killed, whatever it has hidden where."""

from __future__ import annotations

import os
import sys
import time
import uuid
from pathlib import Path

import pytest

from tests.security.stage import IDENTITIES, Stage, python_for_all, stage

KILLS = int(os.environ.get("ACP_SERVER_TEST_KILLS", "20"))
AT_ONCE = 10
BOXES = ("bubblewrap", "namespaces")


def carriers(tag: str) -> list[int]:
    """Return the living processes whose arguments hold a tag, without the box's and the server's own."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
                state = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if tag.encode() in words and state != "Z":
                found.append(int(name))
    return found


def wait_for(tag: str, least: int, seconds: float) -> int:
    """Return how many carriers there are, once there are that many or the time is over."""
    end = time.monotonic() + seconds
    while (count := len(carriers(tag))) < least and time.monotonic() < end:
        time.sleep(0.1)
    return count


def wait_for_none(tag: str, seconds: float) -> list[int]:
    end = time.monotonic() + seconds
    while (left := carriers(tag)) and time.monotonic() < end:
        time.sleep(0.05)
    return left


def hostile(made: Stage, tag: str, **more: object) -> dict[str, object]:
    script = str(made.base / "code/tests/security/hostile.py")
    python = python_for_all() or sys.executable
    return {"workspace": str(made.workspace), "argv": [python, "-I", "-S", script, tag, "30"], **more}


@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize("kind", [*BOXES, "landlock"])
def test_a_command_that_is_ended_leaves_nothing(kind: str, identity: str) -> None:
    kills = KILLS if kind == "bubblewrap" else max(KILLS // 10, 2)
    with stage(identity) as made:
        for start in range(0, kills, AT_ONCE):
            tag = uuid.uuid4().hex
            rows = [hostile(made, tag, cancel_after=2.0) for _ in range(min(AT_ONCE, kills - start))]
            outcomes = made.run([kind], rows, together=True)
            assert [outcome["cancelled"] for outcome in outcomes] == [True] * len(rows)
            assert ["ready" in outcome["text"] for outcome in outcomes] == [True] * len(rows)
            assert carriers(tag) == []


@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize("kind", BOXES)
def test_a_killed_server_leaves_nothing(kind: str, identity: str) -> None:
    kills = KILLS if kind == "bubblewrap" else 2
    with stage(identity) as made:
        for start in range(0, kills, AT_ONCE):
            count = min(AT_ONCE, kills - start)
            tags = [uuid.uuid4().hex for _ in range(count)]
            servers = [made.start([kind], [hostile(made, tag)]) for tag in tags]
            for tag in tags:
                assert wait_for(tag, 4, 30) >= 4
            for server in servers:
                server.kill()
                server.communicate()
            assert [wait_for_none(tag, 5) for tag in tags] == [[]] * count


def test_a_command_without_a_box_leaves_nothing() -> None:
    with stage("user") as made:
        tag = uuid.uuid4().hex
        (outcome,) = made.run(["bubblewrap"], [hostile(made, tag, level="full-access", cancel_after=1.5)])
        assert ("ready" in outcome["text"], carriers(tag)) == (True, [])


def test_time_runs_out_and_the_outcome_says_so() -> None:
    with stage("user") as made:
        rows = [
            made.row("echo before; sleep 60", wall=0.7),
            made.row("trap 'echo asked; exit 0' TERM; echo before; sleep 60 & wait", wall=0.7, grace=5.0),
            made.row("trap '' TERM; echo before; sleep 60", wall=0.7, grace=0.3),
        ]
        outcomes = made.run(["bubblewrap", "namespaces"], rows, together=True)
        assert [(o["text"], o["exit_code"], o["signal"], o["timed_out"]) for o in outcomes] == [
            ("before\n", 143, None, True),
            ("before\nasked\n", 0, None, True),
            ("before\n", None, 9, True),
        ]
        assert all(outcome["seconds"] < 5 for outcome in outcomes)


def test_what_runs_on_in_the_background_ends_with_its_command() -> None:
    with stage("user") as made:
        tag = uuid.uuid4().hex
        command = f"bash -c 'sleep 60; exit' {tag} & setsid bash -c 'sleep 60; exit' {tag} & echo started"
        (outcome,) = made.run(["bubblewrap", "namespaces"], [made.row(command)])
        assert (outcome["text"], outcome["exit_code"], carriers(tag)) == ("started\n", 0, [])
