"""What the server has loaded at the moment when it answers `initialize` (docs/protocol.md, T-16 and I-14).

The interpreter reports each import on standard error. Here that is the same pipe as standard output, so the order of
the bytes is the order of the events, and the product needs no hook for it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.e2e.stage import Stage, script
from tests.support import launch

LIST = b'{"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}\n'
HELLO = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n'
IMPORT = b"import time:"

OWN = frozenset(
    {
        "acp_server",
        "acp_server.acp",
        "acp_server.acp.handshake",
        "acp_server.acp.start",
        "acp_server.jsonrpc",
        "acp_server.jsonrpc.stdio",
    }
)
"""The modules of ours that have any business there."""

OTHERS = frozenset({"__future__", "_json"})
"""What they may bring beyond a bare interpreter: the C half of json. Every import here costs each start."""


def imports(report: bytes) -> set[str]:
    """Return the modules that a report of `-X importtime` names."""
    lines = [line.split(b"|")[-1].strip().decode() for line in report.split(b"\n") if line.startswith(IMPORT)]
    return {name for name in lines if name != "imported package"}


def traced(
    words: Sequence[str], environment: Mapping[str, str], cwd: Path, sent: bytes, *, lines: int = 1
) -> tuple[set[str], bytes]:
    """Run Python so; return what it had imported when that line of JSON came (or when it ended), and that line."""
    reading, writing = os.pipe()
    command = [sys.executable, "-X", "importtime", *words]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=writing, stderr=writing, env=dict(environment), cwd=cwd
    )
    os.close(writing)
    with process, os.fdopen(reading, "rb") as output:
        assert process.stdin is not None
        process.stdin.write(sent)
        process.stdin.flush()
        report, answer = b"", b""
        for line in output:
            lines -= line.startswith(b"{")
            if not lines:
                answer = line
                break
            report += line
        process.stdin.close()
        output.read()
    return imports(report), answer


def test_initialize_is_answered_before_anything_heavy_is_loaded(stage: Stage) -> None:
    (stage.project / "nothing.py").write_text("", "utf-8")
    environment = stage.environment()
    bare, _ = traced(["-m", "nothing"], environment | {"PYTHONPATH": str(stage.project)}, stage.root, b"")
    loaded, answer = traced(launch.COMMAND[1:], environment, stage.root, HELLO)
    assert json.loads(answer)["result"]["protocolVersion"] == 1
    assert {name for name in loaded if name.startswith("acp_server")} == OWN
    assert loaded - bare - OWN <= OTHERS


def test_the_list_that_comes_first_is_answered_before_anything_that_serves_is_loaded(stage: Stage) -> None:
    client, session = stage.open()
    client.prompt(session, script("say Hello."))
    later = client.result("session/list", {})
    assert client.agent.end() is None
    environment = stage.environment()
    loaded, answer = traced(launch.COMMAND[1:], environment, stage.root, HELLO + LIST, lines=2)
    assert json.loads(answer) == {"jsonrpc": "2.0", "id": 2, "result": later}
    assert loaded & {"asyncio", "zstandard", "dataclasses", "acp_server.app.serve"} == set()
