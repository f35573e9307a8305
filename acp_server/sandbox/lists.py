"""Names that tools may not read and names that they may not write, as data, and how a path is matched. Pure.

Owns the lists of docs/sandbox.md, clauses L-1 to L-8. Paths are absolute, canonical and POSIX; a pattern is a relative
path in which `*` stands for anything within one segment, and covers what lies beneath. Refuses to look at a disk.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

HOME_SECRETS: Final[tuple[str, ...]] = (
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".config/op",
    ".config/git/credentials",
    ".config/github-copilot",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".kube",
    ".docker/config.json",
    ".docker/run",
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials*",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".terraform.d",
    ".password-store",
    ".local/share/keyrings",
    ".mozilla",
    ".thunderbird",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".*_history",
)
"""Beneath the person's home."""

SYSTEM_SECRETS: Final[tuple[str, ...]] = (
    "etc/shadow*",
    "etc/gshadow*",
    "etc/sudoers",
    "etc/sudoers.d",
    "etc/ssh/ssh_host_*",
    "run",
)
"""Beneath the root. `run` holds the sockets of daemons and agents."""

ROOT_HOME: Final = "root"
"""Beneath the root, a secret unless the person's own home lies in it."""

WORKSPACE_SECRETS: Final[tuple[str, ...]] = (".env", ".env.*", "*.pem", "*.key")
"""File names anywhere in a workspace. Commands without network may read them, file tools need the person's word."""

NO_SECRETS: Final[frozenset[str]] = frozenset({".env.example", ".env.sample", ".env.template", ".env.dist"})
"""Names that the patterns of a workspace cover and that are made to be read."""

INSTALLED: Final[frozenset[str]] = frozenset({"node_modules", "site-packages", "dist-packages"})
"""Folders of installed packages: what they bring is public, certificates of authorities among it."""

PROTECTED: Final[tuple[str, ...]] = (
    ".git",
    ".gitmodules",
    ".vscode",
    ".idea",
    ".zed",
    ".cursor",
    ".claude",
    ".codex",
    ".gemini",
    ".agents",
    ".windsurf",
    ".devcontainer",
    ".mcp.json",
    ".envrc",
    ".husky",
    ".pre-commit-config.yaml",
    ".acp-server",
)
"""At the top of a workspace or root: what an editor, an agent, git or a shell runs by itself.

`.git` is protected as a name, not for what is in it: of a repository's inside only GIT_PROTECTED is.
"""

GIT_PROTECTED: Final[tuple[str, ...]] = (
    "hooks",
    "config",
    "config.worktree",
    "commondir",
    "info/attributes",
    "worktrees/*/config*",
    "worktrees/*/commondir",
    "worktrees/*/gitdir",
)
"""Inside any repository of a workspace. Submodules, whose names may hold slashes, follow GIT_MODULE_PROTECTED."""

GIT_MODULE_PROTECTED: Final[tuple[str, ...]] = ("hooks", "config", "config.worktree", "commondir")
"""Inside `.git/modules/`, at any depth."""

SHELL_START: Final[tuple[str, ...]] = (
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".config/fish",
    ".config/autostart",
)
"""Protected where a workspace or root is a home."""

SYSTEM_PLACES: Final[tuple[str, ...]] = (
    "/",
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/lib64",
    "/media",
    "/mnt",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/srv",
    "/sys",
    "/tmp",  # noqa: S108 - named to be refused
    "/usr",
    "/usr/local",
    "/var",
    "/var/tmp",  # noqa: S108 - named to be refused
)
"""Directories that are no project: as a workspace they may be read only."""

SYSTEM_TREES: Final[tuple[str, ...]] = ("/boot", "/dev", "/etc", "/proc", "/sys", "/bin", "/sbin", "/lib", "/usr/bin")
"""Directories in which nothing is a project."""


def within(path: str, directory: str) -> bool:
    """Return whether a path is a directory or lies in it; both canonical."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def is_secret(
    path: str,
    home: str,
    workspace: str,
    *,
    roots: tuple[str, ...] = (),
    own: tuple[str, ...] = (),
    fold_case: bool = False,
) -> bool:
    """Return whether a path may not be read without the person's word.

    `own` are the server's directories, `roots` further directories of the person's choice. A workspace or root that
    lies in a secret directory was named by the person: what hides its surroundings does not hide it.
    """
    places = (workspace, *roots)
    return any(not _named_inside(path, found, places) for found in secret_covers(path, home, own, fold_case)) or any(
        within(path, place) and is_workspace_secret(path[len(place) :], fold_case=fold_case) for place in places
    )


def secret_covers(path: str, home: str, own: tuple[str, ...], fold_case: bool) -> list[str]:
    """Return the secret files and directories outside of workspaces that a path is or lies in."""
    found = [place for place in own if within(path, place)]
    system = SYSTEM_SECRETS if within(home, f"/{ROOT_HOME}") else (*SYSTEM_SECRETS, ROOT_HOME)
    for base, patterns in ((home.rstrip("/"), HOME_SECRETS), ("", system)):
        if within(path, base or "/"):
            rest = path[len(base) + 1 :]
            found += [f"{base}/{match[0]}" for match in (_matcher(patterns, fold_case).match(rest),) if match]
    return found


def is_workspace_secret(path: str, *, fold_case: bool = False) -> bool:
    """Return whether a path of a workspace, relative to it, is a file of secrets by its name."""
    *folders, name = path.split("/")
    if INSTALLED & set(folders):
        return False
    return bool(_matcher(WORKSPACE_SECRETS, fold_case).fullmatch(name)) and name not in NO_SECRETS


def is_protected(path: str, workspace: str, *, home: str = "", fold_case: bool = False) -> bool:
    """Return whether a path of a workspace (or root) may not be written without the person's word."""
    if not within(path, workspace) or path == workspace:
        return False
    rest = path[len(workspace.rstrip("/")) + 1 :]
    parts = rest.split("/")
    if home == workspace and _matcher(SHELL_START, fold_case).match(rest):
        return True
    if any(_same(part, ".git", fold_case) for part in parts):
        return _in_repository(parts, fold_case)
    return bool(_matcher(PROTECTED[1:], fold_case).match(rest))


def unfit_workspace(workspace: str, home: str, own: tuple[str, ...]) -> str | None:
    """Return why a directory may be read only, or None when it may be a writable workspace (docs/sandbox.md, W-2)."""
    if workspace in SYSTEM_PLACES or any(within(workspace, tree) for tree in SYSTEM_TREES):
        return "it is a directory of the system"
    if within(home, workspace):
        return "it is or holds the home directory"
    if any(within(place, workspace) for place in own):
        return "it holds this server's own files"
    if any(within(workspace, place) for place in own):
        return "it is one of this server's own directories"
    return None


def _in_repository(parts: list[str], fold_case: bool) -> bool:
    """A repository's own name, and the protected names inside of it, whatever folder it stands in."""
    at = max(index for index, part in enumerate(parts) if _same(part, ".git", fold_case))
    inside = parts[at + 1 :]
    if not inside:
        return True
    if _same(inside[0], "modules", fold_case):
        return any(_matcher(GIT_MODULE_PROTECTED, fold_case).fullmatch(part) for part in inside[1:])
    return bool(_matcher(GIT_PROTECTED, fold_case).match("/".join(inside)))


def _same(part: str, name: str, fold_case: bool) -> bool:
    return part == name or (fold_case and part.lower() == name)


def _named_inside(path: str, cover: str, places: tuple[str, ...]) -> bool:
    return any(within(path, place) and within(place, cover) for place in places)


@lru_cache(maxsize=64)
def _matcher(patterns: tuple[str, ...], fold_case: bool) -> re.Pattern[str]:
    """Return an expression that matches a pattern's own segments at the start, and nothing after half a segment."""
    words = "|".join(re.escape(pattern).replace(r"\*", "[^/]*") for pattern in patterns)
    return re.compile(f"(?:{words})(?=/|$)", re.IGNORECASE if fold_case else 0)
