"""JSON-RPC errors: the codes this server uses, the error it raises for them, and what a peer's refusal becomes.

On the start path: imports neither typing nor dataclasses, which cost more than the rest of the path together.
Does not decide which failure gets which code; the routes do.
"""

from __future__ import annotations

from acp_server.base.errors import ServerError

TYPE_CHECKING = False
if TYPE_CHECKING:  # loaded by type checkers alone: json_value imports typing
    from collections.abc import Mapping

    from acp_server.base.json_value import JsonValue

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
AUTH_REQUIRED = -32000
RESOURCE_NOT_FOUND = -32002
REQUEST_CANCELLED = -32800
UNSUPPORTED_VERSION = -32022

_NAMES = {
    PARSE_ERROR: "PARSE_ERROR",
    INVALID_REQUEST: "INVALID_REQUEST",
    METHOD_NOT_FOUND: "METHOD_NOT_FOUND",
    INVALID_PARAMS: "INVALID_PARAMS",
    INTERNAL_ERROR: "INTERNAL_ERROR",
    AUTH_REQUIRED: "AUTH_REQUIRED",
    RESOURCE_NOT_FOUND: "RESOURCE_NOT_FOUND",
    REQUEST_CANCELLED: "REQUEST_CANCELLED",
    UNSUPPORTED_VERSION: "UNSUPPORTED_VERSION",
}


class RpcError(ServerError):
    """A failure that is answered on the wire as `{code, message, data?}`.

    Attributes:
        rpc_code: the integer of JSON-RPC 2.0 section 5.1 or of the Agent Client Protocol.
        data: an object, or None. An empty object counts as None, so that `data` is left out of the answer.
    """

    def __init__(self, rpc_code: int, message: str, data: Mapping[str, JsonValue] | None = None) -> None:
        super().__init__(_NAMES.get(rpc_code, "RPC_ERROR"), message)
        self.rpc_code = rpc_code
        self.data = data or None

    def as_json(self) -> dict[str, JsonValue]:
        """Return the `error` member of a response."""
        if self.data is None:
            return {"code": self.rpc_code, "message": self.message}
        return {"code": self.rpc_code, "message": self.message, "data": self.data}


def parse_error(details: str) -> RpcError:
    """Return -32700; `details` is one sentence that editors may show."""
    return RpcError(PARSE_ERROR, "Parse error", {"details": details})


def invalid_request(details: str) -> RpcError:
    """Return -32600; `details` is one sentence that editors may show."""
    return RpcError(INVALID_REQUEST, "Invalid request", {"details": details})


def method_not_found(method: str) -> RpcError:
    """Return -32601 naming the method in `data.method`."""
    return RpcError(METHOD_NOT_FOUND, "Method not found", {"method": method})


def invalid_params(details: str) -> RpcError:
    """Return -32602; `details` names the field that is wrong."""
    return RpcError(INVALID_PARAMS, "Invalid params", {"details": details})


def internal_error(details: str | None = None) -> RpcError:
    """Return -32603; `details` is a sentence for a person, never the text of an exception."""
    return RpcError(INTERNAL_ERROR, "Internal error", None if details is None else {"details": details})


def request_cancelled() -> RpcError:
    """Return -32800, the answer to a request ended by `$/cancel_request`."""
    return RpcError(REQUEST_CANCELLED, "Request cancelled")


class RemoteError(ServerError):
    """The other side answered one of our requests with an error; the connection itself is fine.

    Attributes:
        rpc_code: the integer it gave, or -32603 when its error object had none.
        data: what it gave as data, any JSON value.
    """

    def __init__(self, rpc_code: int, message: str, data: JsonValue = None) -> None:
        super().__init__("REMOTE_ERROR", message)
        self.rpc_code = rpc_code
        self.data = data


class RequestTimeout(ServerError):  # noqa: N818 - it names what happened, as TimeoutError does not for a request
    """The other side did not answer one of our requests in the time the caller gave it."""

    def __init__(self, method: str, seconds: float) -> None:
        super().__init__("REQUEST_TIMEOUT", f"The client did not answer {method} within {seconds:g} s.")


class ConnectionClosed(ServerError):  # noqa: N818 - it names a state that callers wait for
    """The connection ended before the answer came, or had ended before the request was made."""

    def __init__(self) -> None:
        super().__init__("CONNECTION_CLOSED", "The connection to the client is closed.")
