"""The curator of rules: places new entries, lets a person's newer word win, retires what nothing uses."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from memory_pipeline.clock import DAY_SECONDS, iso_date
from memory_pipeline.entries import is_persons_word, said
from memory_pipeline.likeness import likeness
from memory_pipeline.phase2.deeds import Deed, carry_out_deeds
from memory_pipeline.phase2.merging import carry_out_merges
from memory_pipeline.phase2.operations import MemoryBook
from memory_pipeline.phase2.placing import (
    EVIDENCE_WITHDRAWN,
    UNUSED,
    Shelves,
    add,
    add_approved,
    confirm,
    must_wait,
    restore,
    settle,
    settle_goals,
)
from memory_pipeline.records import TASK_THREAD_PREFIX, Entry, Memory, MemoryStatus, Merge, Operation, OperationKind

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
    merged: frozenset[str] = frozenset()  # ids of the proposals about memories that were carried out
    # Ids of memories that something keeps from being as they should, or that judging itself changed.
    still_to_judge: frozenset[str] = frozenset()


class Archive(Protocol):
    """What of all that is stored must be looked at."""

    def to_judge(self) -> frozenset[str]:
        """Return the ids of the memories that changed, or whose evidence did, since they were last judged."""
        ...

    def former_threads(self, memory_ids: Collection[str]) -> Mapping[str, frozenset[str]]:
        """Return, by memory, the threads of all entries that it ever rested on, withdrawn ones included."""
        ...

    def results_in(self, scope: str) -> Collection[str]:
        """Return the ids of the memories of a scope that rest on submitted tasks."""
        ...

    def unused_since(self, since: float) -> Collection[str]:
        """Return the ids of what is told, is no kind that a person states, and nothing used or confirmed since."""
        ...


def curate(
    book: MemoryBook,
    shelves: Shelves,
    unplaced: Sequence[Entry],
    archive: Archive,
    *,
    max_unused_days: float,
    now: float,
    deeds: Sequence[Deed] = (),
    consult: Consult | None = None,
    approved: frozenset[str] = frozenset(),
    merges: Iterable[Merge] = (),
) -> Curated:
    """Bring the memories in line with what the person did and with the entries.

    What the person did comes first. Entries are placed in the order in which they were said, so that the newest word
    is judged last and the result does not depend on the order of reading. Where a model may be asked, it is asked in
    between: after all that is certain, before all that it leaves. What the person ``approved`` is certain, and takes
    the place of what it contradicts.

    What neither changed nor rests on other evidence than when it was last judged is not judged again. What judging
    itself changed is, by the next consolidation: something else may follow from it.
    """
    to_judge = archive.to_judge()
    done = carry_out_deeds(book, deeds, shelves)
    _restore_what_stands_again(book, to_judge, shelves)
    orphans = _Orphans(_in_order(book, to_judge), archive)
    left = sorted(unplaced, key=said)
    set_aside: frozenset[str] = frozenset()
    if consult is not None:
        left = [
            entry
            for entry in left
            if not _place_for_certain(book, entry, shelves.near(entry, book.memories), shelves, orphans, approved)
        ]
        _retire_without_evidence(book, to_judge)
        set_aside = consult(book, left, shelves)
        taken = book.placed | set_aside
        left = [entry for entry in left if entry.entry_id not in taken]
    for entry in left:
        _place(book, entry, shelves, orphans, approved)
    # After a rebuild, a deed may be about a memory that has only just been learnt again.
    deeds_left = [deed for deed in deeds if deed.record.record_id not in done]
    done |= carry_out_deeds(book, deeds_left, shelves, is_last_chance=True)
    carried_out = carry_out_merges(book, merges)
    before = len(book.operations)
    if _retire_without_evidence(book, to_judge):
        for entry in left:  # what stood against one may be gone now
            if entry.entry_id not in book.placed:
                _place(book, entry, shelves, orphans, approved)
    _settle_anew(book, to_judge, shelves)
    _settle_goals_anew(book, to_judge, archive)
    if max_unused_days:
        _retire_unused(book, archive, since=now - max_unused_days * DAY_SECONDS)
    judging = book.operations[before:]
    still_to_judge = _still_to_judge(book, to_judge) | {operation.memory_id for operation in judging}
    return Curated(done=done, merged=carried_out, set_aside=set_aside, still_to_judge=still_to_judge)


class _Orphans:
    """Active memories that lost their evidence: the next reading of the same thread may say the same in other words."""

    def __init__(self, memories: Iterable[Memory], archive: Archive) -> None:
        orphans = [one.memory_id for one in memories if one.status is MemoryStatus.ACTIVE and not one.entry_ids]
        former_threads = archive.former_threads(orphans) if orphans else {}
        self._by_thread: dict[str, list[str]] = {}
        for memory_id in orphans:
            for thread_id in former_threads.get(memory_id, ()):
                self._by_thread.setdefault(thread_id, []).append(memory_id)

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


def _restore_what_stands_again(book: MemoryBook, to_judge: Iterable[str], shelves: Shelves) -> None:
    for memory in _in_order(book, to_judge):
        if _stands_again(memory):
            restore(book, memory, shelves, reason="what it rests on stands again")


def _stands_again(memory: Memory) -> bool:
    return memory.status is MemoryStatus.RETIRED and memory.reason == EVIDENCE_WITHDRAWN and bool(memory.entry_ids)


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


def _retire_without_evidence(book: MemoryBook, to_judge: Iterable[str]) -> bool:
    """Retire what rests on nothing any more; returns whether anything did."""
    done = len(book.changes)
    for memory in _judged_or_changed(book, to_judge):
        if _lacks_evidence(memory):
            book.apply(Operation(kind=OperationKind.RETIRE, memory_id=memory.memory_id, reason=EVIDENCE_WITHDRAWN))
    return len(book.changes) > done


def _lacks_evidence(memory: Memory) -> bool:
    return memory.status is not MemoryStatus.RETIRED and not memory.entry_ids


def _settle_anew(book: MemoryBook, to_judge: Iterable[str], shelves: Shelves) -> None:
    """Judge again where entries were withdrawn or stand again, so that another statement is the newer one now."""
    judged = _in_order(book, to_judge)
    for memory in judged:
        if memory.entry_ids:
            settle(book, memory.memory_id, shelves)
    # What gave way to any of these may stand again; then what gave way before may give way to that instead.
    linked = {name for memory in _judged_or_changed(book, to_judge) for name in memory.supersedes}
    linked.update(memory.memory_id for memory in judged)
    for _ in linked:
        done = len(book.changes)
        for memory in _in_order(book, linked):
            if memory.entry_ids and memory.status is MemoryStatus.SUPERSEDED:
                settle(book, memory.memory_id, shelves)
        if len(book.changes) == done:
            return


def _settle_goals_anew(book: MemoryBook, to_judge: Iterable[str], archive: Archive) -> None:
    changed = _judged_or_changed(book, to_judge)
    # What one took the place of is judged with it: it may have moved away, or tell of no goal any more.
    changed += _in_order(book, [name for memory in changed for name in memory.supersedes])
    for scope in sorted({memory.scope for memory in changed if memory.condition}):
        within = [memory.memory_id for memory in changed if memory.scope == scope]
        settle_goals(book, _in_order(book, {*archive.results_in(scope), *within}))


def _retire_unused(book: MemoryBook, archive: Archive, *, since: float) -> None:
    """Retire knowledge and failures that nothing used or confirmed for long; what a person stated does not age."""
    changed = [memory.memory_id for memory in book.changed]
    for memory in _in_order(book, {*archive.unused_since(since), *changed}):
        last = max(memory.last_confirmed, memory.learned_at, memory.usage.last_usage or 0.0)
        if memory.status is not MemoryStatus.ACTIVE or memory.pinned or last >= since or book.is_persons_word(memory):
            continue
        book.apply(
            Operation(kind=OperationKind.RETIRE, memory_id=memory.memory_id, reason=f"{UNUSED} since {iso_date(last)}")
        )


def _still_to_judge(book: MemoryBook, to_judge: Iterable[str]) -> frozenset[str]:
    """What could not be retired, told again or settled now, and is tried again next time."""
    return frozenset(
        memory.memory_id
        for memory in _judged_or_changed(book, to_judge)
        if book.is_full or _lacks_evidence(memory) or _stands_again(memory)
    )


def _judged_or_changed(book: MemoryBook, to_judge: Iterable[str]) -> list[Memory]:
    return _in_order(book, {*to_judge, *(memory.memory_id for memory in book.changed)})


def _in_order(book: MemoryBook, memory_ids: Iterable[str]) -> list[Memory]:
    """The memories of these ids that there are, by scope, kind, first seen and id."""
    found = book.memories.several(memory_ids)
    return sorted(found, key=lambda memory: (memory.scope, memory.kind, memory.first_seen, memory.memory_id))
