"""The session log on disk as the cases see it: found, damaged, checked for being whole."""

from __future__ import annotations

import json
from pathlib import Path

import zstandard

FRAME_MAGIC = b"\x28\xb5\x2f\xfd"


class UnreadableError(Exception):
    """The log cannot be read; the text says why."""


def find(state: Path) -> list[Path]:
    """Return the logs below the state directory, in the order of their paths."""
    return sorted(p for name in ("session.jsonl.zstd", "session.jsonl") for p in state.glob(f"sessions/*/*/{name}"))


def damage(path: Path, kind: str, count: int) -> None:
    """Cut the last bytes off, or put zero bytes at the border of records that is nearest to the middle."""
    raw = path.read_bytes()
    if kind == "cut_last_bytes":
        path.write_bytes(raw[: max(0, len(raw) - count)])
    elif kind == "nul_block_in_the_middle":
        packed = path.suffix == ".zstd"
        mark = FRAME_MAGIC if packed else b"\n"
        edges = [n if packed else n + 1 for n in range(1, len(raw)) if raw.startswith(mark, n)]
        if not edges:
            raise UnreadableError("the log has no border between records to damage")
        cut = min(edges, key=lambda n: abs(n - len(raw) // 2))
        path.write_bytes(raw[:cut] + bytes(count) + raw[cut:])
    else:
        raise UnreadableError(f"there is no damage called {kind}")


def records(path: Path) -> list[dict[str, object]]:
    """Return every record.

    Raises:
        UnreadableError: a frame or a line is not whole, or a line holds no object.
    """
    raw = path.read_bytes()
    if path.suffix == ".zstd":
        raw = _unpack(raw)
    if raw and not raw.endswith(b"\n"):
        raise UnreadableError("the last line has no LF")
    return [_record(number, line) for number, line in enumerate(raw.split(b"\n")[:-1], 1)]


def _record(number: int, line: bytes) -> dict[str, object]:
    try:
        value = json.loads(line.decode("utf-8"))
    except ValueError as why:
        raise UnreadableError(f"line {number} of the log: {why}") from None
    if not isinstance(value, dict):
        raise UnreadableError(f"line {number} of the log is no object")
    return value


def _unpack(raw: bytes) -> bytes:
    out = b""
    while raw:
        reader = zstandard.ZstdDecompressor().decompressobj()
        try:
            out += reader.decompress(raw)
        except zstandard.ZstdError as why:
            raise UnreadableError(f"a frame is damaged: {why}") from None
        if not reader.eof:
            raise UnreadableError("the last frame is torn")
        raw = reader.unused_data
    return out
