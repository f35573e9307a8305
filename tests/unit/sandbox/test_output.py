from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acp_server.sandbox.output import Captured, Output


def captured(*parts: bytes, head: int = 4, tail: int = 8) -> Captured:
    made = Captured(head, tail)
    for part in parts:
        made.add(part)
    return made


def test_short_output_is_kept_whole() -> None:
    assert captured(b"abc", b"defg").output(None) == Output("abcdefg", "", 7, 0, None)


def test_the_middle_of_long_output_is_left_out_and_said() -> None:
    output = captured(b"abcdef", b"0123456789", b"ghijklmn").output("/s/out")
    assert output == Output("abcd", "ghijklmn", 24, 12, "/s/out")
    assert output.text == "abcd\n[12 bytes of output left out here; all of it is in /s/out]\nghijklmn"


def test_output_is_read_on_from_an_offset() -> None:
    made = captured(b"abcdef", b"0123456789", b"ghijklmn")
    assert [made.since(offset) for offset in (0, 2, 10, 18, 24)] == [
        (b"abcdghijklmn", 12),
        (b"cdghijklmn", 12),
        (b"ghijklmn", 6),
        (b"ijklmn", 0),
        (b"", 0),
    ]


@given(st.lists(st.binary(max_size=20), max_size=20))
def test_what_is_kept_and_what_is_omitted_is_all_of_it(parts: list[bytes]) -> None:
    made, whole = captured(*parts), b"".join(parts)
    kept = made.kept()
    assert len(kept) + made.omitted == made.total == len(whole)
    assert kept[:4] == whole[:4]
    assert whole.endswith(kept[4:])
    assert len(kept) <= 4 + 8 + max((len(part) for part in parts), default=0)
