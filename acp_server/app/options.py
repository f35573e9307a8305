"""How a process serves, as far as its command line says so."""

from __future__ import annotations

from acp_server.app.log_file import Level
from acp_server.base.values import value


@value
class ServeOptions:
    """How to serve.

    `log` is the file of the diagnostic log, `wait` whether running turns may end after the input has, `unstable`
    whether methods are offered that no stable version of the protocol has. `profile` names what the process is made
    of, `patches` are files that change it, `front` is the front end that it has. `max_steps` is how many requests to
    the model a turn may make, None for what the settings say.
    """

    log: str | None = None
    log_level: Level = "info"
    wait: bool = False
    unstable: bool = False
    profile: str | None = None
    patches: tuple[str, ...] = ()
    front: str = "acp"
    max_steps: int | None = None
