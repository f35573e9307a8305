"""`acp-server editors [NAME]`: what to paste into an editor so that it starts this installation (docs/editors.md)."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import Final

import acp_server
from acp_server.base.values import value

PROGRAM: Final = "acp-server"


@value
class Snippet:
    """What one client wants: where it goes, and a text with `$command`, `$args`, `$list` and `$shell` in it.

    `$command` is a quoted string, `$args` quoted strings with commas between, `$words` with blanks; `$list` is all of
    them with commas, `$shell` one line of a shell. `$plugin` is the folder of the plugin for Neovim, quoted.
    """

    name: str
    title: str
    place: str
    text: str


_JSON_AGENT: Final = '{ "command": $command, "args": [$args], "env": {} }'
_AGENT_SHELL: Final = """\
(agent-shell-make-agent-config
 :identifier 'acp-server :mode-line-name "acp-server" :buffer-name "acp-server"
 :shell-prompt "acp> " :shell-prompt-regexp "acp> "
 :client-maker
 (lambda (buffer)
   (acp-make-client :command $command :command-params '($words)
                    :environment-variables (agent-shell-make-environment-variables :inherit-env t)
                    :context-buffer buffer)))"""
SNIPPETS: Final = (
    Snippet(
        "zed",
        "Zed",
        "settings.json",
        '{ "agent_servers": { "acp-server": { "type": "custom", "command": $command, "args": [$args], "env": {} } } }',
    ),
    Snippet(
        "vscode",
        "VS Code with the ACP client of formulahendry/vscode-acp",
        "settings.json",
        f'{{ "acp.agents": {{ "acp-server": {_JSON_AGENT} }} }}',
    ),
    Snippet(
        "jetbrains",
        "JetBrains AI Assistant",
        "~/.jetbrains/acp.json",
        f'{{ "agent_servers": {{ "acp-server": {_JSON_AGENT} }} }}',
    ),
    Snippet(
        "neovim",
        "Neovim with the plugin that is installed beside this command",
        "init.lua; then :Acp",
        'vim.opt.runtimepath:prepend($plugin)\nrequire("acp").setup({ command = { $list } })',
    ),
    Snippet(
        "codecompanion",
        "Neovim with CodeCompanion",
        "your Neovim configuration; docs/editors.md has the whole adapter",
        "commands = { default = { $list } }",
    ),
    Snippet(
        "avante",
        "Neovim with avante.nvim",
        "your Neovim configuration",
        'acp_providers = { ["acp-server"] = { command = $command, args = { $args } } },\nprovider = "acp-server",',
    ),
    Snippet(
        "agent-shell",
        "Emacs with agent-shell",
        "your Emacs configuration",
        _AGENT_SHELL,
    ),
    Snippet("toad", "Toad", "a terminal", "toad acp $quoted ."),
    Snippet("acpx", "acpx", "a terminal", "acpx --agent $quoted exec 'What does this project do?'"),
    Snippet(
        "marimo", "marimo", "a terminal; port 3017 is one that marimo looks at", "npx stdio-to-ws $quoted --port 3017"
    ),
    Snippet("shell", "a script, over a pipe", "a terminal", "$shell"),
)


def run(arguments: Sequence[str]) -> int:
    """Print the snippet of each client, or of the named one; return 0."""
    parser = argparse.ArgumentParser(
        prog=f"{PROGRAM} editors", description="Say what to paste into an editor so that it starts this installation."
    )
    parser.add_argument("name", nargs="?", choices=[snippet.name for snippet in SNIPPETS], help="only that client's")
    given = parser.parse_args(arguments)
    for snippet in SNIPPETS:
        if given.name == snippet.name:
            print(filled(snippet, command()))
        elif given.name is None:
            print(f"{snippet.name}: {snippet.title}, in {snippet.place}\n\n{filled(snippet, command())}\n")
    return 0


def command() -> list[str]:
    """Return the command of this installation by absolute paths: an editor may know no PATH of the person's."""
    script = os.path.abspath(sys.argv[0])  # noqa: PTH100 - a link of a virtual environment is to stay one
    if os.path.basename(script) == PROGRAM and os.access(script, os.X_OK):  # noqa: PTH119 - paths are text here
        return [script, "acp"]
    return [sys.executable, "-m", "acp_server", "acp"]


def plugin() -> str:
    """Return the folder of the plugin for Neovim: of a checkout, else where the package keeps its shared data."""
    checkout = Path(acp_server.__path__[0]).parent / "editor-clients" / "neovim"
    installed = Path(sysconfig.get_path("data")) / "share" / PROGRAM / "neovim"
    return str(checkout if checkout.is_dir() else installed)


def filled(snippet: Snippet, words: Sequence[str]) -> str:
    """Return the snippet's text with the command in it; strings are quoted as JSON, Lua and Lisp alike read them."""
    quoted = [json.dumps(word, ensure_ascii=False) for word in words]
    shell = shlex.join(words)
    return Template(snippet.text).substitute(
        command=quoted[0],
        args=", ".join(quoted[1:]),
        words=" ".join(quoted[1:]),
        list=", ".join(quoted),
        shell=shell,
        quoted=shlex.quote(shell),
        plugin=json.dumps(plugin(), ensure_ascii=False),
    )
