"""Real images of every kind that is taken, made or kept small."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Final

from tests.support.trace import Obj


def png(width: int = 3, height: int = 2, seed: int = 0) -> bytes:
    """Return a PNG of one colour for each seed."""
    rows = b"".join(b"\0" + bytes((seed & 255, seed >> 8 & 255, 77)) * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)


def large_png(size: int) -> bytes:
    """Return a whole PNG of 1 x 1 pixel and exactly that many bytes, most of them in a chunk of words."""
    small = png(1, 1)
    end = small.index(b"IEND") - 4
    return small[:end] + _chunk(b"tEXt", b"x\0" + b"y" * (size - len(small) - 14)) + small[end:]


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


KINDS: Final[dict[str, tuple[str, int, int, bytes]]] = {
    name: (media_type, width, height, base64.b64decode(text))
    for name, media_type, width, height, text in (
        ("gif", "image/gif", 5, 4, "R0lGODdhBQAEAIEAAP8AAAAAAAAAAAAAACwAAAAABQAEAAAICQABCBxIsGDBgAA7"),
        (
            "webp",
            "image/webp",
            5,
            4,
            "UklGRjQAAABXRUJQVlA4ICgAAACQAQCdASoFAAQAB0CWJaACdLoAA5gA/uUK+Cepco/+N48CvJdjoAAA",
        ),
        ("webp-lossless", "image/webp", 5, 4, "UklGRhwAAABXRUJQVlA4TA8AAAAvBMAAAAcQ/Y/+ByKi/wEA"),
        (
            "webp-extended",
            "image/webp",
            5,
            4,
            (
                "UklGRmAAAABXRUJQVlA4WAoAAAAQAAAABAAAAwAAQUxQSAoAAAABB1CyiAhERP8DVlA4IDAAAADQAQCdASoFAAQAAUAmJaACdLoB+AADsAD+8ut/"
                "/NgVzXPv9//S4P0uD9Lg/9KQAAA="
            ),
        ),
        (
            "jpeg",
            "image/jpeg",
            9,
            7,
            (
                "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAKBueIx4ZKCMgoy0qqC+8P//8Nzc8P/////////////////////////////////////////////////////"
                "/////wgALCAAHAAkBAREA/8QAFQABAQAAAAAAAAAAAAAAAAAAAAL/2gAIAQEAAAABh//EABQQAQAAAAAAAAAAAAAAAAAAABD/2gAIAQEAAQUCP/"
                "/EABQQAQAAAAAAAAAAAAAAAAAAABD/2gAIAQEABj8CP//EABQQAQAAAAAAAAAAAAAAAAAAABD/2gAIAQEAAT8hP//aAAgBAQAAABA//8QAFBABA"
                "AAAAAAAAAAAAAAAAAAAEP/aAAgBAQABPxA//9k="
            ),
        ),
    )
}
"""Kind, size in pixels and bytes of an image; PNG is made by `png`."""


def image(content: bytes, media_type: str = "image/png", **more: str) -> Obj:
    """Return the content block of an image."""
    return {"type": "image", "data": base64.b64encode(content).decode(), "mimeType": media_type, **more}
