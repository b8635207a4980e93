"""A journal that is gone, though the database knows what it told, is written anew: as much as is known of it.

First the copy in the newest backup, then what the database knows beyond it. Settings, decisions about drafts and uses
are known to the letter; of the person's deeds, their words and how they left the memories. Nothing that was forgotten
comes back: the database was brought in line with it before, and each record is held against it once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from memory_pipeline.clock import Clock
from memory_pipeline.config import Config
from memory_pipeline.phase2.deeds import entry_id_of
from memory_pipeline.phase2.hand import Hand, left_of
from memory_pipeline.phase2.rebuilt import REBUILT_ORIGIN
from memory_pipeline.records import (
    Actor,
    AppliedOperation,
    Entry,
    JournalAction,
    JournalRecord,
    Memory,
    MemoryStatus,
    OperationKind,
    ReviewRecord,
    SettingRecord,
)
from memory_pipeline.rollouts.journal import JOURNAL_THREAD, Journal, ids_in, record_id_of
from memory_pipeline.rollouts.review_lines import left_of_review
from memory_pipeline.safekeeping.backup import newest_backup
from memory_pipeline.store.store import Store
from memory_pipeline.tombstones import TombstoneFolder

#: Where a record comes from that was not read in the journal.
ANEW_ORIGIN = "the database"


class _Known(Struct, frozen=True, kw_only=True):
    """What the database knows of what the journal told."""

    settings: Sequence[SettingRecord]
    reviews: Sequence[ReviewRecord]
    deeds: Sequence[JournalRecord]
    uses: Sequence[JournalRecord]

    @property
    def records(self) -> list[SettingRecord | ReviewRecord | JournalRecord]:
        return [*self.settings, *self.reviews, *self.deeds, *self.uses]


def write_journal_anew(config: Config, store: Store, clock: Clock) -> str | None:
    """Write the journal anew where it is gone; returns what the person should know, None where all is well.

    Cut off at any moment, it leaves no journal or a whole one.

    Raises:
        OSError, LockedError: it can't be written; there is none still.
        StoreError: what is known of it, or what was forgotten, can't be read.
    """
    journal = Journal(config.journal_path)
    if not journal.is_gone():
        return None
    known = _known_to(config, store)
    if not known.records:
        return None
    before = _copy_in_backup(config)
    told = ids_in(before)
    missing = [record for record in known.records if record.record_id not in told]
    # Before they can be read: nothing that is known already may be taken for something new that the person did.
    store.journal.note_taken_in(one.record_id for one in known.deeds)
    if not journal.begin_anew(before, missing):
        return None
    Hand(config, store, clock).leave_out_forgotten()  # a backup that somebody put back may be of before a forgetting
    return (
        f"{journal.path} was gone; written anew with what the newest backup has of it ({len(told)} records) and the "
        f"database beyond that ({len(missing)}). Tasks and notes that are younger than the backup are not in it"
    )


def _known_to(config: Config, store: Store) -> _Known:
    tombstones = TombstoneFolder(config.tombstones_path).current()
    reviews = store.drafts.every_record()
    entries = store.extractions.known_entries([one.entry_id for one in reviews])
    left = (left_of_review(one, tombstones, is_known=one.entry_id in entries) for one in reviews)
    return _Known(
        settings=[one for one in store.settings.every() if not tombstones.takes_settings(one.target, at=one.at)],
        reviews=[one for one in left if one is not None],
        deeds=[kept for one in _deeds(store) if (kept := left_of(one, tombstones)) is not None],
        uses=[one for one in store.uses.every(origin=ANEW_ORIGIN) if left_of(one, tombstones) is not None],
    )


def _copy_in_backup(config: Config) -> bytes:
    backup = newest_backup(config)
    try:
        return b"" if backup is None else (backup.path / config.journal_path.name).read_bytes()
    except OSError:
        return b""


def _deeds(store: Store) -> list[JournalRecord]:
    """Return what the person had told, and how they left the memories, by time."""
    entries = {entry.entry_id: entry for entry in store.extractions.entries(JOURNAL_THREAD)}
    record_ids = {entry_id_of(name, thread_id=JOURNAL_THREAD): name for name in store.memories.taken_in()}
    deeds: list[JournalRecord] = []
    for memory in store.memories.every():
        by_hand = [entries[name] for name in memory.entry_ids if name in entries and name in record_ids]
        if by_hand or memory.pinned or memory.status is MemoryStatus.RETIRED:
            history = store.memories.operations_of(memory.memory_id)
            deeds += _words(memory, by_hand, record_ids, history)
            deeds += _standing(memory, history)
    return sorted(deeds, key=lambda record: record.at)


def _words(
    memory: Memory, entries: Iterable[Entry], record_ids: Mapping[str, str], history: Sequence[AppliedOperation]
) -> Iterator[JournalRecord]:
    """Yield what the person had told in a memory, each under the id that it had."""
    by_entry = {one.operation.entry_id: one for one in history if one.operation.entry_id is not None}
    for entry in entries:
        applied = by_entry.get(entry.entry_id)
        if applied is not None and applied.operation.reason.endswith(REBUILT_ORIGIN):
            continue  # nobody's word: MEMORY.md tells it, from which it is read again
        action = _action_of(applied)
        was = applied.before if applied is not None and action is JournalAction.EDIT else None
        yield JournalRecord(
            record_id=record_ids[entry.entry_id],
            action=action,
            at=entry.evidence[0].at or 0.0,
            origin=ANEW_ORIGIN,
            memory_id=None if action is JournalAction.ADD else memory.memory_id,
            kind=entry.kind,
            scope=entry.scope,
            condition=entry.condition,
            statement=entry.statement,
            was=was.statement if was is not None else "",
            was_condition=was.condition if was is not None else "",
            speaker=entry.evidence[0].speaker,
        )


def _action_of(applied: AppliedOperation | None) -> JournalAction:
    if applied is None or applied.operation.actor is not Actor.PERSON:
        return JournalAction.ADD
    by_kind = {OperationKind.REWORD: JournalAction.EDIT, OperationKind.MERGE: JournalAction.RESTORE}
    return by_kind.get(applied.operation.kind, JournalAction.ADD)


def _standing(memory: Memory, history: Sequence[AppliedOperation]) -> Iterator[JournalRecord]:
    """Yield whether the person took a memory out, and whether they pinned it."""
    retired = _last(history, OperationKind.RETIRE, OperationKind.REVERT)
    if memory.status is MemoryStatus.RETIRED and retired is not None and retired.operation.actor is Actor.PERSON:
        yield _about(memory, JournalAction.RETIRE, at=retired.at)
    pinned = _last(history, OperationKind.PIN, OperationKind.UNPIN)
    if pinned is not None:
        yield _about(memory, JournalAction.PIN if memory.pinned else JournalAction.UNPIN, at=pinned.at)


def _last(history: Sequence[AppliedOperation], *kinds: OperationKind) -> AppliedOperation | None:
    return next((one for one in reversed(history) if one.operation.kind in kinds), None)


def _about(memory: Memory, action: JournalAction, *, at: float) -> JournalRecord:
    return JournalRecord(
        record_id=record_id_of("written anew", action, memory.memory_id, at),
        action=action,
        at=at,
        origin=ANEW_ORIGIN,
        memory_id=memory.memory_id,
        kind=memory.kind,
        scope=memory.scope,
        condition=memory.condition,
        statement=memory.statement,
    )
