"""Values and records: what dataclasses with slots give, at a fraction of their cost when a module is loaded.

A person waits for the first `session/new`, which loads some hundred such classes; docs/decisions/0006-values.md has
the figures. An `__init__` is compiled when the first instance is made, since most classes make none before that.
Fields of values have plain defaults only. A field that must not be shown makes its class an ordinary dataclass.
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
    names = _names(cls)
    return _made_anew(cls, _BY_FIELDS | {"__match_args__": names, "_fields": staticmethod(_getter(names))}, sealed=True)


def made(*, default_factory: Callable[[], T]) -> T:
    """Return the default of a record's field that is made for each instance."""
    return _Factory(default_factory)  # type: ignore[return-value]  # what `record` makes of it is of that type


@dataclass_transform(field_specifiers=(made,), eq_default=False)
def record(cls: type[T]) -> type[T]:
    """Return the class with slots for its annotated fields and an `__init__`; a record can be changed and is itself.

    Two records are equal when they are one. What the class defines itself is kept.
    """
    return _made_anew(cls, {}, sealed=False)


class _Factory:
    __slots__ = ("make",)

    def __init__(self, make: Callable[[], object]) -> None:
        self.make = make


def _names(cls: type) -> tuple[str, ...]:
    return tuple(cls.__dict__.get("__annotations__", ()))  # noqa: RUF063 - inspect is not for the start path


def _made_anew(cls: type[T], members: dict[str, Any], *, sealed: bool) -> type[T]:
    names = _names(cls)
    defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
    members |= {key: item for key, item in cls.__dict__.items() if key not in defaults and key not in _REMADE}
    remake: Callable[..., type[T]] = type(cls)
    remade = remake(cls.__name__, cls.__bases__, {**members, "__slots__": names})

    def first(self: T, *given: object, **named: object) -> None:
        init = _initializer(remade, names, defaults, sealed=sealed)
        type.__setattr__(remade, "__init__", init)
        init(self, *given, **named)

    type.__setattr__(remade, "__init__", first)
    return remade


def replace(old: T, **changes: object) -> T:
    """Return a value like `old` with some fields changed; raise TypeError for a field that it does not have."""
    fields = {name: getattr(old, name) for name in type(old).__match_args__}  # type: ignore[attr-defined]  # only values
    return type(old)(**{**fields, **changes})


def fields_of(one: object) -> tuple[Any, ...]:
    """Return a value's fields in their order."""
    return tuple(getattr(one, name) for name in type(one).__match_args__)  # type: ignore[attr-defined]  # only values


def _initializer(
    made: type, names: tuple[str, ...], defaults: dict[str, object], *, sealed: bool
) -> Callable[..., None]:
    """Return an `__init__`; a sealed class has its slots written past its own refusal to be written."""
    scope: dict[str, Any] = {f"_default_{name}": default for name, default in defaults.items()}
    if sealed:
        scope |= {f"_set_{name}": made.__dict__[name].__set__ for name in names}
    parameters = "".join(f", {name}=_default_{name}" if name in defaults else f", {name}" for name in names)
    lines = [_line(name, defaults.get(name), sealed=sealed) for name in names]
    if "__post_init__" in made.__dict__:
        lines.append("self.__post_init__()")
    body = "; ".join(lines) or "pass"
    exec(f"def __init__(self{parameters}): {body}", scope)  # noqa: S102 - made of the class's own field names
    init: Callable[..., None] = scope["__init__"]
    init.__qualname__ = f"{made.__qualname__}.__init__"
    return init


def _line(name: str, default: object, *, sealed: bool) -> str:
    if sealed:
        return f"_set_{name}(self, {name})"
    made_here = f"_default_{name}.make() if {name} is _default_{name} else "
    return f"self.{name} = {made_here if isinstance(default, _Factory) else ''}{name}"


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
