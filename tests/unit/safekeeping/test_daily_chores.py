"""What is done once a day, whatever comes in between."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from kept_state import KeptState

from memory_pipeline.clock import DAY_SECONDS


def _rows(kept: KeptState) -> int:
    with closing(sqlite3.connect(kept.database)) as connection:
        return int(connection.execute("SELECT count(*) FROM ledger").fetchone()[0])


def test_old_paid_calls_become_sums_a_day(tmp_path: Path) -> None:
    """After four hundred days, without changing what was spent; until then each stays as it is."""
    kept = KeptState(tmp_path)
    kept.run()
    with kept.open() as app:
        for _ in range(3):
            app.store.ledger.reserve(
                tokens=500, caps=[], phase="phase1", thread_id=None, scope=None, model="m", now=kept.clock.now()
            )
        before = app.store.ledger.by_day(since=0)
    kept.clock.go_on(399 * DAY_SECONDS)
    kept.run()
    assert _rows(kept) == 3
    kept.clock.go_on(2 * DAY_SECONDS)
    kept.run()
    assert _rows(kept) == 1
    with kept.open() as app:
        assert app.store.ledger.by_day(since=0) == before
