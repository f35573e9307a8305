"""What holds for every frame of every process that the other checks started (clauses T, I, E and U of all times)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from tests.conformance.check import NotJudgedError, expect, must, no_faults, should
from tests.conformance.kit import Kit
from tests.support import invariants, schema
from tests.support.client import Client
from tests.support.mock_llm import KEY
from tests.support.trace import Obj, Update

CODES = frozenset({-32700, -32600, -32601, -32602, -32603, -32000, -32002, -32022, -32042, -32800})
TRACEBACK = re.compile(r"Traceback \(most recent call last\)|\n\s+at .+:\d+:\d+")
MESSAGE_CHARACTERS = 300
SECRET_FIELD = re.compile(r"password|secret|token|api.?key", re.IGNORECASE)


def values(kit: Kit) -> Iterator[Obj]:
    """Give each message of the agent."""
    for trace in kit.traces():
        yield from (f.value for f in trace.frames if f.way == "got" and isinstance(f.value, dict))


def all_updates(kit: Kit, *kinds: str) -> list[Update]:
    """Return the updates of these kinds; NotJudged when there are none."""
    found = [u for trace in kit.traces() for f in trace.frames if (u := f.update()) is not None and u.kind in kinds]
    if not found:
        raise NotJudgedError(f"no {kinds[0]} was seen")
    return found


def current_mode(kit: Kit, client: Client) -> str:
    """Return the mode of the sessions of that client: to set it changes nothing, and its answer is empty."""
    modes = kit.opening(client).get("modes")
    if not modes:
        raise NotJudgedError("there are no modes")
    return str(modes["currentModeId"])


def errors(kit: Kit) -> list[Obj]:
    return [value["error"] for value in values(kit) if isinstance(value.get("error"), dict)]


@must("T-01", "each line of standard output is a JSON-RPC message")
def stdout(kit: Kit) -> None:
    kinds = ("no JSON-RPC object", "neither a call nor an answer", "a CR")
    found = [why for trace in kit.traces() for why in invariants.stdout_lines(trace)]
    no_faults(why for why in found if any(kind in why for kind in kinds))


@should("T-05", "standard error is silent")
def stderr(kit: Kit) -> None:
    kit.traces()
    whole = [client for client in kit.clients if client.agent.proc not in client.trace.open_until]
    said = [client.agent.stderr().decode("utf-8", "replace").strip() for client in whole]
    no_faults(f"{text[:120]!r}" for text in said if text)


@must("T-20", "frames are lines that end in a line feed")
def ends(kit: Kit) -> None:
    kit.traces()
    no_faults(
        f"bytes after the last line feed: {client.agent.tail[:80]!r}" for client in kit.clients if client.agent.tail
    )


@must("T-33", "no Content-Length headers are written")
def headers(kit: Kit) -> None:
    lines = [f.raw for trace in kit.traces() for f in trace.frames if f.way == "got"]
    no_faults(f"{raw[:60]!r}" for raw in lines if raw.lower().startswith(b"content-length"))


@must("T-50", "each request has one answer, and nothing else is answered")
def once(kit: Kit) -> None:
    no_faults(why for trace in kit.traces() for why in invariants.answered_once(trace))


@must("T-51", "results are objects, and no answer has both a result and an error")
def results(kit: Kit) -> None:
    with suppress(NotJudgedError):
        client, session = kit.session()
        kit.call(client, "session/set_mode", {"sessionId": session, "modeId": current_mode(kit, client)})
    for value in values(kit):
        if "method" not in value and "result" in value:
            expect("error" not in value, f"an answer has both: {value}")
            expect(isinstance(value["result"], dict), f"a result is {value['result']!r}")


@should("T-55", "ids of the agent's requests are whole numbers")
def own_ids(kit: Kit) -> None:
    asked = [value["id"] for value in values(kit) if "method" in value and "id" in value]
    if not asked:
        raise NotJudgedError("it made no request")
    no_faults(f"one is {ident!r}" for ident in asked if type(ident) is not int)


@must("T-60", "codes are the protocol's, messages one short sentence")
def codes(kit: Kit) -> None:
    found = errors(kit)
    no_faults(f"a code is {e.get('code')!r}: {e.get('message')}" for e in found if e.get("code") not in CODES)
    long = [str(e.get("message")) for e in found]
    no_faults(f"a message has {len(m)} characters: {m[:80]!r}" for m in long if len(m) > MESSAGE_CHARACTERS)


@must("T-63", "no key and no traceback is in an error, no key anywhere")
def secrets(kit: Kit) -> None:
    no_faults(f"a traceback: {str(e)[:120]}" for e in errors(kit) if TRACEBACK.search(str(e.get("data", e))))
    raw = [f.raw for trace in kit.traces() for f in trace.frames if f.way == "got"]
    no_faults(f"the key is in {line[:80]!r}" for line in raw if KEY.encode() in line)


@should("T-64", "the data of an error is left out rather than null")
def null_data(kit: Kit) -> None:
    no_faults(f"{error}" for error in errors(kit) if error.get("data", 0) is None)


@must("T-83", "nothing of the agent's own stands outside of _meta")
def own_fields(kit: Kit) -> None:
    found = [why for trace in kit.traces() for why in schema.unstable().agent_trace(trace)]
    no_faults(why for why in found if "is a key that the schema" in why or "no update" in why or "no method" in why)


@must("T-85", "no notification of the agent's own is sent unasked")
def own_notes(kit: Kit) -> None:
    sent = [value["method"] for value in values(kit) if "method" in value and "id" not in value]
    no_faults(f"{method}" for method in sent if str(method).startswith("_"))


@must("T-89", "paths are absolute and lines count from 1")
def paths(kit: Kit) -> None:
    for update in all_updates(kit, "tool_call", "tool_call_update"):
        for place in update.fields.get("locations") or []:
            expect(str(place.get("path", "")).startswith("/"), f"a location is {place}")
            expect((place.get("line") or 1) >= 1, f"a location is {place}")


@must("I-06", "a capability that the client omits is not used")
def omitted(kit: Kit) -> None:
    kit.traces()
    for client in kit.clients:
        able = kit.capabilities[client]
        fs = able.get("fs") or {}
        for question in client.questions:
            method = question["method"]
            allowed = {
                "fs/read_text_file": fs.get("readTextFile"),
                "fs/write_text_file": fs.get("writeTextFile"),
                "elicitation/create": able.get("elicitation"),
            }.get(method, able.get("terminal") if method.startswith("terminal/") else True)
            expect(allowed, f"{method} is called")


@must("A-16", "no form asks for a secret")
def forms(kit: Kit) -> None:
    asked = [v["params"] for v in values(kit) if v.get("method") == "elicitation/create"]
    if not asked:
        raise NotJudgedError("no elicitation/create was seen")
    fields = [name for form in asked for name in (form.get("requestedSchema") or {}).get("properties", {})]
    no_faults(f"a field is {name}" for name in fields if SECRET_FIELD.search(name))


@must("E-01", "only forms and addresses that the client listed are sent")
def modes(kit: Kit) -> None:
    kit.traces()
    asked = [(c, q["params"]) for c in kit.clients for q in c.questions if q["method"] == "elicitation/create"]
    if not asked:
        raise NotJudgedError("no elicitation/create was seen")
    for client, form in asked:
        listed = kit.capabilities[client].get("elicitation") or {}
        expect(form.get("mode") in listed, f"the mode {form.get('mode')} is sent to a client of {listed}")


@must("U-01", "every frame is valid against the stable schema")
def valid(kit: Kit) -> None:
    found = [why for trace in kit.traces() for why in schema.stable().agent_trace(trace)]
    no_faults(why for why in found if "is a key that the schema" not in why)


@must("U-04", "available_commands_update has the whole list, names without a slash")
def commands(kit: Kit) -> None:
    for update in all_updates(kit, "available_commands_update"):
        names = [str(command.get("name")) for command in update.fields.get("availableCommands") or []]
        no_faults(f"a name is {name!r}" for name in names if not re.fullmatch(r"[^\s/]\S*", name))
        expect(len(set(names)) == len(names), f"names come twice: {names}")


@must("U-05", "a change of the mode is told")
def mode_update(kit: Kit) -> None:
    all_updates(kit, "current_mode_update", "config_option_update")


@must("U-06", "the key of current_mode_update is currentModeId")
def mode_key(kit: Kit) -> None:
    for update in all_updates(kit, "current_mode_update"):
        expect(set(update.fields) - {"_meta"} == {"sessionUpdate", "currentModeId"}, f"{update.fields}")


@must("U-07", "config_option_update carries the whole list")
def options(kit: Kit) -> None:
    for update in all_updates(kit, "config_option_update"):
        expect(update.fields.get("configOptions"), f"{update.fields}")


@must("U-08", "session_info_update has a title or a date")
def info(kit: Kit) -> None:
    for update in all_updates(kit, "session_info_update"):
        expect({"title", "updatedAt"} & set(update.fields), f"one says {update.fields}")


@must("U-09", "usage_update has whole numbers from 0")
def usage(kit: Kit) -> None:
    for update in all_updates(kit, "usage_update"):
        numbers = [update.fields.get("used"), update.fields.get("size")]
        expect(all(type(n) is int and n >= 0 for n in numbers), f"{update.fields}")


@should("U-10", "usage_update comes once a step, not once a token")
def seldom(kit: Kit) -> None:
    usages, shown = len(all_updates(kit, "usage_update")), len(all_updates(kit, "agent_message_chunk", "tool_call"))
    expect(usages <= shown, f"{usages} to {shown} chunks and calls")


@must("U-11", "notice goes only to clients that take it")
def notices(kit: Kit) -> None:
    _gated(kit, "notices", {"notice"})


@must("U-12", "compaction updates go only to clients that take them")
def compactions(kit: Kit) -> None:
    _gated(kit, "compaction", {"compaction_update", "compaction_summary_chunk"})


def _gated(kit: Kit, name: str, kinds: set[str]) -> None:
    kit.traces()
    for client in kit.clients:
        if name not in (kit.capabilities[client].get("session") or {}):
            seen = {str(u.kind) for f in client.trace.frames if (u := f.update()) is not None}
            expect(not seen & kinds, f"{sorted(seen & kinds)} went to one that does not")


@must("U-14", "outside of a turn only metadata is sent")
def idle(kit: Kit) -> None:
    no_faults(_broken(kit, "while no turn is open"))


@must("U-15", "no unknown session is named")
def known(kit: Kit) -> None:
    no_faults(_broken(kit, "which is not open"))


def _broken(kit: Kit, words: str) -> Iterator[str]:
    for trace in kit.traces():
        for proc in sorted({f.proc for f in trace.frames}):
            found = invariants.sessions([f for f in trace.frames if f.proc == proc])
            yield from (why for why in found if words in why)
