"""A provider over HTTP: a wire protocol's pure halves joined with the driver (docs/llm.md, clauses H-1 to H-8).

Owns the order of one call: key, body, head, body of the answer. Knows no protocol, and hands the key to nobody but the
transport.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from acp_server.base.cancel import CancelToken
from acp_server.base.json_value import JsonValue
from acp_server.base.values import replace
from acp_server.llm.adapter import HttpRequest, ModelInfo, Transport, WireProtocol
from acp_server.llm.answer_body import body_of
from acp_server.llm.failure import LlmError, mask_secrets
from acp_server.llm.limits import HttpLimits
from acp_server.llm.trace_context import current
from acp_server.messages.chunks import FinishChunk, StreamChunk
from acp_server.messages.request import GenerateOptions

Prepare: TypeAlias = Callable[[GenerateOptions, CancelToken], Awaitable[None]]
"""Gets ready what the body will hold; nothing else is awaited between its return and the encoding."""
KeySource: TypeAlias = Callable[[], str | None]
Facts: TypeAlias = Callable[[str], ModelInfo | None]


async def nothing_to_prepare(_options: GenerateOptions, _cancel: CancelToken) -> None:
    """Return: the body needs nothing but the request."""


def no_key() -> None:
    """Return None: the server wants no key."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where one provider is and how it is entered.

    Attributes:
        provider: its id.
        base_url: the wire protocol's path is joined to it.
        key: asked once a call; None or blank text means that there is no key.
        key_variable: the environment variable that a person would set, to name it in failures.
        key_required: whether a call without a key is refused.
        headers: further headers of the settings; they win over the protocol's own.
    """

    provider: str
    base_url: str
    key: KeySource = field(default=no_key, repr=False)
    key_variable: str | None = None
    key_required: bool = True
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


class HttpAdapter:
    """One provider; see Adapter. `facts` knows models by name, `known` are those worth listing."""

    def __init__(
        self,
        endpoint: Endpoint,
        wire: WireProtocol,
        transport: Transport,
        *,
        facts: Facts = lambda _model: None,
        known: Sequence[ModelInfo] = (),
        limits: HttpLimits | None = None,
        prepare: Prepare = nothing_to_prepare,
    ) -> None:
        self._prepare = prepare
        self._endpoint = endpoint
        self._wire = wire
        self._transport = transport
        self._facts = facts
        self._known = tuple(known)
        self._limits = HttpLimits() if limits is None else limits

    def models(self, provider: str) -> tuple[ModelInfo, ...]:
        """Return the models worth listing."""
        return tuple(replace(info, provider=provider) for info in self._known)

    def model(self, provider: str, model: str) -> ModelInfo:
        """Return what is known; a model that nobody knows works, with everything unknown."""
        info = self._facts(model) or next((info for info in self._known if info.id == model), None)
        return ModelInfo(provider, model, model) if info is None else replace(info, provider=provider)

    async def stream(self, options: GenerateOptions, cancel: CancelToken) -> AsyncIterator[StreamChunk]:
        """See Adapter.

        Raises:
            LlmError: MISSING_CREDENTIAL, INVALID_CREDENTIAL, what the encoder refuses, what the transport meets,
                EMPTY_RESPONSE, MALFORMED_RESPONSE, INVALID_RESPONSE, TIMEOUT.
            Cancelled: the token was cancelled first.
        """
        key = usable_key(self._endpoint)
        await self._prepare(options, cancel)
        answer = await self._transport.post(self._request(options, key), cancel)
        spent = False
        try:
            body = body_of(answer.status, _dated(answer.headers), self._wire, options, self._limits)
            progress = Progress(self._limits.progress)
            try:
                async for data in answer.chunks():
                    chunks = body.feed(data)
                    if body.ended:
                        answer.hurry()
                    if not chunks:
                        progress.stalled()
                        continue
                    progress.made()
                    for chunk in chunks:
                        if type(chunk) is FinishChunk:
                            spent = True
                            yield _masked(chunk, key)
                            return
                        yield chunk
                chunks = body.end()
            except LlmError as error:
                chunks = body.broken(error)
            for chunk in chunks:
                yield _masked(chunk, key) if isinstance(chunk, FinishChunk) else chunk
        finally:
            await answer.close(spent=spent)

    def _request(self, options: GenerateOptions, key: str | None) -> HttpRequest:
        headers = {"content-type": "application/json", "accept": "text/event-stream, application/json"}
        for more in (current.get(), self._wire.headers(key), self._endpoint.headers):
            headers |= {name.lower(): value for name, value in more.items()}
        url = f"{self._endpoint.base_url.rstrip('/')}/{self._wire.path.lstrip('/')}"
        return HttpRequest(url, headers, encode_body(self._wire.encode(options)))


class Progress:
    """Ends a stream that is kept alive without an event for too long: bytes alone are no progress."""

    __slots__ = ("_clock", "_limit", "_since")

    def __init__(self, limit: float) -> None:
        self._clock = asyncio.get_running_loop().time
        self._limit = limit
        self._since: float | None = None

    def made(self) -> None:
        """Begin anew: something came."""
        self._since = None

    def stalled(self) -> None:
        """Note that bytes came and no chunk; raise LlmError TIMEOUT when that has been so for too long."""
        if self._since is None:
            self._since = self._clock()
        elif self._clock() - self._since > self._limit:
            raise LlmError("TIMEOUT", f"The model server kept the line open for {self._limit:g} s and said nothing.")


def usable_key(endpoint: Endpoint) -> str | None:
    """Return the endpoint's key without blanks around it, or None when there is none and none is needed.

    Raises:
        LlmError: MISSING_CREDENTIAL; INVALID_CREDENTIAL, it has characters that no header can carry. Neither shows it.
    """
    key = (endpoint.key() or "").strip()
    name = endpoint.key_variable or "its key"
    if not key:
        if endpoint.key_required:
            raise LlmError("MISSING_CREDENTIAL", f"No key is set for {endpoint.provider} ({name}).")
        return None
    if not all("\x21" <= character <= "\x7e" for character in key):
        raise LlmError("INVALID_CREDENTIAL", f"The key of {endpoint.provider} ({name}) has characters that no key has.")
    return key


def encode_body(body: JsonValue) -> bytes:
    """Return strict JSON in UTF-8; halves of surrogate pairs become U+FFFD.

    Raises:
        LlmError: INVALID_REQUEST, the value holds something that is no JSON.
    """
    try:
        text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise LlmError("INVALID_REQUEST", "The request holds a value that JSON cannot say.") from error
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def _dated(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Return the headers with a date, ours where the server gave none, so that a Retry-After date can be counted."""
    if "date" in headers:
        return headers
    from email.utils import formatdate  # noqa: PLC0415 - 10 ms that only a server without a clock costs

    return {**headers, "date": formatdate(usegmt=True)}


def _masked(finish: FinishChunk, key: str | None) -> FinishChunk:
    if finish.failure is None:
        return finish
    return replace(finish, failure=replace(finish.failure, message=mask_secrets(finish.failure.message, (key,))))
