from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_server.acp.partial_json import LONGEST, partial_object

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("{", None),
        ("[1", None),
        ("}", None),
        ('{"pa', None),
        ('{"path', None),
        ('{"path":', None),
        ('{"path": "', {"path": ""}),
        ('{"path": "a', {"path": "a"}),
        ('{"path": "a\\', {"path": "a"}),
        ('{"path": "a\\\\', {"path": "a\\"}),
        ('{"path": "a\\u00e', {"path": "a"}),
        ('{"path": "a\\u00e9', {"path": "a\u00e9"}),
        ('{"path": "a\\"', {"path": 'a"'}),
        ('{"path": "a", "li', {"path": "a"}),
        ('{"path": "a", "limit": 1', {"path": "a"}),
        ('{"path": "a", "limit": 12,', {"path": "a", "limit": 12}),
        ('{"edits": [{"old": "x", "new": "y', {"edits": [{"old": "x", "new": "y"}]}),
        ('{"edits": ["x", "y', {"edits": ["x", "y"]}),
        ('{"a": tru', None),
        ('{"a": true}', {"a": True}),
        ("{" * 100_000, None),
    ],
)
def test_what_has_come_is_there(text: str, expected: object) -> None:
    assert partial_object(text) == expected


def test_a_long_text_is_cut() -> None:
    assert partial_object('{"a": "' + "x" * 5000) == {"a": "x" * LONGEST + "\u2026"}


@given(st.dictionaries(st.text(), VALUES, max_size=4), st.data())
def test_each_beginning_says_nothing_that_the_whole_does_not(value: dict[str, Any], data: st.DataObject) -> None:
    whole = json.dumps(value)
    found = partial_object(whole[: data.draw(st.integers(0, len(whole)))])
    assert set(found or {}) <= set(value)
    assert partial_object(whole) == (value or None)
