"""How often threads and memories were used."""

from __future__ import annotations

import sqlite3


def count_usage(connection: sqlite3.Connection, subject: str, subject_id: str, *, at: float) -> None:
    """Count one use of a ``thread`` or a ``memory``, inside the caller's transaction."""
    connection.execute(
        """
        INSERT INTO usage (subject, subject_id, count, last_usage) VALUES (?, ?, 1, ?)
        ON CONFLICT (subject, subject_id) DO UPDATE
        SET count = usage.count + 1, last_usage = max(usage.last_usage, excluded.last_usage)
        """,
        (subject, subject_id, at),
    )
