"""What a command sees and leaves: no secret, no variable, no descriptor, no name of ours in the workspace."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from acp_server.sandbox.lists import GIT_PROTECTED, HOME_SECRETS, PROTECTED
from tests.security.stage import PLACE, Stage, account, stage

BOXES = ("bubblewrap", "namespaces", "landlock")
FULL = ("bubblewrap", "namespaces")


PLAIN = [name for name in GIT_PROTECTED if "*" not in name]


def spelled(pattern: str) -> str:
    return pattern.replace("*", "x")


def is_file(pattern: str) -> bool:
    name = pattern.rpartition("/")[2]
    return "." in name.lstrip(".") or "_history" in name or name in {".netrc", ".npmrc", ".pypirc", ".git-credentials"}


def plant(folder: Path, pattern: str) -> Path:
    path = folder / spelled(pattern)
    path = path if is_file(pattern) else path / "inner"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("canary")
    return path


@pytest.mark.parametrize("kind", BOXES)
def test_each_secret_is_out_of_reach(kind: str) -> None:
    with stage("user") as made:
        planted = [plant(made.home, pattern) for pattern in HOME_SECRETS]
        own = made.base / "state/credentials"
        own.write_text("canary")
        seen = made.home / "notes"
        seen.write_text("canary")
        made.own()
        rows = [made.row(f"cat '{path}'") for path in (*planted, own, seen)]
        script = "; ".join(f"echo '{path}:' $(cat '{path}' 2>/dev/null)" for path in (*planted, own, seen))
        rows = [made.row(script), made.row(script, level="read-only"), made.row(script, level="full-access")]
        confined, read_only, free = made.run([kind], rows)
        nothing = "".join(f"{path}:\n" for path in (*planted, own)) + f"{seen}: canary\n"
        assert (confined["text"], read_only["text"]) == (nothing, nothing)
        assert free["text"].count("canary") == len(planted) + 2


@pytest.mark.parametrize("kind", FULL)
def test_secrets_of_the_workspace_are_hidden_from_commands_with_network(kind: str) -> None:
    with stage("user") as made:
        for name in (".env", "sub/x.pem", "node_modules/m/y.pem"):
            (made.workspace / name).parent.mkdir(parents=True, exist_ok=True)
            (made.workspace / name).write_text("canary")
        made.own()
        command = "cat .env sub/x.pem node_modules/m/y.pem"
        off, on, allowed = made.run(
            [kind],
            [
                made.row(command),
                made.row(command, network="on"),
                made.row(command, network="on", allowed=[str(made.workspace / ".env")]),
            ],
        )
        assert [outcome["text"] for outcome in (off, on, allowed)] == ["canary" * 3, "canary", "canary" * 2]


@pytest.mark.parametrize("kind", FULL)
def test_each_protected_name_is_held(kind: str) -> None:
    with stage("user") as made:
        workspace = made.workspace
        subprocess.run(["git", "init", "-q", str(workspace)], check=True, env={"HOME": "/"})
        (workspace / ".vscode").mkdir()
        (workspace / ".vscode/settings.json").write_text("{}")
        made.own()
        names = [name for name in PROTECTED[1:] if name != ".vscode"]
        ways = {
            "file": "echo x > {}",
            "directory": "mkdir {} && echo x > {}/y",
            "link": "ln -s /tmp {}",
            "rename": "mkdir -p made && mv -T made {}",
        }
        rows = [made.row("; ".join(way.format(name, name) for way in ways.values())) for name in names]
        rows.append(made.row("echo x > .vscode/settings.json; rm -r .vscode; mv .vscode gone; mv .git gone"))
        rows.append(made.row("mkdir -p a/.git/hooks; mv .git/hooks .git/config a; rm -r .git/hooks; rm .git/config"))
        rows.append(made.row("; ".join(f"mkdir -p $(dirname .git/{n}); echo x > .git/{n}" for n in PLAIN)))
        outcomes = made.run([kind], rows)
        found = sorted(str(path.relative_to(workspace)) for path in workspace.iterdir())
        assert found == [".git", ".vscode", "a", "made"]
        assert (workspace / ".vscode/settings.json").read_text() == "{}"
        assert sorted(path.name for path in (workspace / ".git").iterdir()) == [
            *("HEAD", "branches", "config", "description", "hooks", "info", "objects", "refs")
        ]
        assert sorted(path.name for path in (workspace / ".git/info").iterdir()) == ["exclude"]
        assert outcomes[-1]["changed"] == [
            f"{workspace}/.git/{name}" for name in ("commondir", "config.worktree", "info/attributes")
        ]


@pytest.mark.parametrize("kind", FULL)
def test_a_pinned_parent_cannot_be_renamed_at_any_depth(kind: str) -> None:
    with stage("user") as made:
        for folder in ("one", "one/two", "one/two/three"):
            (made.workspace / folder).mkdir(parents=True, exist_ok=True)
            subprocess.run(["git", "init", "-q", str(made.workspace / folder)], check=True, env={"HOME": "/"})
        made.own()
        pairs = ["one", "one/two", "one/two/three", "one/two/three/.git", "one/.git/hooks"]
        script = f"import errno, os\nfor name in {pairs}:\n  try: os.rename(name, 'x')\n"
        script += "  except OSError as error: print(errno.errorcode[error.errno])"
        (outcome,) = made.run([kind], [made.row(f'python3 -c "{script}"')])
        assert outcome["text"].split() == ["EBUSY", "EXDEV", "EXDEV", "EXDEV", "EXDEV"]


@pytest.mark.parametrize("kind", BOXES)
def test_a_command_has_three_descriptors_no_terminal_and_the_named_variables(kind: str) -> None:
    with stage("user") as made:
        script = (
            "cd /proc/self/fd && echo * ; readlink /proc/$$/fd/0; "
            "(: < /dev/tty) 2>/dev/null && echo tty; "
            "grep -E '^(NoNewPrivs|CapEff|Seccomp):' /proc/self/status | tr '\\t' ' '"
        )
        descriptors, variables = made.run(
            [kind], [made.row(script), made.row("env -0 | cut -z -d= -f1 | tr '\\0' '\\n'")]
        )
        assert descriptors["text"].split("\n")[:2] == ["0 1 2 3", "/dev/null"]
        assert descriptors["text"].split("\n")[2:] == ["CapEff: 0000000000000000", "NoNewPrivs: 1", "Seccomp: 2", ""]
        told = "PATH HOME USER LOGNAME LANG LC_ALL SHELL TERM GIT_TERMINAL_PROMPT GIT_PAGER GIT_EDITOR PAGER NO_COLOR "
        told += "DEBIAN_FRONTEND TMPDIR XDG_CACHE_HOME PIP_CACHE_DIR UV_CACHE_DIR npm_config_cache YARN_CACHE_FOLDER "
        told += "GOCACHE RUFF_CACHE_DIR MYPY_CACHE_DIR PWD SHLVL _"
        assert set(variables["text"].split()) - {"OLDPWD"} == set(told.split())


def test_the_workspace_is_the_same_during_and_after_commands_and_kills() -> None:
    with stage("user") as made:
        script = "git init -q && echo a > f && git add f && git -c user.name=a -c user.email=a@b.test commit -qm x"
        made.own()
        subprocess.run(["sh", "-c", script], cwd=made.workspace, check=True, env={"HOME": "/"}, **account("user"))
        before = status(made)
        rows = [made.row("sleep 0.02"), *(made.row("sleep 30", cancel_after=0.05 * n) for n in range(1, 6))]
        made.run(FULL, rows)
        assert (status(made), names(made)) == (before, [".git", "f"])
        server = made.start(FULL, [made.row("sleep 60")])
        wait_until(lambda: ".vscode" in names(made))
        assert status(made) == before
        server.kill()
        server.communicate()
        assert ".vscode" in names(made)
        made.run(FULL, [made.row("true")])
        assert (status(made), names(made)) == (before, [".git", "f"])


def status(made: Stage) -> str:
    argv = ["git", "-c", "safe.directory=*", "status", "--porcelain", "-uall", "--ignored"]
    return subprocess.run(
        argv, cwd=made.workspace, check=True, capture_output=True, text=True, env={"HOME": "/"}
    ).stdout


def names(made: Stage) -> list[str]:
    return sorted(path.name for path in made.workspace.iterdir())


def wait_until(holds: object) -> None:
    end = time.monotonic() + 20
    while not holds():  # type: ignore[operator]  # a lambda
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("kind", FULL)
def test_programs_of_the_workspace_are_not_found_before_the_systems(kind: str) -> None:
    with stage("user") as made:
        for name in ("bash", "bwrap", "git", "ls", "sh"):
            path = made.workspace / "node_modules/.bin" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"#!/bin/sh\necho hijacked > {PLACE}/x; echo hijacked\n")
            path.chmod(0o755)
        made.own()
        found = f"{made.workspace}/node_modules/.bin"
        environment = made.environment()
        made.environment = lambda: {**environment, "PATH": f"{found}:.:node_modules/.bin:/usr/bin:/bin"}  # type: ignore[method-assign]  # a poisoned one
        (outcome,) = made.run([kind], [made.row("ls; sh -c 'echo fine'; echo $PATH")])
        assert outcome["text"].startswith("node_modules\nfine\n/usr/bin:/bin:")


def test_no_box_and_no_command() -> None:
    with stage("user") as made, made.start([], [made.row("true")]) as process:
        out, _ = process.communicate()
        assert '"sandbox": "none", "enforcement": "none"' in out


@pytest.mark.skipif(shutil.which("ping") is None, reason="ping is not installed")
def test_setuid_programs_gain_nothing() -> None:
    with stage("user") as made:
        (outcome,) = made.run(FULL, [made.row("su -c id root < /dev/null; ping -c1 -W1 127.0.0.1 > /dev/null; id -u")])
        assert "uid=0" not in outcome["text"]
