"""Rules that several predicates share: words filled in, texts, and JSON values that hold at least so much."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from tests.cases.steps import Run
from tests.support.trace import Obj

SHORT = 90
TEXT_RULES = ("equals", "has", "has_any", "lacks", "in_order")


def fill(run: Run, text: str) -> str:
    """Return the text with `@PROMPT:ID@`, the paths and the saved names filled in."""

    def prompt(found: re.Match[str]) -> str:
        return run.trace.prompt_text(json.loads(found[1]))

    text = re.sub(r"@PROMPT:([^@]+)@", prompt, run.place.fill(text))
    for name, value in run.saved.items():
        text = text.replace(f"@{name}@", value)
    return text


def fill_all(run: Run, words: Iterable[str]) -> list[str]:
    return [fill(run, word) for word in words]


def subset(want: object, got: object) -> bool:
    """Return whether every wanted key is there and fits; "@any" fits everything, all else has to be equal."""
    if want == "@any":
        return True
    if isinstance(want, dict):
        return isinstance(got, dict) and all(key in got and subset(value, got[key]) for key, value in want.items())
    return type(want) is type(got) and want == got


def text_rules(run: Run, rules: Obj, text: str, where: str) -> list[str]:
    """Return which of TEXT_RULES the text breaks."""
    wrong = []
    if "equals" in rules and fill(run, rules["equals"]) != text:
        wrong.append(f"{where} is {short(text)}, not {short(fill(run, rules['equals']))}")
    wrong += [f"{where} lacks {short(w)}" for w in fill_all(run, rules.get("has", [])) if w not in text]
    wrong += [f"{where} has {short(w)}" for w in fill_all(run, rules.get("lacks", [])) if w in text]
    any_of = rules.get("has_any")
    if any_of and not any(w.lower() in text.lower() for w in fill_all(run, any_of)):
        wrong.append(f"{where} has none of {any_of}: {short(text)}")
    return wrong + _in_order(fill_all(run, rules.get("in_order", [])), text, where)


def _in_order(words: list[str], text: str, where: str) -> list[str]:
    at = 0
    for word in words:
        found = text.find(word, at)
        if found < 0:
            return [f"{where}: {short(word)} does not come in its order"]
        at = found + len(word)
    return []


def short(text: str) -> str:
    return repr(text if len(text) < SHORT else f"{text[:60]}… ({len(text)} characters)")
