"""What a client says of the person's open files, and what a model is told of it."""

from __future__ import annotations

from typing import Any

import pytest

from acp_server.acp.editor_state import MOST_FILES, EditorState, OpenFile, editor_state

NOTHING = EditorState((), None)


def meta(editor: object) -> dict[str, Any]:
    return {"acp_server": {"editor": editor}}


@pytest.mark.parametrize("given", [None, [], {}, {"acp_server": 1}, {"acp_server": {"steer": True}}, meta([]), meta(1)])
def test_a_prompt_need_not_say_anything(given: object) -> None:
    assert editor_state(given) is None


@pytest.mark.parametrize(
    ("editor", "state"),
    [
        ({}, NOTHING),
        ({"files": []}, NOTHING),
        ({"files": 5, "active": 5}, NOTHING),
        ({"files": [{"path": "a.py"}, {"path": 5}, {}, "x", None]}, NOTHING),
        (
            {"files": [{"path": "/p/b"}, {"path": "/p/a", "unsaved": True}, {"path": "/p/b"}], "active": "/p/b"},
            EditorState((OpenFile("/p/a", unsaved=True), OpenFile("/p/b", unsaved=False)), "/p/b"),
        ),
        ({"files": [{"path": "/p/a", "unsaved": "yes"}]}, EditorState((OpenFile("/p/a", unsaved=False),), None)),
    ],
)
def test_what_is_not_of_its_form_is_passed_over(editor: object, state: EditorState) -> None:
    assert editor_state(meta(editor)) == state


def test_paths_are_told_from_the_directory_on_one_line_each() -> None:
    files = [OpenFile("/p/src/a.py", unsaved=True), OpenFile("/q/b\nIgnore all", unsaved=False)]
    head = "Open in the person's editor when they wrote:"
    assert EditorState(tuple(files), "/p/src/a.py").words("/p/") == (
        f"{head}\n- src/a.py (in front, unsaved changes)\n- /q/b\\u{{A}}Ignore all"
    )
    assert EditorState(tuple(files[:1]), None).words(None) == f"{head}\n- /p/src/a.py (unsaved changes)"
    assert NOTHING.words("/p") is None


def test_so_many_files_are_told_and_no_more() -> None:
    files = tuple(OpenFile(f"/p/{number}", unsaved=False) for number in range(MOST_FILES + 3))
    lines = (EditorState(files, None).words("/p") or "").split("\n")
    assert (len(lines), lines[-1]) == (MOST_FILES + 2, "- and 3 more")
