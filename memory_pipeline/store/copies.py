"""Copies of the database: made while it is used, looked at untouched; what is saved from a damaged one."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from memory_pipeline.errors import StoreError
from memory_pipeline.files import FILE_MODE
from memory_pipeline.store.connection import connect, immediate, open_database
from memory_pipeline.store.migrations import SCHEMA_VERSION, migrate
from memory_pipeline.store.opening import faults_in


def copy_database(connection: sqlite3.Connection, target: Path) -> None:
    """Write what the database holds now into a file of its own, beside whoever writes to it.

    Raises:
        StoreError: it can't be read or written.
        OSError: the file can't be made.
    """
    os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE))
    try:
        with closing(sqlite3.connect(target, isolation_level=None)) as copy:
            connection.backup(copy)
            # One file, whatever is read from it later: no write-ahead log is looked for beside it.
            copy.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error as error:
        raise StoreError(f"{target}: the database can't be copied there: {error}") from error
    _sync(target)


def faults_of_copy(path: Path) -> list[str]:
    """Return what is wrong with a copy, which nobody writes to; nothing is written beside it."""
    try:
        uri = f"file:{quote(str(path))}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as copy:
            version = int(copy.execute("PRAGMA user_version").fetchone()[0])
            if version > SCHEMA_VERSION:
                return ["it was written by a newer version of memory-pipeline"]
            return faults_in(copy, thorough=True) or _faults_of_schema(copy, version)
    except (sqlite3.Error, StoreError) as error:
        return [str(error)]
    except UnicodeDecodeError:  # SQLite tells of damage in words of the damaged file
        return ["it holds a name that is not UTF-8"]


def _faults_of_schema(copy: sqlite3.Connection, version: int) -> list[str]:
    """Say whether this program could work on a copy; the schema of an older one is brought up to date in memory."""
    memory = ":memory:"
    with (
        closing(sqlite3.connect(memory, isolation_level=None)) as ours,
        closing(sqlite3.connect(memory, isolation_level=None)) as theirs,
    ):
        migrate(ours)
        looked_at = copy
        if version < SCHEMA_VERSION:
            copy.backup(theirs)
            try:
                migrate(theirs)
            except sqlite3.Error:
                return ["it is no database of memory-pipeline"]
            looked_at = theirs
        lacking = _columns(ours) - _columns(looked_at)
    return ["it is no database of memory-pipeline"] if lacking else []


def _columns(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    """Return the columns of all tables, each with the name of its table."""
    return set(
        connection.execute(
            """
            SELECT tables.name, columns.name FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns
            WHERE tables.type = 'table'
            """
        ).fetchall()
    )


def make_empty_database(path: Path) -> None:
    """Make a database that holds nothing yet, as one file.

    Raises:
        StoreError: it can't be made.
    """
    with closing(open_database(path, use_wal=False)):
        pass


def carry_spending_over(damaged: Path, database: Path, *, since: float) -> bool:
    """Book in ``database`` what a damaged one tells of the spending since a moment; whether it told all of it.

    Raises:
        StoreError: ``database`` can't be written.
    """
    try:
        with closing(connect(damaged, alone=True)) as old:
            columns = [str(row["name"]) for row in old.execute("PRAGMA table_info(ledger)").fetchall()]
            rows = old.execute("SELECT * FROM ledger NOT INDEXED WHERE at > ?", (since,)).fetchall()
    except StoreError:
        return False
    with closing(connect(database, alone=True)) as new:
        known = {str(row["name"]) for row in new.execute("PRAGMA table_info(ledger)").fetchall()}
        shared = [column for column in columns if column in known]
        if "booking_id" not in shared:
            return False
        names, marks = ", ".join(shared), ", ".join("?" for _ in shared)
        with immediate(new):
            new.executemany(
                f"INSERT OR REPLACE INTO ledger ({names}) VALUES ({marks})",
                [tuple(row[column] for column in shared) for row in rows],
            )
    return True


def book_unknown_spending(database: Path, *, tokens: int, now: float) -> None:
    """Book tokens of which nothing is known any more.

    Raises:
        StoreError: it can't be written.
    """
    with closing(connect(database, alone=True)) as connection, immediate(connection):
        connection.execute(
            "INSERT INTO ledger (at, phase, model, reserved_tokens) VALUES (?, 'unknown', 'unknown', ?)", (now, tokens)
        )


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
