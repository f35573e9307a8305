"""Immutable values: what `dataclass(frozen=True, slots=True)` gives, at a seventh of its cost when a module is loaded.

A person waits for the first `session/new`, which loads some eighty value classes; docs/decisions/0006-values.md has
the figures. Fields have plain defaults only: a field that needs a factory, or that must not be shown, makes its class
an ordinary dataclass.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")

_REMADE: Final = frozenset({"__dict__", "__weakref__"})


@dataclass_transform(frozen_default=True)
def value(cls: type[T]) -> type[T]:
    """Return the class with slots for its annotated fields, an `__init__`, equality, a hash and a `repr` by fields.

    Two values are equal when they are of the same class and their fields are. `__post_init__` is called when there is
    one. What the class defines itself is kept.
    """
    names = tuple(cls.__dict__.get("__annotations__", ()))  # noqa: RUF063 - inspect is not for the start path
    defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
    kept = {key: item for key, item in cls.__dict__.items() if key not in defaults and key not in _REMADE}
    members: dict[str, Any] = _BY_FIELDS | kept
    members |= {"__slots__": names, "__match_args__": names, "_fields": staticmethod(_getter(names))}
    remake: Callable[..., type[T]] = type(cls)
    made = remake(cls.__name__, cls.__bases__, members)
    type.__setattr__(made, "__init__", _initializer(made, names, defaults))
    return made


def replace(old: T, **changes: object) -> T:
    """Return a value like `old` with some fields changed; raise TypeError for a field that it does not have."""
    fields = {name: getattr(old, name) for name in type(old).__match_args__}  # type: ignore[attr-defined]  # only values
    return type(old)(**{**fields, **changes})


def fields_of(one: object) -> tuple[Any, ...]:
    """Return a value's fields in their order."""
    return tuple(getattr(one, name) for name in type(one).__match_args__)  # type: ignore[attr-defined]  # only values


def _initializer(made: type, names: tuple[str, ...], defaults: dict[str, object]) -> Callable[..., None]:
    """Return an `__init__` that writes the slots past the class's own refusal to be written."""
    scope: dict[str, Any] = {f"_default_{name}": default for name, default in defaults.items()}
    scope |= {f"_set_{name}": made.__dict__[name].__set__ for name in names}
    parameters = "".join(f", {name}=_default_{name}" if name in defaults else f", {name}" for name in names)
    lines = [f"_set_{name}(self, {name})" for name in names]
    if "__post_init__" in made.__dict__:
        lines.append("self.__post_init__()")
    body = "; ".join(lines) or "pass"
    exec(f"def __init__(self{parameters}): {body}", scope)  # noqa: S102 - made of the class's own field names
    init: Callable[..., None] = scope["__init__"]
    init.__qualname__ = f"{made.__qualname__}.__init__"
    return init


def _getter(names: tuple[str, ...]) -> Callable[[Any], object]:
    return attrgetter(*names) if names else lambda _self: ()


def _refuse(self: object, *_: object) -> NoReturn:
    raise AttributeError(f"a {type(self).__name__} cannot be changed")


def _equal(self: Any, other: Any) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    return self._fields(self) == self._fields(other)


def _hash(self: Any) -> int:
    return hash((type(self), self._fields(self)))


def _show(self: Any) -> str:
    fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
    return f"{type(self).__qualname__}({fields})"


def _reduce(self: Any) -> tuple[Any, ...]:
    return type(self), fields_of(self)


_BY_FIELDS: Final[dict[str, Any]] = {
    "__eq__": _equal,
    "__hash__": _hash,
    "__repr__": _show,
    "__reduce__": _reduce,
    "__setattr__": _refuse,
    "__delattr__": _refuse,
}
