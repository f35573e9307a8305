from __future__ import annotations

import pytest

from acp_server.base.errors import ServerError
from acp_server.persistence.paths import SEGMENT_LIMIT, encode_segment, project_key


@pytest.mark.parametrize(
    ("text", "segment"),
    [
        ("..", "~002E~002E"),
        (".", "~002E"),
        ("a/b", "a~002Fb"),
        ("a~b", "a~007Eb"),
        ("a\0b", "a~0000b"),
        ("\ud800", "~D800"),
        ("\U0001f600", "~D83D~DE00"),
        ("plain-ID_1.2", "plain-ID_1.2"),
    ],
)
def test_an_id_becomes_one_safe_segment(text: str, segment: str) -> None:
    assert encode_segment(text) == segment


def test_long_ids_are_cut_and_stay_different() -> None:
    long, other = encode_segment("x" * 5000), encode_segment("x" * 4999 + "y")
    assert (len(long), len(other), long[:166], long[166:168]) == (SEGMENT_LIMIT, SEGMENT_LIMIT, "x" * 166, "~~")
    assert long != other
    assert encode_segment("x" * SEGMENT_LIMIT) == "x" * SEGMENT_LIMIT


def test_an_empty_id_is_refused() -> None:
    with pytest.raises(ServerError, match="cannot be empty"):
        encode_segment("")


@pytest.mark.parametrize(
    ("cwd", "key"),
    [
        ("/srv/a/b-c", "--srv-a-b-c--"),
        ("/srv/a-b/c", "--srv-a-b-c--"),
        ("C:\\x\\agent", "--C-x-agent--"),
        ("/", "--root--"),
        ("\u5f00\u53d1", "--~5F00~53D1--"),
        (None, "_no-cwd"),
    ],
)
def test_a_working_directory_names_its_project(cwd: str | None, key: str) -> None:
    assert project_key(cwd) == key


def test_a_long_working_directory_fits_a_path_segment() -> None:
    assert len(project_key("/" + "x" * 1000)) == 255


def test_an_empty_working_directory_is_refused() -> None:
    with pytest.raises(ServerError, match="cannot be empty"):
        project_key("")
