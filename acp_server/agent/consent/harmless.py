"""Commands that only look: names with the options that are known to change and run nothing (clauses G-5 to G-8). Pure.

A command is harmless when its words are a known name, options of its list, and operands that stay in the workspace and
name no secret. An option that is not in the list makes a question, not a guess: `find -delete`, `git diff --ext-diff`
and `sort -o` are one word away from looking.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from acp_server.agent.consent.words import Words, split_command
from acp_server.base.values import value

Operands: TypeAlias = Literal["paths", "one-path", "pattern-paths", "revisions", "none"]

_NUMBER: Final = re.compile(r"\d{1,6}")
_REVISION: Final = re.compile(r"[A-Za-z0-9_./^~@-]+")
_GLOB: Final = re.compile(r"\*\.[A-Za-z0-9]+")
"""File names by their end alone: a glob may name a hidden file, which `rg` then reads."""
_NO_PATTERN: Final = frozenset({"-e", "--files"})
"""Options with which the first operand is a path already, wherever they stand."""
_SECRETS: Final = (
    "*.env", ".env*", "*.env.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "id_*",
    "*credential*", "*secret*", "*password*", "*token*", "*.tfstate*", "service*account*.json", "[._]netrc", ".npmrc",
    ".pypirc", ".pgpass", ".my.cnf", ".htpasswd", "*_history", ".git-credentials", "shadow", ".ssh", ".gnupg", ".aws",
    ".kube", ".docker",
)  # fmt: skip


@value
class Shape:
    """What may follow a name: options without a value, with a number, with a word, and what its operands are."""

    flags: frozenset[str]
    numbered: frozenset[str] = frozenset()
    worded: frozenset[str] = frozenset()
    operands: Operands = "paths"


def _shape(flags: str = "", numbered: str = "", worded: str = "", operands: Operands = "paths") -> Shape:
    return Shape(frozenset(flags.split()), frozenset(numbered.split()), frozenset(worded.split()), operands)


SHAPES: Final[Mapping[Words, Shape]] = {
    ("ls",): _shape("-l -a -A -h -1 -R -t -r -S -d -F -la -al -lh -lah -lt -ltr"),
    ("pwd",): _shape(operands="none"),
    ("cat",): _shape("-n -A"),
    ("head",): _shape(numbered="-n -c"),
    ("tail",): _shape(numbered="-n -c"),
    ("wc",): _shape("-l -w -c -m"),
    ("file",): _shape("-b"),
    ("stat",): _shape(),
    ("du",): _shape("-s -h -sh"),
    ("tree",): _shape("-a -d", "-L"),
    ("basename",): _shape(),
    ("dirname",): _shape(),
    ("cmp",): _shape("-s"),
    ("diff",): _shape("-u -r -q -ru -w"),
    ("grep",): _shape("-r -n -i -l -w -v -E -F -c -rn -in -rin -o -h", "-A -B -C -m", "-e", "pattern-paths"),
    ("rg",): _shape("-n -i -l -w -v -F -c -S --files", "-A -B -C -m", "-e -g -t", "pattern-paths"),
    ("find",): _shape("", "-maxdepth -mindepth", "-name -iname -path"),
    ("uniq",): _shape("-c -d -u", operands="one-path"),  # it writes to a second one
    ("cut",): _shape("", "", "-d -f -c"),
    ("nl",): _shape("-ba"),
    ("git", "status"): _shape("--short -s --branch -b --porcelain"),
    ("git", "diff"): _shape("--stat --name-only --name-status --cached --staged --no-color", operands="revisions"),
    ("git", "log"): _shape("--oneline --stat --graph --no-color", "-n", operands="revisions"),
    ("git", "show"): _shape("--stat --name-only --no-color", operands="revisions"),
    ("git", "branch"): _shape("-a -v --list", operands="none"),
    ("git", "ls-files"): _shape("-m -o"),
    ("git", "rev-parse"): _shape("--show-toplevel --abbrev-ref", operands="revisions"),
    ("git", "blame"): _shape("-w"),
}


def is_harmless(command: str) -> bool:
    """Return whether every part of the command only looks, and only into the workspace."""
    parts = split_command(command)
    return parts is not None and all(_only_looks(words) for words in parts)


def reads_trees(command: str) -> bool:
    """Return whether a command that only looks reads files that it does not name: those of whole directories."""
    for words in split_command(command) or ():
        flags = {word for word in words if word.startswith("-")}
        if words[0] == "rg" or (words[0] in ("grep", "diff") and any("r" in flag for flag in flags)):
            return True
    return False


def command_name(words: Words) -> Words:
    """Return the words that name what runs: two for a program with subcommands, else one."""
    return words[:2] if words[0] == "git" else words[:1]


def _only_looks(words: Words) -> bool:
    name = command_name(words)
    shape = SHAPES.get(name)
    return shape is not None and _fits(shape, words[len(name) :], name)


def _fits(shape: Shape, arguments: Words, name: Words) -> bool:
    rest, operands_only, paths = list(arguments), False, 0
    pattern_due = shape.operands == "pattern-paths" and _NO_PATTERN.isdisjoint(arguments)
    while rest:
        word = rest.pop(0)
        if not operands_only and word.startswith("-"):
            if word == "--":
                operands_only = True
            elif word in shape.flags or (name == ("git", "log") and _NUMBER.fullmatch(word[1:])):
                continue
            elif word in shape.numbered and rest and _NUMBER.fullmatch(rest[0]):
                rest.pop(0)
            elif word in shape.worded and rest and not rest[0].startswith("-"):
                if word == "-g" and not (_GLOB.fullmatch(rest[0]) and stays_inside(rest[0])):
                    return False
                rest.pop(0)
            elif name == ("find",) and word == "-type" and rest and rest[0] in ("f", "d", "l"):
                rest.pop(0)
            else:
                return False
        elif pattern_due:
            pattern_due = False
        elif not _operand_fits(shape.operands, word):
            return False
        else:
            paths += 1
    return shape.operands != "one-path" or paths <= 1


def _operand_fits(operands: Operands, word: str) -> bool:
    if operands == "none" or word.startswith("-"):
        return False
    return stays_inside(word) and (operands != "revisions" or _REVISION.fullmatch(word) is not None)


def stays_inside(path: str) -> bool:
    """Return whether a path operand is relative, goes nowhere up, and names neither git's own files nor a secret."""
    parts = path.lower().split("/")
    if path.startswith(("/", "~")) or ".." in parts or ".git" in parts:
        return False
    return not any(fnmatch.fnmatchcase(part, secret) for part in parts for secret in _SECRETS)
