"""Sentences about the model of a session that is opened again (docs/protocol.md, clauses S-36 and S-38). Pure."""

from __future__ import annotations

from acp_server.messages.request import CallConfig


def not_available(before: CallConfig, answers: CallConfig) -> str:
    """Return the sentence about a session that goes on with another model."""
    return f"{before.provider}/{before.model} is not available; {answers.model} answers from here on."


def readable_only_for_now(reason: str) -> str:
    """Return the sentence about a session in which nobody can answer yet."""
    return f"The session can be read, but nobody answers in it yet: {reason}"
