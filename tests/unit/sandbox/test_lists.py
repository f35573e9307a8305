from __future__ import annotations

import pytest

from acp_server.sandbox.lists import (
    GIT_MODULE_PROTECTED,
    GIT_PROTECTED,
    HOME_SECRETS,
    NO_SECRETS,
    PROTECTED,
    SHELL_START,
    SYSTEM_PLACES,
    SYSTEM_SECRETS,
    SYSTEM_TREES,
    is_protected,
    is_secret,
    is_workspace_secret,
    unfit_workspace,
)

HOME = "/home/ada"
WS = "/home/ada/work/thing"
OWN = ("/home/ada/.local/state/acp-server", "/home/ada/.config/acp-server")


def secret(path: str, *, fold_case: bool = False) -> bool:
    return is_secret(path, HOME, WS, own=OWN, fold_case=fold_case)


def spelled(pattern: str) -> str:
    return pattern.replace("*", "x")


@pytest.mark.parametrize("pattern", HOME_SECRETS)
def test_a_secret_of_the_home_and_what_lies_beneath_is_secret(pattern: str) -> None:
    path = f"{HOME}/{spelled(pattern)}"
    assert [secret(path), secret(f"{path}/inner/file")] == [True, True]
    assert [secret(f"{HOME}/work/{spelled(pattern)}"), secret(f"/home/bob/{spelled(pattern)}")] == [False, False]


@pytest.mark.parametrize("pattern", SYSTEM_SECRETS)
def test_a_secret_of_the_system_is_secret(pattern: str) -> None:
    path = f"/{spelled(pattern)}"
    assert [secret(path), secret(f"/srv{path}")] == [True, False]


@pytest.mark.parametrize("place", OWN)
def test_the_servers_own_directories_are_secret(place: str) -> None:
    assert [secret(place), secret(f"{place}/sessions/x"), secret(f"{place}-other")] == [True, True, False]


@pytest.mark.parametrize("name", [".env", ".env.local", ".env.production", "server.pem", "deploy.key"])
def test_a_secret_name_in_a_workspace_is_secret_at_any_depth(name: str) -> None:
    assert [secret(f"{WS}/{name}"), secret(f"{WS}/a/b/{name}"), secret(f"/usr/share/{name}")] == [True, True, False]


@pytest.mark.parametrize("name", [*sorted(NO_SECRETS), "environment", "x.pem.txt", "key", ".envrc", "monkey"])
def test_a_name_that_only_looks_like_one_is_not(name: str) -> None:
    assert secret(f"{WS}/{name}") is False


def test_certificates_of_installed_packages_are_not_secret() -> None:
    paths = ["venv/lib/site-packages/certifi/cacert.pem", "node_modules/x/test.key", "lib/dist-packages/x.pem"]
    assert [is_workspace_secret(path) for path in paths] == [False, False, False]
    assert is_workspace_secret("src/node_modules.pem") is True


def test_a_pattern_matches_whole_segments_only() -> None:
    assert [secret(f"{HOME}/{name}") for name in (".sshx", ".ssh.bak/id", ".config/ghost", ".awsome")] == [False] * 4


def test_a_workspace_in_a_secret_directory_is_readable() -> None:
    ws = f"{HOME}/.mozilla/extension"
    assert is_secret(f"{ws}/a.js", HOME, ws) is False
    assert is_secret(f"{HOME}/.mozilla/firefox/logins.json", HOME, ws) is True
    assert is_secret(f"{HOME}/.mozilla/other/a", HOME, WS, roots=(f"{HOME}/.mozilla/other",)) is False


def test_a_secret_directory_in_a_workspace_stays_secret() -> None:
    assert is_secret(f"{HOME}/.ssh/id", HOME, HOME) is True


def test_the_superusers_home_is_secret_to_others_only() -> None:
    assert is_secret("/root/notes", HOME, WS) is True
    assert is_secret("/root/notes", "/root", "/root/thing") is False
    assert is_secret("/root/.ssh/id", "/root", "/root/thing") is True


def test_letters_of_either_case_match_where_the_disk_folds_them() -> None:
    assert [secret(f"{HOME}/.SSH/id"), secret(f"{HOME}/.SSH/id", fold_case=True)] == [False, True]
    assert is_protected(f"{WS}/.VsCode/x", WS) is False
    assert is_protected(f"{WS}/.VsCode/x", WS, fold_case=True) is True
    assert is_protected(f"{WS}/.GIT/Hooks/x", WS, fold_case=True) is True


@pytest.mark.parametrize("name", PROTECTED)
def test_a_protected_name_cannot_be_written(name: str) -> None:
    assert is_protected(f"{WS}/{name}", WS) is True
    if name != ".git":
        assert is_protected(f"{WS}/{name}/deep/file", WS) is True
    assert [is_protected(f"{WS}/{name}x", WS), is_protected(f"/elsewhere/{name}", WS)] == [False, False]


@pytest.mark.parametrize("pattern", GIT_PROTECTED)
@pytest.mark.parametrize("folder", ["", "sub/", "a/b/c/"])
def test_what_makes_git_run_things_cannot_be_written(pattern: str, folder: str) -> None:
    assert is_protected(f"{WS}/{folder}.git/{spelled(pattern)}", WS) is True


@pytest.mark.parametrize("name", GIT_MODULE_PROTECTED)
def test_the_same_holds_for_submodules(name: str) -> None:
    assert is_protected(f"{WS}/.git/modules/libs/one/{name}", WS) is True


@pytest.mark.parametrize(
    "path",
    [".git/HEAD", ".git/index.lock", ".git/objects/ab/cd", ".git/refs/heads/hooks", "x/.gitignore", ".gitattributes"],
)
def test_what_a_commit_writes_is_free(path: str) -> None:
    assert is_protected(f"{WS}/{path}", WS) is False


@pytest.mark.parametrize("name", SHELL_START)
def test_shell_start_files_are_protected_in_a_home(name: str) -> None:
    assert [is_protected(f"{HOME}/{name}", HOME, home=HOME), is_protected(f"{WS}/{name}", WS, home=HOME)] == [
        True,
        False,
    ]


def test_an_editors_folder_deep_in_a_workspace_is_free() -> None:
    assert is_protected(f"{WS}/sub/.vscode/settings.json", WS) is False


@pytest.mark.parametrize(
    "place", [*SYSTEM_PLACES, *SYSTEM_TREES, "/etc/nginx", "/home", HOME, OWN[0], f"{OWN[0]}/sessions"]
)
def test_a_place_that_is_no_project_may_be_read_only(place: str) -> None:
    assert unfit_workspace(place, HOME, OWN) is not None


def test_a_place_that_holds_the_servers_files_may_be_read_only() -> None:
    assert unfit_workspace("/data", "/home/ada", ("/data/acp",)) == "it holds this server's own files"


@pytest.mark.parametrize("place", [WS, f"{HOME}/x", "/srv/app", "/tmp/x", "/opt/app", "/var/www", "/mnt/c/x"])
def test_a_project_may_be_written(place: str) -> None:
    assert unfit_workspace(place, HOME, OWN) is None
