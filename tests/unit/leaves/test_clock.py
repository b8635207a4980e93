"""Times are written as ISO 8601 in UTC, to the millisecond, ending in Z."""

from __future__ import annotations

import re
import time
from datetime import datetime

from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.clock import SystemClock, iso, iso_date


def test_a_moment_is_written_in_utc() -> None:
    """One known moment, with and without a fraction; None stays None."""
    assert iso(1_700_000_000) == "2023-11-14T22:13:20.000Z"
    assert iso(1_700_000_000.1239) == "2023-11-14T22:13:20.123Z"
    assert iso(0.0) == "1970-01-01T00:00:00.000Z"
    assert iso(None) is None


def test_a_day_is_that_of_utc() -> None:
    """The day changes at midnight in UTC, wherever the machine stands."""
    assert iso_date(1_700_006_399) == "2023-11-14"
    assert iso_date(1_700_006_400) == "2023-11-15"


@given(st.floats(0, 4e9))
def test_every_moment_has_one_shape_and_can_be_read_back(seconds: float) -> None:
    """What is written parses to the same millisecond, and sorting the texts sorts the times."""
    text = iso(seconds)
    assert text is not None
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text)
    assert abs(datetime.fromisoformat(text).timestamp() - seconds) < 0.002
    later = iso(seconds + 1)
    assert later is not None
    assert text < later


def test_the_system_clock_tells_the_machines_time() -> None:
    """Seconds since the epoch."""
    before = time.time()
    assert before <= SystemClock().now() <= time.time()
