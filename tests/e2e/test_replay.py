"""A replay shows what was shown live: whatever the model did (docs/protocol.md, clauses S-20 to S-25 and P-16)."""

from __future__ import annotations

from random import Random

import pytest

from tests.e2e.sessions import calls, live, load, merged, restarted, said
from tests.e2e.stage import Stage, script, stop_reason
from tests.support.client import Client

WORDS = ["plain ", "über ", "日本 ", "🎉👩‍👩‍👧 ", "tab\\t", "line\\n", "`code` ", "\\\\ ", "a\\sb "]
ENDS = [
    "finish refusal",
    "finish max-tokens",
    "error AUTH No key.",
    "error INVALID_REQUEST Odd words.",
    "say Half.\ncut",
    "hang",
]
PASSING = ["error SERVER It stumbled.", "error OVERLOADED Too much to do. retry_after=0.02", "cut"]


def words(random: Random) -> str:
    return "".join(random.choice(WORDS) for _ in range(random.randint(1, 12))).strip() or "word"


def answer(random: Random) -> list[str]:
    """Return the statements of one answer, without its end."""
    lines = [random.choice(["chunks 1", "chunks 7", "chunks words", "pace 1", "pace 0"])]
    for _ in range(random.randint(0, 3)):
        word = random.choice(["think", "say", "burst 40 {n}"])
        lines += [f"{word} {words(random)}"]
    if random.random() < 0.4:
        lines.append(f"usage {random.randint(1, 900)} {random.randint(1, 90)}")
    return lines


def called(random: Random) -> list[str]:
    arguments = random.choice(['{"path": "a b"}', "{}", "", "no JSON", '{"deep": {"er": [1, 2, "日本"]}}'])
    return [f"call {random.choice(['look', 'find', 'run'])} {arguments}".strip() for _ in range(random.randint(1, 3))]


def random_script(random: Random) -> str:
    """Return a script of some steps with calls, tries that fail before anything was said, and an end of any kind."""
    lines: list[str] = []
    for _ in range(random.randint(0, 2)):
        if random.random() < 0.3:
            lines += [random.choice(PASSING), "attempt"]
        lines += [*answer(random), *called(random), "step"]
    if random.random() < 0.3:
        lines += ["call lost {}", "error SERVER Broken in the middle of a call.", "attempt"]
    lines += answer(random)
    if random.random() < 0.4:
        lines.append(random.choice(ENDS))
    elif len(lines) and not any(line.startswith(("say", "burst")) for line in lines[-4:]):
        lines.append("say done")
    return script(*lines)


def play(client: Client, session: str, random: Random) -> None:
    """Play some turns; what hangs is cancelled, and so is one in five at some moment."""
    for _ in range(random.randint(1, 4)):
        text = random_script(random)
        ident = client.ask(session, random.choice(["/status", "/help"]) if random.random() < 0.1 else text)
        if text.endswith("hang") or random.random() < 0.2:
            client.wait(ident, random.random() * 0.2)
            client.notify("session/cancel", {"sessionId": session})
        assert "jsonrpc" in client.answer(ident)


@pytest.mark.parametrize("seed", range(6))
def test_a_replay_shows_what_was_shown_live(stage: Stage, seed: int) -> None:
    random = Random(seed)
    client = stage.client()
    client.initialize()
    shown = {}
    for _ in range(8):
        session = client.new_session(stage.project)
        play(client, session, random)
        shown[session] = merged(live(client, session))
    for session, before in shown.items():
        assert merged(load(client, session, stage.project)) == before
    client = restarted(stage)
    for session, before in shown.items():
        replay = load(client, session, stage.project)
        assert merged(replay) == before
        assert set(calls(replay).values()) <= {"completed", "failed"}
        reply, turn = client.prompt(session, script("say Again."))
        assert (stop_reason(reply), client.said(turn)) == ("end_turn", "Again.")


def test_a_replay_shows_prompts_in_their_places(stage: Stage) -> None:
    client, session = stage.open()
    prompts = [script(f"say answer {number}") for number in range(5)]
    for prompt in prompts:
        client.prompt(session, prompt)
    client = restarted(stage)
    expected = [part for n, prompt in enumerate(prompts) for part in (prompt, f"answer {n}")]
    shown = [item[2] for item in merged(load(client, session, stage.project), users=True) if isinstance(item, tuple)]
    assert shown == expected


def test_one_frame_a_block_is_enough_for_a_replay(stage: Stage) -> None:
    client, session = stage.open()
    client.prompt(session, script("burst 20000 word\\s", "think Hm.", "burst 3 end\\s"))
    client = restarted(stage)
    replay = load(client, session, stage.project)
    assert said(replay) == "word " * 20000 + "end " * 3
    assert len(replay) < 200


def test_a_refused_exchange_is_replayed_as_it_was_shown_and_not_told_to_the_model(stage: Stage) -> None:
    client, session = stage.open()
    answer, _ = client.prompt(session, script("say I will not.", "finish refusal"))
    assert stop_reason(answer) == "refusal"
    before = merged(live(client, session))
    client = restarted(stage)
    assert merged(load(client, session, stage.project)) == before
    answer, turn = client.prompt(session, "/status")
    assert "Messages the model sees: 0" in client.said(turn)


def test_a_long_wait_between_tries_is_told_and_replayed(stage: Stage) -> None:
    client, session = stage.open()
    client.prompt(session, script("error OVERLOADED Too much to do. retry_after=2", "attempt", "say There."))
    before = merged(live(client, session))
    thoughts = [item[2] for item in before if isinstance(item, tuple) and item[0] == "agent_thought_chunk"]
    assert thoughts == ["Too much to do. Trying again in 2 s.\n"]
    client = restarted(stage)
    assert merged(load(client, session, stage.project)) == before
