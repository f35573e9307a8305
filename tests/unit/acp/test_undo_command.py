from __future__ import annotations

from typing import Any

import pytest

from acp_server.acp.undo_command import Asked, outcome_words, preview_words, read_params, read_words
from acp_server.agent.undo import Order, Outcome, Proposal
from acp_server.jsonrpc.errors import RpcError
from acp_server.session.file_changes import FileState
from acp_server.session.file_undo import Conflict, FilePlan, Step

DELETE = Step("/p/a\u200b", FileState("d"), FileState(None))


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ("", Asked(Order(), go=False)),
        ("go", Asked(Order(), go=True)),
        ("3 go", Asked(Order(back=3), go=True)),
        ("2 messages", Asked(Order(back=2, files=False), go=False)),
        ("back messages go", Asked(Order(redo=True, files=False), go=True)),
        *[(words, None) for words in ("0", "go 2", "-1", "²", "9" * 6, "9" * 5000, "all", "1 2", "go go")],
    ],
)
def test_words_are_understood_or_not(words: str, asked: Asked | None) -> None:
    assert read_words(words) == asked


def test_params_are_read_and_named_when_they_are_wrong() -> None:
    assert read_params({"messageId": "m", "apply": True}) == Asked(Order(message_id="m"), go=True)
    assert read_params({"back": 2, "redo": True, "files": False}) == Asked(
        Order(redo=True, back=2, files=False), go=False
    )
    wrong: list[tuple[str, Any]] = [
        ("back", True),
        ("back", 0),
        ("back", "1"),
        ("messageId", 1),
        ("redo", 0),
        ("files", None),
    ]
    for field, value in wrong:
        with pytest.raises(RpcError) as caught:
            read_params({field: value})
        assert caught.value.message.startswith(f"Invalid params: {field} must be ")


def proposal(**more: Any) -> Proposal:
    given: dict[str, Any] = {"messages": (("m", "do\nthis"),), "plan": FilePlan((DELETE,)), **more}
    return Proposal("undo", None, None, 0, **given)


def test_a_preview_says_what_would_happen_and_what_does_it() -> None:
    assert preview_words(proposal(others=(("bash", 2),)), "2") == (
        "1 message(s) would be taken back:\n- do this\n\nThese files would change:\n- `/p/a\\u{200B}` is deleted\n\n"
        "Not undone, whatever they changed: calls of `bash` (2).\n\nNothing has changed yet. `/undo 2 go` does it."
    )


def test_a_refusal_names_the_files_and_the_way_on() -> None:
    words = preview_words(proposal(plan=FilePlan((), (Conflict("/p/b", "it is yours"),))), "")
    assert words.endswith("- `/p/b`: it is yours\n\n`/undo messages go` leaves all files as they are.")


def test_what_broke_off_is_told_by_file() -> None:
    assert outcome_words(Outcome(proposal(), (DELETE,), "/p/b: the disk is full")) == (
        "It was not done, and no message was changed: /p/b: the disk is full\n\nThese files had changed before:\n"
        "- `/p/a\\u{200B}` is deleted\n\n`/undo back go` takes that back as well; "
        "saying the same again goes on with it."
    )
