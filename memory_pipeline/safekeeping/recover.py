"""A database that is damaged or gone: set aside whole, and a whole one put in its place, by exactly one start."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import orjson
from msgspec import Struct

from memory_pipeline.clock import DAY_SECONDS, WEEK_SECONDS, Clock, iso
from memory_pipeline.config import Config
from memory_pipeline.errors import StoreError
from memory_pipeline.files import FILE_MODE, make_private_folder, sync_folder, write_whole
from memory_pipeline.safekeeping.backup import DATABASE, backups_in, faults_of_backup, read_manifest
from memory_pipeline.safekeeping.names import next_name, numbered_in
from memory_pipeline.store.connection import suspicion_of
from memory_pipeline.store.copies import book_unknown_spending, carry_spending_over, make_empty_database
from memory_pipeline.store.opening import SIDE_FILES, alone, rebuild_indexes
from memory_pipeline.store.upkeep import faults_of_unused

#: So many folders of what was set aside are kept, the newest.
MOST_KEPT = 2
#: What a booking may still weigh on a weekly cap, and a day for clocks that were changed.
SPENDING_SECONDS = WEEK_SECONDS + DAY_SECONDS

_WHY = "why.json"


class SetAside(Struct, frozen=True, kw_only=True):
    """A folder of what was set aside, and why."""

    path: Path
    at: float
    reason: str
    is_mended: bool  # a whole database took its place
    told: str  # what was done, for the person


def is_lost(config: Config) -> bool:
    """Whether there is no database though there was one: what it had made, or a backup of it, is there."""
    path = config.database_path
    if path.exists() and path.stat().st_size:
        return False
    return bool((config.state_path / "baseline").exists() or backups_in(config) or _unfinished(config))


def mend_database(config: Config, clock: Clock) -> str | None:
    """Put a whole database in the place of one that is damaged or gone; returns what was done, for the person.

    None when it is whole: another start mended it, or it only seemed damaged. The indexes are built anew if that is
    enough. Else the database is set aside with all that lies beside it, and the newest good backup takes its place, or
    an empty one, which the next run fills from the logs, the journal and MEMORY.md. What paid calls cost lately is
    carried over; where that can't be read, a whole cap counts as spent.

    Raises:
        LockedError: another process still uses it; nothing was changed.
        OSError, StoreError: it can't be moved or written; the next start goes on.
    """
    path = config.database_path
    with alone(path):
        reason = "it is gone"
        if not is_lost(config):
            faults = faults_of_unused(path) if path.exists() else []
            if not faults:
                suspicion_of(path).unlink(missing_ok=True)
                return None
            reason = faults[0]
            if rebuild_indexes(path) and not faults_of_unused(path):
                suspicion_of(path).unlink(missing_ok=True)
                return f"{path}: an index was damaged ({reason}); the indexes were built anew, and nothing was lost"
            _set_aside(config, reason, now=clock.now())
        return _put_a_whole_one_there(config, reason, now=clock.now())


def set_aside_in(config: Config) -> list[SetAside]:
    """Return what was set aside, the newest first."""
    try:
        folders = numbered_in(config.set_aside_path)
    except OSError:
        return []
    found = []
    for path in folders:
        with suppress(OSError, ValueError, KeyError, TypeError):
            table = orjson.loads((path / _WHY).read_bytes())
            found.append(
                SetAside(
                    path=path,
                    at=float(table["at"]),
                    reason=str(table["reason"]),
                    is_mended=bool(table["is_mended"]),
                    told=str(table["told"]),
                )
            )
    return found


def new_set_aside(config: Config, *, reason: str, now: float, is_mended: bool = False, told: str = "") -> Path:
    """Make a folder for what is set aside; of the older ones, but few stay.

    Raises:
        OSError: it can't be made.
    """
    parent = config.set_aside_path
    make_private_folder(parent)
    folder = parent / next_name(parent, now=now)
    make_private_folder(folder)
    _note(folder, at=now, reason=reason, is_mended=is_mended, told=told)
    for old in numbered_in(parent)[MOST_KEPT:]:
        shutil.rmtree(old, ignore_errors=True)
    return folder


def move_database(path: Path, folder: Path) -> None:
    """Move a database with what lies beside it, itself last, so that a crash in between leaves it where it was.

    Raises:
        OSError: it can't be moved.
    """
    for name in (*(f"{path.name}{suffix}" for suffix in SIDE_FILES), path.name):
        if os.path.lexists(path.with_name(name)):
            os.replace(path.with_name(name), folder / name)  # noqa: PTH105 - a rename, on one file system
    sync_folder(folder)
    sync_folder(path.parent)


def save_spending(config: Config, sources: Sequence[Path], database: Path, *, now: float) -> str:
    """Book in ``database`` what was spent lately, from the first of ``sources`` that tells; returns what to say of it.

    Raises:
        StoreError: ``database`` can't be written.
    """
    if any(carry_spending_over(source, database, since=now - SPENDING_SECONDS) for source in sources):
        return ""
    cap = max(config.budget.daily_tokens, config.budget.weekly_tokens)
    if not cap or not config.model.is_paid:
        return ""
    book_unknown_spending(database, tokens=cap, now=now)
    return "; what paid calls cost lately is not known any more, so a whole cap of [budget] counts as spent"


def _set_aside(config: Config, reason: str, *, now: float) -> None:
    move_database(config.database_path, new_set_aside(config, reason=reason, now=now))


def _put_a_whole_one_there(config: Config, reason: str, *, now: float) -> str:
    path = config.database_path
    aside = _unfinished(config)
    fresh = path.with_name(f"{path.name}.new")
    for name in (fresh.name, *(f"{fresh.name}{suffix}" for suffix in SIDE_FILES)):
        path.with_name(name).unlink(missing_ok=True)
    backup = _newest_good_backup(config)
    if backup is None:
        make_empty_database(fresh)
    else:
        _copy(backup / DATABASE, fresh)
    sources = [aside.path / path.name] if aside is not None and (aside.path / path.name).exists() else []
    spending = save_spending(config, sources, fresh, now=now)
    for suffix in SIDE_FILES:  # of a database that was deleted without them
        path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)
    os.replace(fresh, path)  # noqa: PTH105 - the atomic rename is the point
    sync_folder(path.parent)
    suspicion_of(path).unlink(missing_ok=True)
    told = _tell(path, aside, backup, aside.reason if aside else reason) + spending
    if aside is not None:
        _note(aside.path, at=aside.at, reason=aside.reason, is_mended=True, told=told)
    return told


def _tell(path: Path, aside: SetAside | None, backup: Path | None, reason: str) -> str:
    told = f"{path}: the database was gone"
    if aside is not None:
        told = f"{path}: the database was damaged ({reason}) and was moved to {aside.path}"
    if backup is None:
        return f"{told}; there is no good backup, so it is made anew from the logs, your journal and MEMORY.md"
    made_at = iso(read_manifest(backup).made_at)
    return f"{told}; the backup of {made_at} took its place, and what came later is read again from the logs"


def _newest_good_backup(config: Config) -> Path | None:
    # Its database alone is taken. Files beside it may stand in each of the backups, and spoilt then are so in each.
    return next((path for path in backups_in(config) if not faults_of_backup(path, of_database_alone=True)), None)


def _unfinished(config: Config) -> SetAside | None:
    """Return what a start that was cut off had set aside."""
    newest = next(iter(set_aside_in(config)), None)
    return newest if newest is not None and not newest.is_mended else None


def _copy(source: Path, target: Path) -> None:
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    with os.fdopen(descriptor, "wb") as stream, source.open("rb") as origin:
        shutil.copyfileobj(origin, stream)
        stream.flush()
        os.fsync(stream.fileno())


def _note(folder: Path, *, at: float, reason: str, is_mended: bool, told: str) -> None:
    table = {"at": at, "reason": reason, "is_mended": is_mended, "told": told}
    try:
        write_whole(folder / _WHY, orjson.dumps(table))
    except OSError as error:
        raise StoreError(f"{folder}: can't be written: {error.strerror or error}") from error
