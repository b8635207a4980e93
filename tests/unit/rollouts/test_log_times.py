"""The one rule for times."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.rollouts.times import to_seconds

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
