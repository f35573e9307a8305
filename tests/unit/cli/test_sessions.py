"""However a verb fails, the command says one sentence and ends with a documented code."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from acp_server.base.errors import ServerError
from acp_server.cli.sessions import run
from acp_server.cli.sessions_change import UsageError
from acp_server.cli.sessions_store import SessionFiles


@pytest.mark.parametrize(
    ("failure", "code", "sentence"),
    [
        (ServerError("X", "It cannot be\x1b[2J done."), 1, "It cannot be\\x1b[2J done."),
        (UsageError("It cannot be meant."), 2, "It cannot be meant."),
        (PermissionError(13, "Permission denied", "/secret/place"), 1, "The disk failed: Permission denied."),
        (ValueError("what was said"), 1, "The command failed in a way that it should not (ValueError)."),
    ],
)
def test_a_failure_is_one_sentence(
    failure: Exception,
    code: int,
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def verb(given: argparse.Namespace, files: SessionFiles) -> int:
        raise failure

    monkeypatch.setenv("ACP_SERVER_HOME", str(tmp_path))
    assert run(argparse.Namespace(command_of_verb=verb)) == code
    assert tuple(capsys.readouterr()) == ("", f"acp-server sessions: {sentence}\n")


def test_an_interrupt_ends_with_130(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def verb(given: argparse.Namespace, files: SessionFiles) -> int:
        raise KeyboardInterrupt

    monkeypatch.setenv("ACP_SERVER_HOME", str(tmp_path))
    assert run(argparse.Namespace(command_of_verb=verb)) == 130
