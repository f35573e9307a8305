"""Commands and file tools get the same answer: 400 paths at three levels, and what differs is declared."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from acp_server.sandbox.facts import Host
from acp_server.sandbox.fence import Fence
from acp_server.sandbox.lists import GIT_PROTECTED, HOME_SECRETS, PROTECTED
from acp_server.sandbox.policy import LEVELS, Level, Policy
from acp_server.sandbox.refusals import Denied
from acp_server.sandbox.roots import Roots
from acp_server.sandbox.verdict import STRICTER, Access, Refusal, verdict
from tests.security.stage import Stage, python_for_all, stage

TRY_ALL = """
import json, os, sys
answers = {}
for path in json.load(open(sys.argv[1])):
    for access, flags in (("read", os.O_RDONLY), ("write", os.O_WRONLY)):
        try:
            fd = os.open(path, flags | os.O_NONBLOCK)
            told = access == "write" or os.path.isdir(path) or os.read(fd, 6) == b"canary"
            os.close(fd)
        except OSError:
            told = False
        answers[access + path] = told
print(json.dumps(answers))
"""


NAMES = ("a.txt", "b c", "ü", ".hidden", "Makefile", "x.pem", ".env", ".gitignore", ".env.example", "hooks", "config")


def scene(made: Stage) -> list[Path]:
    """Make some 400 files of all kinds, each with the same bytes."""
    workspace, paths = made.workspace, []
    for folder in ("", "src/", "src/deep/er/", "docs/"):
        paths += [
            workspace / f"{folder}{name}" for name in ("a.txt", "b c", "ü", ".hidden", "Makefile", "x.pem", ".env")
        ]
        paths += [workspace / f"{folder}{name}" for name in (".gitignore", ".env.example", "vscode", "hooks", "config")]
    for name in PROTECTED[1:]:
        paths += [workspace / name / "file", workspace / f"{name}x", workspace / "src" / name / "file"]
    for repository in (".git", "src/own/.git"):
        (workspace / repository / "objects").mkdir(parents=True)
        paths += [workspace / repository / name.replace("*", "w") for name in GIT_PROTECTED if name != "hooks"]
        paths += [workspace / repository / name for name in ("HEAD", "index", "hooks/pre-commit", "refs/heads/main")]
        paths += [workspace / repository / f"objects/{number:02x}/x" for number in range(20)]
    paths += [made.home / pattern.replace("*", "x") / "inner" for pattern in HOME_SECRETS]
    paths += [made.home / name for name in ("notes", ".bashrc", ".config/app", ".sshx/id", "work/.ssh/id")]
    paths += [made.outside / f"{number}" for number in range(60)]
    paths += [made.base / "state/credentials", made.base / "state/sessions/x"]
    paths += [workspace / f"many/{number}.py" for number in range(400 - len(paths) - 2)]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("canary")
    (workspace / "to_secret").symlink_to(made.home / ".ssh/inner")
    (workspace / "to_hooks").symlink_to(".git/hooks/pre-commit")
    return [*paths, workspace / "to_secret", workspace / "to_hooks"]


def why_not(path: Path, access: Access, policy: Policy, host: Host) -> Refusal | None:
    return verdict(access, os.path.realpath(path), policy, host)


@pytest.mark.parametrize("kind", ["bubblewrap", "namespaces"])
@pytest.mark.parametrize("level", LEVELS)
def test_parity(kind: str, level: Level) -> None:
    with stage("user") as made:
        paths = scene(made)
        assert len(paths) == 400
        listed = made.workspace / "paths.json"
        listed.write_text(json.dumps([str(path) for path in paths]))
        made.own()
        python = python_for_all() or "python3"
        row: dict[str, Any] = {"workspace": str(made.workspace), "level": level}
        (outcome,) = made.run([kind], [{**row, "argv": [python, "-I", "-S", "-c", TRY_ALL, str(listed)]}])
        commands = json.loads(outcome["text"])
        state = str(made.base / "state")
        host = Host(home=str(made.home), user="nobody", state=state, own=(state,))
        policy = Policy(level, str(made.workspace))
        accesses: tuple[Access, Access] = ("read", "write")
        differing = {}
        for path in paths:
            for access in accesses:
                refusal = why_not(path, access, policy, host)
                if (refusal is None) != commands[access + str(path)]:
                    differing[access + str(path)] = refusal
        assert {key: refusal for key, refusal in differing.items() if not declared(refusal, made)} == {}


def declared(refusal: Refusal | None, made: Stage) -> bool:
    """A command may do more only where the table of STRICTER says so, and never less."""
    if refusal is None or refusal.reason not in STRICTER:
        return False
    inside = refusal.path.startswith(f"{made.workspace}/")
    return refusal.access == "read" and not inside if refusal.reason == "outside" else inside


def test_the_fence_asks_that_very_decision() -> None:
    with stage("user") as made:
        paths = scene(made)
        state = str(made.base / "state")
        host = Host(home=str(made.home), user="nobody", state=state, own=(state,))
        roots = Roots((str(made.workspace),))
        for level in LEVELS:
            policy = Policy(level, str(made.workspace))
            fence = Fence(roots, policy, host)
            for path in paths:
                assert can_read(fence, path) == (why_not(path, "read", policy, host) is None)
        roots.close()


def can_read(fence: Fence, path: Path) -> bool:
    try:
        return fence.read(str(path), 6).data == b"canary"
    except Denied:
        return False
