"""Matching lines of one file's bytes; run as a script it does so in a process of its own.

A pattern from a model can take time without end, and holds the interpreter meanwhile: such a pattern runs where it
can be killed. Imports the standard library alone, so that the script starts in a few milliseconds. What a byte that
is no text counts for stands in docs/tools.md.
"""

from __future__ import annotations

import json
import re
import sys
from typing import BinaryIO, Final, TypeAlias

Found: TypeAlias = "tuple[int, list[tuple[int, int, int]]]"
"""How many lines match, and of the first of them: the number from 1, and the match's place in the line."""

NOTHING: Final[Found] = (0, [])


def searched_text(data: bytes) -> str | None:
    """Return the text that is searched: its mark left out, bytes that are no UTF-8 as lone surrogates.

    None for a binary file, which is one that holds a NUL.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data[2:].decode("utf-16-le" if data[0] == 0xFF else "utf-16-be", "replace")
        return None if "\0" in text else text
    if b"\0" in data:
        return None
    return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")


def matching_lines(data: bytes, expression: re.Pattern[str], most: int) -> Found:
    """Return the matching lines, the first `most` with their places; the expression never matches a line end."""
    text = searched_text(data)
    if not text:
        return NOTHING
    count, found = 0, []
    at, number, counted = 0, 1, 0
    while (match := expression.search(text, at)) is not None:
        start, stop = match.span()
        if start == len(text) and text.endswith("\n"):
            break
        count += 1
        if count <= most:
            begin = text.rfind("\n", 0, start) + 1
            number += text.count("\n", counted, begin)
            counted = begin
            found.append((number, start - begin, stop - begin))
        end = text.find("\n", stop)
        if end < 0:
            break
        at = end + 1
    return count, found


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer batches until the end: a line of lengths and then the files' bytes, one line of results for each."""
    source, ignore_case, most = json.loads(requests.readline())
    expression = re.compile(source, re.MULTILINE | (re.IGNORECASE if ignore_case else 0))
    for line in iter(requests.readline, b""):
        files = [requests.read(size) for size in json.loads(line)]
        results = [matching_lines(data, expression, most) for data in files]
        answers.write(json.dumps(results).encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
