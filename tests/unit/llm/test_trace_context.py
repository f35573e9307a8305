"""What of `_meta` counts as a trace (docs/protocol/messages.md, clause T-86)."""

from __future__ import annotations

import pytest

from acp_server.llm.trace_context import trace_of

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_a_whole_trace_is_taken() -> None:
    whole = {"traceparent": PARENT, "tracestate": "a=1,b=2", "baggage": "user=x"}
    assert trace_of({**whole, "other": 1}) == whole


@pytest.mark.parametrize("meta", [None, 5, "text", [], {}, {"traceparent": 5}, {"tracestate": "a=1"}])
def test_what_is_none_gives_nothing(meta: object) -> None:
    assert trace_of(meta) == {}


@pytest.mark.parametrize(
    "parent",
    [
        "00-" + "0" * 32 + "-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-" + "0" * 16 + "-01",
        PARENT.upper(),
        PARENT + "\r\nx-key: 1",
        "ff" + PARENT[2:],
        PARENT[:-1],
    ],
)
def test_a_parent_that_is_none_is_left_out_with_its_state(parent: str) -> None:
    assert trace_of({"traceparent": parent, "tracestate": "a=1", "baggage": "b=2"}) == {"baggage": "b=2"}


@pytest.mark.parametrize("text", ["a=1\r\nauthorization: x", "\u00e9=1", " ", "", "x" * 8193, 7])
def test_what_no_header_can_carry_is_left_out(text: object) -> None:
    assert trace_of({"traceparent": PARENT, "baggage": text, "tracestate": text}) == {"traceparent": PARENT}
