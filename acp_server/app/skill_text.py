"""Skills and prompt files as texts: a head of keys between two lines `---`, and a body (docs/skills.md, K). Pure.

Owns what of the head is understood: plain, quoted and folded values of single keys; anything else in it is passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from acp_server.base.values import value

NAME_LENGTH: Final = 64
DESCRIPTION_LENGTH: Final = 400
LISTED_LENGTH: Final = 16 * 1024
"""Characters of the list that a model is told."""
HEAD: Final = (
    "Instructions for certain kinds of work. Before you do such work, read the file of its skill with `read` and "
    "follow it; names of files in it are relative to its folder."
)
_FOLDED: Final = ("|", ">", "|-", ">-", "|+", ">+")


@value
class Skill:
    """One skill: `path` is the real path of its file, `project` whether the workspace brought it."""

    name: str
    description: str
    path: str
    body: str
    project: bool = False


@value
class PromptFile:
    """One prompt of the person's."""

    name: str
    description: str
    hint: str | None
    body: str


def split_head(text: str) -> tuple[dict[str, str], str]:
    """Return the keys of the head and the text behind it; a text without a head has no keys."""
    lines = text.replace("\r\n", "\n").removeprefix("\ufeff").split("\n")
    if lines[0].rstrip() != "---":
        return {}, text
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        return {}, text
    return _keys(lines[1:end]), "\n".join(lines[end + 1 :]).strip()


def skill_of(text: str, folder: str, path: str, *, project: bool) -> Skill | None:
    """Return the skill of a file in a folder of that name, None where it has no description or no usable name."""
    keys, body = split_head(text)
    name, description = keys.get("name") or folder, " ".join(keys.get("description", "").split())
    if not is_name(name) or not description:
        return None
    return Skill(name, _cut(description), path, body, project)


def prompt_of(text: str, name: str) -> PromptFile | None:
    """Return the prompt of a file `name.md`, None where it is empty or its name is none."""
    keys, body = split_head(text)
    if not is_name(name) or not body.strip():
        return None
    first = next((line.strip("# ") for line in body.split("\n") if line.strip("# ")), name)
    description = " ".join((keys.get("description") or first).split())
    return PromptFile(name, _cut(description), keys.get("argument-hint") or None, body)


def is_name(name: str) -> bool:
    """Return whether a name may be a command's: letters, digits, `-` and `_`."""
    return 0 < len(name) <= NAME_LENGTH and name.isascii() and name.replace("-", "a").replace("_", "a").isalnum()


def listed(skills: Iterable[Skill]) -> str | None:
    """Return the list that a model is told, by name; None without skills."""
    lines, left = list[str](), LISTED_LENGTH
    for skill in sorted(skills, key=lambda skill: skill.name):
        line = f"- {skill.name}: {skill.description} ({skill.path})"
        left -= len(line)
        if left < 0:
            lines.append("(There are more skills than are listed here.)")
            break
        lines.append(line)
    return "\n".join([HEAD, *lines]) if lines else None


def filled(prompt: PromptFile, args: str) -> str:
    """Return the prompt with its arguments: `$ARGUMENTS`, `$1` to `$9`; one that names none has them at its end."""
    words: Sequence[str] = args.split()
    places: Mapping[str, str] = {f"${number}": word for number, word in enumerate(words[:9], 1)}
    parts, named = list[str](), False
    rest = prompt.body
    while "$" in rest:
        before, _, rest = rest.partition("$")
        parts.append(before)
        if rest.startswith("ARGUMENTS"):
            rest, word = rest[len("ARGUMENTS") :], args
        elif rest[:1] in tuple("123456789") and not rest[1:2].isdigit():
            rest, word = rest[1:], places.get(f"${rest[0]}", "")
        else:
            parts.append("$")
            continue
        parts.append(word)
        named = True
    text = "".join([*parts, rest])
    return text if named or not args else f"{text}\n\n{args}"


def told_skill(skill: Skill, args: str) -> str:
    """Return what a model is told when the person names the skill."""
    folder = skill.path.rpartition("/")[0]
    text = f'<skill name="{skill.name}" folder="{folder}">\n{skill.body}\n</skill>\nFollow this skill.'
    return f"{text}\n\n{args}" if args else text


def _cut(text: str) -> str:
    return text if len(text) <= DESCRIPTION_LENGTH else f"{text[: DESCRIPTION_LENGTH - 1]}…"


def _keys(lines: Sequence[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lines:
        key, colon, rest = line.partition(":")
        if colon and line[:1].strip() and line[:1] != "#":
            current = found[key.strip()] = [] if rest.strip() in _FOLDED else [_plain(rest.strip())]
        elif line[:1].isspace() or not line:
            current.append(line.strip())
    return {key: " ".join(words).strip() for key, words in found.items()}


def _plain(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1].replace('\\"', '"').replace("''", "'")
    return text.partition(" #")[0].rstrip()
