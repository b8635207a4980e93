"""Sessions that are known from a packet alone: their threads, and what was extracted from it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from memory_pipeline.records import Agent, Extraction, JobState, Source
from memory_pipeline.store.connection import immediate
from memory_pipeline.store.extractions import store_extraction

#: Differs from the digest of any log: should the log turn up, it is read.
_DIGEST = "packet"


class ImportedThreads:
    """Threads without a log of their own."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect

    def begin(self, thread_id: str, *, packet_path: str, scope: str, now: float) -> None:
        """Make the thread of a packet, unless there is one; what a log told of it stays."""
        columns = {
            "thread_id": thread_id,
            "agent": Agent.CODEX,
            "rollout_path": packet_path,
            "archived": 0,
            "present": 0,
            "size": 0,
            "indexed_at": now,
            "source": Source.OTHER,
            "has_remote": 0,
            "scope": scope,
            "title": "Imported packet",
            "updated_at": now,
            "prompt_count": 0,
            "result_chars": 0,
            "gives_direction": 0,
            "external_context": 0,
            "content_digest": _DIGEST,
            "understood_lines": 0,
            "total_lines": 0,
            "skipped_lines": "{}",
            "skipped_places": "[]",
            "unknown_types": "{}",
        }
        names, marks = ", ".join(columns), ", ".join("?" for _ in columns)
        with immediate(self._connect()) as connection:
            connection.execute(f"INSERT OR IGNORE INTO threads ({names}) VALUES ({marks})", tuple(columns.values()))

    def is_extracted(self, thread_id: str, packet_digest: str) -> bool:
        """Whether what a thread says was extracted from this very packet."""
        row = self._connect().execute("SELECT source_digest FROM extractions WHERE thread_id = ?", (thread_id,))
        return any(found["source_digest"] == packet_digest for found in row)

    def store(self, extraction: Extraction, *, packet_digest: str, now: float) -> None:
        """Let the thread say what its packet says. One transaction."""
        with immediate(self._connect()) as connection:
            connection.execute(
                """
                INSERT INTO jobs (thread_id, state, source_digest, order_at, claimable) VALUES (?, ?, ?, 0, 0)
                ON CONFLICT (thread_id) DO UPDATE SET state = excluded.state, source_digest = excluded.source_digest
                """,
                (extraction.thread_id, JobState.NO_OUTPUT if extraction.is_empty else JobState.DONE, _DIGEST),
            )
            store_extraction(connection, extraction, source_digest=packet_digest, source_updated_at=now, now=now)
