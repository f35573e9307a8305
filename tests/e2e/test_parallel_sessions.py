"""Many sessions on one connection: nothing of one reaches another, nothing is lost, nothing changes its place."""

from __future__ import annotations

from tests.e2e.stage import Stage, script, stop_reason
from tests.support.trace import Obj

SESSIONS = 50
STREAMS = 16
DELTAS = 400
SECONDS = 120.0


def canary(number: int) -> str:
    return f"canary-{number:02}-of-its-own-session"


def test_fifty_sessions_at_once_and_nothing_crosses(stage: Stage) -> None:
    """Each has a directory, a secret word, a file that it writes and a question; every other person says no."""
    owners: dict[str, int] = {}

    def decide(request: Obj) -> Obj:
        number = owners[request["params"]["sessionId"]]
        assert canary(number) in str(request["params"]["toolCall"])
        kind = "allow_once" if number % 2 == 0 else "reject_once"
        chosen = next(one["optionId"] for one in request["params"]["options"] if one["kind"] == kind)
        return {"result": {"outcome": {"outcome": "selected", "optionId": chosen}}}

    client = stage.client(answerers={"session/request_permission": decide})
    client.initialize()
    folders = [stage.root / f"project-{number}" for number in range(SESSIONS)]
    for folder in folders:
        folder.mkdir()
    sessions = [client.new_session(folder) for folder in folders]
    owners.update({session: number for number, session in enumerate(sessions)})
    for number, session in enumerate(sessions):
        mode = "auto" if number % 3 == 2 else "ask"
        client.result("session/set_mode", {"sessionId": session, "modeId": mode}, SECONDS)
    prompts = []
    for number, session in enumerate(sessions):
        word = canary(number)
        write = f'call write {{"path": "{word}.txt", "content": "{word}"}}'
        lines = ("chunks 5", f"think I am {word}.", f"say Begin {word}.", write, "step", f"say End {word}.")
        prompts.append(client.ask(session, script(*lines)))
    for number, ident in enumerate(prompts):
        assert stop_reason(client.answer(ident, SECONDS)) == "end_turn"
        word = canary(number)
        assert client.said(client.turn(ident)) == f"Begin {word}.End {word}."
    for frame in client.trace.frames:
        update = frame.update()
        if update is not None:
            strange = [word for number in range(SESSIONS) if (word := canary(number)).encode() in frame.raw]
            assert strange in ([], [canary(owners[str(update.session)])])
    for number, folder in enumerate(folders):
        allowed = number % 3 == 2 or number % 2 == 0
        assert [path.name for path in folder.iterdir()] == ([f"{canary(number)}.txt"] if allowed else [])
    for number, session in enumerate(sessions):
        text = client.result("_acp_server/session/export", {"sessionId": session, "format": "jsonl"}, SECONDS)["text"]
        assert [other for other in range(SESSIONS) if canary(other) in text] == [number]


def test_sixteen_turns_stream_at_once_and_nothing_is_lost_or_out_of_place(stage: Stage) -> None:
    client = stage.client()
    client.initialize()
    sessions = [client.new_session(stage.project) for _ in range(STREAMS)]
    prompts = [
        client.ask(session, script(f"burst {DELTAS} {number}.{{n}};", "pace 2", "chunks 60", f"say {'w ' * 120}"))
        for number, session in enumerate(sessions)
    ]
    for number, ident in enumerate(prompts):
        assert stop_reason(client.answer(ident, SECONDS)) == "end_turn"
        expected = "".join(f"{number}.{n};" for n in range(DELTAS)) + ("w " * 120).strip()
        assert client.said(client.turn(ident)).strip() == expected
