"""Registration is all or nothing, prepared calls are bound and used once, requests fit the model."""

from __future__ import annotations

import pytest

from acp_server.base.cancel import CancelToken
from acp_server.base.values import replace
from acp_server.llm.adapter import ModelInfo
from acp_server.llm.failure import LlmError
from acp_server.llm.fitting import fit_request
from acp_server.llm.retry import NO_RETRY, RetryPolicy
from acp_server.llm.runtime import LlmRuntime
from acp_server.messages.blocks import (
    ImageBlock,
    Message,
    ModelSource,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolSource,
)
from acp_server.messages.chunks import FinishChunk, TextDelta
from acp_server.messages.request import CallConfig
from tests.unit.llm.fakes import FakeAdapter, asking, collect

INFO = ModelInfo("p", "m", "M", efforts=("low", "high"), default_effort="high")


class ListingAdapter(FakeAdapter):
    def models(self, provider: str) -> tuple[ModelInfo, ...]:
        return (ModelInfo(provider, "one", "One"),)


class BrokenListing(FakeAdapter):
    def models(self, provider: str) -> tuple[ModelInfo, ...]:
        raise ValueError(provider)


def code_of(caught: pytest.ExceptionInfo[LlmError]) -> str:
    return caught.value.code


@pytest.mark.parametrize(
    ("names", "code"),
    [
        ([], "INVALID_ADAPTER"),
        ([""], "INVALID_ADAPTER"),
        (["a b"], "INVALID_ADAPTER"),
        (["a/b"], "INVALID_ADAPTER"),
        (["new", "new"], "DUPLICATE_ADAPTER"),
        (["new", "taken"], "DUPLICATE_ADAPTER"),
    ],
)
def test_a_refused_registration_leaves_nothing(names: list[str], code: str) -> None:
    runtime = LlmRuntime()
    runtime.register(["taken"], FakeAdapter())
    told: list[int] = []
    runtime.subscribe(lambda: told.append(1))
    with pytest.raises(LlmError) as caught:
        runtime.register(names, FakeAdapter())
    assert (code_of(caught), runtime.providers(), told) == (code, ("taken",), [])


def test_what_is_no_adapter_is_refused() -> None:
    with pytest.raises(LlmError) as caught:
        LlmRuntime().register(["p"], object())  # type: ignore[arg-type]  # a plugin may give anything
    assert code_of(caught) == "INVALID_ADAPTER"


def test_a_registration_is_replaced_whole_or_not_at_all() -> None:
    runtime, adapter = LlmRuntime(), FakeAdapter()
    other = runtime.register(["other"], FakeAdapter())
    registration = runtime.register(["a", "b"], adapter)
    registration.replace(["b", "c"], adapter)
    assert runtime.providers() == ("other", "b", "c")
    with pytest.raises(LlmError) as caught:
        registration.replace(["d", "other"], adapter)
    assert (code_of(caught), runtime.providers()) == ("DUPLICATE_ADAPTER", ("other", "b", "c"))
    registration.replace([], adapter)
    assert runtime.providers() == ("other",)
    other.dispose()
    other.dispose()
    assert runtime.providers() == ()
    with pytest.raises(LlmError) as caught:
        other.replace(["x"], adapter)
    assert code_of(caught) == "REGISTRATION_DISPOSED"


def test_listeners_hear_of_changes_and_cannot_hinder_them(caplog: pytest.LogCaptureFixture) -> None:
    runtime = LlmRuntime()
    seen: list[tuple[str, ...]] = []

    def broken() -> None:
        raise ValueError("listener")

    runtime.subscribe(broken)
    end = runtime.subscribe(lambda: seen.append(runtime.providers()))
    registration = runtime.register(["a"], FakeAdapter())
    registration.replace(["b"], FakeAdapter())
    registration.dispose()
    registration.dispose()
    end()
    runtime.register(["c"], FakeAdapter())
    assert seen == [("a",), ("b",), ()]
    assert caplog.messages == ["A listener to the providers failed with ValueError."] * 4


def test_models_are_those_that_adapters_list() -> None:
    runtime = LlmRuntime()
    runtime.register(["quiet"], FakeAdapter())
    runtime.register(["broken"], BrokenListing())
    runtime.register(["x", "y"], ListingAdapter())
    assert runtime.models() == (ModelInfo("x", "one", "One"), ModelInfo("y", "one", "One"))


def test_preparing_resolves_the_model_and_fills_its_effort() -> None:
    runtime = LlmRuntime()
    runtime.register(["p"], FakeAdapter(info=INFO), NO_RETRY)
    call = runtime.prepare(CallConfig("p", "m"))
    assert (call.config, call.model, call.retry_policy) == (CallConfig("p", "m", "high"), INFO, NO_RETRY)
    assert runtime.prepare(CallConfig("p", "m", "low")).config == CallConfig("p", "m", "low")
    assert runtime.model("p", "m") == INFO
    runtime.register(["q"], FakeAdapter())
    assert runtime.prepare(CallConfig("q", "m")).retry_policy == RetryPolicy()


@pytest.mark.parametrize(
    ("config", "info", "code"),
    [
        (CallConfig("nobody", "m"), None, "NO_ADAPTER"),
        (CallConfig("p", "m", "max"), INFO, "UNSUPPORTED_REASONING_EFFORT"),
        (CallConfig("p", "m", "low"), None, "UNSUPPORTED_REASONING_EFFORT"),
        (CallConfig("p", "m"), ModelInfo("p", "other", "M"), "INVALID_MODEL_INFO"),
        (CallConfig("p", "m"), ModelInfo("p", "m", "M", context_window=0), "INVALID_MODEL_INFO"),
        (CallConfig("p", "m"), ModelInfo("p", "m", "M", default_effort="x"), "INVALID_MODEL_INFO"),
    ],
)
def test_what_cannot_be_prepared(config: CallConfig, info: ModelInfo | None, code: str) -> None:
    runtime = LlmRuntime()
    runtime.register(["p"], FakeAdapter(info=info))
    with pytest.raises(LlmError) as caught:
        runtime.prepare(config)
    assert code_of(caught) == code


def test_an_adapter_that_fails_to_resolve_fails_without_secrets() -> None:
    class Failing(FakeAdapter):
        def model(self, provider: str, model: str) -> ModelInfo:
            if model == "unknown":
                raise LlmError("UNKNOWN_MODEL", "no")
            raise ValueError(f"key sk-{provider}-SECRET refused")

    runtime = LlmRuntime()
    runtime.register(["p"], Failing())
    with pytest.raises(LlmError) as caught:
        runtime.prepare(CallConfig("p", "unknown"))
    assert code_of(caught) == "UNKNOWN_MODEL"
    with pytest.raises(LlmError) as caught:
        runtime.prepare(CallConfig("p", "m"))
    assert (code_of(caught), caught.value.message) == ("UNKNOWN", "key [secret] refused")


async def test_a_prepared_call_is_used_once_and_as_prepared() -> None:
    adapter = FakeAdapter([TextDelta(0, "hi"), FinishChunk("stop")])
    runtime = LlmRuntime()
    registration = runtime.register(["p"], adapter)
    call = runtime.prepare(CallConfig("p", "m"))
    with pytest.raises(LlmError) as caught:
        call.stream(replace(asking("x"), config=CallConfig("p", "m", temperature=0.5)), CancelToken())
    assert code_of(caught) == "INVALID_PREPARED_CALL"
    registration.dispose()
    assert await collect(call.stream(asking("x"), CancelToken())) == [TextDelta(0, "hi"), FinishChunk("stop")]
    with pytest.raises(LlmError) as caught:
        call.stream(asking("x"), CancelToken())
    assert (code_of(caught), len(adapter.asked)) == ("INVALID_PREPARED_CALL", 1)


IMAGE = ImageBlock("sha256:0123456789abcdef", "image/png", 10, 640, 480, "shot.png")
PLACEHOLDER = TextBlock("[image shot.png 0123456789ab, image/png, 640x480: this model reads no images]")


def test_images_become_words_for_a_model_that_reads_none() -> None:
    result = ToolResultBlock("c", (TextBlock("r"), IMAGE))
    options = asking("look", IMAGE)
    options = replace(options, messages=(*options.messages, Message("m-2", "user", (result,), ToolSource("c"))))
    blind = ModelInfo("p", "m", "M", input_modalities=frozenset({"text"}))
    fitted = fit_request(options, blind, frozenset())
    assert [message.content for message in fitted.messages] == [
        (TextBlock("look"), PLACEHOLDER),
        (ToolResultBlock("c", (TextBlock("r"), PLACEHOLDER)),),
    ]
    assert fit_request(options, ModelInfo("p", "m", "M"), frozenset()) is options
    seeing = ModelInfo("p", "m", "M", input_modalities=frozenset({"text", "image"}))
    assert fit_request(options, seeing, frozenset()) is options
    assert fit_request(asking("no image"), blind, frozenset()).messages == asking("no image").messages


async def test_private_state_is_given_to_its_own_adapter_only() -> None:
    own = FakeAdapter([TextDelta(0, "x"), FinishChunk("stop")])
    runtime = LlmRuntime()
    runtime.register(["p", "sister"], own)
    runtime.register(["stranger"], FakeAdapter())
    call = ToolCallBlock("c", "n", "{}")
    history = tuple(
        Message(name, "assistant", (call,), ModelSource(name, "m", {"state": name}))
        for name in ("p", "sister", "stranger", "gone")
    )
    options = replace(asking("x"), messages=history)
    await collect(runtime.prepare(options.config).stream(options, CancelToken()))
    assert [message.source for message in own.asked[0].messages] == [
        ModelSource("p", "m", {"state": "p"}),
        ModelSource("sister", "m", {"state": "sister"}),
        ModelSource("stranger", "m"),
        ModelSource("gone", "m"),
    ]
    assert own.asked[0].messages[0] is history[0]
