"""What the first bytes of images say, whole and cut at every byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_server.messages.pictures import MEDIA_TYPES, Picture, picture_of
from tests.support.pictures import KINDS, large_png, png

ALL = {"png": ("image/png", 300, 2, png(300, 2)), **KINDS}


@pytest.mark.parametrize("kind", ALL)
def test_each_kind_is_told_with_its_size(kind: str) -> None:
    media_type, width, height, content = ALL[kind]
    assert media_type in MEDIA_TYPES
    assert picture_of(content) == Picture(media_type, width, height, whole=True)


@pytest.mark.parametrize("kind", ALL)
def test_a_picture_that_was_cut_is_never_whole(kind: str) -> None:
    content = ALL[kind][3]
    for length in range(len(content)):
        found = picture_of(content[:length])
        assert found is None or not found.whole, length


def test_a_png_with_a_wrong_byte_is_not_whole() -> None:
    content = large_png(400)
    for at in range(33, len(content)):
        found = picture_of(content[:at] + bytes((content[at] ^ 1,)) + content[at + 1 :])
        assert found == Picture("image/png", 1, 1, whole=False), at


def test_no_pixel_is_no_picture() -> None:
    assert picture_of(png(0, 5)) is None
    assert picture_of(b"") is None


@given(st.sampled_from(list(ALL)), st.binary(max_size=60), st.integers(0, 40))
def test_any_bytes_are_answered(kind: str, noise: bytes, at: int) -> None:
    content = ALL[kind][3]
    found = picture_of(content[:at] + noise + content[at + len(noise) :])
    assert found is None or (found.media_type in MEDIA_TYPES and found.width > 0 < found.height)
