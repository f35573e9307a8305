"""Questions of a tool to the person: a form where the client has some, else buttons, else none (clauses E-01 to E-09).

Owns the words on the wire and what counts as an answer; what is not understood is none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from acp_server.acp.cards import one_line, text_content
from acp_server.acp.offered import Offered
from acp_server.acp.rendering import shown
from acp_server.base.cancel import CancelToken
from acp_server.jsonrpc.errors import ConnectionClosed, RemoteError
from acp_server.jsonrpc.peer import Peer
from acp_server.tools.client_side import Inquiry, Reply

FORM: Final = "elicitation/create"
BUTTONS: Final = "session/request_permission"
LONGEST: Final = 20_000
NO_ANSWER: Final = "no-answer"
CHOICE: Final = "choice"
OWN: Final = "answer"


class Questions:
    """Asks one client in one session. `wire_id` gives the id under which the client knows a call."""

    def __init__(
        self, peer: Peer, session_id: str, offered: Callable[[], Offered], wire_id: Callable[[str], str]
    ) -> None:
        self._peer = peer
        self._session_id = session_id
        self._offered = offered
        self._wire_id = wire_id

    async def ask(self, inquiry: Inquiry, call_id: str, cancel: CancelToken) -> Reply:
        """Return what the person said; raise Cancelled. There is no limit of time."""
        try:
            if self._offered().forms:
                try:
                    form = {"sessionId": self._session_id, "toolCallId": self._wire_id(call_id), **form_of(inquiry)}
                    return reply_of_form(inquiry, await self._peer.request(FORM, form, cancel=cancel))
                except RemoteError:
                    pass  # one that offers forms and has none is asked as others are
            if not inquiry.options or inquiry.several:
                return Reply("as-text")
            try:
                buttons = {"sessionId": self._session_id, **buttons_of(inquiry, self._wire_id(call_id))}
                return reply_of_buttons(inquiry, await self._peer.request(BUTTONS, buttons, cancel=cancel))
            except RemoteError:
                return Reply("as-text")
        except ConnectionClosed:
            return Reply("nobody")


def form_of(inquiry: Inquiry) -> dict[str, Any]:
    """Return the form: the choices where there are some, and a line for an answer in the person's own words."""
    own = {"type": "string", "title": "Something else" if inquiry.options else "Answer"}
    fields: dict[str, Any] = {}
    if inquiry.options:
        choices = [
            {"const": choice.label, "title": choice.label}
            | ({"description": choice.description} if choice.description else {})
            for choice in inquiry.options
        ]
        one = {"type": "string", "title": "Choice", "oneOf": choices}
        many = {"type": "array", "title": "Choices", "items": {"anyOf": choices}}
        fields[CHOICE] = many if inquiry.several else one
    schema: dict[str, Any] = {"type": "object", "properties": {**fields, OWN: own}}
    if not inquiry.options:
        schema["required"] = [OWN]
    return {"mode": "form", "message": shown(inquiry.question), "requestedSchema": schema}


def reply_of_form(inquiry: Inquiry, result: Mapping[str, Any]) -> Reply:
    """Return what a form's answer says: own words before a choice, and of choices those that were offered."""
    if result.get("action") == "decline":
        return Reply("declined")
    content = result.get("content")
    if result.get("action") != "accept" or not isinstance(content, Mapping):
        return Reply("dismissed")
    own = content.get(OWN)
    if isinstance(own, str) and own.strip():
        return Reply("answered", (own.strip()[:LONGEST],))
    chosen = content.get(CHOICE)
    given = chosen if isinstance(chosen, list) else [chosen]
    labels = tuple(choice.label for choice in inquiry.options if choice.label in given)
    return Reply("answered", labels) if labels else Reply("declined")


def buttons_of(inquiry: Inquiry, call_id: str) -> dict[str, Any]:
    """Return the question as one of permission: a button a choice, and one for no answer."""
    lines = [f"- {choice.label}: {choice.description}" for choice in inquiry.options if choice.description]
    options = [
        {"optionId": str(number), "name": one_line(choice.label), "kind": "allow_once"}
        for number, choice in enumerate(inquiry.options)
    ]
    call = {
        "toolCallId": call_id,
        "name": "ask",
        "kind": "other",
        "title": one_line(inquiry.question),
        "content": [text_content(shown("\n".join([inquiry.question, *lines])))],
    }
    none = {"optionId": NO_ANSWER, "name": "No answer", "kind": "reject_once"}
    return {"toolCall": call, "options": [*options, none]}


def reply_of_buttons(inquiry: Inquiry, result: Mapping[str, Any]) -> Reply:
    """Return which button was pressed."""
    outcome = result.get("outcome")
    if not isinstance(outcome, Mapping) or outcome.get("outcome") != "selected":
        return Reply("dismissed")
    for number, choice in enumerate(inquiry.options):
        if outcome.get("optionId") == str(number):
            return Reply("answered", (choice.label,))
    return Reply("declined")
