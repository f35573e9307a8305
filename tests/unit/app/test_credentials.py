from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from acp_server.app.credentials import FILE, LONGEST_KEY, Credentials
from acp_server.app.keys import key_source
from acp_server.base.errors import ServerError

KEY = "sk-planted-0123456789"
LOCK = f"{FILE}.lock"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def credentials(home: Path) -> Credentials:
    return Credentials({"ACP_SERVER_HOME": str(home)})


def told(credentials: Credentials, name: str, key: str) -> ServerError:
    with pytest.raises(ServerError) as caught:
        credentials.store(name, key)
    return caught.value


def test_a_key_is_kept_for_its_owner_alone(home: Path, credentials: Credentials) -> None:
    assert (credentials.find("A_KEY"), credentials.names(), credentials.problem()) == (None, (), None)
    path = Path(credentials.store("A_KEY", KEY))
    assert path == home / FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(path.read_text()) == {"version": 1, "keys": {"A_KEY": KEY}}
    credentials.store("B_KEY", "other")
    again = Credentials({"ACP_SERVER_HOME": str(home)})
    assert (again.find("A_KEY"), again.find("B_KEY"), again.find("C_KEY")) == (KEY, "other", None)
    assert again.names() == ("A_KEY", "B_KEY")
    assert sorted(path.name for path in home.iterdir()) == [FILE, LOCK], "nothing else is left behind"


def test_a_wide_umask_makes_no_wide_file(credentials: Credentials) -> None:
    before = os.umask(0)
    try:
        path = Path(credentials.store("A_KEY", KEY))
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_another_process_changes_counts_at_once(home: Path, credentials: Credentials) -> None:
    other = Credentials({"ACP_SERVER_HOME": str(home)})
    credentials.store("A_KEY", "one")
    assert other.find("A_KEY") == "one"
    credentials.store("A_KEY", "two")
    assert other.find("A_KEY") == "two"
    assert credentials.forget("A_KEY") == ("A_KEY",)
    assert (other.find("A_KEY"), [path.name for path in home.iterdir()]) == (None, [LOCK])


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o601, 0o777])
def test_a_file_that_others_may_reach_is_not_used_and_that_is_told(credentials: Credentials, mode: int) -> None:
    path = Path(credentials.store("A_KEY", KEY))
    path.chmod(mode)
    assert credentials.find("A_KEY") is None
    assert credentials.problem() == f"{path} can be read by others, so it is not used: chmod 600 {path}"
    assert told(credentials, "B_KEY", "x").code == "UNSAFE_CREDENTIALS"
    path.chmod(0o600)
    assert (credentials.find("A_KEY"), credentials.problem()) == (KEY, None)


def test_a_folder_in_the_files_place_is_told(home: Path, credentials: Credentials) -> None:
    (home / FILE).mkdir(parents=True)
    assert credentials.find("A_KEY") is None
    assert "no plain file" in str(credentials.problem())


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "{}", '{"version": 2, "keys": {}}', '{"version": 1, "keys": []}', "\xff" * 9]
)
def test_a_file_of_another_making_is_not_used_and_only_a_whole_logout_removes_it(
    home: Path, credentials: Credentials, text: str
) -> None:
    home.mkdir()
    path = home / FILE
    path.write_text(text, encoding="latin-1")
    path.chmod(0o600)
    assert credentials.find("A_KEY") is None
    assert "not what acp-server login writes" in str(credentials.problem())
    assert told(credentials, "A_KEY", KEY).code == "BROKEN_CREDENTIALS"
    assert credentials.forget() == ()
    assert not path.exists()


def test_values_that_are_no_text_are_no_keys(home: Path, credentials: Credentials) -> None:
    path = Path(credentials.store("A_KEY", KEY))
    path.write_text('{"version": 1, "keys": {"A_KEY": 5, "B_KEY": "b"}}')
    assert (credentials.find("A_KEY"), credentials.find("B_KEY")) == (None, "b")


@pytest.mark.parametrize("key", ["", " ", "a b", "a\nb", "schlüssel", "\x7f", "k" * (LONGEST_KEY + 1)])
def test_what_no_header_carries_is_not_kept_and_not_told(home: Path, credentials: Credentials, key: str) -> None:
    error = told(credentials, "A_KEY", key)
    assert error.code == "INVALID_CREDENTIAL"
    assert not key.strip() or key not in error.message
    assert not (home / FILE).exists()


def test_a_disk_that_refuses_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    error = told(Credentials({"ACP_SERVER_HOME": str(tmp_path / "file" / "below")}), "A_KEY", KEY)
    assert (error.code, KEY in error.message) == ("CREDENTIALS_FAILED", False)


def test_logging_out_takes_one_or_all(credentials: Credentials) -> None:
    assert credentials.forget() == credentials.forget("A_KEY") == ()
    for name in ("A_KEY", "B_KEY", "C_KEY"):
        credentials.store(name, KEY)
    assert credentials.forget("B_KEY") == ("B_KEY",)
    assert credentials.forget("B_KEY") == ()
    assert credentials.names() == ("A_KEY", "C_KEY")
    assert credentials.forget() == ("A_KEY", "C_KEY")
    assert credentials.forget() == ()


def test_without_a_home_there_is_no_stored_key() -> None:
    nowhere = Credentials({"ACP_SERVER_HOME": "relative"})
    assert (nowhere.find("A_KEY"), nowhere.problem()) == (None, None)


def test_the_variable_wins_over_the_stored_key(home: Path, credentials: Credentials) -> None:
    environment = {"ACP_SERVER_HOME": str(home)}
    source = key_source({"env": "A_KEY"}, environment)
    assert source is not None
    assert (source.read(), source.there()) == (None, False)
    credentials.store("A_KEY", KEY)
    assert (source.read(), source.there()) == (KEY, True)
    environment["A_KEY"] = " mine "
    assert source.read() == "mine"
