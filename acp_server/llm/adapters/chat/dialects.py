"""How servers of Chat Completions differ, as data. The protocol's code knows features, never a server's name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

EffortStyle: TypeAlias = Literal["effort", "thinking", "reasoning", "template", "switch", "toggle"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """One family of servers.

    Attributes:
        name: what settings call it.
        max_tokens_field: the field that limits the answer.
        effort: how thinking is asked for: a `reasoning_effort`; DeepSeek's `thinking` beside it; OpenRouter's
            `reasoning` object; arguments of the chat template beside it; Qwen's `enable_thinking` beside it; or Kimi's
            `thinking`, which is for switching alone, in its place.
        always_reasoning: whether every reasoning goes back as `reasoning_content`, and messages with calls carry that
            field in any case. Elsewhere reasoning goes back under the name it came by, to the model it came from.
        no_reasoning: what that field holds where there was none; Kimi takes an empty one for a missing one and refuses.
        tells_cost: whether the usage of an answer says in `cost` what it cost, in US dollars.
        cache_key: whether `prompt_cache_key` is understood.
        dropped_keywords: schema keywords that the server stumbles over.
    """

    name: str
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    effort: EffortStyle = "effort"
    always_reasoning: bool = False
    no_reasoning: str = ""
    tells_cost: bool = False
    cache_key: bool = False
    dropped_keywords: frozenset[str] = frozenset()


GENERIC: Final = Dialect("generic")

DIALECTS: Final[Mapping[str, Dialect]] = {
    dialect.name: dialect
    for dialect in (
        GENERIC,
        Dialect("openai", max_tokens_field="max_completion_tokens", cache_key=True),
        Dialect("deepseek", effort="thinking", always_reasoning=True),
        Dialect("openrouter", effort="reasoning", tells_cost=True),
        Dialect("qwen", effort="switch"),
        Dialect("kimi", effort="toggle", always_reasoning=True, no_reasoning="(not kept)"),
        Dialect("ollama"),
        Dialect("vllm", effort="template"),
        # llama.cpp turns schemas into grammars and refuses patterns that are not anchored.
        Dialect("llama.cpp", effort="template", dropped_keywords=frozenset({"pattern", "format"})),
        Dialect("lm-studio"),
    )
}

_HOSTS: Final = (
    ("api.openai.com", "openai"),
    ("deepseek.com", "deepseek"),
    ("openrouter.ai", "openrouter"),
    ("aliyuncs.com", "qwen"),
    ("moonshot.ai", "kimi"),
    ("moonshot.cn", "kimi"),
)
_PORTS: Final = {11434: "ollama", 1234: "lm-studio"}


def dialect_for(provider: str, base_url: str) -> Dialect:
    """Return the dialect: by the host, else by the provider's name, else by a local server's usual port.

    The name `openai` alone is no sign of OpenAI's own service, since its variables are used for any compatible server.
    """
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    for suffix, name in _HOSTS:
        if host == suffix or host.endswith(f".{suffix}"):
            return DIALECTS[name]
    if provider in DIALECTS and provider != "openai":
        return DIALECTS[provider]
    return DIALECTS[_PORTS.get(_port(base_url), "generic")]


def _port(base_url: str) -> int:
    try:
        return urlsplit(base_url).port or 0
    except ValueError:
        return 0
