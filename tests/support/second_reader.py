"""A reader of session logs written from docs/log-format.md alone. It shares no line with the server's own."""

from __future__ import annotations

import hashlib
import io
import json
import re
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import zstandard

LIMIT = 64 << 20
KINDS = {
    "text-chunks": "text-delta",
    "reasoning-chunks": "reasoning-delta",
    "tool-call-chunks": "tool-call-delta",
}
COMMIT = re.compile(rb'\{"type":"commit","count":(\d+),"crc32":"([0-9a-f]{8})"\}')


@dataclass
class Reading:
    """What a log holds: header, events as JSON objects, how far it is good, and what comes then."""

    header: dict[str, Any] | None = None
    events: list[dict[str, Any]] = field(default_factory=list)
    good: int = 0
    finding: str | None = None


class Lost(Exception):  # noqa: N818 - what a line needs is not there
    """K-8: an attachment that cannot be had."""


def read(data: bytes, *, compressed: bool, beside: Mapping[str, bytes] | None = None) -> Reading:
    batch = frame if compressed else lines
    reading = Reading()
    first = batch(data, 0)
    try:
        reading.header = json.loads(first[0]) if first and first[0].count(b"\n") == 1 else None
    except ValueError:
        reading.header = None
    if first is None or reading.header is None or reading.header.get("type") != "session":
        reading.finding = "no header"
        return reading
    reading.good = first[1]
    while reading.good < len(data):
        found = batch(data, reading.good)
        if found is None:
            seqs = [seq_of(content) for content in behind(data, reading.good, batch)]
            later = any(seq is not None and seq >= len(reading.events) for seq in seqs)
            reading.finding = "damage" if later else "torn"
            break
        events: list[dict[str, Any]] = []
        whole, start = True, len(reading.events)
        try:
            for line in found[0].split(b"\n")[:-1]:
                events += unpack(line, beside or {})
        except (ValueError, KeyError, TypeError, IndexError):
            events = []
        except Lost:
            whole = False
        follows = [event.get("seq") for event in events] == list(range(start, start + len(events)))
        reading.events += events if follows else []
        if not follows or not events or not whole:
            reading.finding = "damage"
            break
        reading.good = found[1]
    return reading


def frame(data: bytes, offset: int) -> tuple[bytes, int] | None:
    """B-1 to B-4."""
    if data[offset : offset + 4] != b"\x28\xb5\x2f\xfd" or len(data) < offset + 14:
        return None
    flags = data[offset + 4]
    if flags & 0x18 or not flags & 4:
        return None
    single = flags >> 5 & 1
    size = (single, 2, 4, 8)[flags >> 6]
    if not size or flags & 3:
        return None
    at = offset + 5 + (1 - single) + size
    while True:
        if at + 3 > len(data):
            return None
        low, high = struct.unpack("<HB", data[at : at + 3])
        header = low | high << 16
        at += 3 + (1 if header >> 1 & 3 == 1 else header >> 3)
        if header >> 1 & 3 == 3:
            return None
        if header & 1:
            break
    end = at + 4
    if end > len(data) or not 0 <= zstandard.frame_content_size(data[offset:end]) <= LIMIT:
        return None
    try:
        with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data[offset:end])) as stream:
            return stream.read(), end
    except zstandard.ZstdError:
        return None


def lines(data: bytes, offset: int) -> tuple[bytes, int] | None:
    """B-8."""
    at = offset
    while (end := data.find(b"\n", at)) >= 0:
        commit = COMMIT.fullmatch(data[at:end])
        if commit:
            content = data[offset:at]
            good = content.count(b"\n") == int(commit[1]) and f"{zlib.crc32(content):08x}".encode() == commit[2]
            return (content, end + 1) if good else None
        at = end + 1
    return None


def behind(data: bytes, offset: int, batch: Any) -> list[bytes]:
    """K-4: whole batches that begin anywhere behind the offset."""
    starts = [hit.start() for hit in re.finditer(rb"\x28\xb5\x2f\xfd|(?<=\n)\{", data) if hit.start() > offset]
    return [found[0] for start in starts if (found := batch(data, start)) is not None]


def seq_of(content: bytes) -> int | None:
    try:
        value = json.loads(content.split(b"\n")[0])
        seq = value["seq0" if value["type"] in KINDS else "seq"]
    except (ValueError, KeyError, TypeError):
        return None
    return seq if isinstance(seq, int) else None


def restored(event: dict[str, Any], beside: Mapping[str, bytes]) -> dict[str, Any]:
    """V-2 to V-5."""
    if "attached" not in event:
        return event
    listed = event.pop("attached")
    places = []
    for one in listed:
        holder = event["data"]
        for step in one["at"][:-1]:
            holder = holder[step]
        if len(one) != 3 or holder[one["at"][-1]] != "" or not 1 <= one["bytes"] <= LIMIT:
            raise ValueError("no reference")
        places.append((holder, one["at"][-1], one))
    if not places or len({json.dumps(one["at"]) for one in listed}) != len(places):
        raise ValueError("no references")
    for holder, last, one in places:
        content = beside.get(one["attachmentId"], b"")
        if len(content) != one["bytes"] or f"sha256-{hashlib.sha256(content).hexdigest()}" != one["attachmentId"]:
            raise Lost(one["attachmentId"])
        holder[last] = content.decode()
    return event


def unpack(line: bytes, beside: Mapping[str, bytes]) -> list[dict[str, Any]]:
    """R-3 to R-5."""
    value = json.loads(line)
    kind = KINDS.get(value["type"])
    if kind is None:
        if not {"type", "seq", "time", "data"} <= value.keys():
            raise ValueError("no event")
        return [restored(value, beside)]
    data = value["data"]
    pieces = data["args"] if kind == "tool-call-delta" else data["texts"]
    place = "argumentsDelta" if kind == "tool-call-delta" else "text"
    named = {key: data[key] for key in ("id", "name") if key in data}
    events, time = [], value["time0"]
    for number, piece in enumerate(pieces):
        time += data["dt"][number - 1] if number else 0
        chunk = {"type": kind, "index": data["index"], **named, place: piece}
        event = {"type": "assistant/chunk", "seq": value["seq0"] + number, "time": time}
        events.append({**event, "data": {"turn": data["turn"], "step": data["step"], "chunk": chunk}})
    return events
