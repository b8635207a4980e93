"""The store as the other rooms see it: one object, one connection a thread."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

from memory_pipeline.store.citations import Citations
from memory_pipeline.store.connection import open_database
from memory_pipeline.store.drafts import Drafts
from memory_pipeline.store.extractions import Extractions
from memory_pipeline.store.forgetting import Forgetting
from memory_pipeline.store.imported import ImportedThreads
from memory_pipeline.store.jobs import Jobs
from memory_pipeline.store.journal import JournalEntries
from memory_pipeline.store.ledger import Ledger
from memory_pipeline.store.lineage import Lineage
from memory_pipeline.store.memories import Memories
from memory_pipeline.store.session_files import SessionFiles
from memory_pipeline.store.threads import Threads


class Store:
    """Everything that is kept in the database of one state folder. Safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._opened: list[tuple[threading.Thread, sqlite3.Connection]] = []
        self._opening = threading.Lock()
        self.threads = Threads(self._connect)
        self.lineage = Lineage(self._connect)
        self.jobs = Jobs(self._connect)
        self.extractions = Extractions(self._connect)
        self.drafts = Drafts(self._connect)
        self.session_files = SessionFiles(self._connect)
        self.citations = Citations(self._connect)
        self.memories = Memories(self._connect)
        self.journal = JournalEntries(self._connect)
        self.imported = ImportedThreads(self._connect)
        self.ledger = Ledger(self._connect)
        self.forgetting = Forgetting(self._connect)
        self._connect()

    def close(self) -> None:
        """Close the connections of all threads; nothing may use the store afterwards."""
        with self._opening:
            for _, connection in self._opened:
                connection.close()
            self._opened.clear()

    def _connect(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = open_database(self.path)
            self._local.connection = connection
            with self._opening:
                self._close_those_of_ended_threads()
                self._opened.append((threading.current_thread(), connection))
        return connection

    def _close_those_of_ended_threads(self) -> None:
        # A daemon starts workers at every pass; their connections would pile up until no file could be opened.
        for thread, connection in self._opened:
            if not thread.is_alive():
                connection.close()
        self._opened = [(thread, connection) for thread, connection in self._opened if thread.is_alive()]
