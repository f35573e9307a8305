"""What the model of the story answers: each entry is named by words of the prompt that gets it."""

from __future__ import annotations

import time
from typing import Final

from tests.support import llm_wire
from tests.support.llm_script import Answer, Asked, Script
from tests.support.mock_llm import MockLlm
from tests.support.trace import Obj

LINES: Final = 5_000
USAGE: Final = {"input": 61_400, "output": 900}

FIX: Final[list[Answer]] = [
    {
        "reasoning": "The total looks too small. `total` adds prices; I should read it before I say anything about it.",
        "text": "I will look at how the total is made.",
        "tool": "read",
        "args": {"path": "src/invoice.py"},
        "chunks": 8,
        "delay_ms": 30,
    },
    {
        "text": (
            "Found it. The loop adds the **price** of each line and forgets its **amount**, so two pens cost as much as"
            " one:\n\n```python\nfor line in lines:\n    result += line.price  # once, whatever the amount\n```\n\n"
            "I will multiply them, and run the module once."
        ),
        "calls": [
            {
                "tool": "edit",
                "args": {
                    "path": "src/invoice.py",
                    "old_string": "        result += line.price\n",
                    "new_string": "        result += line.amount * line.price\n",
                },
            }
        ],
        "chunks": 30,
        "delay_ms": 20,
    },
    {
        "text": "",
        "tool": "bash",
        "args": {"command": "python3 -m compileall -q src && python3 -c \"print('total ok')\""},
    },
    {
        "text": (
            "The total counts amounts.\n\n| invoice | before | after |\n|---|---:|---:|\n"
            "| two pens at 1.50 | 1.50 | 3.00 |\n"
            "| one desk | 240.00 | 240.00 |\n\n- `total` multiplies amount and price\n- nothing else changed\n\n"
            "A test for an invoice with amounts above one would have caught this; say the word and I add it."
        ),
        "chunks": 40,
        "delay_ms": 15,
        "usage": USAGE,
    },
]
PLAN: Final[list[Answer]] = [
    {
        "text": "Three steps, then.",
        "tool": "todo",
        "args": {
            "todos": [
                {"content": "Add a test for amounts above one", "status": "completed"},
                {"content": "Round the tax once, on the total", "status": "in_progress"},
                {"content": "Run the tests", "status": "pending"},
            ]
        },
    },
    {"text": "I begin with the tax. " * 60, "chunks": 400, "delay_ms": 60},
]
SLOW: Final[list[Answer]] = [{"text": "A long story, told slowly. " * 80, "chunks": 400, "delay_ms": 60}]
LONG: Final[list[Answer]] = [
    {
        "text": "".join(
            f"{n}. line of a long answer with `code` and **weight**\n"
            if n % 50
            else f"\n## Part {n // 50}\n\n```python\n"
            + "".join(f"value_{i} = compute({i})  # {n}\n" for i in range(20))
            + "```\n\n"
            for n in range(1, LINES + 1 - 22 * (LINES // 50))
        ),
        "chunks": 1_200,
        "delay_ms": 4,
    }
]
TIMED: Final[list[Answer]] = [{"text": "sent {ms} by the model, and some more words", "chunks": 2, "times": 40}]
SHORT: Final[list[Answer]] = [
    {
        "text": "Two modules: `invoice` adds up lines, `tax` adds the tax.",
        "chunks": 6,
        "delay_ms": 20,
        "times": 20,
    }
]
FIXED: Final[list[Answer]] = [{"text": "A comma is missing between the two values."}]
UNSAVED: Final[list[Answer]] = [
    {"text": "", "tool": "read", "args": {"path": "src/tax.py"}},
    {"text": "Your last line is there, though it is not saved."},
]


class StoryModel(MockLlm):
    """Answers by the story; `{ms}` in a text becomes the wall clock's milliseconds at which it is sent."""

    def __init__(self) -> None:
        keyed = [
            ("total of an invoice", FIX),
            ("plan for the tax", PLAN),
            ("tell a long story", SLOW),
            ("lines of text", LONG),
            ("what time", TIMED),
            ("what is unsaved", UNSAVED),
            ("Fix this problem", FIXED),
            ("explain", SHORT),
            ("Explain", SHORT),
        ]
        super().__init__(Script(keyed=keyed, other={"text": "Invoices"}))

    def said(self, asked: Asked, answer: Obj, number: int) -> llm_wire.Said:
        text = str(answer.get("text", "")).replace("{ms}", str(time.time_ns() // 1_000_000))
        return super().said(asked, {**answer, "text": text}, number)
