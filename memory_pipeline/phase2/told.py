"""What is told once a book is stored: asked of the store, but for the few memories that the book changes."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from memory_pipeline.config import Phase2Config
from memory_pipeline.phase2.operations import MemoryBook
from memory_pipeline.phase2.render import Told, what_can_fit, worth
from memory_pipeline.records import USER_SCOPE, Memory, MemoryStatus
from memory_pipeline.store.extractions import Resting
from memory_pipeline.store.memories import Memories

#: So many memories are read at once.
_PART = 250


def told_in(book: MemoryBook, memories: Memories, limits: Phase2Config) -> Told:
    """Return what the memories of a book tell, read as far as the files can hold it."""
    changed = _changed(book)
    told = memories.told_by_worth(but_for=changed)
    own = memories.told_by_worth(scope=USER_SCOPE, but_for=changed)
    newly = _newly_told(book)
    newly_own = [memory for memory in newly if memory.scope == USER_SCOPE]
    return Told(
        memories=what_can_fit(_by_worth(book, told, newly), limits.memory_max_bytes),
        count=len(told) + len(newly),
        own=what_can_fit(_by_worth(book, own, newly_own), limits.summary_max_bytes),
        own_count=len(own) + len(newly_own),
        last_said=told_scopes(book, memories),
    )


def told_scopes(book: MemoryBook, memories: Memories) -> dict[str, float]:
    """Return the scopes of what is told, and when the newest of each was said."""
    scopes = memories.told_scopes(but_for=_changed(book))
    for memory in _newly_told(book):
        scopes[memory.scope] = max(memory.last_confirmed, scopes.get(memory.scope, memory.last_confirmed))
    return scopes


def told_threads(book: MemoryBook, memories: Memories) -> list[str]:
    """Return the ids of the threads on which rests what is told, in order."""
    stored = memories.told_threads(but_for=_changed(book))
    return sorted({*stored, *(thread_id for memory in _newly_told(book) for thread_id in memory.thread_ids)})


def resting_in(book: MemoryBook) -> Resting:
    """Return the entries on which memories rest."""
    held = {entry_id for memory in book.changed for entry_id in memory.entry_ids}
    removed = {entry_id for _, entry_id in book.removals} - held
    return Resting(added=book.placed - removed, removed=removed)


def _by_worth(book: MemoryBook, stored: list[str], newly: list[Memory]) -> Iterator[Memory]:
    ordered = sorted(newly, key=worth, reverse=True)
    return heapq.merge(_read(book, stored), ordered, key=worth, reverse=True)


def _read(book: MemoryBook, memory_ids: list[str]) -> Iterator[Memory]:
    for start in range(0, len(memory_ids), _PART):
        yield from book.memories.several(memory_ids[start : start + _PART])


def _newly_told(book: MemoryBook) -> list[Memory]:
    return [memory for memory in book.changed if memory.status is MemoryStatus.ACTIVE]


def _changed(book: MemoryBook) -> list[str]:
    return [memory.memory_id for memory in book.changed]
