"""The store as the other rooms see it: one object, one connection a thread."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

from memory_pipeline.filesystems import file_system_of, is_network
from memory_pipeline.store.activity import Activity
from memory_pipeline.store.chronicle import Chronicle
from memory_pipeline.store.citations import Citations
from memory_pipeline.store.connection import BUSY_SECONDS, open_database, suspicion_of
from memory_pipeline.store.copies import copy_database
from memory_pipeline.store.drafts import Drafts
from memory_pipeline.store.extractions import Extractions
from memory_pipeline.store.forgetting import Forgetting
from memory_pipeline.store.gating import Gating
from memory_pipeline.store.imported import ImportedThreads
from memory_pipeline.store.injections import Injections
from memory_pipeline.store.jobs import Jobs
from memory_pipeline.store.journal import JournalEntries
from memory_pipeline.store.keys import MemoryKeys
from memory_pipeline.store.ledger import Ledger
from memory_pipeline.store.lineage import Lineage
from memory_pipeline.store.memories import Memories
from memory_pipeline.store.opening import enter
from memory_pipeline.store.overview import Overview
from memory_pipeline.store.recalled import Recalled
from memory_pipeline.store.search import Search
from memory_pipeline.store.session_files import SessionFiles
from memory_pipeline.store.settings import SettingRows
from memory_pipeline.store.tasks import SubmittedTasks
from memory_pipeline.store.threads import Threads
from memory_pipeline.store.upkeep import Upkeep
from memory_pipeline.store.usage import Uses


class Store:
    """Everything that is kept in the database of one state folder. Safe to use from several threads."""

    def __init__(
        self,
        path: Path,
        *,
        file_system_of: Callable[[Path], str | None] = file_system_of,
        look: Callable[[], sqlite3.Connection] | None = None,
        busy_seconds: float = BUSY_SECONDS,
    ) -> None:
        """Open the database at ``path``; ``file_system_of`` tells the type of the file system that holds a folder.

        With ``look``, which opens connections for a look from outside, it is no use of the database: nothing is made,
        mended or brought up to date. ``busy_seconds`` is how long a statement waits for another program that writes.

        Raises:
            DamagedDatabaseError: it is damaged, and must be mended first.
            StoreError: it can't be opened.
        """
        self.path = path
        self.is_closed = False
        use_wal = look is not None or not is_network(file_system_of(path.parent))
        use = enter(path, use_wal=use_wal, wait_seconds=busy_seconds) if look is None else None
        self._let_go: Callable[[], None] = use.release if use is not None else lambda: None
        self._open_connection = look or (lambda: open_database(path, use_wal=use_wal, busy_seconds=busy_seconds))
        self._local = threading.local()
        self._opened: list[tuple[threading.Thread, sqlite3.Connection]] = []
        self._opening = threading.Lock()
        self.threads = Threads(self._connect)
        self.lineage = Lineage(self._connect)
        self.jobs = Jobs(self._connect)
        self.gating = Gating(self._connect)
        self.extractions = Extractions(self._connect)
        self.drafts = Drafts(self._connect)
        self.session_files = SessionFiles(self._connect)
        self.citations = Citations(self._connect)
        self.uses = Uses(self._connect)
        self.memories = Memories(self._connect)
        self.memory_keys = MemoryKeys(self._connect)
        self.journal = JournalEntries(self._connect)
        self.imported = ImportedThreads(self._connect)
        self.submitted = SubmittedTasks(self._connect)
        self.ledger = Ledger(self._connect)
        self.chronicle = Chronicle(self._connect)
        self.overview = Overview(self._connect)
        self.activity = Activity(self._connect)
        self.search = Search(self._connect, may_write=look is None)
        self.settings = SettingRows(self._connect)
        self.recalled = Recalled(self._connect)
        self.injections = Injections(self._connect)
        self.forgetting = Forgetting(self._connect)
        self.upkeep = Upkeep(self._connect, path)
        try:
            self._connect()
        except BaseException:
            self._let_go()
            raise

    @property
    def seems_damaged(self) -> bool:
        """Whether a statement met a damaged page, here or in another process: close the store and have it mended."""
        return suspicion_of(self.path).exists()

    def copy_to(self, target: Path) -> None:
        """Write all that is stored into a new file, beside whoever writes to the database.

        Raises:
            StoreError: it can't be read or copied.
            OSError: the file can't be made.
        """
        copy_database(self._connect(), target)

    def close(self) -> None:
        """Close the connections of all threads; nothing may use the store afterwards."""
        with self._opening:
            for _, connection in self._opened:
                connection.close()
            self._opened.clear()
        self._let_go()
        self.is_closed = True

    def _connect(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._open_connection()
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
