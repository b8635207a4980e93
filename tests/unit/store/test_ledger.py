"""The ledger: tokens are set aside before a call, and a cap is never passed."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_samples import NOW

from memory_pipeline.store.ledger import DAY_SECONDS, WEEK_SECONDS, Reservation
from memory_pipeline.store.store import Store

EPOCHS = itertools.count(1)  # the examples share one ledger, each in a time of its own


def _reserve(store: Store, tokens: int, *, day: int = 0, week: int = 0, now: float = NOW) -> Reservation:
    return store.ledger.reserve(
        tokens=tokens,
        daily_cap=day,
        weekly_cap=week,
        phase="phase1",
        thread_id="a",
        scope="user",
        model="model-x",
        now=now,
    )


@pytest.mark.parametrize("cap", ["day", "week"])
def test_a_cap_holds_to_the_token(store: Store, cap: str) -> None:
    """The last token of a cap may be used; one more is refused."""
    assert _reserve(store, 60, **{cap: 100}).booking_id is not None
    assert _reserve(store, 41, **{cap: 100}).booking_id is None
    assert _reserve(store, 40, **{cap: 100}).booking_id is not None
    assert _reserve(store, 1, **{cap: 100}).booking_id is None


def test_no_cap_refuses_nothing(store: Store) -> None:
    """Zero is no cap, not a cap of zero."""
    assert _reserve(store, 10**9).booking_id is not None
    assert _reserve(store, 10**9).booking_id is not None


def test_a_refusal_books_nothing_and_tells_when_room_opens(store: Store) -> None:
    """A refused call costs nothing; the answer names when the oldest booking leaves the window."""
    _reserve(store, 100, day=100)
    refused = _reserve(store, 1, day=100, now=NOW + 60)
    assert (refused.booking_id, refused.opens_at) == (None, NOW + DAY_SECONDS)
    assert store.ledger.spent(since=0.0) == 100


def test_windows_roll(store: Store) -> None:
    """What is a day old no longer counts for the day, but still for the week."""
    _reserve(store, 100, day=100, week=150)
    assert _reserve(store, 1, day=100, now=NOW + DAY_SECONDS - 1).booking_id is None
    assert _reserve(store, 50, day=100, week=150, now=NOW + DAY_SECONDS).booking_id is not None
    weekly = _reserve(store, 1, day=100, week=150, now=NOW + DAY_SECONDS)
    assert (weekly.booking_id, weekly.opens_at) == (None, NOW + WEEK_SECONDS)


def test_booking_replaces_the_reservation(store: Store) -> None:
    """Once a call is over, what it used counts, be it less or more than was set aside."""
    less, more = _reserve(store, 100), _reserve(store, 100)
    assert less.booking_id is not None
    assert more.booking_id is not None
    store.ledger.book(less.booking_id, input_tokens=10, output_tokens=0)
    store.ledger.book(more.booking_id, input_tokens=150, output_tokens=50)
    assert store.ledger.spent(since=NOW - 1) == 210


def test_the_reservation_of_a_dead_worker_counts(store: Store) -> None:
    """A call that was never booked may have cost its tokens, so they are not given to others."""
    _reserve(store, 80, day=100)
    again = Store(store.path)
    assert _reserve(again, 30, day=100).booking_id is None
    again.close()


def test_concurrent_workers_do_not_pass_a_cap_together(store: Store) -> None:
    """Many who ask at once get no more than the cap between them."""
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: _reserve(store, 30, day=100), range(16)))
    assert sum(answer.booking_id is not None for answer in answers) == 3


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    asked=st.lists(st.tuples(st.integers(1, 60), st.integers(0, 40_000), st.booleans()), max_size=12),
)
def test_no_sequence_of_calls_passes_a_cap(store: Store, asked: list[tuple[int, int, bool]]) -> None:
    """Whatever is asked and booked below its reservation, no rolling day holds more than its cap."""
    now = NOW + next(EPOCHS) * 10 * WEEK_SECONDS
    for tokens, later, is_booked in asked:
        now += later
        answer = _reserve(store, tokens, day=100, now=now)
        if answer.booking_id is not None and is_booked:
            store.ledger.book(answer.booking_id, input_tokens=tokens // 2, output_tokens=tokens // 4)
        assert store.ledger.spent(since=now - DAY_SECONDS) <= 100
