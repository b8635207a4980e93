"""What paid calls cost: reserved before they are made, booked after."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from memory_pipeline.clock import DAY_SECONDS, WEEK_SECONDS
from memory_pipeline.store.connection import immediate


@dataclass(frozen=True, kw_only=True, slots=True)
class Reservation:
    """The answer to asking for tokens.

    ``booking_id`` is None when a cap forbids it; then ``opens_at`` says until when.
    """

    booking_id: int | None
    opens_at: float | None = None


class Ledger:
    """Paid tokens, by rolling day and week."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect

    def reserve(
        self,
        *,
        tokens: int,
        daily_cap: int,
        weekly_cap: int,
        phase: str,
        thread_id: str | None,
        scope: str | None,
        model: str,
        now: float,
    ) -> Reservation:
        """Set aside tokens for one call, or refuse when a cap (0: none) would be passed. One transaction."""
        with immediate(self._connect()) as connection:
            for cap, window in ((daily_cap, DAY_SECONDS), (weekly_cap, WEEK_SECONDS)):
                if cap and _spent(connection, since=now - window) + tokens > cap:
                    return Reservation(
                        booking_id=None, opens_at=_opens_at(connection, since=now - window, window=window)
                    )
            row = connection.execute(
                """
                INSERT INTO ledger (at, phase, thread_id, scope, model, reserved_tokens) VALUES (?, ?, ?, ?, ?, ?)
                RETURNING booking_id
                """,
                (now, phase, thread_id, scope, model, tokens),
            ).fetchone()
        return Reservation(booking_id=int(row["booking_id"]))

    def book(self, booking_id: int, *, input_tokens: int, output_tokens: int) -> None:
        """Replace a reservation by what was used."""
        with immediate(self._connect()) as connection:
            connection.execute(
                "UPDATE ledger SET input_tokens = ?, output_tokens = ? WHERE booking_id = ?",
                (input_tokens, output_tokens, booking_id),
            )

    def spent(self, *, since: float) -> int:
        """Return the tokens used, or still reserved, since a moment."""
        return _spent(self._connect(), since=since)


def _spent(connection: sqlite3.Connection, *, since: float) -> int:
    # A call that was never booked (the worker died) counts as reserved: rather too much than too little.
    row = connection.execute(
        "SELECT coalesce(sum(coalesce(input_tokens + output_tokens, reserved_tokens)), 0) FROM ledger WHERE at > ?",
        (since,),
    ).fetchone()
    return int(row[0])


def _opens_at(connection: sqlite3.Connection, *, since: float, window: float) -> float | None:
    row = connection.execute("SELECT min(at) FROM ledger WHERE at > ?", (since,)).fetchone()
    return None if row[0] is None else float(row[0]) + window
