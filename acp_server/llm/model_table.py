"""Facts about well-known models, as data (docs/llm.md, table M). Pure.

Sizes are in tokens, prices in US dollars for a million tokens. Efforts are those that the provider's interface
documents; a model without any does not reason, or cannot be told how much. What is not known is None: nothing here is
a guess. Facts change: settings stand in front of every one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from acp_server.llm.adapter import ModelInfo
from acp_server.messages.prices import Prices

_TEXT: Final = frozenset({"text"})
_IMAGES: Final = frozenset({"text", "image"})
_DEEPSEEK: Final = ("off", "low", "high", "max")
_CLAUDE_BUDGET: Final = ("off", "low", "medium", "high")
_CLAUDE: Final = ("low", "medium", "high", "max")
_CLAUDE_XHIGH: Final = ("low", "medium", "high", "xhigh", "max")
_GPT: Final = ("off", "low", "medium", "high", "xhigh")
_GPT_MAX: Final = (*_GPT, "max")
_GEMINI: Final = ("low", "medium", "high")
_ALWAYS: Final = ("low", "high", "max")
"""Of models that always think."""
_SWITCH: Final = ("off", "on")
"""Of models that think or do not, but cannot be told how much."""
_QWEN: Final = ("off", "low", "medium", "xhigh")
_MISTRAL: Final = ("off", "high")

_MILLION: Final = 1_000_000
_BINARY_MILLION: Final = 1_048_576
_GPT_LONG: Final = 272_000
"""From so many tokens of a request on, OpenAI charges twice for what is read and half more for what is written."""


def rows() -> Iterator[ModelInfo]:
    """Yield the models of every provider, the newest of each first."""
    yield from _deepseek()
    yield from _openai()
    yield from _anthropic()
    yield from _google()
    yield from _kimi()
    yield from _glm()
    yield from _qwen()
    yield from _mistral()


def _deepseek() -> Iterator[ModelInfo]:
    flash, pro = Prices(0.3, 1.2, 0.006), Prices(1.32, 3.96, 0.044)
    for ident, name, inputs, prices in (
        ("deepseek-flash", "DeepSeek Flash", _IMAGES, flash),
        ("deepseek-v4-flash", "DeepSeek V4 Flash", _TEXT, flash),
        ("deepseek-v4-pro", "DeepSeek V4 Pro", _TEXT, pro),
    ):
        yield ModelInfo("deepseek", ident, name, _MILLION, 384_000, inputs, _DEEPSEEK, "high", prices)


def _openai() -> Iterator[ModelInfo]:
    sol, terra = _gpt_prices(4, 20, 0.4, 5), _gpt_prices(2, 12, 0.2, 2.5)
    luna, older = _gpt_prices(0.2, 1.2, 0.02, 0.25), _gpt_prices(5, 30, 0.5, None)
    for name, window, efforts, prices in (
        ("5.6", 1_050_000, _GPT_MAX, sol),
        ("5.6 Sol", 1_050_000, _GPT_MAX, sol),
        ("5.6 Terra", 1_050_000, _GPT_MAX, terra),
        ("5.6 Luna", 1_050_000, _GPT_MAX, luna),
        ("5.5", 1_050_000, _GPT, older),
        ("5.2", 400_000, _GPT, Prices(1.75, 14, 0.175)),
        ("5.1", 400_000, _GPT[:4], Prices(1.25, 10, 0.125)),
    ):
        ident = f"gpt-{name.lower().replace(' ', '-')}"
        yield ModelInfo("openai", ident, f"GPT-{name}", window, 128_000, _IMAGES, efforts, "medium", prices)
    yield ModelInfo("openai", "gpt-4.1", "GPT-4.1", 1_047_576, 32_768, _IMAGES, prices=Prices(2, 8, 0.5))


def _gpt_prices(read: float, written: float, cached: float, stored: float | None) -> Prices:
    long = Prices(2 * read, 1.5 * written, 2 * cached, None if stored is None else 2 * stored)
    return Prices(read, written, cached, stored, _GPT_LONG, long)


def _anthropic() -> Iterator[ModelInfo]:
    opus, sonnet, sonnet_5 = Prices(5, 25, 0.5, 6.25), Prices(3, 15, 0.3, 3.75), Prices(2, 10, 0.2, 2.5)
    haiku_5 = Prices(0.1, 0.5, 0.01, 0.125, 100_000, Prices(0.5, 2.5, 0.05, 0.625))
    for name, effort, prices in (
        ("Fable 5.1", "high", Prices(10, 50, 0.25, 12.5)),
        ("Opus 5.5", "medium", Prices(4, 20, 0.2, 5)),
        ("Sonnet 5.5", "high", Prices(2, 10, 0.1, 2.5)),
        ("Haiku 5.5", "medium", haiku_5),
        ("Opus 5", "high", opus),
        ("Sonnet 5", "high", sonnet_5),
        ("Opus 4.7", "high", opus),
    ):
        yield _claude(name, _MILLION, 128_000, _CLAUDE_XHIGH, effort, prices=prices)
    yield _claude("Opus 4.6", _MILLION, 128_000, _CLAUDE, "high", prices=opus)
    yield _claude("Sonnet 4.6", _MILLION, 64_000, _CLAUDE, "high", prices=sonnet)
    long = Prices(3, 15, 0.3, 3.75, 200_000, Prices(6, 22.5, 0.6, 7.5))
    for name, prices in (("Opus 4.5", opus), ("Sonnet 4.5", long), ("Haiku 4.5", Prices(1, 5, 0.1, 1.25))):
        yield _claude(name, 200_000, 64_000, _CLAUDE_BUDGET, prices=prices)


def _claude(
    name: str, window: int, output: int, efforts: tuple[str, ...], effort: str | None = None, *, prices: Prices
) -> ModelInfo:
    ident = "claude-" + name.lower().replace(" ", "-").replace(".", "-")
    return ModelInfo("anthropic", ident, f"Claude {name}", window, output, _IMAGES, efforts, effort, prices)


def _google() -> Iterator[ModelInfo]:
    pro = Prices(2, 12, 0.2, None, 200_000, Prices(4, 18, 0.4))
    for name, prices in (
        ("3.8 Flash", Prices(1.5, 7.5, 0.15)),
        ("3.5 Flash", Prices(1.5, 9, 0.15)),
        ("3.5 Flash Lite", Prices(0.3, 2.5, 0.03)),
        ("3.1 Pro Preview", pro),
        ("2.5 Pro", Prices(1.25, 10, 0.125, None, 200_000, Prices(2.5, 15, 0.25))),
    ):
        ident = f"gemini-{name.lower().replace(' ', '-')}"
        yield ModelInfo("google", ident, f"Gemini {name}", _BINARY_MILLION, 65_536, _IMAGES, _GEMINI, None, prices)


def _kimi() -> Iterator[ModelInfo]:
    k3 = Prices(3, 15, 0.3, 3)
    yield ModelInfo("kimi", "kimi-k3", "Kimi K3", _BINARY_MILLION, None, _IMAGES, _ALWAYS, "max", k3)
    for name, efforts, prices in (("K2.7 Code", (), Prices(0.95, 4, 0.19)), ("K2.6", _SWITCH, Prices(0.95, 4, 0.16))):
        ident, effort = f"kimi-{name.lower().replace(' ', '-')}", "on" if efforts else None
        yield ModelInfo("kimi", ident, f"Kimi {name}", 262_144, None, _IMAGES, efforts, effort, prices)


def _glm() -> Iterator[ModelInfo]:
    large = Prices(1.4, 4.4, 0.26)
    yield ModelInfo("glm", "glm-5.3", "GLM-5.3", _MILLION, 128_000, _TEXT, _ALWAYS, "max", large)
    flash = Prices(0.15, 0.5, 0.03)
    yield ModelInfo("glm", "glm-5.3-flash", "GLM-5.3 Flash", _BINARY_MILLION, 128_000, _IMAGES, _ALWAYS, "max", flash)
    yield ModelInfo("glm", "glm-5.2", "GLM-5.2", _MILLION, 128_000, _TEXT, prices=large)
    yield ModelInfo("glm", "glm-5.1", "GLM-5.1", 200_000, 128_000, _TEXT, prices=large)


def _qwen() -> Iterator[ModelInfo]:
    for name, output, inputs, efforts, prices in (
        ("3.8 Max", 131_072, _IMAGES, _QWEN, Prices(2, 6, 0.25)),
        ("3.8 Flash", 131_072, _IMAGES, (), Prices(0.15, 0.47, 0.016, 0.2)),
        ("3.7 Max", 65_536, _TEXT, (), Prices(2.5, 7.5, 0.5, 3.125)),
    ):
        ident = f"qwen{name.lower().replace(' ', '-')}"
        effort = "xhigh" if efforts else None
        yield ModelInfo("qwen", ident, f"Qwen{name}", _MILLION, output, inputs, efforts, effort, prices)


def _mistral() -> Iterator[ModelInfo]:
    for ident, name, window, inputs, efforts, prices in (
        ("mistral-large-4", "Mistral Large 4", _BINARY_MILLION, _IMAGES, (), Prices(0.7, 2.1, 0.07)),
        ("mistral-medium-latest", "Mistral Medium", 262_144, _IMAGES, _MISTRAL, Prices(1.5, 7.5, 0.15)),
        ("mistral-small-latest", "Mistral Small", 262_144, _IMAGES, _MISTRAL, Prices(0.15, 0.6, 0.015)),
        ("devstral-latest", "Devstral", 262_144, _TEXT, (), Prices(0.4, 2, 0.04)),
    ):
        yield ModelInfo("mistral", ident, name, window, None, inputs, efforts, None, prices)
