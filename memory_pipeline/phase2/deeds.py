"""The person's deeds: what the journal says they added, worded anew, took out, had told again or pinned."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from msgspec import Struct

from memory_pipeline.contradiction import contradict_in_place
from memory_pipeline.likeness import same_condition, same_statement
from memory_pipeline.phase2.operations import MemoryBook
from memory_pipeline.phase2.placing import Shelves, add, confirm, settle
from memory_pipeline.phase2.rebuilt import REBUILT_ORIGIN
from memory_pipeline.records import (
    Actor,
    Entry,
    EntryKind,
    EvidenceLine,
    JournalAction,
    JournalLine,
    JournalRecord,
    Memory,
    MemoryStatus,
    Operation,
    OperationKind,
    Speaker,
)
from memory_pipeline.statements import one_line, statement_fault

#: The beginning of the reason of whatever the person took out: it never returns by itself.
BY_PERSON = "the person took it out"

#: What the person did to the memories. The journal tells of other things too, which are nobody's deeds.
DEEDS = frozenset(JournalAction) - {JournalAction.NOTE, JournalAction.USE}
#: What the person had told becomes an entry, so that it has evidence, and a time that later words are held against.
#: So does what an agent noted: under review, like what a session says.
_SAYING = frozenset({JournalAction.ADD, JournalAction.EDIT, JournalAction.RESTORE, JournalAction.NOTE})
_QUOTE_CHARS = 500


class Deed(Struct, frozen=True, kw_only=True):
    """One record of the journal that no consolidation took in yet, and the entry that it makes."""

    record: JournalRecord
    entry: Entry | None


def entry_of(line: JournalLine, *, thread_id: str, journal_path: str) -> Entry | None:
    """Return the entry that a line of the journal makes; None when it only does something to a memory."""
    record = line.record
    if record.action not in _SAYING or record.scope is None or statement_fault(record.statement) is not None:
        return None
    evidence = EvidenceLine(
        rollout_path=journal_path,
        byte_start=line.byte_start,
        byte_end=line.byte_end,
        line_sha256=line.line_sha256,
        speaker=record.speaker,
        at=record.at,
        quote=record.statement[:_QUOTE_CHARS],
    )
    kind = record.kind or EntryKind.PREFERENCE
    if record.speaker is not Speaker.USER and kind not in (EntryKind.KNOWLEDGE, EntryKind.FAILURE):
        kind = EntryKind.KNOWLEDGE
    return Entry(
        entry_id=entry_id_of(record.record_id, thread_id=thread_id),
        thread_id=thread_id,
        kind=kind,
        scope=record.scope,
        condition=one_line(record.condition, 200),
        statement=record.statement,
        evidence=(evidence,),
    )


def entry_id_of(record_id: str, *, thread_id: str) -> str:
    """Return the id of the entry that a record makes; the record's id is made of all that it says."""
    return "e_" + hashlib.sha256(f"{thread_id}\x1f{record_id}".encode()).hexdigest()[:24]


def carry_out_deeds(
    book: MemoryBook, deeds: Sequence[Deed], shelves: Shelves, *, is_last_chance: bool = False
) -> frozenset[str]:
    """Do what the person did, in their order; returns the ids of the records that are done with.

    A deed about a memory that is not known is left, unless it is the last chance: then what it says is added.
    """
    done: set[str] = set()
    for deed in deeds:
        if deed.record.action is JournalAction.ADD:
            _say(book, deed, shelves)
            done.add(deed.record.record_id)
            continue
        memory = _meant(book, deed.record)
        if memory is not None:
            _change(book, deed, memory, shelves)
            done.add(deed.record.record_id)
        elif is_last_chance and deed.entry is not None:
            _say(book, deed, shelves)
            done.add(deed.record.record_id)
    return frozenset(done)


def _meant(book: MemoryBook, record: JournalRecord) -> Memory | None:
    """Return the memory that a deed is about: the one of its id, else the one that says what it said."""
    memory = book.memories.get(record.memory_id or "")
    if memory is not None or record.scope is None:
        return memory
    said_then = (record.was or record.statement, record.was_condition if record.was else record.condition)
    return next(
        (
            known
            for known in sorted(book.memories.values(), key=lambda known: known.memory_id)
            if known.scope == record.scope
            and same_condition(known.condition, said_then[1])
            and same_statement(known.statement, said_then[0])
        ),
        None,
    )


def _change(book: MemoryBook, deed: Deed, memory: Memory, shelves: Shelves) -> None:
    record = deed.record
    if record.action is JournalAction.EDIT:
        _reword(book, deed, memory, shelves)
    elif record.action is JournalAction.RETIRE:
        _apply(book, OperationKind.RETIRE, memory, reason=f"{BY_PERSON} ({record.origin})")
    elif record.action is JournalAction.RESTORE:
        _tell_again(book, deed, memory, shelves)
    else:
        kind = OperationKind.PIN if record.action is JournalAction.PIN else OperationKind.UNPIN
        _apply(book, kind, memory, reason=f"by the person ({record.origin})")


def _say(book: MemoryBook, deed: Deed, shelves: Shelves) -> None:
    """Add what the person said, or let it join the memory that says so already."""
    entry = deed.entry
    if entry is None:
        return
    by_hand = deed.record.origin in ("MEMORY.md", "command")
    is_told = deed.record.origin == REBUILT_ORIGIN  # it was learnt from a session once, and lost its evidence
    near = shelves.near(entry, book.memories)
    same = next((memory for memory in near if shelves.says_the_same(memory, entry)), None)
    if same is None:
        reason = f"the person wrote it ({deed.record.origin})"
        if is_told or deed.record.speaker is not Speaker.USER:
            reason = f"it stands in {deed.record.origin}"
        actor = Actor.PERSON if deed.record.speaker is Speaker.USER and not is_told else Actor.RULES
        memory_id = add(book, entry, shelves, actor=actor, reason=reason)
    else:
        memory_id = same.memory_id
        confirm(book, same, entry, shelves)
        if by_hand:
            _have_told(book, memory_id, shelves, reason="the person wrote it again")
    if memory_id in book.memories and deed.record.speaker is Speaker.USER and not is_told:
        _outdo_what_was_learnt(book, book.memories[memory_id], shelves)
        if by_hand and not book.memories[memory_id].pinned:
            _apply(book, OperationKind.PIN, book.memories[memory_id], reason="written by the person's own hand")


def _reword(book: MemoryBook, deed: Deed, memory: Memory, shelves: Shelves) -> None:
    entry = deed.entry
    if entry is None:
        return
    if any(
        other.memory_id != memory.memory_id
        and other.status is MemoryStatus.ACTIVE
        and shelves.says_the_same(other, entry)
        for other in shelves.near(entry, book.memories)
    ):
        # Worded like another memory: that one says it from now on, and nothing says it twice.
        _apply(book, OperationKind.RETIRE, memory, reason=f"{BY_PERSON}: another says it ({deed.record.origin})")
        _say(book, deed, shelves)
        return
    operation = Operation(
        kind=OperationKind.REWORD,
        memory_id=memory.memory_id,
        entry_id=entry.entry_id,
        actor=Actor.PERSON,
        reason=f"the person worded it so ({deed.record.origin})",
    )
    if book.apply(operation) is not None:
        # The memory moved to another scope meanwhile: what the person wrote stands for itself.
        _say(book, deed, shelves)
        return
    shelves.put(book.memories[memory.memory_id])
    _have_told(book, memory.memory_id, shelves, reason="the person worded it anew")


def _tell_again(book: MemoryBook, deed: Deed, memory: Memory, shelves: Shelves) -> None:
    if deed.entry is not None:
        # The person's newest word, so that what had superseded the memory gives way.
        _apply(book, OperationKind.MERGE, memory, reason="the person had it told again", entry_id=deed.entry.entry_id)
    _have_told(book, memory.memory_id, shelves, reason=f"the person had it told again ({deed.record.origin})")


def _have_told(book: MemoryBook, memory_id: str, shelves: Shelves, *, reason: str) -> None:
    memory = book.memories[memory_id]
    if memory.status is not MemoryStatus.ACTIVE:
        _apply(book, OperationKind.RESTORE, memory, reason=reason)
    settle(book, memory_id, shelves)
    _outdo_what_was_learnt(book, book.memories[memory_id], shelves)


def _outdo_what_was_learnt(book: MemoryBook, memory: Memory, shelves: Shelves) -> None:
    """Let what the person wrote take the place of what was only learnt from sessions and says otherwise."""
    if memory.status is not MemoryStatus.ACTIVE:
        return
    for other in shelves.near(memory, book.memories):
        if (
            other.memory_id != memory.memory_id
            and other.status is MemoryStatus.ACTIVE
            and contradict_in_place(other, memory)
            and book.newest_word(other)[0] <= book.newest_word(memory)[0]
        ):
            _apply(
                book,
                OperationKind.SUPERSEDE,
                other,
                reason="the person wrote otherwise",
                other_memory_id=memory.memory_id,
            )


def _apply(
    book: MemoryBook,
    kind: OperationKind,
    memory: Memory,
    *,
    reason: str,
    entry_id: str | None = None,
    other_memory_id: str | None = None,
) -> None:
    book.apply(
        Operation(
            kind=kind,
            memory_id=memory.memory_id,
            reason=reason,
            actor=Actor.PERSON,
            entry_id=entry_id,
            other_memory_id=other_memory_id,
        )
    )
