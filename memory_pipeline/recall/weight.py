"""By how much recency, use and a pin raise a memory in a ranking."""

from __future__ import annotations

import math

from memory_pipeline.clock import DAY_SECONDS

#: After so many days, what was said last counts half as much more as it did when it was new.
_RECENCY_HALF_DAYS = 120.0
_RECENCY_WEIGHT = 0.3
_USAGE_WEIGHT = 0.1
_PIN_WEIGHT = 0.1


def weight_of(last_confirmed: float, last_usage: float | None, used: int, *, is_pinned: bool, now: float) -> float:
    """Return the factor of a memory that was last said and last used then: 1 for an old one that was never used."""
    days = max(now - max(last_confirmed, last_usage or 0.0), 0.0) / DAY_SECONDS
    recency = _RECENCY_WEIGHT * float(0.5 ** (days / _RECENCY_HALF_DAYS))
    return 1 + recency + _USAGE_WEIGHT * math.log1p(used) + _PIN_WEIGHT * is_pinned
