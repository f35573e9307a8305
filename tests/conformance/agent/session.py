"""One session: its messages on the disk, its turns, its replay."""

from __future__ import annotations

import asyncio
import json
import os
import time
import uuid
from pathlib import Path
from typing import Any

from tests.conformance.agent import model, tools
from tests.conformance.agent.wire import AUTH, INTERNAL, RefusedError, Wire

Obj = dict[str, Any]
MODES = ("ask", "plan")
MODELS = ("small", "large")
STOPS = {"length": "max_tokens", "content_filter": "refusal"}
COMMANDS = [{"name": "help", "description": "Tell what there is."}]


def text(words: str) -> Obj:
    return {"type": "content", "content": {"type": "text", "text": words}}


class Session:
    """Runs one prompt after the other."""

    def __init__(self, ident: str, cwd: Path, folder: Path, wire: Wire, able: Obj) -> None:
        self.id, self.cwd, self.path, self.wire, self.able = ident, cwd, folder / f"{ident}.jsonl", wire, able
        self.flaws = wire.flaws
        self.messages: list[Obj] = []
        self.mode, self.model = MODES[0], MODELS[0]
        self.prompts: dict[str, asyncio.Task[Obj]] = {}
        self.turn = asyncio.Lock()
        self.message = ""
        self.more_tools: list[str] = []

    # -- the disk

    def keep(self, **record: Any) -> None:
        if not self.path.exists():
            self.path.write_text(json.dumps({"cwd": str(self.cwd)}) + "\n", "utf-8")
        with self.path.open("a", encoding="utf-8") as out:
            out.write(json.dumps(record) + "\n")

    def show(self, kind: str, words: str, **more: Any) -> None:
        if "thoughts-as-text" in self.flaws and kind == "agent_thought_chunk":
            kind = "agent_message_chunk"
        self.wire.update(self.id, kind, content={"type": "text", "text": words}, messageId=self.message, **more)

    def load(self, *, replay: bool) -> None:
        """Read what was kept, and show it."""
        records = [json.loads(line) for line in self.path.read_text("utf-8").splitlines()][1:]
        ended = {record["id"] for record in records if "content" in record}
        parts: dict[str, str] = {}
        for record in records:
            if "part" in record:
                parts[record["of"]] = parts.get(record["of"], "") + record["part"]
        for record in records:
            self.mode, self.model = record.get("mode", self.mode), record.get("model", self.model)
            if "message" in record:
                self.messages.append(record["message"])
                parts.pop(record["of"], None)
            if record.get("forget"):
                del self.messages[-record["forget"] :]
            if replay:
                self._again(record, ended)
        for ident, words in parts.items():
            self.message = ident
            if replay:
                self.show("agent_message_chunk", words)

    def _again(self, record: Obj, ended: set[str]) -> None:
        message = record.get("message") or {}
        self.message = record.get("of", "")
        kinds = {"user": "user_message_chunk", "assistant": "agent_message_chunk"}
        if message.get("role") in kinds and message["content"]:
            self.show(kinds[message["role"]], message["content"])
        if "card" in record:
            status = {} if record["id"] in ended else {"status": "failed"}
            self.wire.update(self.id, "tool_call", **record["card"] | status)
        if "content" in record:
            fields = {key: record[key] for key in ("title", "status", "content")}
            self.wire.update(self.id, "tool_call_update", toolCallId=record["id"], **fields)

    # -- turns

    async def prompt(self, ident: str, blocks: list[Obj], trace: str | None) -> Obj:
        """Return the result of a prompt once those before it have ended."""
        if "echoes-prompts" in self.flaws:
            self.wire.update(self.id, "user_message_chunk", content={"type": "text", "text": "x"})
        task = asyncio.get_running_loop().create_task(self._prompt(blocks, trace))
        self.prompts[ident] = task
        try:
            return await task
        except asyncio.CancelledError:
            if "cancel-is-an-error" in self.flaws:
                raise RefusedError(INTERNAL, "cancelled") from None
            return {"stopReason": "cancelled"}
        finally:
            del self.prompts[ident]

    def cancel(self) -> None:
        for task in list(self.prompts.values()):
            task.cancel()

    async def _prompt(self, blocks: list[Obj], trace: str | None) -> Obj:
        async with self.turn:
            words = "\n".join(_words(block) for block in blocks)
            if not words.strip():
                return {"stopReason": "end_turn"}
            begun = len(self.messages)
            self._add({"role": "user", "content": words}, str(uuid.uuid4()))
            try:
                stop = await self._steps(trace)
            except model.ModelError as why:
                if "swallows-failures" in self.flaws:
                    return {"stopReason": "end_turn"}
                raise RefusedError(AUTH if why.status == 401 else INTERNAL, str(why)) from why
            if stop == "refusal" and "keeps-refusals" not in self.flaws:
                self.keep(forget=len(self.messages) - begun)
                del self.messages[begun:]
            return {"stopReason": "finished" if "odd-stop" in self.flaws else stop}

    def _add(self, message: Obj, of: str) -> None:
        self.messages.append(message)
        self.keep(message=message, of=of)

    async def _steps(self, trace: str | None) -> str:
        while True:
            self.message = str(uuid.uuid4())
            said = model.Said()
            headers = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
            headers |= {"traceparent": trace} if trace else {}
            body = {"model": self.model, "messages": self.messages, "tools": tools.specs(self.more_tools)}
            try:
                await model.ask(body, headers, self._piece, said)
            except asyncio.CancelledError:
                self._add({"role": "assistant", "content": said.text}, self.message)
                raise
            calls = [
                {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}}
                for c in said.calls.values()
            ]
            more = {"tool_calls": calls} if calls else {}
            self._add({"role": "assistant", "content": said.text, **more}, self.message)
            for call in said.calls.values():
                await self._call(call)
            if not calls:
                return STOPS.get(said.finish, "end_turn")

    def _piece(self, kind: str, words: str) -> None:
        self.show(kind, words)
        if kind == "agent_message_chunk":
            self.keep(part=words, of=self.message)

    # -- calls

    async def _call(self, call: Obj) -> None:
        ident, name, args = f"call-{uuid.uuid4()}", call["name"], json.loads(call["arguments"] or "{}")
        look = tools.shown(name, args, self.cwd)
        card = {"toolCallId": ident, "title": look.title, "name": name, "kind": look.kind, "status": "pending"}
        card |= {"rawInput": args, "locations": look.locations}
        self.wire.update(self.id, "tool_call", **card)
        if "announces-twice" in self.flaws:
            self.wire.update(self.id, "tool_call", **card)
        self.keep(card=card, id=ident)
        status, content = "failed", [text("cancelled by the person")]
        try:
            content, status = await self._run(ident, name, args, card), "completed"
        except tools.ToolError as why:
            content = [text(f"error: {why}")]
        finally:
            if "open-calls" not in self.flaws:
                end = {"title": look.title, "status": status, "content": content}
                self.wire.update(self.id, "tool_call_update", toolCallId=ident, **end)
                self.keep(id=ident, **end)
            result = {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(content, ensure_ascii=False)}
            self._add(result, ident)

    async def _run(self, ident: str, name: str, args: Obj, card: Obj) -> list[Obj]:
        if name in tools.ASKS and not await self._allowed(card):
            raise tools.ToolError("the person refused the call")
        self.wire.update(self.id, "tool_call_update", toolCallId=ident, title=card["title"], status="in_progress")
        if name == "shell":
            return [text(await tools.shell(args["command"], self.cwd))]
        if name == "ask":
            return [text(await self._question(ident, args))]
        if name == "todo":
            return [text(self._plan(args["todos"]))]
        path = tools.inside(self.cwd, str(args["path"]))
        if name == "read_file":
            return [text(await self._read(path))]
        old = tools.read(path) if path.exists() else None
        new = tools.changed(name, args, old)
        path.write_text(new, "utf-8")
        shown = Path(path.name) if "bare-paths" in self.flaws else path
        return [tools.diff(shown, old, new)]

    async def _read(self, path: Path) -> str:
        if (self.able.get("fs") or {}).get("readTextFile") is True or "uses-any-editor" in self.flaws:
            answer = await self.wire.ask("fs/read_text_file", {"sessionId": self.id, "path": str(path)})
            if "result" in answer:
                return str(answer["result"]["content"])
        return tools.read(path)

    async def _allowed(self, card: Obj) -> bool:
        kinds = ["allow_once", "reject_once"] + (["reject_once"] if "two-of-a-kind" in self.flaws else [])
        options = [{"optionId": f"{kind}-{n}", "name": kind, "kind": kind} for n, kind in enumerate(kinds)]
        asked = {key: card[key] for key in ("toolCallId", "title", "kind", "rawInput", "locations")}
        params = {"sessionId": self.id, "toolCall": asked, "options": options}
        answer = await self.wire.ask("session/request_permission", params)
        outcome = (answer.get("result") or {}).get("outcome") or {}
        if "unknown-is-yes" in self.flaws:
            return bool(outcome.get("optionId") != "reject_once-1")
        return bool(outcome.get("outcome") == "selected" and outcome.get("optionId") == "allow_once-0")

    async def _question(self, ident: str, args: Obj) -> str:
        forms = self.able.get("elicitation") or {}
        if "form" not in forms:
            return "Nobody can be asked by a form: ask in words."
        field = {"type": "string", "title": "Answer"}
        form = {"type": "object", "properties": {"answer": field}}
        params = {"sessionId": self.id, "toolCallId": ident, "mode": "form", "message": args["question"]}
        answer = await self.wire.ask("elicitation/create", {**params, "requestedSchema": form})
        result = answer.get("result") or {}
        content = result.get("content") if result.get("action") == "accept" else None
        return f"The person answered: {content}" if content else "There is no answer."

    def _plan(self, todos: list[Obj]) -> str:
        entries = [{"content": one["content"], "status": one["status"], "priority": "medium"} for one in todos]
        self.wire.update(self.id, "plan", entries=entries)
        return "The plan is shown."

    # -- options

    def modes(self) -> Obj:
        return {"currentModeId": self.mode, "availableModes": [{"id": mode, "name": mode} for mode in MODES]}

    def options(self) -> list[Obj]:
        return [
            _select("mode", "mode", self.mode, MODES),
            _select("model", "model", self.model, MODELS),
        ]

    def tell_options(self) -> None:
        self.wire.update(self.id, "current_mode_update", currentModeId=self.mode)
        self.wire.update(self.id, "config_option_update", configOptions=self.options())

    def entry(self) -> Obj:
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.path.stat().st_mtime))
        return {"sessionId": self.id, "cwd": str(self.cwd), "updatedAt": at}


def _select(ident: str, category: str, value: str, values: tuple[str, ...]) -> Obj:
    options = [{"value": one, "name": one} for one in values]
    return {
        "id": ident,
        "name": ident,
        "type": "select",
        "category": category,
        "currentValue": value,
        "options": options,
    }


def _words(block: Obj) -> str:
    resource = block.get("resource") or {}
    return str(block.get("text") or block.get("uri") or resource.get("text") or resource.get("uri") or "[image]")
