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


_THREAD = """
    INSERT OR IGNORE INTO threads (thread_id, agent, rollout_path, archived, present, size, indexed_at, source,
        has_remote, scope, updated_at, prompt_count, result_chars, gives_direction, external_context, content_digest,
        understood_lines, total_lines, skipped_lines, skipped_places, unknown_types)
    VALUES ('by hand', 'journal', '', 0, 1, 0, 0, 'interactive', 0, 'user', 0, 0, 0, 0, 0, '', 0, 0, '{}', '[]', '{}')
"""


def remember(database: Path, rows: Iterable[dict[str, Any]], *, used: dict[str, int] | None = None) -> None:
    """Write memories into a database that is there, each with an entry that it rests on, and how often some were used.

    Whatever was not written by a reading of logs passes as the person's own word, which nothing withdraws.
    """
    rows = list(rows)
    with closing(sqlite3.connect(database)) as connection:
        connection.executemany(
            """
            INSERT INTO memories (memory_id, kind, scope, condition, statement, status, pinned, first_seen,
                last_confirmed, learned_at, reason)
            VALUES (:memory_id, :kind, :scope, :condition, :statement, :status, :pinned, :first_seen,
                :last_confirmed, :learned_at, :reason)
            """,
            rows,
        )
        connection.execute(_THREAD)
        connection.executemany(
            """
            INSERT INTO entries (entry_id, thread_id, position, kind, scope, condition, statement, created_at)
            VALUES ('e_' || :memory_id, 'by hand', 0, :kind, :scope, :condition, :statement, :learned_at)
            """,
            rows,
        )
        connection.executemany("INSERT INTO memory_entries VALUES (:memory_id, 'e_' || :memory_id)", rows)
        connection.executemany(
            "INSERT INTO usage (subject, subject_id, count, last_usage) VALUES ('memory', ?, ?, ?)",
            [(memory_id, count, NOW - 300 * DAY) for memory_id, count in (used or {}).items()],
        )
        connection.commit()
