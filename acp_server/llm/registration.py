"""Which adapter serves which provider, and who hears of changes (docs/llm.md, clauses A-5 to A-8).

Owns the table of routes. Every change is checked whole before anything is touched; listeners are told afterwards, and
a listener that fails harms neither the change nor the others.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, runtime_checkable

from acp_server.base.values import value
from acp_server.llm.adapter import Adapter, ModelInfo
from acp_server.llm.failure import LlmError
from acp_server.llm.retry import RetryPolicy

_LOG = logging.getLogger(__name__)
_NAME = re.compile(r"[^\s/]{1,100}")


@runtime_checkable
class Listing(Protocol):
    """An adapter that can say which models there are; the list is advice, other models may work."""

    def models(self, provider: str) -> Sequence[ModelInfo]:
        """Return the known models of one of its providers, without any I/O."""
        ...


@value
class Route:
    """One provider's way: the adapter and the retry policy it was registered with."""

    adapter: Adapter
    retry: RetryPolicy


class Routes:
    """Providers in order of registration."""

    def __init__(self) -> None:
        self._routes: dict[str, tuple[Registration, Route]] = {}
        self._listeners: dict[object, Callable[[], None]] = {}

    def __getitem__(self, provider: str) -> Route:
        """Return the provider's route; raise LlmError NO_ADAPTER."""
        entry = self._routes.get(provider)
        if entry is None:
            known = ", ".join(self._routes) or "none"
            raise LlmError("NO_ADAPTER", f"There is no provider {provider!r}; the known ones are: {known}.")
        return entry[1]

    def providers(self) -> tuple[str, ...]:
        """Return the providers that have a route."""
        return tuple(self._routes)

    def owned_by(self, adapter: Adapter) -> frozenset[str]:
        """Return the providers that this very adapter serves."""
        return frozenset(name for name, (_, route) in self._routes.items() if route.adapter is adapter)

    def register(self, providers: Iterable[str], adapter: Adapter, retry: RetryPolicy) -> Registration:
        """Give the providers to the adapter, all or none.

        Raises:
            LlmError: INVALID_ADAPTER, no provider, a name that is blank, has blanks or a slash, or no adapter at all;
                DUPLICATE_ADAPTER, a provider is taken or named twice.
        """
        names = tuple(providers)
        if not names:
            raise LlmError("INVALID_ADAPTER", "An adapter needs at least one provider.")
        registration = Registration(self, retry)
        self.assign(registration, names, Route(adapter, retry))
        return registration

    def assign(self, registration: Registration, names: Sequence[str], route: Route) -> None:
        """Put the names in the place of all that the registration holds; see `register` for what is refused."""
        if not (callable(getattr(route.adapter, "stream", None)) and callable(getattr(route.adapter, "model", None))):
            raise LlmError("INVALID_ADAPTER", "An adapter needs the methods model and stream.")
        for name in names:
            if not _NAME.fullmatch(name):
                raise LlmError("INVALID_ADAPTER", f"{name!r} is no name for a provider.")
        for name in names:
            if names.count(name) > 1 or self._routes.get(name, (registration,))[0] is not registration:
                raise LlmError("DUPLICATE_ADAPTER", f"The provider {name!r} has an adapter already.")
        kept = {name: entry for name, entry in self._routes.items() if entry[0] is not registration}
        self._routes = kept | dict.fromkeys(names, (registration, route))
        self._tell()

    def drop(self, registration: Registration) -> None:
        """Take away all that the registration holds."""
        self._routes = {name: entry for name, entry in self._routes.items() if entry[0] is not registration}
        self._tell()

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after every change; return what ends that."""
        key = object()
        self._listeners[key] = listener

        def end() -> None:
            self._listeners.pop(key, None)

        return end

    def _tell(self) -> None:
        for listener in tuple(self._listeners.values()):
            try:
                listener()
            except Exception as error:  # noqa: BLE001 - an observer's failure is its own
                _LOG.warning("A listener to the providers failed with %s.", type(error).__name__)


class Registration:
    """What one `register` gave, to change it or to end it."""

    def __init__(self, routes: Routes, retry: RetryPolicy) -> None:
        self._routes = routes
        self._retry = retry
        self._disposed = False

    def replace(self, providers: Iterable[str], adapter: Adapter) -> None:
        """Put these providers, maybe none, with this adapter in the place of those before, all or nothing.

        Raises:
            LlmError: REGISTRATION_DISPOSED; else as `Routes.register`, with everything left as it was.
        """
        if self._disposed:
            raise LlmError("REGISTRATION_DISPOSED", "The adapter was taken away before.")
        self._routes.assign(self, tuple(providers), Route(adapter, self._retry))

    def dispose(self) -> None:
        """Take the providers away; harmless when done before. Calls that were prepared go on."""
        if not self._disposed:
            self._disposed = True
            self._routes.drop(self)
