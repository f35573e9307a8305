"""A third-party server as peer: LiteLLM's proxy from PyPI, in front of the mock, in all three protocols.

What the proxy makes of requests and answers is its own: whole sessions have to go through it all the same. The variable
ACP_TEST_LITELLM names a `litellm` command that is there already; without it one is installed for the run.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.request
import venv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.stage import Stage, stop_reason
from tests.support.client import Client
from tests.support.llm_script import Answer, Script, text_of
from tests.support.mock_llm import MockLlm
from tests.support.trace import Obj

PACKAGE = "litellm[proxy]==1.106.12"
COMMAND = "ACP_TEST_LITELLM"
PROXY_KEY = "sk-peer-0123456789"
UPSTREAM_KEY = "sk-upstream-0123456789"
START_SECONDS = 180
PROVIDERS = ["openai", "openai-responses", "anthropic"]


@dataclass
class Peer:
    """The proxy, and the mock behind it."""

    root: str
    mock: MockLlm

    def environment(self, provider: str, key: str = PROXY_KEY) -> dict[str, str]:
        name = "ANTHROPIC" if provider == "anthropic" else "OPENAI"
        base = self.root if provider == "anthropic" else f"{self.root}/v1"
        return {"ACP_SERVER_MODEL": f"{provider}/peer", f"{name}_BASE_URL": base, f"{name}_API_KEY": key}


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> str:
    given = os.environ.get(COMMAND)
    if given:
        return given
    place = tmp_path_factory.mktemp("litellm")
    venv.create(place, with_pip=True)
    subprocess.run([place / "bin" / "pip", "install", "-q", PACKAGE], check=True, timeout=900)
    return str(place / "bin" / "litellm")


@pytest.fixture(scope="module")
def peer(command: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    place = tmp_path_factory.mktemp("proxy")
    with MockLlm() as mock, (place / "proxy.log").open("wb") as log:
        port = free_port()
        (place / "config.yaml").write_text(json.dumps(configuration(mock)))
        words = [command, "--config", str(place / "config.yaml"), "--host", "127.0.0.1", "--port", str(port)]
        offline = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False", "HOME": str(place)}
        path = os.pathsep.join([str(Path(command).parent), os.environ.get("PATH", "")])
        process = subprocess.Popen(
            words, env={"PATH": path, **offline}, cwd=place, stdout=log, stderr=log, start_new_session=True
        )
        try:
            wait_until_alive(port, process, place / "proxy.log")
            yield Peer(f"http://127.0.0.1:{port}", mock)
        finally:
            process.terminate()
            process.wait(20)


def configuration(mock: MockLlm) -> Obj:
    """Return the proxy's configuration; JSON is YAML."""
    upstream = {"model": "openai/mock", "api_base": mock.url, "api_key": UPSTREAM_KEY}
    return {
        "model_list": [{"model_name": "peer", "litellm_params": upstream}],
        "general_settings": {"master_key": PROXY_KEY},
        "litellm_settings": {"telemetry": False, "num_retries": 0},
        "router_settings": {"num_retries": 0, "disable_cooldowns": True},
    }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until_alive(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/liveliness", timeout=2) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.5)
    raise AssertionError(f"the proxy does not answer: {log.read_text(errors='replace')[-2000:]}")


def begin(
    stage: Stage, peer: Peer, provider: str, answers: Sequence[Answer], key: str = PROXY_KEY
) -> tuple[Client, str]:
    """Open a session whose model is the proxy; the mock behind it answers so."""
    peer.mock.script = Script(answers)
    peer.mock.asked.clear()
    stage.secrets += [PROXY_KEY, UPSTREAM_KEY]
    return stage.open(None, peer.environment(provider, key))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_whole_session_with_tools_goes_through(stage: Stage, peer: Peer, provider: str) -> None:
    (stage.project / "notes.txt").write_text("The word is heron.\n")
    call: Obj = {"text": "I look.", "tool": "read", "args": {"path": str(stage.project / "notes.txt")}}
    answers: list[Answer] = [{"text": "Grüße, 世界 🎉.", "chunks": 5}, call, {"text": "Looked."}, {"text": "Bye."}]
    client, session = begin(stage, peer, provider, answers)
    answer, turn = client.prompt(session, "Say hello.")
    assert (stop_reason(answer), client.said(turn)) == ("end_turn", "Grüße, 世界 🎉.")
    answer, turn = client.prompt(session, "Look into the notes.")
    assert stop_reason(answer) == "end_turn"
    assert client.said(turn).endswith("Looked.")
    assert [item.fields["status"] for item in client.calls(turn)][-1] in ("completed", "failed")
    answer, turn = client.prompt(session, "Goodbye.")
    assert (stop_reason(answer), client.said(turn)) == ("end_turn", "Bye.")
    last = [message for message in peer.mock.asked[-1].messages if message["role"] not in ("system", "developer")]
    assert [message["role"] for message in last] == [
        *["user", "assistant"],
        *["user", "assistant", "tool", "assistant"],
        "user",
    ]
    assert last[4]["tool_call_id"] == last[3]["tool_calls"][0]["id"]
    assert [text_of(message["content"]) for message in last if message["role"] == "user"] == [
        "Say hello.",
        "Look into the notes.",
        "Goodbye.",
    ]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_cancelled_answer_leaves_a_session_that_goes_on(stage: Stage, peer: Peer, provider: str) -> None:
    client, session = begin(stage, peer, provider, [{"text": "Begun.", "hang": True}, {"text": "Again."}])
    ident = client.ask(session, "go")
    client.wait_update("agent_message_chunk")
    client.notify("session/cancel", {"sessionId": session})
    assert client.answer(ident, 5)["result"] == {"stopReason": "cancelled"}
    answer, turn = client.prompt(session, "Once more.")
    assert (stop_reason(answer), client.said(turn)) == ("end_turn", "Again.")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_busy_upstream_is_asked_again(stage: Stage, peer: Peer, provider: str) -> None:
    busy: Obj = {"status": 429, "headers": {"retry-after": "0"}, "body": '{"error":{"message":"slow down"}}'}
    client, session = begin(stage, peer, provider, [busy, {"text": "There."}])
    answer, turn = client.prompt(session, "go", 60)
    assert (stop_reason(answer), client.said(turn)) == ("end_turn", "There.")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_overflow_is_told_as_one(stage: Stage, peer: Peer, provider: str) -> None:
    client, session = begin(stage, peer, provider, [{"overflow": True}])
    answer, _ = client.prompt(session, "go", 60)
    assert answer["error"]["code"] == -32603
    assert "maximum context length" in answer["error"]["message"]
    assert len(peer.mock.asked) == 1, "what is too long is not asked again"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_key_that_the_proxy_does_not_know_is_refused(stage: Stage, peer: Peer, provider: str) -> None:
    """Without a database the proxy says so with 400 rather than 401; whatever it says is told, the key is not."""
    wrong = "sk-wrong-0123456789"
    client, session = begin(stage, peer, provider, [], wrong)
    stage.secrets.append(wrong)
    answer, _ = client.prompt(session, "go", 60)
    assert answer["error"]["code"] in (-32000, -32603)
    assert wrong not in str(answer)
    assert peer.mock.asked == []
