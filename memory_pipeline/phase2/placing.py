"""Placing: how a new statement meets the memories that are about the same thing, and which of them stands then."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from memory_pipeline.clock import iso_date
from memory_pipeline.contradiction import contradict_in_place, stands_against
from memory_pipeline.entries import are_of_one_family, goal_of, have_one_goal, is_persons_word, said_at
from memory_pipeline.likeness import likeness, same_condition, same_statement
from memory_pipeline.nearness import StatementIndex, StoredKeys
from memory_pipeline.phase2.known import Overlaid
from memory_pipeline.phase2.operations import MemoryBook, memory_id_of
from memory_pipeline.records import Actor, Entry, Memory, MemoryStatus, Operation, OperationKind

EVIDENCE_WITHDRAWN = "nothing it rested on stands any longer"
UNUSED = "unused and unconfirmed"


class FormerWording(Struct, frozen=True, kw_only=True):
    """How a memory was worded before the person worded it anew. Who said it before then said this memory."""

    statement: str
    condition: str
    until: float


class Shelves:
    """The memories by what they are about, so that an entry is compared with the few that could be like it."""

    def __init__(
        self,
        memories: Iterable[Memory],
        former_wordings: Mapping[str, Sequence[FormerWording]] | None = None,
        *,
        stored: StoredKeys | None = None,
    ) -> None:
        """Take the memories that are not among what is ``stored``, and how any of them were worded before."""
        self._index = StatementIndex(stored)
        self._former = former_wordings or {}
        for memory in memories:
            self.put(memory)

    def put(self, memory: Memory) -> None:
        """Make a memory findable."""
        self._index.put(memory.memory_id, memory.scope, memory.statement)
        for wording in self._former.get(memory.memory_id, ()):
            self._index.put(memory.memory_id, memory.scope, wording.statement)

    def about(self, told: Entry | Memory, memories: Overlaid) -> list[Memory]:
        """Return the memories of the same scope that share a word that counts."""
        return memories.several(self._index.near(told.scope, told.statement))

    def near(self, told: Entry | Memory, memories: Overlaid) -> list[Memory]:
        """Return the memories of the same scope that share a word that counts, most alike first."""
        near = self.about(told, memories)
        return sorted(near, key=lambda memory: (-likeness(memory.statement, told.statement), memory.memory_id))

    def says_the_same(self, memory: Memory, entry: Entry) -> bool:
        """Whether an entry says what a memory says, or said before the person worded it anew."""
        if not are_of_one_family(memory.kind, entry.kind):
            return False
        wordings = [(memory.statement, memory.condition)]
        at = said_at(entry)
        wordings += [
            (former.statement, former.condition)
            for former in self._former.get(memory.memory_id, ())
            if at <= former.until
        ]
        return any(
            same_condition(condition, entry.condition) and same_statement(statement, entry.statement)
            for statement, condition in wordings
        )


def must_wait(book: MemoryBook, memory: Memory, told: Entry | Memory, *, by_person: bool) -> bool:
    """Whether what is told contradicts an active memory, and not as a person's word against a person's word."""
    if memory.status is not MemoryStatus.ACTIVE or have_one_goal(memory, told):
        return False
    stated = book.is_persons_word(memory)
    is_settled_by_time = stated and by_person
    return not is_settled_by_time and stands_against(memory, told, known_by_person=stated, by_person=by_person)


def confirm(book: MemoryBook, memory: Memory, entry: Entry, shelves: Shelves) -> None:
    """Let an entry join the memory that says the same."""
    book.apply(
        Operation(kind=OperationKind.MERGE, memory_id=memory.memory_id, entry_id=entry.entry_id, reason="says the same")
    )
    if memory.status is MemoryStatus.RETIRED and memory.reason.startswith((UNUSED, EVIDENCE_WITHDRAWN)):
        # What a person took out stays out; what merely faded is confirmed by being said again.
        restore(book, book.memories[memory.memory_id], shelves, reason="it was said again")
    else:
        settle(book, memory.memory_id, shelves)


def restore(book: MemoryBook, memory: Memory, shelves: Shelves, *, reason: str) -> None:
    """Tell a retired memory again, unless what was learned meanwhile contradicts it."""
    by_person = book.is_persons_word(memory)
    if any(must_wait(book, other, memory, by_person=by_person) for other in shelves.near(memory, book.memories)):
        return
    book.apply(Operation(kind=OperationKind.RESTORE, memory_id=memory.memory_id, reason=reason))
    settle(book, memory.memory_id, shelves)


def add(book: MemoryBook, entry: Entry, shelves: Shelves, *, actor: Actor = Actor.RULES, reason: str = "new") -> str:
    """Found a memory on an entry; returns its id."""
    memory_id = memory_id_of(entry)
    operation = Operation(
        kind=OperationKind.ADD, memory_id=memory_id, entry_id=entry.entry_id, reason=reason, actor=actor
    )
    if book.apply(operation) is None:
        shelves.put(book.memories[memory_id])
        settle(book, memory_id, shelves)
    return memory_id


def add_approved(book: MemoryBook, entry: Entry, near: Sequence[Memory], shelves: Shelves) -> None:
    """Found a memory on an entry that a person approved; what could not hold beside it gives way.

    Where only the person's own word stands against the person's word, the newer one wins all the same.
    """
    by_person = is_persons_word(entry)
    giving_way = [memory for memory in near if must_wait(book, memory, entry, by_person=by_person)]
    memory_id = add(book, entry, shelves, reason="approved in review")
    if memory_id not in book.memories:
        return
    for memory in giving_way:
        reason = "the person approved otherwise in review"
        superseding = Operation(
            kind=OperationKind.SUPERSEDE,
            memory_id=memory.memory_id,
            other_memory_id=memory_id,
            reason=reason,
            actor=Actor.PERSON,
        )
        if book.apply(superseding) is not None:
            # What a person stated is superseded by such a word alone; taken out it can be by the person.
            book.apply(
                Operation(kind=OperationKind.RETIRE, memory_id=memory.memory_id, reason=reason, actor=Actor.PERSON)
            )


def settle(book: MemoryBook, memory_id: str, shelves: Shelves) -> None:
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
    is_linked = memory.status is MemoryStatus.SUPERSEDED and memory.superseded_by in {one.memory_id for one in newer}
    if memory.status is MemoryStatus.ACTIVE:
        # What the person took out ends nothing any more, even said again; what gave way to it before stays so.
        newer = [rival for rival in newer if rival.status is not MemoryStatus.RETIRED]
    if newer and not is_linked:
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


def settle_goals(book: MemoryBook, memories: Iterable[Memory]) -> None:
    """Let the newest result of submitted tasks with one goal stand; should it go, the one before it stands again.

    ``memories`` hold every result of the scopes that they are of.
    """
    goals: dict[tuple[str, str], list[Memory]] = {}
    for memory in memories:
        goal = goal_of(memory.thread_ids, memory.condition)
        if goal is not None and memory.entry_ids and memory.status is not MemoryStatus.RETIRED:
            goals.setdefault((memory.scope, goal), []).append(memory)
    for results in goals.values():
        newest = max(results, key=book.newest_word)
        if newest.status is MemoryStatus.SUPERSEDED:
            reason = "nothing that superseded it stands any longer"
            book.apply(Operation(kind=OperationKind.RESTORE, memory_id=newest.memory_id, reason=reason))
        for older in results:
            if older is not newest and (older.status, older.superseded_by) != (
                MemoryStatus.SUPERSEDED,
                newest.memory_id,
            ):
                _supersede_result(book, older, newest)


def _supersede_result(book: MemoryBook, older: Memory, newer: Memory) -> None:
    book.apply(
        Operation(
            kind=OperationKind.SUPERSEDE,
            memory_id=older.memory_id,
            other_memory_id=newer.memory_id,
            reason=f"a newer result for the same goal, of {iso_date(book.newest_word(newer)[0])}",
        )
    )


def _rivals(book: MemoryBook, memory: Memory, shelves: Shelves) -> list[Memory]:
    """Return what the person said against a memory, in its place, and still says; what superseded it included."""
    return [
        other
        for other in {one.memory_id: one for one in _about_or_linked(book, memory, shelves)}.values()
        if other.memory_id != memory.memory_id
        and other.entry_ids
        and (other.memory_id == memory.superseded_by or contradict_in_place(other, memory))
        and book.is_persons_word(other)
    ]


def _about_or_linked(book: MemoryBook, memory: Memory, shelves: Shelves) -> Iterable[Memory]:
    yield from shelves.about(memory, book.memories)
    successor = book.memories.get(memory.superseded_by or "")
    if successor is not None and successor.scope == memory.scope:  # else one of them has moved to another project
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
