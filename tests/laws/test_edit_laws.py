"""Laws of changing texts: what no edit may touch, and that several edits are edits one after the other."""

from __future__ import annotations

import re

from hypothesis import assume, given
from hypothesis import strategies as st

from acp_server.tools.diff import _changes, hunks
from acp_server.tools.multi_edit import OneEdit, edit_in_order
from acp_server.tools.replace_text import fit_line_ends, replace_text
from acp_server.tools.text_file import (
    NotTextError,
    TextFile,
    decode,
    encode,
    split_keeping_ends,
    with_text,
)
from acp_server.tools.tool import ToolError

ENDS = ("\n", "\r\n", "\r")
MARKS = {"utf-8": b"\xef\xbb\xbf", "utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff", "utf-32-le": b"\xff\xfe\0\0"}
pieces = st.sampled_from(
    ["a", "b", "ab", " ", "\t", "é", "日", "👩‍👩‍👧", "$1", "\\", "x" * 50, ".*", "\n", "\r\n", "\n", "\r"]
)
texts = st.lists(pieces, max_size=20).map("".join)
wanted = st.lists(pieces, min_size=1, max_size=4).map("".join)


def one_kind(text: str, end: str) -> str:
    return re.sub(r"\r\n|\r|\n", end, text)


@given(st.binary(max_size=200) | texts.map(str.encode) | texts.map(lambda text: text.encode("utf-16")))
def test_text_comes_back_as_the_same_bytes_or_is_refused(data: bytes) -> None:
    try:
        file = decode(data)
    except NotTextError:
        assert any(byte < 32 or byte > 126 for byte in data)
        return
    assert encode(file) == data
    assert decode(encode(file)) == file


@given(texts, st.sampled_from(sorted(MARKS)), st.booleans())
def test_a_text_is_read_back_in_every_encoding(text: str, encoding: str, marked: bool) -> None:
    assume(marked or (encoding == "utf-8" and not text.startswith("\ufeff")))
    data = (MARKS[encoding] if marked else b"") + text.encode(encoding)
    file = decode(data)
    assert (file.text, file.encoding) == (text, encoding)
    assert encode(with_text(file, text + "!")) == data + "!".encode(encoding)


@given(texts, wanted, texts, st.sampled_from(sorted(MARKS)))
def test_an_edit_leaves_every_byte_outside_of_its_place(before: str, old: str, after: str, encoding: str) -> None:
    text = before + old + after
    assume(len(re.findall(f"(?={re.escape(old)})", text)) == 1)
    assume(f"{before[-1:]}{old[:1]}" != "\r\n" != f"{old[-1:]}{after[:1]}")
    file = TextFile(text, encoding, MARKS[encoding])  # type: ignore[arg-type]  # the keys are encodings
    try:
        changed = replace_text(text, old, "<new>").text
    except ToolError:
        assert "\r" in text  # one line end is as good as another
        return
    data = encode(with_text(file, changed))
    head, tail = before.encode(encoding), after.encode(encoding)
    assert data[len(MARKS[encoding]) :] == head + "<new>".encode(encoding) + tail


@given(texts, texts, wanted, st.sampled_from(ENDS))
def test_one_kind_of_line_end_stays_the_only_one(before: str, old: str, new: str, end: str) -> None:
    text = one_kind(before + "\n" + old, end)
    fitted = fit_line_ends(text, len(one_kind(before + "\n", end)), len(text), one_kind(new, "\n"))
    assert fitted == one_kind(one_kind(new, "\n"), end)


@given(texts, wanted, wanted, st.sampled_from(["\n", "\r\n"]))
def test_search_text_finds_its_place_whatever_its_line_ends(before: str, old: str, new: str, end: str) -> None:
    before, old = one_kind(before, "\n"), one_kind(old, "\n")
    text = one_kind(f"{before}\n<{old}>\n", "\r\n")
    new = one_kind(new, "\n")
    assume(old != new)
    changed = replace_text(text, one_kind(f"<{old}>", end), one_kind(f"<{new}>", end)).text
    assert changed == one_kind(f"{before}\n<{new}>\n", "\r\n")


ended = st.lists(st.tuples(st.sampled_from(["a", "b", ""]), st.sampled_from(["\n", "\r\n"])), min_size=1, max_size=9)


@given(ended, ended)
def test_a_new_whole_keeps_the_ends_of_the_lines_that_stay(
    stay: list[tuple[str, str]], last: list[tuple[str, str]]
) -> None:
    head, tail = ("".join(map("".join, some)) for some in (stay, last))
    whole = head + "old\r\n" + tail
    new = one_kind(head, "\n") + "new\n" + one_kind(tail, "\n")
    assert fit_line_ends(whole, 0, len(whole), new) == head + "new\r\n" + tail


edits = st.lists(
    st.builds(OneEdit, old_string=wanted, new_string=texts, replace_all=st.booleans()), min_size=1, max_size=4
)


@given(texts, edits)
def test_several_edits_are_edits_one_after_the_other(text: str, several: list[OneEdit]) -> None:
    expected: str | None = text
    for edit in several:
        try:
            expected = replace_text(expected or "", edit.old_string, edit.new_string, every=edit.replace_all).text
        except ToolError:
            expected = None
            break
    try:
        made: str | None = edit_in_order(text, several).text
    except ToolError:
        made = None
    assert made == expected


lines = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "a\r\n"]), max_size=30).map("".join)


@given(lines, lines)
def test_the_changes_between_two_texts_lead_from_one_to_the_other(old: str, new: str) -> None:
    theirs, ours = split_keeping_ends(old), split_keeping_ends(new)
    made, at = [], 0
    for start, stop, first, last in _changes(theirs, ours):
        made += [*theirs[at:start], *ours[first:last]]
        at = stop
    assert [*made, *theirs[at:]] == ours
    assert bool(hunks(old, new)) == (old != new)


@given(lines, lines)
def test_hunks_show_what_stands_in_the_texts(old: str, new: str) -> None:
    ours = split_keeping_ends(new)
    for hunk in hunks(old, new):
        assert hunk.old in old
        shown = split_keeping_ends(hunk.new)
        assert ours[hunk.first_shown - 1 : hunk.first_shown - 1 + len(shown)] == shown
