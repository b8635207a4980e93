"""Looking whether all that is kept is whole. Changes nothing, but notes a damaged database so that it is mended."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from memory_pipeline.config import Config
from memory_pipeline.errors import DamagedDatabaseError, StoreError
from memory_pipeline.files import sha256_hex
from memory_pipeline.phase2.baseline import read_baseline
from memory_pipeline.rollouts.journal import is_readable
from memory_pipeline.safekeeping.backup import backups_in, faults_of_backup
from memory_pipeline.safekeeping.recover import is_lost
from memory_pipeline.store.health import faults_of_used
from memory_pipeline.tombstones import TombstoneFolder

_MOST_NAMED = 5


class Fault(Struct, frozen=True, kw_only=True):
    """Something that is wrong: where, what, and what to do."""

    path: Path
    what: str
    advice: str


def verify_backup(path: Path) -> list[Fault]:
    """Look whether a backup is whole."""
    advice = "use another backup, or make a new one with `memory-pipeline state backup`"
    return [Fault(path=path, what=what, advice=advice) for what in faults_of_backup(path)]


def verify_state(config: Config) -> list[Fault]:
    """Look at everything that is kept: database, journal, tombstones, baseline, backups, who may read them.

    A database that is found damaged is noted as such, so that the next start mends it.
    """
    return [
        *_of_restoring(config),
        *_of_database(config),
        *_of_journal(config),
        *_of_tombstones(config),
        *_of_baseline(config),
        *(fault for path in backups_in(config) for fault in verify_backup(path)),
        *_of_permissions(config),
    ]


def _of_restoring(config: Config) -> Iterator[Fault]:
    if config.restoring_path.exists():
        what, advice = "a backup was being restored and was cut off", "run `memory-pipeline status`: it goes on with it"
        yield Fault(path=config.restoring_path, what=what, advice=advice)


def _of_database(config: Config) -> Iterator[Fault]:
    path = config.database_path
    if is_lost(config):
        advice = "run `memory-pipeline run`: it takes the newest backup, or reads the logs again"
        yield Fault(path=path, what="the database is gone", advice=advice)
    if not path.exists():
        return
    try:
        for what in faults_of_used(path):
            advice = "run `memory-pipeline run`: it sets the database aside and puts a whole one in its place"
            yield Fault(path=path, what=what, advice=advice)
    except (StoreError, DamagedDatabaseError) as error:
        yield Fault(path=path, what=str(error), advice="look at the folder, or name another state_dir")


def _of_journal(config: Config) -> Iterator[Fault]:
    path = config.journal_path
    if not path.exists():
        return
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        yield Fault(path=path, what=f"can't be read: {error.strerror}", advice="look at its permissions")
        return
    torn = [number for number, line in enumerate(lines, start=1) if line.strip() and not is_readable(line)]
    if torn:
        named = ", ".join(map(str, torn[:_MOST_NAMED]))
        what = f"{len(torn)} lines are torn and passed over (line {named})"
        yield Fault(path=path, what=what, advice="take them out, or restore a backup, if something is missing")


def _of_tombstones(config: Config) -> Iterator[Fault]:
    try:
        TombstoneFolder(config.tombstones_path).current()
    except StoreError as error:
        advice = "restore the file from a backup, or delete it to allow what it forgot to come back"
        yield Fault(path=config.tombstones_path, what=str(error), advice=advice)


def _of_baseline(config: Config) -> Iterator[Fault]:
    folder = config.state_path / "baseline"
    if not folder.exists():
        return
    baseline = read_baseline(folder)
    advice = "run `memory-pipeline run`: it publishes everything anew; what is yours in MEMORY.md stays"
    if not baseline.exists:
        yield Fault(path=folder, what="the baseline can't be read", advice=advice)
    for name, digest in baseline.hashes.items():
        file = folder / "files" / name
        if not file.is_file() or sha256_hex(file.read_bytes()) != digest:
            yield Fault(path=file, what="is not what was published", advice=advice)


def _of_permissions(config: Config) -> Iterator[Fault]:
    for path in _ours(config):
        mode = stat.S_IMODE(path.lstat().st_mode)
        if mode & 0o077 and not path.is_symlink():
            wanted = "700" if path.is_dir() else "600"
            yield Fault(path=path, what=f"others may look into it (mode {mode:o})", advice=f"chmod {wanted} it")


def _ours(config: Config) -> Iterator[Path]:
    state, database = config.state_path, config.database_path
    beside = (database.with_name(f"{database.name}{suffix}") for suffix in ("", "-wal", "-shm", "-journal"))
    for path in (*beside, config.journal_path):
        if path.exists():
            yield path
    for folder in (config.backups_path, config.set_aside_path, config.tombstones_path, state / "baseline"):
        if folder.exists():
            yield from (folder, *sorted(folder.rglob("*")))
