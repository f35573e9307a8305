"""Tool calls that the model is made to ask for (clauses TC-04 to TC-20)."""

from __future__ import annotations

from tests.conformance.check import expect, must, should
from tests.conformance.kit import ALLOWING, Done, Kit
from tests.support.trace import Obj

LONG_LINES = 20_000
TITLE_CHARACTERS = 200


def played(kit: Kit, *calls: Obj) -> Done:
    """Have a turn in which the model asks for these calls, one after the other, and everything is allowed."""
    client, session = kit.pair(answerers=ALLOWING)
    return kit.turn(client, session, *calls, {"text": "Done."})


@must("TC-02", "call ids are unique in a session although the model repeats them")
def unique(kit: Kit) -> None:
    (kit.project / "seen.txt").write_text("seen\n", "utf-8")
    client, session = kit.pair(answerers=ALLOWING)
    read = kit.tool("read_file", path="seen.txt")
    ids = [call.id for _ in range(2) for call in kit.turn(client, session, read, {"text": "Done."}).calls()]
    expect(len(set(map(str, ids))) == len(ids) == 2, f"two calls have the ids {ids}")


@must("TC-08", "a change is shown as a diff with an absolute path and both texts")
def diffs(kit: Kit) -> None:
    (kit.project / "old.txt").write_text("before\n", "utf-8")
    edits = kit.tool("edit_file", path="old.txt", old="before", new="after")
    done = played(kit, kit.tool("read_file", path="old.txt"), edits)
    found = _diffs(done)
    expect(found, "no call has one")
    path, old, new = found[-1]["path"], found[-1].get("oldText"), found[-1]["newText"]
    expect(path == str(kit.project / "old.txt"), f"its path is {path}")
    expect("before" in str(old) and "after" in new, f"its texts are {old!r} and {new!r}")


def _diffs(done: Done) -> list[Obj]:
    items = [item for call in done.calls() for item in call.fields.get("content") or []]
    return [item for item in items if item.get("type") == "diff"]


@must("TC-09", "the diff is the first item, and locations name the file")
def first(kit: Kit) -> None:
    done = played(kit, kit.tool("write_file", path="fresh.txt", content="fresh\n"))
    calls = [call for call in done.calls() if any(i.get("type") == "diff" for i in call.fields.get("content") or [])]
    expect(calls, "no call has a diff")
    expect(calls[0].fields["content"][0]["type"] == "diff", "it is not the first item")
    places = [place.get("path") for place in calls[0].fields.get("locations") or []]
    expect(places[:1] == [str(kit.project / "fresh.txt")], f"locations are {places}")


@should("TC-11", "a call that reads a file names it in locations")
def places(kit: Kit) -> None:
    (kit.project / "seen.txt").write_text("seen\n", "utf-8")
    done = played(kit, kit.tool("read_file", path="seen.txt"))
    found = [place.get("path") for call in done.calls() for place in call.fields.get("locations") or []]
    expect(str(kit.project / "seen.txt") in found, f"locations are {found}")


@should("TC-12", "rawInput of a command is an object with its command")
def raw_input(kit: Kit) -> None:
    done = played(kit, kit.tool("shell", command="echo raw-words"))
    found = [call.fields.get("rawInput") for call in done.calls()]
    fine = any(isinstance(one, dict) and "echo raw-words" in str(one.get("command")) for one in found)
    expect(fine, f"rawInput is {found}")


@must("TC-14", "terminal sequences of a command's output are not in the text")
def plain(kit: Kit) -> None:
    done = played(kit, kit.tool("shell", command="printf '\\033[31mred-word\\033[0m'"))
    text = "".join(call.text for call in done.calls())
    expect("red-word" in text, f"the output is not shown: {text[:200]!r}")
    shown = [item for call in done.calls() for item in call.fields.get("content") or [] if item["type"] == "content"]
    expect("\x1b" not in str([item["content"].get("text") for item in shown]), "the text has an escape character")


@must("TC-15", "a call that fails has the status failed and says why; the turn goes on")
def failed(kit: Kit) -> None:
    done = played(kit, kit.tool("read_file", path="no-such-file.txt"))
    expect(done.stop == "end_turn", f"the turn ends with {done.stop}")
    found = [(call.status, bool(call.text)) for call in done.calls()]
    expect(found == [("failed", True)], f"status and text are {found}")


@should("TC-20", "a title is one short line")
def titles(kit: Kit) -> None:
    command = "echo one\n" * 20 + "echo " + "x" * 400
    done = played(kit, kit.tool("shell", command=command))
    found = [str(u["title"]) for u in done.updates("tool_call", "tool_call_update") if u.get("title")]
    odd = [title for title in found if "\n" in title or len(title) > TITLE_CHARACTERS]
    expect(not odd, f"one has {len(odd[0]) if odd else 0} characters: {odd[:1]}"[:200])


@should("T-24", "long output stays in frames below 10 MiB")
def long_output(kit: Kit) -> None:
    done = played(kit, kit.tool("shell", command=f"yes {'x' * 500} | head -n {LONG_LINES}"))
    expect(done.stop == "end_turn", f"the turn ends with {done.stop}")
    longest = max(len(frame.raw) for frame in done.client.trace.frames if frame.way == "got")
    expect(longest < 10 << 20, f"the longest has {longest >> 20} MiB")


@must("T-29", "what a command prints becomes strict JSON")
def strict(kit: Kit) -> None:
    done = played(kit, kit.tool("shell", command="printf '\\355\\240\\200\\377 NaN'"))
    expect(done.stop == "end_turn", f"the turn ends with {done.stop}")
    loose = [
        frame.raw[:80] for frame in done.client.trace.frames if frame.way == "got" and not isinstance(frame.value, dict)
    ]
    expect(not loose, f"{loose}")
