"""Time as an argument: services hold a clock, store methods take ``now``."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol

DAY_SECONDS = 86_400.0
WEEK_SECONDS = 7 * DAY_SECONDS

#: No wait is made longer than this. One that lasts longer was set by a clock that ran ahead, and comes to an end.
LONGEST_WAIT_SECONDS = 31 * DAY_SECONDS


def last_believed_wait(now: float) -> float:
    """Return until when a wait may last that was begun by a clock that is right; a clock may be set right by hours."""
    return now + LONGEST_WAIT_SECONDS + DAY_SECONDS


class Clock(Protocol):
    """What a service needs of time: the moment now, in seconds since the epoch (UTC)."""

    def now(self) -> float:
        """Return seconds since the epoch."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        """Return seconds since the epoch."""
        return time.time()


def iso(seconds: float | None) -> str | None:
    """Write a moment as ISO 8601 in UTC ending in ``Z``, to the millisecond; None stays None."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def iso_date(seconds: float) -> str:
    """Write the day of a moment in UTC, ``YYYY-MM-DD``."""
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()
