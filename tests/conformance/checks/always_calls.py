"""What holds for every tool call and every question of the agent (clauses TC, R and TM of all times)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.conformance.check import NotJudgedError, expect, must, no_faults, should
from tests.conformance.checks.always import all_updates
from tests.conformance.kit import Kit
from tests.support import invariants
from tests.support.trace import Obj

KINDS = frozenset({"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"})


def broken(kit: Kit, *words: str) -> Iterator[str]:
    """Give the broken invariants of sessions with one of these words; NotJudged when no call was seen."""
    all_updates(kit, "tool_call")
    for trace in kit.traces():
        found = invariants.sessions(trace.frames) if len({f.proc for f in trace.frames}) == 1 else []
        yield from (why for why in found if any(word in why for word in words))


def questions(kit: Kit, prefix: str) -> list[Obj]:
    kit.traces()
    found = [q for client in kit.clients for q in client.questions if q["method"].startswith(prefix)]
    if not found:
        raise NotJudgedError(f"no {prefix} was seen")
    return found


@must("TC-01", "a call is announced once by tool_call, then changed by tool_call_update")
def announced(kit: Kit) -> None:
    no_faults(broken(kit, "announced"))


@must("TC-03", "a status never goes back and is not left open")
def forward(kit: Kit) -> None:
    no_faults(broken(kit, " goes from ", " stays "))


@should("TC-05", "updates repeat the title")
def titles(kit: Kit) -> None:
    all_updates(kit, "tool_call")
    ended = [u for u in all_updates(kit, "tool_call_update") if u.fields.get("status") in {"completed", "failed"}]
    bare = [u.fields["toolCallId"] for u in ended if not u.fields.get("title")]
    expect(not bare, f"{len(bare)} of {len(ended)} last updates have none")


@must("TC-06", "a kind is one of the protocol's")
def kinds(kit: Kit) -> None:
    found = {u.fields["kind"] for u in all_updates(kit, "tool_call", "tool_call_update") if u.fields.get("kind")}
    expect(found <= KINDS, f"{sorted(map(str, found - KINDS))}")


@should("TC-07", "a call has the name of its tool")
def names(kit: Kit) -> None:
    bare = [u.fields["toolCallId"] for u in all_updates(kit, "tool_call") if not u.fields.get("name")]
    expect(not bare, f"{len(bare)} have none")


@should("TC-13", "rawOutput is an object")
def raw_output(kit: Kit) -> None:
    found = [
        u.fields["rawOutput"] for u in all_updates(kit, "tool_call", "tool_call_update") if "rawOutput" in u.fields
    ]
    if not found:
        raise NotJudgedError("no rawOutput was seen")
    no_faults(f"one is {value!r}"[:120] for value in found if not isinstance(value, dict | None))


@should("TC-16", "a call is announced as pending")
def pending(kit: Kit) -> None:
    found = Counter(str(u.fields.get("status", "pending")) for u in all_updates(kit, "tool_call"))
    expect(found["pending"] > 0, f"they begin as {dict(found)}")


@must("TC-17", "items of content are wrapped, diffs or terminals")
def wrapped(kit: Kit) -> None:
    updates = all_updates(kit, "tool_call", "tool_call_update")
    items = [item for u in updates for item in u.fields.get("content") or []]
    no_faults(f"one is {item}"[:120] for item in items if item.get("type") not in {"content", "diff", "terminal"})


@must("R-01", "permission is asked for a call that was announced")
def after(kit: Kit) -> None:
    questions(kit, "session/request_permission")
    no_faults(broken(kit, "permission is asked"))


@must("TM-04", "each terminal is released once")
def released(kit: Kit) -> None:
    made = Counter(q["method"] for q in questions(kit, "terminal/"))
    expect(made["terminal/create"] == made["terminal/release"], f"{dict(made)}")
