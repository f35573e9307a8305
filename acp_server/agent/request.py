"""Building a model request from the log, and logging what the log does not hold yet.

The rule: a request is the Surface's messages plus the latest `request/header`, byte for byte. So whatever is asked
for goes into a header event first, and the request is made from that.
"""

from __future__ import annotations

from acp_server.base.json_value import JsonValue
from acp_server.llm.runtime import PreparedCall
from acp_server.messages.prices import prices_to_json
from acp_server.messages.request import GenerateOptions, ToolSchema
from acp_server.session.request_header import EpochHeader
from acp_server.session.session import Session


def log_header(
    session: Session, call: PreparedCall, system: str, tools: tuple[ToolSchema, ...], *, first: bool
) -> None:
    """Append `request/header` and `request/context` where they differ from the last ones.

    The first request of an agent always logs a header: `initial` in a log without one, else `resume`.
    """
    header = EpochHeader(config=call.config, system=system, tools=tools)
    known = session.request_header()
    if first or known != header:
        reason = "initial" if known is None else "resume" if first else "change"
        session.append("request/header", {"header": header.to_json(), "reason": reason})
    context: dict[str, JsonValue] = {"provider": call.config.provider, "model": call.config.model}
    if call.model.context_window is not None:
        context["contextWindow"] = call.model.context_window
    if call.model.prices is not None:
        context["prices"] = prices_to_json(call.model.prices)
    if session.request_context() != context:
        session.append("request/context", context)


def options_from_log(session: Session) -> GenerateOptions:
    """Return the request that the log stands for at this moment.

    Raises:
        ValueError: no header was logged yet.
    """
    header = session.request_header()
    if header is None:
        raise ValueError("the log has no request/header")
    return GenerateOptions(
        config=header.config,
        messages=session.messages(),
        system=header.system,
        tools=header.tools,
        session_id=session.id,
    )
