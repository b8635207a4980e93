"""Checks of what is stored: the database, what waits in it, locks, the journal, tombstones."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from memory_pipeline.budget import paid_hold
from memory_pipeline.clock import iso
from memory_pipeline.config import Config
from memory_pipeline.errors import StoreError
from memory_pipeline.lock import who_holds
from memory_pipeline.phase2.places import workspace_lock_path
from memory_pipeline.redact import redact
from memory_pipeline.rollouts.journal import is_readable
from memory_pipeline.safekeeping.backup import backups_in
from memory_pipeline.safekeeping.recover import set_aside_in
from memory_pipeline.seeing.doctor.findings import Patient, Said, error, note, ok, warning
from memory_pipeline.store.connection import suspicion_of
from memory_pipeline.store.looking import CantLookError, DatabaseState, health_of
from memory_pipeline.store.migrations import SCHEMA_VERSION
from memory_pipeline.tombstones import TombstoneFolder

_MIB = 1 << 20
_LARGE_LOG_BYTES = 64 * _MIB
_MANY_FREE_BYTES = 64 * _MIB
_MOST_TYPES = 5


def check_database(patient: Patient) -> Iterator[Said]:
    """Whether the database is sound, of our version, and not full of air."""
    path = patient.config.database_path
    try:
        health = health_of(path)
    except CantLookError as why:
        if why.state is DatabaseState.MISSING:
            yield note(str(why), "the first run makes it")
        elif why.state is DatabaseState.LOCKED:
            yield error(str(why), "end the program that holds it")
        elif why.state is DatabaseState.BROKEN:
            yield error(str(why), _BROKEN_REMEDY)
        else:
            yield error(str(why), "look at the owner and the mode of the file and its folder")
        return
    if health.faults:
        yield error(f"{path} is damaged: {health.faults[0]}", _BROKEN_REMEDY)
        return
    if health.version > SCHEMA_VERSION:
        yield error(f"{path} was written by a newer version of memory-pipeline", "update this program")
    elif health.version < SCHEMA_VERSION:
        yield note(f"{path} is of an earlier version of memory-pipeline", "the next run brings it up to date")
    else:
        yield ok(f"{path} is sound ({health.bytes / _MIB:.1f} MiB, journal {health.journal_mode})")
    if health.log_bytes > _LARGE_LOG_BYTES:
        yield warning(
            f"its write-ahead log has {health.log_bytes // _MIB} MiB: some program keeps reading the database",
            "end programs that have memory.db open",
        )
    if health.free_bytes > max(_MANY_FREE_BYTES, health.bytes // 2):
        yield note(f"{health.free_bytes // _MIB} MiB of it are free pages, which are used again")


_BROKEN_REMEDY = "`run` moves it aside and puts a backup, or one made anew from the logs, in its place"


def check_backups(patient: Patient) -> Iterator[Said]:
    """Whether there is something to put in the place of what may be lost, and whether that had to be done."""
    config = patient.config
    seemed_damaged = suspicion_of(config.database_path).exists()
    if seemed_damaged:
        yield warning("the database seemed damaged to a run", "`run` looks at it, and mends it if it is")
    for aside in set_aside_in(config)[:1]:
        yield note(
            f"a database was set aside at {iso(aside.at)}, since {redact(aside.reason).text}",
            f"once all is well, {aside.path} may be deleted",
        )
    made = backups_in(config)
    if made:
        yield ok(f"{len(made)} backups are kept ({made[0].parent})")
    elif config.database_path.is_file():
        yield note("there is no backup yet", "one is made after each consolidation; `state backup` makes one now")


def check_sessions(patient: Patient) -> Iterator[Said]:
    """What failed, what is held back as a whole, and what no grammar knows."""
    if not patient.config.database_path.is_file():
        return
    now = patient.clock.now()
    with patient.store() as store:
        states, failures = store.overview.states(), store.overview.failures()
        unknown = store.overview.unknown_types()
        rest = store.jobs.provider_rest(patient.config.model.provider)
        hold = paid_hold(patient.config, store, now)
    yield ok(f"{sum(states.values())} sessions are known")
    for state, say in (("exhausted", warning), ("error", note)):
        if states.get(state):
            reason = next((one.reason for one in failures if one.state == state and one.reason), "no reason is kept")
            yield say(
                f"{states[state]} sessions are in state {state}, most often because: {redact(reason).text}",
                "mend the cause, then `threads retry THREAD`"
                if state == "exhausted"
                else "they are tried again by themselves; `threads retry THREAD` does not wait",
            )
    if rest.rest_until is not None and rest.rest_until > now:
        reason = redact(rest.reason or "no reason is kept").text
        yield warning(f"the model provider rests until {iso(rest.rest_until)}: {reason}", "mend the cause")
    if hold is not None:
        yield note(f"paid work holds: {hold.reason}", "wait, or change [budget] or [gates]")
    if unknown:
        named = ", ".join(
            f"{redact(name).text} ({lines} in {threads} sessions)"
            for name, (lines, threads) in list(unknown.items())[:_MOST_TYPES]
        )
        more = f", and {len(unknown) - _MOST_TYPES} more types" if len(unknown) > _MOST_TYPES else ""
        yield note(
            f"lines of types that are not known were passed over: {named}{more}",
            "look for a newer version of this program; the agent is newer than it",
        )


def check_locks(patient: Patient) -> Iterator[Said]:
    """Who holds which lock, and whether a run was cut off."""
    config = patient.config
    held = 0
    for name, path in _locks(config).items():
        if os.path.lexists(path) and not (path.is_file() and not path.is_symlink()):
            yield error(f"{path} is no plain file, so it can't be locked", "move it away")
            continue
        holding = who_holds(path)
        if holding.is_held:
            held += 1
            by = f"by process {holding.pid}" if holding.pid else "by a process of another user or container"
            yield note(
                f"{name} is held {by} ({path})", "nothing to do: the lock goes with its process; don't delete it"
            )
    if not held:
        yield ok("nobody holds a lock")
    if not config.database_path.is_file():
        return
    now = patient.clock.now()
    with patient.store() as store:
        last, running = store.memories.last_consolidation(), store.overview.running()
    is_locked = who_holds(workspace_lock_path(config.workspace_path)).is_held
    if last is not None and last.state == "publishing" and not is_locked:
        yield warning(f"consolidation {last.consolidation_id} was cut off while it was published", "`run` finishes it")
    elif last is not None and last.state == "running" and not is_locked:
        yield note(
            f"consolidation {last.consolidation_id} was cut off before it changed anything", "`run` makes a new one"
        )
    elif last is not None and last.state == "failed":
        reason = redact(last.error or "no reason is kept").text
        when = f"; tried again from {iso(last.retry_at)}" if last.retry_at else ""
        yield warning(
            f"the last consolidation failed: {reason}{when}", "mend the cause; what was published is as it was"
        )
    dead = [job for job in running if job.lease_until <= now]
    if dead:
        yield note(f"{len(dead)} sessions were left by a run that died", "the next run takes them over")


def _locks(config: Config) -> dict[str, Path]:
    return {
        "the workspace": workspace_lock_path(config.workspace_path),
        "the set-up of the database": config.state_path / "schema.lock",
        "the journal": config.state_path / "journal.lock",
        "the place of the daemon": config.daemon_lock_path,
    }


def check_journal(patient: Patient) -> Iterator[Said]:
    """Whether what the person did by hand can be read."""
    path = patient.config.journal_path
    if not path.exists():
        yield _of_no_journal(patient)
        return
    try:
        lines = [line for line in path.read_bytes().split(b"\n") if line.strip()]
    except OSError as failed:
        yield error(f"{path} can't be read: {failed.strerror or failed}", "make it readable for you")
        return
    lost = sum(not is_readable(line) for line in lines)
    if lost:
        yield warning(
            f"{lost} of {len(lines)} lines of {path} can't be read, so what you did there does not count",
            "put a backup of it in its place",
        )
    else:
        yield ok(f"the journal can be read ({len(lines)} lines)")


def _of_no_journal(patient: Patient) -> Said:
    try:
        with patient.store() as store:
            was_told = store.journal.was_told()
    except CantLookError:
        was_told = False  # that is told by the check of the database
    if not was_told:
        return ok("nothing was done by hand yet, so there is no journal")
    return warning(
        f"{patient.config.journal_path} is gone, and what you did by hand stands in the database alone",
        "put a copy of your own in its place, or let the next command write it anew",
    )


def check_tombstones(patient: Patient) -> Iterator[Said]:
    """Whether what was forgotten is known, and everything is in line with it."""
    folder = TombstoneFolder(patient.config.tombstones_path)
    try:
        tombstones = folder.current()
    except StoreError as failed:
        what, _, remedy = str(failed).rpartition("; ")
        yield error(what, remedy)
        return
    if tombstones.is_empty:
        yield ok("nothing was forgotten")
        return
    if patient.config.database_path.is_file():
        with patient.store() as store:
            if store.forgetting.met() != tombstones.digest:
                yield warning(
                    "a forgetting was cut off, or a backup brought words back", "any other command finishes it"
                )
                return
    yield ok("what was forgotten is known, and everything is in line with it")
