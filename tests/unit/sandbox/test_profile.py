from __future__ import annotations

from acp_server.sandbox.bwrap import bwrap_argv
from acp_server.sandbox.facts import Host
from acp_server.sandbox.landlock import grants
from acp_server.sandbox.limits import RESOURCES, limited
from acp_server.sandbox.policy import Network, Policy
from acp_server.sandbox.profile import (
    Empties,
    Layout,
    Mount,
    Placeholder,
    effective_level,
    mounts,
    writable_places,
)

HOST = Host(home="/home/ada", user="ada", state="/home/ada/.st", own=("/home/ada/.st",), runtime="/run/user/1")
EMPTIES = Empties("/e/d", "/e/f")
WS = "/home/ada/p"
GIB = 1 << 30
RUN = 16 << 20
ROOT = Mount("ro", "/", "/")
BASE = [
    Mount("dev", "/dev"),
    Mount("proc", "/proc"),
    Mount("ro", "/proc/sys", "/proc/sys"),
    Mount("ro", "/proc/keys", "/dev/null"),
    Mount("tmpfs", "/tmp", size=GIB),
    Mount("tmpfs", "/run", size=RUN),
]
LAYOUT = Layout(
    secret_directories=("/home/ada/.ssh", "/home/ada/.st"),
    secret_files=("/home/ada/.netrc", f"{WS}/.env"),
    protected=(f"{WS}/.git/config", f"{WS}/.git/hooks"),
    missing=(Placeholder(f"{WS}/.vscode"), Placeholder(f"{WS}/.git/x", directory=False)),
    pins=(f"{WS}/.git",),
    proc=("/proc/sys", "/proc/keys"),
)


def made(policy: Policy, layout: Layout = LAYOUT) -> list[Mount]:
    found = list(mounts(policy, HOST, layout, EMPTIES))
    early = [Mount("ro", path, EMPTIES.file) for path in layout.secret_files if not path.startswith(WS)]
    assert found[: 1 + len(early) + len(BASE)] == [ROOT, *early, *BASE]
    return found[1 + len(early) + len(BASE) :]


def test_a_writable_workspace_with_its_protected_names_on_top() -> None:
    assert made(Policy("workspace-write", WS, roots=("/data",))) == [
        Mount("rw", "/data", "/data"),
        Mount("rw", WS, WS),
        Mount("rw", f"{WS}/.git", f"{WS}/.git"),
        Mount("ro", f"{WS}/.git/config", f"{WS}/.git/config"),
        Mount("ro", f"{WS}/.git/hooks", f"{WS}/.git/hooks"),
        Mount("ro", f"{WS}/.vscode", "/e/d"),
        Mount("ro", f"{WS}/.git/x", "/e/f"),
        Mount("ro", "/home/ada/.ssh", "/e/d"),
        Mount("ro", "/home/ada/.st", "/e/d"),
        Mount("ro", f"{WS}/.env", "/e/f"),
    ]


def test_a_read_only_workspace() -> None:
    bare = Layout(proc=LAYOUT.proc)
    assert made(Policy("read-only", WS), bare) == [Mount("ro", WS, WS)]


def test_a_workspace_in_a_secret_directory_is_mounted_into_its_emptiness() -> None:
    layout = Layout(secret_directories=("/home/ada/.mozilla",), proc=LAYOUT.proc)
    ws = "/home/ada/.mozilla/ext"
    assert made(Policy("workspace-write", ws), layout) == [
        Mount("tmpfs", "/home/ada/.mozilla", size=RUN),
        Mount("rw", ws, ws),
    ]


def test_an_allowed_secret_is_shown_in_an_otherwise_empty_directory() -> None:
    layout = Layout(
        secret_directories=("/home/ada/.ssh",), shown=("/home/ada/.ssh/config",), opened=("/srv/x",), proc=LAYOUT.proc
    )
    assert made(Policy("workspace-write", WS), layout) == [
        Mount("rw", WS, WS),
        Mount("tmpfs", "/home/ada/.ssh", size=RUN),
        Mount("ro", "/home/ada/.ssh/config", "/home/ada/.ssh/config"),
        Mount("rw", "/srv/x", "/srv/x"),
    ]


def test_a_place_that_is_no_project_is_read_only() -> None:
    home = Policy("workspace-write", "/home/ada", roots=("/etc",))
    assert (effective_level(home, HOST), writable_places(home, HOST)) == ("read-only", ())
    mixed = Policy("workspace-write", WS, roots=("/etc", "/srv/app"))
    assert writable_places(mixed, HOST) == (WS, "/srv/app")
    assert effective_level(Policy("full-access", "/"), HOST) == "full-access"


def test_mounts_are_spelled_for_bubblewrap() -> None:
    covered = (Mount("ro", f"{WS}/.git", "/e/directory"), Mount("ro", "/etc/shadow", "/e/file"))
    rows = (Mount("ro", "/", "/"), Mount("dev", "/dev"), Mount("tmpfs", "/tmp", size=5), Mount("rw", WS, WS), *covered)
    argv = bwrap_argv(rows, ("true",), WS, network=False, seccomp=7, status=8, gate=9, empty="/e/directory")
    assert argv == [
        *("/usr/bin/bwrap", "--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts"),
        *("--unshare-cgroup-try", "--die-with-parent", "--new-session", "--unshare-net"),
        *("--ro-bind", "/", "/", "--dev", "/dev", "--size", "5", "--tmpfs", "/tmp", "--bind", WS, WS),
        *("--perms", "0555", "--size", "4096", "--tmpfs", f"{WS}/.git", "--ro-bind", "/e/file", "/etc/shadow"),
        *("--cap-drop", "ALL", "--seccomp", "7", "--json-status-fd", "8", "--block-fd", "9"),
        *("--chdir", WS, "--", "true"),
    ]
    assert "--unshare-net" not in bwrap_argv(rows, ("true",), WS, network=True, seccomp=7, status=8, gate=9)


def test_grants_of_the_partial_box() -> None:
    policy = Policy("workspace-write", "/tmp/p", network=Network("off"))
    layout = Layout(secret_directories=("/home/ada/.ssh",), opened=("/srv/x",))
    assert grants(policy, HOST, layout, "/tmp/private") == {
        "write": ["/tmp/p", "/srv/x", "/tmp/private"],
        "hidden": ["/dev", "/home/ada/.ssh", "/run", "/run/user/1", "/tmp"],
        "shown": ["/tmp/p"],
    }


def test_a_command_limits_itself_first() -> None:
    script = (
        "{ ulimit -c 0; } 2>/dev/null; { ulimit -n 4096; } 2>/dev/null; { ulimit -f 4194304; } 2>/dev/null; "
        "{ echo 500 > /proc/self/oom_score_adj; } 2>/dev/null; "
    )
    many = "{ ulimit -u 512 || ulimit -p 512; } 2>/dev/null; "
    end = 'exec "$@"'
    assert limited(("a", "b c"), RESOURCES, superuser=True) == ("/bin/sh", "-c", script + end, "sh", "a", "b c")
    assert limited(("a",), RESOURCES, superuser=False) == ("/bin/sh", "-c", script + many + end, "sh", "a")
