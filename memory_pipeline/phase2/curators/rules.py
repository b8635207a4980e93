"""The curator of rules: places new entries, lets a person's newer word win, retires what nothing uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from memory_pipeline.clock import DAY_SECONDS, iso_date
from memory_pipeline.entries import is_persons_word, said
from memory_pipeline.likeness import likeness
from memory_pipeline.phase2.deeds import Deed, carry_out_deeds
from memory_pipeline.phase2.operations import MemoryBook
from memory_pipeline.phase2.placing import (
    EVIDENCE_WITHDRAWN,
    UNUSED,
    FormerWording,
    Shelves,
    add,
    add_approved,
    confirm,
    must_wait,
    restore,
    settle,
    settle_goals,
)
from memory_pipeline.records import TASK_THREAD_PREFIX, Entry, Memory, MemoryStatus, Operation, OperationKind

#: From here on a new entry is what an earlier reading of the same thread said in other words.
_LIKE_EARLIER_READING = 0.55


class Consult(Protocol):
    """How rules ask a model about entries that they can't place for certain."""

    def __call__(self, book: MemoryBook, entries: Sequence[Entry], shelves: Shelves) -> frozenset[str]:
        """Apply operations to the book; return the ids of entries that are not to be placed now."""
        ...


class Curated(Struct, frozen=True, kw_only=True):
    """What a curator did besides operations."""

    done: frozenset[str]  # ids of the journal's records that are done with
    set_aside: frozenset[str] = frozenset()  # ids of entries that wait for a person because a model says so


def curate(
    book: MemoryBook,
    unplaced: Sequence[Entry],
    former_threads: Mapping[str, frozenset[str]],
    *,
    max_unused_days: float,
    now: float,
    deeds: Sequence[Deed] = (),
    former_wordings: Mapping[str, Sequence[FormerWording]] | None = None,
    consult: Consult | None = None,
    approved: frozenset[str] = frozenset(),
) -> Curated:
    """Bring the memories in line with what the person did and with the entries.

    What the person did comes first. Entries are placed in the order in which they were said, so that the newest word
    is judged last and the result does not depend on the order of reading. Where a model may be asked, it is asked in
    between: after all that is certain, before all that it leaves. What the person ``approved`` is certain, and takes
    the place of what it contradicts.
    """
    shelves = Shelves(book.memories.values(), former_wordings)
    done = carry_out_deeds(book, deeds, shelves)
    _restore_what_stands_again(book, shelves)
    orphans = _Orphans(book.memories.values(), former_threads)
    left = sorted(unplaced, key=said)
    set_aside: frozenset[str] = frozenset()
    if consult is not None:
        left = [
            entry
            for entry in left
            if not _place_for_certain(book, entry, shelves.near(entry, book.memories), shelves, orphans, approved)
        ]
        _retire_without_evidence(book)
        set_aside = consult(book, left, shelves)
        taken = book.placed | set_aside
        left = [entry for entry in left if entry.entry_id not in taken]
    for entry in left:
        _place(book, entry, shelves, orphans, approved)
    # After a rebuild, a deed may be about a memory that has only just been learnt again.
    deeds_left = [deed for deed in deeds if deed.record.record_id not in done]
    done |= carry_out_deeds(book, deeds_left, shelves, is_last_chance=True)
    _retire_without_evidence(book)
    _settle_anew(book, shelves)
    settle_goals(book)
    _retire_unused(book, max_unused_days=max_unused_days, now=now)
    return Curated(done=done, set_aside=set_aside)


class _Orphans:
    """Active memories that lost their evidence: the next reading of the same thread may say the same in other words."""

    def __init__(self, memories: Iterable[Memory], former_threads: Mapping[str, frozenset[str]]) -> None:
        self._by_thread: dict[str, list[str]] = {}
        for memory in memories:
            if memory.status is MemoryStatus.ACTIVE and not memory.entry_ids:
                for thread_id in former_threads.get(memory.memory_id, ()):
                    self._by_thread.setdefault(thread_id, []).append(memory.memory_id)

    def adopt(self, entry: Entry, memories: Mapping[str, Memory]) -> Memory | None:
        """Return the orphan of the entry's thread that is most like it, and take it off the list."""
        candidates = [memories[memory_id] for memory_id in self._by_thread.get(entry.thread_id, ())]
        fitting = [
            (likeness(memory.statement, entry.statement), memory.memory_id, memory)
            for memory in candidates
            if not memory.entry_ids and memory.kind is entry.kind and memory.scope == entry.scope
        ]
        best = max(fitting, default=None, key=lambda item: (item[0], item[1]))
        # A task says one thing: whatever it says now takes the place of what it said.
        least = 0.0 if entry.thread_id.startswith(TASK_THREAD_PREFIX) else _LIKE_EARLIER_READING
        return best[2] if best is not None and best[0] >= least else None


def _restore_what_stands_again(book: MemoryBook, shelves: Shelves) -> None:
    for memory in list(book.memories.values()):
        if memory.status is MemoryStatus.RETIRED and memory.reason == EVIDENCE_WITHDRAWN and memory.entry_ids:
            restore(book, memory, shelves, reason="what it rests on stands again")


def _place(book: MemoryBook, entry: Entry, shelves: Shelves, orphans: _Orphans, approved: frozenset[str]) -> None:
    near = shelves.near(entry, book.memories)
    if _place_for_certain(book, entry, near, shelves, orphans, approved):
        return
    if any(must_wait(book, memory, entry, by_person=is_persons_word(entry)) for memory in near):
        return  # Only a person's word settles it; the entry waits, and is found with its thread.
    add(book, entry, shelves)


def _place_for_certain(
    book: MemoryBook,
    entry: Entry,
    near: Sequence[Memory],
    shelves: Shelves,
    orphans: _Orphans,
    approved: frozenset[str],
) -> bool:
    """Place an entry that says what a memory says, that takes over what lost its evidence, or that a person approved.

    Returns false for any other.
    """
    saying_it = [memory for memory in near if shelves.says_the_same(memory, entry)]
    # Of two that say the same, one may have given way to the other in review.
    same = min(saying_it, key=lambda memory: memory.status is not MemoryStatus.ACTIVE, default=None)
    if same is not None:
        confirm(book, same, entry, shelves)
        return True
    orphan = orphans.adopt(entry, book.memories)
    if orphan is not None:
        operation = Operation(
            kind=OperationKind.REWORD,
            memory_id=orphan.memory_id,
            entry_id=entry.entry_id,
            reason="a new reading of the same thread says it so",
        )
        if book.apply(operation) is None:
            shelves.put(book.memories[orphan.memory_id])
            settle(book, orphan.memory_id, shelves)
            return True
    if entry.entry_id in approved:
        add_approved(book, entry, near, shelves)
        return True
    return False


def _retire_without_evidence(book: MemoryBook) -> None:
    for memory in list(book.memories.values()):
        if memory.status is not MemoryStatus.RETIRED and not memory.entry_ids:
            book.apply(Operation(kind=OperationKind.RETIRE, memory_id=memory.memory_id, reason=EVIDENCE_WITHDRAWN))


def _settle_anew(book: MemoryBook, shelves: Shelves) -> None:
    """Judge again where entries were withdrawn or stand again, so that another statement is the newer one now."""
    for memory in list(book.memories.values()):
        if memory.entry_ids and book.newest_word(memory)[0] < memory.last_confirmed:
            settle(book, memory.memory_id, shelves)
    for memory in list(book.memories.values()):
        if memory.entry_ids and memory.status is MemoryStatus.SUPERSEDED:
            settle(book, memory.memory_id, shelves)


def _retire_unused(book: MemoryBook, *, max_unused_days: float, now: float) -> None:
    """Retire knowledge and failures that nothing used or confirmed for long; what a person stated does not age."""
    if not max_unused_days:
        return
    for memory in list(book.memories.values()):
        if memory.status is not MemoryStatus.ACTIVE or memory.pinned or book.is_persons_word(memory):
            continue
        last = max(memory.last_confirmed, memory.learned_at, memory.usage.last_usage or 0.0)
        if last < now - max_unused_days * DAY_SECONDS:
            book.apply(
                Operation(
                    kind=OperationKind.RETIRE,
                    memory_id=memory.memory_id,
                    reason=f"{UNUSED} since {iso_date(last)}",
                )
            )
