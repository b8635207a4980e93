"""The rows of what was set: the last word of each key, also in a database that did not know them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from sqlite_utils import Database

from memory_pipeline.records import Gate, SettingRecord
from memory_pipeline.store.migrations import schema_steps
from memory_pipeline.store.store import Store


def _row(value: str | None, at: float) -> SettingRecord:
    return SettingRecord(
        record_id=f"j_{at}", target="project:example.org/sam/shop", key="gates.idle_seconds", value=value, at=at
    )


def test_the_last_word_counts_in_whatever_order_it_is_told(store: Store) -> None:
    """What was unset is a word too, and keeps its place."""
    for record in (_row("5", 2.0), _row(None, 3.0), _row("7", 1.0), _row("9", 3.0)):
        store.settings.put([record])
    assert store.settings.every() == [_row(None, 3.0)]


def test_a_database_from_before_there_were_settings_takes_them_and_keeps_its_threads(tmp_path: Path) -> None:
    """A thread that was disabled there still is, and what it said is withdrawn as before."""
    path = tmp_path / "memory.db"
    older = sqlite3.connect(path, isolation_level=None)
    schema_steps().apply(Database(older), stop_before="settings")
    older.execute("PRAGMA user_version = 7")
    columns = [row[1:4] for row in older.execute("PRAGMA table_info(threads)")]
    values = {
        name: "" if kind == "TEXT" else b"" if kind == "BLOB" else 0 for name, kind, not_null in columns if not_null
    }
    values |= {
        "thread_id": "a",
        "agent": "codex",
        "source": "interactive",
        "skipped_lines": "{}",
        "unknown_types": "{}",
    }
    values |= {"skipped_places": "[]", "disabled_by_person": 1, "gate": "disabled", "present": 1}
    names = ", ".join(values)
    marks = ", ".join("?" for _ in values)
    older.execute(f"INSERT INTO threads ({names}) VALUES ({marks})", tuple(values.values()))
    older.close()
    store = Store(path)
    (thread,) = store.threads.every()
    assert (thread.gate, thread.is_withdrawn, thread.disabled_by_person) == (Gate.DISABLED, True, True)
    store.settings.put([_row("5", 1.0)])
    assert store.settings.every() == [_row("5", 1.0)]
    store.close()
