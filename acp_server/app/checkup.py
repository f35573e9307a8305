"""What is configured, found and missing, as data for `acp-server doctor`. Nothing secret is in it.

Owns looking: at places, settings, rows, providers, the store, versions. Changes nothing but the list's own cache
and the empty places that a box is tried with.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import platform
import shutil
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

from acp_server import __version__
from acp_server.app.components import Components
from acp_server.app.composition import add_plugins
from acp_server.app.layers import Choice, full_tree, profile_names, read_settings
from acp_server.app.places import Places, account_home, find_places
from acp_server.app.providers import ConfiguredModels
from acp_server.app.registries import Registries
from acp_server.app.rows import Tree
from acp_server.app.session_access import SessionAccess
from acp_server.base.errors import ServerError
from acp_server.persistence.jsonl import JsonlPersistence
from acp_server.persistence.port import SessionPersistence
from acp_server.sandbox.host import read_host
from acp_server.sandbox.probe import describe, probe

State: TypeAlias = Literal["ok", "missing", "wrong"]
PACKAGES: Final = ("httpx", "pydantic", "watchfiles", "zstandard")
LEAST_FREE: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: `wrong` keeps the server from working, `missing` from doing all it could."""

    subject: str
    state: State
    words: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the finding as JSON."""
        return asdict(self)


def examine(environment: Mapping[str, str], profile: str | None) -> list[Finding]:
    """Return everything that was found, in the order in which a person reads it."""
    found = [_versions()]
    try:
        places = find_places(environment, account_home)
    except ServerError as error:
        return [*found, Finding("places", "wrong", error.message)]
    found += _places(places)
    try:
        tree = _tree(places, profile)
    except ServerError as error:
        return [*found, Finding("settings", "wrong", error.message)]
    found.append(_settings(places, tree, profile))
    found += _components(environment, places, tree, profile)
    return [*found, _store(places), _confinement(environment, places, tree)]


def _versions() -> Finding:
    versions = {"acp-server": __version__, "python": platform.python_version(), "sqlite": sqlite3.sqlite_version}
    lacking = []
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            lacking.append(package)
    words = ", ".join(f"{name} {version}" for name, version in versions.items())
    state: State = "wrong" if lacking else "ok"
    return Finding("versions", state, words + "".join(f"; {name} is missing" for name in lacking), versions)


def _places(places: Places) -> list[Finding]:
    found = []
    for name, path in (("state", places.state), ("config", places.config), ("cache", places.cache)):
        near = _nearest(path)
        writable = os.access(near, os.W_OK | os.X_OK)
        there = near == Path(path)
        facts = {"path": path, "exists": there, "writable": writable}
        words = f"{path}{'' if there else ' (is made when needed)'}{'' if writable else ' cannot be written'}"
        found.append(Finding(f"place {name}", "ok" if writable else "wrong", words, facts))
    return found


def _nearest(path: str) -> Path:
    """Return the path, or the closest of its parents that exists."""
    near = Path(path)
    while not near.exists() and near != near.parent:
        near = near.parent
    return near


def _tree(places: Places, profile: str | None) -> Tree:
    settings = read_settings(places) if _settings_file(places).is_file() else None
    return full_tree(Choice(profile), places, settings)


def _settings_file(places: Places) -> Path:
    return Path(places.config) / "settings.toml"


def _settings(places: Places, tree: Tree, profile: str | None) -> Finding:
    path = _settings_file(places)
    words = f"{path}{'' if path.is_file() else ' (not there, which is fine)'}"
    rows = [{"id": row.id, "component": row.component, "disabled": row.disabled} for row in tree.rows]
    facts = {"path": str(path), "profile": profile, "profiles": profile_names(places), "rows": rows}
    return Finding("settings", "ok", f"{words}; {len(rows)} rows", facts)


def _components(environment: Mapping[str, str], places: Places, tree: Tree, profile: str | None) -> list[Finding]:
    tables = Registries(environment, SessionAccess(_no_store, lambda _error: None))
    components = Components(tables)
    try:
        add_plugins(Choice(profile), places)
        components.build(tree.rows)
    except ServerError as error:
        return [Finding("rows", "wrong", error.message)]
    found = [*_providers(tables, tree), _model(environment, tables)]
    asyncio.run(components.close())
    return found


def _providers(tables: Registries, tree: Tree) -> list[Finding]:
    configs = {str(row.config.get("name")): row.config for row in tree.rows}
    found = []
    for entry in tables.adapters.items:
        config = configs.get(entry.name, {})
        ready = entry.ready()
        key = config.get("key")
        facts: dict[str, Any] = {"ready": ready, "protocol": config.get("protocol")}
        if isinstance(key, Mapping):
            facts["key"] = {"from": next(iter(key)), "present": ready}
        if isinstance(config.get("base_url"), str):
            facts["host"] = urlsplit(str(config["base_url"])).hostname
        words = "ready" if ready else f"no key: {entry.missing}"
        found.append(Finding(f"provider {entry.name}", "ok" if ready else "missing", words, facts))
    return found


def _model(environment: Mapping[str, str], tables: Registries) -> Finding:
    models = ConfiguredModels(environment, tables.adapters, tables.default_models)
    try:
        config = models.default()
    except ServerError as error:
        return Finding("model", "wrong", error.message)
    if config is None:
        return Finding("model", "missing", models.missing())
    name = f"{config.provider}/{config.model}"
    return Finding("model", "ok", f"{name} answers when nobody names another", {"model": name})


def _store(places: Places) -> Finding:
    try:
        return asyncio.run(_listed(places))
    except (ServerError, OSError) as error:
        return Finding("store", "wrong", f"The sessions cannot be listed: {error}")


async def _listed(places: Places) -> Finding:
    store = JsonlPersistence(places.sessions)
    try:
        page = await store.list()
    finally:
        await store.shutdown()
    free = shutil.disk_usage(_nearest(places.state)).free
    more = " or more" if page.next_cursor else ""
    facts = {"sessions": len(page.entries), "more": bool(more), "broken": len(page.broken), "free_bytes": free}
    words = f"{len(page.entries)}{more} sessions, {len(page.broken)} that cannot be read, {free // 2**20} MiB free"
    return Finding("store", "wrong" if page.broken or free < LEAST_FREE else "ok", words, facts)


def _confinement(environment: Mapping[str, str], places: Places, tree: Tree) -> Finding:
    """Return which box commands get, found by trying, why it is no better one, and what they reach."""
    backend = probe(read_host(environment, places.state, (places.state, places.config, places.cache)))
    facts = describe(backend)
    why = "".join(f"; {reason}" for reason in backend.passed_over)
    if backend.kind == "none":
        return Finding("confinement", "missing", f"no sandbox works here, so commands are refused{why}", facts)
    row = next((row.config for row in tree.rows if row.id == "sandbox"), {})
    reach, hosts = str(row.get("network", "off")), row.get("hosts")
    facts = {**facts, "network": reach, "hosts": hosts if isinstance(hosts, list) else []}
    if reach == "allow-list" and backend.enforcement != "full":
        reach = "off, since this box cannot be held to a list"
    words = f"commands run in {backend.kind} ({facts['enforcement']}), network {reach}{why}"
    return Finding("confinement", "ok", words, facts)


async def _no_store() -> SessionPersistence:
    raise ServerError("NO_STORE", "Nothing is served.")
