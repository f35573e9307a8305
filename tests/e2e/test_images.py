"""Images from the editor to the model and back, over pipes and HTTP (clauses P-04, P-22 to P-26, TC-21, U-16)."""

from __future__ import annotations

import base64
import json
import os
import threading
from collections.abc import Iterator, Sequence

import pytest

from acp_server.persistence.attachment_id import attachment_id
from tests.e2e.sessions import folder, listed, live, load, merged, restarted
from tests.e2e.stage import Stage, stop_reason
from tests.support.client import Client
from tests.support.llm_script import Answer, Script, text_of
from tests.support.mock_llm import KEY, MockLlm
from tests.support.pictures import KINDS, image, large_png, png
from tests.support.trace import Obj, Update

PROVIDERS = ["openai", "openai-responses", "anthropic"]
LOOK: Obj = {"type": "text", "text": "Look."}
SEEING = '[models."openai/mock"]\ninput = ["text", "image"]\n'
BLIND = '[models."openai/blind"]\ninput = ["text"]\n'


@pytest.fixture
def mock() -> Iterator[MockLlm]:
    with MockLlm() as made:
        yield made


def opened(stage: Stage, mock: MockLlm, *answers: Answer, provider: str = "openai") -> tuple[Client, str]:
    mock.script = Script(answers)
    stage.secrets.append(KEY)
    return stage.open(None, mock.environment(provider))


def again(stage: Stage, mock: MockLlm, provider: str = "openai") -> Client:
    return restarted(stage, None, mock.environment(provider))


def prompting(session: str, *blocks: Obj) -> Obj:
    return {"sessionId": session, "prompt": list(blocks)}


def send(client: Client, session: str, *blocks: Obj) -> Obj:
    return client.answer(client.request("session/prompt", prompting(session, *blocks)))


def refusal(client: Client, session: str, *blocks: Obj) -> str:
    error = client.error("session/prompt", prompting(session, *blocks))
    assert error["code"] == -32602, error
    return str(error["data"]["details"])


def contents(updates: Sequence[Update], kind: str) -> list[Obj]:
    return [update.fields["content"] for update in updates if update.kind == kind]


def data_in(body: object) -> list[str]:
    """Return the base64 of every image in a request's body, in order, whatever the protocol."""
    found = []
    if isinstance(body, dict):
        if body.get("type") == "base64":
            found.append(str(body["data"]))
        for value in body.values():
            if isinstance(value, str) and value.startswith("data:image/"):
                found.append(value.partition(";base64,")[2])
            else:
                found += data_in(value)
    elif isinstance(body, list):
        found = [data for item in body for data in data_in(item)]
    return found


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_image_reaches_the_model_and_comes_back_on_load(stage: Stage, mock: MockLlm, provider: str) -> None:
    client, session = opened(stage, mock, provider=provider)
    shown, after = image(png()), {"type": "text", "text": "What is it?"}
    assert stop_reason(send(client, session, LOOK, shown, after)) == "end_turn"
    assert data_in(mock.asked[0].body) == [shown["data"]]
    assert text_of(mock.asked[0].messages[-1]["content"]) == "Look.What is it?"
    client = again(stage, mock, provider)
    replayed = contents(load(client, session, stage.project), "user_message_chunk")
    assert replayed == [LOOK, {"type": "image", "data": shown["data"], "mimeType": "image/png"}, after]
    assert stop_reason(send(client, session, LOOK)) == "end_turn"
    assert data_in(mock.asked[1].body) == [shown["data"]]
    assert mock.asked[1].messages[: len(mock.asked[0].messages)] == mock.asked[0].messages


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_taken(stage: Stage, mock: MockLlm, kind: str) -> None:
    media_type, _, _, content = KINDS[kind]
    client, session = opened(stage, mock)
    assert stop_reason(send(client, session, image(content, media_type, uri="file:///p/a%20b.bin"))) == "end_turn"
    (url,) = [part["image_url"]["url"] for part in mock.asked[0].body["messages"][-1]["content"]]
    assert url == f"data:{media_type};base64,{base64.b64encode(content).decode()}"
    (kept,) = (folder(stage, session) / "attachments").iterdir()
    assert (kept.read_bytes(), kept.stat().st_mode & 0o777) == (content, 0o600)


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"type": "image", "mimeType": "image/png"}, "prompt[1].data must be a string"),
        ({"type": "image", "data": "AAAA"}, "prompt[1].mimeType must be a string"),
        (image(png()) | {"data": "not base64!"}, "prompt[1].data is no base64"),
        (image(b"<svg/>", "image/svg+xml"), "prompt[1].data is none of image/png, image/jpeg, image/gif, image/webp"),
        (image(png(), "image/jpeg"), "prompt[1].mimeType is 'image/jpeg', but the data are image/png"),
        (image(png()[:-6]), "prompt[1].data is a damaged image (image/png): its end is missing or wrong"),
        (image(png(16_385, 1)), "prompt[1].data is an image of 16385 x 1 pixels; 16,384 a side are the most"),
        (image(large_png(20 * 1024 * 1024 + 3)), "prompt[1].data is an image of more than 20,971,520 bytes"),
        ({"type": "audio", "data": "", "mimeType": "audio/wav"}, "prompt[1].type is 'audio'"),
    ],
)
def test_what_is_wrong_with_an_image_is_said(stage: Stage, mock: MockLlm, block: Obj, words: str) -> None:
    client, session = opened(stage, mock)
    assert refusal(client, session, image(png()), block).startswith(words)
    assert (mock.asked, listed(client)) == ([], [])
    assert list(stage.state.rglob("attachments")) == [], "nothing of a refused prompt is kept"
    assert stop_reason(send(client, session, LOOK)) == "end_turn"


def test_the_largest_image_is_taken(stage: Stage, mock: MockLlm) -> None:
    client, session = opened(stage, mock)
    shown = image(large_png(20 * 1024 * 1024))
    assert stop_reason(send(client, session, LOOK, shown)) == "end_turn"
    assert data_in(mock.asked[0].body) == [shown["data"]]
    client = again(stage, mock)
    assert contents(load(client, session, stage.project), "user_message_chunk")[1]["data"] == shown["data"]


def test_files_that_an_editor_embeds(stage: Stage, mock: MockLlm) -> None:
    client, session = opened(stage, mock)
    picture = base64.b64encode(png()).decode()
    files = [
        {"uri": "file:///p/a.txt", "text": "words"},
        {"uri": "file:///p/a.png", "blob": picture, "mimeType": "image/png"},
        {"uri": "file:///p/b.png", "blob": "AAAA", "mimeType": "image/png"},
        {"uri": "file:///p/c.pdf", "blob": "AAAA"},
    ]
    answer = send(client, session, *({"type": "resource", "resource": file} for file in files))
    assert stop_reason(answer) == "end_turn"
    content = mock.asked[0].body["messages"][-1]["content"]
    assert data_in(content) == [picture]
    assert [part["text"] for part in content if part["type"] == "text"] == [
        '<resource uri="/p/a.txt">\nwords\n</resource>',
        '<resource uri="/p/a.png">\n(the image that follows)\n</resource>',
        '<resource uri="/p/b.png">\n(binary content, image/png, 3 bytes, not shown)\n</resource>',
        '<resource uri="/p/c.pdf">\n(binary content, unknown type, 3 bytes, not shown)\n</resource>',
    ]


def test_a_model_without_eyes_is_told_of_and_a_switch_to_one_works(stage: Stage, mock: MockLlm) -> None:
    stage.environment()
    (stage.state / "settings.toml").write_text(BLIND + SEEING, "utf-8")
    client, session = opened(stage, mock)
    shown = image(png(), uri="file:///p/plot.png")
    assert stop_reason(send(client, session, LOOK, shown)) == "end_turn"
    choice = {"sessionId": session, "modelId": "openai/blind"}
    assert client.result("session/set_model", choice) == {}
    assert stop_reason(send(client, session, LOOK)) == "end_turn"
    assert data_in(mock.asked[1].body) == []
    assert "plot.png" in str(mock.asked[1].body)
    assert "3x2: this model reads no images]" in str(mock.asked[1].body)
    assert refusal(client, session, LOOK, shown) == (
        "prompt[1].type is 'image', and openai/blind reads no images; choose a model that does"
    )
    assert client.result("session/set_model", {"sessionId": session, "modelId": "openai/mock"}) == {}
    assert stop_reason(send(client, session, LOOK)) == "end_turn"
    assert data_in(mock.asked[2].body) == [shown["data"]], "the image is there again for a model that reads it"


def test_an_image_outlives_a_kill_a_fork_and_its_parent(stage: Stage, mock: MockLlm) -> None:
    client, session = opened(stage, mock, {"text": "ok"}, {"text": "and", "hang": True})
    shown, other = image(png(seed=1)), image(png(seed=2))
    send(client, session, shown)
    client.request("session/prompt", prompting(session, other))
    client.trace.poke()
    client.wait_update("agent_message_chunk", len(client.trace.frames))
    client.agent.signal("KILL")
    assert client.agent.wait_exit(30) == -9
    client = stage.client(None, mock.environment("openai"))
    client.initialize()
    seen = contents(load(client, session, stage.project), "user_message_chunk")
    assert [content["data"] for content in seen] == [shown["data"], other["data"]]
    child = client.result("_acp_server/session/fork", {"sessionId": session})["sessionId"]
    assert client.result("session/delete", {"sessionId": session}) == {}
    mock.script = Script([])
    assert stop_reason(send(client, child, LOOK)) == "end_turn"
    assert data_in(mock.asked[-1].body) == [shown["data"], other["data"]]


@pytest.mark.parametrize("damage", ["missing", "damaged"])
def test_an_image_that_is_lost_is_told_and_stops_nothing(stage: Stage, mock: MockLlm, damage: str) -> None:
    client, session = opened(stage, mock)
    send(client, session, LOOK, image(png(), uri="/p/plot.png"))
    assert client.agent.end() is None
    (kept,) = (folder(stage, session) / "attachments").iterdir()
    if damage == "missing":
        kept.unlink()
    else:
        kept.write_bytes(b"something else")
    client = stage.client(None, mock.environment("openai"))
    client.initialize()
    seen = contents(load(client, session, stage.project), "user_message_chunk")
    assert seen == [LOOK, {"type": "text", "text": "[The image plot.png (image/png, 3 x 2) is not available.]"}]
    assert stop_reason(send(client, session, LOOK)) == "end_turn"
    assert data_in(mock.asked[1].body) == []
    assert "[the image plot.png is not available]" in str(mock.asked[1].body)


def test_an_image_that_the_provider_refuses_is_not_sent_again(stage: Stage, mock: MockLlm) -> None:
    refused: Obj = {"status": 400, "body": '{"error":{"message":"this model does not support images"}}'}
    client, session = opened(stage, mock, {"text": "ok"}, refused, {"text": "fine"})
    send(client, session, LOOK)
    error = client.error("session/prompt", prompting(session, image(png())))
    assert "does not support images" in error["data"]["details"]
    assert stop_reason(send(client, session, LOOK)) == "end_turn"
    assert data_in(mock.asked[2].body) == []
    assert mock.asked[2].messages[: len(mock.asked[0].messages)] == mock.asked[0].messages


def test_prompts_behind_an_image_keep_their_place(stage: Stage, mock: MockLlm) -> None:
    client, session = opened(stage, mock, {"text": "one"}, {"text": "two"}, {"text": "three"})
    idents = [
        client.request("session/prompt", prompting(session, *blocks))
        for blocks in ([image(large_png(4_000_000))], [LOOK], [image(png())])
    ]
    assert [stop_reason(client.answer(ident)) for ident in idents] == ["end_turn"] * 3
    assert [len(data_in(asked.body)) for asked in mock.asked] == [1, 1, 2]


def test_a_cancel_while_an_image_is_kept_leaves_no_prompt(stage: Stage, mock: MockLlm) -> None:
    """The disk hangs until somebody writes into the pipe that stands in the place of the file."""
    client, session = opened(stage, mock)
    send(client, session, LOOK)
    shown = png(seed=9)
    place = folder(stage, session) / "attachments"
    place.mkdir(exist_ok=True)
    pipe = place / attachment_id(shown)
    os.mkfifo(pipe)
    ident = client.request("session/prompt", prompting(session, image(shown)))
    behind = client.request("session/prompt", prompting(session, LOOK))
    client.notify("session/cancel", {"sessionId": session})
    assert stop_reason(client.answer(ident)) == "cancelled"
    threading.Thread(target=lambda: pipe.open("wb").close(), daemon=True).start()
    assert stop_reason(client.answer(behind)) == "cancelled"
    assert len(mock.asked) == 1


def test_the_read_tool_shows_images(stage: Stage, mock: MockLlm) -> None:
    (stage.project / "plot.png").write_bytes(png(40, 30))
    calls: list[Answer] = [{"tool": "read", "args": {"path": "plot.png"}}, {"text": "A plot."}]
    client, session = opened(stage, mock, *calls)
    answer, turn = client.prompt(session, "Look at plot.png.")
    assert stop_reason(answer) == "end_turn"
    data = base64.b64encode(png(40, 30)).decode()
    assert data_in(mock.asked[1].body) == [data]
    words = f"[plot.png: image/png, 40 x 30 pixels, {len(png(40, 30))} bytes; the image follows]"
    assert words in json.dumps(mock.asked[1].body)
    (card,) = client.calls(turn)
    assert card.fields["content"] == [
        {"type": "content", "content": {"type": "text", "text": words}},
        {"type": "content", "content": {"type": "image", "data": data, "mimeType": "image/png"}},
    ]
    before = merged(live(client, session))
    client = again(stage, mock)
    assert merged(load(client, session, stage.project)) == before


def test_a_model_without_eyes_reads_what_an_image_file_is(stage: Stage, mock: MockLlm) -> None:
    stage.environment()
    (stage.state / "settings.toml").write_text('model = "openai/blind"\n' + BLIND, "utf-8")
    (stage.project / "plot.png").write_bytes(png(40, 30))
    mock.script = Script([{"tool": "read", "args": {"path": "plot.png"}}, {"text": "Well."}])
    stage.secrets.append(KEY)
    environment = mock.environment("openai")
    del environment["ACP_SERVER_MODEL"]
    client, session = stage.open(None, environment)
    client.prompt(session, "Look.")
    assert "the model of this session reads no images" in json.dumps(mock.asked[1].body)
    assert list(folder(stage, session).glob("attachments/*")) == []


def test_initialize_offers_images(stage: Stage) -> None:
    offered = stage.client().initialize()["agentCapabilities"]["promptCapabilities"]
    assert offered == {"image": True, "audio": False, "embeddedContext": True}
