"""The providers that are known without any setting, and which of them has a key in the environment.

Keys, endpoints and the model come from the process's environment alone, never from a file of the workspace
(docs/threats.md). Values of keys stay in this module's callers' hands: nothing here prints one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from acp_server.base.errors import ServerError
from acp_server.base.values import value
from acp_server.messages.request import CallConfig

Protocol: TypeAlias = Literal["chat", "responses", "messages"]
MODEL_VARIABLE: Final = "ACP_SERVER_MODEL"
SCRIPTED: Final = "scripted"


@value
class Provider:
    """One provider: its wire protocol, where it is, and where its key is found."""

    name: str
    protocol: Protocol
    key_variable: str
    url_variable: str
    default_url: str
    default_model: str
    catalog: str
    """Under which provider the catalogue holds its models."""

    def key(self, environment: Mapping[str, str]) -> str | None:
        """Return the key, or None when the variable is missing or blank."""
        return environment.get(self.key_variable, "").strip() or None

    def url(self, environment: Mapping[str, str]) -> str:
        """Return the base URL without a slash at its end."""
        return (environment.get(self.url_variable, "").strip() or self.default_url).rstrip("/")


PROVIDERS: Final = (
    Provider(
        name="deepseek",
        protocol="chat",
        key_variable="DEEPSEEK_API_KEY",
        url_variable="DEEPSEEK_BASE_URL",
        default_url="https://api.deepseek.com",
        default_model="deepseek-flash",
        catalog="deepseek",
    ),
    Provider(
        name="anthropic",
        protocol="messages",
        key_variable="ANTHROPIC_API_KEY",
        url_variable="ANTHROPIC_BASE_URL",
        default_url="https://api.anthropic.com",
        default_model="claude-sonnet-5-5",
        catalog="anthropic",
    ),
    Provider(
        name="openai",
        protocol="chat",
        key_variable="OPENAI_API_KEY",
        url_variable="OPENAI_BASE_URL",
        default_url="https://api.openai.com/v1",
        default_model="gpt-5.6",
        catalog="openai",
    ),
    Provider(
        name="openai-responses",
        protocol="responses",
        key_variable="OPENAI_API_KEY",
        url_variable="OPENAI_BASE_URL",
        default_url="https://api.openai.com/v1",
        default_model="gpt-5.6",
        catalog="openai",
    ),
)
"""In the order in which a key decides, when no model is named."""


class EnvironmentModels:
    """The models that the environment gives access to."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def default(self) -> CallConfig | None:
        """Return the named model when its provider has a key, else the first provider's with one, else None.

        Raises:
            ServerError: INVALID_MODEL when ACP_SERVER_MODEL is malformed or names an unknown provider.
        """
        named = self._environment.get(MODEL_VARIABLE, "").strip()
        if named:
            return self._named(named)
        for provider in PROVIDERS:
            if provider.key(self._environment) is not None:
                return CallConfig(provider.name, provider.default_model)
        return None

    def usable(self, config: CallConfig) -> bool:
        """Return whether the provider is known and has a key; the scripted one only when it was named."""
        if config.provider == SCRIPTED:
            return self._environment.get(MODEL_VARIABLE, "").strip().startswith(f"{SCRIPTED}/")
        keyed = {provider.name for provider in PROVIDERS if provider.key(self._environment) is not None}
        return config.provider in keyed

    def missing(self) -> str:
        """Return one sentence that says which key is missing."""
        named = self._environment.get(MODEL_VARIABLE, "").strip()
        name = named.partition("/")[0]
        for provider in PROVIDERS:
            if provider.name == name:
                return f"Set {provider.key_variable} to use the model {named}."
        variables = list(dict.fromkeys(provider.key_variable for provider in PROVIDERS))
        return f"Set one of {', '.join(variables)}, or choose the demo model."

    def _named(self, named: str) -> CallConfig | None:
        name, slash, model = named.partition("/")
        if not slash or not name or not model:
            raise ServerError("INVALID_MODEL", f"{MODEL_VARIABLE} is {named!r}; it must be provider/model.")
        if name == SCRIPTED:
            return CallConfig(SCRIPTED, model)
        for provider in PROVIDERS:
            if provider.name == name:
                return None if provider.key(self._environment) is None else CallConfig(name, model)
        known = ", ".join([SCRIPTED, *(provider.name for provider in PROVIDERS)])
        raise ServerError("INVALID_MODEL", f"{MODEL_VARIABLE} names the provider {name!r}; known are {known}.")
