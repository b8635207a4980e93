"""Before a database is used: who uses it, whether its last user was cut off, whether it is whole."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from memory_pipeline.errors import DamagedDatabaseError, LockedError, StoreError
from memory_pipeline.files import make_private_folder
from memory_pipeline.lock import UseLock
from memory_pipeline.store.connection import connect, suspicion_of

#: How long a start waits for another that is looking at the database or mending it, in seconds.
MENDING_SECONDS = 60.0
#: What SQLite keeps beside a database, in the order in which it is moved.
SIDE_FILES = ("-wal", "-shm", "-journal")
_MOST_FAULTS = 20


def enter(path: Path, *, use_wal: bool, wait_seconds: float = MENDING_SECONDS) -> UseLock:
    """Return the lock that every user of the database shares, once the database may be used.

    The first user looks first: at a database that seemed damaged, at one whose last user was cut off. On a file system
    that carries no write-ahead log, it writes the log back and does without one.

    Raises:
        DamagedDatabaseError: it is damaged.
        StoreError: the folder can't be written, or offers no locks.
    """
    use = _use_lock(path)
    try:
        if use.take_alone():
            look_after(path, use_wal=use_wal)
            if not use_wal and path.exists():
                _leave_write_ahead_log(path)
        if not use.share(wait_seconds=wait_seconds):
            raise LockedError(f"{path}: another run has been looking after the database for {wait_seconds:g} s")
        if suspicion_of(path).exists():
            raise DamagedDatabaseError(f"{path}: the database seemed damaged to another run")
    except BaseException:
        use.release()
        raise
    return use


@contextmanager
def alone(path: Path, *, wait_seconds: float = MENDING_SECONDS) -> Iterator[None]:
    """Keep the database to oneself: no other process uses it, and none starts to.

    Raises:
        LockedError: others still use it after ``wait_seconds``.
        StoreError: the folder can't be written, or offers no locks.
    """
    use = _use_lock(path)
    try:
        if not use.take_alone(wait_seconds=wait_seconds):
            raise LockedError(
                f"another run uses {path}, and it must be let go of first: end that run, or the daemon, and try again"
            )
        yield
    finally:
        use.release()


def look_after(path: Path, *, use_wal: bool) -> None:
    """Check a database that no other run uses, if there is a reason to.

    A program of others, such as a database browser, may have it open all the same: it hinders nobody, unless the file
    system carries no write-ahead log.

    Raises:
        DamagedDatabaseError: it is damaged.
    """
    seemed_damaged = suspicion_of(path).exists()
    if not path.exists() or not (seemed_damaged or _was_cut_off(path)):
        suspicion_of(path).unlink(missing_ok=True)
        return
    faults = _faults_of(path, thorough=seemed_damaged, alone=not use_wal)
    if faults:
        raise DamagedDatabaseError(f"{path}: the database is damaged ({faults[0]})")
    suspicion_of(path).unlink(missing_ok=True)


def faults_in(connection: sqlite3.Connection, *, thorough: bool) -> list[str]:
    """Return what is wrong with a database, over a connection of ours."""
    check = "integrity_check" if thorough else "quick_check"
    try:
        told = [str(row[0]) for row in connection.execute(f"PRAGMA {check}({_MOST_FAULTS})").fetchall()]
        faults = [" ".join(line.split()) for line in told if line != "ok"]
        if thorough and not faults:
            faults = _faults_of_rows(connection)
    except DamagedDatabaseError as error:
        return [error.reason]
    return faults


def rebuild_indexes(path: Path) -> bool:
    """Build the indexes of a damaged database anew, which nobody else uses; whether that made it whole."""
    try:
        with closing(connect(path, alone=True)) as connection:
            connection.execute("REINDEX")
            return not faults_in(connection, thorough=True)
    except (StoreError, sqlite3.IntegrityError):  # the latter: rows that an index forbids beside each other
        return False


def _faults_of(path: Path, *, thorough: bool, alone: bool) -> list[str]:
    """Return what is wrong with a database, in SQLite's words; ``thorough`` reads every row."""
    try:
        with closing(connect(path, alone=alone)) as connection:
            return faults_in(connection, thorough=thorough)
    except DamagedDatabaseError as error:
        return [error.reason]


def _use_lock(path: Path) -> UseLock:
    try:
        make_private_folder(path.parent)
    except OSError as error:
        raise StoreError(
            f"{path}: can't be opened: {error.strerror or error}; is the state folder writable?"
        ) from error
    return UseLock(path.with_name("database.lock"))


def _was_cut_off(path: Path) -> bool:
    """Whether the last user did not close it: then SQLite left something beside it."""
    beside = (path.with_name(f"{path.name}{suffix}") for suffix in ("-wal", "-journal"))
    return any(file.exists() and file.stat().st_size for file in beside)


def _leave_write_ahead_log(path: Path) -> None:
    with closing(connect(path, alone=True)) as connection:
        mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
        if mode == "wal":
            connection.execute("PRAGMA journal_mode = DELETE")


def _faults_of_rows(connection: sqlite3.Connection) -> list[str]:
    """Read every row: SQLite's own check does not look whether a text is one, and whose row it belongs to.

    Which characters a text holds says nothing: logs tell any, colours of a terminal above all.
    """
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
    for (name,) in tables:
        for _ in connection.execute(f'SELECT * FROM "{name}"'):
            pass  # a text that is none is a fault, which the connection raises
    strays = connection.execute("PRAGMA foreign_key_check").fetchall()
    return [f"a row of {row[0]} belongs to a row of {row[2]} that is not there" for row in strays[:_MOST_FAULTS]]
