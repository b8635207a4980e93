"""Upkeep lets go of old bookkeeping alone, gives room back, and notices damage that nothing else reads."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from store_samples import NOW, enqueue, index

from memory_pipeline.clock import DAY_SECONDS
from memory_pipeline.store.connection import open_database
from memory_pipeline.store.store import Store
from memory_pipeline.store.upkeep import (
    CITATION_DAYS,
    CONSOLIDATION_DAYS,
    NEWEST_CONSOLIDATIONS,
    NEWEST_STEPS,
    UNDO_DAYS,
    VANISHED_DAYS,
)


@pytest.fixture
def connection(store: Store) -> Iterator[sqlite3.Connection]:
    """Return a connection beside the store's."""
    with closing(open_database(store.path)) as connection:
        yield connection


def _later(days: float) -> float:
    return NOW + days * DAY_SECONDS


def test_a_vanished_session_that_gave_nothing_goes_after_a_year(store: Store, connection: sqlite3.Connection) -> None:
    """One whose log is there, one that is switched off and one that gave something stay."""
    for name in ("gone", "here", "disabled", "gave"):
        enqueue(store, name)
    connection.execute("UPDATE threads SET present = 0 WHERE thread_id != 'here'")
    connection.execute("UPDATE threads SET disabled_by_person = 1 WHERE thread_id = 'disabled'")
    connection.execute(
        """
        INSERT INTO extractions (thread_id, rollout_summary, slug, raw_memory, tasks, coverage, source_digest,
            source_updated_at, generated_at, dropped_entries, redactions)
        VALUES ('gave', '', '', '', '[]', 'high', '', 0, 0, '{}', '{}')
        """
    )
    assert store.upkeep.tidy(now=_later(VANISHED_DAYS - 30)).threads == 0
    assert store.upkeep.tidy(now=_later(VANISHED_DAYS + 30)).threads == 1
    left = connection.execute("SELECT thread_id FROM threads ORDER BY thread_id").fetchall()
    assert [row[0] for row in left] == ["disabled", "gave", "here"]


def test_a_counted_citation_of_a_vanished_session_goes(store: Store, connection: sqlite3.Connection) -> None:
    """One that is not counted yet, and one of a log that could be read again, stay."""
    index(store, "gone")
    index(store, "here")
    connection.execute("UPDATE threads SET present = 0 WHERE thread_id = 'gone'")
    connection.executemany(
        """
        INSERT INTO citations (citation_id, subject, subject_id, thread_id, at, counted)
        VALUES (?, 'thread', 'x', ?, ?, ?)
        """,
        [("a", "gone", NOW, 1), ("b", "gone", NOW, 0), ("c", "here", NOW, 1)],
    )
    assert store.upkeep.tidy(now=_later(CITATION_DAYS + 1)).citations == 1
    left = connection.execute("SELECT citation_id FROM citations ORDER BY citation_id").fetchall()
    assert [row[0] for row in left] == ["b", "c"]


def _consolidate(connection: sqlite3.Connection, number: int, state: str = "done") -> None:
    connection.execute(
        """
        INSERT INTO consolidations (consolidation_id, state, owner, started_at, finished_at)
        VALUES (?, ?, 'me', ?, ?)
        """,
        (number, state, NOW, NOW),
    )


def test_old_consolidations_that_changed_nothing_go_but_for_the_newest(
    store: Store, connection: sqlite3.Connection
) -> None:
    """One that changed a memory stays however old it is, and so does the last that was published."""
    _consolidate(connection, 1)
    connection.execute(
        "INSERT INTO operations (consolidation_id, memory_id, operation, reason, at) VALUES (1, 'm', 'add', '', ?)",
        (NOW,),
    )
    _consolidate(connection, 2)
    for number in range(3, NEWEST_CONSOLIDATIONS + 5):
        _consolidate(connection, number, "failed")
    assert store.upkeep.tidy(now=_later(CONSOLIDATION_DAYS - 1)).consolidations == 0
    assert store.upkeep.tidy(now=_later(CONSOLIDATION_DAYS + 1)).consolidations == 2
    left = [row[0] for row in connection.execute("SELECT consolidation_id FROM consolidations ORDER BY 1").fetchall()]
    assert left[:3] == [1, 2, 5]


def test_images_before_old_confirmations_go_but_for_the_newest_steps(
    store: Store, connection: sqlite3.Connection
) -> None:
    """The steps themselves stay, and so do the images of all other operations."""
    _consolidate(connection, 1)
    for number in range(NEWEST_STEPS + 10):
        connection.execute(
            """
            INSERT INTO operations (consolidation_id, memory_id, operation, reason, at, before)
            VALUES (1, 'm', ?, 'why', ?, '{}')
            """,
            ("reword" if number == 0 else "merge", NOW),
        )
    assert store.upkeep.tidy(now=_later(UNDO_DAYS - 1)).images == 0
    assert store.upkeep.tidy(now=_later(UNDO_DAYS + 1)).images == 9
    counts = connection.execute("SELECT count(*), count(before) FROM operations").fetchone()
    assert tuple(counts) == (NEWEST_STEPS + 10, NEWEST_STEPS + 1)


def test_room_is_given_back(store: Store, connection: sqlite3.Connection, tmp_path: Path) -> None:
    """When most of a large file is free, it is written anew, and the write-ahead log is emptied."""
    connection.executemany(
        "INSERT INTO watermarks (name, value) VALUES (?, 1)", [(f"{number:06}" + "x" * 1000,) for number in range(6000)]
    )
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    large = store.path.stat().st_size
    connection.execute("DELETE FROM watermarks")
    connection.close()
    store.upkeep.give_room_back()
    assert store.path.stat().st_size < large / 10
    assert store.path.with_name("memory.db-wal").stat().st_size == 0


def test_small_tables_are_not_noted_as_small(store: Store, connection: sqlite3.Connection) -> None:
    """They may be large before the next upkeep, and nothing may scan them for each row of another by then."""
    index(store, "a")
    connection.execute("ANALYZE")
    assert connection.execute("SELECT count(*) FROM sqlite_stat1").fetchone()[0] > 0
    store.upkeep.give_room_back()
    assert connection.execute("SELECT count(*) FROM sqlite_stat1").fetchone()[0] == 0


def test_a_large_table_is_noted_as_it_is(store: Store, connection: sqlite3.Connection) -> None:
    """Which way is the shortest is found out from what it holds."""
    connection.executemany("INSERT INTO watermarks (name, value) VALUES (?, 1)", [(str(n),) for n in range(2000)])
    connection.execute("ANALYZE")
    store.upkeep.give_room_back()
    assert {row["tbl"] for row in connection.execute("SELECT tbl FROM sqlite_stat1")} == {"watermarks"}


def test_a_value_that_none_can_have_is_damage(store: Store, connection: sqlite3.Connection) -> None:
    """SQLite has no objection to it, and the program could not read it."""
    index(store, "a")
    assert store.upkeep.find_faults() == []
    connection.execute("UPDATE threads SET source = 'interactixe'")
    assert store.upkeep.find_faults() == ["a value can't be read (ValueError)"]
    assert store.seems_damaged


@given(title=st.text(st.characters(codec="utf-8"), max_size=20))
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(title="\x1b[31mred\x1b[0m \x00\x07\x08")
def test_no_character_of_a_log_is_damage(store: Store, title: str) -> None:
    """Whatever a log tells is stored, colours of a terminal and NUL too, and a database that holds it is whole."""
    index(store, "a", title=title)
    assert store.upkeep.find_faults() == []
    assert not store.seems_damaged


def test_chores_remember_when_they_were_done(store: Store) -> None:
    """A chore has its own time, and none before it was first done."""
    assert store.upkeep.last_done("a") is None
    store.upkeep.note_done("a", now=NOW)
    store.upkeep.note_done("a", now=NOW + 1)
    assert store.upkeep.last_done("a") == NOW + 1
    assert store.upkeep.last_done("b") is None
