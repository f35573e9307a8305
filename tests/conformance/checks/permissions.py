"""session/request_permission (clauses R-01 to R-14, T-53, T-54, T-88)."""

from __future__ import annotations

from collections.abc import Mapping

from tests.conformance.check import NotJudgedError, expect, must, should
from tests.conformance.kit import ALLOWING, REFUSING, Done, Kit
from tests.support.client import Answerer, Client
from tests.support.trace import Obj

ASK = "session/request_permission"
ONCE = {"allow_once", "reject_once"}


def asking(kit: Kit, answerers: Mapping[str, Answerer], name: str = "asked.txt") -> tuple[Client, Done]:
    """Have a turn in which a file is to be written; NotJudged when that is not asked."""
    (kit.project / name).unlink(missing_ok=True)
    client, session = kit.pair(answerers=answerers)
    done = kit.turn(client, session, kit.tool("write_file", path=name, content="allowed\n"), {"text": "Done."})
    if not [question for question in client.questions if question["method"] == ASK]:
        raise NotJudgedError("it does not ask before it writes a file")
    return client, done


def question(client: Client) -> Obj:
    found: Obj = next(question["params"] for question in client.questions if question["method"] == ASK)
    return found


def refused(kit: Kit, body: Obj, what: str) -> None:
    """Raise FaultError unless an answer of that body refuses the call and the turn goes on."""
    _, done = asking(kit, {ASK: lambda _: body})
    expect(not (kit.project / "asked.txt").exists(), f"{what} is taken as a yes")
    expect(done.stop in {"end_turn", "cancelled"}, f"{what}: the prompt is answered by {done.answer}")


@must("R-02", "options have unique ids, names and known kinds")
def options(kit: Kit) -> None:
    client, _ = asking(kit, ALLOWING)
    found = question(client)["options"]
    ids = [option.get("optionId") for option in found]
    expect(len(set(ids)) == len(ids) > 0, f"the ids are {ids}")
    expect(all(option.get("name") for option in found), f"{found}")


@must("R-03", "there is one option of a kind at most")
def kinds(kit: Kit) -> None:
    client, _ = asking(kit, ALLOWING)
    found = [option["kind"] for option in question(client)["options"]]
    expect(len(set(found)) == len(found), f"the kinds are {found}")


@must("R-04", "allow_once and reject_once are there, allowing first")
def both(kit: Kit) -> None:
    client, _ = asking(kit, ALLOWING)
    found = [option["kind"] for option in question(client)["options"]]
    expect(set(found) >= ONCE, f"the kinds are {found}")
    expect(found[0] == "allow_once", f"the first is {found[0]}")


@must("R-05", "the outcome cancelled refuses the call")
def cancelled(kit: Kit) -> None:
    refused(kit, {"result": {"outcome": {"outcome": "cancelled"}}}, "the outcome cancelled")


@must("R-06", "an error and an unknown option are a no")
def unknown(kit: Kit) -> None:
    refused(kit, {"error": {"code": -32603, "message": "no"}}, "an error")
    refused(kit, {"result": {"outcome": {"outcome": "selected", "optionId": "no-such-option"}}}, "an unknown option")


@must("R-08", "a client without the method refuses by that")
def lacking(kit: Kit) -> None:
    refused(kit, {"error": {"code": -32601, "message": "Method not found"}}, "-32601")


@should("R-09", "the question repeats title and kind of its call")
def repeats(kit: Kit) -> None:
    client, _ = asking(kit, ALLOWING)
    call = question(client)["toolCall"]
    missing = [key for key in ("title", "kind") if not call.get(key)]
    expect(not missing, f"its toolCall has {sorted(call)}")


@must("R-10", "what was allowed once is asked again")
def once(kit: Kit) -> None:
    client, session = kit.pair(answerers=ALLOWING)
    kit.turn(client, session, kit.tool("write_file", path="one.txt", content="1"), {"text": "Done."})
    before = len(client.questions)
    if not before:
        raise NotJudgedError("it does not ask before it writes a file")
    kit.turn(client, session, kit.tool("write_file", path="two.txt", content="2"), {"text": "Done."})
    expect(len(client.questions) > before, "the second file is written unasked")


@should("R-12", "a refused call has failed, the model is told, the turn goes on")
def told(kit: Kit) -> None:
    _, done = asking(kit, REFUSING)
    expect((done.stop, done.said) == ("end_turn", "Done."), f"the prompt is answered by {done.answer}")
    found = [call.status for call in done.calls()]
    expect(found == ["failed"], f"the call is {found}")


@must("T-53", "an error answer fails that operation and nothing else")
def own_failure(kit: Kit) -> None:
    client, _ = asking(kit, {ASK: lambda _: {"error": {"code": -32603, "message": "no"}}})
    kit.ping(client)


@must("T-54", "ids of the agent may equal the client's")
def same_ids(kit: Kit) -> None:
    client, done = asking(kit, ALLOWING)
    ident = next(q["id"] for q in client.questions if q["method"] == ASK)
    expect((kit.project / "asked.txt").exists(), f"the question {ident!r} was answered and nothing came of it")
    expect(done.stop == "end_turn", f"the prompt is answered by {done.answer}")


@should("T-88", "an unknown outcome is a no")
def maybe(kit: Kit) -> None:
    refused(kit, {"result": {"outcome": {"outcome": "maybe", "optionId": "allow_once"}}}, "the outcome maybe")
