"""Matching lines, here and in a process that can be killed."""

from __future__ import annotations

import io
import json
import threading

import pytest

from acp_server.tools.line_matches import matching_lines, searched_text, serve
from acp_server.tools.matcher import Stop, Stopped, open_matcher
from acp_server.tools.search_pattern import parse_pattern

FILES = [b"a1\nb\n\na22 a3\n", b"", b"a1\0", b"\xff\xfea\x001\0", b"\xe9a1"]
FOUND = [(2, [(1, 0, 2), (4, 0, 3)]), (0, []), (0, []), (1, [(1, 0, 2)]), (1, [(1, 1, 3)])]


def test_lines_are_found_with_their_places() -> None:
    expression = parse_pattern(r"a\d+").compile()
    assert [matching_lines(data, expression, 9) for data in FILES] == FOUND
    assert matching_lines(b"x\nx\nx", parse_pattern("x").compile(), 1) == (3, [(1, 0, 1)])
    assert matching_lines(b"a\n\n", parse_pattern("^").compile(), 9) == (2, [(1, 0, 0), (2, 0, 0)])


def test_the_searched_text() -> None:
    assert searched_text(b"\xef\xbb\xbfa") == "a"
    assert searched_text(b"\xfe\xff\0a") == "a"
    assert searched_text(b"\xff\xfe\0\0") is None
    assert searched_text(b"\xff") == "\udcff"


def test_the_process_answers_batches() -> None:
    head = json.dumps([r"a\d", False, 9]).encode()
    answers = io.BytesIO()
    serve(io.BytesIO(head + b"\n[2, 3]\na1xa2[1]\nb"), answers)
    assert answers.getvalue() == b"[[1, [[1, 0, 2]]], [1, [[1, 1, 3]]]]\n[[0, []]]\n"


@pytest.mark.parametrize("pattern", [r"a(1|2?2|3)", r"a\d+"])
def test_a_process_gives_what_this_one_gives(pattern: str) -> None:
    with open_matcher(parse_pattern(pattern), 9, Stop()) as match:
        assert match(FILES) == FOUND
        assert match(FILES[:1] * 3) == FOUND[:1] * 3
        assert match([]) == []


def test_a_pattern_without_end_can_be_stopped() -> None:
    stop = Stop()
    with open_matcher(parse_pattern("(a+)+$"), 9, stop) as match:
        assert match([b"aaa"]) == [(1, [(1, 0, 3)])]
        threading.Timer(0.05, stop.ask).start()
        with pytest.raises(Stopped):
            match([b"a" * 60 + b"b"])


def test_a_stop_that_was_asked_for_holds() -> None:
    stop = Stop()
    done: list[int] = []
    stop.then(lambda: done.append(1))
    stop.ask()
    stop.ask()
    stop.then(lambda: done.append(2))
    assert (done, stop.asked) == ([1, 2], True)
    with pytest.raises(Stopped):
        stop.raise_if_asked()
