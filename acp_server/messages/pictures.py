"""What the bytes of an image tell without decoding it: kind, size in pixels, whether its end is there. Pure.

Owns the four kinds that every provider of images takes. Refuses to look at pixels.
"""

from __future__ import annotations

import struct
from binascii import crc32
from collections.abc import Callable, Mapping
from typing import Final

from acp_server.base.values import value

MEDIA_TYPES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")

_PNG: Final = b"\x89PNG\r\n\x1a\n"
_FRAMES: Final = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""JPEG markers that state the size of the picture."""
_BARE: Final = frozenset({0x01, *range(0xD0, 0xDA)})
"""JPEG markers without a length."""


@value
class Picture:
    """An image by its own words: `media_type` is one of MEDIA_TYPES, sizes are in pixels.

    `whole` is whether its structure reaches its end; a picture that was cut is refused by every provider.
    """

    media_type: str
    width: int
    height: int
    whole: bool


def picture_of(data: bytes) -> Picture | None:
    """Return what the bytes say of themselves, or None when they are no image of a kind in MEDIA_TYPES.

    The first bytes decide, whatever a file is called. A picture without a single pixel is none.
    """
    for media_type, (size, whole) in _KINDS.items():
        try:
            found = size(data)
        except (struct.error, IndexError):
            continue  # cut within the part that tells the size
        if found is not None and all(found):
            return Picture(media_type, *found, whole(data))
    return None


def _png_size(data: bytes) -> tuple[int, int] | None:
    if not data.startswith(_PNG) or data[12:16] != b"IHDR":
        return None
    width, height = struct.unpack_from(">II", data, 16)
    return width, height


def _png_whole(data: bytes) -> bool:
    """Return whether every chunk up to the last is there and undamaged."""
    at, view = len(_PNG), memoryview(data)
    while at + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        end = at + 12 + length
        if end > len(data) or struct.unpack_from(">I", data, end - 4)[0] != crc32(view[at + 4 : end - 4]):
            return False
        if data[at + 4 : at + 8] == b"IEND":
            return True
        at = end
    return False


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    if not data.startswith(b"\xff\xd8\xff"):
        return None
    at = 2
    while data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
        elif marker in _BARE:
            at += 2
        elif marker in _FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        else:
            at += 2 + struct.unpack_from(">H", data, at + 2)[0]
    return None


def _jpeg_whole(data: bytes) -> bool:
    return b"\xff\xd9" in data[-64 * 1024 :]  # some cameras append words after the end


def _gif_size(data: bytes) -> tuple[int, int] | None:
    if not data.startswith((b"GIF87a", b"GIF89a")):
        return None
    width, height = struct.unpack_from("<HH", data, 6)
    return width, height


def _gif_whole(data: bytes) -> bool:
    return data.rstrip(b"\0").endswith(b"\x3b")


def _webp_size(data: bytes) -> tuple[int, int] | None:
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP":
        return None
    match data[12:16]:
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", data, 26)
            return (width & 0x3FFF, height & 0x3FFF) if data[23:26] == b"\x9d\x01\x2a" else None
        case b"VP8L":
            (bits,) = struct.unpack_from("<I", data, 21)
            return ((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1) if data[20] == 0x2F else None
        case b"VP8X" if len(data) >= 30:
            width, height = (int.from_bytes(data[start : start + 3], "little") + 1 for start in (24, 27))
            return width, height
    return None


def _webp_whole(data: bytes) -> bool:
    return len(data) >= 8 + int.from_bytes(data[4:8], "little")


_KINDS: Final[Mapping[str, tuple[Callable[[bytes], tuple[int, int] | None], Callable[[bytes], bool]]]] = {
    "image/png": (_png_size, _png_whole),
    "image/jpeg": (_jpeg_size, _jpeg_whole),
    "image/gif": (_gif_size, _gif_whole),
    "image/webp": (_webp_size, _webp_whole),
}
