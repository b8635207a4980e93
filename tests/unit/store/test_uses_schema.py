"""The table of uses comes to a database that has counted usage before."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from sqlite_utils import Database
from store_samples import NOW

from memory_pipeline.recall.usage import use_of
from memory_pipeline.records import Usage
from memory_pipeline.store.migrations import schema_steps
from memory_pipeline.store.store import Store


def test_a_database_from_before_uses_keeps_its_counts_and_counts_on(tmp_path: Path) -> None:
    """What was counted stands, and a use adds to it."""
    path = tmp_path / "memory.db"
    older = sqlite3.connect(path, isolation_level=None)
    schema_steps().apply(Database(older), stop_before="uses")
    older.execute("PRAGMA user_version = 7")
    older.execute(
        """
        INSERT INTO memories (memory_id, kind, scope, condition, statement, status, first_seen, last_confirmed,
            learned_at, reason)
        VALUES ('m_1', 'knowledge', 'user', '', 'Use tabs.', 'active', 1, 2, 3, '')
        """
    )
    older.execute("INSERT INTO usage VALUES ('memory', 'm_1', 4, 1.0)")
    older.close()
    store = Store(path)
    store.uses.take_in([use_of(origin="test", distinct=1, at=NOW, memory_id="m_1")], now=NOW)
    assert store.extractions.usage("memory", "m_1") == Usage(count=5, last_usage=NOW)
    store.close()
