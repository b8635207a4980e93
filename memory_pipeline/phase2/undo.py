"""Undoing one consolidation: each memory that it changed is as it was before, unless it was changed since."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from memory_pipeline.phase2.operations import MemoryBook
from memory_pipeline.records import AppliedOperation, Consolidation, ConsolidationKind, Memory, MemoryStatus
from memory_pipeline.store.memories import Memories


class LeftAlone(Struct, frozen=True, kw_only=True):
    """The ids of memories that an undoing must leave as they are."""

    changed_since: Sequence[str]  # by later consolidations
    unknown_before: Sequence[str]  # an earlier version of the program did not keep how they were
    without_evidence: Sequence[str]  # they would be told again, but nothing that they rested on stands any longer


def undo_in(book: MemoryBook, history: Memories, consolidation_id: int) -> LeftAlone:
    """Revert in the book what a consolidation did; returns what must be left as it is."""
    first: dict[str, AppliedOperation] = {}
    for applied in history.operations_in(consolidation_id):
        first.setdefault(applied.operation.memory_id, applied)
    touched = {applied.operation.memory_id for applied in _standing_since(history, consolidation_id)}
    changed_since, unknown_before, without_evidence = [], [], []
    for memory_id, applied in first.items():
        image = applied.before
        if memory_id not in book.memories:
            continue  # forgotten since
        if memory_id in touched:
            changed_since.append(memory_id)
        elif not applied.tells_before:
            unknown_before.append(memory_id)
        elif (
            image is not None
            and _is_told(image)
            and not book.standing(image)
            and not book.memories[memory_id].entry_ids
        ):
            without_evidence.append(memory_id)
        else:
            book.revert(memory_id, image, reason=f"consolidation {consolidation_id} was undone")
    return LeftAlone(changed_since=changed_since, unknown_before=unknown_before, without_evidence=without_evidence)


def _is_told(image: Memory) -> bool:
    return image.status is not MemoryStatus.RETIRED


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
