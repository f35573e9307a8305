from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from acp_server.sandbox.readable import ReadableText, readable


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"plain \xc3\xa4\n\ttab", "plain ä\n\ttab"),
        (b"\xff\xfe\x00\x01", "\\xff\\xfe\\x00\\x01"),
        (b"\x89PNG\r\n\x1a\n", "\\x89PNG\n\\x1a\n"),
        (b"\x1b[1;31mred\x1b[0m\x1b[2K\x1b[?25l done", "red done"),
        (b"\x1b]0;title\x07a\x1b]8;;http://x.test\x1b\\link\x1b]8;;\x1b\\", "alink"),
        (b"\x1bPq#0\x1b\\x\x1b(B", "x"),
        (b"10%\r20%\r100%\r\nend", "10%\n20%\n100%\nend"),
        (b"bell\x07 back\x08 del\x7f", "bell\\x07 back\\x08 del\\x7f"),
        ("\u202eevil\u2069\ufeff\u2028".encode(), "\\u202eevil\\u2069\\ufeff\\u2028"),
        (b"\x1b", "\\x1b"),
        (b"\x1b[31", "\\x1b[31"),
        ("\x85\x9b".encode(), "\\x85\\x9b"),
        (b"cut \xe2\x82", "cut \\xe2\\x82"),
        (b"", ""),
    ],
)
def test_output_becomes_text(data: bytes, text: str) -> None:
    assert readable(data) == text


@example([b"\r", b"\x1b[3", b"1m", b"\n"])
@given(
    st.lists(st.sampled_from([b"\x1b[3", b"1m", b"\x1b]0;", b"t\x07", b"\xc3", b"\xa4", b"\r", b"\n", b"a", b"\xff"]))
)
def test_how_output_is_cut_does_not_matter(parts: list[bytes]) -> None:
    text = ReadableText()
    assert "".join(text.feed(part) for part in parts) + text.end() == readable(b"".join(parts))


@given(st.binary(max_size=200))
def test_nothing_but_printable_text_comes_out(data: bytes) -> None:
    assert all(letter in "\n\t" or ord(letter) >= 0x20 for letter in readable(data))


def test_an_endless_sequence_is_not_held_back() -> None:
    text = ReadableText()
    fed = text.feed(b"\x1b]0;" + b"x" * 10_000)
    assert len(fed) + len(text.end()) >= 10_000
    assert fed != ""
