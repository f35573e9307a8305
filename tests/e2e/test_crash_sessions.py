"""What is left of a session when its server is killed, and what the next one makes of it (clauses S-25, S-30, P-21)."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from itertools import pairwise
from random import Random

import pytest

from acp_server.persistence.batches import encode_batch
from acp_server.persistence.records import encode_events, encode_header
from acp_server.persistence.scan import Scan, scan_log
from acp_server.session.events import SessionEvent
from tests.e2e.sessions import (
    calls,
    folder,
    listed,
    live,
    load,
    log_of,
    merged,
    opening,
    restarted,
    resume,
    said,
)
from tests.e2e.stage import Stage, script, stop_reason
from tests.support.client import Client
from tests.support.llm_script import Script, text_of
from tests.support.mock_llm import MockLlm
from tests.support.trace import Obj

KILLS = int(os.environ.get("ACP_TEST_KILLS", "50"))
KEPT_UNTIL_SECONDS = 0.3
"""What was streamed so long before a kill is on the disk."""
NUMBERS = " ".join(f"w{n}" for n in range(260))
NOTICES: Obj = {"session": {"notices": {}}}
STREAMS = [
    script("pace 5", "chunks words", f"say {NUMBERS}"),
    script("pace 5", "chunks words", f"think {NUMBERS}", f"say {NUMBERS}"),
    script("pace 3", "chunks words", "say First.", "call look {}", "step", f"say {NUMBERS}", f"say {NUMBERS}"),
    script("pace 5", "say Before the call.", "chunks 300", f'call write {{"text": "{NUMBERS}"}}'),
    script("burst 30000 word\\s", "wait 1000"),
]


def kill(client: Client) -> float:
    """Kill the server and return when; what it wrote before is read to the end."""
    client.agent.signal("KILL")
    moment = time.monotonic()
    assert client.agent.wait_exit(5) == -9
    return moment


def scanned(stage: Stage, session: str) -> Scan:
    return scan_log(log_of(stage, session).read_bytes(), "zstd")


def stored(stage: Stage, session: str) -> list[SessionEvent]:
    """Return the stored events that are no deltas."""
    if not list((stage.state / "sessions").glob(f"--*/{session}/session.jsonl.zstd")):
        return []
    return [entry for entry in scanned(stage, session).entries if isinstance(entry, SessionEvent)]


def told_of(stage: Stage, session: str) -> str:
    """Return the stored events, packed runs of deltas included, as text to look for words in."""
    return "" if not stored(stage, session) else repr(scanned(stage, session).entries)


def text_until(client: Client, session: str, moment: float) -> str:
    """Return the text and thinking that had been read by then, from the session's first frame."""
    chunks = ("agent_message_chunk", "agent_thought_chunk")
    updates = (frame.update() for frame in client.trace.frames if frame.at <= moment)
    return "".join(u.text for u in updates if u is not None and u.session == session and u.kind in chunks)


# -- kill -9


def test_what_was_streamed_is_back_after_a_kill_at_any_moment(stage: Stage) -> None:
    random = Random(7)
    client, session = stage.open()
    for number in range(KILLS):
        answer, _ = client.prompt(session, script(f"say Before {number}. "))
        assert stop_reason(answer) == "end_turn"
        ident = client.ask(session, random.choice(STREAMS))
        client.wait(ident, random.uniform(0.02, 1.5))
        moment = kill(client)
        everything = text_until(client, session, moment + 10)
        promised = text_until(client, session, moment - KEPT_UNTIL_SECONDS)
        killed, killed_id, client = client, session, stage.client()
        client.initialize()
        replay = load(client, killed_id, stage.project)
        back = "".join(u.text for u in replay if u.kind in ("agent_message_chunk", "agent_thought_chunk"))
        assert back.startswith(promised), (
            f"kill {number}: {len(promised)} characters were promised, {len(back)} are back"
        )
        assert everything.startswith(back) or back.startswith(everything)
        assert f"Before {number}." in back
        if killed.trace.answer(ident) is not None or len(everything) > len(f"Before {number}."):
            assert len([u for u in replay if u.kind == "user_message_chunk"]) == 2
        assert set(calls(replay).values()) <= {"completed", "failed"}
        session = client.new_session(stage.project)
        answer, turn = client.prompt(killed_id, script("say Again."))
        assert stop_reason(answer) == "end_turn"
        assert client.said(turn).endswith("Again.")


def test_a_call_whose_arguments_were_cut_off_is_shown_as_failed(stage: Stage) -> None:
    client, session = stage.open()
    client.ask(session, script("say I look.", "pace 20", "chunks 400", f'call look {{"at": "{NUMBERS}"}}'))
    client.wait_update("tool_call")
    assert client.trace.wait(lambda: "tool-call-delta" in told_of(stage, session), 10)
    kill(client)
    client = stage.client()
    client.initialize()
    assert list(calls(load(client, session, stage.project)).values()) == ["failed"]
    answer, _ = client.prompt(session, script("say Again."))
    assert stop_reason(answer) == "end_turn"


def cut_after(stage: Stage, session: str, count: int) -> None:
    """Let the stored log end after so many events, as if the server had been killed there."""
    scan = scanned(stage, session)
    assert scan.header is not None
    events = [entry for entry in scan.entries if isinstance(entry, SessionEvent)]
    data = encode_batch("zstd", encode_header(scan.header)) + encode_batch("zstd", encode_events(events[:count]))
    log_of(stage, session).write_bytes(data)


def test_a_started_call_is_told_to_the_model_as_of_unknown_outcome(stage: Stage) -> None:
    with MockLlm(Script([{"tool": "look", "args": {"at": 1}}, {"text": "ok"}])) as mock:
        client, session = stage.open(None, mock.environment("openai"))
        client.prompt(session, "Look.")
        assert client.agent.end() is None
        events = stored(stage, session)
        cut_after(stage, session, 1 + next(event.seq for event in events if event.type == "tool/call"))
        client = stage.client(None, mock.environment("openai"))
        client.initialize()
        replay = load(client, session, stage.project)
        assert list(calls(replay).values()) == ["failed"]
        client.prompt(session, "And?")
        results = [text_of(m["content"]) for m in mock.asked[-1].messages if m["role"] == "tool"]
        assert len(results) == 1
        assert "unknown" in results[0]


# -- what waited


def parking(stage: Stage, capabilities: Obj | None = None) -> tuple[Client, str]:
    """Kill a server that has one prompt running and two waiting; return the next one, with the session loaded."""
    client, session = stage.open()
    client.ask(session, script("say Begun.", "hang"))
    for number in (2, 3):
        client.ask(session, script(f"say Answer {number}."))
    assert client.trace.wait(lambda: waiting(stage, session) == 2 and "text-delta" in told_of(stage, session), 10)
    kill(client)
    client = stage.client()
    client.initialize(capabilities)
    assert said(load(client, session, stage.project)) == "Begun."
    return client, session


def waiting(stage: Stage, session: str) -> int:
    """Return how many prompts the stored log says are waiting."""
    spliced: list[Obj] = [dict(e.data) for e in stored(stage, session) if e.type == "agent/inbox/spliced"]
    return sum(len(data["inserted"]) - data.get("removedCount", 0) for data in spliced)


def test_prompts_that_waited_are_told_and_do_not_run_by_themselves(stage: Stage) -> None:
    client, session = parking(stage, NOTICES)
    titles = [u.fields["title"] for u in live(client, session) if u.kind == "notice"]
    assert client.trace.wait(
        lambda: any("2 prompt(s)" in u.fields.get("title", "") for u in live(client, session)), 5
    ), titles
    answer, turn = client.prompt(session, script("say Something else."))
    assert (stop_reason(answer), client.said(turn)) == ("end_turn", "Something else.")
    answer, turn = client.prompt(session, "/parked")
    assert [f"say Answer {number}." in client.said(turn) for number in (2, 3)] == [True, True]
    assert "Answer" not in said(live(client, session)).replace("say Answer", "")


def test_a_client_without_notices_is_told_within_its_next_turn(stage: Stage) -> None:
    client, session = parking(stage)
    assert "prompt(s)" not in str([u.fields for u in live(client, session)])
    _, turn = client.prompt(session, script("say Else."))
    thoughts = client.trace.turn_text(turn, "agent_thought_chunk")
    assert "2 prompt(s) were never answered" in thoughts
    _, turn = client.prompt(session, script("say Else."))
    assert client.trace.turn_text(turn, "agent_thought_chunk") == ""


def test_prompts_that_waited_run_when_the_person_says_so(stage: Stage) -> None:
    client, session = parking(stage)
    answer, turn = client.prompt(session, "/parked run")
    assert stop_reason(answer) == "end_turn"
    assert client.said(turn) == "2 prompt(s) run.Answer 2.Answer 3."
    answer, turn = client.prompt(session, "/parked run")
    assert client.said(turn) == "No prompt waits from before."
    client = restarted(stage)
    assert said(load(client, session, stage.project)).count("Answer") == 2
    assert waiting(stage, session) == 0


def test_prompts_that_waited_are_dropped_when_the_person_says_so(stage: Stage) -> None:
    client, session = parking(stage)
    _, turn = client.prompt(session, "/parked drop")
    assert client.said(turn) == "2 prompt(s) dropped."
    client.prompt(session, script("say Else."))
    client = restarted(stage)
    assert "Answer" not in said(load(client, session, stage.project))
    _, turn = client.prompt(session, "/parked")
    assert client.said(turn) == "No prompt waits from before."


def test_prompts_that_waited_are_cancelled_like_others_once_they_run(stage: Stage) -> None:
    client, session = stage.open()
    client.ask(session, script("hang"))
    client.ask(session, script("say Second.", "hang"))
    client.ask(session, script("say Third."))
    assert client.trace.wait(lambda: waiting(stage, session) == 2, 10)
    kill(client)
    client = stage.client()
    client.initialize()
    load(client, session, stage.project)
    ident = client.ask(session, "/parked run")
    client.wait_update("agent_message_chunk")
    assert client.trace.wait(lambda: "Second." in said(live(client, session)), 10)
    client.notify("session/cancel", {"sessionId": session})
    assert stop_reason(client.answer(ident, 2)) == "cancelled"
    assert "Third." not in said(live(client, session))
    answer, turn = client.prompt(session, script("say Again."))
    assert (stop_reason(answer), client.said(turn)) == ("end_turn", "Again.")


def test_prompts_that_waited_wait_over_a_second_kill(stage: Stage) -> None:
    client, session = parking(stage)
    kill(client)
    client = stage.client()
    client.initialize()
    resume(client, session, stage.project)
    _, turn = client.prompt(session, "/parked run")
    assert client.said(turn) == "2 prompt(s) run.Answer 2.Answer 3."


def test_a_prompt_that_was_claimed_and_had_no_turn_yet_waits_too(stage: Stage) -> None:
    client, session = stage.open()
    client.prompt(session, script("say One."))
    client.prompt(session, script("say Two."))
    assert client.agent.end() is None
    claims = [e.seq for e in stored(stage, session) if e.type == "agent/inbox/spliced" and "removedCount" in e.data]
    cut_after(stage, session, claims[-1] + 1)
    client = stage.client()
    client.initialize()
    assert said(load(client, session, stage.project)) == "One."
    _, turn = client.prompt(session, "/parked run")
    assert client.said(turn) == "1 prompt(s) run.Two."


# -- processes


def test_a_second_process_is_told_who_has_the_session(stage: Stage) -> None:
    client, session = stage.open()
    client.prompt(session, script("say One."))
    other = stage.client()
    other.initialize()
    for method in ("session/load", "session/resume"):
        refusal = other.error(method, opening(session, stage.project))
        assert refusal["code"] == -32600
        facts = refusal["data"]
        assert (facts["pid"], facts["host"], facts["alive"]) == (client.agent.pid, socket.gethostname(), True)
        assert abs(facts["start"] / 1000 - time.time()) < 60
        assert str(client.agent.pid) in facts["details"]
    assert other.error("session/delete", {"sessionId": session})["code"] == -32600
    assert [entry["sessionId"] for entry in listed(other)] == [session]
    answer, _ = client.prompt(session, script("say Two."))
    assert stop_reason(answer) == "end_turn"
    fork = other.result("_acp_server/session/fork", {"sessionId": session})["sessionId"]
    answer, _ = other.prompt(fork, script("say Beside."))
    assert stop_reason(answer) == "end_turn"
    assert said(load(other, fork, stage.project)) == "One.Two.Beside."
    client.result("session/close", {"sessionId": session})
    assert said(load(other, session, stage.project)) == "One.Two."


def test_a_dead_owner_is_in_nobodys_way(stage: Stage) -> None:
    client, session = stage.open()
    client.prompt(session, script("say One."))
    other = stage.client()
    other.initialize()
    assert other.error("session/load", opening(session, stage.project))["code"] == -32600
    kill(client)
    assert (folder(stage, session) / "session.lock").exists()
    assert said(load(other, session, stage.project)) == "One."


def test_twenty_processes_list_and_prompt_at_once(stage: Stage) -> None:
    clients = [stage.client() for _ in range(20)]
    failures: list[str] = []
    opened: list[str] = []

    def work(client: Client, number: int) -> None:
        try:
            client.initialize()
            session = client.new_session(stage.project)
            for turn in range(3):
                answer, told = client.prompt(session, script(f"say {number}.{turn} "), 60)
                assert (stop_reason(answer), client.said(told)) == ("end_turn", f"{number}.{turn}")
                assert session in [entry["sessionId"] for entry in listed(client)]
            opened.append(session)
        except Exception as error:
            failures.append(f"{number}: {error!r}")

    threads = [threading.Thread(target=work, args=pair) for pair in zip(clients, range(20), strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert failures == []
    assert len(set(opened)) == 20
    for client in clients:
        assert {entry["sessionId"] for entry in listed(client)} == set(opened)
        assert learned(client, 20), "titles of other processes' sessions stay unknown"


def learned(client: Client, seconds: float) -> bool:
    """Return whether every entry gets a title within that time: what one list cannot tell, a later one can."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if all(entry.get("title") for entry in listed(client)):
            return True
    return False


def test_of_twenty_processes_one_gets_the_session(stage: Stage) -> None:
    client, session = stage.open()
    client.prompt(session, script("say One."))
    kill(client)
    clients = [stage.client() for _ in range(20)]
    answers: list[dict[str, object]] = []
    barrier = threading.Barrier(len(clients))

    def work(client: Client) -> None:
        client.initialize()
        barrier.wait(60)
        answers.append(client.answer(client.request("session/load", opening(session, stage.project)), 30))

    threads = [threading.Thread(target=work, args=(one,)) for one in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len(answers) == 20
    codes = [answer["error"]["code"] for answer in answers if isinstance(answer.get("error"), dict)]  # type: ignore[index]  # it was asked for
    assert codes == [-32600] * 19


# -- torn, damaged, foreign


def sample(stage: Stage, turns: int = 4) -> tuple[Client, str, bytes]:
    """Return a client, a closed session of some short turns, and its log."""
    client, session = stage.open()
    for number in range(turns):
        client.prompt(session, script(f"say {number}."))
    client.result("session/close", {"sessionId": session})
    return client, session, log_of(stage, session).read_bytes()


def frame_ends(data: bytes) -> list[int]:
    scan = scan_log(data, "zstd")
    assert scan.damage is None
    return [scan.spans[0].offset, *(span.end for span in scan.spans)]


def replace_log(stage: Stage, session: str, data: bytes) -> None:
    """Put other bytes in the log's place, as a crash or a bad disk would, and remove what recovery left beside it."""
    log = log_of(stage, session)
    for beside in log.parent.iterdir():
        if beside != log and beside.name != "session.lock":
            beside.unlink()
    log.write_bytes(data)


def test_a_log_that_is_cut_anywhere_loads_with_what_was_whole(stage: Stage) -> None:
    client, session, data = sample(stage, 2)
    whole = merged(load(client, session, stage.project), users=True)
    for first, last in pairwise(frame_ends(data)[1:]):
        client = restarted(stage)
        expected: list[object] | None = None
        for cut in range(first, last):
            replace_log(stage, session, data[:cut])
            shown = merged(load(client, session, stage.project), users=True)
            expected = shown if expected is None else expected
            assert shown == expected, f"cut at {cut}"
            answer, turn = client.prompt(session, script("say Next."))
            assert (stop_reason(answer), client.said(turn)) == ("end_turn", "Next."), f"cut at {cut}"
            client.result("session/close", {"sessionId": session})
            kept = [path.read_bytes() for path in folder(stage, session).glob("session.torn-*")]
            assert kept == ([data[first:cut]] if cut > first else [])
        assert expected == whole[: len(expected or ())]


def test_a_log_that_is_cut_before_its_first_events_is_told_plainly(stage: Stage) -> None:
    client, session, data = sample(stage)
    header, first = frame_ends(data)[:2]
    for cut in range(header):
        replace_log(stage, session, data[:cut])
        refusal = client.error("session/load", opening(session, stage.project))
        assert refusal["code"] == -32603
        assert "damaged" in refusal["data"]["details"]
        assert log_of(stage, session).read_bytes() == data[:cut]
    for cut in (header, header + 1, (header + first) // 2, first - 1):
        replace_log(stage, session, data[:cut])
        assert load(client, session, stage.project) == []
        answer, turn = client.prompt(session, script("say Next."))
        assert stop_reason(answer) == "end_turn"
        told = client.trace.turn_text(turn, "agent_thought_chunk")
        assert ("cut off by a crash" if cut > header else "all that was said in it is lost") in told
        client.result("session/close", {"sessionId": session})


def test_a_block_of_zeros_in_the_middle_leaves_the_start_readable(stage: Stage) -> None:
    client, session, data = sample(stage)
    ends = frame_ends(data)
    at = ends[len(ends) // 2]
    damaged = data[:at] + b"\0" * 512 + data[at + 512 :]
    if scan_log(damaged, "zstd").damage is None or len(damaged) <= at + 512:
        damaged = data[:at] + b"\0" * (ends[len(ends) // 2 + 1] - at) + data[ends[len(ends) // 2 + 1] :]
    replace_log(stage, session, damaged)
    replay = load(client, session, stage.project)
    assert said(replay).startswith("0.")
    for prompt in (script("say Next."), "/rename Other", "/parked run"):
        refusal = client.answer(client.ask(session, prompt))["error"]
        assert refusal["code"] == -32600
        assert f"at byte {at}" in refusal["data"]["details"]
        assert "can be saved as another session" in refusal["data"]["details"]
    rename = {"sessionId": session, "title": "Other"}
    assert client.error("_acp_server/session/rename", rename)["code"] == -32600
    assert log_of(stage, session).read_bytes() == damaged
    fork = client.result("_acp_server/session/fork", {"sessionId": session})["sessionId"]
    answer, _ = client.prompt(fork, script("say Next."))
    assert stop_reason(answer) == "end_turn"
    assert said(load(client, fork, stage.project)) == f"{said(replay)}Next."
    client = restarted(stage)
    assert {entry["sessionId"] for entry in listed(client)} == {session, fork}
    cold = client.result("_acp_server/session/fork", {"sessionId": session})["sessionId"]
    assert said(load(client, cold, stage.project)) == said(replay)
    assert log_of(stage, session).read_bytes() == damaged


def rewritten(data: bytes, header: dict[str, object] | None = None, extra: dict[str, object] | None = None) -> bytes:
    """Return the log with other fields in its header, or with one more event."""
    scan = scan_log(data, "zstd")
    assert scan.header is not None
    line = {**json.loads(encode_header(scan.header)), **(header or {})}
    out = encode_batch("zstd", json.dumps(line).encode() + b"\n") + data[scan.spans[0].offset :]
    if extra is not None:
        out += encode_batch("zstd", json.dumps({"seq": scan.next_seq, "time": 1, **extra}).encode() + b"\n")
    return out


def test_a_log_of_a_later_version_is_refused_and_left_alone(stage: Stage) -> None:
    client, session, data = sample(stage)
    version = json.loads(encode_header(scanned(stage, session).header))["version"]  # type: ignore[arg-type]  # it is whole
    later = rewritten(data, {"version": version + 1})
    replace_log(stage, session, later)
    names = sorted(path.name for path in folder(stage, session).iterdir())
    for method in ("session/load", "session/resume", "_acp_server/session/fork"):
        refusal = client.error(method, opening(session, stage.project))
        assert (refusal["code"], "newer" in refusal["data"]["details"]) == (-32603, True)
    assert log_of(stage, session).read_bytes() == later
    assert sorted(path.name for path in folder(stage, session).iterdir()) == names
    page = client.result("session/list", {})
    assert page["sessions"] == []
    assert "newer" in page["_meta"]["acp_server"]["broken"][0]["reason"]


@pytest.mark.parametrize("ignorable", [True, False])
def test_an_event_that_nobody_knows_is_passed_over_or_refused(stage: Stage, ignorable: bool) -> None:
    client, session, data = sample(stage)
    facts: dict[str, object] = {"type": "future/thing", "data": {"a": [1]}}
    log = rewritten(data, extra={**facts, "ignorable": True} if ignorable else facts)
    replace_log(stage, session, log)
    if ignorable:
        assert said(load(client, session, stage.project)) == "0.1.2.3."
        answer, _ = client.prompt(session, script("say Next."))
        assert stop_reason(answer) == "end_turn"
        client.result("session/close", {"sessionId": session})
        assert any(event.type == "future/thing" for event in stored(stage, session))
    else:
        refusal = client.error("session/load", opening(session, stage.project))
        assert (refusal["code"], "future/thing" in refusal["data"]["details"]) == (-32603, True)
        assert log_of(stage, session).read_bytes() == log
