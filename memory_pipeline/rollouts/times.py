"""One rule for the times of a log.

- Text is ISO 8601, in capitals or not; without a zone it is UTC, which is what both agents mean by it.
- A number (or text of digits) is seconds since the epoch, or milliseconds from 100,000,000,000 on.
- Missing, NaN, of another type, or outside the years 2000 to 2099: None. Such a record keeps its place in the file.
- A time later than the file's own modification can't be true: of a session's times it is none, whatever else is. The
  clocks of a program and of a disk may differ by ``TOLERANCE_SECONDS``.
- A time later than now is not true yet: our clock may be behind, so it waits until the clock has reached it. Until
  then the latest time that has come counts, else the moment at which the log was read.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

_FIRST_BELIEVED = datetime(2000, 1, 1, tzinfo=UTC).timestamp()
_LAST_BELIEVED = datetime(2100, 1, 1, tzinfo=UTC).timestamp()
_MILLISECONDS_FROM = 1e11
#: How much later than the file's modification, or than now, a time may be and still be believed.
TOLERANCE_SECONDS = 60.0


def to_seconds(value: Any) -> float | None:
    """Read a time of a log as seconds since the epoch, UTC, or None when it can't be believed."""
    if isinstance(value, str):
        return _from_text(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _from_number(value)
    return None


def _from_text(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        try:
            return _from_text(text.upper()) if text != text.upper() else _from_number(float(text))
        except ValueError:
            return None
    try:
        seconds = (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
    except (OverflowError, ValueError):
        return None
    return seconds if _FIRST_BELIEVED <= seconds < _LAST_BELIEVED else None


def _from_number(number: float) -> float | None:
    try:
        seconds = float(number)
    except OverflowError:
        return None
    if not math.isfinite(seconds):
        return None
    return _believed(seconds / 1000 if seconds >= _MILLISECONDS_FROM else seconds)


def _believed(seconds: float) -> float | None:
    return seconds if _FIRST_BELIEVED <= seconds < _LAST_BELIEVED else None
