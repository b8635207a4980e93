"""Whether anything that phase two reads is other than it was when phase two last found nothing to do.

Laying out thousands of memories to find that nothing changed takes seconds, and happens at nearly every pass. So a pass
that found nothing to do notes the status of all that it read: the database, the journal, what was forgotten, the
workspace, and its own files. As long as each of them is the same, nothing can have changed. Once a day it looks all
the same, since some memories end with time alone.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import orjson
from msgspec import Struct

from memory_pipeline import __version__
from memory_pipeline.clock import DAY_SECONDS, Clock
from memory_pipeline.config import Config, as_table
from memory_pipeline.files import write_whole
from memory_pipeline.phase2.places import Places
from memory_pipeline.phase2.render import RENDERER_VERSION
from memory_pipeline.records import Phase2Counts, Phase2Outcome

#: The file of the note, in the state folder.
SETTLED_FILE: Final = "settled.json"
#: Two changes within the tick of a file system's clock look like one, so that what is younger is not relied upon.
_TICK_SECONDS = 2.0
_NOTHING_TO_DO = (Phase2Outcome.NO_CHANGES, Phase2Outcome.NO_INPUTS)


class Look(Struct, frozen=True, kw_only=True):
    """One look at everything."""

    digest: str | None  # None while something is too young to rely upon, or can't be looked at
    counts: Phase2Counts | None = None  # what was told when there was nothing to do, if nothing changed since


class Settled:
    """The note, and how to compare with it. Wrong or lost, it costs one look more."""

    def __init__(
        self, config: Config, places: Places, clock: Clock, *, disk_time: Callable[[], float] = time.time
    ) -> None:
        """Take what to look at. ``disk_time`` is the clock that stamps files, in seconds since the epoch."""
        self._config = config
        self._places = places
        self._clock = clock
        self._disk_time = disk_time
        self._path = config.state_path / SETTLED_FILE

    def look(self) -> Look:
        """Look at everything now."""
        now = self._disk_time()
        try:
            is_quiet, digest = self._looks_like(before=now - _TICK_SECONDS)
        except OSError:
            return Look(digest=None)
        if self._noted().get("looked_like") == digest:
            return Look(digest=digest, counts=_counts_of(self._noted()))
        return Look(digest=digest if is_quiet else None)

    def note(self, look: Look, counts: Phase2Counts) -> None:
        """Note what is told after this look, unless there was something to do, or anything changed since."""
        if counts.outcome not in _NOTHING_TO_DO or counts.problems:
            return
        if look.digest is None or self.look().digest != look.digest:
            return
        noted = {"outcome": counts.outcome, "selected": counts.selected, "looked_like": look.digest}
        with contextlib.suppress(OSError):  # it only saves time
            write_whole(self._path, orjson.dumps(noted), sync_name=False)

    def _noted(self) -> dict[str, Any]:
        try:
            noted = orjson.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return {}
        return noted if isinstance(noted, dict) and _counts_of(noted) is not None else {}

    def _looks_like(self, *, before: float) -> tuple[bool, str]:
        """Return whether all of it is older than ``before``, and a hash over the status of each.

        Raises:
            OSError: something can't be looked at, or is a link, which hides what is behind it.
        """
        day = int(self._clock.now() // DAY_SECONDS)
        told = (__version__, RENDERER_VERSION, day, as_table(self._config))
        hashed = hashlib.sha256(repr(told).encode("utf-8", "replace"))
        youngest = 0.0
        for name, when in self._everything():
            hashed.update(repr((name, when)).encode("utf-8", "replace"))
            youngest = max(youngest, *(at / 1e9 for at in when[:2]), 0.0)
        return youngest < before, hashed.hexdigest()

    def _everything(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        database = self._config.database_path
        yield "database", _when_written(_status(database))
        log = _status(database.with_name(f"{database.name}-wal"))
        # One without content comes and goes with each opening.
        yield "log of the database", _when_written(log if log is not None and log.st_size else None)
        yield "journal", _when(_status(self._config.journal_path))
        for folder in (
            self._config.tombstones_path,
            self._places.workspace,
            self._places.baseline,
            self._places.staging,
            self._places.replaced,
            self._places.adopted,
            self._places.kept,
        ):
            yield str(folder), ()
            yield from ((name, _when(status)) for name, status in _below(folder))


def _counts_of(noted: dict[str, Any]) -> Phase2Counts | None:
    outcome, selected = noted.get("outcome"), noted.get("selected")
    if outcome not in _NOTHING_TO_DO or not isinstance(selected, int):
        return None
    return Phase2Counts(outcome=Phase2Outcome(outcome), selected=selected)


def _below(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield everything below a folder, in order; nothing where there is none."""
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        status = _status(folder)
        if status is not None:
            yield str(folder), status
        return
    for entry in entries:
        if entry.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), entry.path)
        yield entry.path, entry.stat(follow_symlinks=False)
        if entry.is_dir():
            yield from _below(Path(entry.path))


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _when_written(status: os.stat_result | None) -> tuple[int, ...]:
    # Opening its log, SQLite gives it the owner that it has, where we run as root: that is no change.
    return () if status is None else (status.st_mtime_ns, status.st_mtime_ns, status.st_ino, status.st_size)


def _when(status: os.stat_result | None) -> tuple[int, ...]:
    if status is None:
        return ()
    # A folder's own times change as temporary files come and go; what stands in it is looked at by itself.
    if stat.S_ISDIR(status.st_mode):
        return (0, 0, status.st_ino)
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_size)
