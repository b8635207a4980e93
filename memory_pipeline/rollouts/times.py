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
from collections.abc import Sequence
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


_USUAL = b"0000-00-00T00:00:00.000Z"
_DIGITS_AS_ZERO = bytes.maketrans(b"123456789", b"000000000")


def are_usual_times(values: Sequence[Any]) -> bool:
    """Whether all of some times are written as both agents write them today: then they sort as text."""
    try:
        written = "".join(values).encode()
    except (TypeError, UnicodeEncodeError):
        return False
    return bool(values) and written.translate(_DIGITS_AS_ZERO) == _USUAL * len(values)


#: The end of a time as it is usually written, in thousandths: looked up, it costs half of being computed.
_SECONDS = {f"{number:02d}.": 1000 * number for number in range(60)}
_THOUSANDTHS = {f"{number:03d}Z": number for number in range(1000)}


class Stamps:
    """Reads the times of one log. Most records of a minute follow one another: its beginning is read once."""

    _MINUTE = 17  # characters: 2026-01-02T03:04:
    _LENGTH = 24  # with 05.678Z

    def __init__(self) -> None:
        self._minute = ""
        self._minute_at = 0.0

    def seconds(self, value: Any) -> float | None:
        """Do what ``to_seconds`` does."""
        if type(value) is not str or len(value) != self._LENGTH:
            return to_seconds(value)
        if value[: self._MINUTE] == self._minute:
            seconds, thousandths = _SECONDS.get(value[17:20]), _THOUSANDTHS.get(value[20:])
            if seconds is not None and thousandths is not None:
                return self._minute_at + (seconds + thousandths) / 1000
        return self._read(value)

    def _read(self, text: str) -> float | None:
        at = to_seconds(text)
        minute = None if at is None else to_seconds(f"{text[: self._MINUTE]}00.000Z")
        if minute is not None:
            self._minute, self._minute_at = text[: self._MINUTE], minute
        return at


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
