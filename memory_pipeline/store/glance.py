"""The few parts of the store that a new task waits for: opened for reading, and never waited for long."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from memory_pipeline.errors import StoreError
from memory_pipeline.lock import UseLock
from memory_pipeline.store.connection import connect
from memory_pipeline.store.injections import Injections
from memory_pipeline.store.looking import open_to_look
from memory_pipeline.store.recalled import Recalled

if TYPE_CHECKING:
    from memory_pipeline.records import SettingRecord

#: How long a statement waits for whoever holds the database, in seconds.
BUSY_SECONDS = 0.4


class Glance:
    """A look at what is remembered, and the means to write down what was given. Close it when done.

    Nothing is made, mended or brought up to date. For writing, the database is opened when it comes to that: where
    nobody may write, it can still be read.
    """

    def __init__(self, path: Path) -> None:
        """Open the database at ``path`` for reading.

        Raises:
            StoreError: there is none, or it can't be read now.
        """
        self._path = path
        self._reading = open_to_look(path, busy_seconds=BUSY_SECONDS)
        self._writing: sqlite3.Connection | None = None
        self._use: UseLock | None = None
        self.recalled = Recalled(lambda: self._reading)
        self.injections = Injections(lambda: self._reading, to_write=self._connect_to_write)

    def has_settings(self) -> bool:
        """Whether anything was ever set beside the configuration file."""
        return self._reading.execute("SELECT 1 FROM settings LIMIT 1").fetchone() is not None

    def settings(self) -> list[SettingRecord]:
        """Return what was set; it is not loaded before it is asked for."""
        from memory_pipeline.store.settings import read_settings

        return read_settings(self._reading)

    def tombstones_met(self) -> str:
        """Return the digest of the tombstones that the database was last brought in line with; "" for none."""
        row = self._reading.execute("SELECT digest FROM tombstones_met").fetchone()
        return str(row["digest"]) if row else ""

    def close(self) -> None:
        """Let go of the database."""
        if self._writing is not None:
            self._writing.close()
        self._reading.close()
        if self._use is not None:
            self._use.release()

    def _connect_to_write(self) -> sqlite3.Connection:
        if self._writing is None:
            # As every user of the database holds it: while another mends it, nothing is written.
            self._use = UseLock(self._path.with_name("database.lock"))
            if not self._use.share(wait_seconds=0):
                raise StoreError(f"{self._path}: another run is looking after the database")
            self._writing = connect(self._path, busy_seconds=BUSY_SECONDS)
        return self._writing
