"""How turns end, as values: what the log says, and what whoever sent a prompt is told.

The kinds are those of `turn/end` (docs/event-catalog.md); `refusal` and `max-turn-requests` stand beside the kinds of
a model's finish, because a person has to be told of them.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from acp_server.base.cancel import CancelCause
from acp_server.base.json_value import JsonValue
from acp_server.base.values import value
from acp_server.messages.chunk_codec import failure_to_json
from acp_server.messages.chunks import LlmFailure

EndKind: TypeAlias = Literal[
    "completed", "aborted", "blocked", "error", "max-tokens", "refusal", "max-turn-requests", "interrupted"
]


@value
class TurnEnd:
    """Why a turn is over; `cause` is there for aborted, `failure` for error, `words` for blocked: a hook's reason."""

    kind: EndKind
    cause: CancelCause | None = None
    failure: LlmFailure | None = None
    words: str | None = None

    def to_json(self) -> dict[str, JsonValue]:
        """Return the `reason` of a `turn/end` event."""
        reason: dict[str, JsonValue] = {"kind": self.kind}
        if self.cause is not None:
            because = {} if self.cause.reason is None else {"reason": self.cause.reason}
            reason["reason"] = {"kind": self.cause.kind, **because}
        if self.failure is not None:
            reason["error"] = failure_to_json(self.failure)
        if self.words:
            reason["message"] = self.words
        return reason


COMPLETED = TurnEnd("completed")
