"""Methods of ours beside the protocol's (docs/extensions.md), but for steer, rename and fork.

Owns the table of them. What a method does is loaded when it is called: this module is on the start path.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any, Final

from acp_server.acp import params
from acp_server.acp.controller import Controller
from acp_server.acp.failures import invalid
from acp_server.acp.open_sessions import OpenSessions
from acp_server.acp.option_routes import OptionRoutes
from acp_server.acp.status import status_result
from acp_server.acp.stored import Store, told
from acp_server.base.cancel import BY_USER, CancelToken
from acp_server.base.ids import SessionId
from acp_server.jsonrpc.outbox import Outbox
from acp_server.jsonrpc.peer import Inbound, Route
from acp_server.session.header import SessionHeader
from acp_server.session.log import EventLog

if TYPE_CHECKING:
    from acp_server.acp.export_pages import Format, Place

PREFIX: Final = "_acp_server/session/"


class Extensions:
    """Routes over the open sessions, and for exports over the stored ones."""

    def __init__(self, sessions: OpenSessions, options: OptionRoutes, store: Store, outbox: Outbox) -> None:
        self._sessions = sessions
        self._options = options
        self._store = store
        self._outbox = outbox

    def routes(self) -> dict[str, Route]:
        """Return the table of methods."""
        in_turn, alone = self._sessions.in_turn, self._sessions.alone
        return {
            f"{PREFIX}undo": Route(alone(self.undo)),
            f"{PREFIX}status": Route(in_turn(self.status)),
            f"{PREFIX}export": Route(in_turn(self.export)),
            f"{PREFIX}events/subscribe": Route(in_turn(self.subscribe)),
            f"{PREFIX}events/unsubscribe": Route(in_turn(self.unsubscribe)),
        }

    async def undo(self, given: params.Params, request: Inbound) -> Mapping[str, Any]:
        """Show, or make, a step back to an earlier message, or the undo of one (clauses UN-01 to UN-05)."""
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

    def status(self, given: params.Params, request: Inbound) -> Mapping[str, Any]:  # noqa: ARG002 - a route's signature
        """Tell what holds in an open session at this moment (clause EX-30)."""
        controller = self._sessions.find(given)
        values = {option["id"]: option["currentValue"] for option in self._options.options(controller)}
        return status_result(controller.agent, values, controller.read_only)

    def export(self, given: params.Params, request: Inbound) -> Awaitable[Mapping[str, Any]]:  # noqa: ARG002 - likewise
        """Return a page of a session as text, of an open or a stored one (clauses EX-20 to EX-25)."""
        ident = params.session_id(given)
        form = given.get("format", "markdown")
        if form not in ("markdown", "jsonl"):
            raise invalid("format", f"is {form!r}; formats are markdown, jsonl")
        return self._page(ident, form, params.optional_text(given, "cursor"))

    async def _page(self, ident: str, form: Format, cursor: str | None) -> Mapping[str, Any]:
        from acp_server.acp.export_pages import Place, place_of  # noqa: PLC0415 - not for the start path

        header, log = await self._source(ident)
        place = Place(len(log)) if cursor is None else place_of(cursor, log)
        if place is None:
            raise invalid("cursor", "is none of this session's")
        text, following = await asyncio.to_thread(_page, header, log, form, place)
        page: dict[str, Any] = {"format": form, "text": text, "events": place.length}
        return page if following is None else {**page, "nextCursor": following.cursor()}

    async def _source(self, ident: str) -> tuple[SessionHeader, EventLog]:
        controller = self._sessions.get(ident)
        if controller is not None:
            return controller.agent.session.header, controller.agent.session.events
        with told(ident):
            loaded = await (await self._store()).inspect(SessionId(ident))
        return loaded.header, loaded.log

    def subscribe(self, given: params.Params, request: Inbound) -> Mapping[str, Any]:
        """Send the events of an open session from here on, or from `fromSeq` on (clauses EX-10 to EX-16)."""
        controller = self._sessions.find(given)
        session = controller.agent.session
        start = given.get("fromSeq", session.seq)
        if not isinstance(start, int) or isinstance(start, bool) or not 0 <= start <= session.seq:
            raise invalid("fromSeq", f"must be a whole number from 0 to {session.seq}")
        request.after_response(lambda: self._feed(controller, start))
        return {"seq": session.seq, "fromSeq": start}

    def unsubscribe(self, given: params.Params, request: Inbound) -> Mapping[str, Any]:  # noqa: ARG002 - likewise
        """Send no more events of the session; harmless when none are sent (clause EX-15)."""
        self._sessions.find(given).replace_follower(None)
        return {}

    def _feed(self, controller: Controller, start: int) -> None:
        from acp_server.acp.event_feed import EventFeed  # noqa: PLC0415 - not for the start path

        controller.replace_follower(EventFeed(controller.agent.session, self._outbox, start).stop)


def _page(header: SessionHeader, log: EventLog, form: Format, place: Place) -> tuple[str, Place | None]:
    from acp_server.acp.export_pages import document, page_of_lines, page_of_text  # noqa: PLC0415 - as above

    if form == "jsonl":
        return page_of_lines(header, log, place)
    return page_of_text(document(header, log, place.length), place)
