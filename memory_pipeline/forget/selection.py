"""What a person asks to forget, and the tombstones that follow from it. Changes nothing itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set

from msgspec import Struct

from memory_pipeline.errors import RolloutError, UsageError
from memory_pipeline.forget.erasure import LEFT_TITLE, erasure_of, standing_texts
from memory_pipeline.forget.marks import Marks, marks_of
from memory_pipeline.phase2.deeds import entry_id_of
from memory_pipeline.phase2.rebuilt import REBUILT_ORIGIN
from memory_pipeline.phase2.render import as_circumstance
from memory_pipeline.records import Agent, Entry, Event, IndexedThread, JournalLine
from memory_pipeline.rollouts.journal import JOURNAL_THREAD
from memory_pipeline.settings import settings_tombstones, thread_target
from memory_pipeline.store.forgetting import Erasure, Kept
from memory_pipeline.tombstones import Tombstone, TombstoneKind, Tombstones, line_value, said_value, tokens_of

#: Reads the log of a thread once more. Raises RolloutError where it can't be read.
#: Reads the events of a thread's log, each with the SHA-256 of its line.
ReadLog = Callable[[IndexedThread], Iterable[tuple[Event, str]]]

#: Fewer letters than this stand in too many texts to be meant.
_LEAST_LETTERS = 3
_LEAST_CHINESE = 2
#: A title of fewer words may be anybody's.
_TITLE_TOKENS = 4


class Selector(Struct, frozen=True, kw_only=True):
    """What to forget: exactly one of these. Ids are whole."""

    thread: str | None = None
    entry: str | None = None
    memory: str | None = None
    scope: str | None = None
    match: str | None = None


def check_match(text: str) -> None:
    """Refuse a text that would fit nearly everything.

    Raises:
        UsageError: it has too few letters.
    """
    tokens = tokens_of(text)
    letters = sum(len(token) for token in tokens)
    if letters < (_LEAST_LETTERS if all(token.isascii() for token in tokens) else _LEAST_CHINESE):
        raise UsageError(f"--match needs a word of at least {_LEAST_LETTERS} letters; a shorter one fits too much")


def choose(
    selector: Selector,
    kept: Kept,
    journal: Sequence[JournalLine],
    *,
    earlier: Tombstones,
    read_log: ReadLog,
    now: float,
) -> list[Tombstone]:
    """Return the tombstones of a forgetting. ``earlier`` are those that stand already."""
    chosen = _Choice(selector, kept, journal)
    chosen.choose_whole()
    chosen.choose_lines(read_log)
    first = chosen.erasure(earlier, now=now)
    chosen.choose_echoes(first, read_log)
    chosen.spare()
    last = chosen.erasure(earlier, now=now)
    chosen.choose_records(last)
    chosen.choose_texts(last)
    return chosen.tombstones


class _Echoes(Struct, frozen=True):
    """Tells the lines of one log that were chosen, or say again what goes."""

    thread_id: str
    lines: Set[str]
    marks: Marks

    def __call__(self, event: Event, line_sha256: str) -> bool:
        return line_value(self.thread_id, line_sha256) in self.lines or self.marks.are_in(event.text)


class _Choice:
    """The tombstones as far as they are chosen."""

    def __init__(self, selector: Selector, kept: Kept, journal: Sequence[JournalLine]) -> None:
        self._selector = selector
        self._kept = kept
        self._journal = journal
        self._chosen: dict[Tombstone, None] = {}
        self._entries: dict[str, Entry] = {}

    @property
    def tombstones(self) -> list[Tombstone]:
        return list(self._chosen)

    def erasure(self, earlier: Tombstones, *, now: float) -> Erasure:
        return erasure_of(self._kept, earlier.with_others(Tombstones.of(self.tombstones, now=now)))

    def choose_whole(self) -> None:
        """Choose what the person named: threads, entries, memories, words."""
        selector, kept = self._selector, self._kept
        if selector.thread is not None:
            self._take_thread(selector.thread)
        if selector.entry is not None:
            self._take_entries([kept.entries[selector.entry]])
        if selector.memory is not None:
            self._add(TombstoneKind.MEMORY, selector.memory)
            self._take_entries(kept.entries[one] for one in kept.links.get(selector.memory, ()))
        if selector.scope is not None:
            self._take_scope(selector.scope)
        if selector.match is not None:
            self._take_words(selector.match)
        self._take_rebuilt()
        for entry in self._entries.values():
            if not self._has(TombstoneKind.THREAD, entry.thread_id):
                self._add(TombstoneKind.PART, entry.thread_id)

    def choose_lines(self, read_log: ReadLog) -> None:
        """Choose the lines that must never be evidence again."""
        for entry in self._entries.values():
            for line in entry.evidence:
                self._take_line(entry.thread_id, line.line_sha256)
        if self._selector.match is not None:
            words = Tombstones.of([Tombstone(kind=TombstoneKind.WORDS, value=self._selector.match)], now=0.0)
            for entry in self._kept.entries.values():
                for line in entry.evidence:
                    if words.holds_words(line.quote):
                        self._take_line(entry.thread_id, line.line_sha256)
                        self._add(TombstoneKind.PART, entry.thread_id)
        if self._selector.scope is not None:
            # What is said there from now on may be remembered; what was said so far may not.
            for thread in self._of_scope(self._selector.scope):
                if not self._has(TombstoneKind.THREAD, thread.thread_id):
                    self._take_lines_of_log(thread, read_log, lambda _event, _line_sha256: True)

    def choose_echoes(self, erasure: Erasure, read_log: ReadLog) -> None:
        """Choose the other lines of the same logs that hold what nothing left says, such as an agent's answer."""
        statements = [self._kept.entries[name].statement for name in erasure.entries]
        marks = marks_of(statements, standing_texts(self._kept, erasure))
        for name in sorted({self._kept.entries[entry].thread_id for entry in erasure.entries}):
            if not self._has(TombstoneKind.THREAD, name):
                lines = {stone.value for stone in self._chosen if stone.kind is TombstoneKind.LINE}
                self._take_lines_of_log(self._kept.threads[name], read_log, _Echoes(name, lines, marks))

    def spare(self) -> None:
        """Let the entries stay that were not chosen, though they rest on a chosen line too."""
        for entry in self._kept.entries.values():
            if entry.entry_id in self._entries or entry.entry_id in self._kept.withdrawn:
                continue
            # A line that an earlier forgetting blanked has no hash any more; in a backup it still has one.
            lines = [line.line_sha256 for line in entry.evidence]
            if "" in lines or any(self._has(TombstoneKind.LINE, line_value(entry.thread_id, line)) for line in lines):
                self._add(TombstoneKind.SPARED, entry.entry_id)

    def choose_records(self, erasure: Erasure) -> None:
        """Choose the lines of the journal that made what goes, or are about it."""
        words = Tombstones.of(self.tombstones, now=0.0)
        for memory_id in erasure.memories:
            self._add(TombstoneKind.MEMORY, memory_id)
        for entry_id in erasure.entries:
            self._add(TombstoneKind.ENTRY, entry_id)
        for line in self._journal:
            record = line.record
            if (
                entry_id_of(record.record_id, thread_id=JOURNAL_THREAD) in erasure.entries
                or record.memory_id in erasure.memories
                or record.thread_id in erasure.threads
                or words.holds_words(
                    record.statement, record.condition, record.was, record.was_condition, record.origin
                )
            ):
                self._add(TombstoneKind.RECORD, record.record_id)

    def choose_texts(self, erasure: Erasure) -> None:
        """Choose the statements and titles by which an older file is known when it comes back."""
        left = {" ".join(tokens_of(text)) for text in standing_texts(self._kept, erasure)}
        for text in self._statements(erasure):
            if " ".join(tokens_of(text)) not in left:
                self._add(TombstoneKind.TEXT, text)
        for title in self._titles(erasure):
            tokens = tokens_of(title)
            if len(tokens) >= _TITLE_TOKENS and title != LEFT_TITLE and " ".join(tokens) not in left:
                self._add(TombstoneKind.TEXT, title)

    def _titles(self, erasure: Erasure) -> Iterable[str]:
        for name in erasure.threads | erasure.untitled:
            yield self._kept.threads[name].title or ""
        for name in (erasure.threads | erasure.remains.keys()) & self._kept.extractions.keys():
            if name != JOURNAL_THREAD:
                yield from (task.title for task in self._kept.extractions[name].tasks)

    def _statements(self, erasure: Erasure) -> Iterable[str]:
        kept = self._kept
        told = [(kept.entries[name].statement, kept.entries[name].condition) for name in erasure.entries]
        memories = [kept.memories[name] for name in erasure.memories | erasure.reworded.keys()]
        told += [(memory.statement, memory.condition) for memory in memories]
        for line in self._journal:
            if self._has(TombstoneKind.RECORD, line.record.record_id):
                told += [(line.record.statement, line.record.condition), (line.record.was, line.record.was_condition)]
        for statement, condition in told:
            if statement:
                yield statement
                if condition:
                    yield f"{as_circumstance(condition)}: {statement}"

    # --- what a person may name ---

    def _take_thread(self, thread_id: str) -> None:
        if self._kept.threads[thread_id].agent is Agent.JOURNAL:
            raise UsageError("the journal is what you wrote yourself; forget its memories one by one, with --memory")
        self._add(TombstoneKind.THREAD, thread_id)
        self._take_settings(thread_target(thread_id))
        self._take_entries(entry for entry in self._kept.entries.values() if entry.thread_id == thread_id)

    def _take_scope(self, scope: str) -> None:
        kept = self._kept
        for target in (scope, *(old for old, new in kept.moved_settings.items() if new == scope)):
            self._take_settings(target)
        self._take_entries(entry for entry in kept.entries.values() if entry.scope == scope)
        for memory in kept.memories.values():
            if memory.scope == scope:
                self._add(TombstoneKind.MEMORY, memory.memory_id)
        for thread in self._of_scope(scope):
            survives = any(
                entry.thread_id == thread.thread_id and name not in self._entries and name not in kept.withdrawn
                for name, entry in kept.entries.items()
            )
            if survives:
                self._add(TombstoneKind.PART, thread.thread_id)
            else:
                self._take_thread(thread.thread_id)

    def _of_scope(self, scope: str) -> list[IndexedThread]:
        threads: Mapping[str, IndexedThread] = self._kept.threads
        return [one for one in threads.values() if one.scope == scope and one.agent is not Agent.JOURNAL]

    def _take_rebuilt(self) -> None:
        """Take what only our own MEMORY.md said beside what goes: saved from there, it supports nothing by itself."""
        rebuilt = {
            entry_id_of(line.record.record_id, thread_id=JOURNAL_THREAD)
            for line in self._journal
            if line.record.origin == REBUILT_ORIGIN
        }
        for linked in self._kept.links.values() if rebuilt else ():
            if any(entry_id in self._entries for entry_id in linked):
                self._take_entries(self._kept.entries[entry_id] for entry_id in linked if entry_id in rebuilt)

    def _take_words(self, text: str) -> None:
        self._add(TombstoneKind.WORDS, text)
        words = Tombstones.of([Tombstone(kind=TombstoneKind.WORDS, value=text)], now=0.0)
        self._take_entries(e for e in self._kept.entries.values() if words.holds_words(e.statement, e.condition))
        for name, extraction in self._kept.extractions.items():
            titles = [task.title for task in extraction.tasks]
            if words.holds_words(extraction.rollout_summary, extraction.slug, *titles):
                self._add(TombstoneKind.PART, name)

    def _take_settings(self, target: str) -> None:
        """Take what was set for a project or thread. How its switches stood is kept, or they would open unseen."""
        if any(row.target == target for row in self._kept.settings):
            for stone in settings_tombstones(self._kept.settings, target):
                self._chosen[stone] = None

    def _take_entries(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self._entries[entry.entry_id] = entry
            self._add(TombstoneKind.ENTRY, entry.entry_id)

    def _take_line(self, thread_id: str, line_sha256: str) -> None:
        if line_sha256:
            self._add(TombstoneKind.LINE, line_value(thread_id, line_sha256))

    def _take_lines_of_log(self, thread: IndexedThread, read_log: ReadLog, holds: Callable[[Event, str], bool]) -> None:
        if thread.agent is Agent.JOURNAL or not thread.present:
            return
        try:
            for event, line_sha256 in read_log(thread):
                if holds(event, line_sha256):
                    self._take_line(thread.thread_id, line_sha256)
                    if tokens_of(event.text):
                        self._add(TombstoneKind.LINE, said_value(thread.thread_id, event.text))
        except RolloutError:
            return  # A log that is gone can't be read again either.

    def _has(self, kind: TombstoneKind, value: str) -> bool:
        return Tombstone(kind=kind, value=value) in self._chosen

    def _add(self, kind: TombstoneKind, value: str) -> None:
        self._chosen[Tombstone(kind=kind, value=value)] = None
