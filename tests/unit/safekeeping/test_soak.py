"""A program that runs for long holds no more after many passes than after a few."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
from soaking import soak

_NOISE_BYTES = 100_000


def _trace() -> None:
    if not tracemalloc.is_tracing():  # not before the first passes have loaded what they load
        tracemalloc.start()


def test_passes_with_nothing_to_do_leave_nothing_behind(tmp_path: Path) -> None:
    """Over many such passes: no file stays open, no thread stays, nothing is written, memory stands."""
    try:
        samples = soak(tmp_path, passes=75, busy=False, every=25, on_sample=lambda _: _trace())
    finally:
        tracemalloc.stop()
    _, first, last = samples
    assert (last.files, last.threads) == (first.files, first.threads)
    assert (last.database_bytes, last.state_bytes) == (first.database_bytes, first.state_bytes)
    assert last.traced_bytes < first.traced_bytes + _NOISE_BYTES


@pytest.mark.parametrize("days_between", [0.1])
def test_passes_of_months_keep_within_bounds(tmp_path: Path, days_between: float) -> None:
    """Twelve days of new sessions, edits and daily upkeep: files and threads stand, and backups don't add up."""
    first, *_, last = soak(tmp_path, passes=120, seconds_between=days_between * 86_400, every=60)
    assert (last.files, last.threads) == (first.files, first.threads)
    assert len(list((tmp_path / "state" / "backups").iterdir())) == 2
    assert not (tmp_path / "state" / "set-aside").exists()
