"""Exact counts by a tokenizer in a process of its own, for the few times when an estimate is too close to a limit.

Owns the process: it lives for one count and for TIME seconds at most. Whatever goes wrong, a package that is not
installed for instance, is no failure: the estimate stands.
"""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from acp_server.base.cancel import CancelToken
from acp_server.llm.waiting import until

TIME: Final = 15.0
CHILD: Final = "acp_server.compaction.exact_child"
_OLDER: Final = ("gpt-4-", "gpt-3.5")


def encoding_of(model: str) -> str:
    """Return the encoding that comes closest to the model's own."""
    name = model.rpartition("/")[2]
    return "cl100k_base" if name == "gpt-4" or name.startswith(_OLDER) else "o200k_base"


async def count_exactly(
    model: str, texts: Sequence[str], cancel: CancelToken, seconds: float = TIME
) -> list[int] | None:
    """Return the tokens of each text, None when they cannot be counted in so many seconds.

    Raises:
        Cancelled: the token was cancelled; the process has ended then.
    """
    asked = json.dumps({"encoding": encoding_of(model), "texts": list(texts)}).encode()
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-m", CHILD, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, cwd="/"
    )
    try:
        async with asyncio.timeout(seconds):
            answer, _ = await until(child.communicate(asked), cancel)
    except TimeoutError:
        return None
    finally:
        if child.returncode is None:
            with suppress(ProcessLookupError):
                child.kill()
            await child.wait()
    return _counts(answer, len(texts)) if child.returncode == 0 else None


def _counts(answer: bytes, number: int) -> list[int] | None:
    try:
        counts = json.loads(answer)
    except ValueError:
        return None
    if not isinstance(counts, list) or len(counts) != number or not all(type(count) is int for count in counts):
        return None
    return counts
