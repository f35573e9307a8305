"""Profiles on disk: made when first named, and what is installed into them (docs/settings.md, clauses P-8 and P-9).

Owns the folder of a profile and the folders of its packages. Packages are put there by pip, one folder each, so that
taking one away takes nothing else.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from acp_server.app.layers import TEMPLATES, Choice, full_tree, installed_plugins, profile_folder, read_settings
from acp_server.app.places import Places
from acp_server.app.settings_schema import PluginTable, RowTable
from acp_server.app.toml_write import toml_value
from acp_server.base.errors import ServerError

GROUP: Final = "acp_server.plugins"
INSTALL_SECONDS: Final = 600.0
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HEAD: Final = "# Written by `acp-server plugin`; changes of rows belong into profile.toml.\n"


def ensure_profile(places: Places, name: str, *, create: bool = False) -> Path:
    """Return the folder of a profile; a template is written when it is first named, any other one with `create`.

    Raises:
        ServerError: UNKNOWN_PROFILE; INVALID_PROFILE for a name that is none; PROFILE_FAILED when it cannot be written.
    """
    if not _NAME.fullmatch(name):
        raise ServerError("INVALID_PROFILE", f"{name!r} is no name for a profile.")
    folder = profile_folder(places, name)
    file = folder / "profile.toml"
    if file.is_file() or not (name in TEMPLATES or create):
        return folder
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(file, f"bundles = {toml_value(TEMPLATES.get(name, ('base',)))}\n")
    except OSError as error:
        raise ServerError("PROFILE_FAILED", f"{file} cannot be written: {error.strerror}.") from error
    return folder


def add_plugin(places: Places, profile: str, package: str) -> PluginTable:
    """Install a package, as pip names it or a path, and add its rows; return what was added.

    Raises:
        ServerError: INSTALL_FAILED with pip's last words, NO_PLUGIN when it brings none, ALREADY_INSTALLED, or what
            keeps the profile from being composed with it; nothing is left behind then.
    """
    folder = ensure_profile(places, profile, create=True)
    shelf = Path(places.state) / "plugins" / profile
    shelf.mkdir(parents=True, exist_ok=True, mode=0o700)
    made = Path(tempfile.mkdtemp(prefix=".new-", dir=shelf))
    try:
        _install(package, made)
        plugin = _found(made, shelf)
        known = installed_plugins(places, profile)
        _require_absent(plugin, known)
        made.rename(plugin.folder)
        made = Path(plugin.folder)
        _write(folder, [*known, plugin])
        try:
            _compose(places, profile)
        except ServerError:
            _write(folder, known)
            raise
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return plugin


def remove_plugin(places: Places, profile: str, package: str) -> PluginTable:
    """Take a package and its rows away; raise ServerError NOT_INSTALLED."""
    known = installed_plugins(places, profile)
    wanted = _normal(package)
    found = next((plugin for plugin in known if _normal(plugin.package) == wanted), None)
    if found is None:
        names = ", ".join(plugin.package for plugin in known) or "nothing"
        raise ServerError("NOT_INSTALLED", f"{package} is not installed in {profile}; installed is {names}.")
    _write(profile_folder(places, profile), [plugin for plugin in known if plugin is not found])
    shutil.rmtree(found.folder, ignore_errors=True)
    return found


def write_whole(path: Path, text: str) -> None:
    """Write a private file so that it is there whole or as it was; a link is followed to what it names."""
    path = Path(os.path.realpath(path))
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _require_absent(plugin: PluginTable, known: Iterable[PluginTable]) -> None:
    if any(other.package == plugin.package for other in known):
        raise ServerError("ALREADY_INSTALLED", f"{plugin.package} is installed; remove it first.")


def _install(package: str, folder: Path) -> None:
    if importlib.util.find_spec("pip") is None:
        raise ServerError("NO_PIP", "pip is not installed beside the server; install it there to add packages.")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--target", str(folder), package]
    try:
        done = subprocess.run(  # noqa: S603 - the person names the package
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=INSTALL_SECONDS,
            check=False,
            text=True,
        )
    except subprocess.TimeoutExpired as error:
        raise ServerError("INSTALL_FAILED", f"pip did not end within {INSTALL_SECONDS:g} s.") from error
    if done.returncode != 0:
        words = next((line for line in reversed(done.stdout.splitlines()) if line.startswith("ERROR")), done.stdout)
        raise ServerError("INSTALL_FAILED", f"pip failed: {words.strip()[-500:]}")


def _found(folder: Path, shelf: Path) -> PluginTable:
    """Return the distribution in the folder that brings plugins."""
    for distribution in importlib.metadata.distributions(path=[str(folder)]):
        entries = [entry for entry in distribution.entry_points if entry.group == GROUP]
        if entries:
            name = _normal(distribution.metadata["Name"])
            rows = [RowTable(id=entry.name, component=entry.value) for entry in entries]
            return PluginTable(package=name, version=distribution.version, folder=str(shelf / name), rows=rows)
    raise ServerError("NO_PLUGIN", f"The package brings no plugin: it has no entry point of the group {GROUP}.")


def _compose(places: Places, profile: str) -> None:
    settings = read_settings(places) if (Path(places.config) / "settings.toml").is_file() else None
    full_tree(Choice(profile), places, settings)


def _write(folder: Path, plugins: Iterable[PluginTable]) -> None:
    made = [_HEAD]
    for plugin in plugins:
        rows = [{"id": row.id, "component": row.component} for row in plugin.rows]
        facts = {"package": plugin.package, "version": plugin.version, "folder": plugin.folder, "rows": rows}
        made.append("\n[[plugin]]\n" + "".join(f"{key} = {toml_value(part)}\n" for key, part in facts.items()))
    write_whole(folder / "plugins.toml", "".join(made))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
