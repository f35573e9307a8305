"""A session's header as JSON and back (docs/log-format.md, clauses H-1 to H-4).

Owns the header line's keys, their order, and what is said of a log of another version. Fields of a later minor version
are tolerated; fields that once were and would now mislead are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from acp_server.base.errors import ServerError
from acp_server.base.ids import SessionId
from acp_server.base.json_value import SAFE_INTEGER, JsonValue
from acp_server.session.header import FORMAT_VERSION, SessionHeader

HEADER_TYPE: Final = "session"
RETIRED_FIELDS: Final = ("sandboxMode", "approvalPolicy")


class HeaderFormatError(ServerError):
    """A header that breaks a clause; `field` names the key."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__("INVALID_SESSION_HEADER", f"the session's header: {field} {reason}")
        self.field = field


def header_to_json(header: SessionHeader) -> dict[str, JsonValue]:
    """Return the header line's object; absent optionals and a delegation depth of 0 are left out."""
    optional: tuple[tuple[str, JsonValue], ...] = (
        ("cwd", header.cwd),
        ("parentSession", header.parent_session),
        ("seedLength", header.seed_length),
        ("origin", header.origin),
        ("delegationDepth", header.delegation_depth or None),
        ("agentPreset", header.agent_preset),
    )
    return {
        "type": HEADER_TYPE,
        "version": header.version,
        "id": header.id,
        "createdAt": header.created_at,
        **{key: value for key, value in optional if value is not None},
    }


def header_from_json(value: object) -> SessionHeader:
    """Return the header.

    Raises:
        HeaderFormatError: it is no header, or a field has the wrong type.
        ServerError: SESSION_FORMAT_UNSUPPORTED, for a version that this server does not read.
    """
    if not isinstance(value, Mapping) or value.get("type") != HEADER_TYPE:
        raise HeaderFormatError("type", f"is not {HEADER_TYPE!r}")
    _require_version(value.get("version"))
    for field in RETIRED_FIELDS:
        if field in value:
            raise HeaderFormatError(field, "is retired")
    if "origin" in value and value["origin"] != "subagent":
        raise HeaderFormatError("origin", "is not 'subagent'")
    parent = _optional_text(value, "parentSession")
    return SessionHeader(
        id=SessionId(_text(value, "id")),
        created_at=_count(value, "createdAt"),
        cwd=_cwd(value),
        parent_session=None if parent is None else SessionId(parent),
        seed_length=_count(value, "seedLength") if "seedLength" in value else None,
        origin=value.get("origin"),
        delegation_depth=_count(value, "delegationDepth") if "delegationDepth" in value else 0,
        agent_preset=_optional_text(value, "agentPreset"),
    )


def _require_version(version: object) -> None:
    if type(version) is not int:
        raise HeaderFormatError("version", "is no whole number")
    if version != FORMAT_VERSION:
        writer = "a newer server: update this one to open it" if version > FORMAT_VERSION else "an older server"
        raise ServerError(
            "SESSION_FORMAT_UNSUPPORTED",
            f"The session has format {version} and was written by {writer}; this server reads format {FORMAT_VERSION}.",
        )


def _cwd(value: Mapping[str, object]) -> str | None:
    cwd = _optional_text(value, "cwd")
    if cwd is not None and not cwd.startswith("/"):
        raise HeaderFormatError("cwd", "is no absolute path")
    return cwd


def _text(value: Mapping[str, object], field: str) -> str:
    text = value.get(field)
    if type(text) is not str or not text:
        raise HeaderFormatError(field, "is no text")
    return text


def _optional_text(value: Mapping[str, object], field: str) -> str | None:
    return _text(value, field) if field in value else None


def _count(value: Mapping[str, object], field: str) -> int:
    count = value.get(field)
    if type(count) is not int or not 0 <= count <= SAFE_INTEGER:
        raise HeaderFormatError(field, "is no whole number from 0")
    return count
