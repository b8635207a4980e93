"""What the person did by hand, as the store keeps it: a thread of its own, with entries and evidence like others."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable

from memory_pipeline.records import Agent, Extraction, JobState, Source
from memory_pipeline.store.connection import immediate
from memory_pipeline.store.extractions import store_extraction


class JournalEntries:
    """The entries of the journal."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect

    def replace(self, extraction: Extraction, *, rollout_path: str, scope: str, now: float) -> None:
        """Let the journal's thread say what its file says now."""
        with immediate(self._connect()) as connection:
            _store_thread(connection, extraction.thread_id, rollout_path, scope, now)
            store_extraction(connection, extraction, source_digest="", source_updated_at=now, now=now)

    def was_told(self) -> bool:
        """Whether anything is known here that a journal told."""
        row = self._connect().execute(
            """
            SELECT EXISTS (SELECT 1 FROM journal_records) OR EXISTS (SELECT 1 FROM review_records)
                OR EXISTS (SELECT 1 FROM uses) OR EXISTS (SELECT 1 FROM settings)
            """
        )
        return bool(row.fetchone()[0])

    def note_taken_in(self, record_ids: Iterable[str]) -> None:
        """Note that records tell what is known here already, so that no consolidation takes them for new deeds."""
        with immediate(self._connect()) as connection:
            connection.executemany(
                """
                INSERT OR IGNORE INTO journal_records
                SELECT ?, max(consolidation_id) FROM consolidations HAVING max(consolidation_id) IS NOT NULL
                """,
                [(record_id,) for record_id in record_ids],
            )


def _store_thread(connection: sqlite3.Connection, thread_id: str, rollout_path: str, scope: str, now: float) -> None:
    columns = {
        "thread_id": thread_id,
        "agent": Agent.JOURNAL,
        "rollout_path": rollout_path,
        "archived": 0,
        "present": 1,
        "size": 0,
        "indexed_at": now,
        "source": Source.OTHER,
        "has_remote": 0,
        "scope": scope,
        "title": "What you wrote yourself",
        "updated_at": now,
        "prompt_count": 0,
        "result_chars": 0,
        "gives_direction": 1,
        "external_context": 0,
        "content_digest": "",
        "understood_lines": 0,
        "total_lines": 0,
        "skipped_lines": "{}",
        "skipped_places": "[]",
        "unknown_types": "{}",
    }
    names = ", ".join(columns)
    marks = ", ".join("?" for _ in columns)
    connection.execute(
        f"""
        INSERT INTO threads ({names}) VALUES ({marks})
        ON CONFLICT (thread_id) DO UPDATE
        SET rollout_path = excluded.rollout_path, updated_at = excluded.updated_at, indexed_at = excluded.indexed_at
        """,
        tuple(columns.values()),
    )
    connection.execute(
        """
        INSERT OR IGNORE INTO jobs (thread_id, state, source_digest, order_at, claimable) VALUES (?, ?, '', 0, 0)
        """,
        (thread_id, JobState.DONE),
    )
