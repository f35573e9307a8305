"""What is fetched and what is not (docs/web.md; docs/threats.md, T-40)."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from acp_server.base.cancel import BY_USER, Cancelled, CancelToken
from acp_server.sandbox.hosts import is_public
from acp_server.tools.page_text import page_text
from acp_server.tools.tool import ToolError
from acp_server.tools.web_address import web_address
from acp_server.tools.web_get import MOST_BYTES, WebClient
from acp_server.tools.web_search import BraveSearch, Hit

METADATA = "169.254.169.254"
PAGES: Mapping[str, tuple[int, dict[str, str], bytes]] = {
    "/": (200, {"Content-Type": "text/html"}, b"<title>T</title><script>no</script><h2>H</h2><p>a <b>b</b></p>"),
    "/packed": (200, {"Content-Encoding": "gzip", "Content-Type": "text/plain"}, gzip.compress(b"plain")),
    "/big": (200, {"Content-Type": "text/plain"}, b"x" * (MOST_BYTES + 9)),
    "/moved": (302, {"Location": "/packed"}, b""),
    "/circle": (302, {"Location": "/circle"}, b""),
    "/away": (302, {"Location": "http://other.test/"}, b""),
    "/inward": (302, {"Location": f"http://{METADATA}/latest/meta-data/"}, b""),
    "/file": (301, {"Location": "file:///etc/passwd"}, b""),
    "/search?q=a+b&count=2": (
        200,
        {"Content-Type": "application/json"},
        b'{"web": {"results": [{"title": "A", "url": "https://a.test/", "description": "d"}]}}',
    ),
}


class Site(BaseHTTPRequestHandler):
    seen: list[dict[str, str]]

    def do_GET(self) -> None:
        self.seen.append(dict(self.headers.items()))
        if self.path == "/silent":
            threading.Event().wait(0.2)
            self.rfile.read(1)
            return
        status, headers, body = PAGES[self.path]
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def site() -> Iterator[tuple[str, type[Site], int]]:
    kind: type[Site] = type("Seen", (Site,), {"seen": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    port = server.server_address[1]
    yield f"http://site.test:{port}", kind, port
    server.shutdown()
    thread.join()
    server.server_close()


def client(port: int, **more: Any) -> WebClient:
    given = {"public": lambda _one: True, "ports": frozenset({port}), "resolve": lambda _host, _port: ["127.0.0.1"]}
    return WebClient(**{**given, **more})


async def code_of(web: WebClient, url: str) -> str:
    try:
        await web.get(web_address(url), CancelToken())
    except ToolError as error:
        return error.code
    return "none"


async def test_a_page_comes_as_markdown_and_nothing_is_sent_along(site: tuple[str, type[Site], int]) -> None:
    base, kind, port = site
    answer = await client(port).get(web_address(f"{base}/"), CancelToken())
    assert page_text(answer.body, answer.content_type) == "# T\n\n## H\n\na **b**"
    assert sorted(kind.seen[0]) == ["Accept", "Accept-Encoding", "Connection", "Host", "User-Agent"]
    assert kind.seen[0]["Host"] == f"site.test:{port}"


async def test_bodies_are_unfolded_cut_and_followed(site: tuple[str, type[Site], int]) -> None:
    base, _, port = site
    moved = await client(port).get(web_address(f"{base}/moved"), CancelToken())
    assert (moved.body, moved.address.path, moved.cut) == (b"plain", "/packed", False)
    big = await client(port).get(web_address(f"{base}/big"), CancelToken())
    assert (len(big.body), big.cut) == (MOST_BYTES, True)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/circle", "FETCH_FAILED"),
        ("/away", "REDIRECTED"),
        ("/inward", "INVALID_ADDRESS"),
        ("/file", "INVALID_ADDRESS"),
    ],
)
async def test_redirects_are_judged(site: tuple[str, type[Site], int], path: str, code: str) -> None:
    base, _, port = site
    assert await code_of(client(port), base + path) == code


async def test_a_silent_site_ends_with_the_turn_and_with_the_time(site: tuple[str, type[Site], int]) -> None:
    base, kind, port = site
    assert await code_of(client(port, seconds=0.3), f"{base}/silent") == "FETCH_TIMEOUT"
    cancel = CancelToken()

    def resolve(_host: str, _port: int) -> list[str]:
        cancel.cancel(BY_USER)
        return ["127.0.0.1"]

    with pytest.raises(Cancelled):
        await client(port, resolve=resolve).get(web_address(f"{base}/silent"), cancel)
    assert kind.seen[0]["Host"] == f"site.test:{port}"


HOSTS = """\
u:p@site.test u@site.test 127.0.0.1 127.1 2130706433 0 0x7f.1 0x7f000001 017700000001 0177.0.0.1 [::1]
[::ffff:127.0.0.1] [::ffff:7f00:1] [fe80::1%25lo] [64:ff9b::7f00:1] 10.0.0.1 172.16.0.1 192.168.1.1 100.64.0.1
0.0.0.0 255.255.255.255 224.0.0.1 8.8.8.8 localhost localhost. metadata site.test\\@127.0.0.1 127.0.0.1%00.site.test
site.test%2f@127.0.0.1 [::] [fd00::1] [2002:7f00:1::] site.test:99999 site.test:x site..test -site.test site.1 1.2.3
①②⑦.0.0.1 127。0。0。1 0b1.0x2 169.254.169.254
"""
OTHERS = """\
file:///etc/passwd ftp://site.test/ gopher://site.test/ data:text/html,x javascript:alert(1) //site.test/ site.test
http:///x unix:///run/docker.sock https+unix://x/
"""
HOSTILE = [*OTHERS.split(), *(f"http://{host}/" for host in HOSTS.split())]
INNER = (
    "127.0.0.1 10.1.2.3 172.31.0.1 192.168.0.1 169.254.169.254 100.100.100.200 0.0.0.0 224.0.0.251 ::1 fe80::1 fd00::1 "
    "::ffff:10.0.0.1 64:ff9b::a00:1 2002:7f00:1::"
)
INWARD = INNER.split()


@pytest.mark.parametrize("url", HOSTILE)
def test_an_address_is_refused_by_its_text(url: str) -> None:
    with pytest.raises(ToolError) as told:
        web_address(url)
    assert told.value.code == "INVALID_ADDRESS"


@pytest.mark.parametrize("address", INWARD)
async def test_a_name_that_leads_inward_is_refused_and_never_connected_to(address: str) -> None:
    web = WebClient(public=is_public, resolve=lambda _host, _port: ["93.184.215.14", address])
    assert await code_of(web, "http://site.test/") == "FORBIDDEN_ADDRESS"


async def test_other_ports_are_refused() -> None:
    assert await code_of(WebClient(resolve=lambda _host, _port: []), "http://site.test:22/") == "FORBIDDEN_ADDRESS"


async def test_a_host_is_resolved_once_for_a_connection(site: tuple[str, type[Site], int]) -> None:
    base, _, port = site
    answers = iter([["127.0.0.1"], ["10.0.0.1"]])
    web = client(port, resolve=lambda _host, _port: next(answers), public=lambda one: one == "127.0.0.1")
    assert (await web.get(web_address(f"{base}/packed"), CancelToken())).body == b"plain"
    assert next(answers) == ["10.0.0.1"]


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        (b'{"a": 1}', "application/json", '{"a": 1}'),
        ("é".encode("latin-1"), "text/plain; charset=iso-8859-1", "é"),
        (b"x", "text/plain; charset=nonsense", "x"),
        (b"plain", "", "plain"),
        (b"<!doctype html><p>a", "", "a"),
        (b"<ul><li>a</li><li>b</li></ul>", "text/html", "* a\n* b"),
    ],
)
def test_pages_become_text(body: bytes, kind: str, text: str) -> None:
    assert page_text(body, kind) == text


def test_what_is_no_text_is_refused_and_deep_pages_lose_their_tags() -> None:
    with pytest.raises(ToolError, match="image/png"):
        page_text(b"\x89PNG", "image/png")
    assert page_text(b"<div>" * 20_000 + b"deep", "text/html").strip() == "deep"


async def test_a_search_gives_results_and_its_key_to_its_host(site: tuple[str, type[Site], int]) -> None:
    base, kind, port = site
    search = BraveSearch(client(port), lambda: "secret", f"{base}/search")
    assert await search.search("a b", 2, CancelToken()) == [Hit("A", "https://a.test/", "d")]
    assert kind.seen[0]["X-Subscription-Token"] == "secret"
    with pytest.raises(ToolError, match="key"):
        await BraveSearch(client(port), lambda: None, f"{base}/search").search("a", 1, CancelToken())
