"""Patterns of searches, globs, and rules of .gitignore files."""

from __future__ import annotations

import unicodedata

import pytest

from acp_server.tools.globs import compile_glob, plain_name, split_base
from acp_server.tools.ignore_rules import joined, parse_rules
from acp_server.tools.search_pattern import SearchPattern, parse_pattern
from acp_server.tools.tool import ToolError


@pytest.mark.parametrize(
    ("text", "rust"),
    [
        ("plain", "plain"),
        (r"a\/b\"", 'a/b"'),
        ("x{,3}", "x{0,3}"),
        ("{}", r"\{\}"),
        ("]", r"\]"),
        (r"\Aa\Z", r"^a(?:\r?$)"),
        (r"a\r$", r"a\x{d}$"),
        (r"\x41\u00e9\N{EURO SIGN}", "Aé€"),
        ("(?<name>a)", "(?P<name>a)"),
        ("(?ims-s:a)", "(?i:a)"),
        ("a(?#words)b", "ab"),
        ("[[:digit:]x]", "[0-9x]"),
        ("[]^-]", r"[\]\^\-]"),
        ("[^\\n\\r]", "[^\\r\\n]"),
        ("a++", None),
        (r"(a)\1", None),
        ("a(?!b)", None),
        ("(?P<n>a)(?P=n)", None),
    ],
)
def test_one_pattern_in_the_dialect_of_ripgrep(text: str, rust: str | None) -> None:
    assert parse_pattern(text).rust == rust


@pytest.mark.parametrize(
    ("text", "line", "place"),
    [
        (r"\w+", "é1_x y", (0, 4)),
        (r"[^\W\d]+", "12ab", (2, 4)),
        (r"[\D]", "1a", (1, 2)),
        (r"[^\S]", "a b", (1, 2)),
        (r"\S$", "ab\r", (1, 3)),
        (r"^.$", "\udce9", None),
        (r"a.b", "a\udce9b", None),
        (r"(?i)ÄB", "xäb", (1, 3)),
        (r"[a-c]{2,}", "xabcx", (1, 4)),
        (r"\.", "a.b", (1, 2)),
        ("$", "", (0, 0)),
        (r"\t", "a\tb", (1, 2)),
        (r"[\t ]x", "a x", (1, 3)),
    ],
)
def test_what_a_pattern_matches_in_a_line(text: str, line: str, place: tuple[int, int] | None) -> None:
    match = parse_pattern(text).compile().search(line)
    assert (match and match.span()) == place


def test_plain_text_is_taken_literally() -> None:
    assert parse_pattern("a.b(", literal=True) == SearchPattern(r"a\.b\(", r"a\.b\(", harmless=True)
    assert parse_pattern("x", ignore_case=True) == SearchPattern("x", "x", ignore_case=True, harmless=True)


@pytest.mark.parametrize(
    ("text", "harmless"),
    [("foo|bar", True), ("fo?o", True), ("a*", False), ("a+", False), ("a{2,3}", False), ("(a?)" * 5, False)],
)
def test_patterns_that_may_take_long_are_known(text: str, harmless: bool) -> None:
    assert parse_pattern(text).harmless is harmless


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("(", "is no regular expression of Python: missing )"),
        ("[a", "has a bracket at 1 that is not closed"),
        (r"\p{L}", "is no regular expression of Python: bad escape"),
        (r"a\nb", "has a line end"),
        ("[\n]", "has a class that can match nothing within a line"),
        ("[z-a]", "has a range whose ends are in no order"),
        (r"[\q]", r"has \q in a class"),
        ("[[:punct:]]", "has a class [:punct:]"),
        ("(?x)a", "has a kind of group"),
        ("a(?i)b", "has flags that do not stand at its start"),
        (r"\ud800", "names a character that does not exist"),
        (r"\N{NO SUCH}", "names a character that does not exist"),
        ("a{99999999999}", "is no regular expression of Python"),
    ],
)
def test_patterns_that_mean_nothing_are_refused(text: str, why: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_pattern(text)
    assert caught.value.code == "INVALID_PATTERN"
    assert f"the pattern {text!r} {why}" in caught.value.message


def test_the_classes_are_those_of_python_to_the_last_character() -> None:
    words = [chr(n) for n in range(0x110000) if not 0xD800 <= n < 0xE000 and (chr(n).isalnum() or n == 0x5F)]
    by_category = [chr(n) for n in range(0x110000) if unicodedata.category(chr(n))[0] in "LN" or n == 0x5F]
    assert words == by_category
    spaces = parse_pattern(r"\s").compile()
    assert [n for n in range(0x3100) if spaces.fullmatch(chr(n))] == [
        n for n in range(0x3100) if chr(n).isspace() and n not in (10, 13)
    ]


@pytest.mark.parametrize(
    ("glob", "path", "named"),
    [
        ("*.py", "a/b/c.py", True),
        ("*.py", "c.py", True),
        ("*.py", "c.pyc", False),
        ("src/*.py", "src/a/b.py", False),
        ("./src/*.py", "src/b.py", True),
        ("src/**/*.py", "src/b.py", True),
        ("src/**/*.py", "src/x/y/b.py", True),
        ("**/b.py", "b.py", True),
        ("**", "a/b", True),
        ("a/**", "a/b/c", True),
        ("a/**", "a", False),
        ("{src,test}/**/*.{js,ts}", "test/x.ts", True),
        ("{**/x,y}", "a/b/x", True),
        ("[!a]b", "cb", True),
        ("[^a]b", "ab", False),
        ("[]a]b", "]b", True),
        ("[a-c]b", "bb", True),
        ("a**b", "axxb", True),
        ("a?c", "a/c", False),
        ("a[/]c", "a/c", False),
        (r"\*", "*", True),
        (r"\*", "a", False),
        ("a,b}", "a,b}", True),
        ("line\nend", "line\nend", True),
    ],
)
def test_globs(glob: str, path: str, named: bool) -> None:
    assert bool(compile_glob(glob).fullmatch(path)) is named


@pytest.mark.parametrize("glob", ["/", "[a", "{a", "[z-a]", "{" * 9 + "}" * 9])
def test_globs_that_cannot_be_read(glob: str) -> None:
    with pytest.raises(ToolError) as caught:
        compile_glob(glob)
    assert caught.value.code == "INVALID_GLOB"


def test_parts_of_globs() -> None:
    assert [plain_name(one) for one in ("src/**/*.py", "a.txt", "*", "x/{a,b}.c", "**/[a].c")] == [
        "*.py",
        "a.txt",
        None,
        None,
        None,
    ]
    assert [split_base(one) for one in ("/a/b/*.c", "/a/b.c", "*.c", "/a/{b,c}/d/*.e")] == [
        ("/a/b", "*.c"),
        ("/a", "b.c"),
        ("", "*.c"),
        ("/a", "{b,c}/d/*.e"),
    ]


RULES = (
    b"\xef\xbb\xbf*.log\r\n!keep.log\n/build\nnode_modules/\ndoc/*.txt\nfoo/**\n# words\n\\#x\n\\!y\n"
    b"trail\\ \nblanks   \n**/tmp\na/**/z\n[bad\n/\n\n"
)


@pytest.mark.parametrize(
    ("path", "directory", "said"),
    [
        ("a/x.log", False, True),
        ("keep.log", False, False),
        ("build", True, True),
        ("a/build", True, None),
        ("a/node_modules", True, True),
        ("node_modules", False, None),
        ("doc/a.txt", False, True),
        ("doc/x/a.txt", False, None),
        ("foo", True, None),
        ("foo/a", False, True),
        ("#x", False, True),
        ("!y", False, True),
        ("trail ", False, True),
        ("blanks", False, True),
        ("a/b/tmp", False, True),
        ("a/z", False, True),
        ("a/b/c/z", False, True),
        ("[bad", False, None),
    ],
)
def test_rules_of_a_gitignore_file(path: str, directory: bool, said: bool | None) -> None:
    assert parse_rules(RULES).ignores(path, directory=directory) is said


def test_rules_of_directories_above_as_one_file() -> None:
    rules = [("a [x]/b/", parse_rules(b"*.log\n/top\n")), ("b/", parse_rules(b"!x.log\ndeep/y/\n"))]
    assert joined(rules) == b"/**/*.log\n/top\n!/a \\[x\\]/**/x.log\n/a \\[x\\]/deep/y/\n"
