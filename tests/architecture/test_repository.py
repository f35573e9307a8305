"""Tracked files: no address that they may not name, no path of one machine, documents that hold together."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.architecture.graph import ROOT
from tests.architecture.rules import CEILINGS, CEILINGS_BY_FOLDER, HOSTS

URL = re.compile(r"https?://(?:[^/@\s\"'<>]*@)?(\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]+)")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
NAMED_DOCUMENT = re.compile(r"\bdocs/[a-z0-9/-]+\.md\b")
CITATION = re.compile(r"\b(docs/[a-z0-9/-]+\.md),?\s+clauses?\s+((?:[A-Z]{1,3}-\d+(?:,\s+|\s+to\s+|\s+and\s+)?)+)")
CLAUSE = re.compile(r"\b([A-Z]{1,3})-(\d+)(?:\s+to\s+[A-Z]{1,3}-(\d+))?")
SUMMARISED = (
    "acp/",
    "agent/",
    "app/",
    "cli/",
    "compaction/",
    "llm/adapters/",
    "llm/scripted/",
    "persistence/",
    "sandbox/",
    "tools/",
)
OWN = Path(__file__).relative_to(ROOT).as_posix()
RESERVED = (".example", ".invalid", ".test", ".localhost", "example.com", "example.org", "example.net")


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    names = [name for name in listed.decode().split("\0") if name]
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def texts() -> dict[str, str]:
    found = {}
    for path in tracked():
        try:
            found[path.relative_to(ROOT).as_posix()] = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
    return found


TEXTS = texts()
DOCUMENTS = {name: text for name, text in TEXTS.items() if name.endswith(".md") and not name.startswith("tests/")}
SOURCES = {name: text for name, text in TEXTS.items() if name.endswith(".py") and name != OWN}


def foreign_hosts(text: str) -> list[str]:
    named = {host.rstrip(".").lower() for host in URL.findall(text)}
    return sorted(host for host in named if host and host not in HOSTS and not host.endswith(RESERVED) and "." in host)


def slug(heading: str) -> str:
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower().replace("`", ""))
    return kept.replace(" ", "-")


def anchors(text: str) -> set[str]:
    return {slug(line.lstrip("#")) for line in text.splitlines() if line.startswith("#")}


def broken_links(name: str, text: str) -> list[str]:
    broken = []
    for target in LINK.findall(text):
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        place = (ROOT / name).parent / path if path else ROOT / name
        if not place.exists() or (anchor and anchor not in anchors(place.read_text("utf-8"))):
            broken.append(target)
    return broken


def clauses(text: str) -> set[tuple[str, int]]:
    """Clauses that a document states; a range states each of them."""
    found = set()
    for letters, first, last in CLAUSE.findall(text):
        found |= {(letters, number) for number in range(int(first), int(last or first) + 1)}
    return found


def cited_clauses(text: str) -> set[tuple[str, int]]:
    """Clauses that have to exist for a citation to hold; of a range its ends."""
    return {(letters, int(end)) for letters, *ends in CLAUSE.findall(text) for end in ends if end}


def ceiling(name: str) -> int | None:
    if name in CEILINGS:
        return CEILINGS[name]
    return next((limit for folder, limit in CEILINGS_BY_FOLDER.items() if name.startswith(f"{folder}/")), None)


def test_no_tracked_file_names_a_foreign_host() -> None:
    named = {name: hosts for name, text in TEXTS.items() if (hosts := foreign_hosts(text))}
    assert named == {}


def test_no_tracked_file_names_a_path_of_this_machine() -> None:
    of_all_machines = {Path("/"), Path("/tmp"), Path("/root"), Path("/home")}
    places = [re.escape(f"{place}/") for place in {ROOT, ROOT.parent, Path.home()} - of_all_machines]
    named = re.compile(rf"(?<![\w./}}\]-])(?:{'|'.join(places)})")
    plain = {name: text for name, text in TEXTS.items() if not name.startswith("tests/cases/")}
    assert [name for name, text in plain.items() if named.search(text)] == []


def test_no_lock_file_is_tracked() -> None:
    names = {Path(name).name for name in TEXTS}
    assert names & {"package-lock.json", "uv.lock", "poetry.lock", "yarn.lock", "pnpm-lock.yaml"} == set()


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_a_document_holds_together(name: str) -> None:
    text = DOCUMENTS[name]
    assert broken_links(name, text) == []
    limit = ceiling(name)
    assert limit is None or text.count("\n") <= limit


def test_every_document_that_code_cites_exists() -> None:
    cited = {(name, document) for name, text in SOURCES.items() for document in NAMED_DOCUMENT.findall(text)}
    assert sorted(pair for pair in cited if not (ROOT / pair[1]).is_file()) == []


def named_modules(text: str) -> set[str]:
    """Files of the package that a document names by path, in backticks or as rows of its tree."""
    return set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", text)) | tree_rows(text)


def tree_rows(text: str) -> set[str]:
    rows, folders = set(), [""]
    tree = text.partition("\nacp_server/\n")[2].partition("```")[0]
    for line in tree.splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        words = line.split()
        if depth == 0 or not words:
            break
        folders = [*folders[:depth], words[0] if words[0].endswith("/") else ""]
        rows |= {"".join(folders[:depth]) + word for word in words if word.endswith(".py")}
    return rows


def test_documents_name_modules_that_exist() -> None:
    named = {(name, module) for name, text in DOCUMENTS.items() for module in named_modules(text)}
    places = (ROOT / "acp_server", ROOT)
    assert sorted(pair for pair in named if not any((place / pair[1]).is_file() for place in places)) == []


def test_the_tree_names_every_module_of_what_it_tells_in_full() -> None:
    modules = {path.relative_to(ROOT / "acp_server").as_posix() for path in (ROOT / "acp_server").rglob("*.py")}
    told = {module for module in modules if module.startswith(SUMMARISED) or module.endswith("__init__.py")}
    assert sorted(modules - told - tree_rows(DOCUMENTS["docs/architecture.md"])) == []


def test_every_clause_that_code_cites_exists() -> None:
    stated = {name: clauses(text) for name, text in DOCUMENTS.items()}
    stated["docs/protocol.md"] = set().union(*(stated[name] for name in stated if name.startswith("docs/protocol/")))
    missing = {
        (name, document, f"{letters}-{number}")
        for name, text in SOURCES.items()
        for document, cited in CITATION.findall(text)
        for letters, number in cited_clauses(cited) - stated.get(document, set())
    }
    assert sorted(missing) == []


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        (f"https://packages.{'somewhere.dev'}/simple", ["packages.somewhere.dev"]),
        (f"http://user:secret@mirror.{'elsewhere.io'}:8080/x", ["mirror.elsewhere.io"]),
        ("http://127.0.0.1:9/ https://models.example/v1", []),
    ],
)
def test_a_foreign_host_is_caught(text: str, hosts: list[str]) -> None:
    assert foreign_hosts(text) == hosts


def test_clauses_are_read_singly_and_in_ranges() -> None:
    assert clauses("**A-01** A-05 to A-07, L-JSON") == {("A", 1), ("A", 5), ("A", 6), ("A", 7)}
    assert cited_clauses("A-1, A-5 to A-7") == {("A", 1), ("A", 5), ("A", 7)}
    assert CITATION.findall("see docs/x.md, clauses A-1 to A-3 and B-2.") == [("docs/x.md", "A-1 to A-3 and B-2")]


def test_a_broken_link_is_caught() -> None:
    text = "[here](README.md) [gone](docs/gone.md) [far](https://a.example) [no](README.md#no-such-part)"
    assert broken_links("LICENSE", text) == ["docs/gone.md", "README.md#no-such-part"]
