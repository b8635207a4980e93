"""The database as a place that words are erased from: fences, masks, and no byte left in any page or log."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from store_samples import NOW, enqueue, entry, extraction, lease, thread_of

from memory_pipeline.errors import StoreError
from memory_pipeline.records import JobState
from memory_pipeline.store.forgetting import Erasure
from memory_pipeline.store.ledger import window_caps
from memory_pipeline.store.store import Store


def bytes_of(store: Store) -> bytes:
    """Return every byte of the database and the files beside it."""
    folder: Path = store.path.parent
    return b"".join(store.forgetting.raw_bytes(path) for path in sorted(folder.glob("memory.db*")))


def say(store: Store, thread_id: str, *statements: str) -> list[str]:
    """Let a thread say something; returns the ids of its entries."""
    enqueue(store, thread_id)
    assert store.jobs.complete(lease(store), extraction(thread_id, statements), now=NOW)
    return [said.entry_id for said in store.extractions.entries(thread_id)]


def test_a_fenced_job_is_pending_again_and_its_lease_is_worth_nothing(store: Store) -> None:
    """No try is used, and whoever claims it next has another fence token."""
    enqueue(store, "a")
    first = lease(store)
    assert store.forgetting.fence() == 1
    assert (thread_of(store, "a").job_state, thread_of(store, "a").attempts) == (JobState.PENDING, 0)
    assert store.jobs.heartbeat([first], now=NOW, lease_seconds=60) == set()
    assert store.jobs.complete(first, extraction("a", ["Drink tea."]), now=NOW) is False
    assert lease(store).fence > first.fence


def test_what_is_erased_leaves_no_byte_once_the_database_is_compact(store: Store) -> None:
    """Neither in a free page nor in the write-ahead log; what stays is as it was."""
    gone = say(store, "a", "Use the aardvarkmug.")
    say(store, "b", "Keep the wombatade cold.")
    assert b"aardvarkmug" in bytes_of(store)
    store.forgetting.erase(Erasure(entries=frozenset(gone), threads=frozenset({"a"})), now=NOW)
    store.forgetting.compact()
    assert b"aardvarkmug" not in bytes_of(store)
    assert [said.statement for said in store.extractions.entries("b")] == ["Keep the wombatade cold."]
    assert thread_of(store, "a").state is JobState.GATED
    assert thread_of(store, "a").title is None


def test_a_reader_that_keeps_the_log_alive_is_told(store: Store) -> None:
    """As long as another program reads an older state, the log can't be emptied, and that is an error."""
    say(store, "a", "Use the aardvarkmug.")
    reader = sqlite3.connect(store.path)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM entries").fetchall()
    try:
        store._connect().execute("PRAGMA busy_timeout = 1")
        store.forgetting.set_met("x")
        with pytest.raises(StoreError):
            store.forgetting.compact()
    finally:
        reader.close()


def test_full_text_indexes_are_rebuilt(store: Store) -> None:
    """They keep deleted words in their segments, which no secure delete reaches."""
    connection = store._connect()
    connection.execute("CREATE VIRTUAL TABLE found USING fts5 (text)")
    connection.execute("INSERT INTO found (text) VALUES ('aardvarkmug'), ('wombatade')")
    connection.execute("DELETE FROM found WHERE text = 'aardvarkmug'")
    assert b"aardvarkmug" in bytes_of(store)
    store.forgetting.compact()
    assert b"aardvarkmug" not in bytes_of(store)
    assert b"wombatade" in bytes_of(store)


def test_masking_reaches_texts_and_json_and_notes_what_is_unfinished(store: Store) -> None:
    """Statements, quotes, titles and the titles of tasks; the rest is untouched."""
    say(store, "a", "Log in with hunter2.")
    store.forgetting.mask(lambda text: text.replace("hunter2", "***").replace("Mend", "*"), met="unfinished")
    (said,) = store.extractions.entries("a")
    assert said.statement == "Log in with ***."
    stored = store.extractions.get("a")
    assert stored is not None
    assert stored.tasks[0].title == "* the checkout"
    assert thread_of(store, "a").title == "* the checkout"
    assert store.forgetting.met() == "unfinished"
    assert not [text for text in store.forgetting.texts() if "hunter2" in text]


def test_a_database_remembers_which_tombstones_it_met(store: Store) -> None:
    """None at first; then the newest alone."""
    assert store.forgetting.met() == ""
    store.forgetting.set_met("one")
    store.forgetting.set_met("two")
    assert store.forgetting.met() == "two"


def test_all_that_is_kept_is_told_withdrawn_entries_included(store: Store) -> None:
    """What a thread no longer says is still stored, so it must be found to be erased."""
    (gone,) = say(store, "a", "Use the aardvarkmug.")
    store.threads.set_disabled("a", disabled=False)
    enqueue(store, "a", content_digest="digest-2")
    assert store.jobs.complete(lease(store), extraction("a", ["Drink tea."]), now=NOW)
    kept = store.forgetting.kept()
    assert kept.withdrawn == {gone}
    assert sorted(one.statement for one in kept.entries.values()) == ["Drink tea.", "Use the aardvarkmug."]
    assert entry("a", "Drink tea.").statement in kept.extractions["a"].raw_memory


def test_no_name_of_a_project_stays_with_what_its_calls_cost(store: Store) -> None:
    """Neither beside single calls, nor beside their sums, nor beside a call that was refused; the tokens stay."""
    enqueue(store, "a")
    scope = thread_of(store, "a").scope
    caps = window_caps(daily=100, weekly=0, scope=scope)
    for at in (NOW - 90, NOW - 60, NOW):
        store.ledger.reserve(tokens=40, caps=caps, phase="phase1", thread_id="a", scope=scope, model="m", now=at)
    assert store.ledger.fold(before=NOW) == 1
    assert {row.scope for row in store.ledger.by_day(since=0)} == {scope}
    assert store.ledger.projects(now=NOW) == [scope]
    store.forgetting.erase(Erasure(threads=frozenset({"a"})), now=NOW)
    assert [(row.scope, row.tokens) for row in store.ledger.by_day(since=0)] == [(None, 80)]
    assert store.ledger.projects(now=NOW) == []
