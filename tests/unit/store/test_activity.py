"""Counts of what was learnt and used, by day."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from memory_pipeline.clock import DAY_SECONDS
from memory_pipeline.store.store import Store

MIDNIGHT = 20_000 * DAY_SECONDS  # 2024-10-04
NOW = MIDNIGHT + 3_600


def _write(path: Path, statement: str, rows: list[tuple[object, ...]]) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executemany(statement, rows)
        connection.commit()


def test_each_day_has_its_counts_also_those_without_any(tmp_path: Path) -> None:
    """A day begins at midnight in UTC; what is older, or of a clock that ran ahead, is of none of them."""
    path = tmp_path / "memory.db"
    store = Store(path)
    _write(
        path,
        "INSERT INTO consolidations (consolidation_id, state, owner, started_at) VALUES (?, 'done', '', 0)",
        [(1,)],
    )
    _write(
        path,
        "INSERT INTO operations (consolidation_id, memory_id, operation, reason, at) VALUES (1, 'm_1', ?, '', ?)",
        [("add", MIDNIGHT), ("add", MIDNIGHT - 1), ("retire", MIDNIGHT), ("add", MIDNIGHT - 2 * DAY_SECONDS - 1)],
    )
    _write(
        path,
        "INSERT INTO injections (at, thread_id, again, format, tokens, memory_ids) VALUES (?, ?, 0, '', 1, '[]')",
        [(MIDNIGHT - 1, "t1"), (MIDNIGHT + 5, "t2"), (NOW + 2 * DAY_SECONDS, "t3")],
    )
    days = store.activity.days(now=NOW, count=3)
    store.close()
    assert [(day.date, day.learnt, day.given, day.cited) for day in days] == [
        ("2024-10-02", 0, 0, 0),
        ("2024-10-03", 1, 1, 0),
        ("2024-10-04", 1, 1, 0),
    ]


def test_an_answer_counts_once_however_much_it_names(tmp_path: Path) -> None:
    """Three lines and a thread in one answer, and one in another: two."""
    path = tmp_path / "memory.db"
    store = Store(path)
    _write(
        path,
        "INSERT INTO citations (citation_id, subject, subject_id, thread_id, at) VALUES (?, ?, ?, 't1', ?)",
        [("c1", "line", str(number), NOW) for number in range(3)]
        + [("c1", "thread", "t0", NOW), ("c2", "line", "1", NOW)],
    )
    (day,) = store.activity.days(now=NOW, count=1)
    store.close()
    assert day.cited == 2
