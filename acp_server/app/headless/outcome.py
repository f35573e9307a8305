"""How a run ends, as an exit code and as words for a program (docs/headless.md, table X). Pure."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

from acp_server.agent.turns import EndKind, TurnEnd
from acp_server.base.values import value
from acp_server.llm.explain import CallPlace, explain

Result: TypeAlias = Literal["done", "failed", "usage", "refused", "limit", "cancelled"]

EXIT_CODES: Final[dict[Result, int]] = {"done": 0, "failed": 1, "usage": 2, "refused": 3, "limit": 4, "cancelled": 5}
SIGNALLED: Final = 128
"""Plus the number of the signal that ended the run."""
READER_GONE: Final = 13
"""The number of SIGPIPE: who reads the output has gone."""

_RESULTS: Final[dict[EndKind, tuple[Result, str]]] = {
    "completed": ("done", ""),
    "max-tokens": ("limit", "The answer reached the model's limit of output."),
    "max-turn-requests": ("limit", "The turn reached its limit of requests to the model."),
    "refusal": ("refused", "The model refuses to answer."),
    "blocked": ("refused", "A hook refused the task."),
    "aborted": ("cancelled", "The run was cancelled."),
    "interrupted": ("cancelled", "The run was interrupted."),
    "error": ("failed", "The turn failed."),
}
TIMED_OUT: Final = "The run reached its limit of time."


@value
class Outcome:
    """How a run ended.

    Attributes:
        result: the word that decides the exit code.
        words: one or more plain sentences about what kept the task from being done; empty when it is done.
        code: a stable code of a failure.
        signal: the signal that ended the run.
    """

    result: Result
    words: str = ""
    code: str | None = None
    signal: int | None = None

    @property
    def exit_code(self) -> int:
        """Return the exit code: 128 and more for a signal, else by the result."""
        return EXIT_CODES[self.result] if self.signal is None else SIGNALLED + self.signal

    def to_json(self) -> dict[str, Any]:
        """Return the fields that a program reads; `error` is there for everything but done."""
        data: dict[str, Any] = {"result": self.result, "exitCode": self.exit_code}
        if self.words:
            data["error"] = {"code": self.code or self.result.upper(), "message": self.words}
        return data


def outcome_of(end: TurnEnd, place: CallPlace, *, signal: int | None = None, timed_out: bool = False) -> Outcome:
    """Return the outcome of a run whose turn ended so; `place` is where its requests went."""
    if end.failure is not None:
        return Outcome("failed", explain(end.failure, place), end.failure.code)
    result, words = _RESULTS[end.kind]
    words = end.words or words
    if result != "cancelled":
        return Outcome(result, words)
    if timed_out:
        return Outcome("limit", TIMED_OUT, "TIMEOUT")
    return Outcome(result, words, signal=signal)
