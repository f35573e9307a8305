from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it ships no annotations

from tests.support.logs import in_batches, log_bytes, random_events, whole_turn

SCHEMA = json.loads((Path(__file__).parents[3] / "schemas" / "session-log.schema.json").read_text("utf-8"))
LINES = Draft202012Validator(SCHEMA)
EVENT = {"type": "turn/start", "seq": 0, "time": 1, "data": {}}
DATA = {"turn": 1, "step": 1, "index": 0, "dt": [0, 0], "texts": ["a", "b", "c"]}
ROW = {"type": "text-chunks", "seq0": 0, "time0": 1, "data": DATA}


REFERENCE = {"at": ["content", 0, "text"], "attachmentId": f"sha256-{'0' * 64}", "bytes": 300_000}


def test_every_line_of_a_log_has_the_form_of_the_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    events = random_events(Random(3), 60)
    events += whole_turn(60, 1, 30)
    lines = log_bytes(in_batches(events, Random(3)), "none").decode().split("\n")[:-1]
    assert {json.loads(line)["type"] for line in lines} >= {"session", "commit", "text-chunks", "user/message"}
    assert [line for line in lines if not LINES.is_valid(json.loads(line))] == []
    assert LINES.is_valid({**EVENT, "attached": [REFERENCE]})


@pytest.mark.parametrize(
    "line",
    [
        {**EVENT, "more": 1},
        {**EVENT, "attached": []},
        {**EVENT, "attached": [{**REFERENCE, "at": []}]},
        {**EVENT, "attached": [{**REFERENCE, "at": [-1]}]},
        {**EVENT, "attached": [{**REFERENCE, "bytes": 2**26 + 1}]},
        {**EVENT, "attached": [{**REFERENCE, "attachmentId": "../x"}]},
        {**ROW, "attached": [REFERENCE]},
        {**EVENT, "seq": -1},
        {**EVENT, "ignorable": False},
        {**EVENT, "surfaceOp": "replace"},
        {**EVENT, "type": "commit"},
        {**ROW, "data": {**DATA, "texts": ["a", "b"]}},
        {**ROW, "data": {**DATA, "dt": [0, 0.5]}},
        {**ROW, "type": "tool-call-chunks"},
        {"type": "session", "version": 2, "id": "s", "createdAt": 0},
        {"type": "session", "version": 1, "id": "s", "createdAt": 0, "cwd": "relative"},
        {"type": "session", "version": 1, "id": "s", "createdAt": 0, "sandboxMode": "x"},
        {"type": "commit", "count": 1, "crc32": "XYZ"},
    ],
)
def test_a_malformed_line_does_not(line: dict[str, Any]) -> None:
    assert not LINES.is_valid(line)
