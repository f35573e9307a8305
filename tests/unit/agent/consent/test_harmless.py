"""Commands that only look, and those that do not, as tables (docs/tools.md, clauses G-1 to G-8)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from acp_server.agent.consent.harmless import is_harmless, reads_trees
from acp_server.agent.consent.words import LONGEST, split_command

DATA = Path(__file__).parent / "data"
CHARACTER = re.compile(r"<U\+([0-9A-F]{4,6})>")


def table(name: str) -> list[str]:
    """Return the commands of a file; `<U+XXXX>` in it stands for a character, `##` begins a remark."""
    lines = (DATA / name).read_text("utf-8").split("\n")
    kept = [line for line in lines if line and not line.startswith("##")]
    return [CHARACTER.sub(lambda found: chr(int(found[1], 16)), line) for line in kept]


HARMLESS, DANGEROUS = table("harmless.txt"), table("dangerous.txt")


def test_the_tables_are_whole() -> None:
    assert (len(HARMLESS) >= 120, len(DANGEROUS) >= 850) == (True, True)
    assert (len(set(HARMLESS)), len(set(DANGEROUS))) == (len(HARMLESS), len(DANGEROUS))


@pytest.mark.parametrize("command", HARMLESS)
def test_a_command_that_only_looks_is_harmless(command: str) -> None:
    assert is_harmless(command)


@pytest.mark.parametrize("command", DANGEROUS, ids=ascii)
def test_a_command_that_may_do_more_is_not(command: str) -> None:
    assert not is_harmless(command)


@pytest.mark.parametrize("joint", ["&&", "||", ";", "|", " && ", " || ", " ; ", " | "])
def test_one_part_that_does_more_is_enough(joint: str) -> None:
    assert is_harmless(joint.join(["ls", "pwd", "cat a"]))
    for place in range(3):
        parts = ["ls", "pwd", "cat a"]
        parts[place] = "touch a"
        assert not is_harmless(joint.join(parts))


@pytest.mark.parametrize("text", [*"$`\\!*?[]{}()<>&#\n\r\t\0~\"'", "\u2028", "\u00a0", "\x7f", "é"])
def test_no_character_of_the_shell_s_language_stands_in_a_bare_word(text: str) -> None:
    commands = [f"cat {text}a", f"cat a {text}", f"cat {text}", f"{text}cat a"]
    assert [command for command in commands if is_harmless(command)] == []


@pytest.mark.parametrize("text", ["$", "`", "\\", "!"])
def test_what_a_shell_works_out_within_double_quotes_is_refused_there_and_taken_in_single_ones(text: str) -> None:
    assert (split_command(f'cat "a{text}b"'), split_command(f"cat 'a{text}b'")) == (None, (("cat", f"a{text}b"),))


def test_a_command_may_be_so_long_and_no_longer() -> None:
    command = "cat " + "a" * (LONGEST - 4)
    assert (is_harmless(command), is_harmless(command + "a"), is_harmless("")) == (True, False, False)


def test_words_are_what_a_shell_makes_of_them() -> None:
    assert split_command("grep -n 'a b' \"c;d\" e/f | wc -l&&ls ;pwd") == (
        ("grep", "-n", "a b", "c;d", "e/f"),
        ("wc", "-l"),
        ("ls",),
        ("pwd",),
    )


def test_commands_that_read_what_they_do_not_name() -> None:
    trees = ["grep -r a .", "ls; grep -rn a .", "rg a", "diff -ru a b", "cat a | grep -rin b ."]
    assert [reads_trees(command) for command in trees] == [True] * 5
    assert [reads_trees(command) for command in ("grep -n a b", "cat a", "diff a b", "ls -ltr", "x $(rg a)")] == [
        False
    ] * 5
