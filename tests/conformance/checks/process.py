"""The process: how it starts, what it needs, how it ends (clauses T-03 to T-16)."""

from __future__ import annotations

import os
import subprocess
import time

from tests.conformance.check import NotJudgedError, expect, must, should
from tests.conformance.checks.probe import request
from tests.conformance.kit import ALLOWING, Kit, got

EXIT_SECONDS, START_SECONDS = 2.0, 1.0
BUSY = 3.0
"""The load a core from which a slow start tells nothing."""
FINE_EXITS = {0, 143, -15, 130}


@must("T-02", "what commands print reaches the model, not standard output")
def commands_print(kit: Kit) -> None:
    client, session = kit.pair(answerers=ALLOWING)
    done = kit.turn(client, session, kit.tool("shell", command="echo loud-word"), {"text": "Done."})
    expect(done.stop == "end_turn", f"the turn ends with {done.stop}")
    loose = [frame.raw[:60] for frame in got(client) if not isinstance(frame.value, dict)]
    expect(not loose, f"standard output has {loose}")


@must("T-03", "commands have no input of ours")
def commands_read(kit: Kit) -> None:
    client, session = kit.pair(answerers=ALLOWING)
    done = kit.turn(client, session, kit.tool("shell", command="cat"), {"text": "Done."})
    expect(done.stop == "end_turn", f"a command that reads its input: the turn ends with {done.stop}")
    kit.ping(client)


@must("T-04", "the first line is the answer to initialize")
def first_line(kit: Kit) -> None:
    for client in (kit.ordinary(), kit.fresh()):
        first = got(client)[0]
        expect(first.is_answer(), f"the first line is {first.raw[:80]!r}")


@must("T-07", "no terminal, HOME, LANG or TERM is needed")
def bare(kit: Kit) -> None:
    bare_env = {
        name: text for name, text in kit.environment().items() if name not in {"HOME", "LANG", "TERM", "TMPDIR"}
    }
    client = kit.fresh(env=bare_env)
    kit.ping(client)


@must("T-08", "text is UTF-8 both ways, whatever the locale")
def utf8(kit: Kit) -> None:
    client = kit.fresh(env={**kit.environment(), "LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0"})
    words = "grüße 漢字 🙂"
    done = kit.turn(client, kit.new(client), {"text": words, "chunks": 3}, text=words)
    expect(done.said == words, f"{words} comes back as {done.said!r}")
    expect(kit.asked(words), "the model got another text than the prompt's")


@must("T-10", "the process ends with status 0 soon after the end of input")
def end_of_input(kit: Kit) -> None:
    client = kit.fresh()
    client.agent.close_stdin()
    start = time.monotonic()
    code = client.agent.wait_exit(kit.within(EXIT_SECONDS))
    expect(code == 0, f"after {time.monotonic() - start:.1f} s: {'still running' if code is None else f'exit {code}'}")


@should("T-11", "lines before the end of input are answered")
def served(kit: Kit) -> None:
    client = kit.fresh()
    for n in range(20):
        client.send_line(request(f"before-{n}"))
    client.agent.close_stdin()
    client.agent.wait_exit(kit.within(EXIT_SECONDS))
    came = {frame.value["id"] for frame in got(client) if frame.is_answer()}
    missing = [n for n in range(20) if f"before-{n}" not in came]
    expect(not missing, f"{len(missing)} of 20 are not")


@should("T-12", "with the null device as input it ends with 0, or goes on")
def no_input(kit: Kit) -> None:
    with subprocess.Popen(
        kit.options.command,
        env=kit.environment(),
        cwd=kit.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as started:
        try:
            code = started.wait(kit.within(EXIT_SECONDS))
        except subprocess.TimeoutExpired:
            started.kill()
            return
        said = (started.stderr.read() if started.stderr else b"").decode("utf-8", "replace")
    expect(code == 0 and "Traceback" not in said, f"exit {code}: {said[-200:]}")


@must("T-13", "when nobody reads standard output it ends in order")
def broken_pipe(kit: Kit) -> None:
    client = kit.fresh()
    client.agent.close_stdout()
    for n in range(50):
        if client.agent.write(request(f"unread-{n}") + b"\n"):
            break
    client.agent.close_stdin()
    code = client.agent.wait_exit(kit.within(EXIT_SECONDS))
    said = client.agent.stderr().decode("utf-8", "replace")
    expect(code is not None, "still running")
    expect("Traceback" not in said, f"stderr: {said[-200:]}")


@must("T-14", "SIGTERM ends it in order")
def terminated(kit: Kit) -> None:
    client = kit.fresh()
    client.agent.signal("TERM")
    code = client.agent.wait_exit(kit.within(EXIT_SECONDS))
    said = client.agent.stderr().decode("utf-8", "replace")
    expect(code in FINE_EXITS, f"exit {code}")
    expect("Traceback" not in said, f"stderr: {said[-200:]}")


@must("T-15", "what a prompt's answer promises survives SIGKILL")
def durable(kit: Kit) -> None:
    kit.need("loadSession")
    client, session = kit.pair()
    done = kit.turn(client, session, {"text": "Never to be lost."})
    expect(done.stop == "end_turn", f"the turn ends with {done.stop}")
    client.agent.signal("KILL")
    again = kit.fresh()
    ident = again.request("session/load", {"sessionId": session, "cwd": str(kit.project), "mcpServers": []})
    answer = again.answer(ident, kit.seconds)
    expect("result" in answer, f"session/load: {answer}")
    shown = "".join(u.text for u in again.trace.updates(0, len(again.trace.frames), session))
    expect("Never to be lost." in shown, "the turn is not shown again")


@should("T-16", "initialize is answered within a second of the start")
def start_up(kit: Kit) -> None:
    times = []
    for _ in range(3):
        start = time.monotonic()
        client = kit.fresh()
        times.append(time.monotonic() - start)
        client.agent.close_stdin()
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    if load > BUSY and min(times) > START_SECONDS:
        raise NotJudgedError("the machine is too busy to tell")
    expect(min(times) <= kit.within(START_SECONDS), f"it takes {min(times):.1f} s")
