"""The chronicle: what was decided for each thread, and when. Each line is written together with what it tells.

Only what changes is written, so threads at rest cost nothing. No words of a session stand in it but those in the
message of a fault, which a forgetting takes out.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping

from memory_pipeline.clock import DAY_SECONDS
from memory_pipeline.records import (
    WITHDRAWING_GATES,
    ChronicleLine,
    ConsolidationKind,
    ConsolidationLine,
    Gate,
    Happened,
)
from memory_pipeline.store.connection import immediate
from memory_pipeline.store.standing import WITHDRAWN

#: Older lines are dropped.
KEPT_DAYS = 90
#: And so are the oldest ones above this number.
KEPT_LINES = 200_000
#: Longest message of a fault that is kept, in characters.
_REASON_CHARS = 300


class Chronicle:
    """What was decided, to be read; the other parts of the store write it."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect

    def lines(
        self, *, thread_id: str | None = None, since: float | None = None, limit: int | None = None
    ) -> list[ChronicleLine]:
        """Return what was decided for one thread, or for all, since a moment: newest first, at most ``limit``."""
        rows = self._connect().execute(
            """
            SELECT * FROM chronicle
            WHERE (:thread_id IS NULL OR thread_id = :thread_id) AND (:since IS NULL OR at >= :since)
            ORDER BY line_id DESC LIMIT :limit
            """,
            {"thread_id": thread_id, "since": since, "limit": -1 if limit is None else limit},
        )
        return [
            ChronicleLine(
                at=row["at"],
                thread_id=row["thread_id"],
                what=Happened(row["what"]),
                gate=Gate(row["gate"]) if row["gate"] else None,
                count=row["count"],
                reason=row["reason"],
            )
            for row in rows
        ]

    def consolidations(
        self, *, thread_id: str | None = None, since: float | None = None, limit: int | None = None
    ) -> list[ConsolidationLine]:
        """Return consolidations with the number of their operations by kind, newest first, at most ``limit``.

        With a ``thread_id``: those alone that did something with an entry of that thread, and only that is counted.
        """
        of_thread = "SELECT entry_id FROM entries WHERE thread_id = :thread_id"
        connection = self._connect()
        counted: dict[int, dict[str, int]] = {}
        rows = connection.execute(
            f"""
            SELECT consolidation_id, operation, count(*) AS n FROM operations
            WHERE (:thread_id IS NULL OR entry_id IN ({of_thread}))
            GROUP BY consolidation_id, operation ORDER BY consolidation_id, min(operation_id)
            """,
            {"thread_id": thread_id},
        )
        for row in rows:
            counted.setdefault(row["consolidation_id"], {})[row["operation"]] = row["n"]
        found = connection.execute(
            """
            SELECT * FROM consolidations WHERE (:since IS NULL OR coalesce(finished_at, started_at) >= :since)
            ORDER BY consolidation_id DESC
            """,
            {"since": since},
        )
        lines = [
            ConsolidationLine(
                at=row["started_at"] if row["finished_at"] is None else row["finished_at"],
                consolidation_id=row["consolidation_id"],
                kind=ConsolidationKind(row["kind"]),
                state=row["state"],
                started_at=row["started_at"],
                operations=counted.get(row["consolidation_id"], {}),
                reason=row["error"],
            )
            for row in found
            if thread_id is None or row["consolidation_id"] in counted
        ]
        return lines if limit is None else lines[:limit]

    def claimed_at(self, thread_ids: Iterable[str]) -> dict[str, float]:
        """Return when each of these threads was last claimed, as far as that is still told."""
        found: dict[str, float] = {}
        for thread_id in thread_ids:
            row = (
                self._connect()
                .execute(
                    "SELECT max(at) FROM chronicle WHERE thread_id = ? AND what IN ('claimed', 'taken_over')",
                    (thread_id,),
                )
                .fetchone()
            )
            if row[0] is not None:
                found[thread_id] = float(row[0])
        return found

    def trim(self, *, now: float) -> None:
        """Drop what is older than is kept, and the oldest lines above the number that is kept."""
        connection = self._connect()
        first = connection.execute("SELECT line_id, at FROM chronicle ORDER BY line_id LIMIT 1").fetchone()
        if first is None:
            return
        # Whole days: the table is searched once a day, not at every pass.
        too_old = (now // DAY_SECONDS - KEPT_DAYS) * DAY_SECONDS
        last_id = connection.execute("SELECT max(line_id) FROM chronicle").fetchone()[0]
        # By a tenth at once, so that a busy time does not delete at every pass.
        spare = last_id - KEPT_LINES * 9 // 10 if last_id - first["line_id"] >= KEPT_LINES else 0
        if first["at"] >= too_old and not spare:
            return
        with immediate(connection):
            connection.execute("DELETE FROM chronicle WHERE at < ? OR line_id <= ?", (too_old, spare))


def note(
    connection: sqlite3.Connection,
    thread_id: str,
    what: Happened,
    *,
    now: float | None,
    gate: Gate | None = None,
    count: int | None = None,
    reason: str | None = None,
) -> None:
    """Write one line, inside the caller's transaction; nothing where no time is known."""
    if now is None:
        return
    connection.execute(
        "INSERT INTO chronicle (at, thread_id, what, gate, count, reason) VALUES (?, ?, ?, ?, ?, ?)",
        (now, thread_id, what, gate, count, reason[:_REASON_CHARS] if reason else None),
    )


def note_gates(
    connection: sqlite3.Connection,
    gates: Mapping[str, Gate | None],
    *,
    now: float | None,
    keep_words: Collection[str] = (),
) -> None:
    """Write down which gates close and open; to be called before they are stored, inside the caller's transaction.

    ``keep_words`` are the threads of which no gate withdraws what they said.
    """
    if now is None:
        return
    connection.executemany(
        """
        INSERT INTO chronicle (at, thread_id, what, gate)
        SELECT ?, thread_id, ?, ? FROM threads WHERE thread_id = ? AND gate IS NOT ?
        """,
        [
            (now, Happened.OPENED if gate is None else Happened.GATED, gate, thread_id, gate)
            for thread_id, gate in gates.items()
        ],
    )
    connection.executemany(
        f"""
        INSERT INTO chronicle (at, thread_id, what, count)
        SELECT ?, t.thread_id, '{Happened.WITHDRAWN}', count(*)
        FROM threads AS t JOIN entries AS e ON e.thread_id = t.thread_id AND e.withdrawn_at IS NULL
        WHERE t.thread_id = ? AND NOT {WITHDRAWN} GROUP BY t.thread_id
        """,
        [
            (now, thread_id)
            for thread_id, gate in gates.items()
            if gate in WITHDRAWING_GATES and thread_id not in keep_words
        ],
    )
