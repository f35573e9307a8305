"""What the launcher tells the server, a JSON object a line on a descriptor that no command ever holds.

`child-pid` is the process whose end ends everything, `exit-code` is the command's, `error` says why it never started.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Final

FAILED: Final = 125


class Status:
    """The descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        os.set_inheritable(descriptor, False)  # noqa: FBT003 - the function takes no keywords

    def write(self, row: Mapping[str, object]) -> None:
        """Tell one fact."""
        os.write(self._descriptor, json.dumps(row).encode() + b"\n")

    def guarded(self, step: Callable[[], int]) -> int:
        """Return what a step returns, or FAILED when it raised; why is told."""
        try:
            return step()
        except Exception as error:  # noqa: BLE001 - whatever it was, the server is told and the command has not run
            self.write({"error": str(error) or type(error).__name__})
            return FAILED
