"""Ranges of lines out of streams of bytes."""

from __future__ import annotations

import pytest

from acp_server.tools.line_window import LineWindow

TEXT = b"one\ntwo\n\nfour\nfive"


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
@pytest.mark.parametrize(
    ("first", "most", "lines", "full", "count"),
    [
        (1, 9, [b"one", b"two", b"", b"four", b"five"], False, 5),
        (2, 2, [b"two", b""], True, 3),
        (4, 2, [b"four", b"five"], False, 5),
        (5, 1, [b"five"], False, 5),
        (6, 1, [], False, 5),
    ],
)
def test_the_cut_of_a_stream_does_not_matter(
    size: int,
    first: int,
    most: int,
    lines: list[bytes],
    full: bool,
    count: int,
) -> None:
    window = LineWindow(first, most)
    for at in range(0, len(TEXT), size):
        window.feed(TEXT[at : at + size])
    assert (window.lines, window.full, window.count) == (lines, full, count)


def test_of_a_long_line_little_is_kept() -> None:
    window = LineWindow(1, 5)
    for _ in range(100):
        window.feed(b"x" * 1000)
    window.feed(b"\nend")
    assert (window.lines, window.cut) == ([b"x" * 8000, b"end"], [92_000, 0])


def test_bytes_are_a_limit_too() -> None:
    window = LineWindow(1, 99, most_bytes=10)
    window.feed(b"12345\n12345\n12345\n")
    assert (window.lines, window.full) == ([b"12345", b"12345"], True)


def test_lines_may_end_with_cr() -> None:
    window = LineWindow(2, 9, end=b"\r")
    window.feed(b"a\rb\rc")
    assert window.lines == [b"b", b"c"]
