"""What a model as curator is shown: new entries, what changed, and memories, as JSON that stands in a quotation."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from memory_pipeline.clock import iso_date
from memory_pipeline.entries import is_persons_word, said_at
from memory_pipeline.likeness import likeness, signature
from memory_pipeline.phase2.operations import MemoryBook
from memory_pipeline.phase2.placing import Shelves
from memory_pipeline.records import Change, Entry, Memory, MemoryStatus, SelectedThread
from memory_pipeline.statements import one_line

#: Looks threads up in the store, by id.
FindThreads = Callable[[Sequence[str]], Mapping[str, SelectedThread]]
#: Whether words of a session that ran on a model of this provider may be sent.
MaySend = Callable[[str | None], bool]

_NEAR_AN_ENTRY = 5
_MOST_CHANGES = 50
_MOST_FOUND = 20
_LEAST_LIKENESS = 0.25


class Material(Struct, frozen=True, kw_only=True):
    """What opens a conversation: JSON lines, the entries among them, and how many did not fit."""

    lines: tuple[str, ...]
    entries: tuple[Entry, ...]
    left_out: int

    @property
    def text(self) -> str:
        """All lines."""
        return "\n".join(self.lines)


class Sight:
    """What of the memories may be seen: never words of a session that may not be sent, nor what rests on it."""

    def __init__(self, book: MemoryBook, shelves: Shelves, find_threads: FindThreads, may_send: MaySend) -> None:
        self._book = book
        self._shelves = shelves
        self._find_threads = find_threads
        self._may_send = may_send
        self._threads: dict[str, SelectedThread | None] = {}

    def thread(self, thread_id: str) -> SelectedThread | None:
        """Return a thread that may be seen, None for any other."""
        self._look_up([thread_id])
        return self._threads[thread_id]

    def memory(self, memory_id: str) -> Memory | None:
        """Return a memory that is told and may be seen, None for any other."""
        memory = self._book.memories.get(memory_id)
        return memory if memory is not None and self._is_seen(memory) else None

    def memories(self, scope: str | None = None) -> list[Memory]:
        """Return the memories that are told and may be seen, of all scopes or of one, by scope, first seen and id."""
        told = [
            memory
            for memory in self._book.memories.values()
            if memory.status is MemoryStatus.ACTIVE and (scope is None or memory.scope == scope)
        ]
        self._look_up([thread_id for memory in told for thread_id in memory.thread_ids])
        seen = [memory for memory in told if self._is_seen(memory)]
        return sorted(seen, key=lambda memory: (memory.scope, memory.first_seen, memory.memory_id))

    def search(self, text: str) -> list[Memory]:
        """Return the memories most like a text, or that hold it, the best first."""
        wanted = text.casefold()
        ranked = [
            (1.0 if wanted in memory.statement.casefold() else likeness(memory.statement, text), memory)
            for memory in self.memories()
        ]
        found = [pair for pair in ranked if pair[0] >= _LEAST_LIKENESS]
        return [memory for _, memory in sorted(found, key=lambda pair: (-pair[0], pair[1].memory_id))][:_MOST_FOUND]

    def material(self, entries: Sequence[Entry], *, most_bytes: int) -> Material:
        """Return what opens the conversation, within ``most_bytes``: the entries come first, then what is near them."""
        budget = most_bytes
        self._look_up([entry.thread_id for entry in entries])
        seen = [entry for entry in entries if self._threads[entry.thread_id] is not None]
        lines: list[str] = []
        shown: list[Entry] = []
        for entry in seen:
            line = as_line(self.entry_document(entry))
            if len(line.encode()) > budget - most_bytes // 2:
                break
            budget -= len(line.encode())
            lines.append(line)
            shown.append(entry)
        for document in self._rest(shown):
            line = as_line(document)
            if len(line.encode()) > budget:
                break
            budget -= len(line.encode())
            lines.append(line)
        return Material(lines=tuple(lines), entries=tuple(shown), left_out=len(seen) - len(shown))

    def entry_document(self, entry: Entry) -> dict[str, Any]:
        """Return a new entry as a model sees it."""
        item = self._threads.get(entry.thread_id)
        task = next(
            (task for task in item.extraction.tasks if any(one.entry_id == entry.entry_id for one in task.entries))
            if item is not None
            else iter(()),
            None,
        )
        near = [memory.memory_id for memory in self._shelves.near(entry, self._book.memories) if self._is_seen(memory)]
        return {
            "new_entry": entry.entry_id,
            "thread": entry.thread_id,
            **({"task": task.title, "outcome": task.outcome.value} if task is not None else {}),
            **_entry(entry),
            "most_like": near[:_NEAR_AN_ENTRY],
        }

    def memory_document(self, memory: Memory) -> dict[str, Any]:
        """Return a memory as a model sees it in a list."""
        flags = {"by_person": self._book.is_persons_word(memory), "pinned": memory.pinned, "by_hand": memory.by_hand}
        return {
            "memory": memory.memory_id,
            "kind": memory.kind.value,
            "scope": memory.scope,
            "condition": memory.condition,
            "statement": memory.statement,
            "last_said": iso_date(self._book.newest_word(memory)[0]),
            **{name: True for name, holds in flags.items() if holds},
            **({"group": memory.group} if memory.group else {}),
        }

    def whole_memory(self, memory: Memory) -> dict[str, Any]:
        """Return a memory with the entries that it rests on."""
        entries = [
            {"entry": entry.entry_id, "thread": entry.thread_id, **_entry(entry)}
            for entry in self._book.entries_of(memory)
        ]
        return {**self.memory_document(memory), "entries": entries}

    def _rest(self, entries: Sequence[Entry]) -> Iterable[dict[str, Any]]:
        for change in self._book.changes[-_MOST_CHANGES:]:
            if self._may_tell(change):
                yield {"done_by_rules": change.operation.kind.value, "memory": change.operation.memory_id}
        yield from (self.memory_document(memory) for memory in self._nearest(entries))

    def _nearest(self, entries: Sequence[Entry]) -> list[Memory]:
        """The memories of the scopes of the entries, those near an entry first."""
        nearness: dict[str, float] = {}
        for entry in entries:
            for memory in self._shelves.near(entry, self._book.memories):
                alike = likeness(memory.statement, entry.statement)
                nearness[memory.memory_id] = max(alike, nearness.get(memory.memory_id, 0.0))
        scopes = sorted({entry.scope for entry in entries})
        all_of_them = [memory for scope in scopes for memory in self.memories(scope)]
        return sorted(all_of_them, key=lambda memory: -nearness.get(memory.memory_id, 0.0))

    def _may_tell(self, change: Change) -> bool:
        memory = self._book.memories[change.operation.memory_id]
        self._look_up(memory.thread_ids)
        return all(self._threads[thread_id] is not None for thread_id in memory.thread_ids)

    def _is_seen(self, memory: Memory) -> bool:
        self._look_up(memory.thread_ids)
        return (
            memory.status is MemoryStatus.ACTIVE
            and bool(memory.entry_ids)
            and all(self._threads[thread_id] is not None for thread_id in memory.thread_ids)
        )

    def _look_up(self, thread_ids: Iterable[str]) -> None:
        unknown = sorted({thread_id for thread_id in thread_ids if thread_id not in self._threads})
        if unknown:
            found = self._find_threads(unknown)
            for thread_id in unknown:
                item = found.get(thread_id)
                self._threads[thread_id] = item if item is not None and self._may_be_seen(item) else None

    def _may_be_seen(self, item: SelectedThread) -> bool:
        return not item.thread.is_withdrawn and self._may_send(item.thread.model_provider)


def as_line(document: Mapping[str, Any]) -> str:
    """Return a document as one line of JSON, also for a reader to whom other characters end a line."""
    written = json.dumps(document, ensure_ascii=False, separators=(", ", ": "))
    for separator in ("\u2028", "\u2029", "\x85"):
        written = written.replace(separator, f"\\u{ord(separator):04x}")
    return written


def can_meet(memory: Memory, told: Entry | Memory) -> bool:
    """Whether two statements are of one scope and share a word that counts."""
    return memory.scope == told.scope and bool(signature(memory.statement) & signature(told.statement))


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "kind": entry.kind.value,
        "scope": entry.scope,
        "condition": entry.condition,
        "statement": entry.statement,
        "by_person": is_persons_word(entry),
        "said": iso_date(said_at(entry)),
        "quotes": [{"speaker": line.speaker.value, "quote": one_line(line.quote, 300)} for line in entry.evidence[:3]],
    }
