"""The ledger: tokens are set aside before a call, and a cap is never passed."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_samples import NOW

from memory_pipeline.clock import DAY_SECONDS, WEEK_SECONDS
from memory_pipeline.store.ledger import Reservation, window_caps
from memory_pipeline.store.store import Store

EPOCHS = itertools.count(1)  # the examples share one ledger, each in a time of its own


def _reserve(
    store: Store,
    tokens: int,
    *,
    day: int = 0,
    week: int = 0,
    project_day: int = 0,
    scope: str | None = "project:a",
    now: float = NOW,
    at_least: int | None = None,
) -> Reservation:
    caps = window_caps(daily=day, weekly=week)
    if scope is not None:
        caps += window_caps(daily=project_day, weekly=0, scope=scope)
    return store.ledger.reserve(
        tokens=tokens,
        at_least=at_least,
        caps=caps,
        phase="phase1",
        thread_id="a",
        scope=scope,
        model="model-x",
        now=now,
    )


def _book(store: Store, reservation: Reservation, input_tokens: int, output_tokens: int = 0) -> None:
    assert reservation.booking_id is not None
    store.ledger.book(reservation.booking_id, input_tokens=input_tokens, output_tokens=output_tokens)


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
    """A refused call costs nothing; the answer names when the booking that is in its way leaves the window."""
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
    _book(store, less, 10)
    _book(store, more, 150, 50)
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


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    asked=st.lists(
        st.tuples(
            st.integers(1, 60),
            st.integers(0, 30),
            st.integers(0, 40_000),
            st.sampled_from(["project:a", "project:b", None]),
            st.booleans(),
        ),
        max_size=12,
    ),
)
def test_no_sequence_of_calls_passes_a_cap(store: Store, asked: list[tuple[int, int, int, str | None, bool]]) -> None:
    """Whatever is asked, and booked below its reservation, no rolling day holds more than whole and project may."""
    now = NOW + next(EPOCHS) * 10 * WEEK_SECONDS
    for tokens, least, later, scope, is_booked in asked:
        now += later
        answer = _reserve(store, tokens, at_least=least or None, day=100, project_day=60, scope=scope, now=now)
        assert answer.tokens <= tokens
        if answer.booking_id is not None and is_booked:
            _book(store, answer, answer.tokens // 2, answer.tokens // 4)
        since = now - DAY_SECONDS
        assert store.ledger.spent(since=since) <= 100
        assert all(store.ledger.spent(since=since, scope=one) <= 60 for one in ("project:a", "project:b"))


def test_a_cap_of_a_project_holds_that_project_alone(store: Store) -> None:
    """Another project, and calls that concern no single one, have room all the same; both count for the whole."""
    _reserve(store, 100, project_day=100)
    refused = _reserve(store, 1, project_day=100)
    assert refused.booking_id is None
    assert refused.refused_by is not None
    assert refused.refused_by.scope == "project:a"
    assert _reserve(store, 100, project_day=100, scope="project:b").booking_id is not None
    assert _reserve(store, 100, scope=None).booking_id is not None
    assert _reserve(store, 1, day=300, scope="project:c").booking_id is None


def test_as_much_is_set_aside_as_fits_between_least_and_most(store: Store) -> None:
    """A call may make do with less than it would like, down to its least."""
    assert _reserve(store, 60, at_least=20, day=100).tokens == 60
    assert _reserve(store, 60, at_least=20, day=100).tokens == 40
    assert _reserve(store, 60, at_least=20, day=100).booking_id is None
    assert _reserve(store, 60, at_least=20).tokens == 60


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    asked=st.lists(st.tuples(st.integers(1, 60), st.integers(0, 40_000)), min_size=3, max_size=10),
    needed=st.integers(1, 100),
)
def test_the_opening_time_is_the_first_at_which_the_refused_call_fits(
    store: Store, asked: list[tuple[int, int]], needed: int
) -> None:
    """Not when the first old booking leaves the window, but when enough of them have; a moment earlier is too soon."""
    now = NOW + next(EPOCHS) * 10 * WEEK_SECONDS
    for tokens, later in asked:
        now += later
        _reserve(store, tokens, day=100, week=300, now=now)
    refused = _reserve(store, needed, day=100, week=300, now=now)
    if refused.booking_id is None:
        assert refused.opens_at is not None
        assert _reserve(store, needed, day=100, week=300, now=refused.opens_at - 0.001).booking_id is None
        assert _reserve(store, needed, day=100, week=300, now=refused.opens_at).booking_id is not None


def test_a_call_larger_than_a_cap_has_no_opening_time(store: Store) -> None:
    """No waiting helps it, and nothing else waits for it."""
    refused = _reserve(store, 101, day=100)
    assert (refused.booking_id, refused.opens_at) == (None, None)
    assert store.ledger.waits_for(window_caps(daily=100, weekly=0), now=NOW) is None


def test_a_refused_call_holds_until_it_fits(store: Store) -> None:
    """What is told to hold is what was refused, for as long as it would be; then nothing holds any longer."""
    caps = window_caps(daily=100, weekly=0)
    first = _reserve(store, 90, day=100)
    assert store.ledger.waits_for(caps, now=NOW) is None
    _reserve(store, 30, day=100)
    hold = store.ledger.waits_for(caps, now=NOW)
    assert hold is not None
    assert hold.opens_at == NOW + DAY_SECONDS
    _book(store, first, 20)
    assert store.ledger.waits_for(caps, now=NOW) is None


def test_a_refusal_is_forgotten_once_its_call_would_have_had_room(store: Store) -> None:
    """A large call that was refused last month holds no small ones today."""
    caps = window_caps(daily=100, weekly=0)
    _reserve(store, 90, day=100)
    _reserve(store, 80, day=100)
    later = NOW + 30 * DAY_SECONDS
    _reserve(store, 50, day=100, now=later)
    assert store.ledger.waits_for(caps, now=later) is None
    assert _reserve(store, 50, day=100, now=later).booking_id is not None


def test_a_refused_call_that_a_lowered_cap_never_lets_pass_holds_nothing(store: Store) -> None:
    """After the cap was lowered below it, small calls go on."""
    _reserve(store, 90, day=100)
    _reserve(store, 80, day=100)
    assert store.ledger.waits_for(window_caps(daily=95, weekly=0), now=NOW) is not None
    assert store.ledger.waits_for(window_caps(daily=50, weekly=0), now=NOW + 2 * DAY_SECONDS) is None


def test_a_clock_that_jumps_ahead_and_back_opens_no_window(store: Store) -> None:
    """What was booked before the jump counts again, and what was booked in the future still does."""
    _reserve(store, 60, day=100)
    assert _reserve(store, 60, day=100, now=NOW + 5 * DAY_SECONDS).booking_id is not None
    assert _reserve(store, 1, day=100, now=NOW + 60).booking_id is None
    assert _reserve(store, 1, day=100, now=NOW - 5 * DAY_SECONDS).booking_id is None
    assert store.ledger.spent(since=NOW - 1) == 120


def test_no_figure_is_too_large_for_the_ledger(store: Store) -> None:
    """A provider that tells numbers without end can't make sums overflow."""
    for _ in range(3):
        reservation = _reserve(store, 10)
        assert reservation.booking_id is not None
        store.ledger.book(reservation.booking_id, input_tokens=10**30, output_tokens=2**63, reported_tokens=10**40)
    assert store.ledger.spent(since=0) > 10**9
    assert store.ledger.by_day(since=0)[0].reported_tokens > 10**9


def test_costs_are_told_by_day_project_phase_and_model(store: Store) -> None:
    """Calls that were cut off are told apart, and what was estimated stands beside what was booked."""
    _book(store, _reserve(store, 100), 30, 5)
    _book(store, _reserve(store, 100), 10, 5)
    _reserve(store, 70)
    _book(store, _reserve(store, 50, scope=None, now=NOW - DAY_SECONDS), 1, 1)
    today, yesterday = store.ledger.by_day(since=NOW - WEEK_SECONDS)
    assert (today.scope, today.calls, today.input_tokens, today.output_tokens) == ("project:a", 3, 40, 10)
    assert (today.estimated_tokens, today.unbooked_calls, today.unbooked_tokens) == (200, 1, 70)
    assert (today.tokens, yesterday.tokens, yesterday.scope) == (120, 2, None)
    assert today.day > yesterday.day
    assert [one.day for one in store.ledger.by_day(since=NOW - 60)] == [today.day]


def test_folding_keeps_every_sum_and_every_window(store: Store) -> None:
    """Old calls become one row a day and kind; costs, caps and opening times stay, even if a wrong clock folded."""
    for number in range(6):
        reservation = _reserve(store, 10 + number, now=NOW + number * 600)
        if number % 2:
            _book(store, reservation, number, 1)
    now = NOW + 3_600
    before = (store.ledger.by_day(since=0), store.ledger.spent(since=now - DAY_SECONDS))
    assert store.ledger.fold(before=now) == 4
    assert (store.ledger.by_day(since=0), store.ledger.spent(since=now - DAY_SECONDS)) == before
    assert store.ledger.fold(before=now) == 0
    assert _reserve(store, 1, day=before[1], now=NOW + DAY_SECONDS).booking_id is None


def test_folding_leaves_what_is_newer(store: Store) -> None:
    """Only what lies before the moment is summed up."""
    for later in (0, 1, 100, 101):
        _reserve(store, 1, now=NOW + later)
    assert store.ledger.fold(before=NOW + 100) == 1
    assert store.ledger.by_day(since=0)[0].unbooked_calls == 4
