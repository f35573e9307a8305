"""Hundreds of turns of work with tools over real pipes and HTTP: a model with a window, and what has to hold of it all.

The model counts every request with a tokenizer, refuses what is too long, and tells what it counted. The work is real:
files are read and written, commands run.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from acp_server.agent.request import options_from_log
from acp_server.base.ids import SessionId
from acp_server.compaction.exact_child import coder_of
from acp_server.llm.adapters.chat.protocol import ChatProtocol
from acp_server.persistence.jsonl import JsonlPersistence
from acp_server.persistence.port import LoadedSession
from acp_server.session.events import APPEND, Replace, SessionEvent
from acp_server.session.log import MemoryLog
from acp_server.session.session import Session
from tests.cases.always import model_request
from tests.e2e.stage import Stage, stop_reason
from tests.support.llm_script import Answer, Asked, Script, text_of
from tests.support.mock_llm import KEY, MockLlm
from tests.support.trace import Obj
from tests.support.windows import SUMMARY, WORDS, check_compactions

SUMMARISING: Final = "change of task by the server"
"""What only a request for a summary says."""
SHARED: Final = 0.99
FILES: Final = 30


@dataclass
class Request:
    """What is kept of a request: its size in tokens, its hash, and how much of the one before it begins it."""

    size: int
    digest: str
    shared: float
    summarises: bool


@dataclass
class Worker(Script):
    """The model: reads, writes and runs things for some steps in each turn, then says that it is done."""

    window: int
    rng: random.Random
    requests: list[Request] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._coder = coder_of("o200k_base")
        self._counts: dict[str, int] = {}
        self._before = b""
        self._steps = 0

    def choose(self, asked: Asked) -> Answer:
        size = self._size(asked.body)
        summarises = SUMMARISING in text_of(asked.messages[-1].get("content"))
        self.requests.append(self._request(asked, size, summarises=summarises))
        number = len(self.requests)
        self.wrong += [f"request {number}: {why}" for why in model_request(asked)]
        if size > self.window:
            self.wrong.append(f"request {number} has {size} tokens of {self.window}")
            return {"overflow": True}
        usage = {"input": size, "output": 30}
        if summarises:
            return {"text": SUMMARY, "usage": usage}
        if asked.messages[-1]["role"] == "user":
            self._steps = self.rng.randint(1, 3)
        if not self._steps:
            return {"text": "Done with this part.", "usage": usage}
        self._steps -= 1
        return {"calls": [self._call(number, n) for n in range(self.rng.randint(1, 3))], "usage": usage}

    def _request(self, asked: Asked, size: int, *, summarises: bool) -> Request:
        wire = json.dumps(asked.body, ensure_ascii=False, separators=(",", ":")).encode()
        shared = 0 if summarises else common(self._before, wire)
        if not summarises:
            self._before, length = wire, max(len(self._before), 1)
            return Request(size, digest_of(asked.body), shared / length, summarises)
        return Request(size, digest_of(asked.body), 0.0, summarises)

    def _call(self, number: int, place: int) -> Obj:
        name = f"src/file{self.rng.randrange(FILES)}.txt"
        match self.rng.randrange(6):
            case 0:
                text = " ".join(self.rng.choices(WORDS, k=30))
                return {"tool": "write", "args": {"path": f"out/{number}-{place}.txt", "content": f"{text}\n"}}
            case 1:
                return {"tool": "bash", "args": {"command": f"head -c {self.rng.randint(1, 60)}00 {name}"}}
            case _:
                return {"tool": "read", "args": {"path": name, "limit": self.rng.randint(1, 12) * 20}}

    def _size(self, body: Obj) -> int:
        parts = [json.dumps(body.get("tools")), *map(_counted, body["messages"])]
        return sum(map(self._count, parts)) + 4 * len(parts)

    def _count(self, text: str) -> int:
        key = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
        if key not in self._counts:
            self._counts[key] = len(self._coder.encode_ordinary(text))
        return self._counts[key]


def _counted(message: Obj) -> str:
    """Return the texts of a message that are tokens."""
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    return "\n".join([text_of(message.get("content")), *(f"{one['name']} {one['arguments']}" for one in calls)])


def common(one: bytes, other: bytes) -> int:
    """Return how many bytes both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def digest_of(body: Any) -> str:
    """Return a hash of what a request says: tools and messages, byte for byte."""
    said = json.dumps([body.get("tools"), body["messages"]], ensure_ascii=False).encode()
    return hashlib.sha256(said).hexdigest()


def prepare(folder: Path, rng: random.Random, longest: int) -> None:
    """Make the files that are worked on, of up to so many characters each."""
    (folder / "src").mkdir()
    for number in range(FILES):
        lines = [" ".join(rng.choices(WORDS, k=10)) for _ in range(rng.randint(longest // 800, longest // 80))]
        (folder / "src" / f"file{number}.txt").write_text("\n".join(lines) + "\n", "utf-8")


async def simulate(stage: Stage, window: int, turns: int, seed: int = 7) -> list[SessionEvent]:
    """Work so many turns in such a window; return the log, of which everything holds that has to."""
    rng = random.Random(seed)
    worker = Worker(window, rng)
    prepare(stage.project, rng, min(30_000, window * 3 // 8))
    stage.secrets.append(KEY)
    stage.state.mkdir(exist_ok=True)
    facts = f"context_window = {window}\nmax_output_tokens = {min(8000, window // 8)}\n"
    (stage.state / "settings.toml").write_text(f'[models."openai/mock"]\n{facts}', "utf-8")
    with MockLlm(worker, on_request=lambda: _forget(mock)) as mock:
        client = stage.client(None, mock.environment("openai"))
        client.initialize()
        session = client.new_session(stage.project)
        client.result("session/set_mode", {"sessionId": session, "modeId": "auto"})
        if window < 16_000:
            chosen = {"sessionId": session, "configId": "preset", "value": "minimal"}
            client.result("session/set_config_option", chosen)
        for turn in range(turns):
            answer, _ = client.prompt(session, f"Task {turn}: go on with the next file, please.", 600)
            assert stop_reason(answer) == "end_turn", (turn, answer, worker.wrong)
        assert client.agent.end() is None
    assert worker.wrong == []
    stored = await stored_session(stage, session)
    check(stored, worker)
    return list(stored.log.since(0))


def _forget(mock: MockLlm) -> None:
    """Let go of what was recorded: requests of megabytes add up."""
    mock.asked[-1].body, mock.asked[-1].messages = {"stream": True}, []


async def stored_session(stage: Stage, session: str) -> LoadedSession:
    """Return the session as its log on disk has it."""
    persistence = JsonlPersistence(stage.state / "sessions")
    try:
        return await persistence.inspect(SessionId(session))
    finally:
        await persistence.shutdown()


def check(stored: LoadedSession, worker: Worker) -> None:
    """Hold the log against the requests: nothing lost, cut off, made twice, or sent other than it stands there."""
    events = list(stored.log.since(0))
    answers = [event for event in events if event.type == "assistant/message" and event.surface_op == APPEND]
    asked = [request for request in worker.requests if not request.summarises]
    assert len(answers) == len(asked)
    calls = [event.data["callId"] for event in events if event.type == "tool/call"]
    results = [event for event in events if event.type == "tool/result" and event.surface_op == APPEND]
    assert sorted(map(str, calls)) == sorted(map(_answered, results))
    assert len(set(calls)) == len(calls)
    check_compactions(events)
    rewritten = [event.seq for event in events if isinstance(event.surface_op, Replace)]
    for (before, after), request in zip(itertools.pairwise(answers), asked[1:], strict=True):
        if not any(before.seq < seq < after.seq for seq in rewritten):
            assert request.shared >= SHARED, (after.seq, request)
    for place in sorted(random.Random(1).sample(range(len(answers)), min(12, len(answers)))):
        assert digest_of(sent(stored, answers[place])) == asked[place].digest, place


def _answered(event: SessionEvent) -> str:
    message: Any = event.data["message"]
    return str(message["source"]["callId"])


def sent(stored: LoadedSession, answer: SessionEvent) -> Any:
    """Return the body of the request that an answer belongs to, from the log alone."""
    first = (answer.source_event_seqs or (answer.seq,))[0]
    events = [event for event in stored.log.since(0) if event.seq < first]
    before = Session(stored.header, now=lambda: 0, log=MemoryLog(events))
    return ChatProtocol().encode(options_from_log(before))
