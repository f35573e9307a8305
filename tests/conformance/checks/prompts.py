"""session/prompt (clauses P-01 to P-20)."""

from __future__ import annotations

import base64

from tests.conformance.check import NotJudgedError, code_of, expect, must, should
from tests.conformance.checks.probe import INVALID, PARAMS
from tests.conformance.kit import Kit, updates
from tests.support.pictures import png
from tests.support.trace import Obj

STOPS = frozenset({"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"})
SERVER_ERRORS = 12
PNG = base64.b64encode(png()).decode()
TURN_KINDS = frozenset({"agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan"})


def link(uri: str) -> Obj:
    return {"type": "resource_link", "uri": uri, "name": uri.rsplit("/", 1)[-1]}


@must("P-01", "text and resource links are taken")
def taken(kit: Kit) -> None:
    client, session = kit.session()
    if kit.options.model_env:
        done = kit.turn(client, session, blocks=[link(f"file://{kit.project}/linked.txt")])
        expect(done.stop == "end_turn", f"the prompt is answered by {done.answer}")
        return
    done = kit.plain_turn(client, session)
    expect(done.stop in STOPS, f"the prompt is answered by {done.answer}")


@must("P-02", "a resource link reaches the model")
def links(kit: Kit) -> None:
    client, session = kit.session()
    kit.turn(client, session, blocks=[link(f"file://{kit.project}/linked-name.txt")])
    expect(kit.asked("linked-name.txt"), "no request to the model names it")


@must("P-03", "an embedded resource is taken")
def embedded(kit: Kit) -> None:
    client, session = kit.session()
    resource = {"uri": f"file://{kit.project}/part.txt", "text": "embedded-words", "mimeType": "text/plain"}
    done = kit.turn(client, session, blocks=[{"type": "resource", "resource": resource}])
    expect(done.stop == "end_turn", f"the prompt is answered by {done.answer}")
    expect(kit.asked("embedded-words"), "no request to the model has its text")


@must("P-04", "an image is taken where that is advertised, and crashes nothing where it is not")
def images(kit: Kit) -> None:
    client, session = kit.session()
    done = kit.turn(client, session, blocks=[{"type": "image", "mimeType": "image/png", "data": PNG}])
    fine = {"end_turn"} if kit.has("promptCapabilities.image") else {"end_turn", PARAMS}
    expect(done.stop in fine, f"the prompt is answered by {done.answer}")
    kit.ping(client)


@should("P-05", "addresses of several shapes are taken")
def addresses(kit: Kit) -> None:
    client, session = kit.session()
    (kit.project / "a b.txt").write_text("spaced\n", "utf-8")
    for uri in (
        f"file://{kit.project}/a%20b.txt",
        f"{kit.project}/bare.txt",
        "bare.txt",
        "zed:///agent/x",
        "https://a.example/x",
    ):
        done = kit.turn(client, session, blocks=[link(uri)])
        expect(done.stop == "end_turn", f"{uri}: the prompt is answered by {done.answer}")


@must("P-06", "all updates of a turn come before its answer")
def before(kit: Kit) -> None:
    client, session = kit.session()
    done = kit.plain_turn(client, session)
    first = done.turn.last + 1
    kit.settle(client)
    late = [u["sessionUpdate"] for u in updates(client, session, first) if u["sessionUpdate"] in TURN_KINDS]
    expect(not late, f"{late} follow it")


@must("P-07", "the stop reason is one of the protocol's, and says what the model's end was")
def stops(kit: Kit) -> None:
    client, session = kit.session()
    done = kit.plain_turn(client, session)
    expect(done.stop in STOPS, f"it is {done.stop}")
    if kit.options.model_env:
        for finish, stop in (("length", "max_tokens"), ("content_filter", "refusal")):
            done = kit.turn(client, kit.new(client), {"text": "Cut off", "finish": finish})
            expect(done.stop == stop, f"a model that ends by {finish} makes it {done.stop}")


@must("P-08", "a provider's failure is an error or told, never a hang")
def failure(kit: Kit) -> None:
    client, session = kit.session()
    body = '{"error":{"message":"the-reason","type":"bad_request"}}'
    done = kit.turn(client, session, {"status": 400, "body": body, "times": SERVER_ERRORS})
    told = code_of(done.answer) != "result" or done.said
    expect(told, f"it is answered by {done.answer} and nothing is said")


@should("P-09", "a key that the provider refuses is -32000")
def refused_key(kit: Kit) -> None:
    client, session = kit.pair()
    body = '{"error":{"message":"bad key","type":"invalid_request_error","code":"invalid_api_key"}}'
    done = kit.turn(client, session, {"status": 401, "body": body, "times": SERVER_ERRORS})
    expect(done.stop == -32000, f"it is answered by {done.answer}")


@must("P-10", "a prompt without content asks no model")
def nothing(kit: Kit) -> None:
    client, session = kit.session()
    kit.scripted()
    for blocks in ([], [{"type": "text", "text": "  "}]):
        asked = len(kit.model.asked)
        answer = kit.call(client, "session/prompt", {"sessionId": session, "prompt": blocks})
        fine = code_of(answer) == PARAMS or answer.get("result", {}).get("stopReason") == "end_turn"
        expect(fine, f"{blocks} is answered by {answer}")
        expect(len(kit.model.asked) == asked, f"{blocks} goes to the model")


@must("P-11", "a second prompt waits or is refused, and is never mixed in")
def second(kit: Kit) -> None:
    client, session = kit.pair()
    one = kit.ask(client, session, {"text": "One. " * 20, "chunks": 20, "delay_ms": 30})
    two = kit.ask(client, session, {"text": "Two."})
    first, later = kit.done(client, one), kit.done(client, two)
    expect(first.stop == "end_turn", f"the first is answered by {first.answer}")
    expect(first.said.startswith("One. " * 20), f"the first says {first.said!r}")
    expect(later.stop in {"end_turn", INVALID}, f"the second is answered by {later.answer}")


@must("P-12", "cancel ends the running prompt and those that wait")
def waiting(kit: Kit) -> None:
    client, session = kit.pair()
    asked = [kit.ask(client, session, {"text": "", "hang": True}) for _ in range(3)]
    kit.settle(client)
    client.notify("session/cancel", {"sessionId": session})
    stops_ = [kit.done(client, ident).stop for ident in asked]
    expect(stops_[0] == "cancelled" and set(stops_) <= {"cancelled", INVALID}, f"they are answered by {stops_}")


@should("P-13", "text is passed on as it comes")
def streaming(kit: Kit) -> None:
    client, session = kit.session()
    text = "word " * 40
    done = kit.turn(client, session, {"text": text, "chunks": 40, "delay_ms": 25})
    count = len(done.updates("agent_message_chunk"))
    expect(count >= 5, f"a second of text comes as {count} chunks")


@must("P-14", "the chunks, joined, are the text")
def exact(kit: Kit) -> None:
    client, session = kit.session()
    text = "a🙂b漢字\n\n```py\n\tx = 1\u2028\n```\n end"
    done = kit.turn(client, session, {"text": text, "chunks": 24})
    expect(done.said == text, f"{text!r} comes as {done.said!r}")


@should("P-15", "chunks of one message share a messageId, another message has another")
def message_ids(kit: Kit) -> None:
    client, session = kit.session()
    (kit.project / "seen.txt").write_text("seen\n", "utf-8")
    read = kit.tool("read_file", path="seen.txt")
    done = kit.turn(client, session, {"text": "Before it.", "chunks": 3, **read}, {"text": "After it.", "chunks": 3})
    found: dict[object, str] = {}
    for update in done.updates("agent_message_chunk"):
        ident = update.get("messageId")
        found[ident] = found.get(ident, "") + update["content"].get("text", "")
    expect(None not in found, "chunks have no messageId")
    expect(list(found.values()) == ["Before it.", "After it."], f"by messageId the texts are {list(found.values())}")


@should("P-16", "the prompt is not echoed while it is live")
def echo(kit: Kit) -> None:
    client, session = kit.session()
    done = kit.plain_turn(client, session)
    expect(not done.updates("user_message_chunk"), "it comes back as user_message_chunk")


@should("P-17", "reasoning comes as thoughts, never as text")
def thoughts(kit: Kit) -> None:
    client, session = kit.session()
    done = kit.turn(client, session, {"reasoning": "inner words", "text": "outer words"})
    expect("inner words" not in done.said, "it comes as text")
    thought = client.trace.turn_text(done.turn, "agent_thought_chunk")
    expect("inner words" in thought, f"the thoughts are {thought!r}")


@must("P-20", "a refused exchange is not in the next request")
def refusal(kit: Kit) -> None:
    client, session = kit.pair()
    done = kit.turn(client, session, {"text": "I will not.", "finish": "content_filter"}, text="a-refused-wish")
    if done.stop != "refusal":
        raise NotJudgedError(f"the turn ends with {done.stop}")
    kit.turn(client, session, {"text": "Yes."}, text="the-next-wish")
    later = kit.asked("the-next-wish")
    expect(later, "the next prompt does not reach the model")
    expect("a-refused-wish" not in str(later[-1].messages), "it is")


@must("P-21", "what was streamed before a crash is there again")
def crash(kit: Kit) -> None:
    kit.need("loadSession")
    client, session = kit.pair()
    kit.ask(client, session, {"text": "streamed-words " * 20, "chunks": 20, "delay_ms": 10, "hang": True})
    client.trace.wait(lambda: len(updates(client, session)) >= 10, kit.seconds)
    kit.settle(client)
    kit.settle(client)
    client.agent.signal("KILL")
    client.agent.wait_exit(kit.seconds)
    again = kit.fresh()
    ident = again.request("session/load", {"sessionId": session, "cwd": str(kit.project), "mcpServers": []})
    answer = again.answer(ident, kit.seconds)
    expect("result" in answer, f"session/load: {answer}")
    shown = "".join(u.text for u in again.trace.updates(0, len(again.trace.frames), session))
    expect("streamed-words" in shown, "nothing of it is shown")
