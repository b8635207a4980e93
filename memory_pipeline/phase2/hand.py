"""What the person does by hand, on its way into the memories: found, written into the journal, read back as deeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from memory_pipeline.clock import Clock
from memory_pipeline.config import Config
from memory_pipeline.phase2.baseline import Baseline
from memory_pipeline.phase2.deeds import DEEDS, Deed, entry_of
from memory_pipeline.phase2.edits import edits_of, records_of
from memory_pipeline.phase2.extensions import records_of_extensions
from memory_pipeline.phase2.operations import MemoryBook
from memory_pipeline.phase2.rebuilt import is_made_anew, records_of_rebuilt, told_memories
from memory_pipeline.records import (
    PROJECT_SCOPE_PREFIX,
    USER_SCOPE,
    Coverage,
    Entry,
    Extraction,
    JournalAction,
    JournalLine,
    JournalRecord,
    Memory,
    MemoryStatus,
    SubmittedTask,
    Task,
    TaskOutcome,
)
from memory_pipeline.rollouts.journal import JOURNAL_THREAD, Journal, record_id_of
from memory_pipeline.rollouts.review_lines import left_of_review
from memory_pipeline.store.citations import CitedLine
from memory_pipeline.store.store import Store
from memory_pipeline.tombstones import TombstoneFolder, Tombstones


class Hand:
    """The journal of one state folder, and what the store holds of it. Used under the workspace lock."""

    def __init__(self, config: Config, store: Store, clock: Clock) -> None:
        self.journal = Journal(config.journal_path)
        self._config = config
        self._store = store
        self._clock = clock
        self._tombstones = TombstoneFolder(config.tombstones_path)

    def leave_out_forgotten(self) -> int:
        """Blank what was forgotten in the journal; returns how many lines. After that, no deed is made of it.

        Raises:
            OSError, LockedError, StoreError: the journal can't be written, or what was forgotten can't be read.
        """
        tombstones = self._tombstones.current()
        if tombstones.is_empty:
            return 0
        reviewed = self._store.extractions.known_entries([one.entry_id for one in self.journal.read_reviews()])
        return self.journal.rewrite(
            lambda record: left_of(record, tombstones),
            remains_of_review=lambda record: left_of_review(record, tombstones, is_known=record.entry_id in reviewed),
            holds=tombstones.holds_words,
            drops=lambda record: tombstones.takes_settings(record.target, at=record.at),
            remains_of_task=lambda task, line: None if is_forgotten_task(task, line, tombstones) else task,
        )

    def write_down_rebuilt(self, baseline: Baseline, *, published_at: float) -> int:
        """Append to the journal what MEMORY.md told and a database that was made anew does not know; returns how much.

        Raises:
            OSError: the journal can't be written.
        """
        if not is_made_anew(baseline, self._store.memories.last_consolidation()):
            return 0
        known = {memory.memory_id for memory in self._store.memories.every()}
        records = records_of_rebuilt(told_memories(baseline, known, at=published_at))
        written = {line.record.record_id for line in self.journal.read(with_uses=False)}
        tombstones = self._tombstones.current()
        missing = [record for record in records if record.record_id not in written]
        missing = [record for record in missing if not _is_forgotten(record, tombstones)]
        said = self._store.extractions.said()
        missing = [record for record in missing if (record.scope, record.statement) not in said]
        self.journal.append(missing)
        return len(missing)

    def write_down_edits(self, baseline: Baseline, on_disk: bytes | None) -> None:
        """Append to the journal what the person did to MEMORY.md and wrote into notes since they were last read.

        Raises:
            OSError: the journal can't be written.
        """
        self.journal.append(self.find_edits(baseline, on_disk))

    def find_edits(self, baseline: Baseline, on_disk: bytes | None) -> list[JournalRecord]:
        """Return what the person did to MEMORY.md and wrote into notes, as far as the journal does not hold it."""
        now = self._clock.now()
        edits = edits_of(baseline, on_disk)
        memories = {memory.memory_id: memory for memory in self._store.memories.every()} if edits else {}
        # What was taken out or worded anew while the database was gone is known by what it said.
        memories |= told_memories(baseline, memories.keys(), at=now) if edits else {}
        found = records_of(edits, memories, now=now)
        found += records_of_extensions(
            self._config.workspace_path, retention_days=self._config.phase2.extension_retention_days, now=now
        )
        if not found:
            return []
        known = self._store.memories.taken_in() | {line.record.record_id for line in self._read()}
        tombstones = self._tombstones.current()
        return [record for record in found if record.record_id not in known and left_of(record, tombstones) is not None]

    def deeds(self) -> list[Deed]:
        """Return what no consolidation took in yet, in the journal's order; the store learns of their entries."""
        lines = self._read()
        self._store_entries(list(self._entries(lines).values()))
        return self._left(lines)

    def deeds_to_come(self, baseline: Baseline, on_disk: bytes | None) -> list[Deed]:
        """Return what deeds() would after writing down the edits that are not written down yet; changes nothing."""
        unwritten = [
            JournalLine(record=record, byte_start=0, byte_end=0, line_sha256="")
            for record in self.find_edits(baseline, on_disk)
        ]
        return self._left([*self._read(), *unwritten])

    def _read(self) -> list[JournalLine]:
        """Read the journal; what was said of a folder is of the project that the folder is known as by now."""
        projects = {
            f"{PROJECT_SCOPE_PREFIX}{folder}": scope
            for folder, scope in self._store.threads.scopes_with_remote().items()
        }
        return [
            replace(
                line,
                record=replace(line.record, scope=projects.get(line.record.scope or "", line.record.scope)),
            )
            for line in self.journal.read(with_uses=False)
        ]

    def _entries(self, lines: Sequence[JournalLine]) -> dict[str, Entry]:
        path = str(self.journal.path)
        return {
            line.record.record_id: entry
            for line in lines
            if (entry := entry_of(line, thread_id=JOURNAL_THREAD, journal_path=path)) is not None
        }

    def _left(self, lines: Sequence[JournalLine]) -> list[Deed]:
        entries = self._entries(lines)
        taken_in = self._store.memories.taken_in()
        return [
            Deed(record=line.record, entry=entries.get(line.record.record_id))
            for line in lines
            if line.record.action in DEEDS and line.record.record_id not in taken_in
        ]

    def write_down_cited(self, memories: Mapping[CitedLine, str]) -> None:
        """Append to the journal which memories the lines that answers cited told: nothing else can tell it later.

        The lines of one answer that tell one memory are one use of it.

        Raises:
            OSError: the journal can't be written.
        """
        records = {
            (record_id := record_id_of("cited", line.citation_id, memory_id)): JournalRecord(
                record_id=record_id, action=JournalAction.USE, at=line.at, origin="citation", memory_id=memory_id
            )
            for line, memory_id in memories.items()
        }
        written = {line.record.record_id for line in self.journal.read()} if records else set()
        self.journal.append([record for record_id, record in records.items() if record_id not in written])

    def count_uses(self) -> None:
        """Count the uses that the journal tells of, each once."""
        uses = self.journal.uses_beside(self._store.uses.known())
        self._store.uses.take_in(uses, now=self._clock.now())

    def write_down_undoing(self, book: MemoryBook, consolidation_id: int) -> frozenset[str]:
        """Append to the journal how an undoing left the memories, so that a rebuild ends the same.

        Raises:
            OSError: the journal can't be written.
        """
        before = {change.operation.memory_id: change.before for change in book.changes}
        records = [
            record
            for memory in book.changed
            if (record := _undoing(memory, before[memory.memory_id], consolidation_id, self._clock.now())) is not None
        ]
        self.journal.append(records)
        self.deeds()
        return frozenset(record.record_id for record in records)

    def _store_entries(self, entries: Sequence[Entry]) -> None:
        known = {entry.entry_id: entry for entry in self._store.extractions.entries(JOURNAL_THREAD)}
        # A project that was renamed meanwhile moved the stored ones along. A line that the file lost was said all the
        # same: a journal that is cut short, emptied or deleted takes nothing back.
        by_id = known | {entry.entry_id: replace(entry, scope=_scope_of(entry, known)) for entry in entries}
        if by_id == known:
            return
        current = list(by_id.values())
        task = Task(title="What you wrote yourself", outcome=TaskOutcome.SUCCESS, entries=tuple(current))
        extraction = Extraction(
            thread_id=JOURNAL_THREAD,
            rollout_summary="What you added, edited and noted yourself.",
            slug="journal",
            raw_memory="\n".join(f"- {entry.kind}: {entry.statement}" for entry in current),
            tasks=(task,),
            coverage=Coverage.HIGH,
        )
        self._store.journal.replace(
            extraction, rollout_path=str(self.journal.path), scope=USER_SCOPE, now=self._clock.now()
        )


def left_of(record: JournalRecord, tombstones: Tombstones) -> JournalRecord | None:
    """Return what stays of a deed: nothing of one that was forgotten; of another, no forgotten words around it."""
    words = (record.statement, record.condition, record.was, record.was_condition, record.origin)
    if (
        tombstones.has_record(record.record_id)
        or tombstones.has_memory(record.memory_id or "")
        or tombstones.has_thread(record.thread_id or "")
        or tombstones.holds_words(*words)
    ):
        return None
    if record.was and tombstones.is_text(record.was, at=record.at):
        record = replace(record, was="", was_condition="")
    says_it = record.action in (JournalAction.ADD, JournalAction.EDIT, JournalAction.RESTORE)
    if not says_it and record.statement and tombstones.is_text(record.statement, at=record.at):
        record = replace(record, statement="", condition="")
    return record


def is_forgotten_task(task: SubmittedTask, line_sha256: str, tombstones: Tombstones) -> bool:
    """Whether a submitted task must go: it was forgotten, or a part of it was, or it holds forgotten words."""
    return (
        tombstones.has_thread(task.thread_id)
        or tombstones.has_line(task.thread_id, line_sha256)
        or tombstones.holds_words(task.goal, task.result, task.scope)
    )


def _is_forgotten(record: JournalRecord, tombstones: Tombstones) -> bool:
    return left_of(record, tombstones) is None or tombstones.is_text(record.statement)


def _scope_of(entry: Entry, known: Mapping[str, Entry]) -> str:
    return known[entry.entry_id].scope if entry.entry_id in known else entry.scope


def _undoing(memory: Memory, before: Memory | None, consolidation_id: int, now: float) -> JournalRecord | None:
    if memory.status is MemoryStatus.RETIRED:
        action = JournalAction.RETIRE
    elif before is not None and memory.statement != before.statement:
        action = JournalAction.EDIT
    elif memory.status is MemoryStatus.ACTIVE and before is not None and before.status is not MemoryStatus.ACTIVE:
        action = JournalAction.RESTORE
    else:
        return None
    return JournalRecord(
        record_id=record_id_of("undo", consolidation_id, memory.memory_id, now),
        action=action,
        at=now,
        origin="undo",
        memory_id=memory.memory_id,
        kind=memory.kind,
        scope=memory.scope,
        condition=memory.condition,
        statement=memory.statement,
        was=before.statement if before is not None and action is JournalAction.EDIT else "",
        was_condition=before.condition if before is not None and action is JournalAction.EDIT else "",
    )
