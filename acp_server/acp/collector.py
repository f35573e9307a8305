"""When the interpreter's collector of cycles rests.

Reading a long history makes a hundred thousand objects that all stay and are in no cycle; to look through them time and
again, as they come, takes a tenth of the loading. Owns counting who wants rest, as two sessions may load at once.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


class Collector:
    """Rests while anybody is inside `resting`. Belongs to one event loop."""

    def __init__(self) -> None:
        self._wanting = 0

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Let the collector rest within the block; one that was switched off before stays so."""
        if not self._wanting and not gc.isenabled():
            yield
            return
        self._wanting += 1
        gc.disable()
        try:
            yield
        finally:
            self._wanting -= 1
            if not self._wanting:
                gc.freeze()  # and back: all that there is goes to the oldest generation, without being looked through
                gc.unfreeze()
                gc.enable()
