"""Cancellation with a cause. The first cause wins; tasks are never cancelled in its stead, so started work drains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from acp_server.base.values import value


@value
class CancelCause:
    """Who asked for the end: the person, a parent session, a hook (with its reason), or the session's disposal."""

    kind: Literal["user", "parent", "hook", "disposed"]
    reason: str | None = None


BY_USER = CancelCause("user")
BY_DISPOSAL = CancelCause("disposed")


class Cancelled(Exception):  # noqa: N818 - it names an outcome, not an error
    """Raised inside work whose token was cancelled; carries the cause."""

    def __init__(self, cause: CancelCause) -> None:
        super().__init__(f"cancelled ({cause.kind})")
        self.cause = cause


class CancelToken:
    """One unit of work's cancellation: asked at most once, observed by polling or by callbacks."""

    __slots__ = ("_callbacks", "_cause")

    def __init__(self) -> None:
        self._cause: CancelCause | None = None
        self._callbacks: dict[int, Callable[[], None]] = {}

    @property
    def cause(self) -> CancelCause | None:
        """Return the cause, or None while nobody has asked."""
        return self._cause

    @property
    def cancelled(self) -> bool:
        """Return whether somebody has asked."""
        return self._cause is not None

    def cancel(self, cause: CancelCause) -> bool:
        """Ask for the end; callbacks run now, in order of subscription. Return False when it was asked before."""
        if self._cause is not None:
            return False
        self._cause = cause
        callbacks, self._callbacks = self._callbacks, {}
        for callback in callbacks.values():
            callback()
        return True

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` once on cancellation (at once when it has happened); return what unsubscribes it."""
        if self._cause is not None:
            callback()
            return _nothing
        key = id(callback) if id(callback) not in self._callbacks else max(self._callbacks) + 1
        self._callbacks[key] = callback
        return lambda: (self._callbacks.pop(key, None), None)[1]

    def raise_if_cancelled(self) -> None:
        """Do nothing, or raise Cancelled with the cause."""
        if self._cause is not None:
            raise Cancelled(self._cause)


def _nothing() -> None:
    return None
