"""The case runners judge right: a sound agent passes, each broken one is caught by the case named for its flaw."""

from __future__ import annotations

from tests.cases import selftest


def test_the_runners_pass_a_sound_agent_and_catch_each_flaw() -> None:
    assert selftest.main([]) == 0
