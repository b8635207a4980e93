"""Undoing one consolidation: each memory that it changed is as it was before, unless it was changed since."""

from __future__ import annotations

from memory_pipeline.phase2.operations import MemoryBook
from memory_pipeline.records import AppliedOperation, Consolidation, ConsolidationKind, Memory
from memory_pipeline.store.memories import Memories


def undo_in(book: MemoryBook, history: Memories, consolidation_id: int) -> list[str]:
    """Revert in the book what a consolidation did; returns the ids of memories that must be left as they are."""
    before: dict[str, Memory | None] = {}
    for applied in history.operations_in(consolidation_id):
        before.setdefault(applied.operation.memory_id, applied.before)
    touched = {applied.operation.memory_id for applied in _standing_since(history, consolidation_id)}
    skipped = []
    for memory_id, image in before.items():
        if memory_id not in book.memories:
            continue  # forgotten since
        if memory_id in touched:
            skipped.append(memory_id)
        else:
            book.revert(memory_id, image, reason=f"consolidation {consolidation_id} was undone")
    return skipped


def _standing_since(history: Memories, consolidation_id: int) -> list[AppliedOperation]:
    """What later consolidations did and still holds; one that was undone, and its undoing, come to nothing."""
    later = history.operations_after(consolidation_id)
    known: dict[int, Consolidation | None] = {
        number: history.consolidation(number) for number in {applied.consolidation_id for applied in later}
    }
    return [applied for applied in later if not _comes_to_nothing(known[applied.consolidation_id], consolidation_id)]


def _comes_to_nothing(consolidation: Consolidation | None, since: int) -> bool:
    if consolidation is None:
        return True
    undid_later = (
        consolidation.kind is ConsolidationKind.UNDO
        and consolidation.undoes is not None
        and consolidation.undoes > since
    )
    return consolidation.undone_by is not None or undid_later
