"""`python -m tests.architecture` prints the report of sizes."""

from __future__ import annotations

from tests.architecture.graph import package
from tests.architecture.sizes import report

if __name__ == "__main__":
    print(report(package()))
