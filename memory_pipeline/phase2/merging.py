"""Carrying out what a person approved about memories: of several one stays, and the others give way to it."""

from __future__ import annotations

from collections.abc import Iterable

from memory_pipeline.phase2.operations import MemoryBook
from memory_pipeline.records import Actor, DraftLabel, Memory, MemoryStatus, Merge, Operation, OperationKind


def carry_out_merges(book: MemoryBook, merges: Iterable[Merge]) -> frozenset[str]:
    """Apply approved proposals in the book; returns the ids of those that were carried out.

    One that names a memory which is told no longer is left as it is: it was approved of other memories.
    """
    carried_out = set()
    for merge in merges:
        named = [book.memories.get(name) for name in (merge.keeps, *merge.gives_way)]
        if all(memory is not None and memory.status_now is MemoryStatus.ACTIVE for memory in named):
            for name in merge.gives_way:
                _give_way(book, book.memories[name], merge)
            carried_out.add(merge.merge_id)
    return frozenset(carried_out)


def _give_way(book: MemoryBook, memory: Memory, merge: Merge) -> None:
    reason = "merged in review" if merge.label is not DraftLabel.CONFLICT else "the person chose the other in review"
    if merge.label is not DraftLabel.CONFLICT:
        for entry_id in memory.entry_ids:
            _apply(book, OperationKind.MERGE, merge.keeps, reason, entry_id=entry_id)
        if memory.pinned:
            _apply(book, OperationKind.PIN, merge.keeps, reason)
    kept = book.memories[merge.keeps]
    # What is only superseded is told again once its own words are the newest; after a merge, both have the same.
    is_settled = book.newest_word(kept) > book.newest_word(memory)
    if merge.label is DraftLabel.CONFLICT and is_settled:
        refusal = _apply(book, OperationKind.SUPERSEDE, memory.memory_id, reason, other_memory_id=merge.keeps)
        if refusal is None:
            return
    _apply(book, OperationKind.RETIRE, memory.memory_id, f"{reason}: {merge.keeps}")


def _apply(
    book: MemoryBook,
    kind: OperationKind,
    memory_id: str,
    reason: str,
    *,
    entry_id: str | None = None,
    other_memory_id: str | None = None,
) -> str | None:
    return book.apply(
        Operation(
            kind=kind,
            memory_id=memory_id,
            reason=reason,
            actor=Actor.PERSON,
            entry_id=entry_id,
            other_memory_id=other_memory_id,
        )
    )
