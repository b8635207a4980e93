"""The curator of rules: places new entries, lets a person's newer word win, retires what nothing uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from memory_pipeline.clock import iso_date
from memory_pipeline.likeness import contradicts, likeness, same_condition, same_statement, signature
from memory_pipeline.phase2.operations import MemoryBook, is_persons_word, memory_id_of, said
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
    shelves = _Shelves(book.memories.values())
    _restore_what_stands_again(book, shelves)
    orphans = _Orphans(book.memories.values(), former_threads)
    for entry in sorted(unplaced, key=said):
        _place(book, entry, shelves, orphans)
    _retire_without_evidence(book)
    _settle_anew(book, shelves)
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

    def near(self, told: Entry | Memory, memories: Mapping[str, Memory]) -> list[Memory]:
        """Return the memories of the same scope that share a word that counts, most alike first."""
        found: dict[str, None] = {}
        for token in sorted(signature(told.statement)):
            found.update(self._by_token.get((told.scope, token), {}))
        near = [memories[memory_id] for memory_id in found]
        return sorted(near, key=lambda memory: (-likeness(memory.statement, told.statement), memory.memory_id))


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


def _restore_what_stands_again(book: MemoryBook, shelves: _Shelves) -> None:
    for memory in list(book.memories.values()):
        if memory.status is MemoryStatus.RETIRED and memory.reason == EVIDENCE_WITHDRAWN and memory.entry_ids:
            _restore(book, memory, shelves, reason="what it rests on stands again")


def _place(book: MemoryBook, entry: Entry, shelves: _Shelves, orphans: _Orphans) -> None:
    near = shelves.near(entry, book.memories)
    same = next((memory for memory in near if _says_the_same(memory, entry)), None)
    if same is not None:
        _confirm(book, same, entry, shelves)
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
            _settle(book, orphan.memory_id, shelves)
            return
    if any(_must_wait(book, memory, entry, by_person=is_persons_word(entry)) for memory in near):
        return  # Only a person's word settles it; the entry waits, and is found with its thread.
    _add(book, entry, shelves)


def _says_the_same(memory: Memory, entry: Entry) -> bool:
    if memory.kind is not entry.kind and not (memory.kind in STATED_KINDS and entry.kind in STATED_KINDS):
        return False
    return same_condition(memory.condition, entry.condition) and same_statement(memory.statement, entry.statement)


def _must_wait(book: MemoryBook, memory: Memory, told: Entry | Memory, *, by_person: bool) -> bool:
    """Whether what is told contradicts an active memory, and not as a person's word against a person's word."""
    if memory.status is not MemoryStatus.ACTIVE:
        return False
    stated = book.is_persons_word(memory)
    related = memory.kind is told.kind or (stated and not by_person)
    return related and not (stated and by_person) and _contradicts_in_place(memory, told)


def _contradicts_in_place(memory: Memory, told: Entry | Memory) -> bool:
    return same_condition(memory.condition, told.condition) and contradicts(memory.statement, told.statement)


def _confirm(book: MemoryBook, memory: Memory, entry: Entry, shelves: _Shelves) -> None:
    book.apply(
        Operation(kind=OperationKind.MERGE, memory_id=memory.memory_id, entry_id=entry.entry_id, reason="says the same")
    )
    if memory.status is MemoryStatus.RETIRED and memory.reason.startswith((UNUSED, EVIDENCE_WITHDRAWN)):
        # What a person took out stays out; what merely faded is confirmed by being said again.
        _restore(book, book.memories[memory.memory_id], shelves, reason="it was said again")
    else:
        _settle(book, memory.memory_id, shelves)


def _restore(book: MemoryBook, memory: Memory, shelves: _Shelves, *, reason: str) -> None:
    """Tell a retired memory again, unless what was learned meanwhile contradicts it."""
    by_person = book.is_persons_word(memory)
    if any(_must_wait(book, other, memory, by_person=by_person) for other in shelves.near(memory, book.memories)):
        return
    book.apply(Operation(kind=OperationKind.RESTORE, memory_id=memory.memory_id, reason=reason))
    _settle(book, memory.memory_id, shelves)


def _add(book: MemoryBook, entry: Entry, shelves: _Shelves) -> None:
    memory_id = memory_id_of(entry)
    operation = Operation(kind=OperationKind.ADD, memory_id=memory_id, entry_id=entry.entry_id, reason="new")
    if book.apply(operation) is None:
        shelves.put(book.memories[memory_id])
        _settle(book, memory_id, shelves)


def _settle(book: MemoryBook, memory_id: str, shelves: _Shelves) -> None:
    """Let the newest of a person's contradicting statements stand.

    A statement is superseded when the person said otherwise later, even if they took that back in its turn. So what
    stands in the end depends on when things were said, not on when they were read.
    """
    memory = book.memories[memory_id]
    if memory.status is MemoryStatus.RETIRED or not book.is_persons_word(memory):
        return
    rivals = _rivals(book, memory, shelves)
    word = book.newest_word(memory)
    newer = [rival for rival in rivals if book.newest_word(rival) > word]
    if newer and memory.status is MemoryStatus.ACTIVE:
        best = max(newer, key=lambda rival: (rival.status is MemoryStatus.ACTIVE, book.newest_word(rival)))
        _supersede(book, memory, best)
    elif not newer and memory.status is MemoryStatus.SUPERSEDED:
        reason = "nothing that superseded it stands any longer"
        if rivals:
            reason = f"said again on {iso_date(word[0])}, after what had superseded it"
        book.apply(Operation(kind=OperationKind.RESTORE, memory_id=memory_id, reason=reason))
    for rival in rivals:
        if rival.status is MemoryStatus.ACTIVE and rival not in newer:
            _supersede(book, rival, memory)


def _rivals(book: MemoryBook, memory: Memory, shelves: _Shelves) -> list[Memory]:
    """Return what the person said against a memory, in its place, and still says; what superseded it included."""
    return [
        other
        for other in {near.memory_id: near for near in _near_or_linked(book, memory, shelves)}.values()
        if other.memory_id != memory.memory_id
        and other.entry_ids
        and book.is_persons_word(other)
        and (other.memory_id == memory.superseded_by or _contradicts_in_place(other, memory))
    ]


def _near_or_linked(book: MemoryBook, memory: Memory, shelves: _Shelves) -> Iterable[Memory]:
    yield from shelves.near(memory, book.memories)
    successor = book.memories.get(memory.superseded_by or "")
    if successor is not None:
        yield successor


def _supersede(book: MemoryBook, older: Memory, newer: Memory) -> None:
    book.apply(
        Operation(
            kind=OperationKind.SUPERSEDE,
            memory_id=older.memory_id,
            other_memory_id=newer.memory_id,
            reason=f"the person said otherwise on {iso_date(book.newest_word(newer)[0])}",
        )
    )


def _retire_without_evidence(book: MemoryBook) -> None:
    for memory in list(book.memories.values()):
        if memory.status is not MemoryStatus.RETIRED and not memory.entry_ids:
            book.apply(Operation(kind=OperationKind.RETIRE, memory_id=memory.memory_id, reason=EVIDENCE_WITHDRAWN))


def _settle_anew(book: MemoryBook, shelves: _Shelves) -> None:
    """Judge again where entries were withdrawn or stand again, so that another statement is the newer one now."""
    for memory in list(book.memories.values()):
        if memory.entry_ids and book.newest_word(memory)[0] < memory.last_confirmed:
            _settle(book, memory.memory_id, shelves)
    for memory in list(book.memories.values()):
        if memory.entry_ids and memory.status is MemoryStatus.SUPERSEDED:
            _settle(book, memory.memory_id, shelves)


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
