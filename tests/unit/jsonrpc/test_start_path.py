"""What the modules before the first answer may load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

SCRIPT = """
import sys
sys.path.insert(0, {root!r})
import json, os
before = set(sys.modules)
import acp_server.jsonrpc.framing, acp_server.jsonrpc.envelope, acp_server.jsonrpc.encoding
import acp_server.jsonrpc.errors, acp_server.jsonrpc.stdio
print(*sorted(name for name in set(sys.modules) - before if not name.startswith("acp_server")))
"""


def test_the_start_path_loads_json_and_os_alone() -> None:
    script = SCRIPT.format(root=str(ROOT))
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-c", script], capture_output=True, text=True, timeout=20, check=True
    )
    assert set(done.stdout.split()) <= {"__future__", "collections.abc"}
