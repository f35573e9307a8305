"""Which language servers there are: those that we know, and those of the settings. Pure.

Owns the list of known servers and which of them serve a file. What a workspace says adds none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from acp_server.base.json_value import JsonObject
from acp_server.base.values import replace, value

Does: TypeAlias = Literal["all", "lint"]
NOTHING: Final[JsonObject] = MappingProxyType({})


@value
class LanguageServer:
    """One server: its program with arguments, and the language by the ending of a file's name.

    Of the known servers with one `group` the first that is installed is used. `does` is `lint` for one that finds
    problems and nothing else. `settings` answers what the server asks of its configuration, `options` goes with
    `initialize`. `least_major` is the version that the program's own package.json has to have.
    """

    name: str
    command: tuple[str, ...]
    languages: tuple[tuple[str, str], ...]
    group: str = ""
    does: Does = "all"
    settings: JsonObject = NOTHING
    options: JsonObject = NOTHING
    least_major: int = 0

    def language(self, path: str) -> str | None:
        """Return the language of a file that it serves, or None."""
        return next((language for ending, language in self.languages if path.endswith(ending)), None)


_PYTHON: Final = ((".py", "python"), (".pyi", "python"))
_SCRIPT: Final = (
    (".ts", "typescript"),
    (".tsx", "typescriptreact"),
    (".mts", "typescript"),
    (".cts", "typescript"),
    (".js", "javascript"),
    (".jsx", "javascriptreact"),
    (".mjs", "javascript"),
    (".cjs", "javascript"),
)
KNOWN: Final = (
    LanguageServer("ty", ("ty", "server"), _PYTHON, "python"),
    LanguageServer("basedpyright", ("basedpyright-langserver", "--stdio"), _PYTHON, "python"),
    LanguageServer("ruff", ("ruff", "server"), _PYTHON, "python-lint", "lint"),
    LanguageServer("typescript", ("tsc", "--lsp", "--stdio"), _SCRIPT, "script", least_major=7),
)

Find: TypeAlias = Callable[[LanguageServer], str | None]
"""Returns the path of a server's program, or None where it is not installed."""


def choose(given: Mapping[str, Mapping[str, Any]], find: Find) -> tuple[LanguageServer, ...]:
    """Return the servers that are used: those of the settings, by name, then the known ones that are installed.

    A table of the settings that has the name of a known server changes that one, or takes it away.
    """
    known = {server.name: server for server in KNOWN}
    named = [_made(name, table, known.get(name)) for name, table in given.items() if not table.get("disabled", False)]
    chosen = [server for server in named if server is not None]
    groups = {server.group for server in chosen if server.group}
    for server in KNOWN:
        if server.name in given or server.group in groups or find(server) is None:
            continue
        chosen.append(server)
        groups.add(server.group)
    return tuple(chosen)


def serving(servers: Sequence[LanguageServer], path: str) -> tuple[LanguageServer, ...]:
    """Return the servers of a file."""
    return tuple(server for server in servers if server.language(path) is not None)


def _made(name: str, table: Mapping[str, Any], known: LanguageServer | None) -> LanguageServer | None:
    command, languages = table.get("command"), table.get("languages")
    server = known or LanguageServer(name, (), ())
    if command:
        server = replace(server, command=tuple(command), least_major=0)
    if languages:
        server = replace(server, languages=tuple(languages.items()))
    if not server.command or not server.languages:
        return None
    return replace(
        server, settings=table.get("settings", server.settings), options=table.get("options", server.options)
    )
