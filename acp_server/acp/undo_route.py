"""The method `_acp_server/session/undo`; what it does is loaded when it is called (clauses UN-01 to UN-05)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acp_server.acp import params
from acp_server.acp.open_sessions import OpenSessions
from acp_server.acp.stored import told
from acp_server.base.cancel import BY_USER, CancelToken
from acp_server.jsonrpc.peer import Inbound


class UndoRoute:
    """The route over the open sessions."""

    def __init__(self, sessions: OpenSessions) -> None:
        self._sessions = sessions

    async def undo(self, given: params.Params, request: Inbound) -> Mapping[str, Any]:
        """Show, or make, a step back to an earlier message, or the undo of one."""
        from acp_server.acp.undo_command import read_params, undo_result  # noqa: PLC0415 - not for the start path

        controller, asked = self._sessions.find(given), read_params(given)
        found: dict[str, Any] = {}

        async def job(cancel: CancelToken) -> None:
            def stop() -> None:
                cancel.cancel(BY_USER)

            forget = request.cancel.subscribe(stop)
            try:
                found.update(await undo_result(controller.agent, asked, cancel))
            finally:
                forget()

        with told(controller.id):
            controller.require_writable()
            await controller.agent.maintain(job)
        return found
