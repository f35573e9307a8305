"""Listing, loading, resuming, closing, deleting, renaming and forking (docs/protocol.md, clauses S-20 to S-66)."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from tests.e2e.sessions import (
    calls,
    folder,
    is_open,
    listed,
    live,
    load,
    log_of,
    merged,
    opening,
    pipelined,
    prompting,
    replayed,
    restarted,
    resume,
    said,
)
from tests.e2e.stage import Stage, script, stop_reason
from tests.support import schema
from tests.support.client import Client
from tests.support.llm_script import Script, text_of
from tests.support.mock_llm import MockLlm

HOSTILE = [
    "",
    ".",
    "..",
    "../../etc/passwd",
    "/etc/passwd",
    "a/b",
    "a\\b",
    "a\0b",
    "~",
    "-rf",
    "%2e%2e%2f",
    "x" * 5000,
    "日本語",
    "\u2028",
    "nobody",
]
BOGUS = "00000000-0000-4000-8000-000000000000"


def told(client: Client, session: str, *sayings: str) -> None:
    """Let the model say each of these in a turn of its own."""
    for saying in sayings:
        answer, _ = client.prompt(session, script(f"say {saying}"))
        assert stop_reason(answer) == "end_turn"


# -- list


def test_a_fresh_home_lists_nothing_and_nothing_is_written_for_it(stage: Stage) -> None:
    client = stage.client(None)
    client.initialize()
    for params in ({}, None, {"cwd": None, "cursor": None}, {"cwd": str(stage.project)}):
        assert client.result("session/list", params) == {"sessions": []}
    assert list(stage.state.iterdir()) == []


def test_a_session_is_listed_with_its_title_once_it_was_prompted(stage: Stage) -> None:
    client, session = stage.open()
    assert listed(client) == []
    assert not (stage.state / "sessions").exists()
    client.prompt(session, script("say Hello."))
    (entry,) = listed(client)
    assert set(entry) == {"sessionId", "cwd", "title", "updatedAt"}
    assert (entry["sessionId"], entry["cwd"]) == (session, str(stage.project))
    assert entry["updatedAt"].endswith("Z")
    assert abs(datetime.fromisoformat(entry["updatedAt"]).timestamp() - log_of(stage, session).stat().st_mtime) < 0.01
    assert listed(restarted(stage)) == [entry]


def test_the_newest_comes_first_and_a_prompt_moves_a_session_up(stage: Stage) -> None:
    client, first = stage.open()
    second = client.new_session(stage.project)
    told(client, first, "one")
    told(client, second, "two")
    assert [entry["sessionId"] for entry in listed(client)] == [second, first]
    told(client, first, "three")
    assert [entry["sessionId"] for entry in listed(client)] == [first, second]


@pytest.mark.parametrize("ending", ["", "/", "//"])
def test_the_list_of_one_directory_is_exact(stage: Stage, ending: str) -> None:
    beside, below = stage.root / "project-2", stage.project / "below"
    client = stage.client()
    client.initialize()
    opened = {}
    for cwd in (stage.project, beside, below):
        cwd.mkdir(exist_ok=True)
        opened[cwd] = client.new_session(Path(f"{cwd}{ending}"))
        told(client, opened[cwd], "here")
    for cwd, session in opened.items():
        entries = client.result("session/list", {"cwd": f"{cwd}{ending}"})["sessions"]
        assert [(entry["sessionId"], entry["cwd"]) for entry in entries] == [(session, str(cwd))]
    assert client.error("session/list", {"cwd": "relative"})["code"] == -32602


def test_pages_neither_repeat_nor_skip_while_sessions_come(stage: Stage) -> None:
    client = stage.client()
    client.initialize()
    there = []
    for number in range(250):
        there.append(client.new_session(stage.project))
        told(client, there[-1], f"number {number}")
    late, seen, pages = [], [], 0
    params: dict[str, str] = {}
    while True:
        page = client.result("session/list", params)
        pages += 1
        seen += [entry["sessionId"] for entry in page["sessions"]]
        late.append(client.new_session(stage.project))
        told(client, late[-1], "late")
        if "nextCursor" not in page:
            break
        params = {"cursor": page["nextCursor"]}
    assert (pages, len(seen)) == (5, 250)
    assert seen == there[::-1]
    assert [entry["sessionId"] for entry in listed(restarted(stage))] == late[::-1] + there[::-1]


@pytest.mark.parametrize("cursor", ["", "bogus", "W10=", "WyJhIiwgImIiXQ==", "e30=", "\u2028", "x" * 10_000, 7, [1]])
def test_a_cursor_that_was_never_given_is_refused(stage: Stage, cursor: object) -> None:
    client, session = stage.open()
    told(client, session, "here")
    assert client.error("session/list", {"cursor": cursor})["code"] == -32602
    assert [entry["sessionId"] for entry in listed(client)] == [session]


def test_what_cannot_be_listed_is_named_and_stops_nothing(stage: Stage) -> None:
    client, whole = stage.open()
    broken, cut = client.new_session(stage.project), client.new_session(stage.project)
    for session in (whole, broken, cut):
        told(client, session, "here")
    assert client.agent.end() is None
    log_of(stage, broken).write_bytes(b"\0" * 300)
    log_of(stage, cut).write_bytes(b"")
    (folder(stage, whole).parent / "stray.txt").write_text("stray")
    (stage.state / "sessions" / "stray").mkdir()
    client = stage.client()
    client.initialize()
    for _ in range(2):
        page = client.result("session/list", {})
        assert [entry["sessionId"] for entry in page["sessions"]] == [whole]
        places = {entry["place"].rpartition("/")[2]: entry["reason"] for entry in page["_meta"]["acp_server"]["broken"]}
        assert set(places) == {broken, cut}
        assert "is empty" in places[cut]
    for session in (broken, cut):
        assert client.error("session/load", opening(session, stage.project))["code"] == -32603


def test_listing_opens_no_session(stage: Stage) -> None:
    client, session = stage.open()
    told(client, session, "here")
    assert client.agent.end() is None
    before = {path: path.read_bytes() for path in folder(stage, session).iterdir()}
    client = stage.client()
    client.initialize()
    listed(client)
    assert {path: path.read_bytes() for path in folder(stage, session).iterdir()} == before
    told_error = client.answer(client.ask(session, "hello"))
    assert told_error["error"]["code"] == -32002


# -- load and resume


def test_a_load_shows_everything_in_order_before_its_answer(stage: Stage) -> None:
    client, session = stage.open()
    prompts = [
        script("think Hm.", "chunks 5", "say One, in pieces.", "usage 9 3"),
        script('call look {"at": 1}', "step", "say Two."),
        "/status",
        script("say Three."),
    ]
    for prompt in prompts:
        assert stop_reason(client.prompt(session, prompt)[0]) == "end_turn"
    before = live(client, session)
    client = restarted(stage)
    ident = client.request("session/load", opening(session, stage.project))
    assert is_open(client.answer(ident))
    replay = replayed(client, ident)
    assert said(replay, "user_message_chunk") == "".join(prompts)
    assert merged(replay) == merged(before)
    client.wait_update("available_commands_update")
    assert [u.kind for u in live(client, session)[len(replay) :]] == ["available_commands_update"]
    answer, turn = client.prompt(session, script("say Four."))
    assert (stop_reason(answer), client.said(turn)) == ("end_turn", "Four.")


def test_ids_are_those_of_the_live_session_and_later_ones_are_others(stage: Stage) -> None:
    client, session = stage.open()
    same = script("say Before.", "call look {}", "step", "say After.")
    for _ in range(2):
        client.prompt(session, same)

    def ids(client: Client) -> list[str]:
        found = [u.fields.get("messageId") or u.fields.get("toolCallId") for u in live(client, session)]
        return list(dict.fromkeys(ident for ident in found if ident is not None))

    before = ids(client)
    assert len(before) == 6
    client = restarted(stage)
    users = {u.fields["messageId"] for u in load(client, session, stage.project) if u.kind == "user_message_chunk"}
    assert len(users) == 2
    assert [ident for ident in ids(client) if ident not in users] == before
    client.prompt(session, same)
    assert len([ident for ident in ids(client) if ident not in users]) == 9


def test_a_load_may_be_repeated_and_changes_nothing(stage: Stage) -> None:
    client, session = stage.open()
    told(client, session, "One.", "Two.")
    first = load(client, session, stage.project)
    assert merged(load(client, session, stage.project), users=True) == merged(first, users=True)
    told(client, session, "Three.")
    assert said(live(client, session)).endswith("Three.")
    assert said(load(client, session, stage.project)) == "One.Two.Three."
    client = restarted(stage)
    assert said(load(client, session, stage.project)) == "One.Two.Three."


def test_a_load_while_a_turn_runs_is_refused_and_the_turn_goes_on(stage: Stage) -> None:
    client, session = stage.open()
    ident = client.ask(session, script("say Begun.", "wait 300", "say \\sEnded."))
    client.wait_update("agent_message_chunk")
    for method in ("session/load", "session/resume"):
        refusal = client.error(method, opening(session, stage.project))
        assert (refusal["code"], refusal["data"]["sessionId"]) == (-32600, session)
    assert stop_reason(client.answer(ident)) == "end_turn"
    assert client.said(client.turn(ident)) == "Begun. Ended."
    assert said(load(client, session, stage.project)) == "Begun. Ended."


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
def test_the_model_keeps_the_conversation_over_a_restart(stage: Stage, method: str) -> None:
    with MockLlm(Script([{"text": "It is 42."}, {"tool": "look", "args": {"at": 1}}, {"text": "Seen."}])) as mock:
        client, session = stage.open(None, mock.environment("openai"))
        client.prompt(session, "What is the number?")
        client.prompt(session, "Look at it.")
        before = mock.asked[-1].messages
        client = restarted(stage, None, mock.environment("openai"))
        ident = client.request(method, opening(session, stage.project))
        assert is_open(client.answer(ident))
        kinds = [u.kind for u in client.trace.updates(0, len(client.trace.frames), session)]
        assert ("agent_message_chunk" in kinds) == (method == "session/load")
        assert len(mock.asked) == 3, "opening a session asks no model"
        assert client.questions == []
        answer, _ = client.prompt(session, "Which number was it?")
        assert stop_reason(answer) == "end_turn"
        after = mock.asked[-1].messages
        assert after[: len(before)] == before
        told_model = [(m["role"], text_of(m.get("content"))) for m in after[len(before) :]]
        assert told_model == [("assistant", "Seen."), ("user", "Which number was it?")]


def test_resume_shows_nothing_but_metadata(stage: Stage) -> None:
    client, session = stage.open()
    told(client, session, "One.")
    client = restarted(stage)
    least = {"sessionId": session, "cwd": str(stage.project)}
    assert is_open(client.answer(client.request("session/resume", least)))
    client.wait_update("available_commands_update")
    assert [u.kind for u in live(client, session)] == ["available_commands_update"]
    told(client, session, "Two.")
    resume(client, session, stage.project)
    assert said(live(client, session)) == "Two."
    client = restarted(stage)
    assert said(load(client, session, stage.project)) == "One.Two."


def test_an_id_that_nobody_knows_is_told_and_touches_nothing(stage: Stage) -> None:
    client = stage.client()
    client.initialize()
    for ident in HOSTILE:
        for method in ("session/load", "session/resume"):
            refusal = client.error(method, opening(ident, stage.project))
            assert (refusal["code"], refusal["message"]) == (-32002, "Session not found")
        assert client.result("session/close", {"sessionId": ident}) == {}
        assert client.result("session/delete", {"sessionId": ident}) == {}
    assert list(stage.state.iterdir()) == []


def test_the_directory_of_a_session_is_fixed(stage: Stage) -> None:
    client, session = stage.open()
    told(client, session, "here")
    other = stage.root / "other"
    other.mkdir()
    link = stage.root / "link"
    link.symlink_to(stage.project)
    for _ in range(2):
        for method in ("session/load", "session/resume"):
            for cwd in (other, "/", "relative", f"{stage.project}/.."):
                refusal = client.error(method, opening(session, cwd))
                assert (refusal["code"], "cwd" in refusal["data"]["details"]) == (-32602, True)
            for cwd in (f"{stage.project}/", f"{stage.project}//", link):
                assert is_open(client.answer(client.request(method, opening(session, cwd))))
        assert client.result("session/close", {"sessionId": session}) == {}
    told_entry = listed(client)[0]
    assert told_entry["cwd"] == str(stage.project)


def test_servers_of_a_load_are_those_of_its_own_request(stage: Stage) -> None:
    client, session = stage.open()
    told(client, session, "here")
    client = stage.client()
    client.initialize({"session": {"notices": {}}})
    stage.clients[0].agent.end()
    server = {"name": "files", "command": "/bin/false", "args": [], "env": []}
    assert is_open(client.answer(client.request("session/load", opening(session, stage.project, [server]))))
    assert "files" in client.wait_update("notice")["title"]
    mark = len(client.trace.frames)
    load(client, session, stage.project)
    client.wait_update("available_commands_update", mark)
    assert [u.kind for u in client.trace.updates(mark, len(client.trace.frames), session)].count("notice") == 0


# -- one write


def test_a_prompt_in_the_same_write_waits_for_the_load(stage: Stage) -> None:
    client, session = stage.open()
    told(client, session, "One.")
    client = restarted(stage)
    loading, first, second = pipelined(
        client,
        ("session/load", opening(session, stage.project)),
        prompting(session, script("say Two.")),
        prompting(session, script("say Three.")),
    )
    assert is_open(client.answer(loading))
    assert [stop_reason(client.answer(ident)) for ident in (first, second)] == ["end_turn"] * 2
    assert said(live(client, session)) == "One.Two.Three."
    answered = [f.value["id"] for f in client.trace.frames if f.way == "got" and f.is_answer()]
    assert answered[-3:] == [loading, first, second]


def test_load_and_cancel_in_one_write(stage: Stage) -> None:
    client, session = stage.open()
    told(client, session, "One.")
    client = restarted(stage)
    cancel = ("session/cancel", {"sessionId": session})
    (loading,) = pipelined(client, ("session/load", opening(session, stage.project)), cancel)
    assert is_open(client.answer(loading))
    loading, asking = pipelined(
        client,
        ("session/load", opening(session, stage.project)),
        prompting(session, script("say Begun.", "hang")),
        cancel,
    )
    assert is_open(client.answer(loading))
    assert stop_reason(client.answer(asking, 2)) == "cancelled"
    told(client, session, "Two.")


def test_two_loads_and_a_close_in_one_write_are_served_in_order(stage: Stage) -> None:
    client, session = stage.open()
    told(client, session, "One.")
    client = restarted(stage)
    loading = ("session/load", opening(session, stage.project))
    close = ("session/close", {"sessionId": session})
    idents = pipelined(client, loading, loading, close, prompting(session, "hello"), loading, close, loading)
    answers = [client.answer(ident) for ident in idents]
    refused = answers.pop(3)
    assert refused["error"]["code"] == -32002
    assert [is_open(answer) for answer in answers] == [True] * 6
    told(client, session, "Two.")


def test_delete_and_load_in_one_write(stage: Stage) -> None:
    client, session = stage.open()
    told(client, session, "One.")
    client = restarted(stage)
    loading = ("session/load", opening(session, stage.project))
    first, delete, second = pipelined(client, loading, ("session/delete", {"sessionId": session}), loading)
    assert is_open(client.answer(first))
    assert client.answer(delete)["result"] == {}
    assert client.answer(second)["error"]["code"] == -32002


# -- close and delete


def test_close_ends_the_turn_and_the_session_stays_in_the_list(stage: Stage) -> None:
    client, session = stage.open()
    running, waiting = (client.ask(session, script("say Begun.", "hang")) for _ in range(2))
    client.wait_update("agent_message_chunk")
    assert client.result("session/close", {"sessionId": session}) == {}
    assert [stop_reason(client.answer(ident, 1)) for ident in (running, waiting)] == ["cancelled"] * 2
    after = client.answer(client.ask(session, "hello"))
    assert (after["error"]["code"], after["error"]["message"]) == (-32002, "Session not found")
    assert client.result("session/close", {"sessionId": session}) == {}
    assert [entry["sessionId"] for entry in listed(client)] == [session]
    assert not client.trace.updates(client.turn(running).last, len(client.trace.frames), session)
    assert said(load(client, session, stage.project)) == "Begun."
    told(client, session, "Again.")


def test_a_closed_session_is_free_for_another_process(stage: Stage) -> None:
    client, session = stage.open()
    told(client, session, "One.")
    client.result("session/close", {"sessionId": session})
    other = stage.client()
    other.initialize()
    assert said(load(other, session, stage.project)) == "One."


def test_delete_ends_the_turn_and_moves_the_session_to_the_trash(stage: Stage) -> None:
    client, session = stage.open()
    kept = client.new_session(stage.project)
    told(client, kept, "kept")
    ident = client.ask(session, script("say Begun.", "hang"))
    client.wait_update("agent_message_chunk")
    assert client.result("session/delete", {"sessionId": session}) == {}
    assert stop_reason(client.answer(ident, 1)) == "cancelled"
    assert client.result("session/delete", {"sessionId": session}) == {}
    assert [entry["sessionId"] for entry in listed(client)] == [kept]
    assert client.error("session/load", opening(session, stage.project))["code"] == -32002
    assert client.answer(client.ask(session, "hello"))["error"]["code"] == -32002
    (trashed,) = (stage.state / "sessions" / ".trash").iterdir()
    assert (trashed / "session.jsonl.zstd").stat().st_size > 0
    assert [entry["sessionId"] for entry in listed(restarted(stage))] == [kept]


def test_delete_of_a_session_that_was_never_prompted(stage: Stage) -> None:
    client, session = stage.open()
    assert client.result("session/delete", {"sessionId": session}) == {}
    assert client.answer(client.ask(session, "hello"))["error"]["code"] == -32002
    assert list(stage.state.iterdir()) == []


# -- rename


def test_a_chosen_title_is_pinned_and_listed(stage: Stage) -> None:
    client, session = stage.open()
    told(client, session, "One.")
    ident = client.request("_acp_server/session/rename", {"sessionId": session, "title": "  My\n title "})
    assert client.answer(ident)["result"] == {"title": "My title"}
    told(client, session, "Two.")
    titles = [u.fields["title"] for u in live(client, session) if u.kind == "session_info_update"]
    assert titles[-1] == "My title"
    assert [entry["title"] for entry in listed(client)] == ["My title"]
    client = restarted(stage)
    assert [entry["title"] for entry in listed(client)] == ["My title"]
    replay = load(client, session, stage.project)
    assert [u.fields["title"] for u in replay if u.kind == "session_info_update"][-1] == "My title"
    client.prompt(session, "/rename By command")
    assert [entry["title"] for entry in listed(client)] == ["By command"]


def test_a_title_chosen_before_the_first_prompt_stays(stage: Stage) -> None:
    client, session = stage.open()
    client.result("_acp_server/session/rename", {"sessionId": session, "title": "Chosen"})
    told(client, session, "One.")
    assert [entry["title"] for entry in listed(restarted(stage))] == ["Chosen"]


@pytest.mark.parametrize(
    ("params", "code"),
    [({"title": ""}, -32602), ({"title": " \n"}, -32602), ({"title": 7}, -32602), ({}, -32602)],
)
def test_a_title_without_words_is_refused(stage: Stage, params: dict[str, object], code: int) -> None:
    client, session = stage.open()
    assert client.error("_acp_server/session/rename", {"sessionId": session, **params})["code"] == code
    assert client.error("_acp_server/session/rename", {"sessionId": BOGUS, "title": "x"})["code"] == -32002


# -- fork


def boundaries(client: Client, session: str) -> list[int]:
    """Return the last event of each turn, found by asking for a fork at every event."""
    found: list[int] = []
    at = 0
    while True:
        answer = client.answer(client.request("_acp_server/session/fork", {"sessionId": session, "seq": at}))
        if answer.get("error", {}).get("code") == -32602:
            return found
        if "result" in answer:
            found.append(at)
        else:
            assert answer["error"]["code"] == -32600
        at += 1


@pytest.mark.parametrize("hot", [True, False])
def test_a_fork_goes_its_own_way_from_any_closed_turn(stage: Stage, hot: bool) -> None:
    client, session = stage.open()
    told(client, session, "One.", "Two.", "Three.")
    if not hot:
        client = restarted(stage)
    forks = {}
    for at in boundaries(client, session):
        fork = client.result("_acp_server/session/fork", {"sessionId": session, "seq": at})["sessionId"]
        forks[said(load(client, fork, stage.project))] = fork
    assert list(forks) == ["", "One.", "One.Two.", "One.Two.Three."]
    told(client, forks["One."], "Else.")
    whole = client.result("_acp_server/session/fork", {"sessionId": session})["sessionId"]
    told(client, whole, "Four.")
    told(client, forks[""], "Zero.")
    client = restarted(stage)
    assert said(load(client, session, stage.project)) == "One.Two.Three."
    assert said(load(client, forks["One."], stage.project)) == "One.Else."
    assert said(load(client, whole, stage.project)) == "One.Two.Three.Four."
    assert said(load(client, forks[""], stage.project)) == "Zero."


def test_a_fork_inherits_what_the_model_knows(stage: Stage) -> None:
    with MockLlm(Script([{"text": "It is 42."}])) as mock:
        client, session = stage.open(None, mock.environment("openai"))
        client.prompt(session, "What is the number?")
        fork = client.result("_acp_server/session/fork", {"sessionId": session})["sessionId"]
        client.prompt(fork, "Which was it?")
        talk = [text_of(m.get("content")) for m in mock.asked[-1].messages if m["role"] != "system"]
        assert talk == ["What is the number?", "It is 42.", "Which was it?"]


def test_an_open_turn_is_not_forked_but_what_was_before_it_is(stage: Stage) -> None:
    client, session = stage.open()
    told(client, session, "One.")
    last = boundaries(client, session)[-1]
    ident = client.ask(session, script("say Begun.", "hang"))
    mark = len(client.trace.frames)
    client.wait_update("agent_message_chunk", mark)
    assert client.error("_acp_server/session/fork", {"sessionId": session})["code"] == -32600
    fork = client.result("_acp_server/session/fork", {"sessionId": session, "seq": last})["sessionId"]
    told(client, fork, "Beside.")
    client.notify("session/cancel", {"sessionId": session})
    assert stop_reason(client.answer(ident)) == "cancelled"


def test_a_fork_takes_what_was_there_when_it_was_asked_for(stage: Stage) -> None:
    client, session = stage.open()
    told(client, session, "One.")
    forking, asking = pipelined(
        client, ("_acp_server/session/fork", {"sessionId": session}), prompting(session, script("say Two."))
    )
    fork = client.answer(forking)["result"]["sessionId"]
    assert stop_reason(client.answer(asking)) == "end_turn"
    assert said(load(client, fork, stage.project)) == "One."


def test_what_cannot_be_forked_is_told(stage: Stage) -> None:
    client, session = stage.open()
    assert client.error("_acp_server/session/fork", {"sessionId": BOGUS})["code"] == -32002
    assert client.error("_acp_server/session/fork", {"sessionId": session})["code"] == -32600
    told(client, session, "One.")
    for seq in (-1, 1000, 2**70, "1", True, 1.5):
        assert client.error("_acp_server/session/fork", {"sessionId": session, "seq": seq})["code"] == -32602


def test_the_protocols_own_fork_is_there_when_it_was_asked_for(stage: Stage) -> None:
    stage.oracle = schema.unstable
    client = stage.client(options=["--unstable"])
    hello = client.initialize()
    assert hello["agentCapabilities"]["sessionCapabilities"]["fork"] == {}
    session = client.new_session(stage.project)
    told(client, session, "One.")
    fork = client.result("session/fork", opening(session, stage.project))["sessionId"]
    told(client, fork, "Two.")
    assert [entry["sessionId"] for entry in listed(client)] == [fork, session]
    assert client.error("session/fork", opening(session, stage.root))["code"] == -32602


def test_the_protocols_own_fork_is_unknown_otherwise(stage: Stage) -> None:
    client, session = stage.open()
    assert client.error("session/fork", opening(session, stage.project))["code"] == -32601
    assert calls(live(client, session)) == {}
