"""The test command counts honestly, misses no test, and CI runs what README says."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.__main__ import environment, main, perform
from tests.architecture.graph import ROOT
from tests.stages import STAGES, Stage, Tally, count_cases, count_one, count_pytest


@pytest.mark.parametrize(
    ("status", "output", "tally"),
    [
        (0, "28 passed in 0.60s", Tally(28)),
        (1, "= 1 failed, 2 passed, 3 skipped, 4 errors in 1.00s =", Tally(2, 5, 3)),
        (0, "1 passed, 2 xfailed, 1 warning in 61.00s (0:01:01)", Tally(1, 0, 2)),
        (5, "no tests ran in 0.01s", Tally(0, 1)),
        (3, "INTERNALERROR", Tally(0, 1)),
        (0, "7 skipped in 0.60s", Tally(0, 1, 7)),
    ],
)
def test_pytest_is_counted_by_its_closing_line(status: int, output: str, tally: Tally) -> None:
    assert count_pytest(status, output) == tally


@pytest.mark.parametrize(
    ("status", "output", "tally"),
    [
        (0, "R001 pass\nR002 skip: needs log\n2 cases\n", Tally(1, 0, 1)),
        (0, "E001 skip: needs edit_file\n", Tally(0, 0, 1)),
        (1, "R001 pass\nR002 fail: no answer\n", Tally(1, 1)),
        (1, "R001 skip: needs log\nTraceback", Tally(0, 1, 1)),
        (2, "R001 pass\nTraceback", Tally(1, 1)),
        (0, "", Tally(0, 1)),
    ],
)
def test_cases_are_counted_by_their_lines(status: int, output: str, tally: Tally) -> None:
    assert count_cases(status, output) == tally


def test_a_plain_command_is_one_check() -> None:
    assert (count_one(0, "x"), count_one(1, "x")) == (Tally(1), Tally(0, 1))


def test_a_stage_without_its_files_fails(capsys: pytest.CaptureFixture[str]) -> None:
    stage = Stage("lost", (sys.executable, "-c", "pass"), count_one, ("tests/no-such-folder",))
    assert perform(stage) == Tally(0, 1)
    assert "there is no tests/no-such-folder" in capsys.readouterr().out


def test_a_failed_stage_shows_its_output(capsys: pytest.CaptureFixture[str]) -> None:
    stage = Stage("bad", (sys.executable, "-c", "print('the reason'); raise SystemExit(3)"), count_one)
    assert perform(stage) == Tally(0, 1)
    assert "the reason" in capsys.readouterr().out


def test_a_late_stage_is_stopped(capsys: pytest.CaptureFixture[str]) -> None:
    stage = Stage("late", (sys.executable, "-c", "input() if 0 else __import__('time').sleep(60)"), count_one, (), 1)
    assert perform(stage) == Tally(0, 1)
    assert "stopped after 1 s" in capsys.readouterr().out


def test_stages_run_with_named_plugins_and_our_commands_first() -> None:
    made = environment({"PATH": "/bin"})
    assert made["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] == "1"
    assert made["PATH"].endswith(":/bin")


def test_the_list_names_every_stage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    printed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert printed == [stage.name for stage in STAGES]


def test_every_test_file_belongs_to_one_stage() -> None:
    places = [place for stage in STAGES if stage.count is count_pytest for place in stage.needs]
    files = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")}
    files = {name for name in files if not name.startswith("tests/long/")}  # run by name only, see docs/testing.md
    in_folders = {name: [place for place in places if name.startswith(f"{place}/")] for name in files - set(places)}
    assert {name: found for name, found in in_folders.items() if len(found) != 1} == {}


def test_ci_runs_the_commands_of_readme_and_no_others() -> None:
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    readme = (ROOT / "README.md").read_text("utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    said = {line.strip() for block in blocks for line in block.splitlines()}
    run = [line.strip() for line in script.splitlines() if "/bin/" in line and not line.startswith("#")]
    assert run
    assert [line for line in run if line not in said] == []


def test_ci_is_a_sound_script() -> None:
    done = subprocess.run(["bash", "-n", ".ci/run"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
