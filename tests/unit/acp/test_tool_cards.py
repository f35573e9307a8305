from __future__ import annotations

import json
from typing import Any

from acp_server.acp.picture_updates import filled, named_in
from acp_server.acp.tool_cards import OUTPUT_LENGTH, ToolCards

PLACE = {"turn": 1, "step": 1}
DIFF = {"type": "diff", "path": "/p/a", "oldText": "x", "newText": "y"}
VIEW = {"title": "Edit a", "kind": "edit", "diffs": [{"path": "/p/a", "old": "x", "new": "y"}]}
FACE = {"toolCallId": "c", "name": "edit", "title": "Edit a", "kind": "edit"}


def text(words: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": words}}


def started(cards: ToolCards, view: dict[str, Any] | None = None, ident: str = "c") -> list[dict[str, Any]]:
    data = {**PLACE, "callId": ident, "name": "edit", "arguments": '{"path": "a"}'}
    return list(cards.started(data if view is None else {**data, "view": view}))


def result(words: str, *, failed: bool = False, card: dict[str, Any] | None = None, ident: str = "c") -> dict[str, Any]:
    block = {"toolCallId": ident, "content": [{"type": "text", "text": words}], "isError": failed}
    data: dict[str, Any] = {**PLACE, "message": {"content": [block]}}
    return data if card is None else {**data, "meta": {"card": card}}


def test_a_call_is_drawn_as_its_tool_says_from_its_start_on() -> None:
    cards = ToolCards()
    assert started(cards, VIEW) == [
        {
            "sessionUpdate": "tool_call",
            "toolCallId": "c",
            "name": "edit",
            "title": "edit",
            "kind": "edit",
            "status": "pending",
        },
        {
            "sessionUpdate": "tool_call_update",
            **FACE,
            "content": [DIFF],
            "status": "in_progress",
            "rawInput": {"path": "a"},
        },
    ]


def test_output_stands_behind_the_diffs_while_the_call_runs() -> None:
    cards = ToolCards()
    started(cards, VIEW)
    update = {"sessionUpdate": "tool_call_update", **FACE, "status": "in_progress"}
    assert list(cards.progressed("c", "out")) == [{**update, "content": [DIFF, text("out")]}]
    assert list(cards.progressed("c", "out more")) == [{**update, "content": [DIFF, text("out more")]}]
    assert list(cards.progressed("c", "")) == [{**update, "content": [DIFF]}]


def test_of_long_output_the_end_is_shown() -> None:
    cards = ToolCards()
    started(cards)
    (update,) = cards.progressed("c", "a" * OUTPUT_LENGTH + "b")
    assert update["content"] == [text("a" * (OUTPUT_LENGTH - 1) + "b")]


def test_output_of_a_call_that_does_not_run_shows_nothing() -> None:
    cards = ToolCards()
    assert cards.progressed("c", "out") == ()
    cards.named(PLACE, "c", "edit")
    assert cards.progressed("c", "out") == ()
    started(cards)
    cards.ended(result("done"))
    assert cards.progressed("c", "out") == ()


def test_output_goes_under_the_id_that_the_client_knows() -> None:
    cards = ToolCards()
    started(cards)
    cards.ended(result("done"))
    started(cards)
    (update,) = cards.progressed("c", "out")
    assert (cards.wire_id("c"), update["toolCallId"]) == ("c#1.1", "c#1.1")
    assert cards.wire_id("unknown") == "unknown"


def test_a_result_may_bring_a_better_card() -> None:
    cards = ToolCards()
    started(cards, VIEW)
    better = {**VIEW, "title": "Edited a", "locations": [{"path": "/p/a", "line": 3}]}
    assert list(cards.ended(result("done", card=better))) == [
        {
            "sessionUpdate": "tool_call_update",
            **FACE,
            "title": "Edited a",
            "locations": [{"path": "/p/a", "line": 3}],
            "content": [DIFF, text("done")],
            "status": "completed",
        }
    ]


def test_a_call_that_is_asked_stays_pending_until_a_yes() -> None:
    cards = ToolCards()
    data = {**PLACE, "callId": "c", "name": "edit", "arguments": "{}", "asks": True}
    assert [update["status"] for update in cards.started(data)] == ["pending", "pending"]
    cards.asked({"id": "q", "callId": "c"})
    assert cards.decided({"id": "other", "outcome": "allowed-once"}) == ()
    assert [update["status"] for update in cards.decided({"id": "q", "outcome": "allowed-once"})] == ["in_progress"]
    assert cards.decided({"id": "q", "outcome": "allowed-once"}) == ()


def test_a_no_leaves_the_card_to_its_result() -> None:
    cards = ToolCards()
    cards.started({**PLACE, "callId": "c", "name": "edit", "arguments": "{}", "asks": True})
    cards.asked({"id": "q", "callId": "c"})
    assert cards.decided({"id": "q", "outcome": "rejected"}) == ()
    failed = {**result("no", failed=True), "error": {"name": "DeniedError", "code": "DENIED"}}
    (update,) = cards.ended(failed)
    assert (update["status"], update["rawOutput"]) == ("failed", {"error": failed["error"]})


def test_a_change_that_failed_shows_no_diff() -> None:
    cards = ToolCards()
    started(cards, VIEW)
    (update,) = cards.ended(result("no", failed=True))
    assert (update["status"], update["content"]) == ("failed", [text("no")])


def test_a_change_that_was_cancelled_shows_no_diff() -> None:
    cards = ToolCards()
    started(cards, VIEW)
    (update,) = cards.close_all("cancelled")
    assert (update["status"], update["content"]) == ("failed", [text("cancelled")])


def test_images_of_a_result_stand_behind_its_words() -> None:
    cards = ToolCards()
    started(cards)
    attachment = {"attachmentId": "a", "mediaType": "image/png", "bytes": 4, "width": 3, "height": 2}
    data = result("see")
    data["message"]["content"][0]["content"].append({"type": "image", "attachment": attachment})
    (update,) = cards.ended(data)
    assert update["content"] == [
        text("see"),
        {"type": "content", "content": {"type": "image", "attachment": attachment}},
    ]
    assert list(named_in(update)) == ["a"]
    shown = {"type": "content", "content": {"type": "image", "data": "QUJD", "mimeType": "image/png"}}
    assert filled(update, {"a": "QUJD"}.get)["content"] == [text("see"), shown]
    gone = "[The image (image/png, 3 x 2) is not available.]"
    assert filled(update, lambda _ident: None)["content"] == [text("see"), text(gone)]
    (update,) = [item for item in started(cards, VIEW, "d") if "content" in item]
    assert (list(named_in(update)), update["content"]) == ([], [DIFF])


# -- what only a live card shows


def live(*, draws: bool = False) -> ToolCards:
    cards = ToolCards()
    cards.live, cards.draws_terminals = True, draws
    return cards


def test_arguments_are_shown_as_they_come_but_seldom() -> None:
    cards = live()
    cards.named(PLACE, "c", "write")
    text_of_it = json.dumps({"path": "a.py", "content": "x" * 1000})
    seen = [update for piece in text_of_it for update in cards.argued("c", piece)]
    assert [len(update["rawInput"]["content"]) for update in seen] == [35, 227, 995]
    assert {(update["rawInput"]["path"], update["status"], update["kind"]) for update in seen} == {
        ("a.py", "pending", "edit")
    }
    started(cards)
    assert cards.argued("c", "x" * 10_000) == ()


def test_a_replay_shows_no_arguments_before_they_are_whole() -> None:
    cards = ToolCards()
    cards.named(PLACE, "c", "write")
    assert cards.argued("c", json.dumps({"path": "x" * 1000})) == ()


def test_a_terminal_of_the_client_is_shown_until_the_end() -> None:
    cards = live()
    started(cards)
    terminal = [{"type": "terminal", "terminalId": "t"}]
    assert [update["content"] for update in cards.attached("c", "t")] == [terminal]
    (update,) = cards.ended(result("out"))
    assert (update["content"], "_meta" in update) == (terminal, False)
    started(cards, ident="d")
    cards.attached("d", "u")
    (update,) = cards.ended(result("stopped", failed=True, ident="d"))
    assert update["content"] == [{"type": "terminal", "terminalId": "u"}, text("stopped")]
    assert cards.attached("e", "v") == ()


def test_output_is_sent_once_to_a_client_that_draws_it() -> None:
    cards = live(draws=True)
    cards.named(PLACE, "c", "bash")
    started(cards)
    window = "".join(f"line {n}\n" for n in range(1000))
    sent = [cards.progressed("c", shown)[0]["_meta"]["terminal_output"]["data"] for shown in ("a\n", "a\nb\n", window)]
    assert sent == ["a\n", "b\n", window]
    later = window[500:] + "line 1000\n"
    assert cards.progressed("c", later)[0]["_meta"]["terminal_output"]["data"] == "line 1000\n"
    (update,) = cards.ended(result(f"{window}line 1000\nlast\n[exit code 0]"))
    assert update["_meta"] == {
        "terminal_output": {"terminal_id": "c", "data": "last\n[exit code 0]"},
        "terminal_exit": {"terminal_id": "c", "exit_code": None, "signal": None},
    }


def test_a_command_that_was_refused_shows_why_and_no_terminal() -> None:
    cards = live(draws=True)
    cards.named(PLACE, "c", "bash")
    (update,) = cards.ended(result("no", failed=True))
    assert (update["content"], "_meta" in update) == ([text("no")], False)
