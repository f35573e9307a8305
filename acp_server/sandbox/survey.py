"""Looking at the disk for one policy: which secrets and protected names are there (docs/sandbox.md, S-1 to S-5).

Owns the only reads that precede a confined command, all of names and none of contents but `.git` files. Refuses to
decide: what is mounted where is the profile's matter.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from typing import Final

from acp_server.base.errors import ServerError
from acp_server.sandbox.facts import Host
from acp_server.sandbox.lists import (
    HOME_SECRETS,
    INSTALLED,
    PROTECTED,
    ROOT_HOME,
    SHELL_START,
    SYSTEM_SECRETS,
    is_secret,
    is_workspace_secret,
    within,
)
from acp_server.sandbox.policy import Policy
from acp_server.sandbox.profile import PROC_FILES, PROC_TREES, Layout, Placeholder, writable_places
from acp_server.sandbox.repositories import (
    common_directory,
    module_directories,
    nested_repositories,
    worktree_directories,
)

ENTRIES_LIMIT: Final = 1_000_000
_PROC: Final = (*PROC_TREES, *PROC_FILES)
_RUN_KEPT: Final = ("/run/current-system", "/run/wrappers", "/run/opengl-driver")
_MODULE_FILES: Final = ("hooks", "config", "config.worktree", "commondir")


def survey(policy: Policy, host: Host) -> Layout:
    """Return what is there. Raise ServerError SANDBOX_WORKSPACE_TOO_LARGE when secrets cannot all be looked for."""
    found = _Protected(policy.allowed_paths)
    granted: list[str] = []
    for place in writable_places(policy, host):
        found.place(place, home=host.home)
        common = common_directory(place)
        if common is not None and not any(within(common, other) for other in writable_places(policy, host)):
            granted.append(common)
            found.repository(common, common)
        for path in policy.denied:
            found.deny(path, place)
    directories, files = _secrets(policy, host)
    shown, opened = _allowed(policy, host)
    return Layout(
        secret_directories=directories,
        secret_files=files,
        protected=_ordered(found.protected),
        missing=tuple(found.missing),
        pins=_ordered(found.pins),
        watched=_ordered(found.watched),
        granted=tuple(granted),
        proc=tuple(path for path in _PROC if os.path.exists(path)) if host.uid == 0 else (),
        run=_run_paths(policy),
        shown=shown,
        opened=opened,
        folds_case=folds_case(policy.workspace),
    )


def folds_case(directory: str) -> bool:
    """Return whether the disk takes letters of either case for the same name, seen by the directory's own name."""
    parent, name = os.path.split(directory.rstrip("/"))
    other = os.path.join(parent, name.swapcase())
    try:
        return name != name.swapcase() and os.path.samefile(directory, other)
    except OSError:
        return False


class _Protected:
    """What is protected in one workspace after the other, with the parents that must not be renamed away."""

    def __init__(self, allowed: tuple[str, ...]) -> None:
        self._allowed = allowed
        self.protected: set[str] = set()
        self.missing: list[Placeholder] = []
        self.pins: set[str] = set()
        self.watched: set[str] = set()

    def place(self, place: str, *, home: str) -> None:
        """Take in a workspace or root."""
        for name in PROTECTED:
            self._name(f"{place}/{name}", place, placeholder=Placeholder(f"{place}/{name}"))
        for name in SHELL_START if home == place else ():
            self._name(f"{place}/{name}", place)
        for git in nested_repositories(place):
            self._name(git, place)

    def deny(self, path: str, place: str) -> None:
        """Take in what a rule denies: one name, or all of the place; of a missing name a command may make nothing."""
        if within(place, path):
            self.protected.add(place)
        elif within(path, place) and os.path.lexists(path):
            self.protected.add(path)
            self._pin(path, place)
        elif within(path, place):
            self.watched.add(path)

    def repository(self, git: str, place: str) -> None:
        """Take in the inside of a repository; its own directory is pinned."""
        if git != place:
            self._pin(f"{git}/x", place)
        self._name(f"{git}/hooks", place, placeholder=Placeholder(f"{git}/hooks"))
        self._name(f"{git}/config", place, placeholder=Placeholder(f"{git}/config", directory=False))
        for name in ("config.worktree", "commondir", "info/attributes"):
            self._name(f"{git}/{name}", place, watch=True)
        for module in module_directories(git):
            for name in _MODULE_FILES:
                self._name(f"{module}/{name}", place, watch=name in ("hooks", "commondir"))
        for private in worktree_directories(git):
            for path in (*_expand(f"{private}/config*"), f"{private}/commondir", f"{private}/gitdir"):
                self._name(path, place)

    def _name(self, path: str, place: str, *, placeholder: Placeholder | None = None, watch: bool = False) -> None:
        if any(within(path, allowed) for allowed in self._allowed):
            return
        try:
            kind = stat.S_IFMT(os.lstat(path).st_mode)
        except OSError:
            if placeholder is not None:
                self.missing.append(placeholder)
                self._pin(path, place)
            elif watch:
                self.watched.add(path)
            return
        if kind == stat.S_IFLNK:
            self._link(path, place)
        elif kind == stat.S_IFDIR and path.endswith("/.git"):
            self.repository(path, place)
        else:
            self.protected.add(path)
            self._pin(path, place)

    def _link(self, path: str, place: str) -> None:
        """A link cannot be mounted on: it is watched, and what it leads to is protected as if it stood there."""
        self.watched.add(path)
        target = os.path.realpath(path)
        if within(target, place) and target != place and os.path.exists(target):
            if path.endswith("/.git") and os.path.isdir(target):
                self.repository(target, place)
            else:
                self.protected.add(target)
                self._pin(target, place)

    def _pin(self, path: str, place: str) -> None:
        parent = os.path.dirname(path)
        while parent != place and within(parent, place):
            self.pins.add(parent)
            parent = os.path.dirname(parent)


def _secrets(policy: Policy, host: Host) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return directories and files, without what lies in another one of them; a link is followed to what it hides."""
    patterns = [f"{host.home.rstrip('/')}/{pattern}" for pattern in HOME_SECRETS]
    patterns += [f"/{pattern}" for pattern in SYSTEM_SECRETS if pattern != "run"]
    if not within(host.home, f"/{ROOT_HOME}"):
        patterns.append(f"/{ROOT_HOME}")
    found = {os.path.realpath(path) for pattern in patterns for path in _expand(pattern)}
    found |= {path for path in (*host.own, *host.sockets) if os.path.exists(path)}
    if policy.network.mode != "off" or policy.hide_secrets:
        found |= {path for place in (policy.workspace, *policy.roots) for path in _workspace_secrets(place)}
    directories: list[str] = []
    files: list[str] = []
    for path in sorted(found - set(policy.allowed_paths)):
        if within(path, "/run") or any(within(path, other) for other in directories):
            continue
        if os.path.isdir(path):
            directories.append(path)
        elif not _hidden_by_mode(path):
            files.append(path)
    return tuple(directories), tuple(files)


def _hidden_by_mode(path: str) -> bool:
    """A file that this account cannot read is none that a box, which can do less, has to hide."""
    return not os.access(path, os.R_OK) and not stat.S_ISSOCK(os.stat(path).st_mode)


def _expand(pattern: str) -> list[str]:
    folder, _, name = pattern.rpartition("/")
    if "*" not in name:
        return [pattern] if os.path.exists(pattern) else []
    wanted = re.compile(re.escape(name).replace(r"\*", ".*"))
    try:
        return [f"{folder}/{entry}" for entry in os.listdir(folder) if wanted.fullmatch(entry)]
    except OSError:
        return []


def _workspace_secrets(place: str) -> Iterator[str]:
    seen = 0
    for folder, folders, names in os.walk(place):
        folders[:] = [name for name in folders if name not in INSTALLED and name != ".git"]
        seen += len(names) + len(folders)
        if seen > ENTRIES_LIMIT:
            raise ServerError(
                "SANDBOX_WORKSPACE_TOO_LARGE",
                f"{place} has too many files to hide its secrets from a command with network.",
            )
        yield from (f"{folder}/{name}" for name in names if is_workspace_secret(name))


def _allowed(policy: Policy, host: Host) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the allowed paths that are secrets, and those outside of every workspace."""
    shown, opened = [], []
    places = (policy.workspace, *policy.roots)
    for path in policy.allowed_paths:
        if not os.path.exists(path) or any(within(path, place) for place in places):
            continue
        if is_secret(path, host.home, policy.workspace, roots=policy.roots, own=host.own):
            shown.append(path)
        elif writable_places(policy, host) and not any(within(path, one) for one in policy.denied):
            opened.append(path)
    return tuple(shown), tuple(opened)


def _run_paths(policy: Policy) -> tuple[str, ...]:
    """Return what of /run has to be seen: system links of some distributions, and the resolver's file with network."""
    kept = [path for path in _RUN_KEPT if os.path.exists(path)]
    resolver = os.path.realpath("/etc/resolv.conf")
    if policy.network.mode == "on" and within(resolver, "/run") and os.path.isfile(resolver):
        kept.append(resolver)
    return tuple(kept)


def _ordered(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(paths))
