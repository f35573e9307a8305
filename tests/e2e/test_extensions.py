"""Methods of ours over real pipes: status, export, the raw events of a session; every frame against our schema."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from tests.e2e.sessions import prompting, restarted
from tests.e2e.stage import Stage, script, stop_reason
from tests.support import extensions, schema
from tests.support.client import Client
from tests.support.trace import Obj

STATUS = "_acp_server/session/status"
EXPORT = "_acp_server/session/export"
SUBSCRIBE = "_acp_server/session/events/subscribe"
UNSUBSCRIBE = "_acp_server/session/events/unsubscribe"
EVENTS = "_acp_server/session/events"
BOGUS = "00000000-0000-4000-8000-000000000000"


def told(client: Client) -> list[Obj]:
    """Return the events that were notified, in order."""
    frames = [frame.value for frame in client.trace.frames if frame.way == "got" and frame.value is not None]
    return [event for value in frames if value.get("method") == EVENTS for event in value["params"]["events"]]


def wait_for(client: Client, seq: int) -> list[Obj]:
    """Return the events up to that seq, once they have come."""
    found = client.trace.wait(lambda: [e for e in told(client) if e["seq"] == seq - 1], 30)
    assert found, [event["seq"] for event in told(client)]
    return told(client)


def exported(client: Client, session: str, form: str) -> tuple[str, int]:
    """Return a whole export, and on how many pages it came."""
    text, pages, asked = "", 0, {"sessionId": session, "format": form}
    while True:
        page = client.result(EXPORT, asked, 30)
        assert page["format"] == form
        text, pages = text + page["text"], pages + 1
        if "nextCursor" not in page:
            return text, pages
        asked = {**asked, "cursor": page["nextCursor"]}


def test_every_method_is_advertised_served_and_has_a_schema(stage: Stage) -> None:
    client = stage.client()
    meta = client.initialize()["agentCapabilities"]["_meta"]["acp_server"]
    assert sorted(meta["methods"]) == sorted(extensions.methods())
    assert meta["notifications"] == sorted(extensions.notifications())
    for method in meta["methods"]:
        assert client.error(method, {"sessionId": BOGUS, "title": "t", "prompt": []})["code"] == -32002, method
        assert client.error(method, {"sessionId": 5})["code"] == -32602, method


def test_status_tells_what_holds(stage: Stage) -> None:
    client, session = stage.open()
    client.prompt(session, script("usage 120 40", "say Good day."))
    hanging = client.ask(session, script("say Begun.", "hang"))
    client.wait_update("agent_message_chunk", len(client.trace.frames) - 1)
    waiting = client.ask(session, "and then this")
    status = client.result(STATUS, {"sessionId": session})
    queue = [(one["text"], one["parked"]) for one in status["queue"]]
    assert (status["state"], status["sessionId"], queue) == ("running", session, [("and then this", False)])
    assert status["options"]["mode"] == "ask"
    assert status["options"]["model"] == "scripted/demo"
    assert (status["spent"]["inputTokens"], status["spent"]["outputTokens"]) == (120, 40)
    client.notify("session/cancel", {"sessionId": session})
    assert [stop_reason(client.answer(one)) for one in (hanging, waiting)] == ["cancelled", "cancelled"]
    after = client.result(STATUS, {"sessionId": session})
    assert (after["state"], after["queue"]) == ("idle", [])
    assert after["title"].startswith("usage") or after["title"]


def test_an_export_of_an_open_and_of_a_stored_session_is_the_same(stage: Stage) -> None:
    client, session = stage.open()
    client.prompt(session, script("think Hm.", "say Good *day*."))
    markdown, lines = exported(client, session, "markdown")[0], exported(client, session, "jsonl")[0]
    assert "## Assistant" in markdown
    assert "Good *day*." in markdown
    head, *events = map(json.loads, lines.splitlines())
    assert head["id"] == session
    assert [event["seq"] for event in events] == list(range(len(events)))
    later = restarted(stage)
    assert exported(later, session, "markdown")[0] == markdown
    assert exported(later, session, "jsonl")[0] == lines


def test_a_long_export_comes_in_pages_that_fit_although_the_session_goes_on(stage: Stage) -> None:
    client, session = stage.open()
    text = "x\\\u00e9" * 700_000
    client.answer(client.request(*prompting(session, text)), 60)
    for form in ("markdown", "jsonl"):
        first = client.result(EXPORT, {"sessionId": session, "format": form}, 30)
        client.prompt(session, script("say More."))
        asked = {"sessionId": session, "format": form, "cursor": first["nextCursor"]}
        whole, pages = first["text"], 1
        while True:
            page = client.result(EXPORT, asked, 30)
            whole, pages = whole + page["text"], pages + 1
            assert page["events"] == first["events"]
            if "nextCursor" not in page:
                break
            asked = {**asked, "cursor": page["nextCursor"]}
        assert pages > 2
        if form == "jsonl":
            assert [json.loads(line) for line in whole.splitlines()][-1]["seq"] == first["events"] - 1
        else:
            assert text in whole


@pytest.mark.parametrize("wrong", [{"format": "pdf"}, {"cursor": "nonsense"}, {"cursor": 5}, {"cursor": "99999-0-0"}])
def test_a_wrong_export_is_refused(stage: Stage, wrong: Obj) -> None:
    client, session = stage.open()
    assert client.error(EXPORT, {"sessionId": session, **wrong})["code"] == -32602


def test_events_come_as_they_happen_and_from_the_start_when_asked(stage: Stage) -> None:
    client, session = stage.open()
    assert client.result(SUBSCRIBE, {"sessionId": session}) == {"seq": 0, "fromSeq": 0}
    client.prompt(session, script("chunks 3", "say Hello there."))
    seq = client.result(STATUS, {"sessionId": session})["seq"]
    live = wait_for(client, seq)
    assert [event["seq"] for event in live] == list(range(seq))
    assert [e["seq"] for e in live if e["type"] == "turn/end"] == [seq - 1]
    again = len(client.trace.frames)
    assert client.result(SUBSCRIBE, {"sessionId": session, "fromSeq": 2}) == {"seq": seq, "fromSeq": 2}
    client.trace.wait(lambda: len(told(client)) == 2 * seq - 2, 30)
    assert told(client)[seq:] == live[2:]
    client.result(UNSUBSCRIBE, {"sessionId": session})
    client.prompt(session, script("say Nobody hears this."))
    assert len(told(client)) == 2 * seq - 2
    assert again < len(client.trace.frames)


def test_events_are_those_of_the_export(stage: Stage) -> None:
    client, session = stage.open()
    client.prompt(session, script("think Hm.", "say One."))
    client.prompt(session, script('call read {"path": "nothing"}', "step", "say Two."))
    lines = [json.loads(line) for line in exported(client, session, "jsonl")[0].splitlines()][1:]
    client.result(SUBSCRIBE, {"sessionId": session, "fromSeq": 0})
    assert wait_for(client, len(lines)) == lines


def test_a_slow_reader_gets_every_event_once_and_in_order(stage: Stage) -> None:
    client, session = stage.open()
    client.result(SUBSCRIBE, {"sessionId": session})
    client.prompt(session, script("chunks 3000", f"say {'word ' * 3000}"), 60)
    seq = client.result(STATUS, {"sessionId": session})["seq"]
    events = wait_for(client, seq)
    assert all(later["seq"] == before["seq"] + 1 for before, later in pairwise(events))
    assert events[0]["seq"] == 0


def test_an_event_that_is_too_long_comes_without_its_data(stage: Stage) -> None:
    client, session = stage.open()
    client.result(SUBSCRIBE, {"sessionId": session})
    client.answer(client.request(*prompting(session, "z" * 3_000_000)), 60)
    seq = client.result(STATUS, {"sessionId": session})["seq"]
    left = {event["type"] for event in wait_for(client, seq) if "leftOut" in event}
    assert "user/message" in left


def test_nothing_of_it_comes_after_the_session_is_closed(stage: Stage) -> None:
    client, session = stage.open()
    client.result(SUBSCRIBE, {"sessionId": session})
    client.prompt(session, script("say Hello."))
    client.result("session/close", {"sessionId": session})
    closed = len(client.trace.frames)
    other = client.new_session(stage.project)
    client.prompt(other, script("say Other."))
    later = [frame.value for frame in client.trace.frames[closed:] if frame.value is not None]
    assert [value for value in later if value.get("method") == EVENTS] == []


@pytest.mark.parametrize("seq", [-1, 1, "0", True, 1.5])
def test_a_wrong_start_is_refused(stage: Stage, seq: Any) -> None:
    client, session = stage.open()
    assert client.error(SUBSCRIBE, {"sessionId": session, "fromSeq": seq})["code"] == -32602


def test_what_we_send_ourselves_fits_the_schema_too() -> None:
    """The schema judges: a frame that it does not describe is found."""
    judge = schema.own_notification(EVENTS)
    event = {"type": "turn/start", "seq": 0, "time": 1, "data": {"turn": 1}}
    assert judge({"sessionId": "s", "events": [event]}) == []
    assert judge({"sessionId": "s", "events": [{**event, "more": 1}]}) != []
    assert judge({"sessionId": "s", "events": [{"type": "t", "seq": 0, "time": 1}]}) != []
    assert judge({"sessionId": "s", "events": []}) != []
