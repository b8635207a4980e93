"""What was learnt and used, day by day: counts alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from msgspec import Struct

from memory_pipeline.clock import DAY_SECONDS, iso_date


class Day(Struct, frozen=True, kw_only=True):
    """One day, in UTC."""

    date: str  # YYYY-MM-DD
    learnt: int  # memories that were made
    given: int  # tasks that were given memories
    cited: int  # answers that named memories, or sessions that they came from


class Activity:
    """Counts by day."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect

    def days(self, *, now: float, count: int) -> list[Day]:
        """Return the last ``count`` days, today included, the oldest first; also those on which nothing happened."""
        today = now // DAY_SECONDS
        first = today - count + 1
        span = {"since": first * DAY_SECONDS, "until": (today + 1) * DAY_SECONDS}
        learnt = self._counted("SELECT at FROM operations WHERE operation = 'add'", span)
        given = self._counted("SELECT at FROM injections", span)
        # One answer names several threads and lines, all at the time of the answer.
        cited = self._counted("SELECT min(at) AS at FROM citations GROUP BY citation_id", span)
        return [
            Day(
                date=iso_date(day * DAY_SECONDS),
                learnt=learnt.get(day, 0),
                given=given.get(day, 0),
                cited=cited.get(day, 0),
            )
            for day in (first + number for number in range(count))
        ]

    def _counted(self, moments: str, span: dict[str, float]) -> dict[float, int]:
        rows = self._connect().execute(
            f"""
            SELECT CAST(at / {DAY_SECONDS} AS INTEGER) AS day, count(*) AS n FROM ({moments})
            WHERE at >= :since AND at < :until GROUP BY day
            """,
            span,
        )
        return {float(row["day"]): row["n"] for row in rows}
