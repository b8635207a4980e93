"""The operations: the one place that changes memories. Each is checked when proposed, and refused with its reason."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Mapping

from memory_pipeline.records import (
    STATED_KINDS,
    Entry,
    Memory,
    MemoryStatus,
    Operation,
    OperationKind,
    Speaker,
    Usage,
)
from memory_pipeline.statements import statement_fault


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
            return "rests on no entry" if entry is None else statement_fault(entry.statement)
        if memory is None:
            return "there is no such memory"
        if operation.kind in (OperationKind.MERGE, OperationKind.REWORD):
            if entry is None:
                return "rests on no entry"
            return "mixes scopes" if entry.scope != memory.scope else None
        if operation.kind is OperationKind.SUPERSEDE:
            return self._check_supersede(memory, operation)
        return None

    def _check_supersede(self, memory: Memory, operation: Operation) -> str | None:
        newer = self._memories.get(operation.other_memory_id or "")
        if newer is None or newer.memory_id == memory.memory_id:
            return "names no other memory that takes its place"
        if newer.scope != memory.scope:
            return "mixes scopes"
        if memory.kind in STATED_KINDS and not self._is_stated(newer):
            return "what a person stated is superseded only by what a person stated"
        return None

    def _is_stated(self, memory: Memory) -> bool:
        entries = [self._entries[entry_id] for entry_id in memory.entry_ids if entry_id in self._entries]
        return any(line.speaker is Speaker.USER for entry in entries for line in entry.evidence)

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
    by_user = [line.at for line in entry.evidence if line.speaker is Speaker.USER and line.at is not None]
    by_any = [line.at for line in entry.evidence if line.at is not None]
    return max(by_user or by_any, default=0.0)


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
