"""Building indexes anew tells whether that made a database whole, whatever its rows say."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from memory_pipeline.store.opening import rebuild_indexes


def test_rows_that_an_index_forbids_are_damage_that_no_index_mends(tmp_path: Path) -> None:
    """Two rows that became one by damage: the answer is no, and not a fault of the program."""
    path = tmp_path / "memory.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE things (name TEXT)")
        database.executemany("INSERT INTO things VALUES (?)", [("same",), ("same",)])
        database.execute("CREATE INDEX things_by_name ON things (name)")
        database.execute("PRAGMA writable_schema = ON")
        database.execute("UPDATE sqlite_master SET sql = replace(sql, 'CREATE INDEX', 'CREATE UNIQUE INDEX')")
        database.commit()
    assert rebuild_indexes(path) is False
