"""Heads and bodies of skills and prompts, and arguments in them (docs/skills.md, section K)."""

from __future__ import annotations

import pytest

from acp_server.app.skill_text import (
    DESCRIPTION_LENGTH,
    HEAD,
    PromptFile,
    Skill,
    filled,
    is_name,
    listed,
    prompt_of,
    skill_of,
    split_head,
)


@pytest.mark.parametrize(
    ("text", "keys", "body"),
    [
        ("---\nname: a\ndescription: b c # no\n---\nBody\n", {"name": "a", "description": "b c"}, "Body"),
        ("---\r\nname: 'a b'\r\n---\r\nBody", {"name": "a b"}, "Body"),
        ('---\ndescription: "say \\"x: y\\""\n---\n', {"description": 'say "x: y"'}, ""),
        ("---\ndescription: >\n  one\n  two\nname: a\n---\nB", {"description": "one two", "name": "a"}, "B"),
        ("---\nmeta:\n  inner: 1\nname: a\n---\nB", {"meta": "inner: 1", "name": "a"}, "B"),
        ("no head", {}, "no head"),
        ("---\nnever: closed", {}, "---\nnever: closed"),
    ],
)
def test_a_head_is_split_off(text: str, keys: dict[str, str], body: str) -> None:
    assert split_head(text) == (keys, body)


def test_a_skill_needs_a_description_and_a_usable_name() -> None:
    text = "---\ndescription: Does it.\n---\nHow."
    assert skill_of(text, "it", "/s/it/SKILL.md", project=False) == Skill("it", "Does it.", "/s/it/SKILL.md", "How.")
    assert skill_of(text, "i t", "/p", project=False) is None
    assert skill_of("How.", "it", "/p", project=False) is None
    long = skill_of(f"---\ndescription: {'x' * 1000}\n---\n", "it", "/p", project=True)
    assert long is not None
    assert len(long.description) == DESCRIPTION_LENGTH


def test_a_prompt_is_described_by_its_first_line() -> None:
    assert prompt_of("# Look\nat $1", "p") == PromptFile("p", "Look", None, "# Look\nat $1")
    assert prompt_of(" \n", "p") is None
    assert prompt_of("x", "a.b") is None


@pytest.mark.parametrize(
    ("body", "args", "text"),
    [
        ("A $1 and $2.", "x y", "A x and y."),
        ("A $1 and $2.", "x", "A x and ."),
        ("All: $ARGUMENTS!", "$1 b", "All: $1 b!"),
        ("Costs $10 or $ 5", "x", "Costs $10 or $ 5\n\nx"),
        ("Plain", "", "Plain"),
    ],
)
def test_arguments_are_filled_in(body: str, args: str, text: str) -> None:
    assert filled(PromptFile("p", "d", None, body), args) == text


def test_the_list_is_sorted_and_bounded() -> None:
    assert listed([]) is None
    two = [Skill(name, f"Does {name}.", f"/s/{name}/SKILL.md", "") for name in ("b", "a")]
    assert listed(two) == f"{HEAD}\n- a: Does a. (/s/a/SKILL.md)\n- b: Does b. (/s/b/SKILL.md)"
    many = listed(Skill(f"s{number}", "x" * 400, "/p", "") for number in range(100))
    assert many is not None
    assert len(many) < 17_000
    assert many.endswith("(There are more skills than are listed here.)")


def test_names_are_plain() -> None:
    assert [is_name(name) for name in ("a-b_1", "", "é", "a b", "-", "x" * 65)] == [
        True,
        False,
        False,
        False,
        True,
        False,
    ]
