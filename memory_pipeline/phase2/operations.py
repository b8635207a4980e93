"""The operations: the one place that changes memories. Each is checked when proposed, and refused with its reason."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Mapping

from memory_pipeline.records import (
    STATED_KINDS,
    Entry,
    EvidenceLine,
    Memory,
    MemoryStatus,
    Operation,
    OperationKind,
    Speaker,
    Usage,
)
from memory_pipeline.statements import statement_fault

#: When and where something was said: time, thread, place in the log, entry. The greater is the newer word.
Said = tuple[float, str, int, str]


class MemoryBook:
    """The memories as they would stand after the operations applied so far. Nothing is stored until all are."""

    def __init__(self, memories: Iterable[Memory], entries: Mapping[str, Entry], *, now: float) -> None:
        """Take all memories and every entry that an operation may name, by id."""
        self._memories = {memory.memory_id: memory for memory in memories}
        self._entries = dict(entries)
        self._now = now
        self.operations: list[Operation] = []
        self.placements: list[tuple[str, str]] = []
        self._changed: dict[str, None] = {}

    @property
    def memories(self) -> Mapping[str, Memory]:
        """All memories by id."""
        return self._memories

    @property
    def changed(self) -> list[Memory]:
        """The memories that an operation added or changed, in the order of the first change."""
        return [self._memories[memory_id] for memory_id in self._changed]

    def apply(self, operation: Operation) -> str | None:
        """Check and apply one operation; returns why it is refused, None when it took effect."""
        refusal = self._check(operation)
        if refusal is None:
            self._carry_out(operation)
            self.operations.append(operation)
        return refusal

    def _check(self, operation: Operation) -> str | None:
        entry = self._entries.get(operation.entry_id) if operation.entry_id else None
        if operation.entry_id and entry is None:
            return "rests on an entry that does not exist or was withdrawn"
        memory = self._memories.get(operation.memory_id)
        if operation.kind is OperationKind.ADD:
            if memory is not None:
                return "there is a memory of this id already"
            return "rests on no entry" if entry is None else _fault(entry)
        if memory is None:
            return "there is no such memory"
        if operation.kind in (OperationKind.MERGE, OperationKind.REWORD):
            return "rests on no entry" if entry is None else _check_joining(memory, entry, operation.kind)
        if operation.kind is OperationKind.SUPERSEDE:
            return self._check_supersede(memory, operation)
        if operation.kind is OperationKind.RETIRE and memory.status is MemoryStatus.RETIRED:
            return "is retired already"
        if operation.kind is OperationKind.RESTORE and memory.status is MemoryStatus.ACTIVE:
            return "is told already"
        return None

    def _check_supersede(self, memory: Memory, operation: Operation) -> str | None:
        newer = self._memories.get(operation.other_memory_id or "")
        if newer is None or newer.memory_id == memory.memory_id:
            return "names no other memory that takes its place"
        if newer.scope != memory.scope:
            return "mixes scopes"
        if self.is_persons_word(memory) and not self.is_persons_word(newer):
            return "what a person stated is superseded only by what a person stated"
        return None

    def is_persons_word(self, memory: Memory) -> bool:
        """Whether a memory says what a person stated, and does not only come from an assistant or a tool."""
        return memory.kind in STATED_KINDS or any(is_persons_word(entry) for entry in self._entries_of(memory))

    def newest_word(self, memory: Memory) -> Said:
        """Return when a memory was last said, as far as its entries still stand."""
        return max(map(said, self._entries_of(memory)), default=(memory.last_confirmed, "", 0, ""))

    def _entries_of(self, memory: Memory) -> list[Entry]:
        return [self._entries[entry_id] for entry_id in memory.entry_ids if entry_id in self._entries]

    def _carry_out(self, operation: Operation) -> None:
        entry = self._entries.get(operation.entry_id or "")
        if operation.kind is OperationKind.ADD and entry is not None:
            self._put(new_memory(operation.memory_id, entry, now=self._now))
            self.placements.append((operation.memory_id, entry.entry_id))
            return
        memory = self._memories[operation.memory_id]
        if operation.kind in (OperationKind.MERGE, OperationKind.REWORD) and entry is not None:
            self._put(_joined(memory, entry, reword=operation.kind is OperationKind.REWORD))
            self.placements.append((memory.memory_id, entry.entry_id))
        elif operation.kind is OperationKind.SUPERSEDE:
            self._put(
                dataclasses.replace(
                    memory,
                    status=MemoryStatus.SUPERSEDED,
                    superseded_by=operation.other_memory_id,
                    reason=operation.reason,
                )
            )
        elif operation.kind is OperationKind.RETIRE:
            self._put(dataclasses.replace(memory, status=MemoryStatus.RETIRED, reason=operation.reason))
        elif operation.kind is OperationKind.RESTORE:
            self._put(dataclasses.replace(memory, status=MemoryStatus.ACTIVE, superseded_by=None, reason=""))

    def _put(self, memory: Memory) -> None:
        self._memories[memory.memory_id] = memory
        self._changed[memory.memory_id] = None


def _check_joining(memory: Memory, entry: Entry, kind: OperationKind) -> str | None:
    if entry.scope != memory.scope:
        return "mixes scopes"
    if entry.entry_id in memory.entry_ids:
        return "rests on that entry already"
    return _fault(entry) if kind is OperationKind.REWORD else None


def _fault(entry: Entry) -> str | None:
    """Name the rule that an entry breaks; a condition may say nothing, but not change the structure around it."""
    fault = statement_fault(entry.statement)
    if fault is None and entry.condition:
        in_condition = statement_fault(entry.condition)
        fault = f"condition: {in_condition}" if in_condition not in (None, "empty") else None
    return fault


def new_memory(memory_id: str, entry: Entry, *, now: float) -> Memory:
    """Make the memory that says what one entry says."""
    at = said_at(entry)
    return Memory(
        memory_id=memory_id,
        kind=entry.kind,
        scope=entry.scope,
        condition=entry.condition,
        statement=entry.statement,
        status=MemoryStatus.ACTIVE,
        pinned=False,
        first_seen=at,
        last_confirmed=at,
        learned_at=now,
        superseded_by=None,
        reason="",
        entry_ids=(entry.entry_id,),
        thread_ids=(entry.thread_id,),
        supersedes=(),
        usage=Usage(),
    )


def memory_id_of(entry: Entry) -> str:
    """Return the id of the memory that an entry founds: the same entry founds the same memory."""
    return "m_" + hashlib.sha256(entry.entry_id.encode()).hexdigest()[:16]


def said_at(entry: Entry) -> float:
    """Return when an entry was said: its newest line of the person, else its newest line; 0 when no line has a time."""
    return max((line.at for line in _telling_lines(entry) if line.at is not None), default=0.0)


def said(entry: Entry) -> Said:
    """Return when and where an entry was said. Logs without times still have an order: that of their lines."""
    place = max((line.byte_start for line in _telling_lines(entry)), default=0)
    return said_at(entry), entry.thread_id, place, entry.entry_id


def is_persons_word(entry: Entry) -> bool:
    """Whether an entry is the person's own word: of a kind that needs it, or resting on nothing else."""
    speakers = {line.speaker for line in entry.evidence}
    return entry.kind in STATED_KINDS or speakers == {Speaker.USER}


def _telling_lines(entry: Entry) -> list[EvidenceLine]:
    """The lines whose time and place count: the person's; of an entry without a time in them, all lines."""
    by_user = [line for line in entry.evidence if line.speaker is Speaker.USER and line.at is not None]
    return by_user or list(entry.evidence)


def _joined(memory: Memory, entry: Entry, *, reword: bool) -> Memory:
    at = said_at(entry)
    return dataclasses.replace(
        memory,
        statement=entry.statement if reword else memory.statement,
        condition=entry.condition if reword else memory.condition,
        first_seen=min(memory.first_seen, at),
        last_confirmed=max(memory.last_confirmed, at),
        entry_ids=(*memory.entry_ids, entry.entry_id),
        thread_ids=tuple(sorted({*memory.thread_ids, entry.thread_id})),
    )
