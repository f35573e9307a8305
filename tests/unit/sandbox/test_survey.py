from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import pytest

from acp_server.base.errors import ServerError
from acp_server.base.values import replace
from acp_server.sandbox import survey as survey_module
from acp_server.sandbox.facts import Host
from acp_server.sandbox.lists import PROTECTED
from acp_server.sandbox.policy import Network, Policy
from acp_server.sandbox.profile import Placeholder
from acp_server.sandbox.repositories import common_directory, module_directories, nested_repositories
from acp_server.sandbox.survey import survey


def git(*words: str, cwd: Path) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.test", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *identity, *words], cwd=cwd, check=True, capture_output=True)


@pytest.fixture
def repository(workspace: Path) -> Path:
    git("init", "-q", cwd=workspace)
    git("commit", "-q", "--allow-empty", "-m", "x", cwd=workspace)
    return workspace


def inside(paths: tuple[str, ...], folder: Path) -> list[str]:
    return [path[len(str(folder)) + 1 :] for path in paths if path.startswith(f"{folder}/")]


def test_secrets_that_are_there_are_found_and_links_are_followed(workspace: Path, host: Host, place: Path) -> None:
    home = Path(host.home)
    (home / ".ssh").mkdir()
    (home / ".ssh/id").write_text("x")
    (home / ".netrc").write_text("x")
    (home / ".psql_history").write_text("x")
    (place / "dotfiles").mkdir()
    (home / ".aws").symlink_to(place / "dotfiles")
    (home / "plain").mkdir()
    found = survey(Policy("workspace-write", str(workspace)), host)
    assert inside(found.secret_directories, place) == ["dotfiles", "home/.ssh", "state"]
    assert inside(found.secret_files, place) == ["home/.netrc", "home/.psql_history"]


def test_sockets_of_agents_are_hidden(workspace: Path, host: Host, place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(f"{place}/agent")
        found = survey(Policy("read-only", str(workspace)), replace(host, sockets=(f"{place}/agent",)))
    assert inside(found.secret_files, place) == ["agent"]


def test_secrets_of_the_workspace_are_hidden_from_commands_with_network(workspace: Path, host: Host) -> None:
    for name in (".env", "a/.env.local", "a/b/x.pem", "node_modules/m/y.pem", ".env.example", ".git/z.key"):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text("x")
    without = survey(Policy("workspace-write", str(workspace)), host)
    with_network = survey(Policy("workspace-write", str(workspace), network=Network("on")), host)
    assert inside(without.secret_files, workspace) == []
    assert inside(with_network.secret_files, workspace) == [".env", "a/.env.local", "a/b/x.pem"]


def test_a_workspace_in_which_not_all_can_be_hidden_gets_no_network(
    workspace: Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey_module, "ENTRIES_LIMIT", 2)
    for number in range(3):
        (workspace / str(number)).touch()
    with pytest.raises(ServerError) as refused:
        survey(Policy("workspace-write", str(workspace), network=Network("on")), host)
    assert refused.value.code == "SANDBOX_WORKSPACE_TOO_LARGE"


def test_an_empty_workspace_has_all_its_protected_names_held(workspace: Path, host: Host) -> None:
    found = survey(Policy("workspace-write", str(workspace)), host)
    assert [empty.path for empty in found.missing] == [f"{workspace}/{name}" for name in PROTECTED]
    assert all(empty.directory for empty in found.missing)
    assert (found.protected, found.pins, found.watched) == ((), (), ())


def test_a_read_only_workspace_needs_no_mount_points(repository: Path, host: Host) -> None:
    found = survey(Policy("read-only", str(repository)), host)
    assert (found.protected, found.missing, found.pins, found.watched) == ((), (), (), ())


def test_a_repository(repository: Path, host: Host) -> None:
    (repository / ".git/info/attributes").write_text("")
    (repository / ".mcp.json").write_text("{}")
    found = survey(Policy("workspace-write", str(repository)), host)
    assert inside(found.protected, repository) == [".git/config", ".git/hooks", ".git/info/attributes", ".mcp.json"]
    assert inside(found.pins, repository) == [".git", ".git/info"]
    assert inside(found.watched, repository) == [".git/commondir", ".git/config.worktree"]
    assert Placeholder(f"{repository}/.git") not in found.missing


def test_a_repository_without_hooks_has_them_held(repository: Path, host: Host) -> None:
    subprocess.run(["rm", "-r", ".git/hooks"], cwd=repository, check=True)
    found = survey(Policy("workspace-write", str(repository)), host)
    assert Placeholder(f"{repository}/.git/hooks") in found.missing


def test_an_allowed_name_is_not_protected(repository: Path, host: Host) -> None:
    allowed = (f"{repository}/.git/config", f"{repository}/.vscode")
    found = survey(Policy("workspace-write", str(repository), allowed_paths=allowed), host)
    assert "config" not in "".join(inside(found.protected, repository))
    assert Placeholder(f"{repository}/.vscode") not in found.missing


def test_submodules_and_nested_repositories(repository: Path, host: Host, place: Path) -> None:
    source = place / "source"
    source.mkdir()
    git("init", "-q", cwd=source)
    git("commit", "-q", "--allow-empty", "-m", "x", cwd=source)
    git("submodule", "add", "-q", str(source), "libs/one", cwd=repository)
    (repository / "a/b/own").mkdir(parents=True)
    git("init", "-q", cwd=repository / "a/b/own")
    assert list(module_directories(f"{repository}/.git")) == [f"{repository}/.git/modules/libs/one"]
    assert list(nested_repositories(str(repository))) == [f"{repository}/libs/one/.git", f"{repository}/a/b/own/.git"]
    found = survey(Policy("workspace-write", str(repository)), host)
    module = ".git/modules/libs/one"
    assert set(inside(found.protected, repository)) >= {
        *(f"{module}/config", f"{module}/hooks", "libs/one/.git", ".gitmodules"),
        *("a/b/own/.git/config", "a/b/own/.git/hooks"),
    }
    assert set(inside(found.pins, repository)) >= {
        *(".git", ".git/modules", ".git/modules/libs", module, "libs", "libs/one"),
        *("a", "a/b", "a/b/own", "a/b/own/.git"),
    }


def test_a_linked_worktree_gets_its_repository_and_not_its_hooks(repository: Path, host: Host, place: Path) -> None:
    git("worktree", "add", "-q", str(place / "tree"), cwd=repository)
    found = survey(Policy("workspace-write", f"{place}/tree"), host)
    assert found.granted == (f"{repository}/.git",)
    assert set(inside(found.protected, place)) >= {"ws/.git/config", "ws/.git/hooks", "tree/.git"}
    assert set(inside(found.protected, place)) >= {f"ws/.git/worktrees/tree/{name}" for name in ("commondir", "gitdir")}


def test_a_worktree_that_its_repository_does_not_know_gets_nothing(repository: Path, place: Path) -> None:
    git("worktree", "add", "-q", str(place / "tree"), cwd=repository)
    forged = place / "forged"
    forged.mkdir()
    (forged / ".git").write_text(f"gitdir: {repository}/.git/worktrees/tree\n")
    (place / "plain").mkdir()
    (place / "plain/.git").write_text(f"gitdir: {repository}/.git\n")
    (place / "odd").mkdir()
    (place / "odd/.git").write_bytes(b"\0\xff")
    found = [common_directory(f"{place}/{name}") for name in ("tree", "forged", "plain", "odd", "ws")]
    assert found == [f"{repository}/.git", None, None, None, None]


def test_a_link_in_a_protected_place_is_watched_and_its_target_protected(workspace: Path, host: Host) -> None:
    (workspace / "shared").mkdir()
    (workspace / ".vscode").symlink_to("shared")
    (workspace / ".idea").symlink_to("/nowhere")
    found = survey(Policy("workspace-write", str(workspace)), host)
    assert inside(found.watched, workspace) == [".idea", ".vscode"]
    assert inside(found.protected, workspace) == ["shared"]


def test_allowed_paths_outside_are_shown_or_opened(workspace: Path, host: Host, place: Path) -> None:
    (Path(host.home) / ".ssh").mkdir()
    key, other = Path(host.home) / ".ssh/config", place / "other"
    key.write_text("x")
    other.write_text("x")
    allowed = (str(key), str(other), f"{place}/none", f"{workspace}/.env")
    found = survey(Policy("workspace-write", str(workspace), allowed_paths=allowed), host)
    assert (found.shown, found.opened) == ((str(key),), (str(other),))
    found = survey(Policy("read-only", str(workspace), allowed_paths=allowed), host)
    assert (found.shown, found.opened) == ((str(key),), ())


def test_what_is_denied_is_protected_whatever_is_allowed(workspace: Path, host: Host) -> None:
    (workspace / "kept" / "deep").mkdir(parents=True)
    (workspace / "kept" / "deep" / "file").write_text("x")
    denied = tuple(f"{workspace}/{name}" for name in ("kept/deep/file", "missing/file"))
    bare = survey(Policy("workspace-write", str(workspace)), host)
    policy = Policy("workspace-write", str(workspace), allowed_paths=denied, denied=(*denied, "/elsewhere"))
    found = survey(policy, host)
    assert inside(tuple(set(found.protected) - set(bare.protected)), workspace) == ["kept/deep/file"]
    assert inside(tuple(sorted(set(found.pins) - set(bare.pins))), workspace) == ["kept", "kept/deep"]
    assert inside(tuple(set(found.watched) - set(bare.watched)), workspace) == ["missing/file"]


@pytest.mark.parametrize("above", ["", "/.."])
def test_all_of_a_workspace_may_be_denied(above: str, workspace: Path, host: Host) -> None:
    whole = str((workspace / above.lstrip("/")).resolve())
    assert str(workspace) in survey(Policy("workspace-write", str(workspace), denied=(whole,)), host).protected
