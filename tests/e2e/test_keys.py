"""Keys of every form, echoed by the server that they were sent to: nothing of them is anywhere but in its header."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from tests.e2e.stage import Stage, stop_reason
from tests.support.llm_script import Playback, Script
from tests.support.mock_llm import MockLlm
from tests.support.trace import Obj

TAIL = "Zq7Yx2Wv9Ut4Sr6Po1Nm8"
KEYS = {
    "openai": f"sk-proj-{TAIL}_abcDEF-0123456789",
    "openai-old": f"sk-{TAIL}T3BlbkFJabcdef",
    "anthropic": f"sk-ant-api03-{TAIL}-abcdefgh_ij-AA",
    "deepseek": "sk-0123456789abcdef0123456789abcdef",
    "openrouter": f"sk-or-v1-{'0a1b2c3d' * 8}",
    "google": f"AIzaSy{TAIL}abcdefghijkl",
    "xai": f"xai-{TAIL}abcdefghijklmnopqrstuvwxyz",
    "groq": f"gsk_{TAIL}abcdefghijklmnopqrst",
    "hugging-face": f"hf_{TAIL}abcdefgh",
    "github": f"ghp_{TAIL}abcdefghijklmno",
    "mistral": f"{TAIL}abcdefghijk",
    "glm": f"0123456789abcdef0123456789abcdef.{TAIL}",
    "aws": "ABSKQmVkcm9ja0FQSUtleS1" + TAIL,
    "token": f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{TAIL}",
    "plain": "hunter-two-correct-horse-battery",
}


@pytest.fixture
def mock() -> Iterator[MockLlm]:
    with MockLlm() as made:
        yield made


def refused(key: str) -> Obj:
    words = f"Incorrect API key provided: {key}. Authorization: Bearer {key}"
    return {
        "status": 401,
        "headers": {"x-request-id": "req-1", "www-authenticate": f'Bearer realm="{key}"'},
        "body": json.dumps({"error": {"message": words, "type": "invalid_request_error", "code": key}}),
    }


def broken(key: str) -> Playback:
    begun: Obj = {"choices": [{"index": 0, "delta": {"content": "Begun."}, "finish_reason": None}]}
    failed: Obj = {
        "error": {"message": f"no upstream for key {key} at http://user:{key}@upstream/", "type": "server_error"}
    }
    return Playback([b"data: " + json.dumps(part).encode() + b"\n\n" for part in (begun, failed)])


def test_keys_are_in_no_log_no_event_no_error_and_no_argument(stage: Stage, mock: MockLlm) -> None:
    assert len(KEYS) == 15
    stage.secrets += KEYS.values()
    log = stage.root / "acp.log"
    client = stage.client(None, {"OPENAI_BASE_URL": mock.url}, options=("--log", str(log), "--log-level", "trace"))
    client.initialize()
    store(stage, KEYS["openai"])
    session = client.new_session(stage.project)
    for key in KEYS.values():
        store(stage, key)
        mock.script = Script([refused(key), broken(key), {"text": "Answered."}])
        assert client.prompt(session, "one")[0]["error"]["code"] == -32000
        assert client.prompt(session, "two")[0]["error"]["code"] == -32603
        answer, turn = client.prompt(session, "three")
        assert (stop_reason(answer), client.said(turn)) == ("end_turn", "Answered.")
        assert mock.asked[-1].headers["authorization"] == f"Bearer {key}"
        arguments = Path(f"/proc/{client.agent.pid}/cmdline").read_bytes()
        assert key.encode() not in arguments
    assert client.agent.end() is None
    written = {path: text(path) for path in everything(stage) if path.name != "credentials.json"}
    assert {path.name for path in written} >= {"acp.log", "session.jsonl.zstd"}
    found = [(path.name, name) for path, words in written.items() for name, key in KEYS.items() if key in words]
    assert found == []
    assert "no upstream for key" in written[log], "the log of the wire was written"


def store(stage: Stage, key: str) -> None:
    path = stage.state / "credentials.json"
    path.write_text(json.dumps({"version": 1, "keys": {"OPENAI_API_KEY": key}}))
    path.chmod(0o600)


def everything(stage: Stage) -> list[Path]:
    return [path for path in stage.root.rglob("*") if path.is_file()]


def text(path: Path) -> str:
    data = path.read_bytes()
    if path.suffix == ".zstd":
        data = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True).read()
    return data.decode("utf-8", "replace")
