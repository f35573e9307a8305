"""What is wrong with a document, as one sentence about one key. No value of it is told: it may be a secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias, get_args

from pydantic import BaseModel, RootModel, ValidationError

from acp_server.app.rows import nearest
from acp_server.app.toml_lines import key_text

Location: TypeAlias = tuple[str | int, ...]


class Breach(ValueError):  # noqa: N818 - it is a finding, told by whoever knows the file
    """The first thing that is wrong: at which key, and what."""

    def __init__(self, location: Location, what: str) -> None:
        super().__init__(what)
        self.location = location
        self.what = what


def check(model: type[BaseModel], document: object) -> None:
    """Raise Breach when the document is not as the model says; no value of it is told."""
    try:
        model.model_validate(document)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=True)
        raise _breach(model, found[0], len(found) - 1) from None


def _breach(model: type[BaseModel], error: Any, more: int) -> Breach:
    location: Location = tuple(part for part in error["loc"] if part != "[key]")
    kind = error["type"]
    name = dotted(location)
    rest = f" (and {more} more)" if more else ""
    if kind == "extra_forbidden":
        known = _fields_at(model, location[:-1])
        table = dotted(location[:-1])
        inside = f" in {table}" if table else ""
        return Breach(location, f"unknown key {location[-1]!r}{inside}.{nearest(str(location[-1]), known)}{rest}")
    if kind == "missing":
        return Breach(location[:-1], f"{dotted(location[:-1]) or 'the file'} lacks the key {location[-1]!r}.{rest}")
    if kind == "value_error":
        return Breach(location, f"{name or 'the config'} {error['ctx']['error']}.{rest}")
    wanted = _wanted(kind, error.get("ctx") or {})
    if "[key]" in error["loc"]:
        return Breach(location, f"the name {name} must be {wanted}.{rest}")
    got = f", not {_kind(error['input'])}" if kind.endswith("_type") else ""
    return Breach(location, f"{name or 'the file'} must be {wanted}{got}.{rest}")


def dotted(location: Sequence[str | int]) -> str:
    """Return a location as TOML writes keys; items of lists by their number from 1."""
    made = ""
    for part in location:
        if isinstance(part, int):
            made += f"[{part + 1}]"
            continue
        made += ("." if made else "") + key_text(part)
    return made


_WANTED: Final[Mapping[str, str]] = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "string_too_short": "text that is not empty",
    "too_short": "a list that is not empty",
    "json_invalid": "JSON",
}
_PATTERNS: Final[Mapping[str, str]] = {
    r"^[^\s/]+/\S+$": "provider/model",
    r"^[^\s/]{1,100}$": "a name without blanks and slashes",
    r"^https?://\S+$": "an http or https address",
    r"^/": "an absolute path",
    r"^[^\s*]+\*?$|^\*$": "a tool's name, `*` at its end at most",
    r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$": "module:factory",
}
_BOUNDS: Final[Mapping[str, str]] = {"gt": "more than", "ge": "at least", "lt": "less than", "le": "at most"}


def _wanted(kind: str, context: Mapping[str, Any]) -> str:
    if kind == "literal_error":
        return f"one of {context['expected']}"
    if kind == "string_pattern_mismatch":
        return _PATTERNS.get(context["pattern"], "of another form")
    for name, words in _BOUNDS.items():
        if name in context:
            return f"{words} {context[name]:g}"
    return _WANTED.get(kind, "of another kind")


def _kind(given: object) -> str:
    if isinstance(given, bool):
        return "true or false"
    kinds: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (str, "text"),
        (int, "a whole number"),
        (float, "a number"),
        (list, "a list"),
        (dict, "a table"),
    )
    return next((words for kind, words in kinds if isinstance(given, kind)), "a date")


def _fields_at(model: type[BaseModel], location: Location) -> list[str]:
    """Return the keys that the table at that place may have."""
    kind: Any = model
    for part in location:
        kind = _inner(kind, part)
    return list(kind.model_fields) if isinstance(kind, type) and issubclass(kind, BaseModel) else []


def _inner(kind: Any, part: str | int) -> Any:
    kind = _unwrapped(kind)
    if isinstance(kind, type) and issubclass(kind, RootModel):
        kind = kind.model_fields["root"].annotation
    elif isinstance(kind, type) and issubclass(kind, BaseModel):
        field = kind.model_fields.get(str(part))
        return _unwrapped(field.annotation) if field else None
    arguments = get_args(kind)
    return _unwrapped(arguments[-1]) if arguments else None


def _unwrapped(kind: Any) -> Any:
    """Return the kind without `| None` and without annotations."""
    while True:
        arguments = [argument for argument in get_args(kind) if argument is not type(None)]
        if type(None) in get_args(kind) or hasattr(kind, "__metadata__"):
            kind = arguments[0]
            continue
        return kind
