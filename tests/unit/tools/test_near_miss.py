"""What a model is told when its search text is not in the file."""

from __future__ import annotations

import pytest

from acp_server.tools.near_miss import near_miss

CODE = "def f(x):\n\tif x:\n\t\treturn 'it\u2019s'  \n\treturn None\n"


@pytest.mark.parametrize(
    ("text", "old", "said"),
    [
        (
            CODE,
            "\t\treturn 'it\u2019s'\n\treturn None",
            (
                ", but lines 3 to 4 differ from it only in blanks at the ends of lines. "
                "The file has (· is a blank, → a tab):\n→→return·'it\u2019s'··\n→return·None"
            ),
        ),
        (
            CODE,
            "    if x:\n        return 'it\u2019s'",
            (
                ", but lines 2 to 3 differ from it only in indentation. "
                "The file has (· is a blank, → a tab):\n→if·x:\n→→return·'it\u2019s'··"
            ),
        ),
        (
            "a = [1,2]\n",
            "a = [1, 2]",
            (
                ", but lines 1 to 1 differ from it only in blanks within lines. "
                "The file has (· is a blank, → a tab):\na·=·[1,2]"
            ),
        ),
        (
            CODE,
            "return 'it's'",
            (
                ", but lines 3 to 3 differ from it only in quotes, dashes or blanks that look alike. "
                "The file has (· is a blank, → a tab):\n→→return·'it\u2019s'··"
            ),
        ),
        (
            "SELECT 1\n",
            "select 1",
            ", but lines 1 to 1 differ from it only in upper and lower case. The file has:\nSELECT 1",
        ),
        (
            "Key: “A  B”\n",
            'key: "a b"',
            (
                ", but lines 1 to 1 differ from it only in several of: blanks, look-alike characters, case. "
                "The file has (· is a blank, → a tab):\nKey:·“A··B”"
            ),
        ),
        (
            CODE,
            "     2\t\tif x:",
            "; it starts its lines with line numbers, which are not part of the file. Leave them out.",
        ),
        (
            "a\n\tb\n",
            "a\\n\\tb",
            '; it is with "\\n" and "\\t" written as line ends and tabs. Send those characters themselves.',
        ),
        (
            "alpha\nbeta_function(one, two)\ngamma\n",
            "alpha\nbeta_function(one, too)\ngamma",
            ". The nearest lines, from line 1 on, are:\nalpha\nbeta_function(one, two)\ngamma",
        ),
        ("alpha\n", "zzz", ". Read the place again and copy the text exactly."),
        ("alpha\n", "something else", "; nothing in it comes near. Read the file again."),
        ("", "something", "; nothing in it comes near. Read the file again."),
        ("a\n", "   \n", ". Read the place again and copy the text exactly."),
    ],
)
def test_the_nearest_text_and_what_differs(text: str, old: str, said: str) -> None:
    assert near_miss(text, old) == said


def test_a_file_too_large_to_compare_gets_general_advice() -> None:
    assert near_miss("x" * 2_000_001, "y") == ". Read the place again and copy the text exactly."


def test_long_places_and_long_lines_are_cut() -> None:
    text = "".join(f"line {n} {'x' * 300} \n" for n in range(20))
    said = near_miss(text, "\n".join(f"line {n} {'x' * 300}" for n in range(20)))
    assert said.count("\n") == 9
    assert said.endswith("\n… 12 more lines")
    assert len(said) < 2500
