"""What a new task may be given: the active memories of some scopes, as they are told, without their history.

Active here are those that rest on something that stands now, not when they were last consolidated.

Its own small rows, since a task waits for them: loading the records of every room takes longer than the whole answer.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import NamedTuple

from memory_pipeline.store.search import Search
from memory_pipeline.store.standing import TOLD

_COLUMNS = """
    m.memory_id, m.scope, m.kind, m.statement, m.condition, m.pinned, m.last_confirmed,
    coalesce(u.count, 0) AS used, u.last_usage
"""
_FROM = "memories AS m LEFT JOIN usage AS u ON u.subject = 'memory' AND u.subject_id = m.memory_id"


class Told(NamedTuple):
    """One active memory as a task is told it."""

    memory_id: str
    scope: str
    kind: str
    statement: str
    condition: str
    pinned: bool
    last_confirmed: float
    used: int
    last_usage: float | None


class Recalled:
    """The active memories, to be given to a task. Nothing here writes."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._search = Search(connect, may_write=False)  # a task waits for it

    def scope_with_remote(self, folder: str) -> str | None:
        """Return the scope that the newest log with a git remote gives a folder, None where there is none."""
        row = (
            self._connect()
            .execute(
                """
                SELECT scope FROM threads WHERE cwd = ? AND has_remote = 1
                ORDER BY updated_at DESC, thread_id DESC LIMIT 1
                """,
                (folder,),
            )
            .fetchone()
        )
        return None if row is None else str(row["scope"])

    def has_scope(self, scope: str) -> bool:
        """Whether anything was ever remembered of a scope."""
        row = self._connect().execute("SELECT 1 FROM memories WHERE scope = ? LIMIT 1", (scope,)).fetchone()
        return row is not None

    def count(self, scope: str) -> int:
        """Count the active memories of one scope."""
        row = (
            self._connect()
            .execute(f"SELECT count(*) FROM memories AS m WHERE {TOLD} AND m.scope = ?", (scope,))
            .fetchone()
        )
        return int(row[0])

    def foremost(self, scope: str, *, limit: int) -> list[Told]:
        """Return active memories of one scope: the pinned, the most used and the newest, of each at most ``limit``.

        By id, each once.
        """
        found: dict[str, Told] = {}
        for condition, order in (
            ("m.pinned = 1", "m.last_confirmed DESC"),
            ("u.count > 0", "u.count DESC, u.last_usage DESC"),
            ("1", "m.last_confirmed DESC"),
        ):
            rows = self._connect().execute(
                f"""
                SELECT {_COLUMNS} FROM {_FROM} WHERE {TOLD} AND m.scope = ? AND {condition}
                ORDER BY {order}, m.memory_id LIMIT ?
                """,
                (scope, limit),
            )
            found.update((row["memory_id"], _told(row)) for row in rows)
        return [found[memory_id] for memory_id in sorted(found)]

    def matching(self, query: str, scopes: Sequence[str], *, limit: int) -> list[tuple[Told, float]]:
        """Return active memories of these scopes that hold a term of ``query``, best first, and how well they match.

        The index is taken as it stands: what changed since it was last brought up to date is not found.
        """
        hits = self._search.find(query, limit=limit, scopes=scopes)
        marks = ", ".join("?" for _ in hits)
        rows = self._connect().execute(
            f"SELECT {_COLUMNS} FROM {_FROM} WHERE m.memory_id IN ({marks})", tuple(hit.memory_id for hit in hits)
        )
        told = {row["memory_id"]: _told(row) for row in rows}
        return [(told[hit.memory_id], hit.score) for hit in hits if hit.memory_id in told]


def _told(row: sqlite3.Row) -> Told:
    return Told(
        memory_id=row["memory_id"],
        scope=row["scope"],
        kind=row["kind"],
        statement=row["statement"],
        condition=row["condition"],
        pinned=bool(row["pinned"]),
        last_confirmed=row["last_confirmed"],
        used=row["used"],
        last_usage=row["last_usage"],
    )
