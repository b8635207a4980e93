"""Putting a backup in the place of the state: staged whole, then moved piece by piece; a crash is gone on from."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson

from memory_pipeline.clock import Clock, iso
from memory_pipeline.config import Config
from memory_pipeline.errors import LockedError, UsageError
from memory_pipeline.files import FILE_MODE, make_private_folder, sync_folder, write_whole
from memory_pipeline.lock import os_lock
from memory_pipeline.phase2.places import workspace_lock_path
from memory_pipeline.safekeeping.backup import (
    ADOPTED,
    BASELINE,
    DATABASE,
    JOURNAL,
    TOMBSTONES,
    WORKSPACE,
    faults_of_backup,
    read_manifest,
)
from memory_pipeline.safekeeping.recover import move_database, new_set_aside, save_spending
from memory_pipeline.store.connection import suspicion_of
from memory_pipeline.store.opening import alone

#: Told the name of each step, so that a test can stop the program right there.
OnStep = Callable[[str], None]

_ORDER = "restore.json"
_FILES = "files"
_HANDBOOK = f"{WORKSPACE}/MEMORY.md"
#: What the state folder may hold of a publication that was cut off; it belongs to the database that goes.
_UNFINISHED = ("staging", "kept")


def restore(config: Config, backup: Path, clock: Clock, *, on_step: OnStep = lambda _name: None) -> Path:
    """Put a backup in the place of the state; returns the folder that holds what it took the place of.

    What was forgotten since stays forgotten: tombstones are added, none is taken away. What paid calls cost lately
    stays booked. Notes that the backup lacks stay.

    Raises:
        UsageError: it is no good backup; nothing was changed.
        LockedError: a run is at work; nothing was changed.
        OSError, StoreError: it can't be written; nothing was changed, or the next command goes on.
    """
    faults = faults_of_backup(backup)
    if faults:
        raise UsageError(f"{faults[0]}; nothing was changed: use another backup")
    with _nobody_at_work(config):
        shutil.rmtree(config.restoring_path, ignore_errors=True)
        make_private_folder(config.restoring_path)
        manifest = read_manifest(backup)
        for name in manifest.files:
            _copy(backup / name, config.restoring_path / _FILES / name)
            on_step(f"staged {name}")
        told = f"replaced by the backup of {iso(manifest.made_at)}"
        aside = new_set_aside(config, reason=told, now=clock.now(), is_mended=True, told=told)
        staged = config.restoring_path / _FILES / DATABASE
        if config.database_path.exists():
            save_spending(config, [config.database_path], staged, now=clock.now())
        write_whole(config.restoring_path / _ORDER, orjson.dumps({"aside": str(aside)}))
        on_step("staged")
        _move_into_place(config, aside, on_step)
    return aside


def finish_restoring(config: Config) -> bool:
    """Go on with a restoring that was cut off, or forget one that had changed nothing yet; whether there was one.

    Raises:
        LockedError: another process is at work.
        OSError: it can't be written; the next command tries again.
    """
    if not config.restoring_path.exists():
        return False
    with _nobody_at_work(config):
        try:
            order = orjson.loads((config.restoring_path / _ORDER).read_bytes())
        except (OSError, ValueError):
            shutil.rmtree(config.restoring_path, ignore_errors=True)
            return False
        _move_into_place(config, Path(order["aside"]), lambda _name: None)
    return True


@contextmanager
def _nobody_at_work(config: Config) -> Iterator[None]:
    lock = workspace_lock_path(config.workspace_path)
    make_private_folder(lock.parent)
    make_private_folder(config.state_path)
    with os_lock(lock, purpose="restoring a backup"), alone(config.database_path, wait_seconds=0):
        yield


def _move_into_place(config: Config, aside: Path, on_step: OnStep) -> None:
    """Move each piece aside and its successor into its place. May be repeated: a piece that is staged is not done."""
    staged = config.restoring_path / _FILES
    state = config.state_path
    make_private_folder(aside)
    # First of all, so that nothing that was forgotten is read before it is known as such.
    _add_missing(staged / TOMBSTONES, config.tombstones_path)
    on_step("added tombstones")
    for name in _UNFINISHED:
        _move_aside(state / name, aside / name)
    on_step("moved aside what was unfinished")
    if (staged / DATABASE).exists():
        move_database(config.database_path, aside)
        on_step("moved the database aside")
        _put(staged / DATABASE, config.database_path)
        suspicion_of(config.database_path).unlink(missing_ok=True)
        on_step("put the database")
    for name in (JOURNAL, BASELINE, ADOPTED):
        if (staged / name).exists():
            _move_aside(state / name, aside / name)
            on_step(f"moved {name} aside")
            _put(staged / name, state / name)
            on_step(f"put {name}")
    _put_handbook(staged / _HANDBOOK, config.workspace_path / "MEMORY.md", aside / "MEMORY.md")
    on_step("put MEMORY.md")
    _add_missing(staged / WORKSPACE / "extensions", config.workspace_path / "extensions")
    on_step("added notes")
    shutil.rmtree(config.restoring_path)
    sync_folder(state)


def _put_handbook(staged: Path, target: Path, kept: Path) -> None:
    """Put MEMORY.md in its place, which may lie on another file system; what stood there is kept first."""
    if not staged.exists():
        return
    make_private_folder(target.parent)
    if target.is_file() and not target.is_symlink() and not kept.exists():
        write_whole(kept, target.read_bytes())
    write_whole(target, staged.read_bytes())
    staged.unlink()


def _move_aside(path: Path, target: Path) -> None:
    if os.path.lexists(path) and not os.path.lexists(target):
        os.replace(path, target)  # noqa: PTH105 - a rename, on one file system


def _put(staged: Path, target: Path) -> None:
    make_private_folder(target.parent)
    os.replace(staged, target)  # noqa: PTH105
    sync_folder(target.parent)


def _add_missing(staged: Path, target: Path) -> None:
    for path in sorted(staged.rglob("*")) if staged.is_dir() else ():
        place = target / path.relative_to(staged)
        if path.is_file() and not os.path.lexists(place):
            make_private_folder(place.parent)
            write_whole(place, path.read_bytes())


def _copy(source: Path, target: Path) -> None:
    make_private_folder(target.parent)
    try:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    except FileExistsError as error:
        raise LockedError(f"{target}: another program is writing there") from error
    with os.fdopen(descriptor, "wb") as stream, source.open("rb") as origin:
        shutil.copyfileobj(origin, stream)
        stream.flush()
        os.fsync(stream.fileno())
