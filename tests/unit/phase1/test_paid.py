"""Paid calls pass the ledger: reserved before each request, booked after, refused at the cap."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from evidence_samples import evidence, row
from store_samples import NOW

from memory_pipeline.budget import ANSWER_RESERVE_TOKENS
from memory_pipeline.config import BudgetConfig, Config, ModelConfig
from memory_pipeline.errors import AnswerError, BudgetHoldError, ProviderError
from memory_pipeline.phase1.paid import PaidExtractor
from memory_pipeline.records import Evidence, ExtractionAnswer, Speaker
from memory_pipeline.store.store import Store

SEEN = evidence(row(1, Speaker.USER, "Always run make lint."))


class FixedClock:
    """A clock that stands."""

    def now(self) -> float:
        return NOW


class Inner:
    """An extractor that asks the hook before each of its requests, as the real one does."""

    def __init__(self, *estimates: int, end: Callable[[], ExtractionAnswer]) -> None:
        self.estimates = estimates
        self.end = end
        self.sent = 0
        self.closed = 0
        self.before_request: Callable[[int], None] = lambda _tokens: None

    def extract(self, _evidence: Evidence, *, deadline: float | None = None) -> ExtractionAnswer:
        for tokens in self.estimates:
            self.before_request(tokens)
            self.sent += 1
        return self.end()

    def close(self) -> None:
        self.closed += 1


def _answer() -> ExtractionAnswer:
    return ExtractionAnswer(rollout_summary="s", rollout_slug="s", tasks=(), input_tokens=700, output_tokens=50)


def _raise(error: Exception) -> Callable[[], ExtractionAnswer]:
    def end() -> ExtractionAnswer:
        raise error

    return end


def _paid(store: Store, inner: Inner, *, daily: int = 0) -> PaidExtractor:
    config = Config(
        model=ModelConfig(provider="openai", extract_model="model-x"), budget=BudgetConfig(daily_tokens=daily)
    )
    paid = PaidExtractor(config, store, FixedClock()).wrap(inner)
    inner.before_request = paid.before_request
    return paid


def test_what_was_used_is_booked(store: Store) -> None:
    """After an answer the ledger holds what it took, not what was set aside."""
    _paid(store, Inner(1_000, end=_answer)).extract(SEEN)
    assert store.ledger.spent(since=0) == 750


def test_while_a_request_is_out_its_reservation_counts(store: Store) -> None:
    """Estimate and room for the answer are set aside before anything is sent."""
    seen = []

    def end() -> ExtractionAnswer:
        seen.append(store.ledger.spent(since=0))
        return _answer()

    _paid(store, Inner(1_000, end=end)).extract(SEEN)
    assert seen == [1_000 + ANSWER_RESERVE_TOKENS]


def test_several_requests_of_one_answer_are_booked_as_one_sum(store: Store) -> None:
    """A call that was repeated does not keep the reservations of its earlier tries."""
    _paid(store, Inner(1_000, 1_000, 500, end=_answer)).extract(SEEN)
    assert store.ledger.spent(since=0) == 750


def test_an_answer_that_can_not_be_used_is_paid_for(store: Store) -> None:
    """What a bad answer cost is booked."""
    inner = Inner(1_000, end=_raise(AnswerError("no JSON", input_tokens=600, output_tokens=9)))
    with pytest.raises(AnswerError):
        _paid(store, inner).extract(SEEN)
    assert store.ledger.spent(since=0) == 609


def test_a_refused_request_costs_nothing(store: Store) -> None:
    """When the provider turned the request away the reservation is given up."""
    with pytest.raises(ProviderError):
        _paid(store, Inner(1_000, end=_raise(ProviderError("429")))).extract(SEEN)
    assert store.ledger.spent(since=0) == 0


def test_at_the_cap_nothing_is_sent(store: Store) -> None:
    """A call that would pass the cap is refused before it is made, and says which setting holds it."""
    inner = Inner(1_000, end=_answer)
    with pytest.raises(BudgetHoldError, match=r"\[budget\]"):
        _paid(store, inner, daily=1_000 + ANSWER_RESERVE_TOKENS - 1).extract(SEEN)
    assert (inner.sent, store.ledger.spent(since=0)) == (0, 0)
    _paid(store, inner, daily=1_000 + ANSWER_RESERVE_TOKENS).extract(SEEN)
    assert inner.sent == 1


def test_a_call_larger_than_a_cap_waits_alone(store: Store) -> None:
    """What no budget can pay for is told apart from a budget that is spent, so that smaller calls can go on."""
    with pytest.raises(BudgetHoldError) as refused:
        _paid(store, Inner(50_000, end=_answer), daily=20_000).extract(SEEN)
    assert refused.value.is_too_large
    assert store.ledger.spent(since=0) == 0
    _paid(store, Inner(1_000, end=_answer), daily=20_000).extract(SEEN)
    assert store.ledger.spent(since=0) == 750


def test_a_request_that_was_cut_off_stays_reserved(store: Store) -> None:
    """A timeout may be billed all the same: rather too much is counted than too little."""
    with pytest.raises(ProviderError):
        _paid(store, Inner(1_000, end=_raise(ProviderError("no answer", per_thread_suspect=True)))).extract(SEEN)
    assert store.ledger.spent(since=0) == 1_000 + ANSWER_RESERVE_TOKENS


def test_closing_reaches_the_inner_extractor(store: Store) -> None:
    """Giving up is passed on."""
    inner = Inner(end=_answer)
    _paid(store, inner).close()
    assert inner.closed == 1
