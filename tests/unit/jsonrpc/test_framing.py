from __future__ import annotations

import pytest

from acp_server.jsonrpc.framing import LineSplitter, TooLong


def lines_of(*feeds: bytes, limit: int = 100) -> list[bytes | TooLong | None]:
    splitter = LineSplitter(limit)
    found: list[bytes | TooLong | None] = []
    for data in feeds:
        found.extend(splitter.feed(data))
    return [*found, splitter.finish()]


@pytest.mark.parametrize(
    ("feeds", "expected"),
    [
        ((b"a\nb\n",), [b"a", b"b", None]),
        ((b"a\r\nb\r\n",), [b"a", b"b", None]),
        ((b"\n\r\n \t\na\n",), [b"a", None]),
        ((b"a\nb",), [b"a", b"b"]),
        ((b"a\nb\r",), [b"a", b"b"]),
        ((b"a", b"b", b"c\nd"), [b"abc", b"d"]),
        ((b"a\r", b"\nb\n"), [b"a", b"b", None]),
        ((b"",), [None]),
        ((b"\xef\xbb\xbfa\n",), [b"a", None]),
        ((b"\xef", b"\xbb", b"\xbf", b"a\n"), [b"a", None]),
        ((b"\xef\xbb",), [b"\xef\xbb"]),
        ((b"\xef", b"a\n"), [b"\xefa", None]),
        ((b"a\n\xef\xbb\xbfb\n",), [b"a", b"\xef\xbb\xbfb", None]),
        ((b"\xef\xbb\xbf\xef\xbb\xbfa\n",), [b"\xef\xbb\xbfa", None]),
    ],
)
def test_lines(feeds: tuple[bytes, ...], expected: list[bytes | None]) -> None:
    assert lines_of(*feeds) == expected


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1e", "\r"])
def test_only_a_line_feed_ends_a_line(separator: str) -> None:
    line = f"a{separator}b".encode()
    assert lines_of(line + b"\n") == [line, None]


def test_a_line_of_the_limit_passes_and_a_longer_one_is_dropped() -> None:
    assert lines_of(b"x" * 8 + b"\ny\n", limit=8) == [b"x" * 8, b"y", None]
    assert lines_of(b"x" * 9 + b"\ny\n", limit=8) == [TooLong(8), b"y", None]
    assert lines_of(b"x" * 9, limit=8) == [TooLong(8), None]


def test_a_long_line_is_told_once_and_not_held() -> None:
    splitter = LineSplitter(1000)
    told = [line for _ in range(500) for line in splitter.feed(b"x" * 100)]
    assert told == [TooLong(1000)]
    assert splitter._held == 0
    assert splitter.feed(b"\nnext\n") == [b"next"]


def test_two_long_lines_are_told_twice() -> None:
    assert lines_of(b"x" * 9 + b"\n" + b"x" * 9 + b"\n", limit=8) == [TooLong(8), TooLong(8), None]


def test_too_long_is_a_value() -> None:
    assert len({TooLong(1), TooLong(1), TooLong(2)}) == 2
    assert TooLong(1) != 1
    assert repr(TooLong(1)) == "TooLong(1)"


def test_a_line_of_20_mebibytes_in_small_pieces_arrives_whole() -> None:
    splitter = LineSplitter()
    piece = b"x" * 65536
    for _ in range(320):
        assert splitter.feed(piece) == []
    assert splitter.feed(b"\n") == [piece * 320]
