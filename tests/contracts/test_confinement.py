"""The attack matrix: every box of this machine, as the superuser and as a user, against each effect.

Without a box nearly all of them succeed, which shows that they are real. A full box lets none through; the partial one
lets through exactly what it declares.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from acp_server.sandbox.landlock import GAPS
from tests.security.stage import IDENTITIES, Stage, account, attacked, fingerprint, python_for_all

MUST_WORK = frozenset(
    {"ws_write", "ws_mkdir_rename", "run_python_child", "read_system", "devnull_write", "git_commit_path"}
)
TOLD_ONLY = frozenset({"preexisting_hardlink_write", "secret_list"})
"""A hard link that was there before is a known limit (docs/sandbox.md, clause W-5); names of secrets are no secrets."""

NOT_FOR_ALL = frozenset({"sysrq_open_w", "fd_leak", "int80_table", "raw_disk_read", "mknod_block_read", "io_uring"})
"""Effects that some machines refuse by themselves."""

EFFECTS_REFUSED = 40
SUPERUSERS_ONLY = frozenset(
    {"mount_tmpfs", "remount_root_rw", "core_pattern_open_w", "open_by_handle_rw", "raw_disk_read", "mknod_block_read"}
)


def argv(made: Stage) -> list[str]:
    facts = {key: item for key, item in made.facts.items() if key != "udp_socket"}
    python = python_for_all() or sys.executable
    return [python, "-I", "-S", str(made.base / "code/tests/security/effects.py"), json.dumps(facts)]


def received(made: Stage) -> bool:
    try:
        return bool(made.facts["udp_socket"].recv(16))
    except BlockingIOError:
        return False


def succeeded(told: Mapping[str, str], made: Stage) -> set[str]:
    found = {name for name, answer in told.items() if answer == "ok"} - MUST_WORK - TOLD_ONLY
    return found if received(made) else found - {"net_udp"}


def attack(made: Stage, kind: str) -> tuple[dict[str, str], dict[str, Any]]:
    row = {"workspace": str(made.workspace), "argv": argv(made)}
    outcome = made.run([kind], [row])[0]
    assert (outcome["exit_code"], outcome["signal"]) == (0, None), outcome["text"]
    return json.loads(outcome["text"]), outcome


@pytest.mark.parametrize("identity", IDENTITIES)
def test_without_a_box_the_effects_are_real(identity: str) -> None:
    with attacked(identity) as made:
        done = subprocess.run(
            argv(made), capture_output=True, check=True, text=True, cwd=made.workspace, env={}, **account(identity)
        )
        told = json.loads(done.stdout)
        assert len(told) == EFFECTS_REFUSED + len(MUST_WORK) + len(TOLD_ONLY)
        expected = set(told) - MUST_WORK - TOLD_ONLY - NOT_FOR_ALL
        if identity == "user":
            expected -= SUPERUSERS_ONLY
        assert expected - succeeded(told, made) == set()


@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize("kind", ["bubblewrap", "namespaces"])
def test_a_full_box_lets_no_effect_through(kind: str, identity: str) -> None:
    with attacked(identity) as made:
        before = fingerprint(made.outside)
        told, outcome = attack(made, kind)
        assert {name: told[name] for name in MUST_WORK} == dict.fromkeys(MUST_WORK, "ok")
        assert succeeded(told, made) == set()
        after = fingerprint(made.outside)
        del before["prelinked"], after["prelinked"]
        assert after == before
        assert outcome["changed"] == []
        assert [name for name in (".vscode", ".mcp.json", ".git_old") if (made.workspace / name).exists()] == []
        assert sorted(path.name for path in (made.workspace / ".git").iterdir()) == [
            *("HEAD", "config", "hooks", "objects", "refs")
        ]


@pytest.mark.parametrize("identity", IDENTITIES)
def test_the_partial_box_lets_through_what_it_declares_and_undoes_what_it_can(identity: str) -> None:
    with attacked(identity) as made:
        told, outcome = attack(made, "landlock")
        assert {name: told[name] for name in MUST_WORK} == dict.fromkeys(MUST_WORK, "ok")
        assert succeeded(told, made) == set(GAPS)
        assert set(outcome["changed"]) >= {f"{made.workspace}/{name}" for name in (".git", ".vscode")}
        assert (made.workspace / ".git/config").read_text() == "[core]\n"
        assert list((made.workspace / ".git/hooks").iterdir()) == []
        assert not (made.workspace / ".vscode").exists()


@pytest.mark.parametrize("identity", IDENTITIES)
def test_a_read_only_box_writes_nothing_at_all(identity: str) -> None:
    with attacked(identity) as made:
        before = fingerprint(made.workspace)
        script = "touch new; rm link_dir; echo x >> .git/HEAD; mkdir .vscode; echo kept > /tmp/x && cat /tmp/x README"
        outcome = made.run(["bubblewrap", "namespaces"], [made.row(script, level="read-only")])[0]
        assert fingerprint(made.workspace) == before
        assert "kept" in outcome["text"]
        assert f"[sandbox: write denied under read-only: {made.workspace}/new]" in outcome["denied"]
