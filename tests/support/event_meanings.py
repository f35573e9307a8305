"""What each type of event means, and each field of its data: the part of the catalogue that no code can tell.

A meaning alone belongs to a field that `session.shapes` checks; a form and a meaning to one that it leaves alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias, get_args, get_type_hints

from acp_server.agent.consent.approvals import Outcome
from acp_server.agent.consent.grants import Change
from acp_server.agent.modes import MODES
from acp_server.agent.network import REACHES
from acp_server.agent.turns import EndKind
from acp_server.app.hook_dialect import EVENTS as HOOK_POINTS
from acp_server.base.cancel import CancelCause
from acp_server.base.values import value
from acp_server.tools.client_side import ReplyKind
from acp_server.tools.tool import CardKind, EffectKind

Words: TypeAlias = str | tuple[str, str]


@value
class Event:
    """A type's meaning, and its fields in the order in which they are written."""

    meaning: str
    fields: Mapping[str, Words]


def _one_of(values: tuple[str, ...]) -> str:
    return ", ".join(f"`{each}`" for each in values)


_CAUSES: Final = get_args(get_type_hints(CancelCause)["kind"])
_PLACE: Final[Mapping[str, Words]] = {"turn": "the turn", "step": "the step in that turn"}
_CARD: Final = f"`title`, `kind` (one of {_one_of(get_args(CardKind))}), `locations`?, `diffs`?"
_KIND: Final = f"`kind` (one of {_one_of(get_args(EffectKind))})"
_EFFECT: Final = f"{_KIND}, `paths`?, `command`?, `background`?, `url`?, `hosts`?, `server`?, `tool`?"
_COMPACTION: Final = "names the compaction"
_SHADOW: Final = {
    "shadowedRange?": "first and last seq of what is replaced, by position: `start`, `end`",
    "shadowedSeqs?": "every seq that is replaced",
    "shadowedTokenCount?": "the price of what is replaced",
}

_FILE_STATE: Final = (
    "what it held, null for no file: `digest` and `size` of its bytes, `kept`? the attachment that has them, "
    "`mode`? its permission bits"
)
_META: Final = (
    "what no model reads: `card`?, how an editor draws it; `rawOutput`?; `facts`?, for later calls; `whole`?, the file "
    "that holds all of a text of which the message has a part"
)
_RESTORES: Final = ("seq", "the message that an undo took away and this one brings back; it is not shown again")
GROUPS: Final = (
    ("Conversation", ("user/message", "assistant/message", "assistant/chunk")),
    ("Turns and steps", ("turn/start", "turn/end", "step/start", "step/end")),
    ("Tools", ("tool/call", "tool/result", "todo/write", "file/change", "question/asked", "question/answered")),
    (
        "Consent and modes",
        (
            "permission/preset",
            "approval/asked",
            "approval/decided",
            "approval/rule",
            "approval/policy",
            "sandbox/network",
        ),
    ),
    ("Requests", ("request/header", "request/context", "model/selected", "llm/retry", "llm/retry-started")),
    ("Prompts and commands", ("agent/inbox/spliced", "command/run", "command/done", "undo/start", "undo/end")),
    ("The session", ("session/title", "session/title-llm-request", "session/end-seed")),
    ("Compaction", ("compaction/start", "compaction/summary", "compaction/end", "compaction/prune", "compaction/auto")),
    (
        "Other parts",
        (
            "agent-preset/selected",
            "sandbox/mode",
            "plan/mode",
            "hook/invoked",
            "hook/result",
            "subagent/descriptor",
            "subagent/spent",
        ),
    ),
)
"""Types in the order in which the catalogue tells them."""

EVENTS: Final[Mapping[str, Event]] = {
    "user/message": Event(
        "What the model reads from outside: a prompt, steering, a context. The data is the message itself.",
        {
            "id": ("non-empty text", "the message's own id"),
            "role": ("`user`", "always"),
            "content": ("list of blocks", "text and images"),
            "source": ("object with a kind", "who wrote it: the person, or a plugin or part of the server"),
            "restores?": _RESTORES,
        },
    ),
    "assistant/message": Event(
        "The answer of one step, made of its chunks, which are its sources. A replace without content takes a refused "
        "or undone exchange off the Surface.",
        {
            **_PLACE,
            "message": "of role `assistant`, with the provider and model that wrote it",
            "usage?": "the tokens of this attempt",
            "interrupted?": "the stream did not come to its end; this is what was visible of it",
            "restores?": _RESTORES,
        },
    ),
    "assistant/chunk": Event(
        "One piece of a stream, as it came. Runs of deltas lie packed on disk.",
        {**_PLACE, "chunk": "what came: a delta, the bounds of a block, usage, the finish"},
    ),
    "turn/start": Event("A turn begins.", {"turn": "its number, from 1 without gaps"}),
    "turn/end": Event(
        "A turn is over, whatever way it ended.",
        {
            "turn": "its number",
            "reason": f"`kind` is one of {_one_of(get_args(EndKind))}; `aborted` has `reason` with the `kind` of who "
            f"ended it ({_one_of(_CAUSES)}), `error` has the failure as `error`, "
            "`blocked` the hook's words as `message`",
            "usage?": ("object", "the tokens of a failed attempt that left no message"),
        },
    ),
    "step/start": Event("A step begins: what enters it follows, then its model request.", _PLACE),
    "step/end": Event(
        "A step is over: its answer and the results of its calls are in the log.",
        {**_PLACE, "contextTokens?": "estimated tokens of the next request, when the provider told none"},
    ),
    "tool/call": Event(
        "A call begins. It is durable before its question is put and before the tool has any effect.",
        {
            **_PLACE,
            "callId": "the provider's id of the call",
            "name": "the tool that the model named, whether there is one or not",
            "arguments": "the raw text that the model wrote",
            "view?": (
                "object",
                f"how an editor draws the call before it has run: {_CARD}; absent where nothing is known",
            ),
            "asks?": ("`true`", "the person is asked before it runs, unless a hook decides otherwise"),
        },
    ),
    "tool/result": Event(
        "What a call gave; its source is the `tool/call`. A replace rewrites one result's content.",
        {
            **_PLACE,
            "message": "of role `user`, with one tool result: what the model reads",
            "error?": "`name` and `code` of a call that failed, for programs",
            "meta?": (
                "object",
                _META,
            ),
            "restores?": _RESTORES,
        },
    ),
    "todo/write": Event(
        "The plan, as the model wrote it; it replaces the one before.",
        {"todos": "the whole plan, each with `content` and `status`: `pending`, `in_progress` or `completed`"},
    ),
    "file/change": Event(
        "A file is about to be changed. It is durable before the file is written, so that the change can be undone.",
        {
            "path": "the file, canonical",
            "before": ("object or null", _FILE_STATE),
            "after": ("object or null", "what it will hold, in the same form"),
            "callId?": ("text", "the call that changes it; absent for an undo"),
        },
    ),
    "undo/start": Event(
        "Going back to an earlier message begins, or the undo of that; nothing was changed before it.",
        {
            "undoId": "names it",
            "kind": "`undo` or `redo`",
            "first": "the seq of the first event that is taken back, a `turn/start`",
            "until": "the seq of the first event after them that is not",
            "of?": "of a redo: the undo that it takes back",
        },
    ),
    "undo/end": Event(
        "It is over. Between the two stand the changes of files and that of the Surface.",
        {
            "undoId": "names it",
            "done": "whether the conversation has changed; if not, files may have",
            "error?": "why it is not done",
            "todos?": "the plan that holds from here on, where it is another one",
            "contextTokens?": "how many tokens the next request would have, as far as it is known",
        },
    ),
    "question/asked": Event(
        "A tool asks the person something. It is durable before the question goes out.",
        {
            "id": "names the question",
            "callId": ("text", "the call that asks"),
            "question": "what is asked",
            "options?": ("list of texts", "the answers to choose from"),
        },
    ),
    "question/answered": Event(
        "The question is over. It is durable before the model reads on.",
        {
            "id": "the question",
            "outcome": f"one of {_one_of((*get_args(ReplyKind), 'cancelled'))}",
            "answer?": ("list of texts", "what the person chose or said"),
        },
    ),
    "permission/preset": Event(
        "The session's mode from here on: how much happens without a question. The latest counts.",
        {"preset": ("text", f"one of {_one_of(MODES)}; anything else counts as `ask`")},
    ),
    "approval/asked": Event(
        "The person is asked about a call. It is durable before the question goes out.",
        {
            "id": "names the question",
            "toolName": "the tool",
            "callId": ("text", "the call, as in its `tool/call`"),
            "reason": ("text", "why it is asked, one sentence"),
            "effect": ("object", f"what would happen: {_EFFECT}"),
        },
    ),
    "approval/decided": Event(
        "The question is answered. It is durable before the call runs; a question without it was never answered.",
        {
            "id": "the question",
            "outcome": f"one of {_one_of(get_args(Outcome))}; those that begin with `allowed` let the call run",
        },
    ),
    "sandbox/network": Event(
        "The person chose what commands may reach, from the next call on. The latest counts.",
        {"network": f"one of {_one_of(REACHES)}; anything else leaves it to the settings"},
    ),
    "compaction/auto": Event(
        "The person chose whether the session is compacted by itself, from the next step on. The latest counts.",
        {"auto": "true or false, whatever the settings say"},
    ),
    "approval/rule": Event(
        "A rule of consent holds, or does not any more. Those of the session's scope are known from here alone.",
        {
            "change": f"one of {_one_of(get_args(Change))}",
            "rule": "`verdict` (`allow`, `deny`), `subject` (`command`, `edit`, `fetch`), `scope` (`session`, "
            "`project`, `user`), and `words` with `anyRest`, or `path`, or `host`",
        },
    ),
    "approval/policy": Event("A policy of approvals.", {}),
    "request/header": Event(
        "Everything of the next requests but their messages. Logged when it differs, and for an agent's first one.",
        {
            "header": "`config` (`provider`, `model`, `reasoningEffort`?, `temperature`?, `maxTokens`?), "
            "`adapterDefaults`?, `system`?, `tools`?",
            "reason": "why: the first of the log, the first of an agent that resumes, something differs",
        },
    ),
    "request/context": Event(
        "What is known of the model that is asked, for the figures that a person sees.",
        {
            "provider": "the provider",
            "model": "the model",
            "contextWindow?": "tokens that a request may have",
            "prices?": (
                "object",
                "US dollars for a million tokens: `input`, `output`, `cacheRead`?, `cacheWrite`?, `longFrom`?, `long`?",
            ),
        },
    ),
    "model/selected": Event(
        "The person chose where requests go from the next step on.",
        {"provider": "the provider", "model": "the model", "reasoningEffort?": "the effort; absent: the model's own"},
    ),
    "llm/retry": Event(
        "An attempt failed and another one follows. Logged before the wait.",
        {
            "retryId": "names the wait",
            **_PLACE,
            "provider": ("text", "who failed"),
            "mode": ("text", "`normal`"),
            "policyKey": ("text", "the policy that decided"),
            "retry": "number of the further attempt, from 1",
            "maxRetries": ("whole number", "how many the policy allows"),
            "delayMs": "milliseconds of waiting",
            "failure": "why the attempt failed",
            "usage?": ("object", "the tokens of the failed attempt"),
        },
    ),
    "llm/retry-started": Event(
        "The wait is over and the further attempt begins. A cancelled wait has none.",
        {"retryId": "the wait", **_PLACE, "retry": "as in its `llm/retry`"},
    ),
    "agent/inbox/spliced": Event(
        "What waits to be taken has changed: a prompt came, was claimed, or was discarded. The only such change.",
        {
            "target": "the list that changed",
            "start": "place in the list, from 0",
            "removedCount?": "messages that go from there; without an `outcome` they are claimed",
            "inserted": "messages that come there",
            "outcome?": "what went was discarded",
        },
    ),
    "command/run": Event(
        "A slash command begins.",
        {
            "commandId": "names this run",
            "name": "the command",
            "source": ("object", "who asked: `kind` is `user`"),
            "args?": ("text", "what stood behind the name"),
        },
    ),
    "command/done": Event(
        "A slash command is over.",
        {
            "commandId": "the run",
            "kind": "`success`, `error` or `cancelled`",
            "text": ("text", "what the person is told"),
        },
    ),
    "session/title": Event(
        "The session's title from here on.",
        {
            "title": "one line",
            "messageSeqs": "seqs of the messages that gave it",
            "source": "`kind` is `user` for the person's own choice, `fallback` for first words, `provider` for a "
            "model's, with its `provider` and `model`",
            "usage?": ("object", "the tokens that the model took"),
            "prices?": ("object", "the model's prices at that moment"),
        },
    ),
    "session/title-llm-request": Event(
        "A model is about to be asked for a title; a title follows unless that fails.",
        {
            "route": ("object", "`provider` and `model`"),
            "messageSeqs": ("list of seqs", "the messages that it is told"),
            "system": ("text", "what it is asked"),
            "messages": ("list of messages", "what it is told"),
            "maxTokens": ("number", "tokens that it may write"),
        },
    ),
    "session/end-seed": Event(
        "What stands before was inherited: by a fork, or from an earlier life of the session. What was left open in it "
        "is dead.",
        {},
    ),
    "compaction/start": Event(
        "A compaction begins. Until its end no other one does; one of an earlier life counts as ended.",
        {
            "compactionId": _COMPACTION,
            "turn": "the turn that it happens in, or null",
            "reason?": "`pressure`, `overflow` or `manual`",
            "tokensBefore?": "tokens of a request before it",
        },
    ),
    "compaction/summary": Event(
        "The summary of a compaction.",
        {
            "compactionId": _COMPACTION,
            "summary": "blocks",
            **_SHADOW,
            "usage?": ("object", "the tokens that it cost; they count among the session's"),
            "provider?": ("text", "who summarised"),
            "model?": ("text", "its model"),
            "maxTokens?": ("number", "tokens that the answer was allowed"),
            "pieces?": ("number", "requests that it took"),
        },
    ),
    "compaction/end": Event(
        "A compaction is over.",
        {
            "compactionId": _COMPACTION,
            "turn": "as at its start",
            "error?": "why it failed; the Surface is as it was",
            "cancelled?": "it failed because it was cancelled",
            "trimmed?": "there is no summary: what went was left out",
            "tokensBefore?": "tokens of a request before it",
            "tokensAfter?": "tokens of a request after it",
        },
    ),
    "compaction/prune": Event(
        "A node is about to be replaced by a shorter one, or several by a message that says they are left out. The "
        "replacement is the next event.",
        {**_SHADOW, "tokens?": "tokens of what replaces it"},
    ),
    "agent-preset/selected": Event(
        "The preset of the session's agent. Of one that is not shipped all is told that the agent is made of.",
        {
            "agentPreset": "its id",
            "name?": "how a person calls it; absent for a shipped one, as are the fields below",
            "description?": "what it is for",
            "tools?": "names of the tools that it has, `*` at the end for any further characters; else all",
            "sections?": "names of the parts of the system text that it has; else all",
            "prompt?": "what the system text says besides",
        },
    ),
    "sandbox/mode": Event("How commands are confined.", {"mode": "the mode's name"}),
    "plan/mode": Event("Whether the session only plans.", {"active": "whether it does"}),
    "hook/invoked": Event(
        "A hook's command begins.",
        {
            "hookId": "names this run",
            "event": f"the point: one of {_one_of(HOOK_POINTS)}",
            "command": "the command line",
            "turn": "the turn",
            "step": "the step in that turn",
            "callId?": "the call that it looks at",
        },
    ),
    "hook/result": Event(
        "A hook's command has ended, whatever way.",
        {
            "hookId": "names the run",
            "outcome": "`passed`, `blocked`, `asked`, `failed` or `cancelled`",
            "durationMs": "how long it ran",
            "exitCode?": ("whole number", "its exit code; absent when it was stopped or not started"),
            "reason?": "what it said",
            "updatedInput?": ("text", "the input that the call gets instead, JSON"),
        },
    ),
    "subagent/descriptor": Event(
        "What a sub-agent is for. It stands in the sub-agent's own log, before its first turn.",
        {
            "version": ("number", "2"),
            "mode": ("text", "`spawn`, or `fork` where it was to begin with its parent's turns"),
            "label": ("text", "what it is about, as its parent's model named it"),
            "callId": ("text", "the call in the parent's log that started it"),
            "provider": ("text", "the provider of its model"),
            "model": ("text", "its model"),
        },
    ),
    "subagent/spent": Event(
        "What a sub-agent has used, told when it has ended. It stands in its parent's log and counts there.",
        {
            "callId": "the call that started it",
            "sessionId": "its own session",
            "usage": "by `PROVIDER/MODEL` the counts of the projection `usage`, those of its own sub-agents included",
        },
    ),
}
