"""When a provider wants to be asked again (docs/llm.md, clause R-5). Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

LONGEST_MS: Final = 2**31 - 1
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def retry_after_ms(headers: Mapping[str, str], now_ms: int | None = None) -> int | None:
    """Return the milliseconds to wait, above zero, or None when the provider did not say.

    Read in this order: `retry-after-ms`, `retry-after` in seconds, `retry-after` as an HTTP date. A date is counted
    from the answer's own `date`, so that a wrong clock of ours does not matter, else from `now_ms`, the wall clock.
    Header names are lower case.
    """
    told = _number(headers.get("retry-after-ms", ""))
    if told is None and (seconds := _number(headers.get("retry-after", ""))) is not None:
        told = seconds * 1000
    if told is None:
        until, now = http_date_ms(headers.get("retry-after", "")), http_date_ms(headers.get("date", ""))
        now = now_ms if now is None else now
        told = None if until is None or now is None else until - now
    if told is None or told <= 0:
        return None
    return min(max(round(told), 1), LONGEST_MS)


def http_date_ms(text: str) -> int | None:
    """Return an HTTP date as milliseconds since the epoch, or None; the obsolete form with dashes is read too."""
    match = re.fullmatch(r"\w+,? (\d\d?)[ -](\w{3})[ -](\d{4}|\d\d) (\d\d):(\d\d):(\d\d) GMT", text.strip(), re.ASCII)
    if match is None or match[2].lower() not in _MONTHS:
        return None
    year = int(match[3]) + (2000 if len(match[3]) == 2 else 0)
    month = _MONTHS.index(match[2].lower()) + 1
    try:
        moment = datetime(year, month, int(match[1]), int(match[4]), int(match[5]), min(int(match[6]), 59), tzinfo=UTC)
    except ValueError:
        return None
    return round(moment.timestamp() * 1000)


def _number(text: str) -> float | None:
    text = text.strip()
    return float(text) if re.fullmatch(r"\d{1,12}(\.\d{1,9})?", text, re.ASCII) else None
