"""What a check finds, and what all checks look at."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from memory_pipeline.clock import Clock
from memory_pipeline.config import Config, ModelConfig
from memory_pipeline.errors import StoreError
from memory_pipeline.filesystems import file_system_of
from memory_pipeline.store.looking import look_at, why_not
from memory_pipeline.store.store import Store


class Level(StrEnum):
    """How much a finding matters."""

    OK = "ok"  # as it should be
    NOTE = "note"  # worth knowing; nothing has to be done
    WARNING = "warning"  # works, but something is lost or will be
    ERROR = "error"  # something does not work


class Finding(Struct, frozen=True, kw_only=True):
    """One sentence that says what is, and one that says what to do about it ("" for nothing)."""

    check: str
    level: Level
    what: str
    remedy: str = ""


#: A finding before its check puts its own name on it: level, what, what to do.
Said = tuple[Level, str, str]


def ok(what: str) -> Said:
    """Say that something is as it should be."""
    return Level.OK, what, ""


def note(what: str, remedy: str = "") -> Said:
    """Say what is worth knowing."""
    return Level.NOTE, what, remedy


def warning(what: str, remedy: str) -> Said:
    """Say what works, but not well."""
    return Level.WARNING, what, remedy


def error(what: str, remedy: str) -> Said:
    """Say what does not work."""
    return Level.ERROR, what, remedy


class SeenService(Struct, frozen=True, kw_only=True):
    """A service of the system that is installed to run us."""

    kind: str
    is_running: bool | None  # None where the system doesn't tell
    differs: bool  # from what would be installed now


#: Asks a server for the names of its models; see llm.reach.offered_models.
OfferedModels = Callable[[ModelConfig, str | None], list[str]]


class Patient(Struct, frozen=True, kw_only=True):
    """What the checks look at, and through what."""

    config: Config
    environ: Mapping[str, str]
    clock: Clock
    offered_models: OfferedModels | None  # None: nothing may be asked
    check_schedule: Callable[[Config], None]  # raises ConfigError
    services: Callable[[], Sequence[SeenService]]
    file_system_of: Callable[[Path], str | None] = file_system_of

    @contextlib.contextmanager
    def store(self) -> Iterator[Store]:
        """Open the database for reading alone.

        Raises:
            CantLookError: it can't be read.
        """
        try:
            store = look_at(self.config.database_path)
            try:
                yield store
            finally:
                store.close()
        except StoreError as failed:
            raise why_not(self.config.database_path, failed) from failed


Check = Callable[[Patient], Iterator[Said]]
