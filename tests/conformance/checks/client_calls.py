"""Files of the client (clauses F-01 to F-05)."""

from __future__ import annotations

from tests.conformance.check import NotJudgedError, expect, must, should
from tests.conformance.kit import ALLOWING, Kit
from tests.support.client import Answerer, Client
from tests.support.trace import Obj

BUFFER = "the unsaved words of the buffer\n"


def files(*, read: bool, write: bool) -> Obj:
    return {"fs": {"readTextFile": read, "writeTextFile": write}, "terminal": False}


def editor(kit: Kit) -> dict[str, Answerer]:
    """Return answers of an editor that has one file open and unsaved, and writes what it is told."""

    def write(request: Obj) -> Obj:
        path = kit.project / request["params"]["path"]
        path.write_text(request["params"]["content"], "utf-8")
        return {"result": {}}

    return {
        **ALLOWING,
        "fs/read_text_file": lambda _: {"result": {"content": BUFFER}},
        "fs/write_text_file": write,
    }


def called(client: Client) -> set[str]:
    return {question["method"] for question in client.questions}


@must("F-01", "files of the client are used where they are offered only, reading and writing apart")
def gated(kit: Kit) -> None:
    (kit.project / "seen.txt").write_text("seen\n", "utf-8")
    calls = (kit.tool("read_file", path="seen.txt"), kit.tool("write_file", path="put.txt", content="put\n"))
    for read in (False, True):
        for write in (False, True):
            (kit.project / "put.txt").unlink(missing_ok=True)
            client, session = kit.pair(files(read=read, write=write), editor(kit))
            kit.turn(client, session, *calls, {"text": "Done."})
            used = {name for name in called(client) if name.startswith("fs/")}
            allowed = {"fs/read_text_file"} if read else set()
            allowed |= {"fs/write_text_file"} if write else set()
            expect(used <= allowed, f"a client that offers {sorted(allowed)} is asked {sorted(used)}")


@must("F-02", "paths are absolute")
def absolute(kit: Kit) -> None:
    client = _reading(kit)
    paths = [q["params"].get("path", "") for q in client.questions if q["method"].startswith("fs/")]
    expect(all(path.startswith("/") for path in paths), f"{paths}")


@should("F-03", "the text of an open buffer counts")
def buffer(kit: Kit) -> None:
    _reading(kit)
    expect(kit.asked("the unsaved words"), "the model did not see it")


def _reading(kit: Kit) -> Client:
    (kit.project / "open.txt").write_text("the saved words\n", "utf-8")
    client, session = kit.pair(files(read=True, write=False), editor(kit))
    kit.turn(client, session, kit.tool("read_file", path="open.txt"), {"text": "Done."})
    if "fs/read_text_file" not in called(client):
        raise NotJudgedError("it does not read through the client")
    return client


@must("F-05", "a write that the client refuses is a failed call")
def failed_write(kit: Kit) -> None:
    answers = {**editor(kit), "fs/write_text_file": lambda _: {"error": {"code": -32603, "message": "read-only"}}}
    client, session = kit.pair(files(read=True, write=True), answers)
    (kit.project / "locked.txt").unlink(missing_ok=True)
    call = kit.tool("write_file", path="locked.txt", content="x\n")
    done = kit.turn(client, session, call, {"text": "Done."})
    if "fs/write_text_file" not in called(client):
        raise NotJudgedError("it does not write through the client")
    found = [call.status for call in done.calls()]
    written = (kit.project / "locked.txt").exists()
    expect(found == ["failed"] or written, f"the call is {found} and there is no file")


@must("F-06", "a read that the client refuses is made on the disk")
def failed_read(kit: Kit) -> None:
    (kit.project / "disk.txt").write_text("words-on-the-disk\n", "utf-8")
    answers = {**editor(kit), "fs/read_text_file": lambda _: {"error": {"code": -32603, "message": "no"}}}
    client, session = kit.pair(files(read=True, write=False), answers)
    kit.turn(client, session, kit.tool("read_file", path="disk.txt"), {"text": "Done."})
    if "fs/read_text_file" not in called(client):
        raise NotJudgedError("it does not read through the client")
    expect(kit.asked("words-on-the-disk"), "the model did not see the file")
