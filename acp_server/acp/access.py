"""Who answers this connection's prompts: a provider with a key, or the demo model when the person opened it.

Owns the state of `authenticate` and `logout` for one connection (docs/protocol.md, clauses A-01 to A-14). What keys
there are is told by the port `Models`; nothing here sees a key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from acp_server.acp.failures import auth_required, invalid, refused
from acp_server.acp.handshake import AUTH_METHODS
from acp_server.base.errors import ServerError
from acp_server.base.values import record
from acp_server.jsonrpc.errors import RpcError
from acp_server.llm.adapter import ModelInfo
from acp_server.llm.explain import CallPlace
from acp_server.llm.scripted.models import scripted_model
from acp_server.messages.request import CallConfig

DEMO: Final = CallConfig("scripted", "demo")
NOBODY: Final = CallConfig("none", "none")
"""Where the requests of a session would go that never made any and was opened when nobody could answer."""
DEMO_INFO: Final = scripted_model(DEMO.model) or ModelInfo(DEMO.provider, DEMO.model, "Demo")


class Models(Protocol):
    """The models that the process can reach."""

    def default(self) -> CallConfig | None:
        """Return where a session's requests go when nobody chose, or None without any key.

        Raises:
            ServerError: the environment names a model that cannot be used; the sentence says why.
        """
        ...

    def usable(self, config: CallConfig) -> bool:
        """Return whether requests can go there: the provider is known and has a key."""
        ...

    def offered(self) -> Sequence[ModelInfo]:
        """Return the models that can be chosen."""
        ...

    def info(self, config: CallConfig) -> ModelInfo:
        """Return what is known about a model; it need not be one that can be chosen."""
        ...

    def key_name(self, provider: str) -> str | None:
        """Return what holds the provider's key, as a person would call it, or None when it wants none."""
        ...

    def missing(self) -> str:
        """Return one sentence that says which key is missing and where it is looked for."""
        ...

    def forget(self) -> None:
        """Take every stored key away; raise ServerError when that fails. Keys of the environment stay."""
        ...


@record
class Access:
    """The connection's login."""

    models: Models
    demo: bool = False
    signed_out: bool = False
    """Whether the person has logged out and not in again: no provider's key is used then."""
    methods: Sequence[Mapping[str, Any]] = tuple(AUTH_METHODS)
    """The ways to log in that this client was told of."""

    def authenticate(self, method_id: str) -> None:
        """Do what the method says; harmless when repeated.

        Raises:
            RpcError: -32602 for an unknown method, -32000 when no key is found.
        """
        match method_id:
            case "provider-key":
                if self._default() is None:
                    raise self._required()
                self.signed_out = False
            case "demo":
                self.demo = True
            case "login":
                raise invalid("methodId", "is a login in a terminal: run `acp-server login`, then use provider-key")
            case _:
                known = ", ".join(method["id"] for method in AUTH_METHODS)
                raise invalid("methodId", f"is {method_id!r}; known are {known}")

    def config(self) -> CallConfig:
        """Return where a session's requests go; raise RpcError -32000 when nobody can answer."""
        config = (None if self.signed_out else self._default()) or (DEMO if self.demo else None)
        if config is None:
            raise self._required()
        return config

    def config_or_reason(self) -> tuple[CallConfig | None, str]:
        """Return where a session's requests go, or None and one sentence that says why they go nowhere."""
        try:
            return self.config(), ""
        except RpcError as error:
            return None, str((error.data or {}).get("details", error.message))

    def usable(self, config: CallConfig) -> bool:
        """Return whether a session that went there before can go on there."""
        return (not self.signed_out and self.models.usable(config)) or (self.demo and config == DEMO)

    def offered(self) -> tuple[ModelInfo, ...]:
        """Return the models that this connection's sessions can choose."""
        found = () if self.signed_out else tuple(self.models.offered())
        return (*found, DEMO_INFO) if self.demo and DEMO_INFO not in found else found

    def info(self, config: CallConfig) -> ModelInfo:
        """Return what is known about a model."""
        return DEMO_INFO if config == DEMO else self.models.info(config)

    def place(self, config: CallConfig) -> CallPlace:
        """Return where requests go, for sentences about their failures."""
        return CallPlace(config.provider, config.model, self.models.key_name(config.provider))

    def require(self, config: CallConfig) -> None:
        """Raise RpcError -32000 when the person has logged out and a session's requests would go there."""
        if self.signed_out and not (self.demo and config == DEMO):
            raise self._required()

    def logout(self) -> None:
        """Take stored keys away and use no key until `authenticate`; harmless when repeated.

        Raises:
            RpcError: -32603 when the stored keys cannot be taken away; the person counts as logged out all the same.
        """
        self.signed_out, self.demo = True, False
        try:
            self.models.forget()
        except ServerError as error:
            raise refused(error) from error

    def _default(self) -> CallConfig | None:
        try:
            return self.models.default()
        except ServerError as error:
            raise refused(error) from error

    def _required(self) -> RpcError:
        return auth_required(self.models.missing(), self.methods)
