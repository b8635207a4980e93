"""What tombstones mean for what is stored: what goes, what stays and reads otherwise. Changes nothing itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from msgspec.structs import replace

from memory_pipeline.entries import is_persons_word, said, said_at
from memory_pipeline.raw_memory import render_raw_memory
from memory_pipeline.records import (
    Agent,
    AppliedOperation,
    Entry,
    EvidenceLine,
    IndexedThread,
    Memory,
    StoredExtraction,
    Task,
)
from memory_pipeline.store.forgetting import Erasure, Kept, Remains
from memory_pipeline.tombstones import Tombstones, tokens_of

#: What stands in the place of titles and summaries that may tell of what was forgotten.
LEFT_TITLE = "What is left of this session"
LEFT_SUMMARY = "Part of this session was forgotten. What is left:"
LEFT_SLUG = "session"

_WORD_CHARS = 4


def erasure_of(kept: Kept, tombstones: Tombstones, *, taken_in: Iterable[str] = ()) -> Erasure:
    """Tell what must go from the database; ``taken_in`` are the ids of the journal's records that it knows."""
    gone = frozenset(entry.entry_id for entry in kept.entries.values() if tombstones.has_entry(entry))
    left = {name: _left_of(kept, memory, gone) for name, memory in kept.memories.items()}
    memories = frozenset(
        name for name, memory in kept.memories.items() if _must_go(kept, memory, gone, left[name], tombstones)
    )
    reworded = {
        name: changed
        for name, memory in kept.memories.items()
        if name not in memories
        and (changed := _reworded(memory, _lost_of(kept, name, gone), left[name], tombstones)) != memory
    }
    threads = frozenset(name for name in kept.threads if tombstones.has_thread(name) and not _is_erased(kept, name))
    remains = {
        name: _remains(kept.threads[name], extraction, gone)
        for name, extraction in kept.extractions.items()
        if name not in threads and _is_touched(extraction, gone, kept, tombstones)
    }
    now = {name: reworded.get(name, memory) for name, memory in kept.memories.items() if name not in memories}
    operations = frozenset(
        number
        for number, applied in kept.operations.items()
        if applied.operation.memory_id in memories or applied.operation.entry_id in gone
    )
    images = {
        number: step
        for number, applied in kept.operations.items()
        if number not in operations
        and (step := _without_words(applied, now.get(applied.operation.memory_id), gone, memories, tombstones))
        != applied
    }
    return Erasure(
        threads=threads,
        untitled=frozenset(
            name
            for name, thread in kept.threads.items()
            if thread.agent is not Agent.JOURNAL
            and (thread.title is not None or thread.git_branch is not None)
            and (tombstones.touches(name) or tombstones.holds_words(thread.title, thread.git_branch))
        ),
        remains=remains,
        entries=gone,
        blank_lines={
            name: places
            for name, entry in kept.entries.items()
            if name not in gone and (places := _forgotten_lines(entry, tombstones))
        },
        notes=frozenset(
            name for name, notes in kept.notes.items() if name not in gone and tombstones.holds_words(*notes)
        ),
        memories=memories,
        reworded=reworded,
        outlived=frozenset(name for name, memory in now.items() if memory.superseded_by in memories),
        records=frozenset(record for record in taken_in if tombstones.has_record(record)),
        operations=operations,
        images=images,
        settings=frozenset(
            (row.target, row.key) for row in kept.settings if tombstones.takes_settings(row.target, at=row.at)
        ),
    )


def words_in(texts: Iterable[str]) -> set[str]:
    """Return the words that count of some texts."""
    return {token for text in texts for token in tokens_of(text) if len(token) >= _WORD_CHARS or not token.isascii()}


def _is_erased(kept: Kept, thread_id: str) -> bool:
    thread = kept.threads[thread_id]
    return (
        thread.disabled_by_person
        and thread.title is None
        and not thread.unknown_types
        and thread_id not in kept.extractions
        and thread.last_error is None
        and not any(entry.thread_id == thread_id for entry in kept.entries.values())
    )


def _left_of(kept: Kept, memory: Memory, gone: Set[str]) -> list[Entry]:
    links = kept.links.get(memory.memory_id, ())
    return [kept.entries[one] for one in links if one in kept.entries and one not in gone and one not in kept.withdrawn]


def _lost_of(kept: Kept, memory_id: str, gone: Set[str]) -> list[Entry]:
    return [kept.entries[one] for one in kept.links.get(memory_id, ()) if one in gone]


def _must_go(kept: Kept, memory: Memory, gone: Set[str], left: Sequence[Entry], tombstones: Tombstones) -> bool:
    """Whether a memory rests on nothing but what goes, or was itself forgotten."""
    if tombstones.has_memory(memory.memory_id):
        return True
    is_hit = bool(_lost_of(kept, memory.memory_id, gone)) or tombstones.holds_words(memory.statement, memory.condition)
    return is_hit and not left


def _reworded(memory: Memory, lost: Sequence[Entry], left: Sequence[Entry], tombstones: Tombstones) -> Memory:
    """Let a memory that others support say what the best of them says, if it said what goes."""
    if tombstones.holds_words(memory.reason):
        memory = replace(memory, reason="")
    if not left:
        return memory
    if lost:
        memory = replace(memory, first_seen=min(map(said_at, left)), last_confirmed=max(map(said_at, left)))
    if not _says_what_goes(memory, lost, left, tombstones):
        return memory
    best = max(left, key=lambda entry: (entry.scope == memory.scope, is_persons_word(entry), said(entry)))
    return replace(memory, kind=best.kind, statement=best.statement, condition=best.condition)


def _says_what_goes(memory: Memory, lost: Sequence[Entry], left: Sequence[Entry], tombstones: Tombstones) -> bool:
    if tombstones.holds_words(memory.statement, memory.condition):
        return True
    wording = (tokens_of(memory.statement), tokens_of(memory.condition))
    if any(wording == (tokens_of(entry.statement), tokens_of(entry.condition)) for entry in left):
        return False
    if any(wording[0] == tokens_of(entry.statement) for entry in lost) or tombstones.is_text(memory.statement):
        return True
    only_lost = words_in(_told(lost)) - words_in(_told(left))
    return bool(words_in([memory.statement, memory.condition]) & only_lost)


def _told(entries: Iterable[Entry]) -> Iterable[str]:
    for entry in entries:
        yield from (entry.statement, entry.condition)


def _is_touched(extraction: StoredExtraction, gone: Set[str], kept: Kept, tombstones: Tombstones) -> bool:
    """Whether what is told of a thread as a whole may tell what goes; what a later reading told does not."""
    thread_id = extraction.thread_id
    return (
        extraction.generated_at <= tombstones.touched_at(thread_id)
        or any(kept.entries[name].thread_id == thread_id for name in gone)
        or tombstones.holds_words(
            extraction.rollout_summary,
            extraction.slug,
            extraction.raw_memory,
            *(task.title for task in extraction.tasks),
        )
    )


def _remains(thread: IndexedThread, extraction: StoredExtraction, gone: Set[str]) -> Remains:
    """Tell of a thread what its entries tell that are left: its titles and summary may be made of what goes."""
    is_journal = thread.agent is Agent.JOURNAL
    tasks = []
    for task in extraction.tasks:
        entries = tuple(entry for entry in task.entries if entry.entry_id not in gone)
        if entries:
            tasks.append(Task(title=task.title if is_journal else LEFT_TITLE, outcome=task.outcome, entries=entries))
    if is_journal:
        return Remains(
            rollout_summary=extraction.rollout_summary,
            slug=extraction.slug,
            raw_memory=render_raw_memory(tasks),
            tasks=tuple(tasks),
        )
    lines = [f"- {entry.kind}: {entry.statement}" for task in tasks for entry in task.entries]
    return Remains(
        rollout_summary="\n".join([LEFT_SUMMARY, *lines]) if lines else "",
        slug=LEFT_SLUG if lines else "",
        raw_memory=render_raw_memory(tasks),
        tasks=tuple(tasks),
    )


def _forgotten_lines(entry: Entry, tombstones: Tombstones) -> frozenset[int]:
    return frozenset(
        place
        for place, line in enumerate(entry.evidence)
        if (line.line_sha256 and tombstones.has_line(entry.thread_id, line.line_sha256))
        or tombstones.holds_words(line.quote, line.command, *line.paths)
    )


def _without_words(
    applied: AppliedOperation,
    now: Memory | None,
    gone: Set[str],
    memories: Set[str],
    tombstones: Tombstones,
) -> AppliedOperation:
    """Return a step of the history without what goes; an image that said it says what the memory says now."""

    def is_forgotten(*texts: str | None) -> bool:
        return tombstones.holds_words(*texts) or any(tombstones.is_text(text) for text in texts if text)

    operation, before = applied.operation, applied.before
    if is_forgotten(operation.statement, operation.condition):
        operation = replace(operation, statement=None, condition=None)
    if is_forgotten(operation.reason):
        operation = replace(operation, reason="")
    if operation.other_memory_id in memories:
        operation = replace(operation, other_memory_id=None)
    if before is not None:
        before = replace(
            before,
            entry_ids=tuple(one for one in before.entry_ids if one not in gone),
            thread_ids=tuple(one for one in before.thread_ids if not tombstones.has_thread(one)),
            superseded_by=None if before.superseded_by in memories else before.superseded_by,
            reason="" if is_forgotten(before.reason) else before.reason,
        )
        if is_forgotten(before.statement, before.condition):
            before = (
                None
                if now is None
                else replace(before, kind=now.kind, statement=now.statement, condition=now.condition)
            )
    return replace(applied, operation=operation, before=before)


def forgotten_texts(kept: Kept, erasure: Erasure) -> list[str]:
    """Return every text that goes from the database."""
    texts: list[str | None] = []
    for name in erasure.entries:
        texts += _texts_of_entry(kept.entries[name])
    for name, places in erasure.blank_lines.items():
        texts += [text for place in places for text in _texts_of_line(kept.entries[name].evidence[place])]
    for name in erasure.notes | (erasure.entries & kept.notes.keys()):
        texts += kept.notes[name]
    for name in erasure.memories | erasure.reworded.keys():
        texts += [kept.memories[name].statement, kept.memories[name].condition]
    for name in erasure.threads | erasure.untitled:
        texts += [kept.threads[name].title, kept.threads[name].git_branch]
    for name in erasure.threads | erasure.remains.keys():
        if name in kept.extractions:
            texts += _told_of_thread(kept.extractions[name])
    for number in erasure.operations | erasure.images.keys():
        texts += _texts_of_operation(kept.operations[number])
    return [text for text in texts if text]


def surviving_texts(kept: Kept, erasure: Erasure) -> list[str]:
    """Return every text that the database holds afterwards."""
    texts: list[str | None] = [*kept.other_words, *standing_texts(kept, erasure)]
    for number, applied in kept.operations.items():
        if number not in erasure.operations:
            texts += _texts_of_operation(erasure.images.get(number, applied))
    return [text for text in texts if text]


def standing_texts(kept: Kept, erasure: Erasure) -> list[str]:
    """Return every text that holds afterwards; the history may still tell, before it is cleaned, what held once."""
    texts: list[str | None] = []
    for name, entry in kept.entries.items():
        if name not in erasure.entries:
            blank = erasure.blank_lines.get(name, frozenset())
            texts += [entry.statement, entry.condition, entry.scope]
            for place, line in enumerate(entry.evidence):
                texts += [] if place in blank else _texts_of_line(line)
    for name, notes in kept.notes.items():
        if name not in erasure.notes and name not in erasure.entries:
            texts += notes
    for name, memory in kept.memories.items():
        if name not in erasure.memories:
            now = erasure.reworded.get(name, memory)
            texts += [now.statement, now.condition, now.scope, now.reason]
    for name, thread in kept.threads.items():
        texts += [thread.cwd, thread.scope, thread.rollout_path, thread.thread_id]
        if name not in erasure.threads and name not in erasure.untitled:
            texts += [thread.title, thread.git_branch]
    for name, extraction in kept.extractions.items():
        if name in erasure.remains:
            texts += [erasure.remains[name].rollout_summary, erasure.remains[name].raw_memory]
        elif name not in erasure.threads:
            texts += [*_told_of_thread(extraction), extraction.raw_memory]
    return [text for text in texts if text]


def _told_of_thread(extraction: StoredExtraction) -> list[str]:
    """What is told of a thread as a whole; its raw memory says nothing beyond its titles and entries."""
    return [extraction.rollout_summary, extraction.slug, *(task.title for task in extraction.tasks)]


def _texts_of_entry(entry: Entry) -> list[str]:
    return [entry.statement, entry.condition, *(text for line in entry.evidence for text in _texts_of_line(line))]


def _texts_of_line(line: EvidenceLine) -> list[str]:
    return [line.quote, line.command or "", *line.paths]


def _texts_of_operation(applied: AppliedOperation) -> list[str | None]:
    operation, before = applied.operation, applied.before
    texts = [operation.statement, operation.condition, operation.reason]
    return texts + ([before.statement, before.condition, before.reason] if before is not None else [])
