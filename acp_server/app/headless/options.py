"""What one run is asked for, as its command line says it."""

from __future__ import annotations

from acp_server.agent.modes import Mode
from acp_server.app.headless.approver import Approve
from acp_server.app.headless.report import Format
from acp_server.base.values import value


@value
class RunOptions:
    """What the command line says of a run.

    Attributes:
        task: what to do; empty to run what an interrupted run left undone.
        resume: the id of a stored session to go on in, or None.
        newest: whether to go on in the newest session of the directory.
        model: `provider/model`, None for the one that is configured.
        mode: the session's mode, None for what the session has.
        preset: what the agent of a fresh session is made of, None for the standard one.
        images: files of images that belong to the task.
        seconds: how long the run may take, None for no limit.
    """

    task: str
    cwd: str
    form: Format = "text"
    resume: str | None = None
    newest: bool = False
    model: str | None = None
    mode: Mode | None = None
    approve: Approve = "none"
    preset: str | None = None
    images: tuple[str, ...] = ()
    seconds: float | None = None
