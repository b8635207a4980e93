"""How often threads and memories were used. Ids alone: no words are kept here.

A use has an id, so that it counts once, however often the journal is read. It is counted as soon as what it names is
known: a database that was made anew learns of its memories after it has learnt of their uses.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable

from memory_pipeline.records import JournalAction, JournalRecord
from memory_pipeline.store.connection import immediate

_MEMORY = "memory"
_THREAD = "thread"


class Uses:
    """The uses that the journal tells of."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect

    def known(self) -> frozenset[str]:
        """Return the ids of the uses that were taken in."""
        return frozenset(row["use_id"] for row in self._connect().execute("SELECT use_id FROM uses"))

    def every(self, *, origin: str) -> list[JournalRecord]:
        """Return the uses that were taken in, by time, as records of the journal; where each came from is not known."""
        rows = self._connect().execute("SELECT use_id, subject, subject_id, at FROM uses ORDER BY at, use_id")
        return [
            JournalRecord(
                record_id=row["use_id"],
                action=JournalAction.USE,
                at=row["at"],
                origin=origin,
                memory_id=row["subject_id"] if row["subject"] == _MEMORY else None,
                thread_id=row["subject_id"] if row["subject"] == _THREAD else None,
            )
            for row in rows
        ]

    def take_in(self, records: Iterable[JournalRecord], *, now: float) -> None:
        """Count each use among these records once, and those that waited for what they name to be known.

        One transaction, and none where there is nothing to count.
        """
        new = [one for one in records if one.action is JournalAction.USE]
        if not new and not self._connect().execute("SELECT 1 FROM uses WHERE counted = 0 LIMIT 1").fetchone():
            return
        with immediate(self._connect()) as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO uses (use_id, subject, subject_id, at) VALUES (?, ?, ?, ?)",
                [(one.record_id, *subject, one.at) for one in new if (subject := _subject_of(one))],
            )
            count_waiting_uses(connection, now=now)


def count_waiting_uses(connection: sqlite3.Connection, *, now: float) -> None:
    """Count the uses of what is known by now and was not when they were taken in, inside the caller's transaction.

    Those of a thread that the person keeps out wait: it may have been forgotten.
    """
    rows = connection.execute(
        """
        UPDATE uses SET counted = 1
        WHERE counted = 0 AND (
            (subject = 'memory' AND subject_id IN (SELECT memory_id FROM memories))
            OR (subject = 'thread' AND subject_id IN (SELECT thread_id FROM threads WHERE disabled_by_person = 0))
        )
        RETURNING subject, subject_id, at
        """
    ).fetchall()
    for row in rows:
        count_usage(connection, row["subject"], row["subject_id"], at=min(row["at"], now))


def _subject_of(record: JournalRecord) -> tuple[str, str] | None:
    if record.memory_id:
        return _MEMORY, record.memory_id
    return (_THREAD, record.thread_id) if record.thread_id else None


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


def erase_usage(connection: sqlite3.Connection, subject: str, subject_ids: Iterable[str]) -> None:
    """Forget that these threads or memories were ever used, inside the caller's transaction."""
    gone = [(subject, subject_id) for subject_id in subject_ids]
    connection.executemany("DELETE FROM usage WHERE subject = ? AND subject_id = ?", gone)
    connection.executemany("DELETE FROM uses WHERE subject = ? AND subject_id = ?", gone)
