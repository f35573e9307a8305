"""Raw lines over raw pipes: starting, talking, cancelling, ending (docs/protocol.md, sections 1.1, 1.2, 2.8, 2.9)."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.stage import Stage, script, stop_reason, thought
from tests.support import launch
from tests.support.client import Client
from tests.support.process import MARK

HELLO = b'{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":1}}'
MIB = 1 << 20


def line(method: str, params: object, ident: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": ident, "method": method, "params": params}).encode()


def new_session(cwd: Path, ident: object = "new") -> bytes:
    return line("session/new", {"cwd": str(cwd), "mcpServers": []}, ident)


def answered(client: Client) -> list[object]:
    """Return the ids of all answers, in the order in which they came."""
    return [f.value["id"] for f in client.trace.frames if f.way == "got" and f.is_answer()]


# -- starting


def test_initialize_and_session_new_may_come_in_one_write(stage: Stage) -> None:
    client = stage.client()
    lines = [HELLO, new_session(stage.project)]
    for one in lines:
        client.trace.add(1, "sent", one)
    client.agent.write(b"\n".join(lines) + b"\n")
    opened = client.answer("new")
    assert answered(client) == ["hello", "new"]
    client.wait_update("available_commands_update")
    answer, turn = client.prompt(opened["result"]["sessionId"], script("say At once."))
    assert (stop_reason(answer), client.said(turn)) == ("end_turn", "At once.")


def test_what_was_read_before_the_end_of_input_is_served(stage: Stage) -> None:
    client = stage.client()
    for one in (HELLO, new_session(stage.project), line("no/such", {}, "none")):
        client.trace.add(1, "sent", one)
        client.agent.write(one + b"\n")
    client.agent.close_stdin()
    assert client.agent.wait_exit(5) == 0
    assert answered(client) == ["hello", "new", "none"]


def test_a_last_line_without_a_line_feed_is_served(stage: Stage) -> None:
    client = stage.client()
    client.trace.add(1, "sent", HELLO)
    client.agent.write(HELLO)
    client.agent.close_stdin()
    assert client.agent.wait_exit(5) == 0
    assert answered(client) == ["hello"]


def test_the_null_device_as_input_ends_it_in_silence(stage: Stage) -> None:
    done = subprocess.run(
        launch.COMMAND, stdin=subprocess.DEVNULL, capture_output=True, env=stage.environment(), timeout=10, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_an_empty_environment_is_enough(stage: Stage) -> None:
    client = stage.client(env=launch.source_path())
    assert client.initialize()["protocolVersion"] == 1
    client.agent.close_stdin()
    assert client.agent.wait_exit(5) == 0


def test_crlf_blank_lines_and_a_byte_order_mark_are_taken_silently(stage: Stage) -> None:
    client = stage.client()
    client.trace.add(1, "sent", HELLO)
    client.agent.write(b"\xef\xbb\xbf" + HELLO + b"\r\n\r\n\n   \n")
    client.answer("hello")
    client.error("no/such")
    assert answered(client) == ["hello", 1]


# -- talking


def test_a_prompt_streams_thought_and_text_and_ends(stage: Stage) -> None:
    client, session = stage.open()
    answer, turn = client.prompt(session, script("think Let me see.", "chunks 3", "say Hello there.", "say  And more."))
    assert answer["result"] == {"stopReason": "end_turn"}
    assert (thought(client.trace, turn), client.said(turn)) == ("Let me see.", "Hello there.And more.")
    kinds = [u.kind for u in client.trace.turn_updates(turn)]
    assert kinds.index("agent_thought_chunk") < kinds.index("agent_message_chunk")
    assert "user_message_chunk" not in kinds


def test_chunks_of_one_message_share_an_id_and_the_next_message_has_another(stage: Stage) -> None:
    client, session = stage.open()
    ids = []
    for _ in range(2):
        _, turn = client.prompt(session, script("chunks 4", "pace 5", "say one two three four"))
        updates = [u for u in client.trace.turn_updates(turn) if u.kind == "agent_message_chunk"]
        ids.append({u.fields["messageId"] for u in updates})
        assert len(updates) > 1
    assert [len(found) for found in ids] == [1, 1]
    assert ids[0] != ids[1]


@pytest.mark.parametrize("locale", ["C", "POSIX", "de_DE.ISO-8859-1"])
def test_text_beyond_ascii_comes_back_whatever_the_locale(stage: Stage, locale: str) -> None:
    text = "日本語 🎉👩‍👩‍👧 ä \u2028 \u0085 \u2029 end"
    client, session = stage.open(more={"LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})
    params = {"sessionId": session, "prompt": [{"type": "text", "text": script(f"say {text}")}]}
    raw = {"jsonrpc": "2.0", "id": "utf8", "method": "session/prompt", "params": params}
    client.send_line(json.dumps(raw, ensure_ascii=False).encode())
    assert stop_reason(client.answer("utf8")) == "end_turn"
    assert client.said(client.turn("utf8")) == text


def test_prompts_of_one_session_are_queued_and_sessions_do_not_wait_for_each_other(stage: Stage) -> None:
    client, session = stage.open()
    other = client.new_session(stage.project)
    first = client.ask(session, script("pace 30", "chunks 20", "say first of all, a long one"))
    second = client.ask(session, script("say second"))
    beside = client.ask(other, script("say beside"))
    assert [stop_reason(client.answer(ident)) for ident in (first, second, beside)] == ["end_turn"] * 3
    assert [i for i in answered(client) if i in {first, second, beside}] == [beside, first, second]
    said = [client.said(client.turn(ident)) for ident in (first, second, beside)]
    assert said == ["first of all, a long one", "second", "beside"]


def test_a_running_prompt_holds_up_no_other_request(stage: Stage) -> None:
    client, session = stage.open()
    slow = client.ask(session, script("hang"))
    assert client.error("no/such", seconds=2)["code"] == -32601
    client.notify("session/cancel", {"sessionId": session})
    assert stop_reason(client.answer(slow)) == "cancelled"


# -- cancelling


@pytest.mark.parametrize("lines", [["say Begun.", "hang"], ["hang"], ["think Hm.", "hang"]])
def test_cancel_ends_a_turn_at_once_and_the_session_goes_on(stage: Stage, lines: list[str]) -> None:
    client, session = stage.open()
    ident = client.ask(session, script(*lines))
    if lines[0] != "hang":
        client.wait_update("agent_message_chunk" if lines[0].startswith("say") else "agent_thought_chunk")
    client.notify("session/cancel", {"sessionId": session, "reason": "odd", "_meta": {}})
    assert client.answer(ident, 2)["result"] == {"stopReason": "cancelled"}
    answer, turn = client.prompt(session, script("say Again."))
    assert (stop_reason(answer), client.said(turn)) == ("end_turn", "Again.")


def test_cancel_ends_the_running_prompt_and_all_that_wait(stage: Stage) -> None:
    client, session = stage.open()
    idents = [client.ask(session, script("say Begun.", "hang")) for _ in range(3)]
    client.wait_update("agent_message_chunk")
    client.notify("session/cancel", {"sessionId": session})
    assert [stop_reason(client.answer(ident, 2)) for ident in idents] == ["cancelled"] * 3


def test_cancelling_nothing_has_no_effect_and_no_answer(stage: Stage) -> None:
    client, session = stage.open()
    for params in ({"sessionId": session}, {"sessionId": "nobody"}, {}, {"sessionId": 5}):
        client.notify("session/cancel", params)
    client.notify("$/cancel_request", {"requestId": 424242})
    answer, turn = client.prompt(session, script("say Still here."))
    assert (stop_reason(answer), client.said(turn)) == ("end_turn", "Still here.")


def test_cancel_of_the_request_acts_as_cancel_of_the_prompt(stage: Stage) -> None:
    client, session = stage.open()
    ident = client.ask(session, script("say Begun.", "hang"))
    client.wait_update("agent_message_chunk")
    client.notify("$/cancel_request", {"requestId": ident})
    assert stop_reason(client.answer(ident, 2)) == "cancelled"


def test_cancel_of_one_session_leaves_the_other_running(stage: Stage) -> None:
    client, session = stage.open()
    other = client.new_session(stage.project)
    hanging = client.ask(session, script("hang"))
    running = client.ask(other, script("pace 20", "chunks 15", "say it takes its time to say this"))
    client.notify("session/cancel", {"sessionId": session})
    assert stop_reason(client.answer(hanging, 2)) == "cancelled"
    assert stop_reason(client.answer(running)) == "end_turn"
    assert client.said(client.turn(running)) == "it takes its time to say this"


def test_cancel_is_read_while_nobody_reads_the_output(stage: Stage) -> None:
    client, session = stage.open()
    ident = client.ask(session, script("burst 400000 word and word and word "))
    client.wait_update("agent_message_chunk")
    client.agent.pause_reading()
    assert client.trace.wait(lambda: client.agent.waiting_bytes()[1] > 32_000, 10), "the pipe does not fill up"
    client.notify("session/cancel", {"sessionId": session})
    assert client.trace.wait(lambda: client.agent.waiting_bytes()[0] == 0, 5), "the cancel is not read"
    client.agent.resume_reading()
    assert stop_reason(client.answer(ident, 10)) == "cancelled"
    assert client.agent.peak_rss_mib() < 150


# -- lines of any length


def test_a_line_of_20_mib_is_served(stage: Stage) -> None:
    client, session = stage.open()
    answer, turn = client.prompt(session, script(f"# {'y' * (20 * MIB)}", "say Read."))
    assert (stop_reason(answer), client.said(turn)) == ("end_turn", "Read.")


def test_a_line_of_100_mib_is_refused_in_bounded_memory_and_the_connection_lives_on(stage: Stage) -> None:
    client, session = stage.open()
    before = client.agent.peak_rss_mib()
    piece = b"y" * MIB
    client.trace.add(1, "sent", b"(100 MiB)")
    for _ in range(100):
        assert client.agent.write(piece) is None
    client.agent.write(b"\n")
    refusal = client.answer(None)
    assert refusal["error"]["code"] == -32600
    answer, turn = client.prompt(session, script("say Still here."))
    assert (stop_reason(answer), client.said(turn)) == ("end_turn", "Still here.")
    assert client.agent.peak_rss_mib() - before < 80


# -- ending


def test_the_end_of_input_ends_a_running_turn_and_the_process(stage: Stage) -> None:
    client, session = stage.open()
    ident = client.ask(session, script("say Begun.", "hang"))
    client.wait_update("agent_message_chunk")
    client.agent.close_stdin()
    assert client.agent.wait_exit(2) == 0
    assert stop_reason(client.answer(ident, 1)) == "cancelled"


def test_wait_lets_a_running_turn_finish(stage: Stage) -> None:
    client = stage.client(options=["--wait"])
    client.initialize()
    session = client.new_session(stage.project)
    ident = client.ask(session, script("pace 30", "chunks 10", "say it takes its time to say this"))
    client.agent.close_stdin()
    assert client.agent.wait_exit(10) == 0
    assert stop_reason(client.answer(ident, 1)) == "end_turn"


@pytest.mark.parametrize("name", ["TERM", "INT", "HUP"])
@pytest.mark.parametrize("busy", [False, True])
def test_a_signal_ends_it_in_order(stage: Stage, name: str, busy: bool) -> None:
    client, session = stage.open()
    if busy:
        client.ask(session, script("say Begun.", "hang"))
        client.wait_update("agent_message_chunk")
    client.agent.signal(name)
    assert client.agent.wait_exit(3) == 128 + signal.Signals[f"SIG{name}"]


def test_a_closed_output_ends_it_in_order(stage: Stage) -> None:
    client, session = stage.open()
    client.ask(session, script("pace 1", "burst 100000 words "))
    client.wait_update("agent_message_chunk")
    client.agent.close_stdout()
    assert client.agent.wait_exit(5) == 0


PARENT = """
import subprocess, sys
child = subprocess.Popen(sys.argv[2:], stdin=int(sys.argv[1]))
print(child.pid, flush=True)
child.wait()
"""


def test_the_death_of_the_parent_ends_it(stage: Stage) -> None:
    """Both ends of the input stay open in this process, so that only the parent's death can be the reason."""
    ours, theirs = os.pipe()[::-1]
    words = [sys.executable, "-c", PARENT, str(theirs), *launch.COMMAND]
    environment = {**stage.environment(), MARK: stage.mark}
    parent = subprocess.Popen(words, stdout=subprocess.PIPE, pass_fds=[theirs], env=environment, cwd=stage.root)
    with parent, parent.stdout as output:  # type: ignore[union-attr]  # it was asked for
        child = os.pidfd_open(int(output.readline()))
        os.write(ours, HELLO + b"\n")
        assert json.loads(output.readline())["id"] == "hello"
        parent.kill()
        ended, _, _ = select.select([child], [], [], 3)
    for fd in (ours, theirs, child):
        os.close(fd)
    assert ended, "the server outlives its parent"


# -- what is written


def test_every_frame_stays_below_ten_mib_whatever_the_model_says_at_once(stage: Stage) -> None:
    text = "0123456789abcdef" * (12 * MIB // 16)
    client, session = stage.open()
    answer, turn = client.prompt(session, script("chunks 1", f"say {text}"))
    assert (stop_reason(answer), client.said(turn) == text) == ("end_turn", True)
    assert max(len(f.raw) for f in client.trace.frames if f.way == "got") < 10 * MIB


@pytest.mark.parametrize(
    ("half", "back"), [(r"\ud83d", "\ufffd"), (r"\udc00", "\ufffd"), (r"a\ud83d\ud83d\ude00b", "a\ufffd\U0001f600b")]
)
def test_half_a_surrogate_pair_comes_back_as_the_replacement_character(stage: Stage, half: str, back: str) -> None:
    client, session = stage.open()
    params = {"sessionId": session, "prompt": [{"type": "text", "text": "@script\nsay HALF"}]}
    client.send_line(line("session/prompt", params, "half").replace(b"HALF", half.encode()))
    assert stop_reason(client.answer("half")) == "end_turn"
    assert client.said(client.turn("half")) == back


def test_line_separators_of_unicode_are_written_as_escapes(stage: Stage) -> None:
    client, session = stage.open()
    _, turn = client.prompt(session, script("say a\u2028b\u2029c\u0085d"))
    assert client.said(turn) == "a\u2028b\u2029c\u0085d"
    raw = b"".join(f.raw for f in client.trace.frames if f.way == "got")
    assert [mark for mark in ("\u2028", "\u2029", "\u0085") if mark.encode() in raw] == []
