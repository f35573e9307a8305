"""Damaged logs: a prefix or a plain refusal, and nothing else."""

from __future__ import annotations

import pytest

from acp_server.persistence.batches import Encoding, encode_batch
from acp_server.persistence.records import encode_events
from acp_server.persistence.scan import scan_log
from tests.crash.damages import damaged
from tests.support.logs import log_bytes, user_message

FILES = 2_500


@pytest.mark.parametrize("encoding", ["zstd", "none"])
def test_a_damaged_log_gives_a_prefix_or_a_refusal(encoding: Encoding) -> None:
    counted, wrong = damaged(11, FILES, encoding)
    assert wrong == []
    assert counted.total() == FILES
    assert min(counted[kind] for kind in ("sound", "torn", "corrupt", "no header")) > 10


def test_a_gigabyte_of_nothing_is_refused_unread() -> None:
    frame = bytearray(encode_batch("zstd", encode_events([user_message(0, "x" * 70_000)])))
    assert frame[4] >> 6 == 2
    frame[6 - (frame[4] >> 5 & 1) : 10 - (frame[4] >> 5 & 1)] = (1 << 30).to_bytes(4, "little")
    scan = scan_log(log_bytes([]) + bytes(frame), "zstd")
    assert scan.damage is not None
    assert (scan.damage.kind, scan.damage.reason) == ("torn", "the frame states 1073741824 bytes of content")
