"""The table of ACP methods and the state of one connection: before `initialize`, nothing else is served.

Every stable v1 method that is not in the table is not advertised either and gets -32601 (clause T-65).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final

from acp_server.acp import params
from acp_server.acp.access import Access
from acp_server.acp.extensions import PREFIX, Extensions
from acp_server.acp.failures import invalid
from acp_server.acp.handshake import auth_methods, initialize_result
from acp_server.acp.offered import read_offered
from acp_server.acp.open_sessions import OpenSessions
from acp_server.acp.option_routes import OptionRoutes
from acp_server.acp.prompts import Prompts
from acp_server.acp.stored import Stored
from acp_server.jsonrpc.errors import INVALID_REQUEST, RpcError
from acp_server.jsonrpc.peer import Inbound, Route

INITIALIZE: Final = "initialize"


class Server:
    """One connection's protocol state and its routes. `unstable` adds methods that no stable version has yet."""

    def __init__(
        self,
        sessions: OpenSessions,
        prompts: Prompts,
        stored: Stored,
        options: OptionRoutes,
        access: Access,
        *,
        extensions: Extensions,
        unstable: bool = False,
    ) -> None:
        self._sessions = sessions
        self._prompts = prompts
        self._stored = stored
        self._options = options
        self._access = access
        self._extensions = extensions
        self._unstable = unstable
        self._initialized = False

    def routes(self) -> dict[str, Route]:
        """Return the table of methods."""
        prompts, stored, options = self._prompts, self._stored, self._options
        in_turn, alone = self._sessions.in_turn, self._sessions.alone
        table = {
            INITIALIZE: Route(self._initialize),
            "authenticate": Route(self._authenticate),
            "logout": Route(self._logout),
            "session/new": Route(prompts.new),
            "session/prompt": Route(prompts.receive),
            "session/cancel": Route(prompts.receive_cancel),
            "session/list": Route(stored.list),
            "session/load": Route(alone(stored.load)),
            "session/resume": Route(alone(stored.resume)),
            "session/close": Route(alone(stored.close)),
            "session/delete": Route(alone(stored.delete)),
            "session/set_config_option": Route(in_turn(options.set_option)),
            "session/set_mode": Route(in_turn(options.set_mode)),
            "session/set_model": Route(in_turn(options.set_model)),
            f"{PREFIX}steer": Route(alone(prompts.steer)),
            f"{PREFIX}rename": Route(in_turn(stored.rename)),
            f"{PREFIX}fork": Route(in_turn(stored.fork)),
            **self._extensions.routes(),
        }
        return table | ({"session/fork": Route(in_turn(stored.fork))} if self._unstable else {})

    def gate(self, method: str) -> RpcError | None:
        """Return why a call may not be served at this moment, or None."""
        if self._initialized or method == INITIALIZE:
            return None
        details = f"{method} came before initialize"
        return RpcError(INVALID_REQUEST, f"Invalid request: {details}", {"details": details})

    def initialized(self, given: params.Params) -> None:
        """Take the client's capabilities; a later `initialize` replaces them and keeps the sessions."""
        self._initialized = True
        self._access.methods = auth_methods(dict(given), sys.executable)
        self._sessions.offered = read_offered(given)

    def _initialize(self, given: params.Params, request: Inbound) -> Mapping[str, Any]:  # noqa: ARG002 - a route's signature
        result = initialize_result(dict(given), sys.executable, unstable=self._unstable)
        if result is None:
            raise invalid("protocolVersion", "must be a whole number")
        self.initialized(given)
        return result

    def _authenticate(self, given: params.Params, request: Inbound) -> Mapping[str, Any]:
        self._access.authenticate(params.method_id(given))
        request.after_response(self._options.show_all)
        return {}

    def _logout(self, given: params.Params, request: Inbound) -> Mapping[str, Any]:  # noqa: ARG002 - a route's signature
        """Log out: turns that run end as cancelled, sessions keep their history (clauses A-13, A-14)."""
        try:
            self._access.logout()
        finally:
            self._sessions.cancel_all()
        request.after_response(self._options.show_all)
        return {}
