"""Tables of what parts of the server have registered, in order. Pure.

Owns order, uniqueness by name, and that what was added can be taken away by whoever added it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from acp_server.base.errors import ServerError

T = TypeVar("T")


class Registered(Generic[T]):
    """Things of one kind. `name` gives what may be there once only; None: anything may be there several times."""

    __slots__ = ("_kind", "_listeners", "_name", "items")

    def __init__(self, kind: str, name: Callable[[T], str] | None = None) -> None:
        self._kind = kind
        self._name = name
        self._listeners: tuple[Callable[[], None], ...] = ()
        self.items: tuple[T, ...] = ()
        """All of them, in order; another tuple after each change."""

    def add(self, item: T) -> Callable[[], None]:
        """Add the item at the end; return what takes it away, harmless when done before.

        Raises:
            ServerError: ALREADY_REGISTERED, its name is taken.
        """
        if self._name is not None and self.find(self._name(item)) is not None:
            raise ServerError("ALREADY_REGISTERED", f"There is a {self._kind} {self._name(item)!r} already.")
        self.items = (*self.items, item)
        self._tell()
        return lambda: self._remove(item)

    def find(self, name: str) -> T | None:
        """Return the item of that name, or None."""
        if self._name is not None:
            for item in self.items:
                if self._name(item) == name:
                    return item
        return None

    @property
    def last(self) -> T | None:
        """Return the item that was added last and is still there: where only one counts, it is that one."""
        return self.items[-1] if self.items else None

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after every change; return what ends that."""
        self._listeners = (*self._listeners, listener)

        def end() -> None:
            self._listeners = tuple(other for other in self._listeners if other is not listener)

        return end

    def _remove(self, item: T) -> None:
        left = tuple(other for other in self.items if other is not item)
        if len(left) != len(self.items):
            self.items = left
            self._tell()

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()
