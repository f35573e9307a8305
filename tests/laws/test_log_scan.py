from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_server.persistence.batches import Encoding, encode_batch
from acp_server.persistence.packed_log import PackedLog
from acp_server.persistence.records import encode_events, encode_header
from acp_server.persistence.scan import Scan, later_entries, scan_log
from acp_server.session.events import SessionEvent
from tests.support.logs import (
    HEADER,
    event,
    event_lists,
    in_batches,
    log_bytes,
    random_events,
    user_message,
    whole_turn,
)

ENCODINGS: list[Encoding] = ["zstd", "none"]


def events_of(scan: Scan) -> list[SessionEvent]:
    return list(PackedLog(scan.entries).since(0))


@given(event_lists(), st.sampled_from(ENCODINGS), st.randoms(use_true_random=False))
def test_a_log_gives_back_what_was_written(events: list[SessionEvent], encoding: Encoding, random: Random) -> None:
    batches = in_batches(events, random, 5)
    data = log_bytes(batches, encoding)
    scan = scan_log(data, encoding)
    assert (scan.header, events_of(scan), scan.damage) == (HEADER, events, None)
    assert (scan.good_length, scan.next_seq) == (len(data), len(events))
    assert [(span.first_seq, span.next_seq) for span in scan.spans] == [(b[0].seq, b[-1].seq + 1) for b in batches]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_cut_of_a_log_is_a_prefix_with_a_torn_end(encoding: Encoding) -> None:
    random = Random(5)
    batches = in_batches(random_events(random, 40), random, 6)
    data = log_bytes(batches, encoding)
    header = len(log_bytes([], encoding))
    for cut in range(len(data)):
        scan = scan_log(data[:cut], encoding)
        if cut < header:
            assert scan.damage is not None
            assert scan.damage.kind == "corrupt"
            continue
        whole = [batch for batch, span in zip(batches, scan.spans, strict=False) if span.end <= cut]
        assert events_of(scan) == [one for batch in whole for one in batch]
        if scan.good_length == cut:
            assert scan.damage is None
        else:
            assert scan.damage is not None
            assert (scan.damage.kind, scan.damage.offset) == ("torn", scan.good_length)


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(st.data())
def test_a_flipped_bit_is_damage_when_batches_follow_and_a_torn_end_when_none_do(
    encoding: Encoding, data: st.DataObject
) -> None:
    random = Random(9)
    events = random_events(random, 30)
    batches = in_batches(events, random, 6)
    log = bytearray(log_bytes(batches, encoding))
    bit = data.draw(st.integers(0, len(log) * 8 - 1))
    log[bit // 8] ^= 1 << bit % 8
    scan = scan_log(bytes(log), encoding)
    got = events_of(scan)
    assert got == events[: len(got)]
    if scan.damage is None:
        assert got == events or scan.header != HEADER
    elif scan.header is not None:
        last = len(events) - len(batches[-1])
        assert scan.damage.kind == ("corrupt" if len(got) < last else "torn") or scan.damage.reason.startswith("event")
        assert scan.damage.last_seq == len(got) - 1


@given(st.binary(max_size=400), st.sampled_from(ENCODINGS))
def test_no_bytes_make_a_scan_raise(data: bytes, encoding: Encoding) -> None:
    scan = scan_log(log_bytes([[user_message(0, "hello")]], encoding) + data, encoding)
    assert scan.entries[:1] == [user_message(0, "hello")]
    scan_log(data, encoding)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_zeros_and_rubbish_after_the_last_batch_are_a_torn_end(encoding: Encoding) -> None:
    log = log_bytes([[user_message(0, "hello")]], encoding)
    for tail in (bytes(700), Random(1).randbytes(700), b"\x28\xb5\x2f\xfd" * 20):
        scan = scan_log(log + tail, encoding)
        assert scan.damage is not None
        assert (scan.damage.kind, scan.good_length) == ("torn", len(log))


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_an_older_batch_behind_the_end_is_no_proof_of_damage(encoding: Encoding) -> None:
    first, second = [user_message(0, "a"), user_message(1, "b")], [user_message(2, "c")]
    stale = encode_batch(encoding, encode_events(first))
    scan = scan_log(log_bytes([first, second], encoding) + b"\0\n" + stale, encoding)
    assert scan.damage is not None
    assert scan.damage.kind == "torn"


def corrupt_reason(batches: list[list[SessionEvent]], encoding: Encoding) -> tuple[str, int]:
    scan = scan_log(log_bytes(batches, encoding), encoding)
    assert scan.damage is not None
    assert scan.damage.kind == "corrupt"
    return scan.damage.reason, scan.damage.last_seq


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_gap_and_a_repeated_event_are_damage_even_at_the_end(encoding: Encoding) -> None:
    first, other = [user_message(0, "a")], [user_message(2, "c")]
    assert corrupt_reason([first, other], encoding) == ("event 1: seq is 2", 0)
    assert corrupt_reason([first, first], encoding) == ("event 1: seq is 0", 0)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_salvage_finds_the_batches_behind_the_damage(encoding: Encoding) -> None:
    batches = [whole_turn(0, 1, 5), whole_turn(11, 2, 5), whole_turn(22, 3, 5)]
    log = bytearray(log_bytes(batches, encoding))
    middle = scan_log(bytes(log), encoding).spans[1]
    log[middle.offset + 20] ^= 0xFF
    scan = scan_log(bytes(log), encoding)
    assert scan.damage is not None
    assert (scan.damage.kind, scan.damage.offset, scan.damage.last_seq) == ("corrupt", middle.offset, 10)
    ((offset, entries),) = later_entries(bytes(log), encoding, scan)
    assert (offset, list(PackedLog(entries, 22).since(22))) == (middle.end, batches[2])


def test_an_unknown_type_refuses_the_log_unless_it_is_ignorable() -> None:
    odd = event(1, "future/thing", {})
    fine = event(1, "future/thing", {"x": [1]}, ignorable=True)
    refused = scan_log(log_bytes([[user_message(0, "a")], [odd]]), "zstd")
    assert refused.damage is not None
    assert (refused.damage.kind, refused.damage.reason) == (
        "unsupported",
        "event 1 has the type 'future/thing', which this server does not know",
    )
    kept = scan_log(log_bytes([[user_message(0, "a")], [fine]]), "zstd")
    assert (kept.damage, events_of(kept)[1]) == (None, fine)


def test_a_log_of_another_version_is_unsupported_and_not_corrupt() -> None:
    header = encode_header(HEADER).replace(b'"version":1', b'"version":2')
    scan = scan_log(encode_batch("zstd", header), "zstd")
    assert scan.damage is not None
    assert scan.damage.kind == "unsupported"
    assert "newer server" in scan.damage.reason


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        (b"PK\x03\x04 something else", "the header cannot be read: no frame begins here"),
        (bytes(4096), "the header cannot be read: no frame begins here"),
        (
            encode_batch("zstd", encode_events([user_message(0, "a")])),
            "the header cannot be read: the session's header: type is not 'session'",
        ),
        (
            encode_batch("zstd", encode_header(HEADER) * 2),
            "the header cannot be read: the first batch is not exactly one header line",
        ),
    ],
)
def test_a_file_without_a_header_says_what_is_wrong(data: bytes, reason: str) -> None:
    scan = scan_log(data, "zstd")
    assert scan.damage is not None
    assert (scan.header, scan.damage.kind, scan.damage.offset, scan.damage.reason) == (None, "corrupt", 0, reason)
