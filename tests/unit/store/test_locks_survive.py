"""Opening the database again must not drop the locks that this process's connections hold on it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from memory_pipeline.store.store import Store

TRY_TO_BE_ALONE = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=0)
connection.execute("PRAGMA locking_mode = EXCLUSIVE")
try:
    connection.execute("BEGIN EXCLUSIVE")
    connection.execute("SELECT count(*) FROM threads").fetchall()
except sqlite3.OperationalError as error:
    print(error)
"""


def locks_held(path: Path) -> int:
    """Count the locks that this process holds on a file, as the system lists them."""
    inode = f":{path.stat().st_ino} "
    lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    return sum(f" {os.getpid()} " in line and inode in f"{line} " for line in lines)


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="needs /proc/locks")
def test_a_second_store_leaves_the_locks_of_the_first(tmp_path: Path) -> None:
    """A write lock that one connection holds stands after the database was opened once more in the same process."""
    path = tmp_path / "memory.db"
    first = Store(path)
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    held = locks_held(path) + locks_held(tmp_path / "memory.db-shm")
    second = Store(path)
    assert held > 0
    assert locks_held(path) + locks_held(tmp_path / "memory.db-shm") >= held
    writer.execute("ROLLBACK")
    writer.close()
    second.close()
    first.close()


def test_another_process_does_not_take_the_log_away_from_an_open_store(tmp_path: Path) -> None:
    """While a store is open, a process that comes and goes deletes nothing that is in use."""
    path = tmp_path / "memory.db"
    first, second = Store(path), Store(path)
    subprocess.run([sys.executable, "-c", TRY_TO_BE_ALONE, str(path)], check=True, capture_output=True)
    assert (tmp_path / "memory.db-wal").exists()
    second.close()
    assert first.jobs.count_due(now=0.0) == 0
    first.close()


def test_a_program_of_others_that_has_it_open_keeps_nobody_out(tmp_path: Path) -> None:
    """A database browser that stays open leaves a write-ahead log behind, and the next start works beside it."""
    path = tmp_path / "memory.db"
    Store(path).close()
    browser = sqlite3.connect(path, timeout=0, isolation_level=None)
    browser.execute("BEGIN")
    browser.execute("SELECT count(*) FROM threads").fetchall()
    for times in range(1, 3):
        store = Store(path)
        store.extractions.record_usage("thread", "a", now=float(times))
        store.close()
        assert (tmp_path / "memory.db-wal").stat().st_size > 0
    browser.execute("ROLLBACK")
    browser.close()
    store = Store(path)
    assert store.extractions.usage("thread", "a").count == 2
    store.close()
