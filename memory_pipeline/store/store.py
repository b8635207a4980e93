"""The store as the other rooms see it: one object, one connection a thread."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

from memory_pipeline.store.connection import open_database
from memory_pipeline.store.extractions import Extractions
from memory_pipeline.store.jobs import Jobs
from memory_pipeline.store.ledger import Ledger
from memory_pipeline.store.memories import Memories
from memory_pipeline.store.threads import Threads


class Store:
    """Everything that is kept in the database of one state folder. Safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._opening = threading.Lock()
        self.threads = Threads(self._connect)
        self.jobs = Jobs(self._connect)
        self.extractions = Extractions(self._connect)
        self.memories = Memories(self._connect)
        self.ledger = Ledger(self._connect)
        self._connect()

    def close(self) -> None:
        """Close the connections of all threads; nothing may use the store afterwards."""
        with self._opening:
            for connection in self._opened:
                connection.close()
            self._opened.clear()

    def _connect(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = open_database(self.path)
            self._local.connection = connection
            with self._opening:
                self._opened.append(connection)
        return connection
