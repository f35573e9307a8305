"""From files to rows: bundles, a profile, the settings, patch files (docs/settings.md, clauses P-1 to P-9).

Owns the order of the layers and reading them. Reads the user's own places and what the command line names, never a
file of a workspace. Loaded only when there is more than the default rows: TOML and pydantic take their time.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from acp_server.app import bundles
from acp_server.app.breaches import Breach, check
from acp_server.app.places import Places
from acp_server.app.row import Row
from acp_server.app.rows import Insert, Layer, Patch, SetConfig, Toggle, Tree, bundle_layer, compose, nearest
from acp_server.app.settings_schema import (
    CONFIGS,
    BundleFile,
    PatchFile,
    PluginFile,
    PluginTable,
    ProfileFile,
    RowTable,
    Settings,
)
from acp_server.app.toml_lines import line_of
from acp_server.base.errors import ServerError

BUNDLES: Final = ("base", "acp", "headless")
FRONTS: Final = ("acp", "headless")
TEMPLATES: Final[Mapping[str, tuple[str, ...]]] = {"acp": ("base", "acp"), "headless": ("base", "headless")}
PROVIDER: Final = "acp_server.app.parts.models:provider"
MCP_SERVER: Final = "acp_server.app.parts.mcp:server"
_ROW_OF: Final = {"model": "default-model", "persistence": "store", "shell": "tools"}
"""Settings that are one key of a row."""
_ROWS_BY_TABLE: Final = ("compaction", "title", "limits", "log", "models", "consent", "sandbox", "lsp", "web", "hooks")
"""Tables of the settings that are the config of the row of the same name."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file that was read: what it holds, and its text, to name lines."""

    path: str
    text: str
    document: dict[str, Any]

    def place(self, *location: str | int) -> str:
        """Return `file:line` of a key."""
        line = line_of(self.text, location)
        return self.path if line is None else f"{self.path}:{line}"


@dataclass(frozen=True, slots=True)
class Choice:
    """What one process is composed of besides the settings: a profile's name, the front end, files of patches."""

    profile: str | None = None
    front: str = "acp"
    patches: tuple[str, ...] = ()


def read(path: str, model: type[BaseModel], code: str) -> Source:
    """Return the file, which is as the model says.

    Raises:
        ServerError: `code`, with file and line, when it cannot be read, is no TOML, or breaks the model.
    """
    try:
        text = Path(path).read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ServerError(code, f"{path} cannot be read: {reason}.") from error
    return checked(path, text, model, code)


def checked(path: str, text: str, model: type[BaseModel], code: str) -> Source:
    """Return the text as a Source; see `read` for what is refused."""
    try:
        source = Source(path, text, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ServerError(code, _syntax(path, text, str(error))) from error
    try:
        check(model, source.document)
    except Breach as breach:
        raise ServerError(code, f"{source.place(*breach.location)}: {breach.what}") from breach
    return source


def default_tree(choice: Choice, places: Places) -> Tree:
    """Return the rows without the person's layers: the bundles of the profile."""
    return compose(_bundles(choice, places))


def full_tree(choice: Choice, places: Places, settings: Source | None) -> Tree:
    """Return the rows with all layers, each config that a person touched checked.

    Raises:
        ServerError: UNKNOWN_PROFILE, INVALID_PROFILE, INVALID_SETTINGS, INVALID_PATCH; the sentence names the place.
    """
    layers = _bundles(choice, places)
    if choice.profile is not None:
        layers += _profile_layers(choice.profile, places)
    if settings is not None:
        known = {row.id for row in compose(layers).rows}
        layers.append(settings_layer(settings, known))
    for path in choice.patches:
        source = read(path, PatchFile, "INVALID_PATCH")
        layers.append(Layer(path, tuple(_patches(source))))
    tree = compose(layers)
    _check_configs(tree)
    return tree


def settings_layer(source: Source, known: set[str]) -> Layer:
    """Return the settings as a layer over rows with the ids `known`."""
    document = source.document
    patches: list[Patch] = []
    for key, row in _ROW_OF.items():
        if key in document:
            patches.append(SetConfig(row, {key: document[key]}, source.place(key), merge=True))
    for table in _ROWS_BY_TABLE:
        for key, given in document.get(table, {}).items():
            patches.append(SetConfig(table, {key: given}, source.place(table, key), merge=True))
    for name, given in document.get("providers", {}).items():
        row = f"provider-{name}"
        if row not in known:
            patches.append(Insert((Row(row, PROVIDER, {"name": name}),), source.place("providers", name)))
        for key, part in given.items():
            patches.append(SetConfig(row, {key: part}, source.place("providers", name, key), merge=True))
    for name, given in document.get("mcp", {}).items():
        server = Row(f"mcp-{name}", MCP_SERVER, {"name": name, **given})
        patches.append(Insert((server,), source.place("mcp", name)))
    patches += _patches(source)
    return Layer(source.path, tuple(patches))


def bundle_rows(name: str, place: str) -> tuple[Row, ...]:
    """Return a bundle's rows; raise ServerError INVALID_PROFILE for a bundle that does not exist."""
    if name not in BUNDLES:
        raise ServerError("INVALID_PROFILE", f"{place}: there is no bundle {name!r}.{nearest(name, BUNDLES)}")
    path = Path(bundles.__file__).with_name(f"{name}.toml")
    source = read(str(path), BundleFile, "INVALID_PROFILE")
    return tuple(_row(RowTable.model_validate(row)) for row in source.document["rows"])


def profile_folder(places: Places, name: str) -> Path:
    """Return where a profile lies."""
    return Path(places.config) / "profiles" / name


def profile_names(places: Places) -> list[str]:
    """Return the profiles that there are, templates included."""
    folder = Path(places.config) / "profiles"
    made = {path.parent.name for path in folder.glob("*/profile.toml")} if folder.is_dir() else set()
    return sorted({*made, *TEMPLATES})


def installed_plugins(places: Places, name: str) -> list[PluginTable]:
    """Return what was installed into the profile; raise ServerError INVALID_PROFILE."""
    path = profile_folder(places, name) / "plugins.toml"
    if not path.is_file():
        return []
    source = read(str(path), PluginFile, "INVALID_PROFILE")
    return PluginFile.model_validate(source.document).plugin


def read_settings(places: Places) -> Source:
    """Return the settings; raise ServerError INVALID_SETTINGS."""
    return read(str(Path(places.config) / "settings.toml"), Settings, "INVALID_SETTINGS")


def plugin_folders(choice: Choice, places: Places) -> list[str]:
    """Return the folders from which the profile's packages are imported; raise ServerError INVALID_PROFILE."""
    if choice.profile is None:
        return []
    return [plugin.folder for plugin in installed_plugins(places, choice.profile)]


def _bundles(choice: Choice, places: Places) -> list[Layer]:
    names, place = _bundle_names(choice, places)
    if not any(front in names for front in FRONTS):
        names = (*names, choice.front)
    return [bundle_layer(name, bundle_rows(name, place)) for name in names]


def _bundle_names(choice: Choice, places: Places) -> tuple[tuple[str, ...], str]:
    if choice.profile is None:
        return TEMPLATES[choice.front], "the default profile"
    path = profile_folder(places, choice.profile) / "profile.toml"
    if path.is_file():
        source = read(str(path), ProfileFile, "INVALID_PROFILE")
        return tuple(source.document["bundles"]), source.place("bundles")
    if choice.profile in TEMPLATES:
        return TEMPLATES[choice.profile], f"the profile {choice.profile}"
    names = profile_names(places)
    hint = f"known are {', '.join(names)}; acp-server plugin --profile NAME add PACKAGE makes one"
    raise ServerError("UNKNOWN_PROFILE", f"There is no profile {choice.profile!r}; {hint}.")


def _profile_layers(name: str, places: Places) -> list[Layer]:
    layers = []
    plugins = installed_plugins(places, name)
    if plugins:
        path = str(profile_folder(places, name) / "plugins.toml")
        inserts = (Insert(tuple(map(_row, each.rows)), f"{path} ({each.package})") for each in plugins)
        layers.append(Layer(path, tuple(inserts)))
    path = str(profile_folder(places, name) / "profile.toml")
    if Path(path).is_file():
        layers.append(Layer(path, tuple(_patches(read(path, ProfileFile, "INVALID_PROFILE")))))
    return layers


def _patches(source: Source) -> list[Patch]:
    made: list[Patch] = []
    for number, table in enumerate(source.document.get("patch", ())):
        place = source.place("patch", number)
        if "insert" in table:
            rows = tuple(_row(RowTable.model_validate(row)) for row in table["insert"])
            anchor = table.get("before") or table.get("after")
            made.append(Insert(rows, place, anchor, "before" if "before" in table else "after"))
            continue
        if "config" in table:
            made.append(SetConfig(table["id"], table["config"], place))
        if "disabled" in table:
            made.append(Toggle(table["id"], table["disabled"], place))
    return made


def _row(table: RowTable) -> Row:
    return Row(table.id, table.component, table.config, tuple(table.requires), table.disabled)


def _check_configs(tree: Tree) -> None:
    for row in tree.rows:
        model = CONFIGS.get(row.component)
        touched = [place for (ident, _), place in tree.origins.items() if ident == row.id]
        if model is None or all(place.startswith("bundle ") for place in touched):
            continue
        try:
            check(model, dict(row.config))
        except Breach as breach:
            key = str(breach.location[0]) if breach.location else ""
            place = tree.origins.get((row.id, key)) or tree.origins[row.id, ""]
            raise ServerError("INVALID_PATCH", f"{place}: row {row.id}: {breach.what}") from breach


def _syntax(path: str, text: str, message: str) -> str:
    """Return `tomllib`'s message with its line in front, which it tells in words only."""
    what, _, place = message.partition(" (at ")
    words = place.replace(",", "").rstrip(")").split()
    line = words[1] if words[:1] == ["line"] else str(max(text.rstrip().count("\n") + 1, 1))
    return f"{path}:{line}: {what}."
