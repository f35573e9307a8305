from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from acp_server.acp.access import DEMO, DEMO_INFO, Access
from acp_server.base.errors import ServerError
from acp_server.jsonrpc.errors import RpcError
from acp_server.llm.adapter import ModelInfo
from acp_server.llm.explain import CallPlace
from acp_server.messages.request import CallConfig

CONFIG = CallConfig("p", "m")
INFO = ModelInfo("p", "m", "M")


@dataclass
class FakeModels:
    found: CallConfig | None = CONFIG
    forgotten: int = 0
    stuck: bool = False

    def default(self) -> CallConfig | None:
        return self.found

    def usable(self, config: CallConfig) -> bool:
        return config == self.found

    def offered(self) -> Sequence[ModelInfo]:
        return (INFO,)

    def info(self, config: CallConfig) -> ModelInfo:
        return ModelInfo(config.provider, config.model, config.model)

    def key_name(self, provider: str) -> str | None:
        return f"{provider.upper()}_KEY"

    def missing(self) -> str:
        return "Set P_KEY."

    def forget(self) -> None:
        if self.stuck:
            raise ServerError("CREDENTIALS_FAILED", "The file cannot be removed.")
        self.forgotten += 1


def refused(access: Access) -> int:
    with pytest.raises(RpcError) as caught:
        access.config()
    return caught.value.rpc_code


def test_after_a_logout_no_key_is_used_until_the_next_login() -> None:
    models = FakeModels()
    access = Access(models)
    assert access.config() == CONFIG
    access.require(CONFIG)
    access.logout()
    access.logout()
    assert (models.forgotten, refused(access), access.usable(CONFIG)) == (2, -32000, False)
    with pytest.raises(RpcError) as caught:
        access.require(CONFIG)
    assert caught.value.rpc_code == -32000
    access.authenticate("provider-key")
    assert (access.config(), access.usable(CONFIG)) == (CONFIG, True)
    access.require(CONFIG)


def test_a_logout_closes_the_demo_too_and_it_can_be_opened_again() -> None:
    access = Access(FakeModels(None))
    access.authenticate("demo")
    assert access.config() == DEMO
    access.logout()
    assert refused(access) == -32000
    access.authenticate("demo")
    assert access.config() == DEMO
    access.require(DEMO)
    with pytest.raises(RpcError):
        access.require(CONFIG)


def test_stored_keys_that_cannot_be_taken_away_are_told_and_not_used() -> None:
    access = Access(FakeModels(stuck=True))
    with pytest.raises(RpcError) as caught:
        access.logout()
    assert (caught.value.rpc_code, refused(access)) == (-32603, -32000)


@pytest.mark.parametrize(("method", "words"), [("login", "acp-server login"), ("nothing", "known are")])
def test_a_method_that_is_none_of_authenticate_is_refused(method: str, words: str) -> None:
    with pytest.raises(RpcError) as caught:
        Access(FakeModels()).authenticate(method)
    assert caught.value.rpc_code == -32602
    assert words in caught.value.message


def test_what_is_required_names_the_ways_that_this_client_was_told_of() -> None:
    access = Access(FakeModels(None), methods=({"id": "only"},))
    with pytest.raises(RpcError) as caught:
        access.authenticate("provider-key")
    assert caught.value.data == {"details": "Set P_KEY.", "authMethods": [{"id": "only"}]}


def test_what_can_be_chosen_follows_the_login() -> None:
    access = Access(FakeModels())
    assert (access.offered(), access.info(DEMO), access.info(CONFIG).name) == ((INFO,), DEMO_INFO, "m")
    access.authenticate("demo")
    assert access.offered() == (INFO, DEMO_INFO)
    access.logout()
    assert access.offered() == ()
    access.authenticate("demo")
    assert access.offered() == (DEMO_INFO,)


def test_where_requests_go_is_told_with_what_holds_the_key() -> None:
    assert Access(FakeModels()).place(CONFIG) == CallPlace("p", "m", "P_KEY")
