"""The model runtime: from a choice of model to one answer's stream (docs/llm.md, clauses A-1 to A-12).

Owns resolution of a call and its one-shot use. Routes are `registration`'s, the ends of streams `boundary`'s, whether
to try again `retry`'s matter.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Final

from acp_server.base.cancel import CancelToken
from acp_server.base.values import replace
from acp_server.llm.adapter import Adapter, ModelInfo
from acp_server.llm.boundary import bounded, failure_of
from acp_server.llm.failure import LlmError
from acp_server.llm.fitting import fit_request
from acp_server.llm.registration import Listing, Registration, Route, Routes
from acp_server.llm.retry import RetryPolicy
from acp_server.messages.chunks import StreamChunk
from acp_server.messages.request import CallConfig, GenerateOptions

DEFAULT_RETRY: Final = RetryPolicy()


class PreparedCall:
    """One model request to come, bound to the adapter that was registered when it was prepared.

    Attributes:
        config: the choice with the model's own default effort filled in; the request has to carry exactly this.
        model: what is known about the model.
        retry_policy: whether a failure of this call is worth another one.
    """

    __slots__ = ("_adapter", "_owned", "_used", "config", "model", "retry_policy")

    def __init__(self, config: CallConfig, model: ModelInfo, route: Route, owned: frozenset[str]) -> None:
        self.config = config
        self.model = model
        self.retry_policy = route.retry
        self._adapter = route.adapter
        self._owned = owned
        self._used = False

    def stream(self, options: GenerateOptions, cancel: CancelToken) -> AsyncGenerator[StreamChunk, None]:
        """Return the answer as it comes; it always ends with exactly one FinishChunk and raises nothing.

        Raises:
            LlmError: INVALID_PREPARED_CALL, at once, when it was used before or `options` carries another config.
        """
        if self._used:
            raise LlmError("INVALID_PREPARED_CALL", "A prepared call can be used once only.")
        if options.config != self.config:
            raise LlmError("INVALID_PREPARED_CALL", "The request differs from the call that was prepared.")
        self._used = True
        return bounded(self._adapter, fit_request(options, self.model, self._owned), cancel)


class LlmRuntime:
    """All providers of one process."""

    def __init__(self) -> None:
        self._routes = Routes()

    def register(self, providers: Iterable[str], adapter: Adapter, retry: RetryPolicy = DEFAULT_RETRY) -> Registration:
        """Let the adapter serve these providers, all or none; see `Routes.register` for what is refused."""
        return self._routes.register(providers, adapter, retry)

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after every change of the providers; return what ends that. Its failures are contained."""
        return self._routes.subscribe(listener)

    def providers(self) -> tuple[str, ...]:
        """Return the providers in order of registration."""
        return self._routes.providers()

    def models(self) -> tuple[ModelInfo, ...]:
        """Return the models that adapters list, by provider; an adapter that fails to list is left out."""
        found: list[ModelInfo] = []
        for provider in self._routes.providers():
            adapter = self._routes[provider].adapter
            if isinstance(adapter, Listing):
                try:
                    found.extend(adapter.models(provider))
                except Exception:  # noqa: BLE001, S112 - one broken adapter never breaks the list
                    continue
        return tuple(found)

    def model(self, provider: str, model: str) -> ModelInfo:
        """Return what is known about a model.

        Raises:
            LlmError: NO_ADAPTER, UNKNOWN_MODEL, INVALID_MODEL_INFO, or UNKNOWN when the adapter itself fails.
        """
        return _resolve(self._routes[provider], provider, model)

    def prepare(self, config: CallConfig) -> PreparedCall:
        """Return a call that is bound to the adapter of this moment.

        Raises:
            LlmError: as `model`; UNSUPPORTED_REASONING_EFFORT, since an effort is never changed silently.
        """
        route = self._routes[config.provider]
        model = _resolve(route, config.provider, config.model)
        if config.reasoning_effort is None:
            config = replace(config, reasoning_effort=model.default_effort)
        elif config.reasoning_effort not in model.efforts:
            offered = ", ".join(model.efforts) or "none"
            raise LlmError(
                "UNSUPPORTED_REASONING_EFFORT",
                f"{model.id} does not offer the effort {config.reasoning_effort!r}; it offers: {offered}.",
            )
        return PreparedCall(config, model, route, self._routes.owned_by(route.adapter))


def _resolve(route: Route, provider: str, model: str) -> ModelInfo:
    try:
        info = route.adapter.model(provider, model)
    except LlmError:
        raise
    except Exception as error:
        failure = failure_of(error)
        raise LlmError(failure.code, failure.message) from error
    sizes = (info.context_window, info.max_output_tokens)
    if (
        (info.provider, info.id) != (provider, model)
        or any(size is not None and size <= 0 for size in sizes)
        or (info.default_effort is not None and info.default_effort not in info.efforts)
    ):
        raise LlmError("INVALID_MODEL_INFO", f"What is known about {provider}/{model} contradicts itself.")
    return info
