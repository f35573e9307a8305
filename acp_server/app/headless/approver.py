"""Who answers questions of consent when nobody is there: a level that the command line gave (docs/headless.md, H-5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from acp_server.agent.consent.approvals import Outcome, Question
from acp_server.base.cancel import CancelToken
from acp_server.tools.tool import EffectKind

Approve: TypeAlias = Literal["none", "reads", "edits", "all"]
LEVELS: Final[dict[Approve, frozenset[EffectKind]]] = {
    "none": frozenset(),
    "reads": frozenset({"read"}),
    "edits": frozenset({"read", "edit"}),
    "all": frozenset({"none", "read", "edit", "execute", "fetch"}),
}


class Approver:
    """Answers at once: yes to the effects of the level, no to all else. `told` hears of every answer."""

    def __init__(self, level: Approve, told: Callable[[Question, bool], None]) -> None:
        self._effects = LEVELS[level]
        self._told = told

    async def ask(self, question: Question, cancel: CancelToken) -> Outcome:
        """See Asker; `unavailable` is what the model is told of a no, since no person said it."""
        cancel.raise_if_cancelled()
        allowed = question.effect.kind in self._effects
        self._told(question, allowed)
        return "allowed-once" if allowed else "unavailable"
