"""A wire protocol over a transport: keys, bodies, kinds of answers, and how they end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import cast

import pytest

from acp_server.base.cancel import CancelToken
from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.llm.adapter import Decoder, HttpRequest, ModelInfo, SseEvent
from acp_server.llm.answer_body import EMPTY
from acp_server.llm.failure import LlmError
from acp_server.llm.http_adapter import Endpoint, HttpAdapter, encode_body, usable_key
from acp_server.llm.limits import HttpLimits
from acp_server.messages.chunks import FinishChunk, LlmFailure, StreamChunk, TextDelta
from acp_server.messages.request import GenerateOptions
from tests.unit.llm.fakes import asking, collect
from tests.unit.llm.virtual_time import run

KEY = "sk-mock-SECRETTAIL"
STOP = FinishChunk("stop")


class WordDecoder:
    """Each event is a word; END is the finish, and with `+` before its end a word is the last one already."""

    def __init__(self) -> None:
        self.whole = False
        self.done = False

    @property
    def ended(self) -> bool:
        return self.whole

    def feed(self, event: SseEvent) -> Sequence[StreamChunk]:
        if event.data == "END":
            self.done = True
            return [STOP]
        if event.data.startswith("FAIL "):
            return [FinishChunk("error", LlmFailure("SERVER", event.data[5:]))]
        if event.data == "ping":
            return []
        self.whole = event.data.endswith("+")
        return [TextDelta(0, event.data)]

    def document(self, body: JsonValue) -> Sequence[StreamChunk]:
        self.whole = True
        return [TextDelta(0, json.dumps(body))]

    def finish(self) -> Sequence[StreamChunk]:
        if self.done:
            return []
        return [STOP if self.whole else FinishChunk("error", LlmFailure("STREAM_CLOSED", "closed"))]


class WordWire:
    path = "/words"

    def __init__(self) -> None:
        self.failed_with: Mapping[str, str] = {}

    def headers(self, key: str | None) -> Mapping[str, str]:
        return {} if key is None else {"X-Api-Key": key}

    def encode(self, options: GenerateOptions) -> JsonObject:
        return {"model": options.config.model, "é": "\ud83d"}

    def decoder(self, options: GenerateOptions) -> Decoder:
        assert options.messages
        return WordDecoder()

    def failure(self, status: int, headers: Mapping[str, str], body: bytes) -> LlmFailure:
        self.failed_with = headers
        return LlmFailure(f"HTTP_{status}", f"{len(body)} {body[:40].decode()}", status)


class FakeAnswer:
    def __init__(self, parts: Sequence[bytes | Exception | float], status: int, headers: Mapping[str, str]) -> None:
        self.status = status
        self.headers = headers
        self.parts = parts
        self.closed: list[bool] = []
        self.hurried = False

    async def chunks(self) -> AsyncIterator[bytes]:
        for part in self.parts:
            if isinstance(part, Exception):
                raise part
            if isinstance(part, float):
                await asyncio.sleep(part)
            else:
                yield part

    def hurry(self) -> None:
        self.hurried = True

    async def close(self, *, spent: bool = False) -> None:
        self.closed.append(spent)


class FakeTransport:
    def __init__(self, *parts: bytes | Exception | float, status: int = 200, **headers: str) -> None:
        self.answer = FakeAnswer(parts, status, {k.replace("_", "-"): v for k, v in headers.items()})
        self.sent: list[HttpRequest] = []

    async def post(self, request: HttpRequest, cancel: CancelToken) -> FakeAnswer:
        cancel.raise_if_cancelled()
        self.sent.append(request)
        return self.answer


ENDPOINT = Endpoint("openai", "http://127.0.0.1/v1/", lambda: f" {KEY}\n", "OPENAI_API_KEY")


def adapter(transport: FakeTransport, endpoint: Endpoint = ENDPOINT, limits: HttpLimits | None = None) -> HttpAdapter:
    return HttpAdapter(endpoint, WordWire(), transport, limits=limits)


async def chunks_of(transport: FakeTransport, limits: HttpLimits | None = None) -> list[StreamChunk]:
    return await collect(adapter(transport, limits=limits).stream(asking("x"), CancelToken()))


async def failure_of(transport: FakeTransport, limits: HttpLimits | None = None) -> tuple[str, str]:
    with pytest.raises(LlmError) as caught:
        await chunks_of(transport, limits)
    return caught.value.code, caught.value.message


async def test_the_request_is_strict_json_with_the_key_in_its_header() -> None:
    transport = FakeTransport(b"data: END\n\n")
    await chunks_of(transport)
    (sent,) = transport.sent
    assert sent == HttpRequest(
        "http://127.0.0.1/v1/words",
        {
            "content-type": "application/json",
            "accept": "text/event-stream, application/json",
            "x-api-key": KEY,
        },
        '{"model":"m","é":"\ufffd"}'.encode(),
    )
    assert KEY not in repr(sent)
    assert KEY not in repr(ENDPOINT)


async def test_headers_of_the_settings_win() -> None:
    transport = FakeTransport(b"data: END\n\n")
    endpoint = Endpoint("p", "http://127.0.0.1", lambda: "k", headers={"X-API-Key": "mine", "X-More": "1"})
    await collect(adapter(transport, endpoint).stream(asking("x"), CancelToken()))
    assert {name: transport.sent[0].headers[name] for name in ("x-api-key", "x-more")} == {
        "x-api-key": "mine",
        "x-more": "1",
    }


async def test_a_stream_ends_with_its_finish_and_its_connection_is_kept() -> None:
    transport = FakeTransport(b"data: a\n\ndata: ", b"b\n\ndata: END\n\ndata: late\n\n", OSError("not read"))
    assert await chunks_of(transport) == [TextDelta(0, "a"), TextDelta(0, "b"), STOP]
    assert transport.answer.closed == [True]


async def test_a_server_that_stays_on_the_line_after_the_end_is_not_waited_for() -> None:
    silence = LlmError("TIMEOUT", "Nothing came.")
    transport = FakeTransport(b"data: a\n\n", b"data: b+\n\n", silence)
    assert await chunks_of(transport) == [TextDelta(0, "a"), TextDelta(0, "b+"), STOP]
    assert transport.answer.hurried
    early = FakeTransport(b"data: a\n\n", silence)
    assert await failure_of(early) == ("TIMEOUT", "Nothing came.")
    assert not early.answer.hurried


async def test_a_stream_may_end_without_its_last_blank_line_or_end_mark() -> None:
    assert await chunks_of(FakeTransport(b"data: a\n\ndata: END")) == [TextDelta(0, "a"), STOP]
    assert await chunks_of(FakeTransport(b"data: a+\n\n")) == [TextDelta(0, "a+"), STOP]
    assert await chunks_of(FakeTransport(b"data: a\n\n")) == [
        TextDelta(0, "a"),
        FinishChunk("error", LlmFailure("STREAM_CLOSED", "closed")),
    ]


@pytest.mark.parametrize("kind", ["text/event-stream", "application/json; charset=utf-8"])
async def test_nothing_at_all_is_an_empty_response(kind: str) -> None:
    transport = FakeTransport(b"", content_type=kind)
    assert await chunks_of(transport) == [
        FinishChunk("error", LlmFailure("EMPTY_RESPONSE", "The model server sent an empty answer."))
    ]


async def test_a_connection_that_breaks_after_the_answer_does_no_harm() -> None:
    for code in ("TRANSPORT", "TIMEOUT"):
        broken = LlmError(code, "broken")
        assert await chunks_of(FakeTransport(b"data: a+\n\n", broken)) == [TextDelta(0, "a+"), STOP]
        transport = FakeTransport(b"data: a\n\n", broken)
        assert await failure_of(transport) == (code, "broken")
        assert transport.answer.closed == [False]


async def test_a_document_in_place_of_a_stream() -> None:
    transport = FakeTransport(b'{"a":', b"1}", content_type="application/json")
    assert await chunks_of(transport) == [TextDelta(0, '{"a": 1}'), STOP]
    transport = FakeTransport(b"{}", content_type="application/problem+json")
    assert await chunks_of(transport) == [TextDelta(0, "{}"), STOP]


@pytest.mark.parametrize("kind", ["text/event-stream", "text/plain", "application/json", ""])
async def test_the_first_character_tells_what_an_answer_is(kind: str) -> None:
    document = FakeTransport(b"\xef\xbb", b"\xbf \n", b'{"a":', b"1}", content_type=kind)
    assert await chunks_of(document) == [TextDelta(0, '{"a": 1}'), STOP]
    events = FakeTransport(b"\n: hi\n\n", b"data: a+\n\n", content_type=kind)
    assert await chunks_of(events) == [TextDelta(0, "a+"), STOP]
    page = FakeTransport(b" \n<", b"!doctype html>", content_type=kind)
    assert (await failure_of(page))[0] == "INVALID_RESPONSE"
    assert await chunks_of(FakeTransport(b" \n", content_type=kind)) == [EMPTY]
    cut = FakeTransport(b" ", LlmError("TRANSPORT", "cut"), content_type=kind)
    assert await failure_of(cut) == ("TRANSPORT", "cut")


async def test_documents_that_cannot_be_read() -> None:
    kind = "application/json"
    assert await failure_of(FakeTransport(f"oops {KEY}".encode(), content_type=kind)) == (
        "MALFORMED_RESPONSE",
        "The answer is no JSON: oops [secret]",
    )
    assert await failure_of(FakeTransport(b"[" * 100_000, content_type=kind)) == (
        "MALFORMED_RESPONSE",
        f"The answer is no JSON: {'[' * 120}",
    )
    assert await failure_of(FakeTransport(b"x" * 11, content_type=kind), HttpLimits(document_bytes=10)) == (
        "MALFORMED_RESPONSE",
        "The answer is longer than 10 bytes.",
    )
    assert await failure_of(FakeTransport(b"{", LlmError("TRANSPORT", "cut"), content_type=kind)) == (
        "TRANSPORT",
        "cut",
    )


async def test_a_web_page_in_place_of_a_stream() -> None:
    transport = FakeTransport(b"<html>", content_type="text/html; charset=utf-8")
    assert await failure_of(transport) == (
        "INVALID_RESPONSE",
        "A web page came in place of an answer; check the provider's base URL.",
    )
    assert transport.answer.closed == [False]


async def test_a_refusal_is_told_without_the_key() -> None:
    transport = FakeTransport(b"bad ", KEY.encode(), status=401)
    assert await chunks_of(transport) == [FinishChunk("error", LlmFailure("HTTP_401", "22 bad [secret]", 401))]
    odd = Endpoint("p", "http://127.0.0.1", lambda: "plainword")
    transport = FakeTransport(b"data: FAIL you sent plainword\n\n")
    assert await collect(adapter(transport, odd).stream(asking("x"), CancelToken())) == [
        FinishChunk("error", LlmFailure("SERVER", "you sent [secret]"))
    ]


async def test_a_refusal_is_read_as_far_as_it_comes_and_fits() -> None:
    cut = LlmError("TRANSPORT", "cut")
    assert await chunks_of(FakeTransport(b"half", cut, status=500)) == [
        FinishChunk("error", LlmFailure("HTTP_500", "4 half", 500))
    ]
    transport = FakeTransport(b"x" * 30, OSError("not read"), status=500)
    assert await chunks_of(transport, HttpLimits(error_bytes=20)) == [
        FinishChunk("error", LlmFailure("HTTP_500", f"20 {'x' * 20}", 500))
    ]


async def test_a_refusal_is_dated() -> None:
    dates: list[dict[str, str]] = [{}, {"date": "Sun, 06 Nov 1994 08:49:37 GMT"}]
    for headers in dates:
        wire, transport = WordWire(), FakeTransport(status=429, **headers)
        await collect(HttpAdapter(ENDPOINT, wire, transport).stream(asking("x"), CancelToken()))
        year = parsedate_to_datetime(wire.failed_with["date"]).year
        assert (year == 1994) == bool(headers)


def test_a_line_kept_alive_without_an_event_is_given_up() -> None:
    limits = HttpLimits(progress=100)
    pings = [part for _ in range(9) for part in (60.0, b": ping\n\n", b"data: ping\n\n")]
    assert run(failure_of(FakeTransport(*pings), limits)) == (
        "TIMEOUT",
        "The model server kept the line open for 100 s and said nothing.",
    )
    alive = [part for _ in range(9) for part in (60.0, b": ping\n\n", b"data: a\n\n")]
    assert len(run(chunks_of(FakeTransport(*alive, b"data: END\n\n"), limits))) == 10


def test_keys() -> None:
    def key(text: str | None, *, required: bool = True) -> str | None:
        return usable_key(Endpoint("p", "", lambda: text, "P_KEY", required))

    assert key(" sk-1\r\n") == "sk-1"
    assert key("  ", required=False) is None
    assert usable_key(Endpoint("p", "", key_required=False)) is None


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (None, "MISSING_CREDENTIAL", "No key is set for p (P_KEY)."),
        (" \n", "MISSING_CREDENTIAL", "No key is set for p (P_KEY)."),
        ("sk-🔑", "INVALID_CREDENTIAL", "The key of p (P_KEY) has characters that no key has."),
        ("sk 1", "INVALID_CREDENTIAL", "The key of p (P_KEY) has characters that no key has."),
        ("sk\n1", "INVALID_CREDENTIAL", "The key of p (P_KEY) has characters that no key has."),
    ],
)
async def test_keys_that_cannot_be_used_send_nothing(text: str | None, code: str, words: str) -> None:
    transport = FakeTransport()
    with pytest.raises(LlmError) as caught:
        await collect(adapter(transport, Endpoint("p", "", lambda: text, "P_KEY")).stream(asking("x"), CancelToken()))
    assert (caught.value.code, caught.value.message, transport.sent) == (code, words, [])


def test_bodies_that_are_no_json_are_refused() -> None:
    for wrong in (float("nan"), cast("JsonValue", {1, 2})):
        with pytest.raises(LlmError) as caught:
            encode_body(wrong)
        assert caught.value.code == "INVALID_REQUEST"
    assert encode_body({"a": ["\ud83d\ude00", "\ude00"]}) == '{"a":["😀","\ufffd"]}'.encode()


def test_models_are_known_by_facts_then_by_the_list_then_by_name() -> None:
    known = ModelInfo("any", "listed", "Listed", context_window=5)
    model = HttpAdapter(
        ENDPOINT,
        WordWire(),
        FakeTransport(),
        facts=lambda name: ModelInfo("x", name, "Fact") if name == "fact" else None,
        known=[known],
    )
    assert model.model("openai", "fact") == ModelInfo("openai", "fact", "Fact")
    assert model.model("openai", "listed") == ModelInfo("openai", "listed", "Listed", context_window=5)
    assert model.model("openai", "new") == ModelInfo("openai", "new", "new")
    assert model.models("openai") == (ModelInfo("openai", "listed", "Listed", context_window=5),)
