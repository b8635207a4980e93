"""The gates: each is one named reason why a rollout is not extracted now; told from log, clock and settings."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memory_pipeline import __version__
from memory_pipeline.budget import can_never_pass, paid_hold, project_holds
from memory_pipeline.clock import DAY_SECONDS, Clock
from memory_pipeline.config import Config, with_values
from memory_pipeline.records import Agent, Gate, IndexedThread, JobState, Source, SubmittedStatus
from memory_pipeline.rollouts.codex_home import is_read_by_codex
from memory_pipeline.settings import GENERATE, InForce, Settings
from memory_pipeline.store.store import Store

#: Gates that other rules than these decided are decided anew.
_RULES_VERSION = 1
#: What a gate is told from in the configuration, beside what Conditions hold; a change of anything else decides none.
CONFIGURED_BY = (
    GENERATE,
    "gates.",
    "model.provider",
    "model.base_url",
    "model.send_local_model_sessions",
    "budget.",
)
_LEAST = "gates.min_rate_limit_remaining_percent"
#: For so long after its time a gate may be told either way.
_TURN_SECONDS = 1.0


class Conditions(Struct, frozen=True, kw_only=True):
    """What holds for all threads alike at the moment of gating."""

    now: float
    force: bool  # passes over too_recent and too_short: never a switch, a budget, or what says whose words these are
    paid_hold: Gate | None = None  # what holds all paid work: the budget, or an agent's own quota
    held_projects: frozenset[str] = frozenset()  # those whose own cap on paid tokens leaves no room for a call
    codex_reads_us: bool = False  # the workspace is the memory folder of Codex, whose own generation must be off
    kept_out: frozenset[str] = frozenset()  # threads for each of which the person switched generation off


def apply_gates(
    config: Config,
    store: Store,
    clock: Clock,
    *,
    force: bool,
    budget_is_spent: bool = False,
    only_thread: str | None = None,
) -> None:
    """Gate every known thread, or one alone, and enqueue those that pass and say something new.

    A thread whose gate can't be other than it is, since nothing that it is told from changed, is not looked at.
    ``budget_is_spent``: a call was refused because it would have passed a cap, so paid work holds as a whole.
    """
    in_force, conditions, holds = _conditions(config, store, clock, force=force, budget_is_spent=budget_is_spent)
    now = conditions.now
    look = store.gating.look(_stamp(in_force, conditions, holds), now=now) if only_thread is None else None
    one = store.threads.get(only_thread) if only_thread is not None else None
    threads = look.threads if look is not None else (one,) if one is not None else ()
    decided = _decide(threads, in_force, conditions, holds)
    if decided.gates or (look is not None and (look.is_whole or look.threads)):
        store.jobs.set_gates(decided.gates, now=now, keep_words=decided.keep_words, decided=look, times=decided.times)


def settle_gates(config: Config, store: Store, clock: Clock, *, force: bool) -> None:
    """Note of the threads that a pass worked on that their gates are still what they are, and change none.

    So the next pass need neither look at them nor write anything down. Where the conditions are others by now, or a
    gate would be, that pass decides.
    """
    now = clock.now()
    in_force, conditions, holds = _conditions(config, store, clock, force=force, budget_is_spent=False)
    look = store.gating.look(_stamp(in_force, conditions, holds), now=now)
    if look.is_whole or not look.threads:
        return
    decided = _decide(look.threads, in_force, conditions, holds)
    same = tuple(thread for thread in look.threads if thread.thread_id not in decided.gates)
    if same:
        store.jobs.set_gates({}, now=now, decided=replace(look, threads=same), times=decided.times)


def _conditions(
    config: Config, store: Store, clock: Clock, *, force: bool, budget_is_spent: bool
) -> tuple[InForce, Conditions, Mapping[float, Gate | None]]:
    now = clock.now()
    in_force = Settings(config, store, clock).in_force()
    conditions = Conditions(
        now=now,
        force=force,
        held_projects=frozenset(project_holds(config, store, now)),
        codex_reads_us=is_read_by_codex(config),
    )
    return in_force, conditions, _holds(config, in_force, store, now, budget_is_spent=budget_is_spent)


class _Decided(Struct, frozen=True, kw_only=True):
    """What was decided: the gates to store, and when time alone may change those of all that were looked at."""

    gates: Mapping[str, Gate | None]
    keep_words: frozenset[str]
    times: Mapping[str, float]


def _decide(
    threads: Sequence[IndexedThread],
    in_force: InForce,
    conditions: Conditions,
    holds: Mapping[float, Gate | None],
) -> _Decided:
    kept_out = frozenset(one.thread_id for one in threads if in_force.flag(GENERATE, one.thread_id) is False)
    gates: dict[str, Gate | None] = {}
    keep_words: set[str] = set()
    times: dict[str, float] = {}
    for thread in threads:
        if thread.agent is Agent.JOURNAL:
            continue  # What the person wrote themselves is never held back.
        if not thread.is_shared_out:
            continue  # Which of its records are its own is not decided yet; the pass that read it will.
        own = in_force.config_for(scope=thread.scope, thread_id=thread.thread_id)
        hold = holds[own.gates.min_rate_limit_remaining_percent]
        held = replace(conditions, paid_hold=hold, kept_out=kept_out)
        gate = first_gate(thread, own, held)
        keeps = gate is Gate.DISABLED and not _is_kept_out(thread, held)
        if keeps:
            keep_words.add(thread.thread_id)
        if gate != thread.gate or keeps != thread.keeps_words or _may_need_turn(thread, gate):
            gates[thread.thread_id] = gate
        look_at = _changes_at(thread, own, conditions.now)
        if look_at is not None:
            times[thread.thread_id] = look_at
    return _Decided(gates=gates, keep_words=frozenset(keep_words), times=times)


def _holds(
    config: Config, in_force: InForce, store: Store, now: float, *, budget_is_spent: bool
) -> Mapping[float, Gate | None]:
    """Return what holds all paid work, by how much of an agent's own quota paid calls must leave."""
    holds: dict[float, Gate | None] = {}
    for least in in_force.values_of(_LEAST):
        hold = paid_hold(with_values(config, {_LEAST: least}), store, now)
        holds[least] = Gate.BUDGET if budget_is_spent else hold.gate if hold else None
    return holds


def _stamp(in_force: InForce, conditions: Conditions, holds: Mapping[float, Gate | None]) -> str:
    """Return what changes whenever the gate of a thread may be another that did not change itself, time apart."""
    configured = in_force.stamp_of(CONFIGURED_BY)
    alike = (conditions.force, sorted(conditions.held_projects), conditions.codex_reads_us, sorted(holds.items()))
    return hashlib.sha256(repr((__version__, _RULES_VERSION, configured, alike)).encode()).hexdigest()


def _changes_at(thread: IndexedThread, config: Config, now: float) -> float | None:
    """Return when time alone may next change the gate of a thread, None when it can't any more."""
    gates = config.gates
    ages = [gates.idle_seconds] + ([gates.max_age_days * DAY_SECONDS] if gates.max_age_days else [])
    # At the very second a gate may still stand: it is looked at until that is over.
    return min((at for at in (thread.updated_at + age for age in ages) if at + _TURN_SECONDS > now), default=None)


def first_gate(thread: IndexedThread, config: Config, conditions: Conditions) -> Gate | None:
    """Return the first gate that holds a thread back, None when it may be extracted.

    ``config`` is as it is in force for this thread.

    Order: what a person or the log says about the whole thread, what the file is, who ran it, what it holds, then
    what will change by itself.
    """
    gates = config.gates
    if _is_kept_out(thread, conditions):
        return Gate.DISABLED
    if thread.memory_mode == "polluted":
        return Gate.POLLUTED
    if thread.source is Source.OWN:
        return Gate.OWN_RUN
    if thread.source is Source.SUBAGENT:
        return Gate.SUBAGENT
    if thread.task_status is not None and thread.task_status is not SubmittedStatus.COMPLETED:
        return Gate.NOT_COMPLETED
    if not config.settings.generate_memories:
        return Gate.DISABLED  # with its project, or with everything: what it said stays
    if thread.index_error is not None:
        return Gate.UNREADABLE
    if thread.size > gates.max_rollout_bytes or thread.unpacks_past_limit:
        return Gate.OVERSIZE
    if thread.total_lines == 0:
        # Where something was lost, there was something: half a packed file, as a rule.
        return Gate.UNREADABLE if thread.skipped_lines else Gate.EMPTY
    if thread.understood_lines == 0:
        return Gate.UNREADABLE
    if thread.archived and not gates.include_archived:
        return Gate.ARCHIVED
    if thread.task_status is None and thread.source not in gates.sources:
        return Gate.SOURCE
    if thread.prompt_count == 0:
        return Gate.NO_USER_MESSAGE
    if gates.external_context == "skip" and thread.external_context:
        return Gate.EXTERNAL_CONTEXT
    if not config.model.may_send(thread.model_provider):
        return Gate.PROVIDER_POLICY
    if gates.max_age_days and thread.updated_at < conditions.now - gates.max_age_days * DAY_SECONDS:
        return Gate.TOO_OLD
    if not conditions.force and _is_too_short(thread, config):
        return Gate.TOO_SHORT
    if not conditions.force and thread.updated_at > conditions.now - gates.idle_seconds:
        return Gate.TOO_RECENT
    if _waits_for_a_call(thread):
        is_tried = thread.source_digest == thread.content_digest  # else its last error tells of other words
        if is_tried and can_never_pass(config, thread.scope, thread.last_error):
            return Gate.BUDGET
        return Gate.BUDGET if thread.scope in conditions.held_projects else conditions.paid_hold
    return None


def _is_kept_out(thread: IndexedThread, conditions: Conditions) -> bool:
    """Whether this one thread is not to be remembered: what it said is withdrawn, too."""
    is_switched_off = thread.disabled_by_person or thread.thread_id in conditions.kept_out
    return is_switched_off or _is_disabled_by_log(thread, conditions)


def _is_disabled_by_log(thread: IndexedThread, conditions: Conditions) -> bool:
    if thread.memory_mode != "disabled":
        return False
    # With its own generation off, Codex begins every session so: that says nothing about this one. A person who
    # switches memory off in a session does it later.
    is_codex_setting = thread.agent is Agent.CODEX and thread.disabled_from_start and conditions.codex_reads_us
    return not is_codex_setting


def _waits_for_a_call(thread: IndexedThread) -> bool:
    """Whether there is still something to extract; what is done is held back by no budget and no quota."""
    is_new = thread.source_digest != thread.content_digest
    return is_new or thread.job_state in (JobState.PENDING, JobState.RUNNING, JobState.ERROR)


def _is_too_short(thread: IndexedThread, config: Config) -> bool:
    if thread.gives_direction:
        return False
    started_at = thread.started_at if thread.started_at is not None else thread.updated_at
    is_brief = thread.updated_at - started_at < config.gates.min_duration_seconds
    says_little = thread.result_chars < config.gates.min_result_chars
    # A program tells of every task, also of those in which nothing happened: both must be enough.
    return is_brief or says_little if thread.agent is Agent.TASK else is_brief and says_little


def _may_need_turn(thread: IndexedThread, gate: Gate | None) -> bool:
    return gate is None and (thread.job_state is None or thread.source_digest != thread.content_digest)
