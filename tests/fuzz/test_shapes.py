"""Messages by the schema: each request is answered once. FUZZ_SHAPES says how many, FUZZ_SEED which."""

from __future__ import annotations

import json
import os

from tests.fuzz.lines import Known
from tests.fuzz.play import play
from tests.fuzz.shapes import Shapes, generate
from tests.support import extensions

COUNT = int(os.environ.get("FUZZ_SHAPES", "5000"))
SEED = int(os.environ.get("FUZZ_SEED", "20261202"))
KNOWN = Known("s", "/")


def test_a_seed_gives_the_same_messages_and_every_method_comes() -> None:
    lines = list(generate(1500, 7, KNOWN))
    assert lines == list(generate(1500, 7, KNOWN))
    methods = {json.loads(line.raw)["method"] for line in lines}
    shapes = Shapes()
    assert methods == set(shapes.requests) | set(shapes.notifications)
    assert set(extensions.methods()) <= methods
    assert len({line.ident for line in lines if line.ident}) == sum(line.ident is not None for line in lines)


def test_every_request_by_the_schema_is_answered_once() -> None:
    tally = play(COUNT, SEED, source=generate)
    assert tally.wrong == []
    assert tally.lines == COUNT
