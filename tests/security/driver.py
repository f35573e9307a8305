"""Plays the server for one identity: confines and runs what standard input asks for, as JSON, and prints outcomes.

Started as a process of its own so that it can be another account and can be killed. Uses the product and the standard
library only.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from acp_server.base.cancel import BY_USER, CancelToken
from acp_server.sandbox.confine import SHELL, Backend, confine
from acp_server.sandbox.host import read_host
from acp_server.sandbox.limits import Limits
from acp_server.sandbox.policy import Network, Policy
from acp_server.sandbox.probe import describe, probe
from acp_server.sandbox.process import CommandOutcome, run_command


def told(outcome: CommandOutcome) -> dict[str, Any]:
    return {
        "exit_code": outcome.exit_code,
        "signal": outcome.signal,
        "text": outcome.output.text,
        "denied": list(outcome.denied),
        "changed": list(outcome.changed),
        "cancelled": outcome.cancelled,
        "timed_out": outcome.timed_out,
        "seconds": outcome.seconds,
    }


async def run(row: dict[str, Any], backend: Backend) -> dict[str, Any]:
    policy = Policy(
        row.get("level", "workspace-write"),
        row["workspace"],
        network=Network(row.get("network", "off")),
        allowed_paths=tuple(row.get("allowed", ())),
    )
    argv = row.get("argv") or [*SHELL, row["command"]]
    token = CancelToken()
    command = confine(policy, argv, row.get("cwd", row["workspace"]), backend)
    if "cancel_after" in row:
        asyncio.get_running_loop().call_later(row["cancel_after"], token.cancel, BY_USER)
    limits = Limits(wall_seconds=row.get("wall", 60.0), grace_seconds=row.get("grace", 0.2))
    return told(await run_command(command, limits=limits, cancel=token))


async def main() -> None:
    asked = json.loads(sys.stdin.readline())
    backend = probe(read_host(os.environ, asked["state"]), tuple(asked["kinds"]))
    print(json.dumps(describe(backend)), flush=True)
    if backend.kind == "none":
        return
    rows = asked["rows"]
    if asked.get("together"):
        print(json.dumps(await asyncio.gather(*(run(row, backend) for row in rows))), flush=True)
    else:
        print(json.dumps([await run(row, backend) for row in rows]), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
