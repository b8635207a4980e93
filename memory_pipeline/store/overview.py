"""Counts over all threads and jobs, made by the database: quick however many there are."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import orjson
from msgspec import Struct

from memory_pipeline.records import Gate, JobState
from memory_pipeline.store.standing import WITHDRAWN

#: As IndexedThread.state tells it.
_STATE = f"""
    CASE
        WHEN {WITHDRAWN} THEN 'gated'
        WHEN j.state IN ('running', 'done', 'no_output') THEN j.state
        WHEN t.gate IS NULL THEN coalesce(j.state, 'pending')
        WHEN x.thread_id IS NULL THEN 'gated'
        WHEN x.tasks = '[]' AND x.rollout_summary = '' THEN 'no_output'
        ELSE 'done'
    END
"""
_FROM = """
    FROM threads AS t LEFT JOIN jobs AS j ON j.thread_id = t.thread_id
    LEFT JOIN extractions AS x ON x.thread_id = t.thread_id
"""


class RunningJob(Struct, frozen=True, kw_only=True):
    """A job that a run has leased."""

    thread_id: str
    owner: str  # host, process id and a number, with colons between
    lease_until: float


class FailedJobs(Struct, frozen=True, kw_only=True):
    """Sessions that failed for the very same reason."""

    state: JobState
    reason: str
    count: int
    first_retry_at: float | None


class Overview:
    """What the store holds, in numbers."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect

    def states(self) -> dict[str, int]:
        """Count the threads by the state that is shown."""
        rows = self._connect().execute(f"SELECT {_STATE} AS state, count(*) AS n {_FROM} GROUP BY 1 ORDER BY 1")
        return {row["state"]: row["n"] for row in rows}

    def agents(self) -> dict[str, int]:
        """Count the threads on disk by agent."""
        rows = self._connect().execute(
            "SELECT agent, count(*) AS n FROM threads WHERE present = 1 GROUP BY agent ORDER BY agent"
        )
        return {row["agent"]: row["n"] for row in rows}

    def running(self) -> list[RunningJob]:
        """Return the jobs that are leased, those whose lease ran out included, by thread id."""
        rows = self._connect().execute(
            "SELECT thread_id, owner, lease_until FROM jobs WHERE state = 'running' ORDER BY thread_id"
        )
        return [
            RunningJob(thread_id=row["thread_id"], owner=row["owner"] or "", lease_until=row["lease_until"] or 0.0)
            for row in rows
        ]

    def failures(self) -> list[FailedJobs]:
        """Return why threads are shown as error or exhausted, by reason, the most frequent first."""
        rows = self._connect().execute(
            f"""
            SELECT shown, reason, count(*) AS n, min(retry_at) AS retry_at FROM (
                SELECT {_STATE} AS shown, coalesce(j.last_error, '') AS reason, j.retry_at AS retry_at
                {_FROM} WHERE j.state IN ('error', 'exhausted')
            )
            WHERE shown IN ('error', 'exhausted') GROUP BY shown, reason ORDER BY n DESC, reason, shown
            """
        )
        return [
            FailedJobs(
                state=JobState(row["shown"]), reason=row["reason"], count=row["n"], first_retry_at=row["retry_at"]
            )
            for row in rows
        ]

    def oldest_words(self, gate: Gate) -> float | None:
        """Return when the thread on disk that this gate holds and that is quiet for the longest said something."""
        row = self._connect().execute("SELECT min(updated_at) FROM threads WHERE present = 1 AND gate = ?", (gate,))
        value = row.fetchone()[0]
        return None if value is None else float(value)

    def newest_words(self) -> float | None:
        """Return the newest time in any log, as its last record says, whether it has come yet or not."""
        value = self._connect().execute("SELECT max(max(updated_at, newest_at)) FROM threads").fetchone()[0]
        return None if value is None else float(value)

    def unknown_types(self) -> dict[str, tuple[int, int]]:
        """Return the line types that no grammar knows: how many lines, in how many threads; most frequent first."""
        lines: dict[str, int] = {}
        threads: dict[str, int] = {}
        for row in self._connect().execute("SELECT unknown_types FROM threads WHERE unknown_types <> '{}'"):
            for name, count in orjson.loads(row[0]).items():
                lines[name] = lines.get(name, 0) + count
                threads[name] = threads.get(name, 0) + 1
        return {name: (lines[name], threads[name]) for name in sorted(lines, key=lambda name: (-lines[name], name))}
