"""What consolidations did to the memories: between two of them, and as one memory's history."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from memory_pipeline.records import AppliedOperation, Memory, MemoryStatus
from memory_pipeline.store.memories import Memories


class MemoryDifference(Struct, frozen=True, kw_only=True):
    """One memory at two moments; None where it did not exist."""

    memory_id: str
    before: Memory | None
    after: Memory | None

    @property
    def sign(self) -> str:
        """``+`` it is told now, ``-`` it is told no more, ``~`` it is told otherwise, "" it reads the same."""
        was_told = self.before is not None and self.before.status is MemoryStatus.ACTIVE
        is_told = self.after is not None and self.after.status is MemoryStatus.ACTIVE
        if was_told is not is_told:
            return "+" if is_told else "-"
        if not was_told or self.before is None or self.after is None:
            return ""
        same = (self.before.statement, self.before.condition, self.before.scope, self.before.pinned) == (
            self.after.statement,
            self.after.condition,
            self.after.scope,
            self.after.pinned,
        )
        return "" if same else "~"


def between(history: Memories, first: int, last: int) -> list[MemoryDifference]:
    """Return what reads otherwise after consolidation ``last`` than after ``first``, by scope and id."""
    then = _images_after(history.operations_after(first))
    later = _images_after(history.operations_after(last))
    now = {memory.memory_id: memory for memory in history.every()}
    found = []
    for memory_id, before in then.items():
        after = later[memory_id] if memory_id in later else now.get(memory_id)
        found.append(MemoryDifference(memory_id=memory_id, before=before, after=after))
    return in_order(found)


def in_order(differences: Iterable[MemoryDifference]) -> list[MemoryDifference]:
    """Leave out what reads the same, and sort by scope, sign and id."""
    return sorted((one for one in differences if one.sign), key=lambda one: (_scope_of(one), one.sign, one.memory_id))


def _images_after(operations: Iterable[AppliedOperation]) -> dict[str, Memory | None]:
    """How each memory stood before the first of the operations on it that tells."""
    images: dict[str, Memory | None] = {}
    for applied in operations:
        if applied.tells_before:
            images.setdefault(applied.operation.memory_id, applied.before)
    return images


def _scope_of(difference: MemoryDifference) -> str:
    memory = difference.after or difference.before
    return memory.scope if memory else ""
