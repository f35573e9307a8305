"""The system text: sections in their order, and variables in those that are templates."""

from __future__ import annotations

import pytest

from acp_server.agent.system_prompt import VARIABLES, Section, Variable, render_system
from acp_server.base.errors import ServerError

NAMES = (*VARIABLES, Variable("team", lambda _cwd: "blue"), Variable("nothing", lambda _cwd: None))


def template(words: str, order: int = 0) -> Section:
    return Section(words, order, lambda _cwd: words, template=True)


def test_sections_stand_by_their_order_and_then_as_they_came() -> None:
    plain = [Section(name, order, lambda _cwd, name=name: name) for name, order in (("c", 1), ("a", -1), ("d", 1))]  # type: ignore[misc]  # the default binds the round
    empty = Section("e", 0, lambda _cwd: None)
    assert render_system([*plain, empty], "/w") == "a\n\nc\n\nd"


def test_a_template_has_variables_and_plain_text_has_none() -> None:
    plain = Section("plain", 1, lambda _cwd: "{{team}}")
    assert render_system([template("{{team}} in {{  cwd }}{{cwd}}"), plain], "/w", NAMES) == "blue in /w/w\n\n{{team}}"
    for words in ("{{ user.name }}", "{{Team}}", "{team}", "}} {{", "{{}}", "{{1}}"):
        assert render_system([template(words)], "/w", NAMES) == words


def test_what_a_value_holds_is_no_template() -> None:
    assert render_system([template("{{cwd}}")], "/{{team}}", NAMES) == "/{{team}}"


@pytest.mark.parametrize(("words", "cwd"), [("{{other}}", "/w"), ("{{nothing}}", "/w"), ("{{cwd}}", None)])
def test_a_name_without_a_value_is_told(words: str, cwd: str | None) -> None:
    with pytest.raises(ServerError) as told:
        render_system([template(words)], cwd, NAMES)
    assert told.value.code == "UNKNOWN_VARIABLE"
    assert told.value.message == f"The system text names {words}; there are: cwd, nothing, team."
