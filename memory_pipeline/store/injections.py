"""What was given to new tasks: when, to which thread, where, and how much. Ids and figures, no words of a memory."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from typing import NamedTuple

from memory_pipeline.clock import DAY_SECONDS
from memory_pipeline.store.connection import immediate

#: Older records are dropped.
KEPT_DAYS = 365
#: And so are the oldest ones above this number.
KEPT_RECORDS = 50_000


class Injection(NamedTuple):
    """One time that memories were given to a task."""

    at: float
    thread_id: str | None  # None where the caller named none
    again: int  # how often the same thread had been given some before
    cwd: str | None  # redacted
    scope: str | None  # of the project; None where there was none
    format: str
    tokens: int  # estimated
    memory_ids: tuple[str, ...]  # those that are not forgotten, in the order they were told


class Injected(NamedTuple):
    """How much was given within a time."""

    times: int
    tokens: int


class Injections:
    """The records of what was given."""

    def __init__(
        self, connect: Callable[[], sqlite3.Connection], *, to_write: Callable[[], sqlite3.Connection] | None = None
    ) -> None:
        """Read through ``connect``; write through ``to_write`` where the other connection only reads."""
        self._connect = connect
        self._connect_to_write = to_write or connect

    def record(
        self,
        *,
        now: float,
        thread_id: str | None,
        may_repeat: bool,
        cwd: str | None,
        scope: str | None,
        output_format: str,
        tokens: int,
        memory_ids: Sequence[str],
    ) -> bool:
        """Write down that memories are given; false, and nothing is written, when this thread was given some before.

        ``may_repeat`` lets it be given again. Of two that ask at once, one is told true. Nothing counts as used.
        """
        with immediate(self._connect_to_write()) as connection:
            earlier = connection.execute(
                "SELECT max(again) FROM injections WHERE thread_id = ?", (thread_id,)
            ).fetchone()[0]
            if earlier is not None and not may_repeat:
                return False
            connection.execute(
                """
                INSERT INTO injections (at, thread_id, again, cwd, scope, format, tokens, memory_ids)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """,
                (
                    now,
                    thread_id,
                    0 if earlier is None else earlier + 1,
                    cwd,
                    scope,
                    output_format,
                    tokens,
                    json.dumps(list(memory_ids)),
                ),
            )
            if thread_id is not None:
                # As the chronicle's own lines are written; its module loads every record, which takes too long here.
                connection.execute(
                    "INSERT INTO chronicle (at, thread_id, what, count) VALUES (?, ?, 'given', ?)",
                    (now, thread_id, len(memory_ids)),
                )
        return True

    def was_given(self, thread_id: str) -> bool:
        """Whether this thread was given memories before."""
        row = self._connect().execute("SELECT 1 FROM injections WHERE thread_id = ? LIMIT 1", (thread_id,)).fetchone()
        return row is not None

    def newest(self, *, thread_id: str | None = None, limit: int) -> list[Injection]:
        """Return what was given, to one thread or to all, newest first, at most ``limit``."""
        rows = self._connect().execute(
            """
            SELECT * FROM injections WHERE (:thread_id IS NULL OR thread_id = :thread_id)
            ORDER BY injection_id DESC LIMIT :limit
            """,
            {"thread_id": thread_id, "limit": limit},
        )
        return [
            Injection(
                at=row["at"],
                thread_id=row["thread_id"],
                again=row["again"],
                cwd=row["cwd"],
                scope=row["scope"],
                format=row["format"],
                tokens=row["tokens"],
                memory_ids=tuple(json.loads(row["memory_ids"])),
            )
            for row in rows
        ]

    def since(self, moment: float) -> Injected:
        """Return how often memories were given since a moment, and how many tokens that were."""
        row = (
            self._connect()
            .execute(
                "SELECT count(*) AS n, coalesce(sum(tokens), 0) AS tokens FROM injections WHERE at >= ?", (moment,)
            )
            .fetchone()
        )
        return Injected(times=row["n"], tokens=row["tokens"])

    def trim(self, *, now: float) -> None:
        """Drop what is older than is kept, and the oldest records above the number that is kept."""
        connection = self._connect()
        first = connection.execute("SELECT injection_id, at FROM injections ORDER BY injection_id LIMIT 1").fetchone()
        if first is None:
            return
        # Whole days: the table is searched once a day, not at every pass.
        too_old = (now // DAY_SECONDS - KEPT_DAYS) * DAY_SECONDS
        last_id = connection.execute("SELECT max(injection_id) FROM injections").fetchone()[0]
        spare = last_id - KEPT_RECORDS * 9 // 10 if last_id - first["injection_id"] >= KEPT_RECORDS else 0
        if first["at"] >= too_old and not spare:
            return
        with immediate(connection):
            connection.execute("DELETE FROM injections WHERE at < ? OR injection_id <= ?", (too_old, spare))
