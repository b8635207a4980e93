"""Which answers cited which threads and lines. Ids and numbers alone: no words are kept here.

Each answer counts once, however often a log that holds it is read. What it names is counted as soon as it is known.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from msgspec import Struct

from memory_pipeline.records import Citation
from memory_pipeline.store.connection import immediate
from memory_pipeline.store.usage import count_usage

_THREAD = "thread"
_LINE = "line"


class CitedLine(Struct, frozen=True, kw_only=True):
    """A line of MEMORY.md that an answer named, as its session saw the file."""

    citation_id: str
    number: int  # from 1
    at: float  # when it was named
    session_began_at: float | None


class Citations:
    """The citations of all threads."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect

    def count_threads(self, *, now: float) -> None:
        """Count the citations of threads that are known by now; those of others wait, and of what was forgotten too."""
        with immediate(self._connect()) as connection:
            rows = connection.execute(
                """
                SELECT c.citation_id, c.subject_id, c.at FROM citations AS c
                JOIN threads AS t ON t.thread_id = c.subject_id AND t.thread_id <> c.thread_id
                    AND t.disabled_by_person = 0
                WHERE c.subject = 'thread' AND c.counted = 0 ORDER BY c.citation_id, c.subject_id
                """
            ).fetchall()
            for row in rows:
                _mark_counted(connection, row["citation_id"], _THREAD, row["subject_id"])
                count_usage(connection, "thread", row["subject_id"], at=min(row["at"], now))

    def open_lines(self) -> list[CitedLine]:
        """Return the cited lines of which it is open what they told, by citation and number."""
        rows = self._connect().execute(
            """
            SELECT citation_id, subject_id, at, began_at FROM citations WHERE subject = 'line' AND counted = 0
            ORDER BY citation_id, CAST(subject_id AS INTEGER)
            """
        )
        return [
            CitedLine(
                citation_id=row["citation_id"],
                number=int(row["subject_id"]),
                at=row["at"],
                session_began_at=row["began_at"],
            )
            for row in rows
        ]

    def settle_lines(self, lines: Sequence[CitedLine]) -> None:
        """Close these lines: what they told is written down as uses, or will never be known."""
        with immediate(self._connect()) as connection:
            for line in lines:
                _mark_counted(connection, line.citation_id, _LINE, str(line.number))


def store_citations(
    connection: sqlite3.Connection, thread_id: str, citations: Sequence[Citation], *, began_at: float | None, now: float
) -> None:
    """Keep what the answers of a thread cite, inside the caller's transaction; what is known already stays."""
    connection.executemany(
        "INSERT OR IGNORE INTO citations (citation_id, subject, subject_id, thread_id, at, began_at) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        [
            (
                citation.citation_id,
                subject,
                str(named),
                thread_id,
                now if citation.at is None else citation.at,
                began_at,
            )
            for citation in citations
            for subject, names in ((_THREAD, citation.threads), (_LINE, citation.lines))
            for named in names
        ],
    )


def _mark_counted(connection: sqlite3.Connection, citation_id: str, subject: str, subject_id: str) -> None:
    connection.execute(
        "UPDATE citations SET counted = 1 WHERE citation_id = ? AND subject = ? AND subject_id = ?",
        (citation_id, subject, subject_id),
    )
