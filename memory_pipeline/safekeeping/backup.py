"""Backups: a folder that holds the database and what stands beside it, each file with its hash, written whole."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

import orjson
from msgspec import Struct

from memory_pipeline.clock import Clock, iso
from memory_pipeline.config import Config
from memory_pipeline.errors import LockedError, MemoryPipelineError, UsageError
from memory_pipeline.files import TEMPORARY_PREFIX, make_private_folder, sync_folder, write_whole
from memory_pipeline.lock import os_lock
from memory_pipeline.phase2.places import workspace_lock_path
from memory_pipeline.safekeeping.names import next_name, numbered_in
from memory_pipeline.store.copies import faults_of_copy
from memory_pipeline.store.store import Store

MANIFEST = "manifest.json"
DATABASE = "memory.db"
JOURNAL = "journal.jsonl"
ADOPTED = "adopted"
TOMBSTONES = "tombstones"
BASELINE = "baseline"
WORKSPACE = "workspace"
#: Of those made by themselves, so many are kept, the newest.
MOST_KEPT = 2

_FORMAT = 1
_CHUNK_BYTES = 1 << 20
#: Of a file that stands in several backups: its owner alone may read it, and nobody write it.
_SHARED_MODE = 0o400
#: What of the workspace is the person's; the rest is rendered.
_PERSONS = ("MEMORY.md", "extensions")
#: What must stay free on the disk beside a backup, in bytes.
_SPARE_BYTES = 64 << 20


class Backup(Struct, frozen=True, kw_only=True):
    """A backup that is whole as far as its list of files tells."""

    path: Path
    made_at: float
    consolidation_id: int  # the last one that was published by then; 0 for none
    published_at: float
    files: Mapping[str, tuple[int, str]]  # path in the backup -> size and SHA-256


def back_up_if_due(config: Config, store: Store, clock: Clock) -> str | None:
    """Keep one backup of what was consolidated last; returns why it could not be made, None when all is well.

    Older ones go, but for one. A backup is due when something was published since the last one.
    """
    last = store.memories.last_success()
    if last is None or (last.consolidation_id, last.finished_at) == _covered_by(newest_backup(config)):
        return None
    folder = config.backups_path
    try:
        make_private_folder(folder)
        needed = _size_of(config.database_path) + _SPARE_BYTES
        if shutil.disk_usage(folder).free < needed:
            return f"no backup was made: {folder} needs {needed >> 20} MiB of free space"
        with _workspace(config):
            _sweep(folder)
            _write(config, store, folder / next_name(folder, now=clock.now()), now=clock.now())
        _drop_old(folder)
    except LockedError:
        return None  # that run makes one, or the next
    except (OSError, MemoryPipelineError) as error:
        return f"no backup was made: {getattr(error, 'strerror', None) or error}; the next run tries again"
    return None


def back_up(config: Config, store: Store, clock: Clock, target: Path | None) -> Backup:
    """Make a backup at ``target``, or beside those that are made by themselves.

    Raises:
        UsageError: something stands at ``target``.
        LockedError: another run holds the workspace.
        OSError, StoreError: it can't be written; nothing is left of it.
    """
    with _workspace(config):
        if target is None:
            make_private_folder(config.backups_path)
            target = config.backups_path / next_name(config.backups_path, now=clock.now())
        elif os.path.lexists(target):
            raise UsageError(f"{target} is there already; name a path at which nothing stands")
        _write(config, store, target, now=clock.now())
    if target.parent == config.backups_path:
        _drop_old(config.backups_path)
    return read_manifest(target)


def backups_in(config: Config) -> list[Path]:
    """Return the backups that were made by themselves, the newest first, whatever state they are in.

    After them come those that a person put beside them under names of their own.
    """
    folder = config.backups_path
    try:
        numbered = numbered_in(folder)
        others = [path for path in sorted(folder.iterdir()) if path not in numbered and (path / MANIFEST).is_file()]
    except OSError:
        return []
    return [*numbered, *(path for path in others if not path.name.startswith("."))]


def newest_backup(config: Config) -> Backup | None:
    """Return the newest backup whose list of files can be read."""
    for path in backups_in(config):
        with suppress(UsageError):
            return read_manifest(path)
    return None


def read_manifest(path: Path) -> Backup:
    """Read the list of a backup's files.

    Raises:
        UsageError: it is none, is damaged, or is of a newer version.
    """
    try:
        table: dict[str, Any] = orjson.loads((path / MANIFEST).read_bytes())
        if int(table["format"]) > _FORMAT:
            raise UsageError(f"{path}: made by a newer version of memory-pipeline; update the program")
        if table.pop("checksum") != _checksum(table):
            raise UsageError(f"{path}: its {MANIFEST} is damaged; use another backup")
        iso(float(table["made_at_seconds"]))  # a moment that can be told
        return Backup(
            path=path,
            made_at=float(table["made_at_seconds"]),
            consolidation_id=int(table["consolidation_id"]),
            published_at=float(table["published_at_seconds"]),
            files={str(name): (int(size), str(digest)) for name, (size, digest) in table["files"].items()},
        )
    except (OSError, ValueError, ArithmeticError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path}: no backup of memory-pipeline, or its {MANIFEST} is damaged") from error


def faults_of_backup(path: Path, *, of_database_alone: bool = False) -> list[str]:
    """Return what is wrong with a backup: files that are missing or changed, a database that is damaged."""
    try:
        backup = read_manifest(path)
    except UsageError as error:
        return [str(error)]
    faults = []
    for name, (size, digest) in backup.files.items():
        if of_database_alone and name != DATABASE:
            continue
        file = path / name
        if not _is_of(path, name) or not file.is_file():
            faults.append(f"{file}: is missing, or no file of its own")
        elif file.stat().st_size != size or sha256_of(file) != digest:
            faults.append(f"{file}: is not what was written")
    if DATABASE not in backup.files:
        faults.append(f"{path / DATABASE}: is missing")
    elif not faults:
        faults += [f"{path / DATABASE}: {fault}" for fault in faults_of_copy(path / DATABASE)]
    return faults


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, read a part at a time."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _write(config: Config, store: Store, target: Path, *, now: float) -> None:
    """Write a backup whole: under another name first, its list of files last."""
    fresh = target.with_name(f"{TEMPORARY_PREFIX}{target.name}")
    shutil.rmtree(fresh, ignore_errors=True)
    # A copy that a person asked for at a place, or under a name, of theirs shares nothing with any other.
    former = next(iter(numbered_in(target.parent)), None) if target.parent == config.backups_path else None
    try:
        make_private_folder(fresh)
        last = store.memories.last_success()
        # The database first: what the person does meanwhile stands in the journal, and is taken in from there.
        store.copy_to(fresh / DATABASE)
        for source, name in _beside_the_database(config):
            _copy(source, fresh / name, alike=former / name if former is not None else None)
        for folder in (fresh, *(path for path in fresh.rglob("*") if path.is_dir())):
            sync_folder(folder)
        files = {
            path.relative_to(fresh).as_posix(): (path.stat().st_size, sha256_of(path))
            for path in sorted(fresh.rglob("*"))
            if path.is_file()
        }
        table = {
            "format": _FORMAT,
            "made_at": iso(now),
            "made_at_seconds": now,
            "consolidation_id": last.consolidation_id if last else 0,
            "published_at_seconds": (last.finished_at or 0.0) if last else 0.0,
            "files": files,
        }
        table["checksum"] = _checksum(table)
        write_whole(fresh / MANIFEST, orjson.dumps(table, option=orjson.OPT_INDENT_2))
        os.replace(fresh, target)  # noqa: PTH105 - the atomic rename is the point
        sync_folder(target.parent)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise


def _beside_the_database(config: Config) -> Iterator[tuple[Path, str]]:
    """Yield what else a backup holds, and its name there. Links are not followed."""
    state, workspace = config.state_path, config.workspace_path
    for name in (JOURNAL, ADOPTED):
        yield from _files(state / name, name)
    for name in (BASELINE, TOMBSTONES):
        yield from _files(state / name, name)
    for name in _PERSONS:
        yield from _files(workspace / name, f"{WORKSPACE}/{name}")


def _files(source: Path, name: str) -> Iterator[tuple[Path, str]]:
    if source.is_symlink():
        return
    if source.is_file():
        yield source, name
    elif source.is_dir():
        for path in sorted(source.iterdir()):
            if not path.name.startswith(TEMPORARY_PREFIX):
                yield from _files(path, f"{name}/{path.name}")


def _copy(source: Path, target: Path, *, alike: Path | None) -> None:
    """Copy a file; where one of an earlier backup holds the same, that file gets a second name."""
    make_private_folder(target.parent)
    try:
        content = source.read_bytes()
    except FileNotFoundError:  # the person may take a note away meanwhile
        return
    # Nothing ever writes into a backup: both names keep the file as it is, until the last backup of it goes. An editor
    # must not do so either, since it would change both.
    with suppress(OSError, NotImplementedError):
        if alike is not None and not alike.is_symlink() and alike.read_bytes() == content:
            alike.chmod(_SHARED_MODE)
            os.link(alike, target, follow_symlinks=False)
            return
    write_whole(target, content, sync_name=False)  # the whole folder is made durable at once


def _checksum(table: Mapping[str, Any]) -> str:
    return hashlib.sha256(orjson.dumps(table, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _workspace(config: Config) -> Any:
    lock = workspace_lock_path(config.workspace_path)
    make_private_folder(lock.parent)
    return os_lock(lock, purpose="a backup")


def _covered_by(backup: Backup | None) -> tuple[int, float] | None:
    return (backup.consolidation_id, backup.published_at) if backup else None


def _drop_old(folder: Path) -> None:
    for path in numbered_in(folder)[MOST_KEPT:]:
        shutil.rmtree(path, ignore_errors=True)


def _sweep(folder: Path) -> None:
    """Remove what a run that was killed while it wrote a backup left. Only under the workspace lock."""
    for path in folder.glob(f"{TEMPORARY_PREFIX}*"):
        shutil.rmtree(path, ignore_errors=True)


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _is_of(backup: Path, name: str) -> bool:
    """Whether a name leads to a file of the backup itself, through no link, and is the only name that does."""
    relative = PurePosixPath(name)
    if relative.is_absolute() or ".." in relative.parts or relative.as_posix() != name:
        return False
    return not any((backup / part).is_symlink() for part in (relative, *relative.parents[:-1]))
