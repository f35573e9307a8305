from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_server.base.json_value import MAX_DEPTH
from acp_server.persistence.long_values import nothing_beside
from acp_server.persistence.plain_lines import merged_words, plain_entry
from acp_server.persistence.records import BadRecord, decode_line, encode_events, judged_line
from acp_server.persistence.rows import PackedRow, merge_row
from acp_server.session.events import SessionEvent
from tests.support.logs import event, event_lists, text_delta, whole_turn

PIECES = st.sampled_from(
    [*'{}[]",:\\-+.eE \t/', "0", "7", "9" * 15, "9" * 16, "true", "null", "\\u0041", "\\ud800", "é"]
)
KEYS = ["type", "seq", "time", "data", "sourceEventSeqs", "surfaceOp", "ignorable", "attached", "seq0", "time0", "more"]


def lines_of(events: list[SessionEvent]) -> list[tuple[int, str]]:
    lines = encode_events(events).decode().split("\n")[:-1]
    decoded = [json.loads(line) for line in lines]
    return [(value.get("seq", value.get("seq0")), line) for value, line in zip(decoded, lines, strict=True)]


def judged(line: str, seq: int) -> str:
    """Return the entry in a form that tells true from 1, a list from a tuple, and one order of keys from another."""
    try:
        return repr(judged_line(line, seq, nothing_beside))
    except BadRecord as error:
        return f"refused: {error.reason}"


@given(event_lists())
def test_the_shortcut_gives_what_the_full_reading_gives_or_nothing(events: list[SessionEvent]) -> None:
    for seq, line in lines_of(events):
        entry = plain_entry(line, seq)
        assert entry is None or repr(entry) == judged(line, seq)
        assert repr(decode_line(line, seq)) == judged(line, seq)


@given(event_lists(), st.data())
def test_whatever_befalls_a_line_the_shortcut_never_takes_what_the_full_reading_refuses(
    events: list[SessionEvent], data: st.DataObject
) -> None:
    lines = lines_of([*events, *whole_turn(len(events), 1, 3)])
    seq, line = data.draw(st.sampled_from(lines))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(line)))
        end = data.draw(st.integers(start, min(start + 4, len(line))))
        line = line[:start] + data.draw(PIECES | st.just("")) + line[end:]
    entry = plain_entry(line, seq)
    assert entry is None or repr(entry) == judged(line, seq)


@given(st.dictionaries(st.sampled_from(KEYS), st.sampled_from([0, 1, True, 1.0, "append", [0], [], {"turn": 1}, None])))
def test_envelopes_of_any_shape_are_judged_alike(envelope: dict[str, object]) -> None:
    for value in (envelope, {"type": "turn/start", "seq": 0, "time": 0, "data": {}, **envelope}):
        line = json.dumps(value, separators=(",", ":"))
        entry = plain_entry(line, 0)
        assert entry is None or repr(entry) == judged(line, 0)


TEXTS = st.lists(st.text(st.sampled_from([*'",[]{}\\ :x', "\n", "é"])) | st.just(',"texts":'), min_size=3, max_size=5)


@given(TEXTS, st.booleans(), st.sampled_from([(",", ":"), (", ", ": ")]))
def test_words_are_merged_without_a_decoder_as_with_one(
    texts: list[str], reasoning: bool, separators: tuple[str, str]
) -> None:
    data = {"turn": 1, "step": 2, "index": 0, "dt": [0] * (len(texts) - 1), "texts": texts}
    kind = "reasoning-chunks" if reasoning else "text-chunks"
    row = {"type": kind, "seq0": 4, "time0": 5, "data": data}
    for line in (json.dumps(row, separators=separators, ensure_ascii=False), json.dumps(row, separators=(",", ":"))):
        assert decode_line(line, 4) == PackedRow(4, len(texts), line.encode())
        merged = merged_words(line)
        assert merged is None or repr(merged) == repr(merge_row(row))
        if line.startswith('{"type":"') and "\\" not in line and separators == (",", ":"):
            assert merged is not None


def test_the_lines_of_a_plain_turn_take_the_shortcut() -> None:
    sources = event(
        9, "user/message", {"content": [[{"a": [1.5, -0.0, 1e-7]}], "[é]"]}, sources=(0, 3), surface_op="append"
    )
    lines = lines_of(
        [*whole_turn(0, 1, 3), sources, text_delta(10, "one"), event(11, "model/selected", {}, ignorable=True)]
    )
    assert [seq for seq, line in lines if plain_entry(line, seq) is None] == []


LATE_ROW = (
    '{"type":"text-chunks","seq0":0,"time0":9,'
    '"data":{"turn":1,"step":1,"index":0,"dt":[0,9007199254740990],"texts":["","",""]}}'
)
DEEP = '{"a":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH


@pytest.mark.parametrize(
    "line",
    [
        '{"type":"turn/start","seq":4,"time":0,"data":{"turn":1}}',
        '{"type":"turn/start","seq":0,"time":0,"data":{"turn":01}}',
        '{"type":"turn/start","seq":0,"time":0,"data":{"turn":1}} ',
        '{"type":"turn/start","seq":0,"time":0,"data":{"turn":1}}\n',
        '{"type":"turn/start","seq":0,"time":0,"data":{"turn":9007199254740993}}',
        '{"type":"turn/start","seq":0,"time":0,"data":{"turn":1e999}}',
        '{"type":"turn/start","seq":0,"time":0,"data":{"turn":NaN}}',
        '{"type":"turn/start","seq":0,"time":0,"data":{"turn":"\\ud800"}}',
        f'{{"type":"turn/start","seq":0,"time":0,"data":{{"a":{DEEP}}}}}',
        '{"type":"turn/start","seq":0,"time":0,"data":{},"ignorable":false}',
        '{"type":"a/b","seq":0,"time":0,"data":{}}',
        '{"type":"a/b","seq":0,"time":0,"data":{"turn":1}}',
        '{"type":"text-chunks","seq":0,"time":0,"data":{},"ignorable":true}',
        '{"type":"turn/start","seq":0,"time":0,"data":{},"sourceEventSeqs":[true]}',
        '{"type":"turn/start","seq":0,"time":0,"data":{},"sourceEventSeqs":[-1]}',
        '{"type":"turn/start","seq":0,"time":0,"data":{},"sourceEventSeqs":[9007199254740993]}',
        '{"type":"text-chunks","seq0":0,"time0":0,"data":{"turn":1,"step":1,"index":0,"dt":[0],"texts":["a","b"]}}',
        '{"type":"text-chunks","seq0":0,"time0":0,"data":{"turn":1,"step":1,"index":0,"dt":[0,0],"texts":["a","b",7]}}',
        '{"type":"text-chunks","seq0":0,"time0":0,"data":{"turn":1,"step":1,"index":0,"dt":[0,true],"texts":["","",""]}}',
        LATE_ROW,
    ],
)
def test_what_breaks_a_clause_is_left_to_the_full_reading(line: str) -> None:
    assert plain_entry(line, 0) is None
    with pytest.raises(BadRecord):
        decode_line(line, 0)
