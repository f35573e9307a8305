"""The program is run by a small interpreter, call by call, for both machines."""

from __future__ import annotations

import errno
import struct

import pytest

from acp_server.base.errors import ServerError
from acp_server.sandbox.seccomp import ABSENT, DENIED, MACHINES, Sockets, seccomp_program

ALLOW, KILL, EPERM, ENOSYS = 0x7FFF0000, 0x80000000, 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS
AUDIT_I386 = 0x40000003


def verdict(machine: str, number: int, *arguments: int, audit: int | None = None, sockets: Sockets = "any") -> int:
    audit = MACHINES[machine].audit if audit is None else audit
    data = struct.pack("<iIQ6Q", number, audit, 0, *(list(arguments) + [0] * 6)[:6])
    program = seccomp_program(machine, sockets)
    at = accumulator = 0
    while True:
        code, then, otherwise, constant = struct.unpack_from("<HBBI", program, at * 8)
        at += 1
        if code == 0x20:
            accumulator = struct.unpack_from("<I", data, constant)[0]
        elif code == 0x06:
            return int(constant)
        else:
            holds = {0x15: accumulator == constant, 0x35: accumulator >= constant, 0x45: bool(accumulator & constant)}
            at += then if holds[code] else otherwise


@pytest.mark.parametrize("machine", sorted(MACHINES))
def test_what_is_named_is_refused(machine: str) -> None:
    numbers = MACHINES[machine].numbers
    denied = {name: verdict(machine, numbers[name]) for name in DENIED if name in numbers}
    assert denied == dict.fromkeys(denied, EPERM)
    assert {name: verdict(machine, numbers[name]) for name in ABSENT} == dict.fromkeys(ABSENT, ENOSYS)


@pytest.mark.parametrize("machine", sorted(MACHINES))
def test_every_other_call_is_allowed(machine: str) -> None:
    special = {"clone", "ioctl", "socket", "socketpair"}
    named = {number for name, number in MACHINES[machine].numbers.items() if name not in special}
    assert {verdict(machine, number) for number in range(470) if number not in named} == {ALLOW}


def test_only_the_calls_of_one_machine_are_missing_from_a_table() -> None:
    assert [name for name in DENIED if name not in MACHINES["x86_64"].numbers] == []
    assert [name for name in DENIED if name not in MACHINES["aarch64"].numbers] == ["iopl", "ioperm"]


def test_another_table_of_calls_ends_the_process() -> None:
    assert verdict("x86_64", 20, audit=AUDIT_I386) == KILL
    assert verdict("aarch64", 20, audit=MACHINES["x86_64"].audit) == KILL


def test_x32_calls_do_not_exist() -> None:
    assert verdict("x86_64", 0x40000000 | 1) == ENOSYS


@pytest.mark.parametrize("machine", sorted(MACHINES))
def test_a_terminal_is_not_fed_and_other_controls_work(machine: str) -> None:
    ioctl = MACHINES[machine].numbers["ioctl"]
    assert [verdict(machine, ioctl, 0, request) for request in (0x5412, 0x541C, 0x5413)] == [EPERM, EPERM, ALLOW]


@pytest.mark.parametrize("machine", sorted(MACHINES))
def test_processes_are_made_and_user_namespaces_are_not(machine: str) -> None:
    clone = MACHINES[machine].numbers["clone"]
    assert [verdict(machine, clone, flags) for flags in (17, 0x10000000 | 17)] == [ALLOW, EPERM]


@pytest.mark.parametrize("machine", sorted(MACHINES))
def test_families_of_sockets(machine: str) -> None:
    numbers = MACHINES[machine].numbers
    for call in ("socket", "socketpair"):
        families = [verdict(machine, numbers[call], family, sockets="unix") for family in (1, 2, 10, 16, 17)]
        assert families == [ALLOW, EPERM, EPERM, EPERM, EPERM]
        assert verdict(machine, numbers[call], 2, sockets="any") == ALLOW


def test_an_unknown_machine_has_no_program() -> None:
    with pytest.raises(ServerError) as refused:
        seccomp_program("sparc64")
    assert refused.value.code == "NO_SECCOMP_TABLE"
