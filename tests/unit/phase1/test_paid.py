"""Paid calls pass the ledger: reserved before they are sent, booked after, refused at a cap; what then holds."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from evidence_samples import evidence, row
from msgspec.structs import replace
from store_samples import NOW

from memory_pipeline.budget import LEAST_ANSWER_TOKENS, JobCaps, Tab, paid_hold, project_holds
from memory_pipeline.clock import DAY_SECONDS, WEEK_SECONDS
from memory_pipeline.config import BudgetConfig, Config, ModelConfig
from memory_pipeline.errors import BudgetHoldError, CapReachedError, LostLeaseError
from memory_pipeline.llm.port import Taken
from memory_pipeline.phase1.paid import PaidExtractor
from memory_pipeline.records import Evidence, ExtractionAnswer, Gate, RateLimit, SettingRecord, Speaker
from memory_pipeline.store.store import Store

SEEN = evidence(row(1, Speaker.USER, "Always run make lint."))
PAID = ModelConfig(provider="openai", extract_model="model-x")
ANSWER_TOKENS = 10_000
NO_CAPS = JobCaps(requests=1_000, tokens=10**9, requests_key="requests", tokens_key="tokens")


class FixedClock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.at = NOW

    def now(self) -> float:
        return self.at


def _config(**budget: int) -> Config:
    return Config(model=PAID, budget=BudgetConfig(**budget))


def _tab(store: Store, config: Config, *, caps: JobCaps = NO_CAPS, scope: str | None = "project:a") -> Tab:
    return Tab(
        config,
        store,
        FixedClock(),
        caps=caps,
        phase="phase1",
        what="a session",
        model="model-x",
        thread_id="a",
        scope=scope,
    )


def _ask(tab: Tab, tokens: int = 1_000) -> int:
    return tab.before_request(input_tokens=tokens, output_tokens=ANSWER_TOKENS)


def test_what_was_used_is_booked(store: Store) -> None:
    """While a request is out its reservation counts: estimate and all of the answer. Then what it took does."""
    tab = _tab(store, _config())
    assert _ask(tab) == ANSWER_TOKENS
    assert store.ledger.spent(since=0) == 1_000 + ANSWER_TOKENS
    tab.after_request(Taken(input_tokens=700, output_tokens=50, reported_tokens=3))
    assert store.ledger.spent(since=0) == 750
    assert store.ledger.by_day(since=0)[0].reported_tokens == 3


def test_a_request_of_which_nothing_is_known_stays_reserved(store: Store) -> None:
    """A timeout may be billed all the same: rather too much is counted than too little."""
    tab = _tab(store, _config())
    _ask(tab)
    _ask(tab)
    tab.after_request(Taken(input_tokens=1, output_tokens=1))
    assert store.ledger.spent(since=0) == 1_000 + ANSWER_TOKENS + 2


def test_at_the_cap_nothing_is_reserved(store: Store) -> None:
    """A call that would pass the cap is refused before it is made, and says which setting holds it until when."""
    tab = _tab(store, _config(daily_tokens=15_999))
    _ask(tab)
    with pytest.raises(BudgetHoldError, match=r"budget\.daily_tokens.*until 20") as refused:
        _ask(tab)
    assert (refused.value.project, refused.value.is_too_large) == (None, False)
    assert store.ledger.spent(since=0) == 1_000 + ANSWER_TOKENS


def test_what_is_left_of_a_cap_bounds_the_answer(store: Store) -> None:
    """The last request under a cap may have a shorter answer, but none that is too short to be worth sending."""
    assert _ask(_tab(store, _config(daily_tokens=1_000 + LEAST_ANSWER_TOKENS))) == LEAST_ANSWER_TOKENS
    assert store.ledger.spent(since=0) == 1_000 + LEAST_ANSWER_TOKENS


@pytest.mark.parametrize("key", ["daily_tokens", "weekly_tokens", "project_daily_tokens", "project_weekly_tokens"])
def test_a_call_larger_than_a_cap_waits_alone(store: Store, key: str) -> None:
    """What no budget can pay for is told apart from a budget that is spent, so that smaller calls can go on."""
    config = _config(**{key: 20_000})
    with pytest.raises(BudgetHoldError, match="more than") as refused:
        _ask(_tab(store, config), 50_000)
    assert refused.value.is_too_large
    assert (paid_hold(config, store, NOW), project_holds(config, store, NOW)) == (None, {})
    _ask(_tab(store, config))


def test_a_project_over_its_cap_leaves_the_others_alone(store: Store) -> None:
    """The refusal names the project; the whole is not held, and calls of no single project are not bound."""
    config = _config(project_daily_tokens=12_000)
    _ask(_tab(store, config))
    with pytest.raises(BudgetHoldError, match=r"project:a is spent.*budget\.project_daily_tokens") as refused:
        _ask(_tab(store, config))
    assert refused.value.project == "project:a"
    assert paid_hold(config, store, NOW) is None
    holds = project_holds(config, store, NOW)
    assert {project: hold.opens_at for project, hold in holds.items()} == {"project:a": NOW + DAY_SECONDS}
    _ask(_tab(store, config, scope="project:b"))
    for _ in range(3):
        _ask(_tab(store, config, scope=None))


def test_the_hold_says_why_and_when_it_opens(store: Store) -> None:
    """What was refused last must have room; a spent cap holds even before anything was refused."""
    config = _config(daily_tokens=30_000, weekly_tokens=31_000)
    tab = _tab(store, config)
    _ask(tab)
    tab.after_request(Taken(input_tokens=29_000, output_tokens=0))
    assert paid_hold(config, store, NOW) is None
    with pytest.raises(BudgetHoldError):
        _ask(tab)
    hold = paid_hold(config, store, NOW)
    assert hold is not None
    assert (hold.gate, hold.opens_at) == (Gate.BUDGET, NOW + WEEK_SECONDS)
    assert "budget.weekly_tokens" in hold.reason
    assert paid_hold(config, store, NOW + WEEK_SECONDS) is None
    spent = paid_hold(_config(daily_tokens=29_000), store, NOW)
    assert spent is not None
    assert spent.opens_at == NOW + DAY_SECONDS


def test_a_raised_cap_opens_at_once(store: Store) -> None:
    """The hold is reckoned from the caps as they are set now; without any, and without paid calls, there is none."""
    with pytest.raises(BudgetHoldError):
        _ask(_two_calls(store, _config(daily_tokens=12_000)))
    assert paid_hold(_config(daily_tokens=12_000), store, NOW) is not None
    assert paid_hold(_config(daily_tokens=50_000), store, NOW) is None
    assert paid_hold(_config(), store, NOW) is None
    assert paid_hold(Config(budget=BudgetConfig(daily_tokens=12_000)), store, NOW) is None


def _two_calls(store: Store, config: Config) -> Tab:
    tab = _tab(store, config)
    _ask(tab)
    return tab


def test_a_low_quota_holds_until_every_low_window_resets(store: Store) -> None:
    """The later of two windows that leave too little decides; with a spent budget both are told."""
    limits = [_limit(90, NOW + 600), _limit(95, NOW + 6_000), _limit(10, NOW + 60_000)]
    low = _Stub(store, limits)
    hold = paid_hold(_config(), low, NOW)
    assert hold is not None
    assert (hold.gate, hold.opens_at) == (Gate.RATE_LIMIT, NOW + 6_000)
    config = _config(daily_tokens=11_000)
    _ask(_tab(store, config))
    both = paid_hold(config, low, NOW)
    assert both is not None
    assert (both.gate, both.opens_at) == (Gate.BUDGET, NOW + DAY_SECONDS)
    assert "budget.daily_tokens" in both.reason
    assert "min_rate_limit_remaining_percent" in both.reason


def _limit(used: float, resets_at: float) -> RateLimit:
    return RateLimit(used_percent=used, window_minutes=300, resets_at=resets_at, seen_at=NOW - 60)


class _Stub:
    """A store whose logs reported these windows."""

    def __init__(self, store: Store, limits: list[RateLimit]) -> None:
        self.ledger = store.ledger
        self.threads = self
        self._limits = limits

    def rate_limits(self) -> list[RateLimit]:
        return self._limits


# --- the ledger fails -------------------------------------------------------------------------------------------------


def _break_ledger(store: Store) -> None:
    with sqlite3.connect(store.path) as connection:
        connection.execute("ALTER TABLE ledger RENAME TO lost")
    connection.close()


def test_without_a_ledger_nothing_may_be_sent(store: Store) -> None:
    """What can't be written down is not sent, and paid work holds as a whole, with the reason."""
    _break_ledger(store)
    config = _config(project_daily_tokens=5)
    with pytest.raises(BudgetHoldError, match="nothing is sent"):
        _ask(_tab(store, config))
    hold = paid_hold(_config(daily_tokens=5), store, NOW)
    assert hold is not None
    assert (hold.gate, hold.opens_at) == (Gate.BUDGET, None)
    assert "can't be read" in hold.reason


def test_an_answer_that_can_not_be_booked_is_not_lost(store: Store) -> None:
    """The reservation stays and counts; only the next request is not sent."""
    tab = _tab(store, _config())
    _ask(tab)
    _break_ledger(store)
    tab.after_request(Taken(input_tokens=1))
    with pytest.raises(BudgetHoldError):
        _ask(tab)


# --- the caps of one job ----------------------------------------------------------------------------------------------


def test_a_job_sends_no_more_requests_than_its_cap(store: Store) -> None:
    """Those that failed count; another job begins anew."""
    tab = _tab(store, _config(), caps=JobCaps(requests=2, tokens=10**9, requests_key="the.key", tokens_key="t"))
    _ask(tab)
    tab.after_request(Taken())
    _ask(tab)
    with pytest.raises(CapReachedError, match=r"the\.key \(2\)"):
        _ask(tab)
    tab.begin()
    _ask(tab)


def test_a_job_takes_no_more_tokens_than_its_cap(store: Store) -> None:
    """Reserved or booked, all its requests together stay below; the last one asks for a shorter answer."""
    caps = JobCaps(requests=99, tokens=20_000, requests_key="r", tokens_key="the.key")
    tab = _tab(store, _config(), caps=caps)
    assert _ask(tab) == ANSWER_TOKENS
    assert _ask(tab) == 8_000
    with pytest.raises(CapReachedError, match=r"the\.key \(20000\)"):
        _ask(tab)
    assert store.ledger.spent(since=0) == 20_000


def test_a_job_whose_usage_is_larger_than_reserved_ends(store: Store) -> None:
    """What a provider took in spite of the limit counts against the cap as well."""
    caps = JobCaps(requests=99, tokens=20_000, requests_key="r", tokens_key="the.key")
    tab = _tab(store, _config(), caps=caps)
    _ask(tab)
    tab.after_request(Taken(input_tokens=1_000, output_tokens=18_000))
    with pytest.raises(CapReachedError):
        _ask(tab)


# --- the extractor ----------------------------------------------------------------------------------------------------


class Inner:
    """An extractor that asks its meter before each of its requests, as the real one does."""

    def __init__(self) -> None:
        self.ask: Callable[..., Any] = lambda **_: None
        self.closed = 0
        self.asked_models: list[str | None] = []

    def extract(
        self, _evidence: Evidence, *, deadline: float | None = None, model: str | None = None
    ) -> ExtractionAnswer:
        self.asked_models.append(model)
        self.ask(input_tokens=10, output_tokens=10)
        return ExtractionAnswer(rollout_summary="s", rollout_slug="s", tasks=())

    def close(self) -> None:
        self.closed += 1


def test_the_extractor_books_on_thread_project_and_model(store: Store) -> None:
    """The row says for what it was paid; closing reaches the inner extractor."""
    inner = Inner()
    paid = PaidExtractor(_config(), store, FixedClock(), is_ours=lambda _thread: True).wrap(inner)
    inner.ask = paid.before_request
    paid.extract(SEEN)
    (day,) = store.ledger.by_day(since=0)
    assert (day.scope, day.phase, day.model, day.unbooked_tokens) == (SEEN.scope, "phase1", "model-x", 20)
    paid.close()
    assert inner.closed == 1


def test_the_model_that_is_set_for_a_project_is_asked_and_booked(store: Store) -> None:
    """The nearer one: that of its own project, and for every other project the configured one."""
    inner = Inner()
    paid = PaidExtractor(_config(), store, FixedClock(), is_ours=lambda _thread: True).wrap(inner)
    inner.ask = paid.before_request
    row = SettingRecord(record_id="j_1", target=SEEN.scope, key="model.extract_model", value='"model-y"', at=1.0)
    store.settings.put([row])
    paid.extract(SEEN)
    paid.extract(replace(SEEN, scope="project:elsewhere"))
    assert inner.asked_models == ["model-y", "model-x"]
    assert {day.scope: day.model for day in store.ledger.by_day(since=0)} == {
        SEEN.scope: "model-y",
        "project:elsewhere": "model-x",
    }


def test_nothing_is_sent_for_a_thread_that_another_run_took_over(store: Store) -> None:
    """Not even the second request of one that was begun; nothing more is reserved."""
    inner, answers = Inner(), iter([True, False])
    paid = PaidExtractor(_config(), store, FixedClock(), is_ours=lambda _thread: next(answers)).wrap(inner)

    def ask_twice(**tokens: int) -> None:
        paid.before_request(**tokens)
        paid.before_request(**tokens)

    inner.ask = ask_twice
    with pytest.raises(LostLeaseError, match="another run took it over"):
        paid.extract(SEEN)
    (day,) = store.ledger.by_day(since=0)
    assert day.unbooked_tokens == 20
