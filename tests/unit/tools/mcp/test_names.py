"""Names of tools as a model calls them (docs/mcp.md, clauses N-1 to N-4)."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from acp_server.tools.mcp.names import server_keys, server_labels, tool_names

NAMES = st.lists(st.text(max_size=80), min_size=1, max_size=8)


def test_servers_of_one_name_are_told_apart() -> None:
    assert server_labels(("git", "git", "hub", "git", "git (2)")) == ("git", "git (2)", "hub", "git (3)", "git (2) (2)")


def test_a_plain_name_stays_as_it_is() -> None:
    assert server_keys(("git-hub",)) == ("git-hub",)
    assert tool_names("git-hub", ("search", "get_issue")) == {
        "search": "mcp__git-hub__search",
        "get_issue": "mcp__git-hub__get_issue",
    }


def test_names_that_would_be_the_same_end_with_digests_whatever_their_order() -> None:
    there = tool_names("s", ("a.b", "a b", "c"))
    back = tool_names("s", ("c", "a b", "a.b"))
    assert there == back
    assert there["c"] == "mcp__s__c"
    assert all(re.fullmatch(r"mcp__s__a_b_[0-9a-f]{12}", there[name]) for name in ("a.b", "a b"))
    assert there["a.b"] != there["a b"]


@given(NAMES, NAMES)
def test_whatever_the_names_each_is_unique_and_every_provider_takes_it(servers: list[str], tools: list[str]) -> None:
    keys = server_keys(server_labels(servers))
    assert len(set(keys)) == len(servers)
    names = [name for key in keys for name in tool_names(key, list(dict.fromkeys(tools))).values()]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in names)
