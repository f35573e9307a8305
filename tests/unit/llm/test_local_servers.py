from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from acp_server.llm.local_servers import LocalModel, LocalServer, ask, find_local_servers, server_of


@contextmanager
def answering(body: bytes, status: int = 200) -> Iterator[tuple[int, list[str]]]:
    """Give the port of a server that answers so, and the requests that it was asked."""
    asked: list[str] = []

    class Exchange(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Exchange)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server.server_address[1], asked
    finally:
        server.shutdown()
        server.server_close()


def models(*entries: Any) -> dict[str, Any]:
    return {"object": "list", "data": list(entries)}


@pytest.mark.parametrize(
    ("document", "kind", "found"),
    [
        (models({"id": "qwen3", "owned_by": "library"}), "ollama", (LocalModel("qwen3"),)),
        (models({"id": "a", "owned_by": "vllm", "max_model_len": 4096}), "vllm", (LocalModel("a", 4096),)),
        (
            models({"id": "b.gguf", "owned_by": "llamacpp", "meta": {"n_ctx": 8192}}),
            "llama.cpp",
            (LocalModel("b.gguf", 8192),),
        ),
        (models({"id": "c", "owned_by": "organization_owner"}), "lm-studio", (LocalModel("c"),)),
        (models({"id": "d", "owned_by": "me", "max_model_len": "big"}), "asked", (LocalModel("d"),)),
        (models(5, {}, {"id": ""}, {"id": 7}), "asked", ()),
        (models(), "asked", ()),
    ],
)
def test_an_answer_says_which_server_it_is(document: Any, kind: str, found: tuple[LocalModel, ...]) -> None:
    assert server_of("asked", 9, document) == LocalServer(kind, "http://127.0.0.1:9/v1", found)


@pytest.mark.parametrize("document", [None, [], "x", {}, {"data": {}}, {"models": []}])
def test_what_is_no_list_of_models_is_no_server(document: Any) -> None:
    assert server_of("asked", 9, document) is None


def test_every_port_is_asked_once() -> None:
    with (
        answering(json.dumps(models({"id": "m"})).encode()) as (one, asked),
        answering(b"<html>") as (two, _),
        answering(b"{}", 404) as (three, _),
    ):
        found = find_local_servers((("a", one), ("b", two), ("c", three)))
        assert found == (LocalServer("a", f"http://127.0.0.1:{one}/v1", (LocalModel("m"),)),)
        assert asked == ["/v1/models"]
    assert ask("a", one) is None, "nobody listens there any more"
    assert find_local_servers(()) == ()
