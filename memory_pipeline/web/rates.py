"""How many requests may come: so many at once, and then so many a minute."""

from __future__ import annotations

import threading
from collections.abc import Callable

from msgspec import Struct

_MOST_NAMES = 10_000


class Rate(Struct, frozen=True, kw_only=True):
    """What one caller may ask for."""

    at_once: int
    per_minute: float


class _Bucket(Struct):
    left: float
    filled_at: float


class RateLimit:
    """Counts requests by name: of a user, or of an address."""

    def __init__(self, rate: Rate, *, read_seconds: Callable[[], float]) -> None:
        """``read_seconds`` reads a clock that is never set."""
        self._rate = rate
        self._read_seconds = read_seconds
        self._guard = threading.Lock()
        self._buckets: dict[str, _Bucket] = {}

    def take(self, name: str) -> float:
        """Count one request; returns 0 where it may go on, else after how many seconds the next one may."""
        now = self._read_seconds()
        per_second = self._rate.per_minute / 60
        with self._guard:
            bucket = self._buckets.get(name)
            if bucket is None:
                self._make_room(now, per_second)
                bucket = self._buckets[name] = _Bucket(left=float(self._rate.at_once), filled_at=now)
            bucket.left = min(self._rate.at_once, bucket.left + (now - bucket.filled_at) * per_second)
            bucket.filled_at = now
            if bucket.left >= 1:
                bucket.left -= 1
                return 0.0
            return (1 - bucket.left) / per_second

    def _make_room(self, now: float, per_second: float) -> None:
        """Forget those who may ask for all again; of too many others, the oldest."""
        if len(self._buckets) < _MOST_NAMES:
            return
        self._buckets = {
            name: one
            for name, one in self._buckets.items()
            if one.left + (now - one.filled_at) * per_second < self._rate.at_once
        }
        while len(self._buckets) >= _MOST_NAMES:
            self._buckets.pop(next(iter(self._buckets)))
