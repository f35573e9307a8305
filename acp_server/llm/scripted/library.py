"""The scripts that are shipped: `scripted/demo`, a tour worth watching, and a few plain ones. Pure.

Each is a function from the prompt's text to script text, so that what ships is written in the language itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from acp_server.llm.scripted.parse import escape

_HELLO: Final = """\
think The person says hello. A short welcome is the right answer.
say Hello! I am the demo model of acp-server: a script, not a mind, so I cost nothing and need no key.\\n\\n
say Everything around me is real, though: this answer is streamed, logged to disk and shown by the same code
say \\sthat serves any other model.\\n\\nAsk me for **help** to hear what you can try.
"""

_HELP: Final = """\
think They ask what can be done here. A list is easier to read than a paragraph.
say Here is what you can try with me:\\n\\n
say - **Say anything.** I answer with a short tour of the server.\\n
say - **Cancel me.** Choose the model `scripted/slow`, ask something and press stop: what was shown is kept.\\n
say - **Load this session again.** What you read now is in a log and comes back word for word.\\n
say - **Play a script.** A prompt that begins with `@script` is played line by line, for instance:\\n\\n
say ```\\n@script\\nthink Let me see.\\npace 40\\nchunks words\\nsay One word after the other.\\n```\\n\\n
say To work with a real model, set a provider's key, such as `OPENAI_API_KEY`, `ANTHROPIC_API_KEY` or
say \\s`DEEPSEEK_API_KEY`, start the server again and choose a model of that provider.
"""

_TOUR: Final = """\
think A new visitor. I will say what they gave me, then show what happens behind the curtain.
say You wrote {quote}. I am a scripted demo, so I cannot think about it, but I can show you around.\\n\\n
say **1. Streaming.** These words arrive one by one. Each is a chunk, appended to the session's log before you
say \\ssee it.\\n\\n
say **2. Memory.** The log is the only truth: the conversation a model sees, the list of your sessions and this
say \\stranscript are all derived from it. Killing the server now would lose less than half a second of text.\\n\\n
say **3. Care.** With a real model, files are edited and commands run in a sandbox, and you are asked before
say \\sanything leaves it.\\n\\n
say Ask for **help** to see what else I can do.
"""

_SIDE: Final[Mapping[str, str]] = {
    "session-title": "say {title}",
    "compaction": "say The conversation so far, in short. The person wrote last: {quote}",
}


def demo(prompt: str) -> str:
    """Return the demo's answer: to a greeting, to a call for help, to anything else."""
    words = set(re.findall(r"[a-z]+", prompt.lower()))
    if words & {"help", "commands", "options"}:
        text = _HELP
    elif words & {"hello", "hi", "hey", "hallo", "welcome"}:
        text = _HELLO
    else:
        text = _TOUR.replace("{quote}", escape(_quote(prompt)))
    return f"pace 12\nchunks words\n{text}usage {len(prompt) // 4 + 600} {len(text) // 4}\n"


def echo(prompt: str) -> str:
    """Return a script that says the prompt again."""
    return f"say {escape(prompt) if prompt.strip() else '(an empty prompt)'}\n"


def slow(_prompt: str) -> str:
    """Return a script that takes its time, for whoever wants to cancel it."""
    lines = [f"say Line {n} of 60 comes slowly, so that there is time to press stop.\\n" for n in range(1, 61)]
    return "pace 120\nchunks words\n" + "\n".join(lines) + "\n"


SCRIPTS: Final[Mapping[str, Callable[[str], str]]] = {"demo": demo, "echo": echo, "slow": slow}
"""By model id: its script for a prompt."""


def side_script(purpose: str, prompt: str) -> str:
    """Return the script for a request beside the conversation: a title, a summary."""
    title = " ".join(prompt.split()[:6])[:60] or "Empty prompt"
    text = _SIDE.get(purpose, "say Done.")
    return text.replace("{title}", escape(title)).replace("{quote}", escape(_quote(prompt)))


def _quote(prompt: str) -> str:
    words = " ".join(prompt.split())
    return f"“{words if len(words) <= 60 else words[:59] + '…'}”" if words else "nothing"
