"""The component of the web: the tools that read a page and that search, loaded like the standard tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from acp_server.app.registries import Parts, Toolkit
from acp_server.app.row import Config

if TYPE_CHECKING:
    from acp_server.tools.tool import AnyTool

SEARCH = "web_search"


def web(parts: Parts, config: Config) -> None:
    """Register `fetch`, and `web_search` where its `key` is there."""
    environment = parts.environment
    key = cast("dict[str, Any] | None", config.get("key"))

    def make() -> Sequence[AnyTool]:
        return web_tools(environment, key)

    def describe() -> Sequence[AnyTool]:
        from acp_server.app.keys import key_source  # noqa: PLC0415 - for who reaches a model
        from acp_server.tools.late_tool import WEB, LateTools, described  # noqa: PLC0415 - not for the start path

        source = key_source(key, environment)
        searches = source is not None and source.there()
        return LateTools(make).tools([one for one in described(WEB) if searches or one.name != SEARCH])

    parts.toolkits.add(Toolkit(describe, lambda: None))


def web_tools(environment: Mapping[str, str], key: dict[str, Any] | None) -> Sequence[AnyTool]:
    """Return both tools; their descriptions in `web_tools.json` are made from these."""
    from acp_server.app.keys import key_source  # noqa: PLC0415 - loaded at the first call
    from acp_server.tools.fetch import FetchTool  # noqa: PLC0415 - likewise
    from acp_server.tools.web_get import WebClient  # noqa: PLC0415 - likewise
    from acp_server.tools.web_search import BraveSearch, SearchTool  # noqa: PLC0415 - likewise

    client, source = WebClient(), key_source(key, environment)
    return (FetchTool(client), SearchTool(BraveSearch(client, lambda: None if source is None else source.read())))
