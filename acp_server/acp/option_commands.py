"""`/model` and `/plan`: config options for those who type; editors show the change (docs/protocol.md, clause M-23)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from acp_server.acp.commands import Command
from acp_server.acp.controller import Controller
from acp_server.acp.option_routes import OptionRoutes
from acp_server.acp.options import MODEL, model_value
from acp_server.agent.agent import Agent
from acp_server.agent.modes import DEFAULT_MODE, DESCRIPTIONS, MODE_EVENT, MODES, mode_of
from acp_server.base.errors import ServerError
from acp_server.llm.adapter import ModelInfo

_LISTED: Final = 40
OFF: Final = "off"


class OptionCommands:
    """The commands over the open sessions; `controller` gives the one of an agent."""

    def __init__(self, options: Callable[[], OptionRoutes], controller: Callable[[Agent], Controller]) -> None:
        self._options = options
        self._controller = controller

    def all(self) -> tuple[Command, ...]:
        """Return the commands."""
        return (
            Command("model", "Shows or changes the model that answers.", self.model, "part of a model's name"),
            Command(
                "plan",
                "Changes nothing from here on until `/plan off`; with words, asks for a plan.",
                self.plan,
                "what to plan | off",
                goes_on=lambda args: bool(args) and args != OFF,
            ),
        )

    def model(self, agent: Agent, args: str) -> str:
        """Answer `/model`; raise ServerError when no or more than one model is meant."""
        offered = self._options().models()
        current = f"{agent.config.provider}/{agent.config.model}"
        if not args:
            lines = [f"The model is `{current}`."]
            return "\n".join([*lines, *_listed(model for model in offered if model_value(model) != current)])
        value = _meant(args, offered)
        self._options().change(self._controller(agent), MODEL, value)
        return f"From the next request on `{value}` answers."

    def plan(self, agent: Agent, args: str) -> str:
        """Answer `/plan`; raise ServerError when the log refuses."""
        if args == OFF:
            mode = _before_plan(agent)
            if mode_of(agent.session.events) == "plan":
                self._options().change(self._controller(agent), "mode", mode)
            name, told = DESCRIPTIONS[mode_of(agent.session.events)]
            return f"The mode is {name}: {told}"
        self._options().change(self._controller(agent), "mode", "plan")
        return "The mode is Plan: nothing is changed until you send `/plan off` or choose another mode."


def _before_plan(agent: Agent) -> str:
    """Return the mode that the session had before it planned."""
    modes = [event.data.get("preset") for event in agent.session.events.of_types((MODE_EVENT,))]
    earlier = [mode for mode in modes if mode in MODES and mode != "plan"]
    return str(earlier[-1]) if earlier else DEFAULT_MODE


def _listed(models: Iterable[ModelInfo]) -> list[str]:
    found = [f"- `/model {model_value(model)}`: {model.name}" for model in models]
    return found if len(found) <= _LISTED else [*found[:_LISTED], f"- and {len(found) - _LISTED} more"]


def _meant(args: str, offered: Sequence[ModelInfo]) -> str:
    """Return the value of the one model that the words name; raise ServerError NO_SUCH_MODEL."""
    values = [model_value(model) for model in offered]
    if args in values:
        return args
    wanted = args.casefold()
    exact = [value for value in values if value.partition("/")[2].casefold() == wanted]
    found = exact or [
        model_value(model)
        for model in offered
        if wanted in model_value(model).casefold() or wanted in model.name.casefold()
    ]
    if len(found) == 1:
        return found[0]
    if not found:
        raise ServerError("NO_SUCH_MODEL", f"No model that can be used is called {args!r}; `/model` lists them.")
    some = ", ".join(f"`{value}`" for value in found[:_LISTED])
    raise ServerError("NO_SUCH_MODEL", f"{len(found)} models are meant by {args!r}: {some}.")
