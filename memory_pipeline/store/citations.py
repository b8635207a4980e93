"""Which answers cited which threads and lines. Ids and numbers alone: no words are kept here.

Each answer counts once, however often a log that holds it is read. What it names is counted as soon as it is known.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from memory_pipeline.records import Citation
from memory_pipeline.store.connection import immediate
from memory_pipeline.store.usage import count_usage

_THREAD = "thread"
_LINE = "line"


@dataclass(frozen=True, kw_only=True, slots=True)
class CitedLine:
    """A line of MEMORY.md that an answer named, as its session saw the file."""

    citation_id: str
    number: int  # from 1
    session_began_at: float | None


class Citations:
    """The citations of all threads."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect

    def count_threads(self, *, now: float) -> None:
        """Count the citations of threads that are known by now; those of others wait."""
        with immediate(self._connect()) as connection:
            rows = connection.execute(
                """
                SELECT c.citation_id, c.subject_id, c.at FROM citations AS c
                JOIN threads AS t ON t.thread_id = c.subject_id AND t.thread_id <> c.thread_id
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
            SELECT citation_id, subject_id, began_at FROM citations WHERE subject = 'line' AND counted = 0
            ORDER BY citation_id, CAST(subject_id AS INTEGER)
            """
        )
        return [
            CitedLine(citation_id=row["citation_id"], number=int(row["subject_id"]), session_began_at=row["began_at"])
            for row in rows
        ]

    def settle_lines(self, lines: Sequence[CitedLine], memories: Mapping[CitedLine, str], *, now: float) -> None:
        """Close these lines; each memory that lines of one answer tell is counted once for that answer."""
        with immediate(self._connect()) as connection:
            counted: set[tuple[str, str]] = set()
            for line in lines:
                is_open = _mark_counted(connection, line.citation_id, _LINE, str(line.number))
                memory_id = memories.get(line)
                if is_open is None or memory_id is None or (line.citation_id, memory_id) in counted:
                    continue
                counted.add((line.citation_id, memory_id))
                count_usage(connection, "memory", memory_id, at=min(is_open, now))


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


def _mark_counted(connection: sqlite3.Connection, citation_id: str, subject: str, subject_id: str) -> float | None:
    """Close one citation; returns its time, None when it was closed already."""
    row = connection.execute(
        """
        UPDATE citations SET counted = 1
        WHERE citation_id = ? AND subject = ? AND subject_id = ? AND counted = 0 RETURNING at
        """,
        (citation_id, subject, subject_id),
    ).fetchone()
    return row["at"] if row else None
