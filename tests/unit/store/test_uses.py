"""Uses that the journal tells of: each counts once, and as soon as what it names is known."""

from __future__ import annotations

from store_samples import NOW, index

from memory_pipeline.recall.usage import use_of
from memory_pipeline.records import JournalAction, JournalRecord, Usage
from memory_pipeline.store.store import Store


def use(thread_id: str, *, distinct: str = "one", at: float = NOW - 50) -> JournalRecord:
    """Make the use of a thread."""
    return use_of(origin="test", distinct=distinct, at=at, thread_id=thread_id)


def test_a_use_counts_once_however_often_the_journal_is_read(store: Store) -> None:
    """Two uses are two, each with its time; the later one tells the last time."""
    index(store, "a")
    for _ in range(3):
        store.uses.take_in([use("a"), use("a", distinct="two", at=NOW - 10)], now=NOW)
    assert store.extractions.usage("thread", "a") == Usage(count=2, last_usage=NOW - 10)


def test_uses_wait_for_what_they_name(store: Store) -> None:
    """A database that is made anew reads the journal before it knows the threads again."""
    store.uses.take_in([use("a")], now=NOW)
    assert store.extractions.usage("thread", "a") == Usage()
    index(store, "a")
    for _ in range(2):
        store.uses.take_in([], now=NOW)
    assert store.extractions.usage("thread", "a").count == 1


def test_a_use_of_a_clock_that_ran_ahead_counts_now(store: Store) -> None:
    """It makes nothing the most recently used one for years."""
    index(store, "a")
    store.uses.take_in([use("a", at=NOW + 1e9)], now=NOW)
    assert store.extractions.usage("thread", "a").last_usage == NOW


def test_other_lines_of_the_journal_are_no_uses(store: Store) -> None:
    """A deed that names a memory uses nothing, and neither does a use that names nothing."""
    index(store, "a")
    deed = JournalRecord(record_id="j_1", action=JournalAction.PIN, at=NOW, origin="command", thread_id="a")
    empty = JournalRecord(record_id="j_2", action=JournalAction.USE, at=NOW, origin="command")
    store.uses.take_in([deed, empty], now=NOW)
    assert store.extractions.usage("thread", "a") == Usage()
