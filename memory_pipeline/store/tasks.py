"""Submitted tasks in the index: threads whose log is one line of the journal."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memory_pipeline.records import Agent, Happened, RolloutFile, TaskLine, ThreadFacts
from memory_pipeline.store.chronicle import note
from memory_pipeline.store.connection import immediate
from memory_pipeline.store.threads import refresh_claimable, upsert_thread

_SELECT_PLACES = "SELECT thread_id, content_digest, own_from_byte, present FROM threads"


class TaskPlace(Struct, frozen=True, kw_only=True):
    """Where the line of a task was last seen, and what it said."""

    digest: str
    byte_start: int
    present: bool


class SubmittedTasks:
    """The threads of tasks. Every method that writes is one transaction."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect

    def places(self) -> dict[str, TaskPlace]:
        """Return where each task's line was last seen, by thread, those that vanished included."""
        rows = self._connect().execute(f"{_SELECT_PLACES} WHERE agent = ?", (Agent.TASK,))
        return {row["thread_id"]: _place(row) for row in rows}

    def place_of(self, thread_id: str) -> TaskPlace | None:
        """Return where one task's line was last seen; None where there is no such task."""
        row = (
            self._connect()
            .execute(f"{_SELECT_PLACES} WHERE agent = ? AND thread_id = ?", (Agent.TASK, thread_id))
            .fetchone()
        )
        return _place(row) if row else None

    def record(self, facts: ThreadFacts, line: TaskLine, *, journal_path: str, now: float) -> None:
        """Store what a task's line tells."""
        file = RolloutFile(
            Agent.TASK,
            journal_path,
            facts.thread_id,
            archived=False,
            size=line.byte_end - line.byte_start,
            mtime_ns=0,
            inode=0,
            device=0,
        )
        # A clock that ran ahead must not make a task the newest for years; how long it took is right all the same.
        ended_at = facts.updated_at if facts.updated_at is not None else now
        updated_at = min(ended_at, now)
        if facts.started_at is not None:
            facts = replace(facts, started_at=facts.started_at - (ended_at - updated_at))
        with immediate(self._connect()) as connection:
            row = connection.execute(
                "SELECT content_digest FROM threads WHERE thread_id = ?", (facts.thread_id,)
            ).fetchone()
            upsert_thread(connection, file, facts, line.task.scope, updated_at, now)
            connection.execute(
                "UPDATE threads SET own_from_byte = ?, newest_at = ?, task_status = ? WHERE thread_id = ?",
                (line.byte_start, updated_at, line.task.status, facts.thread_id),
            )
            if row is None:
                note(connection, facts.thread_id, Happened.INDEXED, now=now)
            elif row["content_digest"] != facts.content_digest:
                note(connection, facts.thread_id, Happened.GREW, now=now)
            refresh_claimable(connection, [facts.thread_id])

    def record_vanished(self, thread_ids: Sequence[str], *, now: float) -> None:
        """Note that the journal holds these tasks no longer; what they said stays."""
        if not thread_ids:
            return
        with immediate(self._connect()) as connection:
            connection.executemany("UPDATE threads SET present = 0 WHERE thread_id = ?", [(one,) for one in thread_ids])
            for thread_id in thread_ids:
                note(connection, thread_id, Happened.VANISHED, now=now)
            refresh_claimable(connection, thread_ids)


def _place(row: sqlite3.Row) -> TaskPlace:
    return TaskPlace(digest=row["content_digest"], byte_start=row["own_from_byte"], present=bool(row["present"]))
