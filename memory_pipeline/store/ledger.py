"""What paid calls cost: reserved before they are made, booked after. The caps hold to the token."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from memory_pipeline.clock import DAY_SECONDS, WEEK_SECONDS
from memory_pipeline.store.connection import immediate

#: More than any call takes, and small enough that sums of it stay within what SQLite counts.
_MOST_TOKENS = 1 << 40
_WHOLE = ""  # stands for the whole in refused_calls


class Cap(Struct, frozen=True, kw_only=True):
    """At most so many tokens in any window of so many seconds, of one project or (None) of the whole."""

    tokens: int
    window_seconds: float
    scope: str | None = None


class Reservation(Struct, frozen=True, kw_only=True):
    """The answer to asking for tokens.

    ``booking_id`` is None when a cap forbids it; then ``refused_by`` is the cap that holds longest, and ``opens_at``
    says until when: None where the call alone is larger than the cap.
    """

    booking_id: int | None
    tokens: int = 0
    refused_by: Cap | None = None
    opens_at: float | None = None


class DayCost(Struct, frozen=True, kw_only=True):
    """What the calls of one day (UTC) took for one project (None: no single one), phase and model."""

    day: str
    scope: str | None
    phase: str
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    estimated_tokens: int  # what had been reserved for the calls that were booked
    reported_tokens: int  # what the provider said that these took; where it said nothing, what was booked
    unbooked_calls: int  # cut off: nobody knows what they took, so what was reserved for them counts
    unbooked_tokens: int

    @property
    def tokens(self) -> int:
        """All that counts."""
        return self.input_tokens + self.output_tokens + self.unbooked_tokens


class Ledger:
    """Paid tokens, by rolling day and week."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect

    def reserve(
        self,
        *,
        tokens: int,
        caps: Sequence[Cap],
        phase: str,
        thread_id: str | None,
        scope: str | None,
        model: str,
        now: float,
        at_least: int | None = None,
    ) -> Reservation:
        """Set aside tokens for one call, or refuse when a cap would be passed. One transaction.

        With ``at_least``, as many are set aside as fit between it and ``tokens``. Caps of other projects don't bind. A
        refusal is kept, so that it can be told what paid work waits for; see ``waits_for``.
        """
        binding = [cap for cap in caps if cap.scope is None or cap.scope == scope]
        needed = tokens if at_least is None else min(at_least, tokens)
        with immediate(self._connect()) as connection:
            refusal = _refusal(connection, needed, binding, now=now)
            if refusal is not None:
                if refusal.opens_at is not None:  # what no waiting helps holds nothing but itself
                    _keep_refusal(connection, refusal.refused_by, needed, now=now)
                return refusal
            _drop_refusals(connection, binding, now=now)
            granted = min([tokens, *(cap.tokens - _spent(connection, cap, now=now) for cap in binding)])
            row = connection.execute(
                """
                INSERT INTO ledger (at, phase, thread_id, scope, model, reserved_tokens) VALUES (?, ?, ?, ?, ?, ?)
                RETURNING booking_id
                """,
                (now, phase, thread_id, scope, model, granted),
            ).fetchone()
        return Reservation(booking_id=int(row["booking_id"]), tokens=granted)

    def book(
        self, booking_id: int, *, input_tokens: int, output_tokens: int, reported_tokens: int | None = None
    ) -> None:
        """Replace a reservation by what was used; ``reported_tokens`` is what the provider said, None if nothing."""
        with immediate(self._connect()) as connection:
            connection.execute(
                "UPDATE ledger SET input_tokens = ?, output_tokens = ?, reported_tokens = ? WHERE booking_id = ?",
                (
                    min(input_tokens, _MOST_TOKENS),
                    min(output_tokens, _MOST_TOKENS),
                    None if reported_tokens is None else min(reported_tokens, _MOST_TOKENS),
                    booking_id,
                ),
            )

    def spent(self, *, since: float, scope: str | None = None) -> int:
        """Return the tokens used, or still reserved, since a moment: of one project, or of the whole."""
        return _spent_since(self._connect(), since, scope)

    def waits_for(self, caps: Sequence[Cap], *, now: float) -> Reservation | None:
        """Say what holds paid calls under these caps, all of the whole or all of one project; None: nothing does.

        What was refused last must have room; without such a call, or where no cap would ever let it pass, one token.
        """
        if not caps:
            return None
        connection = self._connect()
        needed = max(_refused_tokens(connection, scope) for scope in {cap.scope for cap in caps})
        may_ever_pass = 0 < needed <= min(cap.tokens for cap in caps)
        return _refusal(connection, needed if may_ever_pass else 1, caps, now=now)

    def projects(self, *, now: float) -> list[str]:
        """Return the projects for which something was booked within a week, or refused; in order."""
        rows = self._connect().execute(
            """
            SELECT scope FROM ledger WHERE scope IS NOT NULL AND at > ?
            UNION SELECT scope FROM refused_calls WHERE scope <> '' ORDER BY scope
            """,
            (now - WEEK_SECONDS,),
        )
        return [row["scope"] for row in rows]

    def by_day(self, *, since: float) -> list[DayCost]:
        """Return what calls took since a moment, newest day first, then by project (none first), phase and model."""
        rows = self._connect().execute(
            """
            SELECT date(at, 'unixepoch') AS day, scope, phase, model,
                coalesce(sum(calls), 0) AS calls,
                coalesce(sum(input_tokens), 0) AS input_tokens,
                coalesce(sum(output_tokens), 0) AS output_tokens,
                coalesce(sum(reserved_tokens) FILTER (WHERE input_tokens IS NOT NULL), 0) AS estimated_tokens,
                coalesce(sum(coalesce(reported_tokens, input_tokens + output_tokens)), 0) AS reported_tokens,
                coalesce(sum(calls) FILTER (WHERE input_tokens IS NULL), 0) AS unbooked_calls,
                coalesce(sum(reserved_tokens) FILTER (WHERE input_tokens IS NULL), 0) AS unbooked_tokens
            FROM ledger WHERE at >= ? GROUP BY 1, 2, 3, 4 ORDER BY 1 DESC, 2, 3, 4
            """,
            (since,),
        )
        return [DayCost(**dict(row)) for row in rows]

    def fold(self, *, before: float) -> int:
        """Sum the calls before a moment up by day, project, phase and model; returns how many rows that saved.

        A sum stands at the time of the last of its calls, so that it leaves no window earlier than they would have,
        even when a clock that had run ahead named the moment.
        """
        groups = "date(at, 'unixepoch'), scope, phase, model, input_tokens IS NULL, reported_tokens IS NULL"
        several = f"SELECT 1 FROM ledger WHERE at < ? GROUP BY {groups} HAVING count(*) > 1 LIMIT 1"
        with immediate(self._connect()) as connection:
            if connection.execute(several, (before,)).fetchone() is None:
                return 0
            last = connection.execute("SELECT coalesce(max(booking_id), 0) FROM ledger").fetchone()[0]
            made = connection.execute(
                f"""
                INSERT INTO ledger (at, phase, scope, model, reserved_tokens, input_tokens, output_tokens,
                    reported_tokens, calls)
                SELECT max(at), phase, scope, model, sum(reserved_tokens), sum(input_tokens), sum(output_tokens),
                    sum(reported_tokens), sum(calls)
                FROM ledger WHERE at < ? GROUP BY {groups}
                """,
                (before,),
            ).rowcount
            gone = connection.execute("DELETE FROM ledger WHERE at < ? AND booking_id <= ?", (before, last)).rowcount
        return gone - made


def window_caps(*, daily: int, weekly: int, scope: str | None = None) -> list[Cap]:
    """Return the caps that two settings stand for; 0 is none."""
    windows = ((daily, DAY_SECONDS), (weekly, WEEK_SECONDS))
    return [Cap(tokens=tokens, window_seconds=window, scope=scope) for tokens, window in windows if tokens]


def _refusal(connection: sqlite3.Connection, needed: int, caps: Iterable[Cap], *, now: float) -> Reservation | None:
    """Return the refusal of the cap that holds longest, None where all have room."""
    refusals = []
    for cap in caps:
        over = _spent(connection, cap, now=now) + needed - cap.tokens
        if over > 0:
            opens_at = _opens_at(connection, cap, over, now=now) if needed <= cap.tokens else None
            refusals.append(Reservation(booking_id=None, refused_by=cap, opens_at=opens_at))
    return max(refusals, key=lambda one: (one.opens_at is None, one.opens_at or 0.0), default=None)


def _opens_at(connection: sqlite3.Connection, cap: Cap, over: int, *, now: float) -> float | None:
    """Return when so many tokens will have left the window that there is room again."""
    rows = connection.execute(
        f"""
        SELECT at, {_COUNTS} AS tokens FROM ledger WHERE at > :since AND (:scope IS NULL OR scope = :scope) ORDER BY at
        """,
        {"since": now - cap.window_seconds, "scope": cap.scope},
    )
    for row in rows:
        over -= row["tokens"]
        if over <= 0:
            return float(row["at"]) + cap.window_seconds
    return None


# A call that was never booked (the worker died) counts as reserved: rather too much than too little.
_COUNTS = "coalesce(input_tokens + output_tokens, reserved_tokens)"


def _spent(connection: sqlite3.Connection, cap: Cap, *, now: float) -> int:
    return _spent_since(connection, now - cap.window_seconds, cap.scope)


def _spent_since(connection: sqlite3.Connection, since: float, scope: str | None) -> int:
    # What lies in the future counts too: a clock that ran ahead and was set back frees nothing.
    row = connection.execute(
        f"SELECT coalesce(sum({_COUNTS}), 0) FROM ledger WHERE at > :since AND (:scope IS NULL OR scope = :scope)",
        {"since": since, "scope": scope},
    ).fetchone()
    return int(row[0])


def _refused_tokens(connection: sqlite3.Connection, scope: str | None) -> int:
    row = connection.execute("SELECT tokens FROM refused_calls WHERE scope = ?", (scope or _WHOLE,)).fetchone()
    return int(row["tokens"]) if row else 0


def _keep_refusal(connection: sqlite3.Connection, cap: Cap | None, tokens: int, *, now: float) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO refused_calls (scope, tokens, at) VALUES (?, ?, ?)",
        ((cap.scope if cap else None) or _WHOLE, tokens, now),
    )


def _drop_refusals(connection: sqlite3.Connection, caps: Iterable[Cap], *, now: float) -> None:
    """Forget the refusals that would not be made any longer: nothing waits for them."""
    caps = list(caps)
    for scope in {None, *(cap.scope for cap in caps)}:
        tokens = _refused_tokens(connection, scope)
        if tokens and _refusal(connection, tokens, [cap for cap in caps if cap.scope == scope], now=now) is None:
            connection.execute("DELETE FROM refused_calls WHERE scope = ?", (scope or _WHOLE,))
