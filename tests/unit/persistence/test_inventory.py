from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_server.persistence.batches import encode_batch
from acp_server.persistence.inventory import decode_segment, stored_sessions
from acp_server.persistence.paths import SEGMENT_LIMIT, encode_segment
from acp_server.persistence.port import PersistenceError
from acp_server.persistence.posix_io import PosixIo
from acp_server.persistence.records import encode_header
from tests.support.story import header


@given(st.text(min_size=1, max_size=60))
def test_a_segment_gives_its_id_back(text: str) -> None:
    segment = encode_segment(text)
    assert decode_segment(segment) == (text if len(segment) <= SEGMENT_LIMIT and "~~" not in segment else None)


@pytest.mark.parametrize("segment", ["a b", "~D83", "x~0061", "a~~b", "ü", "~0000~"])
def test_a_name_that_no_id_gives_is_nobodys(segment: str) -> None:
    assert decode_segment(segment) is None


def place(root: Path, name: str, *, content: bytes = b"", log: str = "session.jsonl.zstd") -> None:
    folder = root / "--p--" / encode_segment(name)
    folder.mkdir(parents=True)
    (folder / log).write_bytes(content)


def ids(root: Path, prefix: str = "") -> list[str | None]:
    return [stored.id for stored in stored_sessions(PosixIo(), str(root), prefix)]


def test_sessions_are_found_by_prefix_whatever_their_logs_hold(tmp_path: Path) -> None:
    for name in ("abc", "abd", "b/c"):
        place(tmp_path, name)
    place(tmp_path, "raw", log="session.jsonl")
    (tmp_path / "--p--" / "empty").mkdir()
    (tmp_path / ".trash").mkdir()
    (tmp_path / ".catalog.sqlite").write_bytes(b"")
    assert ids(tmp_path) == ["abc", "abd", "b/c", "raw"]
    assert (ids(tmp_path, "ab"), ids(tmp_path, "b/"), ids(tmp_path, "x")) == (["abc", "abd"], ["b/c"], [])
    assert ids(tmp_path / "nowhere") == []


def test_the_header_tells_the_id_behind_a_cut_name(tmp_path: Path) -> None:
    long, broken = "x" * 400, "y" * 400
    place(tmp_path, long, content=encode_batch("zstd", encode_header(header(long))))
    place(tmp_path, broken, content=b"junk")
    assert ids(tmp_path) == [None, long]
    assert ids(tmp_path, "x") == [long]


def test_a_root_that_is_no_directory_of_ours_is_told(tmp_path: Path) -> None:
    class Locked(PosixIo):
        def list_dir(self, path: str) -> list[str]:
            raise PermissionError(13, "Permission denied")

    with pytest.raises(PersistenceError, match="permission is missing"):
        stored_sessions(Locked(), str(tmp_path))
