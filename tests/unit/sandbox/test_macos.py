from __future__ import annotations

import re

import pytest

from acp_server.sandbox.facts import Host
from acp_server.sandbox.lists import HOME_SECRETS, PROTECTED
from acp_server.sandbox.macos import macos_profile
from acp_server.sandbox.policy import Network, Policy

HOST = Host(home="/Users/ada", user="ada", state="/Users/ada/st", own=("/Users/ada/st",))
WS = "/Users/ada/p"


def rules(policy: Policy) -> list[str]:
    return macos_profile(policy, HOST, "/private/tmp/x").splitlines()


def test_the_order_of_a_writable_workspace() -> None:
    lines = rules(Policy("workspace-write", WS))
    kinds = [line.split(" (")[0] for line in lines]
    assert lines[:3] == ["(version 1)", "(allow default)", "(deny file-write*)"]
    workspace = lines.index(f'(allow file-write* (subpath "{WS}"))')
    assert workspace < min(index for index, line in enumerate(lines) if ".[gG][iI][tT]/[hH]" in line)
    assert kinds.count("(deny file-write*") == 16 + 8
    assert kinds.count("(deny file-read* file-write*") == len(HOME_SECRETS) + 1
    assert lines[-4:] == [
        "(deny network*)",
        '(allow network* (local ip "localhost:*"))',
        "(deny process-info* (target others))",
        "(deny signal (target others))",
    ]


@pytest.mark.parametrize("name", PROTECTED[1:])
def test_a_protected_name_is_denied_in_either_case(name: str) -> None:
    patterns = [re.search(r'#"(.*)"\)\)$', line) for line in rules(Policy("workspace-write", WS)) if "regex" in line]
    expressions = [found[1] for found in patterns if found]
    for path in (f"{WS}/{name}", f"{WS}/{name.upper()}", f"{WS}/{name}/deep"):
        assert any(re.search(expression, path) for expression in expressions)
    assert not any(re.search(expression, f"{WS}/{name}x") for expression in expressions)


def test_levels_and_network() -> None:
    assert [line for line in rules(Policy("read-only", WS)) if line.startswith("(allow file-write* (subpath")] == [
        '(allow file-write* (subpath "/private/tmp/x"))'
    ]
    assert not [line for line in rules(Policy("workspace-write", WS, network=Network("on"))) if "deny network" in line]


def test_paths_are_quoted() -> None:
    policy = Policy("workspace-write", '/Users/ada/a"b\\c', allowed_paths=('/x"y',))
    lines = rules(policy)
    assert '(allow file-write* (subpath "/Users/ada/a\\"b\\\\c"))' in lines
    assert '(allow file-read* (subpath "/x\\"y"))' in lines


def test_what_is_denied_comes_behind_what_is_allowed() -> None:
    lines = rules(Policy("workspace-write", WS, allowed_paths=(f"{WS}/a",), denied=(f"{WS}/a",)))
    assert lines.index(f'(deny file-write* (subpath "{WS}/a"))') > lines.index(
        f'(allow file-write* (subpath "{WS}/a"))'
    )
