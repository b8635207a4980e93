"""The operations: the one place that changes memories. Each is checked when proposed, and refused with its reason."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property

from msgspec.structs import replace

from memory_pipeline.entries import Said, is_persons_word, said, said_at, states_persons_word
from memory_pipeline.grounding import ungrounded
from memory_pipeline.likeness import contradicts
from memory_pipeline.phase2.known import KnownEntries, Overlaid
from memory_pipeline.phase2.leash import (
    MOST_RETIRED_SHARE,
    fault_of_company,
    fault_of_joining,
    fault_of_retiring,
    fault_of_superseding,
    fault_of_wording,
    wording_of,
)
from memory_pipeline.records import (
    STATED_KINDS,
    Actor,
    Change,
    Entry,
    Memory,
    MemoryStatus,
    Operation,
    OperationKind,
    Usage,
)
from memory_pipeline.redact import redact
from memory_pipeline.statements import statement_fault

#: What identifies an operation that the person undid, so that it does not come back by itself.
Undone = tuple[OperationKind, str, str | None, str | None]

#: More operations than this in one consolidation are a fault of whoever proposes them; the rest waits for the next.
MOST_OPERATIONS = 20_000

#: Why an entry can't be rested on when nothing better is known.
NO_SUCH_ENTRY = "rests on an entry that does not exist or was withdrawn"

UNDONE_REASON = "the person undid what made it"


class MemoryBook:
    """The memories as they would stand after the operations applied so far. Nothing is stored until all are."""

    def __init__(
        self,
        memories: Mapping[str, Memory],
        entries: Mapping[str, Entry],
        *,
        now: float,
        undone: frozenset[Undone] = frozenset(),
        most_operations: int = MOST_OPERATIONS,
    ) -> None:
        """Take all memories and every entry that an operation may name, by id; each may read them when it is asked.

        ``undone`` are the operations that the person undid (see undone_key).
        """
        self._memories = Overlaid(memories)
        self._entries = entries
        self._now = now
        self._undone = undone
        self._most_operations = most_operations
        self.changes: list[Change] = []
        self.placements: list[tuple[str, str]] = []
        self.removals: list[tuple[str, str]] = []

    @property
    def memories(self) -> Overlaid:
        """All memories by id."""
        return self._memories

    @property
    def operations(self) -> list[Operation]:
        """What was applied, in order."""
        return [change.operation for change in self.changes]

    @property
    def changed(self) -> list[Memory]:
        """The memories that an operation added or changed, in the order of the first change."""
        return list(self._memories.laid_over.values())

    @property
    def is_full(self) -> bool:
        """Whether it holds as many operations as one consolidation may hold."""
        return len(self.changes) >= self._most_operations

    @property
    def placed(self) -> frozenset[str]:
        """The ids of the entries that a memory newly rests on."""
        return frozenset(entry_id for _, entry_id in self.placements)

    def entries_of(self, memory: Memory) -> list[Entry]:
        """Return the entries of a memory that still stand, in the order in which they joined."""
        if isinstance(self._entries, KnownEntries):
            self._entries.read(memory.entry_ids)
        return [self._entries[entry_id] for entry_id in memory.entry_ids if entry_id in self._entries]

    def apply(self, operation: Operation) -> str | None:
        """Check and apply one operation; returns why it is refused, None when it took effect."""
        refusal = self._check(operation)
        if refusal is None and operation.actor is Actor.MODEL:
            refusal = self._check_model(operation)
        if refusal is None:
            before = self._memories.get(operation.memory_id)
            self._carry_out(operation)
            self.changes.append(Change(operation=operation, before=before))
        return refusal

    # --- checks ---

    def _check(self, operation: Operation) -> str | None:
        if self.is_full:
            return "passes the number of operations that one consolidation may hold"
        if operation.actor is not Actor.PERSON and self._was_undone(operation):
            return "the person undid this"
        entry = self._entries.get(operation.entry_id) if operation.entry_id else None
        if operation.entry_id and entry is None:
            return NO_SUCH_ENTRY
        memory = self._memories.get(operation.memory_id)
        if operation.kind is OperationKind.ADD:
            if memory is not None:
                return "there is a memory of this id already"
            return "rests on no entry" if entry is None else _fault(entry.statement, entry.condition)
        if memory is None:
            return "there is no such memory"
        if operation.kind is OperationKind.MERGE:
            return "rests on no entry" if entry is None else _check_joining(memory, entry)
        if operation.kind is OperationKind.REWORD:
            return self._check_reword(memory, entry, operation)
        if operation.kind is OperationKind.SUPERSEDE:
            return self._check_supersede(memory, operation)
        if operation.kind is OperationKind.RETIRE:
            return self._check_retire(memory, entry, operation)
        if operation.kind is OperationKind.RESTORE and memory.status is MemoryStatus.ACTIVE:
            return "is told already"
        if operation.kind in (OperationKind.PIN, OperationKind.UNPIN):
            return self._check_pin(memory, operation)
        if operation.kind is OperationKind.GROUP:
            return self._check_group(memory, operation)
        return None

    def _was_undone(self, operation: Operation) -> bool:
        if undone_key(operation) not in self._undone:
            return False
        # What lost its evidence is retired all the same.
        memory = self._memories.get(operation.memory_id)
        return operation.kind is not OperationKind.RETIRE or (memory is not None and bool(memory.entry_ids))

    def _check_reword(self, memory: Memory, entry: Entry | None, operation: Operation) -> str | None:
        if operation.actor is not Actor.PERSON and memory.by_hand and memory.entry_ids:
            return "would drop the person's own words"
        if entry is None:
            return "rests on no entry"
        if entry.scope != memory.scope:
            return "mixes scopes"
        if operation.statement is None and entry.entry_id in memory.entry_ids:
            return "rests on that entry already"
        statement, condition = _wording(operation, entry)
        return _fault(statement, condition) or self._check_grounds(memory, entry, statement, condition, operation)

    def _check_grounds(
        self, memory: Memory, entry: Entry, statement: str, condition: str, operation: Operation
    ) -> str | None:
        """Refuse a name, number, path or command that none of the entries contains; the person may bring in any."""
        if operation.actor is Actor.PERSON or (statement, condition) == (entry.statement, entry.condition):
            return None
        sources = [
            text
            for resting in {one.entry_id: one for one in (*self.entries_of(memory), entry)}.values()
            for text in (resting.statement, resting.condition, *(line.quote for line in resting.evidence))
        ]
        foreign = ungrounded(f"{statement} {condition}", sources)
        return None if foreign is None else f"brings in {foreign}, which none of its entries contains"

    def _check_supersede(self, memory: Memory, operation: Operation) -> str | None:
        newer = self._memories.get(operation.other_memory_id or "")
        if newer is None or newer.memory_id == memory.memory_id:
            return "names no other memory that takes its place"
        if newer.scope != memory.scope:
            return "mixes scopes"
        if self.is_persons_word(memory) and not self.is_persons_word(newer):
            return "what a person stated is superseded only by what a person stated"
        if self._leads_to(newer, memory.memory_id):
            return "would supersede in a circle"
        return None

    def _leads_to(self, memory: Memory, memory_id: str) -> bool:
        seen: set[str] = set()
        following: Memory | None = memory
        while following is not None and following.status is MemoryStatus.SUPERSEDED:
            if following.superseded_by == memory_id or following.memory_id in seen:
                return True
            seen.add(following.memory_id)
            following = self._memories.get(following.superseded_by or "")
        return False

    def _check_retire(self, memory: Memory, entry: Entry | None, operation: Operation) -> str | None:
        if operation.actor is Actor.PERSON and memory.reason != operation.reason:
            return None  # also of what is retired already: it must not come back by itself any more
        if memory.status is MemoryStatus.RETIRED:
            return "is retired already"
        if not memory.entry_ids:
            return None
        if memory.pinned:
            return "the person pinned it"
        if self.is_persons_word(memory) and not (entry is not None and is_persons_word(entry)):
            return "what a person stated is retired only on a person's word"
        return None

    def _check_pin(self, memory: Memory, operation: Operation) -> str | None:
        if operation.actor is not Actor.PERSON:
            return "only a person pins"
        wanted = operation.kind is OperationKind.PIN
        if memory.pinned is wanted:
            return "is pinned already" if wanted else "is not pinned"
        return None

    def _check_group(self, memory: Memory, operation: Operation) -> str | None:
        first = self._memories.get(operation.other_memory_id or "")
        if first is None:
            return "names no memory to stand beside"
        if first.scope != memory.scope:
            return "mixes scopes"
        if MemoryStatus.ACTIVE not in (memory.status, first.status) or memory.status is not first.status:
            return "only memories that are told can be grouped"
        return "stands in that group already" if memory.group == first.memory_id else None

    # --- what binds a model beyond that ---

    def _check_model(self, operation: Operation) -> str | None:
        """Check what passed every other check against what a model may not do; see leash."""
        entry = self._entries.get(operation.entry_id or "")
        if entry is not None and operation.kind is not OperationKind.RETIRE:
            holder = self._holder_of(entry)
            if holder is not None and holder != operation.memory_id:
                return f"that entry stands in {holder} already"
        if operation.kind is OperationKind.ADD and entry is not None:
            return self._check_company(entry, is_stated=is_persons_word(entry))
        memory = self._memories[operation.memory_id]
        other = self._memories.get(operation.other_memory_id or "")
        if operation.kind is OperationKind.MERGE and entry is not None:
            return fault_of_joining(memory, entry)
        if operation.kind is OperationKind.REWORD and entry is not None:
            return self._check_models_wording(memory, entry, operation)
        if operation.kind is OperationKind.SUPERSEDE and other is not None:
            is_newer = not self.is_persons_word(memory) or self.newest_word(other) > self.newest_word(memory)
            return fault_of_superseding(memory, other, newer_is_stated=self.is_persons_word(other), is_newer=is_newer)
        if operation.kind is OperationKind.RETIRE:
            if self._retired_by_model() >= self._model_may_retire:
                return f"no more than {self._model_may_retire} may be retired in one consolidation"
            is_newer = entry is not None and said(entry) > self.newest_word(memory)
            return fault_of_retiring(memory, entry, is_stated=self.is_persons_word(memory), is_newer=is_newer)
        return None if operation.kind is OperationKind.GROUP else "only a person, or the rules, do this"

    def _check_models_wording(self, memory: Memory, entry: Entry, operation: Operation) -> str | None:
        if memory.status is not MemoryStatus.ACTIVE:
            return "only a memory that is told can be reworded"
        statement, condition = _wording(operation, entry)
        olds, resting = [wording_of(memory)], self.entries_of(memory)
        if entry.entry_id not in memory.entry_ids:
            unfit = fault_of_joining(memory, entry)
            if unfit is not None and not unfit.startswith("says less"):
                return unfit
            olds.append(wording_of(entry))
            resting.append(entry)
        reworded = replace(memory, statement=statement, condition=condition)
        if wording_of(reworded) == wording_of(memory) and len(olds) == 1:
            return "is worded so already"
        return fault_of_wording(wording_of(reworded), olds, resting) or self._check_company(
            reworded, is_stated=False, but_for=memory
        )

    def _check_company(self, told: Memory | Entry, *, is_stated: bool, but_for: Memory | None = None) -> str | None:
        """Check what would be told against its scope; ``but_for`` is how it is told now, with faults that it has."""
        beside = [
            (memory, self.is_persons_word(memory))
            for memory in self._memories.values()
            if memory.status is MemoryStatus.ACTIVE
            and memory.scope == told.scope
            and (but_for is None or memory.memory_id != but_for.memory_id)
            and (but_for is None or not contradicts(memory.statement, but_for.statement))
        ]
        return fault_of_company(told, is_stated=is_stated, beside=beside)

    def _holder_of(self, entry: Entry) -> str | None:
        return next((one.memory_id for one in self._memories.values() if entry.entry_id in one.entry_ids), None)

    @cached_property
    def _model_may_retire(self) -> int:
        """How many a model may retire: a share of those that were told before any change."""
        before = {change.operation.memory_id: change.before for change in reversed(self.changes)}
        known = (before.get(memory_id, memory) for memory_id, memory in self._memories.items())
        told = sum(memory is not None and memory.status is MemoryStatus.ACTIVE for memory in known)
        return max(1, int(told * MOST_RETIRED_SHARE))

    def _retired_by_model(self) -> int:
        return sum(
            change.operation.kind is OperationKind.RETIRE and change.operation.actor is Actor.MODEL
            for change in self.changes
        )

    # --- what is asked about memories ---

    def is_persons_word(self, memory: Memory) -> bool:
        """Whether a memory says what a person stated, and does not only come from an assistant or a tool."""
        return memory.kind in STATED_KINDS or states_persons_word(memory.kind, self.entries_of(memory))

    def newest_word(self, memory: Memory) -> Said:
        """Return when a memory was last said, as far as its entries still stand; of a person's word, by them."""
        entries = self.entries_of(memory)
        # A tool that says what a person said does not make it their newer word.
        by_person = [entry for entry in entries if is_persons_word(entry)]
        return max(map(said, by_person or entries), default=(memory.last_confirmed, "", 0, ""))

    # --- carrying out ---

    def _carry_out(self, operation: Operation) -> None:
        entry = self._entries.get(operation.entry_id or "")
        if operation.kind is OperationKind.ADD and entry is not None:
            made = new_memory(operation.memory_id, entry, now=self._now)
            self._put(replace(made, by_hand=operation.actor is Actor.PERSON))
            self.placements.append((operation.memory_id, entry.entry_id))
            return
        memory = self._memories[operation.memory_id]
        if operation.kind in (OperationKind.MERGE, OperationKind.REWORD) and entry is not None:
            joined = memory if entry.entry_id in memory.entry_ids else _joined(memory, entry)
            if operation.kind is OperationKind.REWORD:
                statement, condition = _wording(operation, entry)
                by_hand = operation.actor is Actor.PERSON
                joined = replace(joined, statement=statement, condition=condition, by_hand=by_hand)
            self._put(joined)
            if entry.entry_id not in memory.entry_ids:
                self.placements.append((memory.memory_id, entry.entry_id))
        elif operation.kind is OperationKind.SUPERSEDE:
            self._put(
                replace(
                    memory,
                    status=MemoryStatus.SUPERSEDED,
                    superseded_by=operation.other_memory_id,
                    reason=operation.reason,
                )
            )
        elif operation.kind is OperationKind.RETIRE:
            self._put(replace(memory, status=MemoryStatus.RETIRED, reason=operation.reason))
        elif operation.kind is OperationKind.RESTORE:
            self._put(replace(memory, status=MemoryStatus.ACTIVE, superseded_by=None, reason=""))
        elif operation.kind in (OperationKind.PIN, OperationKind.UNPIN):
            self._put(replace(memory, pinned=operation.kind is OperationKind.PIN))
        elif operation.kind is OperationKind.GROUP:
            self._put(replace(memory, group=operation.other_memory_id or ""))

    def revert(self, memory_id: str, before: Memory | None, *, reason: str) -> None:
        """Let a memory stand again as it was before a consolidation.

        One that the consolidation made is retired and keeps its entries, so that they are not placed anew. Its project
        may have been renamed since, and where nothing that it rested on stands any longer, what says so now stays:
        no undoing changes what the logs say.
        """
        memory = self._memories[memory_id]
        if before is None:
            reverted = replace(memory, status=MemoryStatus.RETIRED, superseded_by=None, reason=UNDONE_REASON)
        else:
            entry_ids = self.standing(before) or self.standing(memory)
            reverted = replace(
                before,
                scope=memory.scope,
                supersedes=memory.supersedes,
                usage=memory.usage,
                entry_ids=entry_ids,
                thread_ids=tuple(sorted({self._entries[entry_id].thread_id for entry_id in entry_ids})),
            )
            gained = [entry_id for entry_id in memory.entry_ids if entry_id not in entry_ids]
            lost = [entry_id for entry_id in entry_ids if entry_id not in memory.entry_ids]
            self.removals += [(memory_id, entry_id) for entry_id in gained]
            self.placements += [(memory_id, entry_id) for entry_id in lost]
        operation = Operation(kind=OperationKind.REVERT, memory_id=memory_id, reason=reason, actor=Actor.PERSON)
        self._put(reverted)
        self.changes.append(Change(operation=operation, before=memory))

    def standing(self, memory: Memory) -> tuple[str, ...]:
        """Return the entries of a memory, as it is or once was, that still stand."""
        return tuple(entry_id for entry_id in memory.entry_ids if entry_id in self._entries)

    def _put(self, memory: Memory) -> None:
        self._memories.put(memory)


def undone_key(operation: Operation) -> Undone:
    """Return what identifies an operation among those that the person undid."""
    entry_id = operation.entry_id if operation.kind in (OperationKind.MERGE, OperationKind.REWORD) else None
    return operation.kind, operation.memory_id, entry_id, operation.other_memory_id


def _check_joining(memory: Memory, entry: Entry) -> str | None:
    if entry.scope != memory.scope:
        return "mixes scopes"
    if entry.entry_id in memory.entry_ids:
        return "rests on that entry already"
    return None


def _wording(operation: Operation, entry: Entry) -> tuple[str, str]:
    """The statement and condition that a rewording leads to."""
    statement = entry.statement if operation.statement is None else operation.statement
    condition = entry.condition if operation.condition is None else operation.condition
    return statement, condition


def _fault(statement: str, condition: str) -> str | None:
    """Name the rule that a wording breaks; a condition may say nothing, but not change the structure around it."""
    fault = statement_fault(statement)
    if fault is not None:
        return fault
    if condition:
        in_condition = statement_fault(condition)
        if in_condition not in (None, "empty"):
            return f"condition: {in_condition}"
    if redact(statement).text != statement or redact(condition).text != condition:
        return "holds a secret"
    return None


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


def _joined(memory: Memory, entry: Entry) -> Memory:
    at = said_at(entry)
    return replace(
        memory,
        first_seen=min(memory.first_seen, at),
        last_confirmed=max(memory.last_confirmed, at),
        entry_ids=(*memory.entry_ids, entry.entry_id),
        thread_ids=tuple(sorted({*memory.thread_ids, entry.thread_id})),
    )
