"""Keys and tokens taken out of text that is told or logged (docs/llm.md, clause K-4). Pure.

Servers echo the key that they refuse, libraries echo addresses with passwords. Masking is by exact value where the
secret is known, by shape otherwise; it errs on the side of masking.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

MASK: Final = "[secret]"
SHORTEST_KNOWN: Final = 6

_PREFIXES: Final = (
    r"sk[-_][\w.*-]{4,}",  # OpenAI, Anthropic, DeepSeek, OpenRouter, Stripe
    r"[rp]k_(?:live|test)_\w{8,}",  # Stripe
    r"AIza[\w-]{20,}",  # Google
    r"ya29\.[\w-]{10,}",  # Google OAuth
    r"gh[pousr]_\w{16,}",  # GitHub
    r"github_pat_\w{16,}",
    r"glpat-[\w-]{12,}",  # GitLab
    r"xox[abeprs]-[\w-]{8,}",  # Slack
    r"xai-[\w-]{12,}",
    r"hf_\w{16,}",  # Hugging Face
    r"gsk_\w{16,}",  # Groq
    r"csk-\w{12,}",  # Cerebras
    r"r8_\w{16,}",  # Replicate
    r"nvapi-[\w-]{16,}",
    r"pplx-\w{16,}",
    r"tgp_[\w-]{16,}",  # Together
    r"fw_\w{16,}",  # Fireworks
    r"pypi-[\w-]{16,}",
    r"npm_\w{20,}",
    r"(?:AKIA|ASIA)[0-9A-Z]{12,}",  # AWS
    r"eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?",  # JSON web token
)
_OPAQUE: Final = r"[0-9a-f]{32}\.\w{12,}|(?=[\w+/=-]*\d)(?=[\w+/=-]*[A-Za-z])[\w+/=-]{32,}|[0-9a-f]{32,}"


def mask_secrets(text: str, known: Iterable[str | None] = ()) -> str:
    """Return the text with every secret replaced by MASK; `known` are values that must not appear whatever they are.

    UUIDs stay, since requests are identified by them.
    """
    for secret in known:
        if secret is not None and len(secret) >= SHORTEST_KNOWN:
            text = text.replace(secret, MASK)
    for pattern in _patterns():
        text = pattern.sub(_replacement, text)
    return text


def mask_shapes(text: str) -> str:
    """Return the text without what is a secret by its own look; long paths and other opaque words stay."""
    for pattern in _patterns()[:-1]:
        text = pattern.sub(_replacement, text)
    return text


def _replacement(match: re.Match[str]) -> str:
    kept = match.groupdict()
    return f"{kept.get('before') or ''}{MASK}{kept.get('after') or ''}"


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    """Compile at the first failure: the start of the process has no use for them."""
    named = (
        r"(?:(?:x-)?api[ _-]?key|access[ _-]?token|auth[ _-]?token|client[ _-]?secret|secret|password|authorization)"
    )
    value = r"[^\s\"',;&)\]}<>\[]{4,}"
    return (
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
        re.compile(r"(?P<before>\b[a-z][a-z0-9+.-]*://)[^/\s@]+(?P<after>@)", re.IGNORECASE),
        re.compile(rf"(?P<before>\b(?:bearer|basic)\s+){value}", re.IGNORECASE),
        re.compile(rf"(?P<before>\b{named}(?: provided)?[\"']?\s*[:=]\s*[\"']?){value}", re.IGNORECASE),
        re.compile(rf"(?P<before>\b(?:key|token|sig|signature)=[\"']?){value}", re.IGNORECASE),
        re.compile(rf"(?<![\w-])(?:{'|'.join(_PREFIXES)})"),
        re.compile(
            r"(?<![\w/+.=-])(?![0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b)" rf"(?:{_OPAQUE})(?![\w/+=-])", re.ASCII
        ),
    )
