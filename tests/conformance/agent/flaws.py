"""The ways in which the agent can be made wrong, and the clause that each of them breaks."""

from __future__ import annotations

FLAWS: dict[str, str] = {
    "banner": "T-04",
    "lingers": "T-10",
    "splits-anywhere": "T-21",
    "short-lines": "T-22",
    "silent-on-garbage": "T-40",
    "serves-arrays": "T-41",
    "ids-as-text": "T-44",
    "answers-notes": "T-46",
    "null-is-a-note": "T-47",
    "twice": "T-50",
    "null-results": "T-51",
    "one-at-a-time": "T-56",
    "invalid-for-unknown": "T-61",
    "early-sessions": "T-66",
    "ignores-cancel-request": "T-72",
    "accepts-extensions": "T-80",
    "echoes-version": "I-01",
    "any-version": "I-03",
    "capabilities-as-flags": "I-11",
    "offers-list": "I-13",
    "any-sign-in": "A-01",
    "key-is-a-fault": "A-09",
    "any-folder": "S-01",
    "early-commands": "S-04",
    "answers-before-history": "S-20",
    "loads-anything": "S-28",
    "resume-shows": "S-40",
    "any-cursor": "S-54",
    "delete-once": "S-60",
    "closed-takes-prompts": "S-64",
    "late-chunk": "P-06",
    "odd-stop": "P-07",
    "swallows-failures": "P-08",
    "echoes-prompts": "P-16",
    "thoughts-as-text": "P-17",
    "keeps-refusals": "P-20",
    "cancel-is-an-error": "C-01",
    "cancels-all": "C-12",
    "own-update": "U-01",
    "announces-twice": "TC-01",
    "open-calls": "C-03",
    "bare-paths": "TC-08",
    "two-of-a-kind": "R-03",
    "unknown-is-yes": "R-06",
    "uses-any-editor": "F-01",
    "any-mode": "M-02",
    "changed-option-only": "M-06",
    "any-option": "M-07",
    "waits-for-servers": "S-08",
}
"""Flaw -> clause."""


def read(words: list[str]) -> frozenset[str]:
    """Return the flaws that `--break A,B` names; raise ValueError for one that is not known."""
    named = frozenset(words[words.index("--break") + 1].split(",")) if "--break" in words else frozenset()
    if named - FLAWS.keys():
        raise ValueError(f"there is no flaw {sorted(named - FLAWS.keys())}")
    return named
