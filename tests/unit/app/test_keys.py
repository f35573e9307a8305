"""Where a key may come from, and where it may not."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from acp_server.app.keys import PROVIDER_VARIABLES, KeySource, key_source


def source(config: dict[str, object], environment: dict[str, str] | None = None) -> KeySource:
    made = key_source(config, {"ACP_SERVER_HOME": "/nonexistent"} | (environment or {}))
    assert made is not None
    return made


def test_a_provider_may_want_no_key() -> None:
    assert key_source(None, {}) is None


@pytest.mark.parametrize(("value", "key"), [("sk-1", "sk-1"), (" sk-1\n", "sk-1"), ("  ", None), (None, None)])
def test_a_variable_that_is_blank_holds_no_key(value: str | None, key: str | None) -> None:
    found = source({"env": "A_KEY"}, {} if value is None else {"A_KEY": value})
    assert (found.read(), found.there(), found.missing) == (key, key is not None, "Set A_KEY")


@pytest.mark.parametrize(("mode", "key"), [(0o600, "sk-1"), (0o400, "sk-1"), (0o640, None), (0o604, None)])
def test_a_file_that_others_may_read_holds_no_key(tmp_path: Path, mode: int, key: str | None) -> None:
    path = tmp_path / "key"
    path.write_text("\n sk-1 \nmore\n", "utf-8")
    path.chmod(mode)
    found = source({"file": str(path)})
    assert (found.read(), found.there()) == (key, key is not None)
    assert str(path) in found.missing


def test_a_file_that_is_none_holds_no_key(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    assert [source({"file": str(path)}).read() for path in (tmp_path, tmp_path / "pipe", tmp_path / "none")] == [
        None
    ] * 3


def test_a_command_is_run_without_a_shell_and_not_each_time(tmp_path: Path) -> None:
    count = tmp_path / "count"
    script = f"open({str(count)!r}, 'a').write('x'); print(); print('  $HOME sk-1  ')"
    found = source({"command": [sys.executable, "-c", script]})
    assert (found.read(), found.read(), found.slow) == ("$HOME sk-1", "$HOME sk-1", True)
    assert count.read_text("utf-8") == "x"


@pytest.mark.parametrize("words", [["/no/such/program"], [sys.executable, "-c", "raise SystemExit(1)"]])
def test_a_command_that_fails_gives_no_key(words: list[str]) -> None:
    assert source({"command": words}).read() is None


def test_a_command_gets_no_key_of_a_shipped_provider() -> None:
    assert {"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "DEEPSEEK_API_KEY"} <= PROVIDER_VARIABLES
    script = "import os; print(sorted(name for name in os.environ if name.endswith(('_API_KEY', '_TOKEN'))))"
    given = {"OPENAI_API_KEY": "sk-1", "MISTRAL_API_KEY": "sk-2", "VAULT_TOKEN": "for the command itself"}
    assert source({"command": [sys.executable, "-c", script]}, given).read() == "['VAULT_TOKEN']"
