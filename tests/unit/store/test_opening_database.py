"""The database is opened by many at once, stays private, and refuses what it can't understand."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlite_utils import Database
from store_samples import NOW, enqueue, index, lease

from memory_pipeline.errors import StoreError
from memory_pipeline.records import Actor, ConsolidationKind
from memory_pipeline.store.connection import immediate, open_database
from memory_pipeline.store.migrations import SCHEMA_VERSION, schema_steps
from memory_pipeline.store.store import Store

_START = """
import sys
from pathlib import Path
from memory_pipeline.store.store import Store

print("ready", flush=True)
sys.stdin.readline()
store = Store(Path(sys.argv[1]))
store.extractions.record_usage("thread", "shared", now=float(sys.argv[2]))
store.close()
"""


def test_concurrent_first_starts_meet_in_one_lock(tmp_path: Path) -> None:
    """Processes that all start first find one whole schema, and the write of each is kept."""
    path = tmp_path / "state" / "memory.db"
    starters = [
        subprocess.Popen(
            [sys.executable, "-c", _START, str(path), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(6)
    ]
    for starter in starters:
        assert starter.stdout is not None
        assert starter.stdout.readline() == "ready\n"
    for starter in starters:
        assert starter.stdin is not None
        starter.stdin.write("go\n")
        starter.stdin.flush()
    told = [starter.communicate(timeout=60)[1] for starter in starters]
    assert told == [""] * 6
    assert [starter.returncode for starter in starters] == [0] * 6
    store = Store(path)
    assert store.extractions.usage("thread", "shared").count == 6
    store.close()


def test_concurrent_first_starts_of_threads_meet_in_one_lock(tmp_path: Path) -> None:
    """Threads of one process that open the same fresh database at once don't trip over each other either."""
    barrier = threading.Barrier(8)

    def start(_: int) -> int:
        barrier.wait(timeout=30)
        connection = open_database(tmp_path / "memory.db")
        count = connection.execute("SELECT count(*) FROM threads").fetchone()[0]
        connection.close()
        return int(count)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(start, range(8))) == [0] * 8


def test_database_is_in_wal_mode_and_says_its_version(store: Store) -> None:
    """WAL is on, and the version tells that every step was applied."""
    plain = sqlite3.connect(store.path)
    assert plain.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert plain.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
    plain.close()


def test_files_and_folders_are_private(tmp_path: Path) -> None:
    """Under an ordinary umask the database, its side files and the lock are 0600, and new folders 0700."""
    code = f"""
import os
os.umask(0o022)
from pathlib import Path
from memory_pipeline.store.store import Store
store = Store(Path({str(tmp_path)!r}) / "a" / "b" / "memory.db")
store.extractions.record_usage("thread", "x", now=1.0)
folder = Path({str(tmp_path)!r}) / "a"
for path in [folder, *sorted(folder.rglob("*"))]:
    print(path.name, oct(path.stat().st_mode & 0o777))
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    modes = dict(line.split() for line in told.splitlines())
    assert modes.pop("a") == modes.pop("b") == "0o700"
    assert {"memory.db", "memory.db-wal", "memory.db-shm"} <= set(modes)
    assert set(modes.values()) == {"0o600"}


def test_a_database_of_an_older_version_is_brought_up_to_date_and_loses_nothing(tmp_path: Path) -> None:
    """What the first schema held is there afterwards, and what is new has its defaults."""
    path = tmp_path / "memory.db"
    older = sqlite3.connect(path, isolation_level=None)
    schema_steps().apply(Database(older), stop_before="history_journal_and_citations")
    older.execute("PRAGMA user_version = 1")
    older.execute("INSERT INTO consolidations (state, owner, started_at, finished_at) VALUES ('done', 'one', 1, 2)")
    older.execute(
        """
        INSERT INTO memories (memory_id, kind, scope, condition, statement, status, first_seen, last_confirmed,
            learned_at, reason)
        VALUES ('m_1', 'preference', 'user', '', 'Use tabs.', 'retired', 1, 2, 3, 'unused')
        """
    )
    older.execute(
        """
        INSERT INTO operations (consolidation_id, memory_id, operation, reason, at)
        VALUES (1, 'm_1', 'add', 'new', 1), (1, 'm_1', 'retire', 'unused', 2)
        """
    )
    older.close()
    store = Store(path)
    (memory,) = store.memories.every()
    assert (memory.statement, memory.reason, memory.by_hand) == ("Use tabs.", "unused", False)
    added, retired = store.memories.operations_of("m_1")
    assert (added.operation.actor, added.tells_before, retired.tells_before) == (Actor.RULES, True, False)
    (done,) = store.memories.consolidations(limit=10)
    assert (done.kind, done.undone_by) == (ConsolidationKind.RUN, None)
    enqueue(store, "a")
    assert lease(store).thread.thread_id == "a"
    store.close()


def test_newer_schema_is_refused_untouched(tmp_path: Path) -> None:
    """A database of a newer program is told as such and not written to."""
    path = tmp_path / "memory.db"
    Store(path).close()
    plain = sqlite3.connect(path)
    plain.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    plain.close()
    with pytest.raises(StoreError, match="newer version"):
        Store(path)
    plain = sqlite3.connect(path)
    assert plain.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION + 1,)
    plain.close()


def test_what_is_no_database_is_refused_untouched(tmp_path: Path) -> None:
    """A file that is no database is named and stays as it was."""
    path = tmp_path / "memory.db"
    path.write_bytes(b"these are somebody's notes, not a database\n" * 100)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"memory\.db"):
        Store(path)
    assert path.read_bytes() == before


def test_a_folder_in_the_way_is_named(tmp_path: Path) -> None:
    """A folder where the database should be, or a file where its folder should be, is told with its path."""
    (tmp_path / "memory.db").mkdir()
    with pytest.raises(StoreError, match=r"memory\.db"):
        Store(tmp_path / "memory.db")
    (tmp_path / "state").write_text("a file")
    with pytest.raises(StoreError, match="state"):
        Store(tmp_path / "state" / "memory.db")


def test_a_first_start_that_died_before_the_version_is_mended(tmp_path: Path) -> None:
    """Steps that were applied by a start that died before it said so are not applied twice."""
    path = tmp_path / "memory.db"
    Store(path).close()
    plain = sqlite3.connect(path)
    plain.execute("PRAGMA user_version = 0")
    plain.close()
    store = Store(path)
    enqueue(store, "a")
    assert lease(store).thread.thread_id == "a"
    store.close()


def test_a_failed_block_leaves_nothing_and_the_connection_usable(store: Store) -> None:
    """What a block wrote before its exception is rolled back, and the next transaction starts clean."""
    connection = open_database(store.path)

    def write_and_trip() -> None:
        with immediate(connection):
            connection.execute("INSERT INTO watermarks VALUES ('a', 1.0)")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_and_trip()
    with immediate(connection):
        assert connection.execute("SELECT count(*) FROM watermarks").fetchone()[0] == 0
    connection.close()


def test_a_refused_commit_leaves_the_connection_usable(store: Store) -> None:
    """A constraint that is only checked at the commit does not leave a transaction open behind it."""
    connection = open_database(store.path)
    with pytest.raises(sqlite3.IntegrityError), immediate(connection):
        connection.execute(
            """
            INSERT INTO memories (memory_id, kind, scope, condition, statement, status, first_seen, last_confirmed,
                learned_at, superseded_by, reason)
            VALUES ('m', 'knowledge', 'user', '', 'x', 'superseded', 1, 1, 1, 'nobody', '')
            """
        )
    assert not connection.in_transaction
    with immediate(connection):
        connection.execute("INSERT INTO watermarks VALUES ('a', 1.0)")
    connection.close()


def test_a_waiting_writer_loses_nothing(store: Store) -> None:
    """A writer that meets another's lock waits for it and then writes."""
    other = open_database(store.path)
    other.execute("BEGIN IMMEDIATE")
    started = threading.Event()

    def write() -> None:
        started.set()
        store.extractions.record_usage("thread", "a", now=NOW)

    writer = threading.Thread(target=write)
    writer.start()
    started.wait(timeout=10)
    other.execute("INSERT INTO watermarks VALUES ('a', 1.0)")
    other.execute("COMMIT")
    writer.join(timeout=30)
    other.close()
    assert store.extractions.usage("thread", "a").count == 1


def test_connections_of_ended_threads_are_closed(store: Store) -> None:
    """A program that starts workers again and again does not pile up open database files."""
    for _ in range(20):
        worker = threading.Thread(target=store.threads.every)
        worker.start()
        worker.join()
    assert len(store._opened) <= 3


def test_a_fault_of_the_database_carries_our_own_error(store: Store) -> None:
    """A table that is gone, as in a damaged file, is told as an error of the store."""
    plain = sqlite3.connect(store.path)
    plain.execute("DROP TABLE ledger")
    plain.commit()
    plain.close()
    with pytest.raises(StoreError):
        store.ledger.spent(since=0.0)


def test_reopening_keeps_what_was_stored(store: Store) -> None:
    """A second program finds what the first one stored."""
    index(store, "a", title="Mend the checkout")
    again = Store(store.path)
    thread = again.threads.get("a")
    assert thread is not None
    assert thread.title == "Mend the checkout"
    again.close()
