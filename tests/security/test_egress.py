"""A box with an allow-list: listed hosts are reached through the proxy, and nothing else is."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from acp_server.sandbox.confine import SHELL, Backend, confine
from acp_server.sandbox.host import read_host
from acp_server.sandbox.hosts import is_public
from acp_server.sandbox.policy import Network, Policy
from acp_server.sandbox.probe import probe
from acp_server.sandbox.process import run_command
from acp_server.sandbox.proxy import AllowListProxy, Decision

ADDRESSES = {
    "ok.test": ["127.0.0.1"],
    "inner.test": ["10.0.0.1"],
    "flips.test": ["127.0.0.1", "169.254.169.254"],
    "mapped.test": ["::ffff:127.0.0.1"],
}
HOSTS = ("ok.test", "inner.test", "flips.test", "mapped.test", "gone.test")

ASK = """
import os, socket, sys
def ask(target, plain):
    s = socket.create_connection(("127.0.0.1", 3128), 10)
    if plain:
        s.sendall(b"GET http://" + target + b"/x HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n")
        s.sendall(b"GET http://evil.test/ HTTP/1.1\\r\\n\\r\\n")
    else:
        s.sendall(b"CONNECT " + target + b" HTTP/1.1\\r\\n\\r\\n")
        head = b""
        while b"\\r\\n\\r\\n" not in head:
            data = s.recv(1)
            if not data: return "closed"
            head += data
        if b" 200 " not in head: return head.split(b" ")[1].decode()
        s.sendall(b"GET /x HTTP/1.1\\r\\nHost: h\\r\\n\\r\\n")
    got = b""
    while data := s.recv(4096): got += data
    return got.split(b" ")[1].decode() + got.rpartition(b"\\n")[2].decode()
port = sys.argv[1].encode()
for line in sys.argv[2:]:
    kind, _, name = os.fsencode(line).partition(b" ")
    print(ask(name.replace(b"@0", b"\\0") + b":" + port, kind == b"plain"))
try:
    socket.create_connection(("127.0.0.1", int(port)), 2); print("DIRECT")
except OSError:
    print("no way")
"""


@pytest.fixture
async def far() -> AsyncIterator[tuple[int, list[bytes]]]:
    seen: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1], seen
    server.close()
    await server.wait_closed()


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path.resolve()


def full_box(base: Path) -> Backend:
    (base / "ws").mkdir()
    (base / "home").mkdir()
    backend = probe(read_host({"HOME": str(base / "home"), "PATH": os.environ["PATH"]}, str(base / "state")))
    if backend.enforcement != "full":
        pytest.skip(f"an allow-list needs a full box: {backend.passed_over}")
    return backend


async def test_listed_hosts_are_reached_and_nothing_else(base: Path, far: tuple[int, list[bytes]]) -> None:
    port, seen = far
    backend = full_box(base)
    told: list[Decision] = []

    async def resolve(host: str, _: int) -> list[str]:
        if host not in ADDRESSES:
            raise OSError("no such host")
        return ADDRESSES[host]

    def public(address: str) -> bool:
        return address == "127.0.0.1" or is_public(address)

    proxy = AllowListProxy(HOSTS, told.append, ports=frozenset({port}), resolve=resolve, public=public)
    await proxy.start(str(base / "state/egress"))
    asked = ["tunnel ok.test", "plain ok.test", "tunnel OK.TEST"]
    refused = ["evil.test", "xok.test", "ok.test.evil.test", "inner.test", "flips.test", "mapped.test", "gone.test"]
    unreadable = ["ok.test.", "127.0.0.1", "2130706433", "evil.test@0.ok.test", "ok.test@evil.test", "[::1]"]
    names = [*asked, *(f"tunnel {name}" for name in (*refused, *unreadable))]
    policy = Policy("workspace-write", str(base / "ws"), network=Network("allow-list", HOSTS))
    argv = ("/usr/bin/python3", "-I", "-S", "-c", ASK, str(port), *names)
    outcome = await run_command(confine(policy, argv, str(base / "ws"), backend, egress=proxy.path))
    await proxy.close()
    assert outcome.output.text.split("\n") == [*["200hello"] * 3, *["403"] * 7, *["400"] * 6, "no way", ""]
    assert [(decision.host, decision.allowed, decision.why) for decision in told] == [
        *[("ok.test", True, "listed")] * 3,
        *[(name, False, "host") for name in refused[:3]],
        *[(name, False, "private") for name in refused[3:6]],
        ("gone.test", False, "unknown"),
        *[("", False, "unreadable")] * 6,
    ]
    assert seen[1] == b"GET /x HTTP/1.1\r\nHost: ok.test:%d\r\nConnection: close\r\n\r\n" % port
    assert os.listdir(base / "state/egress") == []


async def test_programs_find_the_proxy_and_other_ports_are_refused(base: Path, far: tuple[int, list[bytes]]) -> None:
    port, seen = far
    backend = full_box(base)
    told: list[Decision] = []
    proxy = AllowListProxy(("ok.test",), told.append)
    await proxy.start(str(base / "state/egress"))
    policy = Policy("workspace-write", str(base / "ws"), network=Network("allow-list", ("ok.test",)))
    script = f"python3 -c 'import urllib.request; urllib.request.urlopen(\"http://ok.test:{port}/\")' 2>&1 | tail -1"
    with_proxy = await run_command(confine(policy, [*SHELL, script], str(base / "ws"), backend, egress=proxy.path))
    without = await run_command(confine(policy, [*SHELL, script], str(base / "ws"), backend))
    await proxy.close()
    assert with_proxy.output.text == "urllib.error.HTTPError: HTTP Error 403: Forbidden by the sandbox\n"
    assert [(decision.host, decision.why) for decision in told] == [("ok.test", "port")]
    assert "urlopen error" in without.output.text
    assert seen == []
