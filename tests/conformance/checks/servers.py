"""MCP servers of the client (clauses S-07, S-08, MC-01 to MC-09)."""

from __future__ import annotations

import sys
import time

from tests.conformance.check import expect, must
from tests.conformance.checks.probe import PARAMS, expect_code
from tests.conformance.kit import ALLOWING, Kit, updates
from tests.support.launch import REPOSITORY
from tests.support.trace import Obj

NEW_SECONDS = 5.0


def server(name: str, *args: str, **env: str) -> Obj:
    return {
        "name": name,
        "command": sys.executable,
        "args": list(args),
        "env": [{"name": key, "value": value} for key, value in env.items()],
    }


def small(name: str) -> Obj:
    """Return a server of one tool."""
    return server(name, "-m", "tests.cases.mcp_echo", PYTHONPATH=str(REPOSITORY))


@must("S-07", "a server that does not start keeps no session from working, and is named")
def broken(kit: Kit) -> None:
    kit.session()
    client = kit.fresh(answerers=ALLOWING)
    session = kit.new(client, mcpServers=[server("broken-server", "-c", "raise SystemExit(3)")])
    done = kit.plain_turn(client, session)
    expect(done.stop == "end_turn", f"a prompt is answered by {done.answer}")
    expect("broken-server" in str(updates(client, session)), "no update names it")


@must("S-08", "session/new does not wait for a slow server")
def slow(kit: Kit) -> None:
    kit.session()
    client = kit.fresh()
    start = time.monotonic()
    kit.new(client, mcpServers=[server("slow-server", "-c", "import time; time.sleep(60)")])
    took = time.monotonic() - start
    expect(took < kit.within(NEW_SECONDS), f"it takes {took:.1f} s")


@must("MC-01", "a server on stdio is started and its tools are offered to the model")
def stdio(kit: Kit) -> None:
    kit.scripted()
    client = kit.fresh()
    session = kit.new(client, mcpServers=[small("tiny")])
    kit.turn(client, session, text="which-tools")
    kit.turn(client, session, text="which-tools")
    offered = [name for asked in kit.asked("which-tools") for name in asked.tools if "echo" in name]
    expect(offered, "no request to the model has them")


@must("MC-04", "a transport that is not offered is -32602")
def not_offered(kit: Kit) -> None:
    client, _ = kit.session()
    hidden = [kind for kind in ("http", "sse") if not kit.has(f"mcpCapabilities.{kind}")]
    for kind in hidden:
        entry = {"type": kind, "name": "far", "url": "http://127.0.0.1:9/mcp", "headers": []}
        answer = kit.call(client, "session/new", {"cwd": str(kit.project), "mcpServers": [entry]})
        expect_code(answer, PARAMS, f"a server of the type {kind}")
