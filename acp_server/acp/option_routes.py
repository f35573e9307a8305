"""The methods that change a session's config options: set_config_option, set_mode, and the older set_model.

Owns when a change is durable and what is sent after it (docs/protocol.md, clauses M-01 to M-14, U-07).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from acp_server.acp import params
from acp_server.acp.access import Access
from acp_server.acp.compaction_option import compaction_option, read_auto
from acp_server.acp.controller import Controller
from acp_server.acp.failures import invalid, refused
from acp_server.acp.modes import mode_option, modes_block, read_mode
from acp_server.acp.open_sessions import OpenSessions
from acp_server.acp.options import config_options, with_effort, with_model
from acp_server.acp.presets import preset_option, read_preset
from acp_server.acp.reach import network_option, read_reach
from acp_server.agent.auto_compaction import AUTO_EVENT, auto_of
from acp_server.agent.modes import MODE_EVENT, Mode, mode_of
from acp_server.agent.network import NETWORK_EVENT, Reach, reach_of
from acp_server.agent.presets import (
    PRESET_EVENT,
    Offer,
    PresetSource,
    mode_with,
    not_wider,
    preset_data,
    preset_of,
    wider_mode,
)
from acp_server.base.errors import ServerError
from acp_server.jsonrpc.peer import Inbound
from acp_server.llm.adapter import ModelInfo
from acp_server.messages.request import CallConfig


class OptionRoutes:
    """Routes over the open sessions."""

    def __init__(
        self,
        sessions: OpenSessions,
        access: Access,
        network: Callable[[], tuple[Reach, bool]] = lambda: ("off", False),
        compaction: Callable[[], bool | None] = lambda: None,
        presets: PresetSource = lambda _cwd: Offer(),
    ) -> None:
        """`network` gives what commands reach in a session that says nothing, and whether hosts are listed.

        `compaction` gives whether such a session is compacted by itself, None where nobody can.
        """
        self._sessions = sessions
        self._access = access
        self._network = network
        self._compaction = compaction
        self._presets = presets
        self._due = False

    def options(self, controller: Controller) -> list[dict[str, Any]]:
        """Return the whole list of the session's config options."""
        config = controller.agent.config
        mode = mode_option(mode_of(controller.agent.session.events))
        log = controller.agent.session.events
        models = config_options(config, self._access.info(config), self._access.offered())
        default = self._compaction()
        auto = [] if default is None else [compaction_option(auto=_first(auto_of(log), default))]
        preset = preset_option(log, self._presets(controller.agent.session.header.cwd))
        return [mode, *models, network_option(reach_of(log), *self._network()), preset, *auto]

    def choices(self, controller: Controller) -> dict[str, Any]:
        """Return what the results that open a session say about what can be chosen in it."""
        modes = modes_block(mode_of(controller.agent.session.events))
        return {"modes": modes, "configOptions": self.options(controller)}

    def show_all(self) -> None:
        """Send the options anew in every open session: which models there are has changed."""
        self._due = False
        for controller in self._sessions.all():
            self._show(controller)

    def show_soon(self) -> None:
        """Do so once, when all of a change that is under way has happened."""
        if not self._due and self._sessions.all():
            self._due = True
            asyncio.get_running_loop().call_soon(self.show_all)

    def set_option(self, given: params.Params, request: Inbound) -> Awaitable[Mapping[str, Any]]:
        """Change one option: `session/set_config_option`. The next step's request goes by it."""
        controller = self._sessions.find(given)
        self._set(controller, given.get("configId"), given.get("value"))
        request.after_response(lambda: self._show(controller))
        return self._kept(controller)

    def change(self, controller: Controller, option: str, value: str) -> None:
        """Change one option as a command does, and show it; raise RpcError as `set_option`."""
        self._set(controller, option, value)
        self._show(controller)

    def models(self) -> Sequence[ModelInfo]:
        """Return the models that can be chosen."""
        return self._access.offered()

    def _set(self, controller: Controller, option: object, value: object) -> None:
        config = controller.agent.config
        match option:
            case "mode":
                self._enter(controller, read_mode(value, "value"))
            case "model":
                self._choose(controller, with_model(config, value, self._access.offered()))
            case "effort":
                self._choose(controller, with_effort(config, value, self._access.info(config)))
            case "network":
                self._reach(controller, read_reach(value, *self._network()))
            case "preset":
                self._make_of(controller, value)
            case "compaction" if self._compaction() is not None:
                self._compact_by_itself(controller, auto=read_auto(value))
            case other:
                known = ", ".join(one["id"] for one in self.options(controller))
                raise invalid("configId", f"is {other!r}; known are {known}")

    def set_model(self, given: params.Params, request: Inbound) -> Awaitable[Mapping[str, Any]]:
        """Change the model as clients of earlier versions do: `session/set_model`."""
        controller = self._sessions.find(given)
        chosen = with_model(controller.agent.config, given.get("modelId"), self._access.offered(), "modelId")
        self._choose(controller, chosen)
        request.after_response(lambda: self._show(controller))
        return self._kept(controller, old=True)

    def set_mode(self, given: params.Params, request: Inbound) -> Awaitable[Mapping[str, Any]]:
        """Change the mode: `session/set_mode`. It counts from the next call of a tool on, also in a running turn."""
        controller = self._sessions.find(given)
        self._enter(controller, read_mode(given.get("modeId"), "modeId"))
        request.after_response(lambda: self._show(controller))
        return self._kept(controller, old=True)

    def _enter(self, controller: Controller, mode: Mode) -> None:
        """Keep the mode in the log, from where tools and editors take it."""
        try:
            controller.require_writable()
            if mode != mode_of(controller.agent.session.events):
                controller.agent.session.append(MODE_EVENT, {"preset": mode})
        except ServerError as error:
            raise refused(error) from error

    def _reach(self, controller: Controller, reach: Reach) -> None:
        """Keep in the log what commands may reach from the next call on."""
        session = controller.agent.session
        try:
            controller.require_writable()
            if reach != (reach_of(session.events) or self._network()[0]):
                session.append(NETWORK_EVENT, {"network": reach}, ignorable=True)
        except ServerError as error:
            raise refused(error) from error

    def _compact_by_itself(self, controller: Controller, *, auto: bool) -> None:
        """Keep in the log whether the session is compacted by itself; the next step goes by it."""
        session = controller.agent.session
        try:
            controller.require_writable()
            if auto != _first(auto_of(session.events), self._compaction()):
                session.append(AUTO_EVENT, {"auto": auto}, ignorable=True)
        except ServerError as error:
            raise refused(error) from error

    def _make_of(self, controller: Controller, value: object) -> None:
        """Keep the preset in the log, from where the session's tools and prompt take it, then its model and mode."""
        session = controller.agent.session
        preset = read_preset(value, session.events, self._presets(session.header.cwd))
        config, mode = controller.agent.config, mode_of(session.events)
        if preset.model is not None:
            config = with_model(config, preset.model, self._access.offered())
        try:
            controller.require_writable()
            if preset_data(preset) != preset_data(preset_of(session.events)):
                session.append(PRESET_EVENT, preset_data(preset))
        except ServerError as error:
            raise refused(error) from error
        if preset.model is not None:
            self._choose(controller, config)
        self._enter(controller, mode_with(preset, mode))
        if wider_mode(preset, mode):
            controller.tell(not_wider(preset, mode))

    def _choose(self, controller: Controller, config: CallConfig) -> None:
        try:
            controller.require_writable()
            controller.agent.choose(config)
            controller.unanswered = False
        except ServerError as error:
            raise refused(error) from error

    async def _kept(self, controller: Controller, *, old: bool = False) -> Mapping[str, Any]:
        try:
            await controller.agent.flush()
        except ServerError as error:
            raise refused(error) from error
        return {} if old else {"configOptions": self.options(controller)}

    def _show(self, controller: Controller) -> None:
        controller.show({"sessionUpdate": "config_option_update", "configOptions": self.options(controller)})


def _first(chosen: bool | None, default: bool | None) -> bool:
    return bool(default if chosen is None else chosen)
