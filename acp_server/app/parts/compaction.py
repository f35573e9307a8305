"""The component that keeps conversations within their models' windows, and its slash command."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

from acp_server.acp.commands import Command
from acp_server.agent.agent import Agent
from acp_server.agent.auto_compaction import auto_of
from acp_server.agent.keeping import Keeper
from acp_server.app.components import hot
from acp_server.app.registries import KeeperEntry, KeeperKit, Parts
from acp_server.app.row import Config
from acp_server.base.cancel import CancelToken

if TYPE_CHECKING:
    from acp_server.compaction.policy import Policies

_TOKENS: Final = "retain_tokens"


@hot
def keeper(parts: Parts, config: Config) -> None:
    """Register the keeper and `/compact`; the config is the table `[compaction]` of the settings."""
    given = cast("dict[str, Any]", config)
    made: list[Callable[[KeeperKit], Keeper]] = []

    def load() -> Callable[[KeeperKit], Keeper]:
        if not made:
            made.append(_maker(given))
        return made[0]

    parts.keepers.add(KeeperEntry(load, auto=given.get("auto", True)))
    parts.commands.add(
        Command("compact", "Summarises the conversation so far to make room.", _unused, "what to keep", _compact)
    )


async def _compact(agent: Agent, args: str, command_id: str, cancel: CancelToken) -> str:
    return await agent.compact(args, command_id, cancel)


def _unused(_agent: Agent, _args: str) -> str:
    return ""


def _maker(given: dict[str, Any]) -> Callable[[KeeperKit], Keeper]:
    from acp_server.compaction.exact import count_exactly  # noqa: PLC0415 - not for the start path
    from acp_server.compaction.keeper import Keeper as SessionKeeper  # noqa: PLC0415 - not for the start path
    from acp_server.compaction.scene import Kit  # noqa: PLC0415 - likewise

    policies = policies_of(given)

    def make(kit: KeeperKit) -> Keeper:
        return SessionKeeper(
            Kit(
                session=kit.session,
                runtime=kit.runtime,
                journal=kit.journal,
                clock=kit.clock,
                ids=kit.ids,
                random=kit.random,
                report=kit.report,
                tell=kit.tell,
                policies=lambda: policies.with_auto(auto_of(kit.session.events)),
                count=count_exactly,
                keep_text=kit.keep_text,
            )
        )

    return make


def policies_of(given: dict[str, Any]) -> Policies:
    """Return the policies that a row's config describes; what a model's table does not say, the config says.

    Raises:
        ServerError: INVALID_COMPACTION_POLICY, for values that contradict each other.
    """
    from acp_server.compaction.policy import Policies, Policy, PruneLimits  # noqa: PLC0415 - not for the start path

    def policy(config: dict[str, Any]) -> Policy:
        known = {key: part for key, part in config.items() if key not in ("models", "prune", "summary_model")}
        model = config.get("summary_model")
        if model:
            provider, _, name = model.partition("/")
            known["summary"] = (provider, name)
        return Policy(**known, prune=PruneLimits(**config.get("prune", {})))

    general = {key: part for key, part in given.items() if key != "models"}
    models = {}
    for name, own in given.get("models", {}).items():
        inherited = dict(general)
        if "retain_ratio" in own:
            inherited.pop(_TOKENS, None)
        models[name] = policy({**inherited, **own})
    return Policies(policy(general), models)
