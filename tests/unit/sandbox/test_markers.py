from __future__ import annotations

import pytest

from acp_server.sandbox.markers import advice, denials, marker


def told(text: str, *, partial: bool = False, network: bool = False, held: tuple[str, ...] = ()) -> tuple[str, ...]:
    return denials(text, "workspace-write", "/ws", partial=partial, network=network, held=held)


def write(path: str) -> str:
    return f"[sandbox: write denied under workspace-write: {path}]"


def test_a_marker_names_level_and_path() -> None:
    assert marker("read", "read-only", "/x") == "[sandbox: read denied under read-only: /x]"
    assert marker("network", "workspace-write") == "[sandbox: network denied under workspace-write]"
    assert advice("network") == (
        "Only the person's approval of network access for this call would help; trying again without it is pointless."
    )


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("touch: cannot touch '/etc/x': Read-only file system", "/etc/x"),
        ("mkdir: cannot create directory \u2018/opt/a\u2019: Read-only file system", "/opt/a"),
        ("/bin/bash: line 1: .vscode/x: Read-only file system", "/ws/.vscode/x"),
        ("bash: line 3: out: Read-only file system", "/ws/out"),
        ("OSError: [Errno 30] Read-only file system: '/usr/lib/y'", "/usr/lib/y"),
        ("Error: EROFS: read-only file system, open '/etc/z'", "/etc/z"),
        ("error: could not lock config file .git/config: Read-only file system", "/ws/.git/config"),
        ("mv: cannot move '.git' to 'x': Device or resource busy", "/ws/x"),
        ("cp: cannot create regular file '../up': Read-only file system", "/up"),
    ],
)
def test_the_path_of_a_denial_is_found_in_the_message(line: str, path: str) -> None:
    assert told(f"before\n{line}\nafter") == (write(path),)


@pytest.mark.parametrize(
    "line", ["curl: (6) Could not resolve host: x.test", "OSError: [Errno 101] Network is unreachable", "EAI_AGAIN x"]
)
def test_a_missing_network_is_told_unless_there_is_one(line: str) -> None:
    assert told(line) == ("[sandbox: network denied under workspace-write]",)
    assert told(line, network=True) == ()


def test_missing_rights_are_denials_of_the_partial_box_only() -> None:
    line = "touch: cannot touch '/etc/x': Permission denied"
    assert [told(line), told(line, partial=True)] == [(), (write("/etc/x"),)]
    assert told("PermissionError: [Errno 1] Operation not permitted", partial=True) == ()


def test_a_name_that_is_held_is_a_denial() -> None:
    line = "mkdir: cannot create directory \u2018.vscode\u2019: File exists"
    assert [told(line), told(line, held=("/ws/.vscode",)), told(line, held=("/ws/.idea",))] == [
        (),
        (write("/ws/.vscode"),),
        (),
    ]


def test_what_lies_below_a_held_name_is_denied_under_that_name() -> None:
    line = "touch: cannot touch '.git/config': Permission denied"
    assert [told(line), told(line, held=("/ws/.git",)), told(line, held=("/ws/.g",))] == [(), (write("/ws/.git"),), ()]


def test_each_denial_is_told_once_and_not_too_many() -> None:
    text = "".join(f"touch: cannot touch '/etc/{n % 9}': Read-only file system\n" for n in range(50))
    assert told(text) == tuple(write(f"/etc/{n}") for n in range(5))
