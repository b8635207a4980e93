"""The gates: in one order, each by its setting, overwritten on the thread's one row."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from store_samples import NOW, SCOPE, enqueue, extraction, index, lease, rollout_file, thread_facts, thread_of

from memory_pipeline.budget import quota_is_low
from memory_pipeline.config import BudgetConfig, Config, GatesConfig, ModelConfig
from memory_pipeline.phase1.gates import (
    DAY_SECONDS,
    Conditions,
    apply_gates,
    first_gate,
)
from memory_pipeline.records import Agent, Gate, IndexedThread, JobState, RateLimit, Source
from memory_pipeline.store.store import Store

CLEAR = Conditions(now=NOW, force=False)
REMOTE = ModelConfig(provider="openai", extract_model="model-x")
LOOPBACK = ModelConfig(provider="openai", extract_model="model-x", base_url="http://127.0.0.1:8080/v1")


class FixedClock:
    """A clock that stands."""

    def __init__(self, at: float = NOW) -> None:
        self.at = at

    def now(self) -> float:
        return self.at


@pytest.fixture
def thread(store: Store) -> IndexedThread:
    """A thread that passes every gate."""
    return index(store, "a")


def _gate(thread: IndexedThread, config: Config | None = None, conditions: Conditions = CLEAR, **fields: Any) -> Any:
    return first_gate(replace(thread, **fields), config or Config(), conditions)


def _with(**gates: Any) -> Config:
    return Config(gates=GatesConfig(**gates))


def test_an_ordinary_thread_passes(thread: IndexedThread) -> None:
    """Without a reason nothing is held back."""
    assert _gate(thread) is None


#: Each gate with what makes it close, in the order in which they are looked at.
REASONS: list[tuple[Gate, dict[str, Any]]] = [
    (Gate.DISABLED, {"disabled_by_person": True}),
    (Gate.POLLUTED, {"memory_mode": "polluted"}),
    (Gate.OWN_RUN, {"source": Source.OWN}),
    (Gate.UNREADABLE, {"index_error": "permission denied"}),
    (Gate.OVERSIZE, {"size": 2_147_483_649}),
    (Gate.EMPTY, {"total_lines": 0}),
    (Gate.ARCHIVED, {"archived": True}),
    (Gate.NO_USER_MESSAGE, {"prompt_count": 0}),
    (Gate.TOO_OLD, {"updated_at": NOW - 31 * DAY_SECONDS, "started_at": NOW - 32 * DAY_SECONDS}),
    (Gate.TOO_SHORT, {"started_at": NOW - 5_000, "result_chars": 10}),
]


@pytest.mark.parametrize(("gate", "fields"), REASONS)
def test_each_reason_closes_its_gate(thread: IndexedThread, gate: Gate, fields: dict[str, Any]) -> None:
    """Every gate names the one thing that keeps the thread back."""
    assert _gate(thread, **fields) is gate


@pytest.mark.parametrize("position", range(len(REASONS) - 2))
def test_the_first_reason_in_the_order_is_told(thread: IndexedThread, position: int) -> None:
    """Where several hold, the one that says most about the thread as a whole is recorded."""
    fields: dict[str, Any] = {}
    for _, more in reversed(REASONS[position:]):
        fields |= more
    assert _gate(thread, **fields) is REASONS[position][0]


def test_a_log_that_says_disabled_is_disabled(thread: IndexedThread) -> None:
    """The agent's own switch in the log counts like the person's."""
    assert _gate(thread, memory_mode="disabled") is Gate.DISABLED


def test_a_log_of_which_nothing_is_understood_is_unreadable(thread: IndexedThread) -> None:
    """Lines without one that is understood are a failure to read, never an empty session."""
    assert _gate(thread, total_lines=5, understood_lines=0) is Gate.UNREADABLE


def test_a_file_of_which_only_the_loss_is_known_is_unreadable(thread: IndexedThread) -> None:
    """Half a packed file without a whole line is no empty session."""
    assert _gate(thread, total_lines=0, skipped_lines={"cut_frame": 1}) is Gate.UNREADABLE


def test_a_packed_log_that_unpacks_past_the_limit_is_oversize(thread: IndexedThread) -> None:
    """What is packed is judged by its plain text; of a plain file, the size tells, so that the limit can be raised."""
    cut: dict[str, Any] = {"skipped_lines": {"past_limit": 1}, "total_lines": 0}
    assert _gate(thread, rollout_path="/x/rollout-a.jsonl.zst", **cut) is Gate.OVERSIZE
    assert _gate(thread, skipped_lines={"past_limit": 1}) is None


@pytest.mark.parametrize("source", [Source.HEADLESS, Source.OTHER])
def test_sources_are_extracted_where_the_settings_name_them(thread: IndexedThread, source: Source) -> None:
    """Only listed sources pass, and a listed one does."""
    assert _gate(thread, source=source) is Gate.SOURCE
    assert _gate(thread, _with(sources=("interactive", source.value)), source=source) is None


@pytest.mark.parametrize("force", [False, True])
def test_sub_agents_never_pass(thread: IndexedThread, force: bool) -> None:
    """No setting and no force extracts a sub-agent's log."""
    conditions = replace(CLEAR, force=force)
    assert _gate(thread, _with(sources=("interactive",)), conditions, source=Source.SUBAGENT) is Gate.SUBAGENT


def test_a_thread_is_too_recent_until_it_was_idle(thread: IndexedThread) -> None:
    """The last words must be ``idle_seconds`` old, to the second."""
    assert _gate(thread, updated_at=NOW - 899) is Gate.TOO_RECENT
    assert _gate(thread, updated_at=NOW - 900) is None
    assert _gate(thread, _with(idle_seconds=0), updated_at=NOW) is None


def test_a_thread_is_too_short_only_below_both_limits(thread: IndexedThread) -> None:
    """Either a longer time or a longer result is enough, and so is a direction to keep."""
    brief: dict[str, Any] = {"started_at": NOW - 5_029, "result_chars": 199}
    assert _gate(thread, **brief) is Gate.TOO_SHORT
    assert _gate(thread, **brief | {"started_at": NOW - 5_030}) is None
    assert _gate(thread, **brief | {"result_chars": 200}) is None
    assert _gate(thread, gives_direction=True, **brief) is None
    assert _gate(thread, **brief | {"started_at": None}) is Gate.TOO_SHORT
    assert _gate(thread, _with(min_duration_seconds=0), **brief) is None


def test_age_is_bounded_unless_the_setting_says_zero(thread: IndexedThread) -> None:
    """A session older than ``max_age_days`` is too old; 0 is no limit."""
    old: dict[str, Any] = {"updated_at": NOW - 400 * DAY_SECONDS, "started_at": NOW - 401 * DAY_SECONDS}
    assert _gate(thread, **old) is Gate.TOO_OLD
    assert _gate(thread, _with(max_age_days=0), **old) is None
    assert _gate(thread, updated_at=NOW - 30 * DAY_SECONDS, started_at=NOW - 31 * DAY_SECONDS) is None


def test_archived_threads_pass_where_the_settings_say_so(thread: IndexedThread) -> None:
    """``include_archived`` opens the gate of the archive."""
    assert _gate(thread, _with(include_archived=True), archived=True) is None


@pytest.mark.parametrize(("setting", "gate"), [("skip", Gate.EXTERNAL_CONTEXT), ("withhold", None), ("include", None)])
def test_external_context_holds_back_only_where_it_is_to_be_skipped(
    thread: IndexedThread, setting: str, gate: Gate | None
) -> None:
    """Withholding and including leave the session eligible."""
    assert _gate(thread, _with(external_context=setting), external_context=True) is gate


def test_sessions_of_a_local_model_stay_off_a_remote_provider(thread: IndexedThread) -> None:
    """They go to a server on loopback, to the embedded extractor, or where the person allows it."""
    local: dict[str, Any] = {"model_provider": "Ollama"}
    assert _gate(thread, Config(model=REMOTE), **local) is Gate.PROVIDER_POLICY
    assert _gate(thread, Config(model=LOOPBACK), **local) is None
    assert _gate(thread, Config(), **local) is None
    allowed = replace(REMOTE, send_local_model_sessions=True)
    assert _gate(thread, Config(model=allowed), **local) is None
    assert _gate(thread, Config(model=REMOTE), model_provider="openai") is None


def test_force_passes_over_recency_and_length_only(thread: IndexedThread) -> None:
    """Every other gate holds against ``run --force``."""
    forced = replace(CLEAR, force=True)
    assert _gate(thread, conditions=forced, updated_at=NOW, started_at=NOW, result_chars=0) is None
    for gate, fields in REASONS[:-1]:
        assert _gate(thread, conditions=forced, **fields) is gate
    assert _gate(thread, _with(external_context="skip"), forced, external_context=True) is Gate.EXTERNAL_CONTEXT
    assert _gate(thread, Config(model=REMOTE), forced, model_provider="ollama") is Gate.PROVIDER_POLICY
    for gate in (Gate.RATE_LIMIT, Gate.BUDGET):
        assert _gate(thread, conditions=replace(forced, paid_hold=gate)) is gate


def test_budget_and_quota_hold_only_what_still_needs_a_call(thread: IndexedThread) -> None:
    """A finished thread is not shown as held back by money; a grown one is."""
    spent = replace(CLEAR, paid_hold=Gate.BUDGET)
    done: dict[str, Any] = {"job_state": JobState.DONE, "source_digest": thread.content_digest}
    assert _gate(thread, conditions=spent) is Gate.BUDGET
    assert _gate(thread, conditions=spent, **done) is None
    assert _gate(thread, conditions=spent, **done | {"source_digest": "older"}) is Gate.BUDGET
    assert _gate(thread, conditions=spent, **done | {"job_state": JobState.ERROR}) is Gate.BUDGET
    low = replace(CLEAR, paid_hold=Gate.RATE_LIMIT)
    assert _gate(thread, conditions=low) is Gate.RATE_LIMIT


def test_a_project_over_its_own_cap_is_held_alone(thread: IndexedThread) -> None:
    """Its threads wait for the budget; those of others don't."""
    held = replace(CLEAR, held_projects=frozenset({thread.scope}))
    assert _gate(thread, conditions=held) is Gate.BUDGET
    assert _gate(thread, conditions=held, scope="project:other") is None


def _limit(used: float, resets_at: float | None) -> RateLimit:
    return RateLimit(used_percent=used, window_minutes=300, resets_at=resets_at, seen_at=NOW - 60)


def test_quota_counts_for_paid_calls_only() -> None:
    """A nearly used-up window holds paid calls, those to this machine too; never the embedded extractor."""
    used_up = [_limit(81, NOW + 60)]
    assert quota_is_low(Config(model=REMOTE), used_up, now=NOW) is True
    assert quota_is_low(Config(model=LOOPBACK), used_up, now=NOW) is True
    assert quota_is_low(Config(), used_up, now=NOW) is False


def test_quota_is_compared_with_its_setting() -> None:
    """Exactly as much left as the setting asks for is enough; 0 switches the gate off."""
    config = Config(model=REMOTE)
    assert quota_is_low(config, [_limit(80, NOW + 60)], now=NOW) is False
    assert quota_is_low(config, [_limit(80.1, NOW + 60)], now=NOW) is True
    assert quota_is_low(config, [_limit(10, NOW + 60), _limit(99, NOW + 60)], now=NOW) is True
    off = Config(model=REMOTE, gates=GatesConfig(min_rate_limit_remaining_percent=0))
    assert quota_is_low(off, [_limit(100, NOW + 60)], now=NOW) is False


def test_a_window_past_its_reset_holds_nothing() -> None:
    """An old snapshot, one without a reset, or none at all says nothing about now."""
    config = Config(model=REMOTE)
    assert quota_is_low(config, [_limit(100, NOW)], now=NOW) is False
    assert quota_is_low(config, [_limit(100, None)], now=NOW) is False
    assert quota_is_low(config, [], now=NOW) is False


# --- applied to the index ---------------------------------------------------------------------------------------------


def test_gates_are_recorded_and_what_passes_is_enqueued(store: Store) -> None:
    """Each thread's row holds its gate; those without one have a job."""
    index(store, "good")
    index(store, "silent", prompt_count=0)
    apply_gates(Config(), store, FixedClock(), force=False)
    assert (thread_of(store, "silent").gate, thread_of(store, "silent").state) == (
        Gate.NO_USER_MESSAGE,
        JobState.GATED,
    )
    assert (thread_of(store, "good").gate, thread_of(store, "good").state) == (None, JobState.PENDING)
    assert store.threads.gate_counts() == {"no_user_message": 1}


def test_gates_are_overwritten_as_time_passes(store: Store) -> None:
    """A thread that was too recent is enqueued once it was idle, and its reason is gone."""
    index(store, "a", updated_at=NOW - 10)
    clock = FixedClock()
    apply_gates(Config(), store, clock, force=False)
    assert thread_of(store, "a").gate is Gate.TOO_RECENT
    clock.at = NOW + 900
    apply_gates(Config(), store, clock, force=False)
    assert (thread_of(store, "a").gate, thread_of(store, "a").state) == (None, JobState.PENDING)


def test_a_done_thread_that_grew_waits_beside_its_outcome(store: Store) -> None:
    """Grown but too recent: the outcome stays, the gate stands beside it, and later it is due."""
    enqueue(store, "a")
    assert store.jobs.complete(lease(store), extraction("a"), now=NOW)
    index(store, "a", updated_at=NOW - 10, content_digest="digest-2")
    clock = FixedClock()
    apply_gates(Config(), store, clock, force=False)
    assert (thread_of(store, "a").state, thread_of(store, "a").gate) == (JobState.DONE, Gate.TOO_RECENT)
    clock.at = NOW + 900
    apply_gates(Config(), store, clock, force=False)
    assert store.jobs.count_due(now=clock.at) == 1


def test_an_exhausted_thread_is_not_enqueued_by_looking_again(store: Store) -> None:
    """Only a changed source or a person wakes a dead letter."""
    enqueue(store, "a")
    store.jobs.fail(lease(store), "bad", now=NOW, retry_at=NOW, max_attempts=1)
    apply_gates(Config(), store, FixedClock(NOW + 9_000), force=False)
    assert thread_of(store, "a").state is JobState.EXHAUSTED


def test_what_the_budget_held_is_tried_again_when_tokens_are_left(store: Store) -> None:
    """The hold of one run is recorded on the rows and ends by itself."""
    index(store, "a")
    config = Config(model=REMOTE, budget=BudgetConfig(daily_tokens=100))
    apply_gates(config, store, FixedClock(), force=True, budget_is_spent=True)
    assert (thread_of(store, "a").gate, store.jobs.count_due(now=NOW)) == (Gate.BUDGET, 0)
    apply_gates(config, store, FixedClock(), force=False)
    assert (thread_of(store, "a").gate, store.jobs.count_due(now=NOW)) == (None, 1)


def test_a_vanished_thread_is_not_enqueued(store: Store) -> None:
    """There is nothing to read of a log that is gone."""
    store.threads.record_reading(rollout_file("a"), thread_facts("a"), SCOPE, now=NOW)
    store.threads.record_presence(returned=(), vanished=[rollout_file("a").path])
    apply_gates(Config(), store, FixedClock(), force=False)
    assert store.jobs.count_due(now=NOW) == 0
    store.threads.record_presence(returned=[rollout_file("a").path], vanished=())
    apply_gates(Config(), store, FixedClock(), force=False)
    assert store.jobs.count_due(now=NOW) == 1


def test_a_session_that_codex_began_with_memory_disabled_counts_while_codex_reads_our_memory(
    thread: IndexedThread,
) -> None:
    """With its own generation off, as it must be then, Codex marks every session so; a person's own switch holds."""
    reads_us = replace(CLEAR, codex_reads_us=True)
    by_setting: dict[str, Any] = {"memory_mode": "disabled", "disabled_from_start": True}
    assert _gate(thread, **by_setting) is Gate.DISABLED
    assert _gate(thread, conditions=reads_us, **by_setting) is None
    assert _gate(thread, conditions=reads_us, memory_mode="disabled") is Gate.DISABLED
    assert _gate(thread, conditions=reads_us, memory_mode="polluted", disabled_from_start=True) is Gate.POLLUTED
    assert _gate(thread, conditions=reads_us, **by_setting, agent=Agent.CLAUDE) is Gate.DISABLED
