"""The records of what was given: kept for a time, and gone with what is forgotten."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from sqlite_utils import Database
from store_samples import NOW, SCOPE, index

from memory_pipeline.records import Happened
from memory_pipeline.store.forgetting import Erasure
from memory_pipeline.store.injections import KEPT_DAYS, Injected
from memory_pipeline.store.migrations import schema_steps
from memory_pipeline.store.store import Store

DAY = 86_400.0


def record(store: Store, thread_id: str | None, *memory_ids: str, now: float = NOW, scope: str | None = None) -> bool:
    """Record that these memories were given."""
    return store.injections.record(
        now=now,
        thread_id=thread_id,
        may_repeat=False,
        cwd="/home/sam/shop",
        scope=scope,
        output_format="text",
        tokens=100,
        memory_ids=memory_ids,
    )


def test_the_chronicle_tells_which_thread_was_given_something(store: Store) -> None:
    """In the order of all that befell it."""
    index(store, "a")
    record(store, "a", "m_1", "m_2")
    line = store.chronicle.lines(thread_id="a")[0]
    assert (line.what, line.count, line.at) == (Happened.GIVEN, 2, NOW)


def test_a_forgotten_memory_is_taken_out_of_what_was_given(store: Store) -> None:
    """The others stay, in their order."""
    record(store, "a", "m_1", "m_2", "m_3")
    record(store, None, "m_3")
    store.forgetting.erase(Erasure(memories=frozenset({"m_2"})), now=NOW)
    assert [given.memory_ids for given in store.injections.newest(limit=9)] == [("m_3",), ("m_1", "m_3")]


def test_a_forgotten_thread_was_given_nothing(store: Store) -> None:
    """Its record goes with all the rest of it."""
    index(store, "a")
    record(store, "a", "m_1")
    record(store, "b", "m_1")
    store.forgetting.erase(Erasure(threads=frozenset({"a"})), now=NOW)
    assert [given.thread_id for given in store.injections.newest(limit=9)] == ["b"]


def test_a_project_of_which_something_was_forgotten_is_named_no_more(store: Store) -> None:
    """Neither by its scope nor by its folder, in the records of other threads too."""
    index(store, "a")
    record(store, "b", "m_1", scope=SCOPE)
    record(store, "c", "m_1", scope="project:example.org/sam/blog")
    store.forgetting.erase(Erasure(threads=frozenset({"a"})), now=NOW)
    named = {given.thread_id: (given.scope, given.cwd) for given in store.injections.newest(limit=9)}
    assert named == {"b": (None, None), "c": ("project:example.org/sam/blog", "/home/sam/shop")}


def test_what_was_given_within_a_time_is_summed_up(store: Store) -> None:
    """The moment itself counts."""
    record(store, "a", "m_1", now=NOW - DAY)
    record(store, "b", "m_1")
    assert store.injections.since(NOW) == Injected(times=1, tokens=100)
    assert store.injections.since(NOW - DAY) == Injected(times=2, tokens=200)


def test_records_older_than_a_year_are_dropped(store: Store) -> None:
    """And newer ones stay."""
    record(store, "a", "m_1", now=NOW - (KEPT_DAYS + 2) * DAY)
    record(store, "b", "m_1", now=NOW - (KEPT_DAYS - 2) * DAY)
    store.injections.trim(now=NOW)
    assert [given.thread_id for given in store.injections.newest(limit=9)] == ["b"]


def test_a_database_from_before_gets_its_records(tmp_path: Path) -> None:
    """What it held stays as it was."""
    path = tmp_path / "memory.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as older:
        schema_steps().apply(Database(older), stop_before="injections")
        older.execute("PRAGMA user_version = 7")
        older.execute("INSERT INTO chronicle (at, thread_id, what) VALUES (1, 'a', 'indexed')")
    store = Store(path)
    assert record(store, "a", "m_1")
    assert [line.what for line in store.chronicle.lines(thread_id="a")] == [Happened.GIVEN, Happened.INDEXED]
    store.close()
