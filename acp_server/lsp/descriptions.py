"""Where the words of the tools are, which a request to a model needs before their code is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Final

DESCRIPTIONS: Final = Path(__file__).with_name("tools.json")
