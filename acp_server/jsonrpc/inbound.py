"""One call from the client while it is being served, and the table of calls that are open.

Knows no method and writes nothing; the peer does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

from acp_server.base.cancel import CancelToken
from acp_server.base.json_value import JsonObject
from acp_server.base.values import value
from acp_server.jsonrpc.envelope import Absent, Call, Id, is_id

Result: TypeAlias = JsonObject | None


class Pending:
    """The type of PENDING: what a route returns that answers later, by `Inbound.respond` or `Inbound.fail`."""

    __slots__ = ()


PENDING: Final = Pending()


class Inbound:
    """A call as its route sees it.

    Attributes:
        id: the request's id, or ABSENT for a notification.
        cancel: cancelled by the client's `$/cancel_request` for this id, and when the connection closes.
        answered: whether the response is queued; further ones are dropped.
    """

    __slots__ = ("_after", "_fail", "_succeed", "answered", "cancel", "id", "method", "params")

    def __init__(
        self,
        call: Call,
        succeed: Callable[[Inbound, Result], None],
        fail: Callable[[Inbound, BaseException], None],
    ) -> None:
        self._succeed = succeed
        self._fail = fail
        self.id: Id | Absent = call.id
        self.method = call.method
        self.params: dict[str, Any] = call.params
        self.cancel = CancelToken()
        self.answered = False
        self._after: list[Callable[[], None]] = []

    def respond(self, result: Result) -> None:
        """Answer a call whose route returned PENDING; the response is queued when this returns."""
        self._succeed(self, result)

    def fail(self, error: BaseException) -> None:
        """Answer such a call with an error, as if the route had raised it."""
        self._fail(self, error)

    def after_response(self, callback: Callable[[], None]) -> None:
        """Call back right after the response is queued, in order of registration; at once when it is already."""
        if self.answered:
            callback()
        else:
            self._after.append(callback)

    def end(self) -> list[Callable[[], None]]:
        """Mark the call as answered and return what has to be called back. For the peer."""
        self.answered = True
        after, self._after = self._after, []
        return after


@value
class Route:
    """What serves one method.

    `call` runs at once, in the order in which calls arrive; the awaitable it may return runs as a task of the peer.
    The result is a JSON object; None is answered as `{}`; PENDING is answered by the route later, in the very moment
    that it chooses. What it returns for a notification is dropped.
    """

    call: Callable[[dict[str, Any], Inbound], Result | Pending | Awaitable[Result | Pending]]


Routes: TypeAlias = Mapping[str, Route]


class OpenCalls:
    """The calls that are not answered yet.

    Ids are told apart by type and value, since True, 1 and 1.0 are one key to a dict. Two open requests may carry the
    same id: both are kept, and `with_id` returns both.
    """

    __slots__ = ("_all", "_by_id")

    def __init__(self) -> None:
        self._all: set[Inbound] = set()
        self._by_id: dict[tuple[type, Id], list[Inbound]] = {}

    def __len__(self) -> int:
        return len(self._all)

    def add(self, inbound: Inbound) -> None:
        """Open a call."""
        self._all.add(inbound)
        if not isinstance(inbound.id, Absent):
            self._by_id.setdefault((type(inbound.id), inbound.id), []).append(inbound)

    def remove(self, inbound: Inbound) -> None:
        """Close a call."""
        self._all.discard(inbound)
        if isinstance(inbound.id, Absent):
            return
        key = (type(inbound.id), inbound.id)
        same = self._by_id.get(key, [])
        if inbound in same:
            same.remove(inbound)
        if not same:
            self._by_id.pop(key, None)

    def with_id(self, value: Any) -> tuple[Inbound, ...]:
        """Return the open requests with that id; none for a value that is no id."""
        return tuple(self._by_id.get((type(value), value), ())) if is_id(value) else ()

    def all(self) -> tuple[Inbound, ...]:
        """Return every open call, notifications included."""
        return tuple(self._all)
