from __future__ import annotations

from acp_server.base.json_value import JsonValue
from acp_server.messages.request import CallConfig
from acp_server.session.model_choice import SELECTED, chosen_model, selected_data
from acp_server.session.request_header import EpochHeader
from tests.support.story import Story


def asked(story: Story, config: CallConfig) -> None:
    data: dict[str, JsonValue] = {"header": EpochHeader(config).to_json(), "reason": "change"}
    story.session.append("request/header", data)


def chosen(story: Story) -> CallConfig | None:
    return chosen_model(story.session.events.milestones())


def test_what_was_chosen_stands_before_where_requests_went() -> None:
    story = Story()
    assert chosen(story) is None
    story.begin()
    asked(story, CallConfig("p", "a", "high"))
    assert chosen(story) == CallConfig("p", "a", "high")
    for config in (CallConfig("p", "b", "low"), CallConfig("q", "org/c")):
        event = story.session.append(SELECTED, selected_data(config), ignorable=True)
        assert event.ignorable
        assert chosen(story) == config
    asked(story, CallConfig("p", "a"))
    assert chosen(story) == CallConfig("q", "org/c")
