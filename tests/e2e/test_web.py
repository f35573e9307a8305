"""`fetch` over real pipes: who is asked, for how long a yes holds, and what is refused (docs/web.md)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.stage import Stage
from tests.e2e.test_tools import Play, call, choosing
from tests.support.mock_llm import MockLlm

METADATA = "169.254.169.254"


@pytest.fixture
def play(stage: Stage) -> Iterator[Play]:
    with MockLlm() as mock:
        yield Play(stage, mock)


def test_a_fetch_is_asked_by_host_and_an_inner_address_never_is_one(play: Play) -> None:
    play.person(choosing("allow-session"))
    inner = call("fetch", url=f"http://{METADATA}/latest/meta-data/")
    play.run(inner, call("fetch", url="https://nowhere.invalid/a"), call("fetch", url="https://nowhere.invalid/b"))
    first, second, third = play.results()
    assert "addresses by numbers are not fetched" in first
    assert "nowhere.invalid is not known" in second
    assert "nowhere.invalid is not known" in third
    (question,) = play.client.questions
    assert "nowhere.invalid" in str(question["params"])
    assert any("nowhere.invalid" in option["name"] for option in question["params"]["options"])
    assert "web_search" not in play.mock.asked[-1].tools
