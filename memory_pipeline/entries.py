"""What the evidence of an entry tells: whose word it is, and when it was said."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

from memory_pipeline.records import (
    STATED_KINDS,
    TASK_THREAD_PREFIX,
    Entry,
    EntryKind,
    EvidenceLine,
    Memory,
    Speaker,
)

#: When and where something was said: time, thread, place in the log, entry. The greater is the newer word.
Said = tuple[float, str, int, str]


def are_of_one_family(first: EntryKind, second: EntryKind) -> bool:
    """Whether statements of these kinds may say the same: of one kind, or both of kinds that a person states."""
    return first is second or (first in STATED_KINDS and second in STATED_KINDS)


def states_persons_word(kind: EntryKind, entries: Iterable[Entry]) -> bool:
    """Whether what is of this kind and rests on these entries says what a person stated."""
    return kind in STATED_KINDS or any(map(is_persons_word, entries))


def goal_of(thread_ids: Iterable[str], condition: str) -> str | None:
    """Return the goal of which a statement tells what came of it; None where it rests on more than submitted tasks.

    Of two results for the same goal the newer one replaces the older.
    """
    threads = list(thread_ids)
    is_result = bool(threads) and all(name.startswith(TASK_THREAD_PREFIX) for name in threads)
    return condition.casefold() if is_result and condition else None


class Known(Protocol):
    """A statement that is known: a memory, or one given for comparison."""

    @property
    def thread_ids(self) -> Collection[str]:
        """The threads that say it."""
        ...

    @property
    def condition(self) -> str:
        """When it holds; "" is always."""
        ...


def have_one_goal(known: Known, told: Entry | Memory) -> bool:
    """Whether two tell what came of submitted tasks with one goal, so that the newer replaces the older."""
    goal = goal_of((told.thread_id,) if isinstance(told, Entry) else told.thread_ids, told.condition)
    return goal is not None and goal == goal_of(known.thread_ids, known.condition)


def said_at(entry: Entry) -> float:
    """Return when an entry was said: its newest line of the person, else its newest line; 0 when no line has a time."""
    return max((line.at for line in _telling_lines(entry) if line.at is not None), default=0.0)


def said(entry: Entry) -> Said:
    """Return when and where an entry was said. Logs without times still have an order: that of their lines."""
    place = max((line.byte_start for line in _telling_lines(entry)), default=0)
    return said_at(entry), entry.thread_id, place, entry.entry_id


def is_persons_word(entry: Entry) -> bool:
    """Whether an entry is the person's own word: of a kind that needs it, or resting on nothing else."""
    speakers = {line.speaker for line in entry.evidence}
    return entry.kind in STATED_KINDS or speakers == {Speaker.USER}


def _telling_lines(entry: Entry) -> list[EvidenceLine]:
    """The lines whose time and place count: the person's; of an entry without a time in them, all lines."""
    by_user = [line for line in entry.evidence if line.speaker is Speaker.USER and line.at is not None]
    return by_user or list(entry.evidence)
