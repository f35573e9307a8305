"""Mutated lines: the server stays alive and answers what is sound. FUZZ_LINES says how many, FUZZ_SEED which."""

from __future__ import annotations

import os
import shlex
import sys

from tests.fuzz.lines import Known, generate
from tests.fuzz.play import play
from tests.support.launch import REPOSITORY

COUNT = int(os.environ.get("FUZZ_LINES", "5000"))
SEED = int(os.environ.get("FUZZ_SEED", "20261201"))
KNOWN = Known("s", "/")


def test_a_seed_gives_the_same_lines() -> None:
    assert list(generate(300, 7, KNOWN)) == list(generate(300, 7, KNOWN))
    assert list(generate(300, 7, KNOWN)) != list(generate(300, 8, KNOWN))


def test_no_line_holds_a_line_feed_and_sound_ids_are_unique() -> None:
    lines = list(generate(2000, 3, KNOWN))
    idents = [line.ident for line in lines if line.ident is not None]
    assert not any(b"\n" in line.raw for line in lines)
    assert 300 < len(idents) == len(set(idents))


def test_an_agent_that_dies_of_a_line_is_noticed() -> None:
    fragile = f"/usr/bin/env OPENAI_API_KEY=none PYTHONPATH={REPOSITORY} {sys.executable} -m tests.cases.refagent"
    tally = play(250, SEED, shlex.split(f"{fragile} --break array"))
    assert tally.wrong
    assert "exit code 3" in tally.wrong[0]


def test_the_server_survives_mutated_lines_and_answers_what_is_sound() -> None:
    tally = play(COUNT, SEED)
    assert tally.wrong == []
    assert tally.lines == COUNT
