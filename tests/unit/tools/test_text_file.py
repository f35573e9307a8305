"""Encodings, marks and line ends of text files."""

from __future__ import annotations

import pytest

from acp_server.tools.text_file import (
    NotTextError,
    TextFile,
    decode,
    encode,
    line_at,
    line_end,
    peculiarities,
    split_keeping_ends,
    split_lines,
    with_text,
)
from acp_server.tools.tool import ToolError

UTF_16_LE, UTF_16_BE = b"\xff\xfe", b"\xfe\xff"


@pytest.mark.parametrize(
    ("data", "file"),
    [
        (b"", TextFile("")),
        (b"caf\xc3\xa9\r\n", TextFile("café\r\n")),
        (b"\xef\xbb\xbfx", TextFile("x", "utf-8", b"\xef\xbb\xbf")),
        (b"\xef\xbb\xbf\xef\xbb\xbfx", TextFile("\ufeffx", "utf-8", b"\xef\xbb\xbf")),
        (UTF_16_LE + "hé\n".encode("utf-16-le"), TextFile("hé\n", "utf-16-le", UTF_16_LE)),
        (UTF_16_BE + "hé\n".encode("utf-16-be"), TextFile("hé\n", "utf-16-be", UTF_16_BE)),
        (b"\xff\xfe\0\0" + "hé".encode("utf-32-le"), TextFile("hé", "utf-32-le", b"\xff\xfe\0\0")),
        (b"\0\0\xfe\xff" + "hé".encode("utf-32-be"), TextFile("hé", "utf-32-be", b"\0\0\xfe\xff")),
        ("plain\n".encode("utf-16-le"), TextFile("plain\n", "utf-16-le", guessed=True)),
        ("plain\n".encode("utf-16-be"), TextFile("plain\n", "utf-16-be", guessed=True)),
        (b"caf\xe9 \x80\n", TextFile("café €\n", "windows-1252", guessed=True)),
        (b"caf\xe9 \x81\n", TextFile("café \x81\n", "iso-8859-1", guessed=True)),
        (b"\x1b[31mred\x1b[0m\x07", TextFile("\x1b[31mred\x1b[0m\x07")),
    ],
)
def test_bytes_become_text_and_the_same_bytes(data: bytes, file: TextFile) -> None:
    assert decode(data) == file
    assert encode(file) == data


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        b"text\0text",
        bytes(range(1, 256)),
        UTF_16_LE + b"a",
        UTF_16_LE + b"\x00\xd8a\0",
        b"\xff\xfe\0\0abc",
        b"\xef\xbb\xbf\xe9",
        b"\xef\xbb\xbfa\0",
        b"\0\0\0\0",
    ],
)
def test_what_is_no_text_is_refused(data: bytes) -> None:
    with pytest.raises(NotTextError) as caught:
        decode(data)
    assert (caught.value.code, caught.value.message) == ("NOT_TEXT", "the file is binary, not text")


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (
            TextFile("a Ж", "windows-1252", guessed=True),
            "the file is windows-1252, which cannot hold U+0416 ('Ж'); nothing was written",
        ),
        (
            TextFile("a\ud800"),
            "the file is UTF-8, which cannot hold U+D800 (half of a surrogate pair); nothing was written",
        ),
    ],
)
def test_text_that_the_encoding_cannot_hold_is_refused(file: TextFile, message: str) -> None:
    with pytest.raises(ToolError) as caught:
        encode(file)
    assert (caught.value.code, caught.value.message) == ("UNENCODABLE", message)


def test_a_mark_is_not_doubled_by_new_text() -> None:
    file = TextFile("x", "utf-8", b"\xef\xbb\xbf")
    assert encode(with_text(file, "\ufeffy")) == b"\xef\xbb\xbfy"
    assert encode(with_text(TextFile("x"), "\ufeffy")) == b"\xef\xbb\xbfy"


def test_a_second_mark_that_was_there_stays() -> None:
    data = b"\xef\xbb\xbf\xef\xbb\xbfx"
    assert encode(with_text(decode(data), "\ufeffy")) == b"\xef\xbb\xbf\xef\xbb\xbfy"


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("", None),
        ("one", None),
        ("a\nb", "\n"),
        ("a\r\nb\r\n", "\r\n"),
        ("a\rb\r", "\r"),
        ("a\rb\n", "\n"),
        ("a\r\nb\nc\n", "\n"),
        ("a\nb\r\nc\r\n", "\r\n"),
        ("a\r\nb\n", "\r\n"),
        ("a\nb\r\n", "\n"),
    ],
)
def test_the_line_end_of_a_text(text: str, end: str | None) -> None:
    assert line_end(text) == end


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("a\n\n", ["a", ""]),
        ("a\r\nb\n", ["a", "b"]),
        ("a\rb", ["a", "b"]),
        ("a\rb\n", ["a\rb"]),
        ("a\u2028b\x0cc\n", ["a\u2028b\x0cc"]),
    ],
)
def test_lines_without_and_with_their_ends(text: str, lines: list[str]) -> None:
    assert split_lines(text) == lines
    assert "".join(split_keeping_ends(text)) == text
    assert len(split_keeping_ends(text)) == len(lines)


def test_lines_are_numbered_from_one() -> None:
    assert [line_at("a\r\nb\nc", index) for index in (0, 2, 3, 5)] == [1, 1, 2, 3]
    assert line_at("a\rb", 2) == 2


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (TextFile("a\nb"), ""),
        (TextFile("a\r\n"), "CRLF line ends"),
        (TextFile("a\r"), "CR line ends"),
        (TextFile("a\r\nb\n"), "mixed line ends, CRLF and LF"),
        (TextFile("a", "utf-8", b"\xef\xbb\xbf"), "UTF-8 with a byte order mark"),
        (TextFile("é\r\n", "windows-1252", guessed=True), "windows-1252, guessed; CRLF line ends"),
        (TextFile("a", "utf-16-le", UTF_16_LE), "UTF-16 (little endian) with a byte order mark"),
    ],
)
def test_what_is_said_about_an_uncommon_file(file: TextFile, said: str) -> None:
    assert peculiarities(file) == said
