"""Keeping the database small and whole: what may go after a time, room given back, a look at every page now and then.

What goes is bookkeeping alone. Entries, memories, their evidence and their steps stay until a person forgets them.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from memory_pipeline.clock import DAY_SECONDS
from memory_pipeline.errors import DamagedDatabaseError, StoreError
from memory_pipeline.store.connection import BUSY_SECONDS, connect, immediate, suspect
from memory_pipeline.store.forgetting import Forgetting
from memory_pipeline.store.migrations import SCHEMA_VERSION
from memory_pipeline.store.opening import faults_in

#: A session whose log is gone, and that gave nothing, is let go of so long after its last words.
VANISHED_DAYS = 365
#: A citation that was counted, of a session whose log is gone.
CITATION_DAYS = 180
#: A consolidation that changed no memory; of these the newest always stay.
CONSOLIDATION_DAYS = 90
NEWEST_CONSOLIDATIONS = 100
#: Undoing a step needs the memory as it was before. It is kept this long, and always of a memory's newest steps.
UNDO_DAYS = 180
NEWEST_STEPS = 50

#: The file is written anew when so large a share of it, and so much, is free.
_FREE_SHARE = 0.25
_FREE_BYTES = 2 << 20
#: Room is given back when nobody is in the way; it is not worth a wait.
_PATIENCE_MILLISECONDS = 1000
#: Of smaller tables SQLite is to note no size.
_FEW_ROWS = 1000


class Tidied(Struct, frozen=True, kw_only=True):
    """What upkeep let go of, in rows."""

    threads: int = 0
    citations: int = 0
    consolidations: int = 0
    images: int = 0


class Upkeep:
    """The chores of one database."""

    def __init__(self, connect: Callable[[], sqlite3.Connection], path: Path) -> None:
        self._connect = connect
        self._path = path

    def last_done(self, chore: str) -> float | None:
        """Return when a chore was last done, None for never."""
        row = self._connect().execute("SELECT done_at FROM chores WHERE name = ?", (chore,)).fetchone()
        return None if row is None else float(row["done_at"])

    def note_done(self, chore: str, *, now: float) -> None:
        """Note that a chore was done."""
        with immediate(self._connect()) as connection:
            connection.execute("INSERT OR REPLACE INTO chores (name, done_at) VALUES (?, ?)", (chore, now))

    def tidy(self, *, now: float) -> Tidied:
        """Let go of bookkeeping that is of no use any more, in one transaction."""
        with immediate(self._connect()) as connection:
            return Tidied(
                citations=_drop_citations(connection, now),
                threads=_drop_threads(connection, now),
                images=_drop_images(connection, now),
                consolidations=_drop_consolidations(connection, now),
            )

    def find_faults(self) -> list[str]:
        """Look at every page and row; damage is noted beside the database as well, so that the next start mends it."""
        faults = _faults_over(self._connect)
        if faults:
            suspect(self._path)
        return faults

    def give_room_back(self) -> None:
        """Empty the write-ahead log, and write the file anew where much of it is free. What can't be done now waits."""
        connection = self._connect()
        # A reader elsewhere, or a full disk, is no fault of this run.
        with contextlib.suppress(StoreError, OSError):
            connection.execute("PRAGMA optimize")
            _take_few_for_many(connection)
            pages, free, size = (
                int(connection.execute(f"PRAGMA {name}").fetchone()[0])
                for name in ("page_count", "freelist_count", "page_size")
            )
            has_space = shutil.disk_usage(self._path.parent).free > 2 * pages * size
            connection.execute(f"PRAGMA busy_timeout = {_PATIENCE_MILLISECONDS}")
            if free * size > _FREE_BYTES and free > pages * _FREE_SHARE and has_space:
                connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        connection.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000:.0f}")


def faults_of_unused(path: Path) -> list[str]:
    """Return what is wrong with a database that nobody else uses; see find_faults.

    Raises:
        StoreError: it can't be opened or read.
    """
    try:
        with closing(connect(path, alone=True)) as connection:
            return _faults_over(lambda: connection)
    except DamagedDatabaseError as error:
        return [error.reason]


def _faults_over(get_connection: Callable[[], sqlite3.Connection]) -> list[str]:
    faults = faults_in(get_connection(), thorough=True)
    if faults or get_connection().execute("PRAGMA user_version").fetchone()[0] != SCHEMA_VERSION:
        return faults
    try:
        # As the program reads it: a value that none can have is no fault to SQLite.
        Forgetting(get_connection).kept()
    except (ValueError, TypeError, KeyError) as error:
        return [f"a value can't be read ({type(error).__name__})"]
    return []


def _take_few_for_many(connection: sqlite3.Connection) -> None:
    """Drop what SQLite noted of small tables, so that it takes them for large ones.

    Such may grow a thousandfold before the next note. Scanning them for each row of another would take minutes by then;
    looking up the few that there are now costs nothing.
    """
    if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_stat1'").fetchone():
        with immediate(connection):
            connection.execute("DELETE FROM sqlite_stat1 WHERE CAST(stat AS INTEGER) < ?", (_FEW_ROWS,))
        connection.execute("ANALYZE sqlite_schema")  # only reads the notes once more


def _drop_citations(connection: sqlite3.Connection, now: float) -> int:
    return connection.execute(
        """
        DELETE FROM citations
        WHERE counted = 1 AND at < ? AND thread_id IN (SELECT thread_id FROM threads WHERE present = 0)
        """,
        (now - CITATION_DAYS * DAY_SECONDS,),
    ).rowcount


def _drop_threads(connection: sqlite3.Connection, now: float) -> int:
    """Let go of sessions of which nothing was kept, and nothing will be: no log, no entry, no word of a person."""
    gone = connection.execute(
        """
        DELETE FROM threads
        WHERE present = 0 AND max(updated_at, newest_at, indexed_at) < ? AND disabled_by_person = 0
            AND thread_id NOT IN (SELECT thread_id FROM extractions)
            AND thread_id NOT IN (SELECT thread_id FROM entries)
            AND thread_id NOT IN (SELECT thread_id FROM citations)
            AND thread_id NOT IN (SELECT thread_id FROM jobs WHERE state = 'running')
        RETURNING thread_id
        """,
        (now - VANISHED_DAYS * DAY_SECONDS,),
    ).fetchall()
    connection.executemany(
        "DELETE FROM rollout_files WHERE thread_id = ? AND present = 0", [(row["thread_id"],) for row in gone]
    )
    return len(gone)


def _drop_images(connection: sqlite3.Connection, now: float) -> int:
    """Let go of how a memory was before an old confirmation. Each names all entries of its time, so they add up."""
    return connection.execute(
        """
        UPDATE operations SET before = NULL
        WHERE before IS NOT NULL AND operation = 'merge' AND at < ? AND operation_id IN (
            SELECT operation_id FROM (
                SELECT operation_id, row_number() OVER (PARTITION BY memory_id ORDER BY operation_id DESC) AS place
                FROM operations
            ) WHERE place > ?
        )
        """,
        (now - UNDO_DAYS * DAY_SECONDS, NEWEST_STEPS),
    ).rowcount


def _drop_consolidations(connection: sqlite3.Connection, now: float) -> int:
    return connection.execute(
        """
        DELETE FROM consolidations
        WHERE started_at < ? AND state IN ('done', 'failed') AND undoes IS NULL AND undone_by IS NULL
            AND consolidation_id NOT IN (SELECT consolidation_id FROM operations)
            AND consolidation_id NOT IN (SELECT consolidation_id FROM journal_records)
            AND consolidation_id NOT IN (
                SELECT consolidation_id FROM consolidations ORDER BY consolidation_id DESC LIMIT ?
            )
            AND consolidation_id != (SELECT coalesce(max(consolidation_id), 0) FROM consolidations WHERE state = 'done')
        """,
        (now - CONSOLIDATION_DAYS * DAY_SECONDS, NEWEST_CONSOLIDATIONS),
    ).rowcount
