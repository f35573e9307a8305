"""One conversation with everything that encoders have to bring over, and a small one."""

from __future__ import annotations

from acp_server.base.json_value import JsonValue
from acp_server.messages.blocks import (
    ImageBlock,
    Message,
    ModelSource,
    OpaqueBlock,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolSource,
    UserSource,
)
from acp_server.messages.request import CallConfig, GenerateOptions, ToolSchema

PICTURE = ImageBlock("sha256:aa", "image/png", 4, 1, 1, "plot.png")
GONE = ImageBlock("sha256:bb", "image/png", 4, 1, 1)

READ = ToolSchema(
    "read_file",
    "Read a file.",
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"path": {"type": "string", "pattern": "^/", "examples": ["/a"]}},
        "required": ["path"],
        "additionalProperties": False,
    },
)
NOW = ToolSchema("get_time", "Tell the time.", {})

STATES: dict[str, dict[str, JsonValue]] = {
    "chat": {"protocol": "chat", "version": 1, "reasoning": "reasoning_content"},
    "responses": {
        "protocol": "responses",
        "version": 1,
        "blocks": [
            {
                "id": "rs_1",
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": "Two files."}],
                "encrypted_content": "ZW5j",
            },
            {"phase": "commentary"},
            None,
            None,
        ],
    },
    "anthropic": {"protocol": "anthropic", "version": 1, "blocks": [{"signature": "c2ln"}, None, None, None]},
}


def images(image: ImageBlock) -> str | None:
    """Return the bytes of the one image that is there."""
    return "iVBORw==" if image is PICTURE else None


def user(ident: str, *blocks: TextBlock | ImageBlock | OpaqueBlock) -> Message:
    return Message(ident, "user", blocks, UserSource())


def result(call_id: str, *blocks: TextBlock | ImageBlock, failed: bool = False) -> Message:
    return Message(f"r-{call_id}", "user", (ToolResultBlock(call_id, blocks, failed),), ToolSource(call_id))


def whole(protocol: str) -> GenerateOptions:
    """Return a request in the middle of a conversation, whose first answer came by that protocol."""
    first = (
        ReasoningBlock("Two files."),
        TextBlock("Let me look."),
        ToolCallBlock("call_1", "read_file", '{"path": "/a"}'),
        ToolCallBlock("call_2", "read_file", '{"path": /b}'),
    )
    messages = (
        user("m1", TextBlock("What is in "), TextBlock("this?"), PICTURE, GONE),
        Message("m2", "assistant", first, ModelSource("p", "model-1", STATES[protocol])),
        result("call_2", TextBlock("the arguments are no JSON"), failed=True),
        result("call_1", TextBlock("see:"), PICTURE),
        Message("m3", "assistant", (TextBlock("Once more."), _call("call_1")), ModelSource("p", "other")),
        result("call_1"),
        Message("m4", "assistant", (ReasoningBlock("Hm."), _call("functions.read:0")), ModelSource("p", "other")),
        Message("m5", "system", (TextBlock("The mode is plan."),), UserSource()),
        result("lost", TextBlock("late")),
        user("m6", TextBlock("Go on."), OpaqueBlock("video", {"type": "video"})),
        Message("m7", "assistant", (ReasoningBlock("Nothing to say."),), ModelSource("p", "other")),
        user("m8", TextBlock("Well?")),
    )
    config = CallConfig("p", "model-1", max_tokens=4096)
    return GenerateOptions(config, messages, "Be brief.", (READ, NOW), session_id="session-7")


def small(config: CallConfig) -> GenerateOptions:
    """Return a request of one word."""
    return GenerateOptions(config, (user("m1", TextBlock("Hi")),))


def _call(ident: str) -> ToolCallBlock:
    return ToolCallBlock(ident, "get_time", "")
