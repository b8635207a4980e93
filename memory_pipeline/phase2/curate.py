"""The curator of rules: places new entries, lets a person's newer word win, retires what nothing uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from memory_pipeline.clock import iso_date
from memory_pipeline.likeness import contradicts, likeness, same_condition, same_statement, signature
from memory_pipeline.phase2.operations import MemoryBook, memory_id_of, said_at
from memory_pipeline.records import (
    STATED_KINDS,
    Entry,
    Memory,
    MemoryStatus,
    Operation,
    OperationKind,
)

DAY_SECONDS = 86_400.0

#: From here on a new entry is what an earlier reading of the same thread said in other words.
_LIKE_EARLIER_READING = 0.55

EVIDENCE_WITHDRAWN = "nothing it rested on stands any longer"
UNUSED = "unused and unconfirmed"


def curate(
    book: MemoryBook,
    unplaced: Sequence[Entry],
    former_threads: Mapping[str, frozenset[str]],
    *,
    max_unused_days: float,
    now: float,
) -> None:
    """Bring the memories in line with the entries.

    Entries are placed in the order in which they were said, so that the newest word is judged last and the result does
    not depend on the order of reading.
    """
    _restore_what_stands_again(book)
    shelves = _Shelves(book.memories.values())
    orphans = _Orphans(book.memories.values(), former_threads)
    for entry in sorted(unplaced, key=lambda entry: (said_at(entry), entry.thread_id, entry.entry_id)):
        _place(book, entry, shelves, orphans)
    _retire_without_evidence(book)
    _retire_unused(book, max_unused_days=max_unused_days, now=now)


class _Shelves:
    """The memories by what they are about, so that an entry is compared with the few that could be like it."""

    def __init__(self, memories: Iterable[Memory]) -> None:
        self._by_token: dict[tuple[str, str], dict[str, None]] = {}
        for memory in memories:
            self.put(memory)

    def put(self, memory: Memory) -> None:
        """Make a memory findable."""
        for token in signature(memory.statement):
            self._by_token.setdefault((memory.scope, token), {})[memory.memory_id] = None

    def near(self, entry: Entry, memories: Mapping[str, Memory]) -> list[Memory]:
        """Return the memories of the entry's scope that share a word that counts, most alike first."""
        found: dict[str, None] = {}
        for token in sorted(signature(entry.statement)):
            found.update(self._by_token.get((entry.scope, token), {}))
        near = [memories[memory_id] for memory_id in found]
        return sorted(near, key=lambda memory: (-likeness(memory.statement, entry.statement), memory.memory_id))


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
        return best[2] if best is not None and best[0] >= _LIKE_EARLIER_READING else None


def _restore_what_stands_again(book: MemoryBook) -> None:
    for memory in list(book.memories.values()):
        if memory.status is MemoryStatus.RETIRED and memory.reason == EVIDENCE_WITHDRAWN and memory.entry_ids:
            book.apply(
                Operation(
                    kind=OperationKind.RESTORE, memory_id=memory.memory_id, reason="what it rests on stands again"
                )
            )


def _place(book: MemoryBook, entry: Entry, shelves: _Shelves, orphans: _Orphans) -> None:
    near = shelves.near(entry, book.memories)
    same = next((memory for memory in near if _says_the_same(memory, entry)), None)
    if same is not None:
        _confirm(book, same, entry)
        return
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
            return
    opposed = [
        memory for memory in near if memory.status is MemoryStatus.ACTIVE and _contradicts_in_place(memory, entry)
    ]
    if any(not _both_stated(memory, entry) for memory in opposed):
        return  # Only a person's word settles it; the entry waits, and is found with its thread.
    _add(book, entry, shelves)
    _settle(book, entry, opposed)


def _says_the_same(memory: Memory, entry: Entry) -> bool:
    if memory.kind is not entry.kind and not _both_stated(memory, entry):
        return False
    return same_condition(memory.condition, entry.condition) and same_statement(memory.statement, entry.statement)


def _confirm(book: MemoryBook, memory: Memory, entry: Entry) -> None:
    book.apply(
        Operation(kind=OperationKind.MERGE, memory_id=memory.memory_id, entry_id=entry.entry_id, reason="says the same")
    )
    if memory.status is MemoryStatus.SUPERSEDED:
        _swap_back_if_newer(book, memory, entry)
    elif memory.status is MemoryStatus.RETIRED and memory.reason.startswith((UNUSED, EVIDENCE_WITHDRAWN)):
        # What a person took out stays out; what merely faded is confirmed by being said again.
        book.apply(Operation(kind=OperationKind.RESTORE, memory_id=memory.memory_id, reason="it was said again"))


def _swap_back_if_newer(book: MemoryBook, memory: Memory, entry: Entry) -> None:
    successor = book.memories.get(memory.superseded_by or "")
    if successor is None or said_at(entry) <= successor.last_confirmed:
        return
    reason = f"said again on {iso_date(said_at(entry))}, after what had superseded it"
    book.apply(Operation(kind=OperationKind.RESTORE, memory_id=memory.memory_id, reason=reason))
    book.apply(
        Operation(
            kind=OperationKind.SUPERSEDE,
            memory_id=successor.memory_id,
            other_memory_id=memory.memory_id,
            reason=reason,
        )
    )


def _add(book: MemoryBook, entry: Entry, shelves: _Shelves) -> None:
    memory_id = memory_id_of(entry)
    if (
        book.apply(Operation(kind=OperationKind.ADD, memory_id=memory_id, entry_id=entry.entry_id, reason="new"))
        is None
    ):
        shelves.put(book.memories[memory_id])


def _settle(book: MemoryBook, entry: Entry, opposed: Sequence[Memory]) -> None:
    """Let the newer of a person's contradicting statements stand, whichever was read first."""
    memory_id = memory_id_of(entry)
    if memory_id not in book.memories:
        return
    for older in opposed:
        if said_at(entry) >= older.last_confirmed:
            superseded, successor = older.memory_id, memory_id
        else:
            superseded, successor = memory_id, older.memory_id
        if book.memories[superseded].status is MemoryStatus.ACTIVE:
            when = iso_date(book.memories[successor].last_confirmed)
            book.apply(
                Operation(
                    kind=OperationKind.SUPERSEDE,
                    memory_id=superseded,
                    other_memory_id=successor,
                    reason=f"the person said otherwise on {when}",
                )
            )


def _contradicts_in_place(memory: Memory, entry: Entry) -> bool:
    related = memory.kind is entry.kind or _both_stated(memory, entry)
    return (
        related and same_condition(memory.condition, entry.condition) and contradicts(memory.statement, entry.statement)
    )


def _both_stated(memory: Memory, entry: Entry) -> bool:
    return memory.kind in STATED_KINDS and entry.kind in STATED_KINDS


def _retire_without_evidence(book: MemoryBook) -> None:
    for memory in list(book.memories.values()):
        if memory.status is MemoryStatus.ACTIVE and not memory.entry_ids:
            book.apply(Operation(kind=OperationKind.RETIRE, memory_id=memory.memory_id, reason=EVIDENCE_WITHDRAWN))


def _retire_unused(book: MemoryBook, *, max_unused_days: float, now: float) -> None:
    """Retire knowledge and failures that nothing used or confirmed for long; what a person stated does not age."""
    if not max_unused_days:
        return
    for memory in list(book.memories.values()):
        if memory.status is not MemoryStatus.ACTIVE or memory.kind in STATED_KINDS or memory.pinned:
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
