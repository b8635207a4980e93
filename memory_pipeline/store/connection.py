"""Opening the database: private files, WAL, waiting writers, one lock for concurrent first starts."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memory_pipeline.errors import DamagedDatabaseError, StoreError
from memory_pipeline.files import FILE_MODE, make_private_folder
from memory_pipeline.lock import os_lock
from memory_pipeline.store.migrations import SCHEMA_VERSION, migrate

#: How long a statement waits for another process's write lock, in seconds.
BUSY_SECONDS = 60.0
#: How long a first start waits for another first start, in seconds.
FIRST_START_SECONDS = 60.0


def open_database(path: Path, *, use_wal: bool = True, busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
    """Open the database at ``path``, making it and bringing its schema up to date first where needed.

    Without ``use_wal`` it keeps a rollback journal instead of a write-ahead log, whose index is shared memory: that
    does not reach from one machine to another, or into a virtual one.

    Raises:
        DamagedDatabaseError: the file is no database, or is damaged.
        StoreError: the folder or file can't be made or read, or is newer than this program.
    """
    try:
        make_private_folder(path.parent)
        _make_private_file(path)
        connection = connect(path, busy_seconds=busy_seconds)
    except OSError as error:
        raise StoreError(
            f"{path}: can't be opened: {error.strerror or error}; is the state folder writable?"
        ) from error
    try:
        _bring_up_to_date(connection, path, use_wal=use_wal)
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


def data_version(connection: sqlite3.Connection) -> int:
    """Return what is another number once any other connection has written."""
    return int(connection.execute("PRAGMA data_version").fetchone()[0])


#: What a call of SQLite may raise that tells of the database, and not of the call.
_FAULTS = (sqlite3.DatabaseError, UnicodeDecodeError)


class _Cursor(sqlite3.Cursor):
    """A cursor whose faults carry our own error: a damaged page may show only while rows are fetched."""

    # Not by a context manager: a run has thousands of these calls, and what stands in ``except`` costs nothing.

    def execute(self, sql: str, parameters: Any = (), /) -> _Cursor:
        try:
            super().execute(sql, parameters)
        except _FAULTS as error:
            raise self._own(error) from error
        return self

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> _Cursor:
        try:
            super().executemany(sql, parameters)
        except _FAULTS as error:
            raise self._own(error) from error
        return self

    def fetchone(self) -> Any:
        try:
            return super().fetchone()
        except _FAULTS as error:
            raise self._own(error) from error

    def fetchmany(self, size: int | None = 1) -> list[Any]:
        try:
            return super().fetchmany(size)
        except _FAULTS as error:
            raise self._own(error) from error

    def fetchall(self) -> list[Any]:
        try:
            return super().fetchall()
        except _FAULTS as error:
            raise self._own(error) from error

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        try:
            yield from iter(super().__next__, None)
        except _FAULTS as error:
            raise self._own(error) from error

    def _own(self, error: sqlite3.DatabaseError | UnicodeDecodeError) -> StoreError:
        """Return our own error for SQLite's. One that an insertion expects, IntegrityError, is raised as it is."""
        if isinstance(error, sqlite3.IntegrityError):
            raise error
        path = getattr(self.connection, "path", Path())
        # Left open, it would keep its connection, and the locks of that, alive as long as the error is.
        self.close()
        if isinstance(error, UnicodeDecodeError):  # SQLite tells of damage in words of the damaged file
            return _damage(path, "it holds a name that is not UTF-8")
        return own_error(error, path)


class _Connection(sqlite3.Connection):
    """A connection whose faults carry our own error, so that no SQLite type leaves the store."""

    path = Path()

    def cursor(self, factory: Any = _Cursor) -> Any:
        return super().cursor(factory)

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        cursor: sqlite3.Cursor = self.cursor().execute(sql, parameters)
        return cursor

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> sqlite3.Cursor:
        cursor: sqlite3.Cursor = self.cursor().executemany(sql, parameters)
        return cursor


def own_error(error: sqlite3.DatabaseError, path: Path) -> StoreError:
    """Return our error for one of SQLite's; damage is noted beside the database, so that the next start looks."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or _IS_NO_TEXT in str(error):
        # Of a text that is none, SQLite tells the text.
        return _damage(path, "a text is not UTF-8" if _IS_NO_TEXT in str(error) else str(error))
    if _OTHER_TABLES in str(error):
        return _damage(path, str(error))
    return StoreError(f"{path}: {_REASONS.get(code) or error}")


def _damage(path: Path, reason: str) -> DamagedDatabaseError:
    suspect(path)
    message = f"{path}: the database is damaged ({reason}); the next command mends it"
    return DamagedDatabaseError(message, reason=reason)


#: What SQLite says of tables that don't fit each other: ours do, unless a byte of what describes them was changed.
_OTHER_TABLES = "foreign key mismatch"
#: What sqlite3 says of a text that is none: we write no other.
_IS_NO_TEXT = "Could not decode to UTF-8"
_REASONS = {
    sqlite3.SQLITE_FULL: "no space is left on its disk; free some, and the next run goes on",
    sqlite3.SQLITE_IOERR: "can't be read or written (an error of its disk, or no space is left there)",
    sqlite3.SQLITE_READONLY: "can't be written; is the state folder writable?",
    sqlite3.SQLITE_CANTOPEN: "can't be opened; is the state folder writable, and the file a database of ours?",
    sqlite3.SQLITE_BUSY: "another program has kept it busy for too long; end that program",
}


def suspect(path: Path) -> None:
    """Note beside the database that it seemed damaged."""
    with contextlib.suppress(OSError):  # the same fault may show once more; then it is noted
        _make_private_file(suspicion_of(path))


def suspicion_of(path: Path) -> Path:
    """Return the file that stands beside a database that seemed damaged."""
    return path.with_name("database.suspect")


def _make_private_file(path: Path) -> None:
    # SQLite gives its -wal and -shm files the mode of the database. An existing database is never opened here: closing
    # a descriptor drops every POSIX lock that this process holds on the file, those of SQLite's connections included,
    # and another process would then take itself for the last one and delete the write-ahead log that is in use.
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    except FileExistsError:
        return
    os.close(descriptor)


def connect(path: Path, *, alone: bool = False, busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
    """Connect to a database that is there, as it is.

    ``alone`` is for a caller that knows that nobody else uses it: then even a write-ahead log needs no shared memory.
    ``busy_seconds`` is how long a statement waits for another process's write lock.

    Raises:
        StoreError: it can't be opened.
    """
    try:
        connection = sqlite3.connect(
            path, timeout=busy_seconds, isolation_level=None, check_same_thread=False, factory=_Connection
        )
    except sqlite3.DatabaseError as error:
        raise own_error(error, path) from error
    connection.path = path
    try:
        connection.row_factory = sqlite3.Row
        if alone:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _bring_up_to_date(connection: sqlite3.Connection, path: Path, *, use_wal: bool) -> None:
    mode = "wal" if use_wal else "delete"
    if not use_wal:
        connection.execute("PRAGMA synchronous = FULL")  # a rollback journal is safe against a power cut with no less
    if _version(connection) != SCHEMA_VERSION or _journal_mode(connection) != mode:
        with os_lock(path.parent / "schema.lock", wait_seconds=FIRST_START_SECONDS, purpose="setting up the database"):
            # WAL comes first: switching it on needs that no other connection writes, and migrations write.
            if _journal_mode(connection) != mode:
                connection.execute(f"PRAGMA journal_mode = {mode}")
            if _journal_mode(connection) != mode:
                raise StoreError(
                    f"{path}: its file system does not carry SQLite's {mode} journal; name another state_dir"
                )
            version = _version(connection)
            if version > SCHEMA_VERSION:
                raise StoreError(f"{path}: written by a newer version of memory-pipeline; update the program")
            if version < SCHEMA_VERSION:
                migrate(connection)


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _journal_mode(connection: sqlite3.Connection) -> str:
    return str(connection.execute("PRAGMA journal_mode").fetchone()[0])
