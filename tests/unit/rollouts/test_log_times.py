"""The one rule for times."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.rollouts.grammar import SessionNotes
from memory_pipeline.rollouts.times import Stamps, to_seconds

MOMENT = 1767323045.0  # 2026-01-02T03:04:05Z


@pytest.mark.parametrize(
    "written",
    [
        "2026-01-02T03:04:05Z",
        "2026-01-02T03:04:05",
        "2026-01-02T04:04:05+01:00",
        "2026-01-02T08:34:05+0530",
        "2026-01-02T08:04:05+05",
        "2026-01-02t03:04:05z",
        "2026-01-02t03:04:05.000z",
        "2026-01-02T03:04:05.000000000Z",
        1767323045,
        1767323045000,
        "1767323045",
        "1767323045000",
    ],
)
def test_every_way_to_write_a_moment_means_the_same(written: Any) -> None:
    """Zones, no zone, seconds and milliseconds name one moment."""
    assert to_seconds(written) == MOMENT


@pytest.mark.parametrize(
    "written", [None, "", "soon", math.nan, math.inf, True, [], {}, -5, 12, "0001-01-01T00:00:00+14:00", 10**400, 1e18]
)
def test_what_can_not_be_a_time_is_none(written: Any) -> None:
    """Missing, NaN and absurd times are no times."""
    assert to_seconds(written) is None


@given(st.one_of(st.text(), st.floats(), st.integers()))
def test_no_value_raises(written: Any) -> None:
    """Whatever stands in a log, the rule gives a believable time or none."""
    seconds = to_seconds(written)
    assert seconds is None or 9e8 < seconds < 4.2e9


_STAMPS = st.integers(946_684_700_000, 1_767_323_050_000).map(
    lambda at: datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")[:23] + "Z"
)
_DAMAGED = st.builds(
    lambda stamp, place, letter: stamp[:place] + letter + stamp[place + 1 :],
    _STAMPS,
    st.integers(0, 23),
    st.sampled_from("0679 .:_-TZ\u0663"),
)


@given(st.lists(st.one_of(_STAMPS, _STAMPS.map(lambda stamp: f"2026-01-02T03:04:{stamp[17:]}"), _DAMAGED)))
def test_the_stamps_of_a_log_mean_what_each_means_alone(written: list[str]) -> None:
    """What is kept of the minute before changes nothing, whatever a stamp is damaged to."""
    stamps = Stamps()
    for stamp in written:
        assert stamps.seconds(stamp) == pytest.approx(to_seconds(stamp), abs=1e-6)


_VALUES = st.one_of(
    _STAMPS, _STAMPS, _STAMPS, _DAMAGED, st.sampled_from([None, 1767323045, "2026-01-02T03:04:05+05:00"])
)
_MOMENTS = st.one_of(st.just(math.inf), st.floats(946_684_700, 1_767_323_050))


@given(st.lists(_VALUES, max_size=12), _MOMENTS, _MOMENTS)
def test_many_times_noted_at_once_tell_what_each_would(written: list[Any], written_at: float, now: float) -> None:
    """Of usual stamps the first and the last tell it all, unless the file, or we, are older than one of them."""
    at_once, one_by_one = (SessionNotes(written_at=written_at, now=now) for _ in range(2))
    at_once.note_times(written)
    for value in written:
        one_by_one.note_time(value)
    for name in ("started_at", "last_at", "newest_at"):
        assert getattr(at_once, name) == pytest.approx(getattr(one_by_one, name), abs=1e-6)
