"""What a binary file is, told by its first bytes. Pure."""

from __future__ import annotations

from typing import Final

from acp_server.messages.pictures import picture_of

_STARTS: Final[tuple[tuple[bytes, str], ...]] = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"BM", "a BMP image"),
    (b"II*\0", "a TIFF image"),
    (b"MM\0*", "a TIFF image"),
    (b"\0\0\1\0", "an icon image"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive (or a document of that format)"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\0", "xz data"),
    (b"\x28\xb5\x2f\xfd", "Zstandard data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x7fELF", "a program or library (ELF)"),
    (b"MZ", "a program or library (Windows)"),
    (b"\xcf\xfa\xed\xfe", "a program or library (Mach-O)"),
    (b"\xca\xfe\xba\xbe", "a Java class or a program (Mach-O)"),
    (b"\0asm", "a WebAssembly module"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"OggS", "Ogg media"),
    (b"ID3", "MP3 audio"),
    (b"fLaC", "FLAC audio"),
    (b"wOFF", "a font"),
    (b"wOF2", "a font"),
    (b"!<arch>\n", "a static library"),
)


def describe_binary(head: bytes) -> str:
    """Return words such as "a PNG image, 640 x 480" for the first bytes of a file that is no text."""
    if head[:4] == b"RIFF" and head[8:12] in _RIFFS:
        return _RIFFS[head[8:12]] + _size(head)
    if head[4:8] == b"ftyp":
        return "an AVIF or HEIC image" if head[8:12] in {b"avif", b"heic", b"mif1"} else "MP4 media"
    if head[257:262] == b"ustar":
        return "a tar archive"
    words = next((words for start, words in _STARTS if head.startswith(start)), "a binary file")
    return words + _size(head)


def is_image(words: str) -> bool:
    """Return whether these words describe an image."""
    return " image" in words


_RIFFS: Final = {b"WEBP": "a WebP image", b"WAVE": "WAV audio", b"AVI ": "AVI video"}


def _size(head: bytes) -> str:
    picture = picture_of(head)
    return "" if picture is None else f", {picture.width} x {picture.height}"
