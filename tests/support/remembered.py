"""Memories written straight into a database, for tests of what is made of many, or of texts that no reading lets in."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

NOW = 1_795_000_000.0
DAY = 86_400.0


def row(memory_id: str, statement: str, scope: str = "user", **fields: Any) -> dict[str, Any]:
    """Make one memory as its row."""
    known = {
        "memory_id": memory_id,
        "kind": "preference",
        "scope": scope,
        "condition": "",
        "statement": statement,
        "status": "active",
        "pinned": 0,
        "first_seen": NOW - 9 * DAY,
        "last_confirmed": NOW - 9 * DAY,
        "learned_at": NOW - 9 * DAY,
        "reason": "",
    }
    return known | fields


def remember(database: Path, rows: Iterable[dict[str, Any]], *, used: dict[str, int] | None = None) -> None:
    """Write memories into a database that is there, and how often some were used."""
    with closing(sqlite3.connect(database)) as connection:
        connection.executemany(
            """
            INSERT INTO memories (memory_id, kind, scope, condition, statement, status, pinned, first_seen,
                last_confirmed, learned_at, reason)
            VALUES (:memory_id, :kind, :scope, :condition, :statement, :status, :pinned, :first_seen,
                :last_confirmed, :learned_at, :reason)
            """,
            list(rows),
        )
        connection.executemany(
            "INSERT INTO usage (subject, subject_id, count, last_usage) VALUES ('memory', ?, ?, ?)",
            [(memory_id, count, NOW - 300 * DAY) for memory_id, count in (used or {}).items()],
        )
        connection.commit()
