"""Names of hosts, addresses and requests as an allow-list sees them (docs/sandbox.md, clauses N-3 to N-7). Pure.

Owns the one form in which a name is compared, what a pattern covers, which addresses are public, and the head of a
proxy request. Whatever has two readings is refused.
"""

from __future__ import annotations

import re
from ipaddress import IPv6Address, ip_address
from typing import Final

from acp_server.base.values import value

PORTS: Final[frozenset[int]] = frozenset({80, 443})
HEAD_LIMIT: Final = 16 << 10
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMERIC = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*)")
_TARGET = re.compile(rb"http://([^/?#@\s]+)(/[^\s]*)?", re.IGNORECASE)
_NOT_FORWARDED: Final = frozenset(
    {b"host", b"connection", b"keep-alive", b"te", b"trailer", b"upgrade", b"proxy-connection", b"proxy-authorization"}
)


@value
class ProxyRequest:
    """What a client asks of the proxy. `head` is None for a tunnel, else the request to send to the host first.

    `body` counts the bytes that follow the head.
    """

    host: str
    port: int
    head: bytes | None
    body: int = 0


def canonical_host(name: str) -> str | None:
    """Return the one form of a host's name, or None for what is none: addresses in any spelling, odd characters."""
    if not name.isascii():
        try:
            name = name.encode("idna").decode("ascii")
        except UnicodeError:
            return None
    name = name.lower()
    labels = name.split(".")
    if not 0 < len(name) <= 253 or not all(_LABEL.fullmatch(label) for label in labels):
        return None
    return None if _NUMERIC.fullmatch(labels[-1]) else name


def host_allowed(host: str, patterns: tuple[str, ...]) -> bool:
    """Return whether a canonical name is one of the patterns, each a name or `*.suffix`, which covers names beneath."""
    for pattern in patterns:
        suffix = canonical_host(pattern.removeprefix("*."))
        if suffix is not None and (host.endswith(f".{suffix}") if pattern.startswith("*.") else host == suffix):
            return True
    return False


def is_public(address: str) -> bool:
    """Return whether an address belongs to the internet: not private, local, shared, multicast, or wrapping another."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is not None:
            return is_public(str(found.ipv4_mapped))
        if found.sixtofour is not None or found.teredo is not None or found in _TRANSLATED:
            return False
    return found.is_global and not found.is_multicast


class _Network64:
    """Addresses that translators map to IPv4: 64:ff9b::/96 and 64:ff9b:1::/48."""

    def __contains__(self, address: IPv6Address) -> bool:
        number = int(address)
        return number >> 32 == 0x64FF9B << 64 or number >> 80 == 0x64FF9B0001


_TRANSLATED: Final = _Network64()


def parse_request(head: bytes) -> ProxyRequest | None:
    """Return the request of a head that ends in an empty line, or None when it is not one that can be served."""
    lines = head.split(b"\r\n")
    words = lines[0].split(b" ")
    if len(words) != 3 or words[2] not in (b"HTTP/1.1", b"HTTP/1.0") or lines[-2:] != [b"", b""]:
        return None
    headers = [_HEADER.fullmatch(line) for line in lines[1:-2]]
    if any(header is None for header in headers):
        return None
    pairs = [(header[1], header[2]) for header in headers if header is not None]
    if words[0] == b"CONNECT":
        return _aimed(words[1], 443, None, 0)
    return _plain(words, pairs)


def _plain(words: list[bytes], pairs: list[tuple[bytes, bytes]]) -> ProxyRequest | None:
    """A request by absolute address; its body is counted, so that no second request can follow it unseen."""
    target = _TARGET.fullmatch(words[1])
    names = [name.lower() for name, _ in pairs]
    lengths = {text.strip() for name, text in pairs if name.lower() == b"content-length"}
    if target is None or b"transfer-encoding" in names or len(lengths) > 1:
        return None
    length = next(iter(lengths), b"0")
    if not re.fullmatch(rb"[0-9]{1,15}", length):
        return None
    kept = [name + b": " + text for name, text in pairs if name.lower() not in _NOT_FORWARDED]
    first = words[0] + b" " + (target[2] or b"/") + b" HTTP/1.1"
    rows = [first, b"Host: " + target[1], *kept, b"Connection: close", b"", b""]
    return _aimed(target[1], 80, b"\r\n".join(rows), int(length))


def _aimed(authority: bytes, port: int, head: bytes | None, body: int) -> ProxyRequest | None:
    name, colon, digits = authority.partition(b":")
    if colon and not re.fullmatch(rb"[0-9]{1,5}", digits):
        return None
    try:
        host = canonical_host(name.decode("ascii"))
    except UnicodeDecodeError:
        return None
    number = int(digits) if colon else port
    return ProxyRequest(host, number, head, body) if host is not None and 0 < number < 65536 else None
