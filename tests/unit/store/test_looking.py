"""A look at the database: it says what is wrong, makes nothing and changes nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from store_samples import index

from memory_pipeline.errors import StoreError
from memory_pipeline.store.looking import CantLookError, DatabaseState, health_of, look_at
from memory_pipeline.store.store import Store


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database with a thread in it, that nobody uses."""
    path = tmp_path / "state" / "memory.db"
    store = Store(path)
    index(store, "a")
    store.close()
    return path


def state_of(path: Path) -> DatabaseState:
    """What a look finds that can't read."""
    with pytest.raises(CantLookError) as caught:
        look_at(path).threads.every()
    assert str(path) in str(caught.value)
    return caught.value.state


def set_version(version: int) -> Callable[[Path], None]:
    """Return what writes another version into a database."""

    def change(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"PRAGMA user_version = {version}")

    return change


def overwrite(content: bytes) -> Callable[[Path], None]:
    """Return what puts something else in place of a database."""
    return lambda path: path.write_bytes(content) and None  # type: ignore[func-returns-value]


def make_folder(path: Path) -> None:
    """Put a folder in place of a database."""
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("change", "state"),
    [
        (Path.unlink, DatabaseState.MISSING),
        (overwrite(b""), DatabaseState.MISSING),
        (overwrite(b"words, and no database at all" * 200), DatabaseState.BROKEN),
        (overwrite(b"SQLite format 3\0" + b"\0" * 9000), DatabaseState.BROKEN),
        (make_folder, DatabaseState.UNREADABLE),
        (set_version(1), DatabaseState.OLDER),
        (set_version(999), DatabaseState.NEWER),
    ],
)
def test_what_is_wrong_is_told_and_nothing_is_made(
    database: Path, change: Callable[[Path], None], state: DatabaseState
) -> None:
    """Missing, empty, broken, no file, of another version."""
    change(database)
    before = database.read_bytes() if database.is_file() else None
    assert state_of(database) is state
    assert (database.read_bytes() if database.is_file() else None) == before


def test_a_missing_state_folder_is_not_made(tmp_path: Path) -> None:
    """A look leaves no trace of where it looked."""
    assert state_of(tmp_path / "state" / "memory.db") is DatabaseState.MISSING
    assert list(tmp_path.iterdir()) == []


def test_a_database_in_use_can_be_looked_at(database: Path) -> None:
    """What another one has committed is seen, while it is in the middle of writing more."""
    store = Store(database)
    index(store, "b")
    connection = store.threads._connect()
    connection.execute("BEGIN IMMEDIATE")
    looked = look_at(database)
    try:
        assert {thread.thread_id for thread in looked.threads.every()} == {"a", "b"}
    finally:
        looked.close()
        connection.execute("ROLLBACK")
        store.close()


def test_a_look_can_write_nothing(database: Path) -> None:
    """The connection itself refuses."""
    looked = look_at(database)
    with pytest.raises(StoreError):
        looked.threads.set_disabled("a", disabled=True)
    looked.close()


def test_a_sound_database_has_no_faults(database: Path) -> None:
    """And its size is told."""
    health = health_of(database)
    assert health.faults == ()
    assert health.bytes == database.stat().st_size


def test_a_damaged_page_is_told(database: Path) -> None:
    """Either the check names it, or the database can't be read at all."""
    content = bytearray(database.read_bytes())
    content[4096:-4096] = b"\x55" * (len(content) - 8192)
    database.write_bytes(content)
    assert faults_of(database)


def faults_of(path: Path) -> tuple[str, ...]:
    """What a check finds; that it can't be made is one too."""
    try:
        return health_of(path).faults
    except CantLookError as why:
        return (str(why),) if why.state is DatabaseState.BROKEN else ()
