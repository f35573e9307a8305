"""The checks, a module a subject. Importing this package enters them all."""

from __future__ import annotations

from tests.conformance.checks import (
    always,
    always_calls,
    cancelling,
    client_calls,
    envelopes,
    handshake,
    lines,
    options,
    permissions,
    process,
    prompts,
    questions,
    servers,
    sessions,
    signing_in,
    stored,
    tools,
)

ALL = (
    always,
    always_calls,
    cancelling,
    client_calls,
    envelopes,
    handshake,
    lines,
    options,
    permissions,
    process,
    prompts,
    questions,
    servers,
    sessions,
    signing_in,
    stored,
    tools,
)

LAST = frozenset({always.__name__, always_calls.__name__})
"""Modules whose checks read the traces of all others."""
