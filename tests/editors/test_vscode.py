"""The extension for VS Code as far as it goes without the editor: its types, its units, its bundle, its seams."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from tests.support import node
from tests.support.trace import Obj

SOURCES = {path.relative_to(node.VSCODE / "src").as_posix(): path for path in (node.VSCODE / "src").rglob("*.ts")}
IMPORT = re.compile(r"""from ['"]([^'"]+)['"]""")


def run(*command: str) -> str:
    node.modules(node.VSCODE)
    done = subprocess.run(
        [str(node.program("node")), *command],
        cwd=node.VSCODE,
        env=node.environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def imports(text: str) -> list[str]:
    return IMPORT.findall(text)


@pytest.mark.parametrize("project", [".", "src/ui/webview"])
def test_the_types_hold(project: str) -> None:
    run("node_modules/typescript/bin/tsc", "--noEmit", "-p", project)


def test_the_units_pass() -> None:
    told = run("--test", "--test-reporter=tap", "test/*.test.ts")
    counts = dict(re.findall(r"^# (pass|fail|skipped) (\d+)$", told, re.MULTILINE))
    assert (int(counts["pass"]) > 30, counts["fail"], counts["skipped"]) == (True, "0", "0")


def test_the_bundle_is_built_and_small() -> None:
    run("build.mjs")
    sizes = {name: (node.VSCODE / "dist" / name).stat().st_size for name in ("extension.cjs", "chat.js", "style.css")}
    assert all(0 < size < 600_000 for size in sizes.values()), sizes


def test_no_source_has_more_than_300_lines() -> None:
    sources = [*SOURCES.values(), *(node.VSCODE / "test").glob("*.ts"), *(node.VSCODE / "src").rglob("*.css")]
    assert len(sources) > 50
    assert {path.name: count for path in sources if (count := path.read_bytes().count(b"\n")) > 300} == {}


@pytest.mark.parametrize(
    ("seam", "forbidden"),
    [
        ("process/", r"^vscode$|/rpc/|/session/|/ui/|agentclientprotocol"),
        ("rpc/", r"^vscode$|/process/|/session/|/ui/"),
        ("session/", r"^vscode$|/process/|/ui/|agentclientprotocol"),
        ("ui/shared/", r"^vscode$|/process/|/rpc/|agentclientprotocol"),
        ("ui/webview/", r"^vscode$|/process/|/rpc/|agentclientprotocol|^node:"),
        ("ui/host/", r"agentclientprotocol|/webview/"),
    ],
)
def test_the_seams_hold(seam: str, forbidden: str) -> None:
    mine = {name: imports(path.read_text("utf-8")) for name, path in SOURCES.items() if name.startswith(seam)}
    assert mine
    assert {name: bad for name, found in mine.items() if (bad := [i for i in found if re.search(forbidden, i)])} == {}


def test_what_the_manifest_names_is_there() -> None:
    manifest: Obj = json.loads((node.VSCODE / "package.json").read_text("utf-8"))
    points = manifest["contributes"]
    registered = set(re.findall(r"^    (\w+): ", SOURCES["ui/host/commands.ts"].read_text("utf-8"), re.MULTILINE))
    assert {entry["command"] for entry in points["commands"]} == {f"acpServer.{name}" for name in registered}
    read = set(re.findall(r"get(?:<[^(]*>)?\('(\w+)'", SOURCES["ui/host/settings.ts"].read_text("utf-8")))
    assert {name.removeprefix("acpServer.") for name in points["configuration"]["properties"]} == read
    steps = [step["media"]["markdown"] for step in points["walkthroughs"][0]["steps"]]
    assert [name for name in [*steps, manifest["icon"]] if not (node.VSCODE / name).is_file()] == []


def test_packages_are_named_by_version_alone() -> None:
    manifest: Obj = json.loads((node.VSCODE / "package.json").read_text("utf-8"))
    versions = {**manifest["devDependencies"], **manifest.get("dependencies", {})}
    assert {name: at for name, at in versions.items() if not re.fullmatch(r"\d+\.\d+\.\d+", at)} == {}
    assert "omit-lockfile-registry-resolved=true" in (node.VSCODE / ".npmrc").read_text("utf-8").splitlines()
