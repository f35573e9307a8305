"""Lines of keys, and edits of one value, against what `tomllib` reads."""

from __future__ import annotations

import tomllib

import pytest

from acp_server.app.settings_edit import edited, parse_value, value_at
from acp_server.app.toml_lines import line_of, split_key
from acp_server.base.errors import ServerError

TEXT = '''\
# top
a = 1 # one
"b c" = """
[not.a.table]
x = 1
""" # after
d.e = [ # many
  1, "]", # not the end
  2 ]

[t . "u.v"]
k = { x = "}", y = 2 }
'l' = 'it''s'

[[rows]]
id = "one"
[rows.config]
a = 1
[[rows]]
id = "two"
[rows.config]
b = 2
'''.replace("''s", "s")


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("a",), 2),
        (("b c",), 3),
        (("d",), 7),
        (("d", "e"), 7),
        (("d", "e", 1), 7),
        (("t",), 11),
        (("t", "u.v"), 11),
        (("t", "u.v", "k", "y"), 12),
        (("t", "u.v", "l"), 13),
        (("rows", 0, "id"), 16),
        (("rows", 0, "config", "a"), 18),
        (("rows", 1), 19),
        (("rows", 1, "config", "b"), 22),
        (("rows", 1, "nothing"), 19),
        (("nothing",), None),
    ],
)
def test_a_key_stands_on_a_line(path: tuple[str | int, ...], line: int | None) -> None:
    assert line_of(TEXT, path) == line


@pytest.mark.parametrize(
    ("key", "keys"), [("a.b", ("a", "b")), ('models."x/y z".w', ("models", "x/y z", "w")), ("'a.b'", ("a.b",))]
)
def test_a_dotted_key_is_split(key: str, keys: tuple[str, ...]) -> None:
    assert split_key(key) == keys


@pytest.mark.parametrize("key", ["", "a.", ".a", "a b", '"a', "a..b", "a=1"])
def test_what_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="is no key"):
        split_key(key)


@pytest.mark.parametrize(
    ("words", "given"),
    [("5", 5), ("true", True), ('"x"', "x"), ("openai/x", "openai/x"), ("[1, 2]", [1, 2]), ("{ a = 1 }", {"a": 1})],
)
def test_a_value_is_toml_or_text(words: str, given: object) -> None:
    assert parse_value(words) == given


@pytest.mark.parametrize(
    ("before", "key", "given", "after"),
    [
        ("", "a", 1, "a = 1\n"),
        ("a = 1 # keep\n", "a", "x", 'a = "x" # keep\n'),
        ("a = 1", "b", 2, "a = 1\nb = 2\n"),
        ("# head\n\n[t]\nx = 1\n", "a", 1, "# head\na = 1\n\n[t]\nx = 1\n"),
        ("[t]\nx = 1 # one\n\n[u]\ny = 1\n", "t.z", 2, "[t]\nx = 1 # one\nz = 2\n\n[u]\ny = 1\n"),
        ("[t]\n[u]\n", "t.z", 2, "[t]\nz = 2\n[u]\n"),
        ("a = 1\n", "t.u.z", [1], "a = 1\n\n[t.u]\nz = [1]\n"),
        ("[m]\na = [ # long\n 1,\n] # end\n", "m.a", 2, "[m]\na = 2 # end\n"),
        ("a.b = 1\n", "a.b", 2, "a.b = 2\n"),
        ("", 'm."x/y".w', 2, '[m."x/y"]\nw = 2\n'),
    ],
)
def test_one_value_changes_and_nothing_else(before: str, key: str, given: object, after: str) -> None:
    keys = split_key(key)
    text = edited(before, keys, given)
    assert text == after
    assert value_at(tomllib.loads(text), keys) == given


@pytest.mark.parametrize(("text", "key"), [("t = { a = 1 }\n", "t.b"), ("[[r]]\na = 1\n", "r.b"), ("a = 1\n", "a.b")])
def test_what_one_line_cannot_say_is_refused(text: str, key: str) -> None:
    with pytest.raises(ServerError, match="cannot be set by a change of one line"):
        edited(text, split_key(key), 2)
