"""Why something is remembered: a memory with its history, its entries, and its evidence as the logs hold it now."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from memory_pipeline.recall.find import find_memories
from memory_pipeline.records import AppliedOperation, Entry, Memory
from memory_pipeline.rollouts.readback import EvidenceReader, EvidenceState, ReadBack
from memory_pipeline.store.store import Store

#: Of several memories that fit, so many are explained.
MOST_EXPLAINED = 3


class ExplainedEntry(Struct, frozen=True, kw_only=True):
    """One entry of a memory, and what became of each piece of its evidence, in the same order."""

    entry: Entry
    stands: bool  # its thread still says it; else it was withdrawn
    evidence: tuple[ReadBack, ...]


class ExplainedMemory(Struct, frozen=True, kw_only=True):
    """One memory and everything that it comes from."""

    memory: Memory
    supersedes: tuple[Memory, ...]
    superseded_by: Memory | None
    history: tuple[AppliedOperation, ...]  # oldest first
    entries: tuple[ExplainedEntry, ...]  # those that stand first, in the order they joined

    @property
    def independent_threads(self) -> int:
        """By how many threads it was said that do not hold the same line: a copy of a session confirms nothing."""
        lines_of: dict[str, set[str]] = {}
        for explained in self.entries:
            if explained.stands:
                lines = {line.line_sha256 for line in explained.entry.evidence}
                lines_of.setdefault(explained.entry.thread_id, set()).update(lines)
        groups: list[set[str]] = []
        for lines in lines_of.values():
            same = [group for group in groups if group & lines]
            groups = [group for group in groups if group not in same] + [lines.union(*same)]
        return len(groups)


class Explanation(Struct, frozen=True, kw_only=True):
    """The memories that a query names, the best first; ``left_out`` counts those that fit and are not among them."""

    memories: tuple[ExplainedMemory, ...]
    left_out: int


def explain(query: str, store: Store, reader: EvidenceReader) -> Explanation:
    """Explain the memories that a query names: an id or its beginning, a line of MEMORY.md, or some words.

    Empty when there is none. Nothing is changed, and nothing counts as used.
    """
    known = {memory.memory_id: memory for memory in store.memories.every()}
    found = find_memories(query, known.values())
    explained = []
    for memory in found[:MOST_EXPLAINED]:
        history = store.memories.operations_of(memory.memory_id)
        explained.append(
            ExplainedMemory(
                memory=memory,
                supersedes=tuple(known[name] for name in memory.supersedes if name in known),
                superseded_by=known.get(memory.superseded_by or ""),
                history=tuple(history),
                entries=_explain_entries(memory, history, store, reader),
            )
        )
    return Explanation(memories=tuple(explained), left_out=len(found) - len(explained))


def read_back(entry: Entry, store: Store, reader: EvidenceReader) -> tuple[ReadBack, ...]:
    """Read the evidence of one entry back from its log, in its order."""
    return _read_thread(entry.thread_id, [entry], store, reader)[entry.entry_id]


def _explain_entries(
    memory: Memory, history: Sequence[AppliedOperation], store: Store, reader: EvidenceReader
) -> tuple[ExplainedEntry, ...]:
    joined = [done.operation.entry_id for done in history if done.operation.entry_id]
    entry_ids = list(dict.fromkeys([*memory.entry_ids, *joined]))
    entries = store.extractions.known_entries(entry_ids)
    evidence: dict[str, tuple[ReadBack, ...]] = {}
    for thread_id in dict.fromkeys(entry.thread_id for entry in entries.values()):
        of_thread = [entry for entry in entries.values() if entry.thread_id == thread_id]
        evidence |= _read_thread(thread_id, of_thread, store, reader)
    standing = set(memory.entry_ids)
    return tuple(
        ExplainedEntry(entry=entries[name], stands=name in standing, evidence=evidence[name])
        for name in entry_ids
        if name in entries
    )


def _read_thread(
    thread_id: str, entries: Sequence[Entry], store: Store, reader: EvidenceReader
) -> dict[str, tuple[ReadBack, ...]]:
    """Read the evidence of all entries of one thread in one go, so that its log is read once."""
    thread = store.threads.get(thread_id)
    lines = [line for entry in entries for line in entry.evidence]
    if thread is None:
        read = [ReadBack(state=EvidenceState.GONE, words=line.quote, reason="its thread is unknown") for line in lines]
    else:
        read = reader.read(lines, agent=thread.agent, thread_id=thread_id, current_path=thread.rollout_path)
    rest = iter(read)
    return {entry.entry_id: tuple(next(rest) for _ in entry.evidence) for entry in entries}
