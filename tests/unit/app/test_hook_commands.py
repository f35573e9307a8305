"""How hook commands run and end (docs/hooks.md, section R)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from acp_server.app.hook_commands import MOST_OUTPUT, run_hook
from acp_server.app.hook_dialect import Hook, Ran

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "OPENAI_API_KEY": "secret", "MY_TOKEN": "secret", "PLAIN": "yes"}


async def run(command: str, cwd: Path, told: bytes = b"{}", seconds: float = 30.0) -> Ran:
    return await run_hook(Hook("Stop", command, seconds=seconds), told, str(cwd), ENVIRONMENT)


async def test_a_command_reads_its_input_and_says_how_it_ended(tmp_path: Path) -> None:
    assert await run("cat; echo no >&2; exit 2", tmp_path, b'{"a": 1}') == Ran(2, '{"a": 1}', "no\n")
    assert await run("exec true", tmp_path, b"x" * 1_000_000) == Ran(0)


async def test_it_gets_no_key(tmp_path: Path) -> None:
    ran = await run("env; pwd", tmp_path)
    assert "secret" not in ran.stdout
    assert "PLAIN=yes" in ran.stdout
    assert f"CLAUDE_PROJECT_DIR={tmp_path}" in ran.stdout


async def test_it_ends_at_its_limit_with_what_it_started(tmp_path: Path) -> None:
    ran = await run("(sleep 600; touch late) & sleep 600", tmp_path, seconds=0.2)
    assert ran == Ran(None, stderr="it took longer than 0.2 s")


async def test_it_ends_when_it_is_cancelled(tmp_path: Path) -> None:
    task = asyncio.ensure_future(run("echo $$ > pid; exec sleep 600", tmp_path))
    while not _text(tmp_path / "pid"):  # noqa: ASYNC110 - a shell tells when it runs by this file alone
        await asyncio.sleep(0.01)
    pid = json.loads(_text(tmp_path / "pid"))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    assert not _text(Path("/proc") / str(pid) / "comm")


async def test_much_output_is_cut_and_what_cannot_start_is_a_failure(tmp_path: Path) -> None:
    ran = await run("head -c 1000000 /dev/zero | tr '\\0' x", tmp_path)
    assert (ran.code, len(ran.stdout)) == (0, MOST_OUTPUT)
    assert (await run("true", tmp_path / "none")).code is None


def _text(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""
