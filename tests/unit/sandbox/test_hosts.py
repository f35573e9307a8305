from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_server.sandbox.hosts import ProxyRequest, canonical_host, host_allowed, is_public, parse_request

LIST = ("ok.test", "*.deep.test", "bücher.test")


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("ok.test", "ok.test"),
        ("OK.Test", "ok.test"),
        ("bücher.test", "xn--bcher-kva.test"),
        ("a_b.test", "a_b.test"),
        ("1.a", "1.a"),
        *[(name, None) for name in ("", ".", "ok.test.", "ok..test", ".ok.test", "-ok.test", "ok-.test", "o k.test")],
        *[(name, None) for name in ("ok.test\0", "evil.test\0.ok.test", "ok.test/x", "ok.test@evil.test", "a:80")],
        *[(name, None) for name in ("127.0.0.1", "2130706433", "0x7f000001", "0x7f.1", "127.1", "0177.0.0.1", "1.0x1")],
        *[(name, None) for name in ("[::1]", "::1", "x" * 64 + ".test", "a." * 127 + "abc", "\u2024", "ok。test\n")],
    ],
)
def test_a_host_has_one_form(name: str, form: str | None) -> None:
    assert canonical_host(name) == form


@pytest.mark.parametrize("name", ["ok.test", "a.deep.test", "a.b.deep.test", "xn--bcher-kva.test"])
def test_what_is_listed_is_allowed(name: str) -> None:
    assert host_allowed(name, LIST) is True


@pytest.mark.parametrize("name", ["xok.test", "ok.test.evil.test", "deep.test", "xdeep.test", "a.ok.test", "test"])
def test_what_only_looks_like_it_is_not(name: str) -> None:
    assert host_allowed(name, LIST) is False


@given(st.text(alphabet="aox.\0@-_0k tes。:/[]%", max_size=12))
def test_no_spelling_of_another_name_is_allowed(prefix: str) -> None:
    host = canonical_host(prefix + "ok.test")
    assert host is None or host == "ok.test" or host_allowed(host, ("ok.test",)) is False


@pytest.mark.parametrize(
    ("address", "public"),
    [
        *[(address, True) for address in ("1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:1.1.1.1")],
        *[(address, False) for address in ("127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254")],
        *[(address, False) for address in ("0.0.0.0", "100.64.0.1", "224.0.0.1", "255.255.255.255", "198.18.0.1")],
        *[(address, False) for address in ("::1", "::", "fe80::1%eth0", "fc00::1", "ff02::1", "::ffff:127.0.0.1")],
        *[(address, False) for address in ("::ffff:169.254.169.254", "2002:7f00:1::", "2001:0:1::", "64:ff9b::7f00:1")],
        *[(address, False) for address in ("64:ff9b:1::1", "x", "")],
    ],
)
def test_public_addresses(address: str, public: bool) -> None:
    assert is_public(address) is public


def test_a_tunnel_and_a_plain_request() -> None:
    assert parse_request(b"CONNECT OK.test:443 HTTP/1.1\r\nHost: x\r\n\r\n") == ProxyRequest("ok.test", 443, None, 0)
    asked = b"POST http://ok.test:8080/a?b HTTP/1.1\r\nHost: other\r\nProxy-Authorization: x\r\n"
    asked += b"A: b\r\nContent-Length: 3\r\n\r\n"
    sent = b"POST /a?b HTTP/1.1\r\nHost: ok.test:8080\r\nA: b\r\nContent-Length: 3\r\nConnection: close\r\n\r\n"
    assert parse_request(asked) == ProxyRequest("ok.test", 8080, sent, 3)
    plain = parse_request(b"GET http://ok.test HTTP/1.0\r\n\r\n")
    assert plain == ProxyRequest("ok.test", 80, b"GET / HTTP/1.1\r\nHost: ok.test\r\nConnection: close\r\n\r\n", 0)


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET https://ok.test/ HTTP/1.1\r\n\r\n",
        b"GET http://user@ok.test/ HTTP/1.1\r\n\r\n",
        b"GET http://127.0.0.1/ HTTP/1.1\r\n\r\n",
        b"GET http://ok.test/ HTTP/2\r\n\r\n",
        b"CONNECT ok.test:99999 HTTP/1.1\r\n\r\n",
        b"CONNECT ok.test:4x3 HTTP/1.1\r\n\r\n",
        b"CONNECT [::1]:443 HTTP/1.1\r\n\r\n",
        b"CONNECT ok.test\0:443 HTTP/1.1\r\n\r\n",
        b"CONNECT  ok.test:443 HTTP/1.1\r\n\r\n",
        b"CONNECT ok.test:443 HTTP/1.1\r\nbad header\r\n\r\n",
        b"GET http://ok.test/ HTTP/1.1\r\n folded: x\r\n\r\n",
        b"POST http://ok.test/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST http://ok.test/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST http://ok.test/ HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"GET http://ok.test/a b HTTP/1.1\r\n\r\n",
    ],
)
def test_what_has_two_readings_is_refused(head: bytes) -> None:
    assert parse_request(head) is None
