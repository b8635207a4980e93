"""How many requests are let through."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from memory_pipeline.web.rates import Rate, RateLimit

RATE = Rate(at_once=5, per_minute=60)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(min_value=0, max_value=3), max_size=60))
def test_never_more_pass_than_at_once_and_by_the_minute(waits: list[float]) -> None:
    """Whenever the requests come, no more pass than the first few and one a second; some pass after any wait."""
    at = 0.0
    limit = RateLimit(RATE, read_seconds=lambda: at)
    passed = 0
    for wait in waits:
        at += wait
        told = limit.take("ann")
        passed += told == 0
        assert told >= 0
    assert passed <= RATE.at_once + at * RATE.per_minute / 60 + 1e-6
    at += 10
    assert limit.take("ann") == 0


def test_one_caller_costs_another_nothing() -> None:
    """Each name has requests of its own."""
    limit = RateLimit(RATE, read_seconds=lambda: 0.0)
    assert [limit.take("ann") == 0 for _ in range(6)] == [True] * 5 + [False]
    assert limit.take("bob") == 0


def test_the_told_wait_is_enough() -> None:
    """After the wait that is told, the next request passes."""
    at = 0.0
    limit = RateLimit(RATE, read_seconds=lambda: at)
    while (wait := limit.take("ann")) == 0:
        pass
    at += wait
    assert limit.take("ann") == 0
