"""The providers of models that components have registered, and which of them can be used.

Keys, endpoints and the model come from the process's environment and the person's settings, never from a file of the
workspace (docs/settings.md, clause F-7). Values of keys stay with whoever makes a request: nothing here prints one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from acp_server.app.credentials import Credentials
from acp_server.app.model_facts import NO_FACTS, ModelFacts
from acp_server.base.errors import ServerError
from acp_server.base.registered import Registered
from acp_server.base.values import value
from acp_server.llm.adapter import Adapter, ModelInfo, Transport
from acp_server.llm.limits import HttpLimits
from acp_server.llm.retry import RetryPolicy
from acp_server.messages.request import CallConfig

if TYPE_CHECKING:
    from acp_server.app.late_wire import LateWire
    from acp_server.llm.adapters.images import ImageLoader
    from acp_server.llm.http_adapter import Prepare

MODEL_VARIABLE: Final = "ACP_SERVER_MODEL"


@value
class ModelKit:
    """What a provider's adapter may be made of: the one HTTP driver, its limits, facts of the settings.

    `wires` takes the protocol of each provider over HTTP, so that it can be loaded before its first request; `images`
    finds an image's bytes once `prepare` has got a request's images ready.
    """

    transport: Transport
    limits: HttpLimits
    facts: ModelFacts
    wires: dict[str, LateWire]
    images: ImageLoader
    prepare: Prepare


@value
class ProviderEntry:
    """One provider.

    Attributes:
        name: as in `provider/model`.
        make: makes its adapter; called in a thread, once the first turn is near, and again when settings change.
        ready: whether requests can be made: a key is there, or none is needed.
        missing: what is missing while it is not ready, in words: "Set NAME".
        default_model: the model that is used when nobody names one; None: the provider is never chosen by itself.
        key_name: what holds its key: a variable, a file, a command; None when it wants none.
        only_named: whether it answers only when the person has named it, as the scripted models do.
        models: returns the models worth offering.
        known: returns what is known about a model, or None.
    """

    name: str
    make: Callable[[ModelKit], Adapter]
    ready: Callable[[], bool] = lambda: True
    missing: str = "Nothing"
    default_model: str | None = None
    key_name: str | None = None
    only_named: bool = False
    models: Callable[[ModelFacts], Sequence[ModelInfo]] = lambda _facts: ()
    known: Callable[[ModelFacts, str], ModelInfo | None] = lambda _facts, _model: None


@value
class ModelOffer:
    """Everything that decides which adapters there are and how they are used."""

    entries: tuple[ProviderEntry, ...]
    http: HttpLimits
    retry: RetryPolicy
    facts: ModelFacts


class ConfiguredModels:
    """The models that the process can reach; see acp.access.Models."""

    def __init__(
        self,
        environment: Mapping[str, str],
        entries: Registered[ProviderEntry],
        defaults: Registered[CallConfig],
        check: Callable[[], None] = lambda: None,
        facts: Callable[[], ModelFacts] = lambda: NO_FACTS,
    ) -> None:
        self._facts = facts
        self._environment = environment
        self._entries = entries
        self._defaults = defaults
        self._check = check

    def default(self) -> CallConfig | None:
        """Return the named model when its provider is ready, else the first provider's that is, else None.

        The environment names before the settings do.

        Raises:
            ServerError: INVALID_MODEL when the named model is malformed or its provider unknown; what keeps the
                process from working at all.
        """
        self._check()
        named = self._environment.get(MODEL_VARIABLE, "").strip()
        if named:
            return self._named(_parsed(named), MODEL_VARIABLE)
        setting = self._defaults.last
        if setting is not None:
            return self._named(setting, "The setting model")
        for entry in self._entries.items:
            if entry.default_model is not None and entry.ready():
                return CallConfig(entry.name, entry.default_model)
        return None

    def usable(self, config: CallConfig) -> bool:
        """Return whether the provider is known and ready; a scripted one only when it was named."""
        entry = self._entries.find(config.provider)
        if entry is None:
            return False
        if entry.only_named:
            named = self._environment.get(MODEL_VARIABLE, "").strip().partition("/")[0]
            setting = self._defaults.last
            return entry.name in (named, setting.provider if setting is not None else "")
        return entry.ready()

    def offered(self) -> tuple[ModelInfo, ...]:
        """Return the models of every provider that is ready, in the providers' order."""
        facts = self._facts()
        ready = (entry for entry in self._entries.items if self.usable(CallConfig(entry.name, "")))
        return tuple(model for entry in ready for model in entry.models(facts))

    def info(self, config: CallConfig) -> ModelInfo:
        """Return what is known about a model; of an unknown one only its name is."""
        entry = self._entries.find(config.provider)
        known = None if entry is None else entry.known(self._facts(), config.model)
        return known or ModelInfo(config.provider, config.model, config.model)

    def key_name(self, provider: str) -> str | None:
        """Return what holds the provider's key, as a person would call it, or None when it wants none."""
        entry = self._entries.find(provider)
        return None if entry is None else entry.key_name

    def missing(self) -> str:
        """Return what is missing, and what is wrong with the stored keys if anything is."""
        wrong = Credentials(self._environment).problem()
        return self._what_is_missing() if wrong is None else f"{wrong} {self._what_is_missing()}"

    def _what_is_missing(self) -> str:
        named = self._environment.get(MODEL_VARIABLE, "").strip()
        if not named and self._defaults.last is not None:
            named = f"{self._defaults.last.provider}/{self._defaults.last.model}"
        entry = self._entries.find(named.partition("/")[0])
        if entry is not None:
            return f"{entry.missing} to use the model {named}."
        ways = dict.fromkeys(entry.missing for entry in self._entries.items if entry.default_model is not None)
        names = ", ".join(way.removeprefix("Set ") for way in ways)
        return f"Set one of {names}, run `acp-server login`, or choose the demo model."

    def forget(self) -> None:
        """Take every stored key away; raise ServerError when that fails. Keys of the environment stay."""
        Credentials(self._environment).forget()

    def _named(self, config: CallConfig, who: str) -> CallConfig | None:
        entry = self._entries.find(config.provider)
        if entry is None:
            known = ", ".join(entry.name for entry in self._entries.items)
            raise ServerError("INVALID_MODEL", f"{who} names the provider {config.provider!r}; known are {known}.")
        return config if entry.ready() else None


def _parsed(named: str) -> CallConfig:
    provider, slash, model = named.partition("/")
    if not slash or not provider or not model:
        raise ServerError("INVALID_MODEL", f"{MODEL_VARIABLE} is {named!r}; it must be provider/model.")
    return CallConfig(provider, model)
