"""A command that leaves as much behind as it can; each process carries the tag that is its first argument."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

TAG, END = sys.argv[1], time.time() + float(sys.argv[2])
SLEEP = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(120)", TAG]
DEAF = [
    sys.executable,
    "-I",
    "-S",
    "-c",
    "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(120)",
    TAG,
]

subprocess.Popen(SLEEP, stdin=subprocess.DEVNULL)
subprocess.Popen(DEAF, stdin=subprocess.DEVNULL)
subprocess.Popen(SLEEP, start_new_session=True)
if os.fork() == 0:  # a daemon
    os.setsid()
    if os.fork() == 0:
        os.execv(SLEEP[0], SLEEP)
    os._exit(0)
if os.fork() == 0:  # always another process of another session
    while time.time() < END:
        if os.fork():
            os._exit(0)
        os.setsid()
        time.sleep(0.005)
    os._exit(0)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(120)
