"""Facts about well-known models, as data (docs/llm.md, table M).

An unknown model works, with what is not known left None: a window is never guessed. Settings may state any of it.
Sizes are in tokens. Efforts are those that the provider's interface documents; a model without any does not reason,
or cannot be told how much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from acp_server.base.values import replace
from acp_server.llm.adapter import ModelInfo

_TEXT: Final = frozenset({"text"})
_IMAGES: Final = frozenset({"text", "image"})
_DEEPSEEK: Final = ("off", "low", "high", "max")
_CLAUDE_BUDGET: Final = ("off", "low", "medium", "high")
_CLAUDE: Final = ("low", "medium", "high", "max")
_CLAUDE_XHIGH: Final = ("low", "medium", "high", "xhigh", "max")
_GPT: Final = ("off", "low", "medium", "high", "xhigh")
_GPT_MAX: Final = (*_GPT, "max")

_MILLION: Final = 1_000_000


def _rows() -> Iterator[ModelInfo]:
    yield ModelInfo("deepseek", "deepseek-flash", "DeepSeek Flash", _MILLION, 384_000, _IMAGES, _DEEPSEEK, "high")
    yield ModelInfo("deepseek", "deepseek-v4-flash", "DeepSeek V4 Flash", _MILLION, 384_000, _TEXT, _DEEPSEEK, "high")
    yield ModelInfo("deepseek", "deepseek-v4-pro", "DeepSeek V4 Pro", _MILLION, 384_000, _TEXT, _DEEPSEEK, "high")

    yield ModelInfo("openai", "gpt-5.6", "GPT-5.6", 1_050_000, 128_000, _IMAGES, _GPT_MAX, "medium")
    yield ModelInfo("openai", "gpt-5.6-sol", "GPT-5.6 Sol", 1_050_000, 128_000, _IMAGES, _GPT_MAX, "medium")
    yield ModelInfo("openai", "gpt-5.6-terra", "GPT-5.6 Terra", 1_050_000, 128_000, _IMAGES, _GPT_MAX, "medium")
    yield ModelInfo("openai", "gpt-5.6-luna", "GPT-5.6 Luna", 1_050_000, 128_000, _IMAGES, _GPT_MAX, "medium")
    yield ModelInfo("openai", "gpt-5.5", "GPT-5.5", 1_050_000, 128_000, _IMAGES, _GPT, "medium")
    yield ModelInfo("openai", "gpt-5.2", "GPT-5.2", 400_000, 128_000, _IMAGES, _GPT, "medium")
    yield ModelInfo("openai", "gpt-5.1", "GPT-5.1", 400_000, 128_000, _IMAGES, _GPT[:4], "medium")
    yield ModelInfo("openai", "gpt-4.1", "GPT-4.1", 1_047_576, 32_768, _IMAGES)

    for name, efforts, effort in (
        ("Fable 5.1", _CLAUDE_XHIGH, "high"),
        ("Opus 5.5", _CLAUDE_XHIGH, "medium"),
        ("Sonnet 5.5", _CLAUDE_XHIGH, "high"),
        ("Haiku 5.5", _CLAUDE_XHIGH, "medium"),
        ("Opus 5", _CLAUDE_XHIGH, "high"),
        ("Sonnet 5", _CLAUDE_XHIGH, "high"),
        ("Opus 4.7", _CLAUDE_XHIGH, "high"),
        ("Opus 4.6", _CLAUDE, "high"),
    ):
        yield _claude(name, _MILLION, 128_000, efforts, effort)
    yield _claude("Sonnet 4.6", _MILLION, 64_000, _CLAUDE, "high")
    yield _claude("Opus 4.5", 200_000, 64_000, _CLAUDE_BUDGET, None)
    yield _claude("Sonnet 4.5", 200_000, 64_000, _CLAUDE_BUDGET, None)
    yield _claude("Haiku 4.5", 200_000, 64_000, _CLAUDE_BUDGET, None)


def _claude(name: str, window: int, output: int, efforts: tuple[str, ...], effort: str | None) -> ModelInfo:
    ident = "claude-" + name.lower().replace(" ", "-").replace(".", "-")
    return ModelInfo("anthropic", ident, f"Claude {name}", window, output, _IMAGES, efforts, effort)


_MODELS: Final[Mapping[tuple[str, str], ModelInfo]] = {(row.provider, row.id): row for row in _rows()}


def known_models(provider: str) -> tuple[ModelInfo, ...]:
    """Return the provider's models that the table holds, in its order: the newest first."""
    return tuple(row for row in _MODELS.values() if row.provider == provider)


def lookup(provider: str, model: str) -> ModelInfo | None:
    """Return the facts, or None; a name with a date at its end means the model without it."""
    row = _MODELS.get((provider, model)) or _MODELS.get((provider, _undated(model)))
    return None if row is None else replace(row, id=model)


def model_info(provider: str, model: str) -> ModelInfo:
    """Return the facts; of an unknown model only its name is one."""
    return lookup(provider, model) or ModelInfo(provider, model, model)


def facts_of(provider: str) -> Callable[[str], ModelInfo | None]:
    """Return what an encoder asks for facts about one provider's models."""
    return lambda model: lookup(provider, model)


def _undated(model: str) -> str:
    stem, _, date = model.rpartition("-")
    if len(date) == 8 and date.isdigit():
        return stem
    stem, *parts = model.rsplit("-", 3)
    return stem if [len(part) for part in parts] == [4, 2, 2] and "".join(parts).isdigit() else model
