from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from acp_server.persistence import long_values
from acp_server.persistence.batches import Encoding, encode_batch
from acp_server.persistence.long_values import Beside, Fetch, NotBeside
from acp_server.persistence.packed_log import PackedLog
from acp_server.persistence.records import encode_events, encode_header
from acp_server.persistence.scan import Scan, scan_log
from acp_server.session.event_json import event_to_json
from acp_server.session.header_json import header_to_json
from tests.support import second_reader
from tests.support.logs import HEADER, in_batches, log_bytes, random_events, whole_turn

LOGS = 500
ENCODINGS: list[Encoding] = ["zstd", "none"]
FINDINGS = {None: None, "torn": "torn", "corrupt": "damage"}


def generated(seed: int, encoding: Encoding) -> bytes:
    random = Random(seed)
    events = random_events(random, random.randint(0, 40))
    if random.random() < 0.5:
        events += whole_turn(len(events), 1, random.randint(0, 30))
    return log_bytes(in_batches(events, random), encoding)


def damaged(log: bytes, random: Random) -> bytes:
    kind = random.randrange(4)
    at = random.randrange(len(log))
    if kind == 0:
        return log[:at]
    if kind == 1:
        return log[:at] + bytes([log[at] ^ 1 << random.randrange(8)]) + log[at + 1 :]
    if kind == 2:
        return log + random.choice([bytes(300), random.randbytes(300), log[at : at + 200]])
    return log[:at] + log[at + random.randint(1, 40) :]


def as_json(scan: Scan) -> tuple[Any, ...]:
    events = json.loads(json.dumps([event_to_json(event) for event in PackedLog(scan.entries).since(0)]))
    finding = None if scan.damage is None else scan.damage.kind
    if scan.header is None:
        return None, [], 0, "no header"
    return json.loads(json.dumps(header_to_json(scan.header))), events, scan.good_length, FINDINGS[finding]


def as_read(reading: second_reader.Reading) -> tuple[Any, ...]:
    if reading.finding == "no header":
        return None, [], 0, "no header"
    return reading.header, reading.events, reading.good, reading.finding


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_reader_made_from_the_document_reads_the_same(encoding: Encoding) -> None:
    for seed in range(LOGS):
        log = generated(seed, encoding)
        ours = as_json(scan_log(log, encoding))
        assert as_read(second_reader.read(log, compressed=encoding == "zstd")) == ours
        assert ours[3] is None


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_it_finds_the_same_in_logs_that_are_not_whole(encoding: Encoding) -> None:
    random = Random(4)
    agreed = 0
    for seed in range(LOGS):
        log = damaged(generated(seed, encoding), random)
        ours = scan_log(log, encoding)
        if ours.header not in (HEADER, None) or (ours.damage is not None and ours.damage.kind == "unsupported"):
            continue
        assert as_read(second_reader.read(log, compressed=encoding == "zstd")) == as_json(ours), seed
        agreed += 1
    assert agreed > LOGS * 9 // 10


def fetch_of(beside: Beside) -> Fetch:
    def fetch(ident: str, size: int) -> bytes:
        if len(beside.get(ident, b"")) != size:
            raise NotBeside(ident)
        return beside[ident]

    return fetch


def generated_beside(seed: int, encoding: Encoding) -> tuple[bytes, Beside]:
    random = Random(seed)
    beside: Beside = {}
    batches = in_batches(random_events(random, random.randint(1, 40)), random)
    parts = [encode_header(HEADER), *(encode_events(batch, beside) for batch in batches)]
    return b"".join(encode_batch(encoding, part) for part in parts), beside


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_it_reads_what_lies_beside_a_log_and_misses_what_does_not(
    encoding: Encoding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_values, "LONGEST", 60)
    random, lost = Random(8), 0
    for seed in range(LOGS // 2):
        log, beside = generated_beside(seed, encoding)
        for ident in random.sample(sorted(beside), min(len(beside), random.randint(0, 1))):
            lost += 1
            if random.random() < 0.5:
                del beside[ident]
            else:
                beside[ident] = beside[ident][:-1]
        read = second_reader.read(log, compressed=encoding == "zstd", beside=beside)
        assert as_read(read) == as_json(scan_log(log, encoding, fetch_of(beside))), seed
    assert lost > LOGS // 10
