"""Programs that tests need and no package of Python or npm brings: installed by name where that is allowed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from typing import Final

WANTED: Final[Mapping[str, str]] = {
    "bwrap": "bubblewrap",
    "ping": "iputils-ping",
    "strace": "strace",
    "tmux": "tmux",
}
"""The package that brings a program."""
INSTALL_SECONDS: Final = 240


def install() -> None:
    """Install what is missing, by apt and as the superuser; elsewhere say what to install: its tests are skipped."""
    missing = [package for program, package in WANTED.items() if shutil.which(program) is None]
    if not missing:
        return
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        sys.stdout.write(f"not here, install to test with them: {', '.join(missing)}\n")
        return
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (("update", "-qq"), ("install", "-y", "-qq", "--no-install-recommends", *missing)):
        done = subprocess.run(
            (apt, *arguments), env=environment, capture_output=True, text=True, check=False, timeout=INSTALL_SECONDS
        )
        if done.returncode != 0:
            sys.stdout.write(f"apt-get {arguments[0]} failed, tests that need {', '.join(missing)} are skipped\n")
