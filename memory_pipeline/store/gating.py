"""Of which threads the gate must be decided again: those that changed, those whose time has come, else none.

Triggers of the database note each thread that changes, whoever changes it. The conditions that hold for all threads
alike are noted as a whole; once they are others, every gate is decided anew.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping

from msgspec import Struct

from memory_pipeline.records import IndexedThread
from memory_pipeline.store.connection import data_version
from memory_pipeline.store.threads import select_threads

_STALE = """
    WHERE t.thread_id IN (
        SELECT thread_id FROM stale_gates UNION SELECT thread_id FROM gate_times WHERE look_at <= ?
    )
"""


class GateLook(Struct, frozen=True, kw_only=True):
    """The threads whose gates are to be decided, as they were at one moment."""

    threads: tuple[IndexedThread, ...]
    conditions: str
    at: float
    is_whole: bool  # these are all threads
    version: int  # of what others had written by then


class Gating:
    """What is known of decided gates."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect

    def look(self, conditions: str, *, now: float) -> GateLook:
        """Return the threads whose gates may be others by now, newest words first, then by id.

        All of them where the gates were decided under other ``conditions``, or later than ``now`` by a clock that was
        set back.
        """
        connection = self._connect()
        version = data_version(connection)
        known = connection.execute("SELECT conditions, at FROM gating").fetchone()
        is_whole = known is None or known["conditions"] != conditions or known["at"] > now
        where, values = ("", ()) if is_whole else (_STALE, (now,))
        threads = select_threads(connection, f"{where} ORDER BY t.updated_at DESC, t.thread_id", values)
        return GateLook(threads=tuple(threads), conditions=conditions, at=now, is_whole=is_whole, version=version)


def settle_gates(connection: sqlite3.Connection, look: GateLook, times: Mapping[str, float]) -> None:
    """Note that the gates of a look are decided, inside the caller's transaction, which stores them.

    ``times`` are when time alone may change a gate, by thread. Nothing is noted when anybody else has written
    meanwhile: then the next look finds the same threads again.
    """
    if data_version(connection) != look.version:
        return
    for table in ("stale_gates", "gate_times"):
        if look.is_whole:
            connection.execute(f"DELETE FROM {table}")
        else:
            gone = [(thread.thread_id,) for thread in look.threads]
            connection.executemany(f"DELETE FROM {table} WHERE thread_id = ?", gone)
    looked_at = [(thread.thread_id, times[thread.thread_id]) for thread in look.threads if thread.thread_id in times]
    connection.executemany("INSERT INTO gate_times (thread_id, look_at) VALUES (?, ?)", looked_at)
    connection.execute("DELETE FROM gating")
    connection.execute("INSERT INTO gating (conditions, at) VALUES (?, ?)", (look.conditions, look.at))
