"""Looking at the database without changing it: for what must work while it is missing, damaged or held by others."""

from __future__ import annotations

import os
import sqlite3
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memory_pipeline.errors import DamagedDatabaseError, StoreError
from memory_pipeline.store.connection import _Connection, own_error
from memory_pipeline.store.migrations import SCHEMA_VERSION

if TYPE_CHECKING:
    from memory_pipeline.store.store import Store

#: How long a look waits for whoever holds the database for themselves, in seconds.
LOOK_SECONDS = 2.0
#: How many faults of a damaged database are told.
_MOST_FAULTS = 5


class DatabaseState(StrEnum):
    """What a look at the database found."""

    FINE = "fine"  # it can be read
    MISSING = "missing"  # there is none yet
    LOCKED = "locked"  # another program holds it for itself
    OLDER = "older"  # of an earlier version: the next run brings it up to date
    NEWER = "newer"  # of a later version: this program must be updated
    BROKEN = "broken"  # damaged, or no database
    UNREADABLE = "unreadable"  # it can't be opened


class CantLookError(StoreError):
    """The database can't be read now; ``state`` says why."""

    def __init__(self, message: str, *, state: DatabaseState) -> None:
        super().__init__(message)
        self.state = state


class Health(NamedTuple):
    """What SQLite says of a database."""

    faults: tuple[str, ...]  # of its structure; none: it is sound
    version: int  # of the schema
    journal_mode: str
    bytes: int
    free_bytes: int  # pages that hold nothing
    log_bytes: int  # of the write-ahead log


def look_at(path: Path) -> Store:
    """Open the database for reading alone; nothing is made, and nothing is brought up to date. Close it when done.

    Raises:
        CantLookError: there is none, or it can't be read.
    """
    from memory_pipeline.store.store import Store

    _check(path)
    return Store(path, look=lambda: open_to_look(path))


def health_of(path: Path) -> Health:
    """Let SQLite check a database; takes about a second for each hundred megabytes.

    Raises:
        CantLookError: there is none, or it can't be read at all.
    """
    connection = open_to_look(path, any_version=True)
    try:
        faults = [str(row[0]) for row in connection.execute(f"PRAGMA quick_check({_MOST_FAULTS})")]
        size = _number(connection, "page_size")
        return Health(
            faults=tuple(fault for fault in faults if fault != "ok"),
            version=_number(connection, "user_version"),
            journal_mode=str(connection.execute("PRAGMA journal_mode").fetchone()[0]),
            bytes=size * _number(connection, "page_count"),
            free_bytes=size * _number(connection, "freelist_count"),
            log_bytes=_size_of(path.with_name(f"{path.name}-wal")),
        )
    except StoreError as error:
        raise why_not(path, error) from error
    finally:
        connection.close()


def why_not(path: Path, error: StoreError) -> CantLookError:
    """Say what it means that reading failed."""
    if isinstance(error, CantLookError):
        return error
    code = getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF
    if isinstance(error, DamagedDatabaseError):
        return CantLookError(str(error), state=DatabaseState.BROKEN)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return CantLookError(f"{path}: another program holds the database for itself", state=DatabaseState.LOCKED)
    if "no such table" in str(error) or "no such column" in str(error):
        return CantLookError(f"{path}: it is no database of ours ({error.__cause__})", state=DatabaseState.BROKEN)
    return CantLookError(str(error), state=DatabaseState.UNREADABLE)


def open_to_look(path: Path, *, any_version: bool = False, busy_seconds: float = LOOK_SECONDS) -> sqlite3.Connection:
    """Open a connection that only reads, and waits ``busy_seconds`` for whoever holds the database for themselves.

    Raises:
        CantLookError: there is none, or it can't be read.
    """
    _check(path)
    try:
        connection = _connect(path, busy_seconds)
    except StoreError as error:
        raise why_not(path, error) from error
    version = _number(connection, "user_version")
    if version != SCHEMA_VERSION and not any_version:
        connection.close()
        raise _of_another_version(path, version)
    return connection


def _check(path: Path) -> None:
    try:
        if not os.path.lexists(path):
            path.parent.stat()
            raise CantLookError(f"{path} does not exist yet", state=DatabaseState.MISSING)
        if not path.is_file():
            raise CantLookError(f"{path} is no file", state=DatabaseState.UNREADABLE)
    except FileNotFoundError:
        raise CantLookError(f"{path} does not exist yet", state=DatabaseState.MISSING) from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise CantLookError(f"{path} can't be looked at ({reason})", state=DatabaseState.UNREADABLE) from error


def _connect(path: Path, busy_seconds: float) -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?mode=ro"
    try:
        return _opened(path, address, busy_seconds)
    except StoreError:
        # Where nobody may write, the files beside the database can't be made; without a log there is nothing in them.
        if os.access(path.parent, os.W_OK) or _size_of(path.with_name(f"{path.name}-wal")):
            raise
        return _opened(path, f"{address}&immutable=1", busy_seconds)


def _opened(path: Path, address: str, busy_seconds: float) -> sqlite3.Connection:
    try:
        connection = sqlite3.connect(
            address, uri=True, timeout=busy_seconds, isolation_level=None, check_same_thread=False, factory=_Connection
        )
    except sqlite3.DatabaseError as error:
        raise own_error(error, path) from error
    connection.path = path
    connection.row_factory = sqlite3.Row
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _of_another_version(path: Path, version: int) -> CantLookError:
    if version > SCHEMA_VERSION:
        return CantLookError(f"{path} was written by a newer version of memory-pipeline", state=DatabaseState.NEWER)
    if version == 0:
        return CantLookError(f"{path} is not set up yet", state=DatabaseState.MISSING)
    return CantLookError(f"{path} is of an earlier version of memory-pipeline", state=DatabaseState.OLDER)


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
