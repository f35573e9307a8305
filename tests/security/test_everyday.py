"""What people do all day works in a box; a sandbox that breaks work is switched off."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from tests.security.stage import IDENTITIES, Stage, account, stage

TASKS: dict[str, tuple[str, str]] = {  # a program that it needs, and the command
    "git add and commit": (
        "git",
        (
            "echo a > f && git add . && git -c user.name=a -c user.email=a@b.test commit -qm x"
            ' && test -z "$(git status --porcelain)"'
        ),
    ),
    "a virtual environment": ("python3", "python3 -m venv --without-pip v && v/bin/python -c 'print(1)'"),
    "unit tests": (
        "python3",
        (
            "printf 'import unittest\\nclass T(unittest.TestCase):\\n  def test(self): pass\\n' > t.py"
            " && python3 -m unittest -q t"
        ),
    ),
    "processes of multiprocessing": (
        "python3",
        (
            "python3 -c 'from multiprocessing import Pool\n"
            'if __name__ == "__main__":\n  print(Pool(2).map(abs, [-1, 2]))\''
        ),
    ),
    "children of asyncio": (
        "python3",
        (
            'python3 -c \'import asyncio\nasync def m():\n  p = await asyncio.create_subprocess_exec("true")\n'
            "  await p.wait()\nasyncio.run(m())'"
        ),
    ),
    "a server on the loopback": (
        "python3",
        (
            'python3 -c \'import socket\ns = socket.create_server(("127.0.0.1", 0))\n'
            "socket.create_connection(s.getsockname())'"
        ),
    ),
    "a socket in the workspace": (
        "python3",
        (
            'python3 -c \'import socket\ns = socket.socket(socket.AF_UNIX); s.bind("u"); s.listen()\n'
            'socket.socket(socket.AF_UNIX).connect("u")\''
        ),
    ),
    "compiling and running": ("gcc", "echo 'int main(){return 0;}' > m.c && gcc m.c -o m && ./m"),
    "make": ("make", "printf 'all:\\n\\techo ok\\n' > Makefile && make -s"),
    "node": ("node", 'node -e \'require("fs").writeFileSync("n", "1")\' && test -s n'),
    "temporary files": ("mktemp", "t=$(mktemp) && echo x > $t && test $(cat $t) = x && test -w $TMPDIR"),
    "pipes and jobs": ("bash", "(sleep 0.05; echo a) & wait; test $(seq 1000 | sort -n | tail -1) = 1000"),
    "renames and hard links": ("bash", "echo 1 > a1; echo 2 > b1; mv a1 b1; ln b1 c1; test $(cat c1) = 1"),
    "modes, times and archives": (
        "tar",
        "echo x > q; chmod 755 q; touch -d 2020-01-01 q; tar cf q.tar q; tar xf q.tar",
    ),
    "a database": ("python3", 'python3 -c \'import sqlite3; sqlite3.connect("d").execute("create table t(a)")\''),
    "caches": ("bash", "mkdir -p $XDG_CACHE_HOME/x && echo 1 > $XDG_CACHE_HOME/x/y"),
    "ending an own child": ("bash", "sleep 5 & kill $!; wait $! || true"),
    "terminals of its own": ("python3", "python3 -c 'import pty; pty.openpty()'"),
    "tracing system calls": ("strace", "strace -qq -o /dev/null true"),
    "looking at itself": (
        "bash",
        "cat /proc/self/status /proc/meminfo /proc/cpuinfo > /dev/null; ls /proc/self/fd > /dev/null",
    ),
}
REFUSED = {"tracing system calls"}
"""By intent: tracing reads another process's memory."""

PARTLY_REFUSED = REFUSED | {"a server on the loopback"}
"""The partial box has no loopback of its own."""


def repository(made: Stage) -> None:
    if shutil.which("git"):
        subprocess.run(["git", "init", "-q", str(made.workspace)], check=True, env={"HOME": str(made.home)})
    made.own()


@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize(
    ("kind", "refused"), [("bubblewrap", REFUSED), ("namespaces", REFUSED), ("landlock", PARTLY_REFUSED)]
)
def test_everyday_commands_work(kind: str, refused: set[str], identity: str) -> None:
    if kind != "bubblewrap" and identity == "superuser" and "ACP_SERVER_TEST_LONG" not in os.environ:
        pytest.skip("the superuser's other boxes belong to the long suite")
    possible = {name: command for name, (program, command) in TASKS.items() if shutil.which(program)}
    with stage(identity) as made:
        repository(made)
        outcomes = made.run([kind], [made.row(command) for command in possible.values()])
        failed = {name: o["text"][-300:] for name, o in zip(possible, outcomes, strict=True) if o["exit_code"] != 0}
        assert {name: text for name, text in failed.items() if name not in refused} == {}
        assert len(TASKS) == 20


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_works_in_a_subfolder_of_a_repository_and_in_a_linked_worktree() -> None:
    git = "git -c user.name=a -c user.email=a@b.test"
    with stage("user") as made:
        inner = made.workspace / "packages/one"
        inner.mkdir(parents=True)
        tree = made.base / "tree"
        script = f"git init -q && {git} commit -q --allow-empty -m x && git worktree add -q {tree}"
        made.own()
        subprocess.run(["sh", "-c", script], cwd=made.workspace, check=True, env={"HOME": "/"}, **account("user"))
        rows = [
            {"workspace": str(inner), "command": "git rev-parse --show-toplevel && git status --porcelain"},
            {
                "workspace": str(tree),
                "command": f"echo x > f; git add f && {git} commit -qm y && git status --porcelain",
            },
            {"workspace": str(tree), "command": f"echo x > {made.workspace}/.git/hooks/post-commit"},
            {"workspace": str(tree), "command": "echo 'gitdir: /tmp/evil' > .git"},
        ]
        outcomes = made.run(["bubblewrap", "namespaces"], rows)
        assert [(outcome["exit_code"], outcome["text"]) for outcome in outcomes[:2]] == [
            (0, f"{made.workspace}\n"),
            (0, ""),
        ]
        assert ["Read-only file system" in outcome["text"] for outcome in outcomes[2:]] == [True, True]
