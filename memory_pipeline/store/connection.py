"""Opening the database: private files, WAL, waiting writers, one lock for concurrent first starts."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memory_pipeline.errors import StoreError
from memory_pipeline.files import FILE_MODE, make_private_folder
from memory_pipeline.lock import os_lock
from memory_pipeline.store.migrations import SCHEMA_VERSION, migrate

#: How long a statement waits for another process's write lock, in seconds.
BUSY_SECONDS = 60.0
#: How long a first start waits for another first start, in seconds.
FIRST_START_SECONDS = 60.0


def open_database(path: Path) -> sqlite3.Connection:
    """Open the database at ``path``, making it and bringing its schema up to date first where needed.

    Raises:
        StoreError: the folder or file can't be made or read, is no database, or is newer than this program.
    """
    try:
        make_private_folder(path.parent)
        _make_private_file(path)
        connection = _connect(path)
    except OSError as error:
        raise StoreError(
            f"{path}: can't be opened: {error.strerror or error}; is the state folder writable?"
        ) from error
    except (sqlite3.DatabaseError, StoreError) as error:
        raise StoreError(f"{path}: can't be opened: {error}") from error
    try:
        _bring_up_to_date(connection, path)
    except (sqlite3.DatabaseError, _RefusedError) as error:
        connection.close()
        raise StoreError(f"{path}: {error}; is the state folder writable, and the file a database of ours?") from error
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def immediate(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Run the block in one transaction that takes the write lock at its start, so that what it reads stays true."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        # A commit that is refused leaves the transaction open; a full disk may have ended it already.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


class _RefusedError(StoreError):
    """SQLite refused a statement: no space, no permission, a damaged file, a lock held for too long."""


class _Connection(sqlite3.Connection):
    """A connection whose faults carry our own error, so that no SQLite type leaves the store."""

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        try:
            return super().execute(sql, parameters)
        except sqlite3.IntegrityError:
            raise
        except sqlite3.DatabaseError as error:
            raise _RefusedError(str(error)) from error

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> sqlite3.Cursor:
        try:
            return super().executemany(sql, parameters)
        except sqlite3.IntegrityError:
            raise
        except sqlite3.DatabaseError as error:
            raise _RefusedError(str(error)) from error


def _make_private_file(path: Path) -> None:
    # SQLite gives its -wal and -shm files the mode of the database. An existing database is never opened here: closing
    # a descriptor drops every POSIX lock that this process holds on the file, those of SQLite's connections included,
    # and another process would then take itself for the last one and delete the write-ahead log that is in use.
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    except FileExistsError:
        return
    os.close(descriptor)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, factory=_Connection
    )
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def _bring_up_to_date(connection: sqlite3.Connection, path: Path) -> None:
    if _version(connection) != SCHEMA_VERSION or _journal_mode(connection) != "wal":
        with os_lock(path.parent / "schema.lock", wait_seconds=FIRST_START_SECONDS, purpose="setting up the database"):
            # WAL comes first: switching it on needs that no other connection writes, and migrations write.
            if _journal_mode(connection) != "wal":
                connection.execute("PRAGMA journal_mode = WAL")
            if _journal_mode(connection) != "wal":
                raise StoreError(f"{path}: its file system does not carry SQLite's WAL; name another state_dir")
            version = _version(connection)
            if version > SCHEMA_VERSION:
                raise StoreError(f"{path}: written by a newer version of memory-pipeline; update the program")
            if version < SCHEMA_VERSION:
                migrate(connection)


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _journal_mode(connection: sqlite3.Connection) -> str:
    return str(connection.execute("PRAGMA journal_mode").fetchone()[0])
