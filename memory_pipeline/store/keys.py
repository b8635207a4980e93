"""The keys by which memories are found that may be like a statement: hashes, which say nothing by themselves."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection

import orjson

#: Of a memory of these ids, the keys were not made since it changed.
_NOT_STALE = "NOT EXISTS (SELECT 1 FROM keys_stale AS s WHERE s.memory_id = k.memory_id)"


class MemoryKeys:
    """The memories by their keys; see nearness. What changed since the keys were made is told by ``unkept``."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect

    def under(self, key: int, *, most: int) -> list[str]:
        """Return the ids of the memories that are kept under a key, in order, at most so many."""
        rows = self._connect().execute(
            f"SELECT memory_id FROM memory_keys AS k WHERE key = ? AND {_NOT_STALE} ORDER BY memory_id LIMIT ?",
            (key, most),
        )
        return [row["memory_id"] for row in rows]

    def among(self, key: int, names: Collection[str]) -> list[str]:
        """Return which of these memories are kept under a key."""
        rows = self._connect().execute(
            # "CROSS", so that it is read in this order: under the key may stand thousands.
            f"""
            SELECT k.memory_id FROM json_each(?) AS wanted
            CROSS JOIN memory_keys AS k ON k.key = ? AND k.memory_id = wanted.value WHERE {_NOT_STALE}
            """,
            (orjson.dumps(list(names)).decode(), key),
        )
        return [row["memory_id"] for row in rows]

    def are_current(self) -> bool:
        """Whether this version of the program made the keys; else all memories are ``unkept``."""
        return are_of_this_version(self._connect())

    def unkept(self) -> list[str]:
        """Return the ids of the memories that are not found by keys yet, in order."""
        connection = self._connect()
        table = "keys_stale" if are_of_this_version(connection) else "memories"
        rows = connection.execute(f"SELECT memory_id FROM {table} ORDER BY memory_id")
        return [row["memory_id"] for row in rows]


def keep_keys(connection: sqlite3.Connection) -> None:
    """Make the keys of what changed, inside the caller's transaction; of all memories, where others made them."""
    from memory_pipeline.nearness import KEYS_VERSION, keys_of

    if not are_of_this_version(connection):
        connection.execute("DELETE FROM memory_keys")
        connection.execute("DELETE FROM keys_stale")
        connection.execute("INSERT INTO keys_stale SELECT memory_id FROM memories")
        connection.execute("DELETE FROM keys_made")
        connection.execute("INSERT INTO keys_made VALUES (?)", (KEYS_VERSION,))
        # Nothing else tells that this version has not judged them.
        connection.execute("DELETE FROM memories_to_judge")
        connection.execute("INSERT INTO memories_to_judge (memory_id) SELECT memory_id FROM memories")
    stale = connection.execute(
        "SELECT memory_id, scope, statement FROM memories WHERE memory_id IN (SELECT memory_id FROM keys_stale)"
    ).fetchall()
    connection.executemany("DELETE FROM memory_keys WHERE memory_id = ?", [(row["memory_id"],) for row in stale])
    connection.executemany(
        "INSERT INTO memory_keys VALUES (?, ?)",
        [(key, row["memory_id"]) for row in stale for key in sorted(keys_of(row["scope"], row["statement"]))],
    )
    connection.execute("DELETE FROM keys_stale")


def are_of_this_version(connection: sqlite3.Connection) -> bool:
    """Whether this version of the program made the keys that there are."""
    from memory_pipeline.nearness import KEYS_VERSION

    row = connection.execute("SELECT version FROM keys_made").fetchone()
    return row is not None and row["version"] == KEYS_VERSION
