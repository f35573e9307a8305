"""The launcher's start: `python -I -S main.py PLAN STATUS -- command`, both numbers being descriptors.

Reads nothing from the environment. Exits with the command's code, or with 125 when it never started.
"""

from __future__ import annotations

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))))

from acp_server.sandbox.launcher import grants, namespaces
from acp_server.sandbox.launcher.status import Status


def main(argv: list[str]) -> int:
    """Return the exit code."""
    status = Status(int(argv[1]))
    with os.fdopen(int(argv[0]), "rb") as file:
        plan = json.load(file)
    command = argv[3:]
    run = namespaces.run if plan["box"] == "namespaces" else grants.run
    return status.guarded(lambda: run(plan, command, status))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
