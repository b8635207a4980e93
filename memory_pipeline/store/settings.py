"""What the person set: one row for each key of each target, the last word; what was unset keeps a row without value.

Each row has the time of its deed and only a later one replaces it, so that the deeds may be told again in any order.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable

from memory_pipeline.kinds import SettingRecord
from memory_pipeline.store.connection import immediate


class SettingRows:
    """The settings as they are stored. What they mean is told elsewhere."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect

    def every(self) -> list[SettingRecord]:
        """Return all rows, those without a value included, by target and key."""
        return read_settings(self._connect())

    def put(self, records: Iterable[SettingRecord]) -> None:
        """Store what was set and unset, where nothing later is known. One transaction."""
        with immediate(self._connect()) as connection:
            for record in records:
                _put(connection, record)

    def read_stamp(self) -> str:
        """Return which state of the journal was last read; "" for none."""
        row = self._connect().execute("SELECT stamp FROM settings_read").fetchone()
        return str(row["stamp"]) if row else ""

    def set_read_stamp(self, stamp: str) -> None:
        """Note which state of the journal was read."""
        with immediate(self._connect()) as connection:
            connection.execute("DELETE FROM settings_read")
            connection.execute("INSERT INTO settings_read (stamp) VALUES (?)", (stamp,))


def read_settings(connection: sqlite3.Connection) -> list[SettingRecord]:
    """Return all rows by target and key."""
    rows = connection.execute("SELECT * FROM settings ORDER BY target, key")
    return [
        SettingRecord(
            record_id=row["record_id"], target=row["target"], key=row["key"], value=row["value"], at=row["set_at"]
        )
        for row in rows
    ]


def moved_settings(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the scope under which a project is known by now, by the one for which something was set."""
    rows = connection.execute("SELECT DISTINCT target, moved_to FROM settings WHERE moved_to IS NOT NULL")
    return {row["target"]: row["moved_to"] for row in rows}


def follow_scope(connection: sqlite3.Connection, old_scope: str, new_scope: str) -> None:
    """Let what was set for a project hold for the scope that it is known under by now.

    The old rows stay, for threads that stay there, and tell where they went, so that they can be forgotten with it.
    """
    moved = connection.execute(
        """
        UPDATE settings SET moved_to = :new WHERE target = :old AND moved_to IS NOT :new
        RETURNING record_id, key, value, set_at
        """,
        {"new": new_scope, "old": old_scope},
    ).fetchall()
    for row in moved:
        _put(
            connection,
            SettingRecord(
                record_id=row["record_id"], target=new_scope, key=row["key"], value=row["value"], at=row["set_at"]
            ),
        )


def _put(connection: sqlite3.Connection, record: SettingRecord) -> None:
    connection.execute(
        """
        INSERT INTO settings (target, key, value, set_at, record_id) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (target, key) DO UPDATE
        SET value = excluded.value, set_at = excluded.set_at, record_id = excluded.record_id, moved_to = NULL
        WHERE excluded.set_at > settings.set_at
        """,
        (record.target, record.key, record.value, record.at, record.record_id),
    )
