from __future__ import annotations

import itertools
from collections.abc import Callable

from acp_server.tools.live_output import EVERY_SECONDS, KEPT, LiveOutput

SOON = EVERY_SECONDS / 4


class Timer:
    def __init__(self, call: Callable[[], None]) -> None:
        self.call, self.cancelled = call, False

    def cancel(self) -> None:
        self.cancelled = True


class Watch:
    """A clock with timers, and what was shown."""

    def __init__(self) -> None:
        self.time = 100.0
        self.shown: list[str] = []
        self.timers: list[tuple[float, Timer]] = []
        self.live = LiveOutput(self.shown.append, lambda: self.time, self.later)

    def later(self, seconds: float, call: Callable[[], None]) -> Timer:
        timer = Timer(call)
        self.timers.append((self.time + seconds, timer))
        return timer

    def pass_time(self, seconds: float) -> None:
        self.time += seconds
        due = [timer for at, timer in self.timers if at <= self.time + 1e-9]
        self.timers = [(at, timer) for at, timer in self.timers if at > self.time + 1e-9]
        for timer in due:
            if not timer.cancelled:
                timer.call()


def test_the_first_piece_is_shown_at_once() -> None:
    watch = Watch()
    watch.live("a")
    assert (watch.shown, watch.timers) == (["a"], [])


def test_what_comes_soon_after_is_shown_together_when_its_time_has_come() -> None:
    watch = Watch()
    for piece in "abc":
        watch.live(piece)
        watch.time += SOON
    assert (watch.shown, len(watch.timers)) == (["a"], 1)
    watch.pass_time(SOON)
    assert (watch.shown, watch.timers) == (["a", "abc"], [])


def test_no_two_showings_are_closer_than_the_limit() -> None:
    watch = Watch()
    moments: list[float] = []
    watch.live = LiveOutput(lambda _text: moments.append(watch.time), lambda: watch.time, watch.later)
    for _ in range(100):
        watch.live("x")
        watch.pass_time(SOON)
    gaps = [after - before for before, after in itertools.pairwise(moments)]
    assert (min(gaps) > EVERY_SECONDS - 1e-6, max(gaps) < EVERY_SECONDS + SOON + 1e-6) == (True, True)


def test_the_end_of_what_has_come_is_kept() -> None:
    watch = Watch()
    watch.live("a" * KEPT + "b")
    assert watch.shown == ["a" * (KEPT - 1) + "b"]
    watch.pass_time(EVERY_SECONDS)
    watch.live("c")
    assert watch.shown[1] == "a" * (KEPT - 2) + "bc"


def test_nothing_is_shown_for_nothing() -> None:
    watch = Watch()
    watch.live("")
    assert (watch.shown, watch.timers) == ([], [])


def test_nothing_is_shown_once_it_is_closed() -> None:
    watch = Watch()
    watch.live("a")
    watch.live("b")
    watch.live.close()
    watch.pass_time(1.0)
    assert watch.shown == ["a"]
    watch.live.close()
