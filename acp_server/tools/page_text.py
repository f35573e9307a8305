"""A page as text for a model: HTML becomes Markdown, other text stays, everything else is refused (docs/web.md, P).

The one module that imports markdownify.
"""

from __future__ import annotations

import re
from email.message import Message
from typing import Final

from bs4 import BeautifulSoup
from markdownify import MarkdownConverter

from acp_server.tools.tool import ToolError

MOST_HTML: Final = 2 << 20
_LEFT_OUT: Final = (
    "script", "style", "noscript", "template", "svg", "canvas", "iframe", "object", "embed", "form", "nav", "footer",
)  # fmt: skip
_TEXT_TYPES: Final = ("json", "xml", "javascript", "ecmascript", "yaml", "toml", "x-sh", "x-ndjson", "graphql", "sql")
_HTML_TYPES: Final = ("text/html", "application/xhtml+xml")
_LINES = re.compile(r"[ \t]+\n")
_GAPS = re.compile(r"\n{3,}")


def page_text(body: bytes, content_type: str) -> str:
    """Return the text of a page; takes its time for long HTML.

    Raises:
        ToolError: NOT_TEXT.
    """
    kind, charset = _parsed(content_type)
    if kind in _HTML_TYPES or (not kind and body.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html"))):
        return _markdown(body[:MOST_HTML], charset)
    is_text = kind.startswith("text/") or kind.partition("/")[2].rpartition("+")[2] in _TEXT_TYPES
    if not is_text and (kind or b"\0" in body[:4096]):
        raise ToolError("NOT_TEXT", f"the page is {kind or 'no text'}, {len(body):,} bytes, which is not read")
    return _decoded(body, charset)


def _markdown(body: bytes, charset: str | None) -> str:
    try:
        page = BeautifulSoup(body, "html.parser", from_encoding=charset)
        for part in page.find_all(_LEFT_OUT):
            part.decompose()
        title = page.title.get_text(" ", strip=True) if page.title is not None else ""
        if page.title is not None:
            page.title.decompose()
        text = MarkdownConverter(heading_style="atx", strip=["img"]).convert_soup(page.body or page)
    except (RecursionError, LookupError, ValueError, AssertionError):  # nested beyond reason, or an unknown encoding
        return _decoded(re.sub(rb"<[^>]{0,2000}>", b" ", body), charset)
    text = _GAPS.sub("\n\n", _LINES.sub("\n", text)).strip()
    return f"# {title}\n\n{text}" if title and not text.startswith("# ") else text


def _decoded(body: bytes, charset: str | None) -> str:
    try:
        return body.decode(charset or "utf-8", "replace")
    except LookupError:
        return body.decode("utf-8", "replace")


def _parsed(content_type: str) -> tuple[str, str | None]:
    message = Message()
    message["content-type"] = content_type
    charset = message.get_content_charset()
    return (message.get_content_type() if content_type.strip() else ""), charset
