"""The end of a background job as the model and the person are told of it. Pure."""

from __future__ import annotations

from typing import Final

JOBS: Final = "acp-server/jobs"
"""The source of messages that tell of jobs."""


def end_of_job(job: str, title: str, how: str) -> str:
    """Return one line: which job, what it ran, how it ended."""
    return f"[{job} ended: {how} · {title}]"
