"""Addresses that a model may have fetched, as far as their text tells (docs/web.md, clauses A-1 to A-4). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, urljoin, urlsplit

from acp_server.base.values import value
from acp_server.sandbox.hosts import canonical_host
from acp_server.tools.tool import ToolError

SCHEMES: Final[Mapping[str, int]] = {"https": 443, "http": 80}
LONGEST: Final = 4096
_KEPT: Final = "/%:=&?~#+!$,;'@()*[]"
"""Characters of a path and a query that are sent as they stand."""


@value
class WebAddress:
    """One address; `host` is canonical, `path` begins with a slash and holds the query."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def url(self) -> str:
        """Return the address as a text; the port is named where it is not the scheme's."""
        port = "" if self.port == SCHEMES[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{self.host}{port}{self.path}"


def web_address(text: str) -> WebAddress:
    """Return the address of a text.

    Raises:
        ToolError: INVALID_ADDRESS: another scheme, credentials, an address by numbers in any spelling, no host.
    """
    if len(text) > LONGEST or any(ord(character) <= 32 or ord(character) == 127 for character in text):
        raise _invalid("it is too long, or has spaces or control characters")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise _invalid("it is none") from error
    if parts.scheme not in SCHEMES:
        raise _invalid("only http and https are fetched")
    if "@" in parts.netloc or "\\" in text:
        raise _invalid("it holds a name or password, or a backslash")
    host = canonical_host((parts.hostname or "").removesuffix("."))
    if host is None or "." not in host:
        raise _invalid("its host is no name of the internet; addresses by numbers are not fetched")
    path = quote(parts.path or "/", safe=_KEPT) + (f"?{quote(parts.query, safe=_KEPT)}" if parts.query else "")
    return WebAddress(parts.scheme, host, SCHEMES[parts.scheme] if port is None else port, path)


def redirected(address: WebAddress, location: str) -> WebAddress:
    """Return where an answer sends on to.

    Raises:
        ToolError: INVALID_ADDRESS; REDIRECTED for another host, which the person was not asked about, and for the way
            from https to http.
    """
    there = web_address(urljoin(address.url, location.strip()))
    if there.host != address.host:
        raise ToolError("REDIRECTED", f"{address.url} sends on to another host; fetch {there.url} if you want that")
    if there.scheme == "http" and address.scheme == "https":
        raise ToolError("REDIRECTED", f"{address.url} sends on to an address that is not encrypted: {there.url}")
    return there


def _invalid(why: str) -> ToolError:
    return ToolError("INVALID_ADDRESS", f"the address cannot be fetched: {why}")
