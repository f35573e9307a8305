"""Stored sessions: load, resume, list, delete, close (clauses S-20 to S-66)."""

from __future__ import annotations

import re
from datetime import datetime

from tests.conformance.check import NotJudgedError, code_of, expect, must, should
from tests.conformance.checks.probe import INVALID, NOT_FOUND, PARAMS, expect_code
from tests.conformance.kit import ALLOWING, Done, Kit, updates
from tests.support.client import Client
from tests.support.trace import Item, Obj, Update, fold

TURNED = frozenset(
    {"agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "user_message_chunk"}
)
PAGE_LIMIT = 200


def opening(kit: Kit, session: str, **more: object) -> Obj:
    return {"sessionId": session, "cwd": str(kit.project), "mcpServers": [], **more}


def told(kit: Kit) -> tuple[Client, str, Done]:
    """Return a session with one turn, and its client."""
    client, session = kit.pair(answerers=ALLOWING)
    return client, session, kit.plain_turn(client, session)


def load(kit: Kit, client: Client, session: str) -> tuple[Obj, list[Obj]]:
    """Return the result of session/load and what was shown before it."""
    ident = client.request("session/load", opening(kit, session))
    answer = client.answer(ident, kit.seconds)
    expect("result" in answer, f"session/load: {answer}")
    span = client.trace.load_span(ident)
    shown = client.trace.updates(*span) if span else []
    result: Obj = answer["result"]
    return result, [update.fields for update in shown]


def listed(kit: Kit, client: Client, **params: object) -> list[Obj]:
    """Walk the pages of session/list."""
    found: list[Obj] = []
    cursor: Obj = {}
    for _ in range(PAGE_LIMIT):
        page = kit.result(client, "session/list", {**params, **cursor})
        found += page["sessions"]
        if not page.get("nextCursor"):
            return found
        cursor = {"cursor": page["nextCursor"]}
    raise NotJudgedError(f"the list has more than {PAGE_LIMIT} pages")


def texts(shown: list[Obj]) -> dict[str, str]:
    """Return kind -> all of its text."""
    out: dict[str, str] = {}
    for update in shown:
        content = update.get("content")
        if isinstance(content, dict):
            out[update["sessionUpdate"]] = out.get(update["sessionUpdate"], "") + str(content.get("text", ""))
    return out


# -- session/load


@must("S-20", "session/load shows the history, then answers")
def history_first(kit: Kit) -> None:
    kit.need("loadSession")
    client, session, done = told(kit)
    client.agent.end()
    again = kit.fresh()
    _, shown = load(kit, again, session)
    said = texts(shown)
    expect(done.said in said.get("agent_message_chunk", ""), f"what it shows before the answer is {said}")
    kit.settle(again)
    late = [u["sessionUpdate"] for u in updates(again, session)[len(shown) :] if u["sessionUpdate"] in TURNED]
    expect(not late, f"{late} come behind the answer")


@must("S-21", "it comes in the order in which it happened")
def in_order(kit: Kit) -> None:
    kit.need("loadSession")
    client, session = kit.pair(answerers=ALLOWING)
    (kit.project / "seen.txt").write_text("seen\n", "utf-8")
    read = kit.tool("read_file", path="seen.txt")
    kit.turn(client, session, {"text": "First. ", **read}, {"text": "Second."}, text="begin")
    kit.turn(client, session, {"text": "Third."}, text="end")
    client.agent.end()
    _, shown = load(kit, kit.fresh(), session)
    found = [item.kind if item.kind == "tool_call" else item.text for item in _folded(shown)]
    wanted = ["begin", "First.", "tool_call", "Second.", "end", "Third."]
    matches = len(found) == len(wanted) and all(word in text for word, text in zip(wanted, found, strict=True))
    expect(matches, f"it shows {found}")


def _folded(shown: list[Obj]) -> list[Item]:
    return fold(Update("", update["sessionUpdate"], update) for update in shown)


@should("S-22", "messages and calls have the ids that they had")
def same_ids(kit: Kit) -> None:
    kit.need("loadSession")
    client, session, done = told(kit)
    had = {u.get("messageId") for u in done.updates("agent_message_chunk")} - {None}
    if not had:
        raise NotJudgedError("messages have no ids")
    client.agent.end()
    _, shown = load(kit, kit.fresh(), session)
    have = {u.get("messageId") for u in shown if u["sessionUpdate"] == "agent_message_chunk"}
    expect(had <= have, f"a message had the id {had}, and has {have}")


@must("S-23", "a replay refers to no terminal and no notice")
def no_terminals(kit: Kit) -> None:
    kit.need("loadSession")
    client, session = kit.pair(answerers=ALLOWING)
    kit.turn(client, session, kit.tool("shell", command="echo one"), {"text": "Done."})
    client.agent.end()
    _, shown = load(kit, kit.fresh({"terminal": True, "session": {"notices": {}}}), session)
    terminals = [u for u in shown for item in _items(u) if item.get("type") == "terminal"]
    expect(not terminals, f"{terminals[:1]}")
    expect("notice" not in [u["sessionUpdate"] for u in shown], "a notice is repeated")


def _items(update: Obj) -> list[Obj]:
    content = update.get("content")
    return [item for item in content if isinstance(item, dict)] if isinstance(content, list) else []


@should("S-25", "a call that a crash interrupted comes back as failed")
def interrupted(kit: Kit) -> None:
    kit.need("loadSession")
    client, session = kit.pair(answerers=ALLOWING)
    kit.ask(client, session, kit.tool("shell", command="sleep 60"), {"text": "Done."})
    client.wait_update("tool_call", seconds=kit.seconds)
    client.trace.wait(lambda: _status(client, session) == {"in_progress"}, 5)
    client.agent.signal("KILL")
    client.agent.wait_exit(kit.seconds)
    again = kit.fresh()
    load(kit, again, session)
    found = _status(again, session)
    expect(found in ({"failed"}, set()), f"it comes back as {found}")


def _status(client: Client, session: str) -> set[object]:
    last: dict[object, object] = {}
    for update in updates(client, session):
        if update["sessionUpdate"] in {"tool_call", "tool_call_update"} and "status" in update:
            last[update["toolCallId"]] = update["status"]
    return set(last.values())


@must("S-26", "another cwd than the session's is -32602, a slash at its end is not")
def other_folder(kit: Kit) -> None:
    kit.need("loadSession")
    client, session, _ = told(kit)
    client.agent.end()
    again = kit.fresh()
    params = opening(kit, session, cwd=str(kit.folder("elsewhere")))
    expect_code(kit.call(again, "session/load", params), PARAMS, "another cwd")
    answer = kit.call(again, "session/load", opening(kit, session, cwd=f"{kit.project}/"))
    expect("result" in answer, f"the cwd with a slash: {answer}")


@must("S-28", "session/load of an unknown session is -32002")
def unknown_load(kit: Kit) -> None:
    kit.need("loadSession")
    kit.session()
    expect_code(kit.call(kit.ordinary(), "session/load", opening(kit, "nobody")), NOT_FOUND, "session/load")


@should("S-29", "a session that is open here may be shown again, or is refused while it works")
def open_here(kit: Kit) -> None:
    kit.need("loadSession")
    client, session = kit.pair()
    running = kit.ask(client, session, {"text": "", "hang": True})
    kit.settle(client)
    answer = kit.call(client, "session/load", opening(kit, session))
    expect(code_of(answer) in {"result", INVALID}, f"during a turn: {answer}")
    client.notify("session/cancel", {"sessionId": session})
    done = kit.done(client, running)
    expect(done.stop == "cancelled", f"the turn is then answered by {done.answer}")


@must("S-31", "the result of session/load has the modes and options that hold")
def same_options(kit: Kit) -> None:
    kit.need("loadSession")
    client = kit.fresh()
    result = kit.opening(client)
    modes = result.get("modes") or {}
    others = [m["id"] for m in modes.get("availableModes", []) if m["id"] != modes.get("currentModeId")]
    if not others:
        raise NotJudgedError("there is one mode at most")
    session = result["sessionId"]
    kit.result(client, "session/set_mode", {"sessionId": session, "modeId": others[0]})
    kit.plain_turn(client, session)
    client.agent.end()
    found, _ = load(kit, kit.fresh(), session)
    now = (found.get("modes") or {}).get("currentModeId")
    expect(now == others[0], f"the mode was {others[0]} and is {now}")


@should("S-32", "available_commands_update follows the answer of session/load")
def commands_again(kit: Kit) -> None:
    kit.need("loadSession")
    client, session, _ = told(kit)
    client.agent.end()
    again = kit.fresh()
    _, shown = load(kit, again, session)
    kit.settle(again)
    kinds = [u["sessionUpdate"] for u in updates(again, session)]
    expect("available_commands_update" in kinds, f"what comes is {kinds[len(shown) :]}")


@should("S-33", "a replay joins the chunks of a message")
def joined(kit: Kit) -> None:
    kit.need("loadSession")
    client, session = kit.pair()
    kit.turn(client, session, {"text": "word " * 200, "chunks": 200})
    client.agent.end()
    _, shown = load(kit, kit.fresh(), session)
    count = sum(u["sessionUpdate"] == "agent_message_chunk" for u in shown)
    expect(1 <= count <= 5, f"200 deltas come back as {count} chunks")


@must("S-34", "a replay asks nothing of the client and no model")
def asks_nothing(kit: Kit) -> None:
    kit.need("loadSession")
    client, session, _ = told(kit)
    client.agent.end()
    asked = len(kit.model.asked)
    again = kit.fresh({"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True})
    load(kit, again, session)
    expect(not again.questions, f"it asks {[q['method'] for q in again.questions]}")
    expect(len(kit.model.asked) == asked, "it asks the model")


# -- session/resume


@must("S-40", "session/resume shows nothing")
def silent(kit: Kit) -> None:
    kit.need("sessionCapabilities.resume")
    client, session, _ = told(kit)
    client.agent.end()
    again = kit.fresh()
    kit.result(again, "session/resume", opening(kit, session))
    kit.settle(again)
    shown = [u["sessionUpdate"] for u in updates(again, session) if u["sessionUpdate"] in TURNED]
    expect(not shown, f"it shows {shown}")


@must("S-41", "session/resume needs no mcpServers")
def minimal(kit: Kit) -> None:
    kit.need("sessionCapabilities.resume")
    client, session, _ = told(kit)
    client.agent.end()
    answer = kit.call(kit.fresh(), "session/resume", {"sessionId": session, "cwd": str(kit.project)})
    expect("result" in answer, f"{answer}")


@must("S-42", "session/resume of an unknown session is -32002")
def unknown_resume(kit: Kit) -> None:
    kit.need("sessionCapabilities.resume")
    kit.session()
    expect_code(kit.call(kit.ordinary(), "session/resume", opening(kit, "nobody")), NOT_FOUND, "session/resume")


@should("S-43", "after a restart the model still has the conversation")
def remembers(kit: Kit) -> None:
    kit.need("sessionCapabilities.resume")
    client, session = kit.pair()
    kit.turn(client, session, {"text": "It is seven."}, text="a-fact-of-before")
    client.agent.end()
    again = kit.fresh()
    kit.result(again, "session/resume", opening(kit, session))
    kit.turn(again, session, {"text": "Yes."}, text="the-later-prompt")
    later = kit.asked("the-later-prompt")
    expect(later and "a-fact-of-before" in str(later[-1].messages), "the model does not see the earlier turn")


# -- session/list


@must("S-50", "sessions is an array, empty when there are none")
def empty(kit: Kit) -> None:
    kit.need("sessionCapabilities.list")
    nowhere = str(kit.folder("never-used"))
    page = kit.result(kit.ordinary(), "session/list", {"cwd": nowhere})
    expect(page.get("sessions") == [], f"a folder without sessions has {page}")


@must("S-51", "an entry has an id, an absolute cwd and a date in ISO 8601")
def entries(kit: Kit) -> None:
    kit.need("sessionCapabilities.list")
    client, session, _ = told(kit)
    found = [entry for entry in listed(kit, client) if entry["sessionId"] == session]
    expect(len(found) == 1, f"the session is listed {len(found)} times")
    expect(str(found[0].get("cwd", "")).startswith("/"), f"its cwd is {found[0].get('cwd')}")
    date = found[0].get("updatedAt")
    if date is not None:
        expect(re.fullmatch(r"\d{4}-\d\d-\d\dT\S+(Z|[+-]\d\d:?\d\d)", str(date)), f"updatedAt is {date}")
        datetime.fromisoformat(str(date))


@must("S-52", "cwd filters")
def filters(kit: Kit) -> None:
    kit.need("sessionCapabilities.list")
    client, session, _ = told(kit)
    other = kit.folder("filtered")
    elsewhere = kit.new(client, other)
    kit.plain_turn(client, elsewhere)
    found = {entry["sessionId"] for entry in listed(kit, client, cwd=str(other))}
    expect(found == {elsewhere}, f"the list of one folder has {len(found)} sessions, not the one")
    expect(session not in found, "it has a session of another folder")


@must("S-53", "pages neither repeat nor skip")
def pages(kit: Kit) -> None:
    kit.need("sessionCapabilities.list")
    kit.scripted()
    client = kit.fresh()
    folder = kit.folder("many")
    made = [kit.new(client, folder) for _ in range(60)]
    for ident in [kit.ask(client, session, {"text": "Good."}) for session in made]:
        kit.done(client, ident)
    found = [entry["sessionId"] for entry in listed(kit, client, cwd=str(folder))]
    expect(sorted(found) == sorted(made), f"of 60 sessions the pages have {len(found)}, {len(set(found))} of them once")


@should("S-54", "a bad cursor is -32602")
def bad_cursor(kit: Kit) -> None:
    kit.need("sessionCapabilities.list")
    expect_code(kit.call(kit.ordinary(), "session/list", {"cursor": "no such cursor"}), PARAMS, "it")


@should("S-55", "the newest come first, a session without a prompt not at all")
def newest(kit: Kit) -> None:
    kit.need("sessionCapabilities.list")
    client = kit.fresh()
    folder = kit.folder("newest")
    made = [kit.new(client, folder) for _ in range(3)]
    for session in made[:2]:
        kit.plain_turn(client, session)
    found = [entry["sessionId"] for entry in listed(kit, client, cwd=str(folder))]
    expect(made[2] not in found, "a session without a prompt is listed")
    expect(found == made[1::-1], "they are in another order")


@should("S-58", "the list works without a key")
def unsigned(kit: Kit) -> None:
    kit.need("sessionCapabilities.list")
    answer = kit.call(kit.fresh(env=kit.environment(model=False)), "session/list", {})
    expect("result" in answer, f"{answer}")


@should("S-59", "the params of session/list may be missing")
def no_params(kit: Kit) -> None:
    kit.need("sessionCapabilities.list")
    answer = kit.call(kit.ordinary(), "session/list")
    expect("result" in answer, f"{answer}")


# -- session/delete and session/close


@must("S-60", "session/delete takes a session from the list, and may be repeated")
def deleted(kit: Kit) -> None:
    kit.need("sessionCapabilities.delete", "sessionCapabilities.list")
    client, session, _ = told(kit)
    for _ in range(2):
        answer = kit.call(client, "session/delete", {"sessionId": session})
        expect(answer.get("result") == {}, f"session/delete: {answer}")
    expect(session not in [entry["sessionId"] for entry in listed(kit, client)], "it is still listed")


@must("S-61", "deleting a session ends its turn as cancelled")
def deleted_in_a_turn(kit: Kit) -> None:
    kit.need("sessionCapabilities.delete")
    client, session = kit.pair()
    running = kit.ask(client, session, {"text": "", "hang": True})
    kit.settle(client)
    kit.result(client, "session/delete", {"sessionId": session})
    done = kit.done(client, running)
    expect(done.stop == "cancelled", f"the turn is answered by {done.answer}")


@must("S-62", "closing a session ends its turn as cancelled, and it stays listed")
def closed(kit: Kit) -> None:
    kit.need("sessionCapabilities.close")
    client, session = kit.pair()
    kit.plain_turn(client, session)
    running = kit.ask(client, session, {"text": "", "hang": True})
    kit.settle(client)
    kit.result(client, "session/close", {"sessionId": session})
    done = kit.done(client, running)
    expect(done.stop == "cancelled", f"the turn is answered by {done.answer}")
    if kit.has("sessionCapabilities.list"):
        expect(session in [entry["sessionId"] for entry in listed(kit, client)], "it is listed no more")


@should("S-63", "closing an unknown session is {} or -32002")
def closed_unknown(kit: Kit) -> None:
    kit.need("sessionCapabilities.close")
    answer = kit.call(kit.ordinary(), "session/close", {"sessionId": "nobody"})
    expect(code_of(answer) in {"result", NOT_FOUND}, f"{answer}")


@must("S-64", "after a close a prompt is -32002")
def closed_prompt(kit: Kit) -> None:
    kit.need("sessionCapabilities.close")
    client, session = kit.pair()
    kit.result(client, "session/close", {"sessionId": session})
    params = {"sessionId": session, "prompt": [{"type": "text", "text": "hi"}]}
    expect_code(kit.call(client, "session/prompt", params), NOT_FOUND, "a prompt after session/close")


@must("S-65", "no update follows the answer of session/close")
def closed_quiet(kit: Kit) -> None:
    kit.need("sessionCapabilities.close")
    client, session = kit.pair()
    kit.plain_turn(client, session)
    kit.result(client, "session/close", {"sessionId": session})
    first = len(client.trace.frames)
    kit.settle(client)
    late = [u["sessionUpdate"] for u in updates(client, session, first)]
    expect(not late, f"{late} follow")


@must("S-66", "a session id is never a path")
def paths(kit: Kit) -> None:
    kit.session()
    methods = {"session/load": "loadSession", "session/resume": "sessionCapabilities.resume"}
    tried = [method for method, path in methods.items() if kit.has(path)]
    if not tried:
        raise NotJudgedError("sessions are not opened again")
    for ident in ("../../etc/passwd", "/etc/passwd", "..", "a/../b"):
        for method in tried:
            answer = kit.call(kit.ordinary(), method, opening(kit, ident))
            expect(code_of(answer) in {NOT_FOUND, PARAMS}, f"{method} {ident}: {answer}")
