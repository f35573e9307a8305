"""From a call's policy to its command in a box, with the way out that it may have."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from acp_server.base.errors import ServerError
from acp_server.sandbox.confine import Backend, ConfinedCommand, confine
from acp_server.sandbox.egress import Egress, wants_egress
from acp_server.tools.tool import ToolContext


async def boxed(context: ToolContext, argv: Sequence[str], backend: Backend) -> ConfinedCommand:
    """Return the command in its box; one that nobody waits for any more gives back what it holds.

    Raises:
        ServerError: what `confine` gives; SANDBOX_FAILED when its way out cannot be made.
    """
    egress = Egress(context.policy) if wants_egress(context.policy, backend) else None
    try:
        path = None if egress is None else await egress.open(backend.host.state)
    except OSError as error:
        raise ServerError("SANDBOX_FAILED", f"The way to the network cannot be made: {error.strerror}.") from error
    made = partial(confine, context.policy, argv, context.cwd, backend, egress=path)
    making = asyncio.ensure_future(asyncio.to_thread(made))
    try:
        command = await asyncio.shield(making)
    except asyncio.CancelledError:
        making.add_done_callback(partial(_give_back, egress))
        raise
    except BaseException:
        if egress is not None:
            egress.close()
        raise
    if egress is not None:
        command.at_end(egress.close)
        command.refused = egress.refused
    return command


def _give_back(egress: Egress | None, making: asyncio.Future[ConfinedCommand]) -> None:
    if not making.cancelled() and making.exception() is None:
        making.result().close()
    if egress is not None:
        egress.close()
