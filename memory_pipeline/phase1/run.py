"""Phase one: index, gate, then lease due threads and extract each, several in flight."""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Callable
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from memory_pipeline.budget import paid_hold
from memory_pipeline.clock import Clock, iso
from memory_pipeline.config import Config
from memory_pipeline.errors import (
    AnswerError,
    BudgetHoldError,
    CapReachedError,
    ConfigError,
    InterruptedRunError,
    LostLeaseError,
    ProviderError,
    RolloutError,
    StoreError,
    VanishedError,
)
from memory_pipeline.heaps import seldom_collecting, share_heaps
from memory_pipeline.llm.faults import TOO_LONG_PREFIX
from memory_pipeline.llm.rows import shorten
from memory_pipeline.phase1.evidence import EvidenceBuilder, Forgotten, build_evidence
from memory_pipeline.phase1.extract import check_answer, keep_earlier_entries, keep_spared_entries
from memory_pipeline.phase1.gates import apply_gates
from memory_pipeline.phase1.index import Discovery, Progress, index_rollouts
from memory_pipeline.phase1.scopes import TurnScopes
from memory_pipeline.phase1.tasks import under_goal, with_one_statement
from memory_pipeline.records import (
    Agent,
    ClaimOutcome,
    Coverage,
    Evidence,
    Extraction,
    ExtractionAnswer,
    Gate,
    Lease,
    Phase1Counts,
)
from memory_pipeline.rollouts.lineage import OwnPart
from memory_pipeline.rollouts.reading import memory_folders, read_events
from memory_pipeline.settings import Settings
from memory_pipeline.store.store import Store
from memory_pipeline.tombstones import TombstoneFolder

logger = logging.getLogger(__name__)

#: From this fault of the provider on, a 5xx or timeout counts as the thread's own, if others succeed meanwhile.
SUSPECT_FROM_FAULT = 3
#: From so many threads in a row that get the same useless answer on, it is the provider's fault and not theirs.
USELESS_ANSWERS_IN_A_ROW = 5
#: How the reason of a rest begins that such answers brought about.
_USELESS = "no usable answer to several sessions in a row"
#: How long workers may take to notice that the run was stopped, before their jobs are given back from here.
STOP_GRACE_SECONDS = 5.0


class Extract(Protocol):
    """How phase one asks for an extraction; ``deadline`` is a reading of the monotonic clock."""

    def __call__(self, evidence: Evidence, *, deadline: float | None) -> ExtractionAnswer:
        """Return what is worth keeping of the evidence."""
        ...


class Phase1Options(Struct, frozen=True, kw_only=True):
    """What the caller of one run may ask for."""

    force: bool = False
    limit: int | None = None  # extractions in this run, at most


class Phase1:
    """Runs phase one. Knows nothing of schedules."""

    def __init__(
        self,
        config: Config,
        store: Store,
        clock: Clock,
        *,
        extract: Extract,
        abort_extractions: Callable[[], None],
        owner: str,
        jitter: Callable[[], float],
        stop: threading.Event,
    ) -> None:
        """Take the parts. ``jitter`` gives 0 to 1; ``abort_extractions`` ends those in flight."""
        self._config = config
        self._store = store
        self._clock = clock
        self._extract = extract
        self._abort_extractions = abort_extractions
        self._owner = owner
        self._jitter = jitter
        self._stop = stop
        self._tombstones = TombstoneFolder(config.tombstones_path)
        self._settings = Settings(config, store, clock)
        self._provider = config.model.provider if config.model.is_paid else None
        self._memory_folders = (
            config.memories_dir,
            str(config.database_path),
            *memory_folders(Agent.CODEX, config.sources.of(Agent.CODEX).home),
        )

    def run_once(
        self,
        options: Phase1Options,
        *,
        on_index: Progress | None = None,
        on_extract: Progress | None = None,
    ) -> Phase1Counts:
        """Index, gate, extract what is due.

        Raises:
            InterruptedRunError: the run was stopped; what was in flight is pending again.
        """
        started = time.monotonic()
        discovery = index_rollouts(self._config, self._store, self._clock, stop=self._stop, on_progress=on_index)
        self._raise_if_stopped()
        apply_gates(self._config, self._store, self._clock, force=options.force)
        eligible = self._store.jobs.count_due(now=self._clock.now())
        work = _Work(limit=self._job_limit(options), total=eligible, force=options.force, on_progress=on_extract)
        hold = paid_hold(self._config, self._store, self._clock.now())
        if hold is not None and hold.gate in self._store.threads.gate_counts():
            work.tell(hold.reason)
        if not self._settings.in_force().may_generate():
            but = " (but those of projects for which it is true)" if eligible else ""
            work.tell(f"settings.generate_memories is false: sessions are indexed but not extracted{but}")
        with seldom_collecting():
            self._work_off(work)
        if work.budget_is_spent:
            apply_gates(self._config, self._store, self._clock, force=options.force, budget_is_spent=True)
        return self._counts(discovery, eligible, work, time.monotonic() - started)

    def _job_limit(self, options: Phase1Options) -> int | None:
        limits = [options.limit] if options.limit is not None else []
        if self._config.model.is_paid:
            limits.append(self._config.phase1.max_jobs_per_run)
        return min(limits) if limits else None

    def _work_off(self, work: _Work) -> None:
        # The embedded extractor is bound by the processor, which Python threads share: a second worker would only wait.
        size = self._config.phase1.concurrency if self._config.model.is_paid else 1
        size = work.workers = min(size, max(work.total, 1))
        if size > 1:
            share_heaps()
        # Daemon threads, so that a model that hangs can't keep a stopped program from ending.
        workers = [
            threading.Thread(target=self._work, args=(work,), name=f"extract-{number}", daemon=True)
            for number in range(size)
        ]
        heart = threading.Thread(target=self._beat, args=(work,), name="heartbeat", daemon=True)
        heart.start()
        for worker in workers:
            worker.start()
        try:
            self._wait_for(workers, work)
        finally:
            work.finished.set()
            heart.join()
        if work.surprise is not None:
            raise work.surprise
        self._raise_if_stopped()

    def _wait_for(self, workers: list[threading.Thread], work: _Work) -> None:
        for worker in workers:
            while worker.is_alive() and not self._stop.is_set():
                worker.join(timeout=0.1)
        if self._stop.is_set():
            self._abort_extractions()
            deadline = time.monotonic() + STOP_GRACE_SECONDS
            for worker in workers:
                worker.join(timeout=max(0.0, deadline - time.monotonic()))
            for lease in work.in_flight():
                self._store.jobs.give_back(lease, now=self._clock.now())

    def _work(self, work: _Work) -> None:
        try:
            while not self._stop.is_set() and work.take_turn():
                claim = self._store.jobs.claim(
                    owner=self._owner,
                    now=self._clock.now(),
                    lease_seconds=self._config.phase1.lease_seconds,
                    max_attempts=self._config.phase1.max_attempts,
                    provider=self._provider,
                )
                if claim.outcome is ClaimOutcome.RESTING:
                    work.rest_until = claim.rest_until
                if claim.lease is None:
                    return
                work.started(claim.lease)
                try:
                    goes_on = self._extract_one(claim.lease, work)
                finally:
                    work.ended(claim.lease)
                if not goes_on:
                    return
        except Exception as error:  # noqa: BLE001 - carried to the thread that waits, which raises it
            work.surprise = error

    def _beat(self, work: _Work) -> None:
        """Keep the leases of what is in flight alive; a lease that was lost is noted for its worker."""
        lease_seconds = self._config.phase1.lease_seconds
        try:
            while not work.finished.wait(lease_seconds / 3):
                leases = work.in_flight()
                if leases:
                    held = self._store.jobs.heartbeat(leases, now=self._clock.now(), lease_seconds=lease_seconds)
                    work.note_lost([lease for lease in leases if lease.thread.thread_id not in held])
        except Exception as error:  # noqa: BLE001 - carried to the thread that waits; leases that lapse are fenced off
            work.surprise = error

    def _extract_one(self, lease: Lease, work: _Work) -> bool:
        """Extract one thread; false when the worker that did should end."""
        started = time.monotonic()
        outcome = "lost"
        goes_on = True
        try:
            extraction = self._read_and_extract(lease, work)
            if extraction is not None and self._store.jobs.complete(
                lease, extraction, now=self._clock.now(), provider=self._provider
            ):
                outcome = "no_output" if extraction.is_empty else "succeeded"
                work.count(outcome, extraction.input_tokens, extraction.output_tokens)
        except (InterruptedRunError, BudgetHoldError) as error:
            outcome = "given_back"
            self._store.jobs.give_back(lease, now=self._clock.now(), reason=_why_never(lease, error))
            if isinstance(error, BudgetHoldError):
                goes_on = self._hold(lease, error, work)
        except LostLeaseError:
            outcome = "lost"
        except VanishedError:
            outcome = "vanished"
            self._store.jobs.give_back(lease, now=self._clock.now())
            self._store.threads.record_presence(
                returned=(), vanished=(lease.thread.rollout_path,), now=self._clock.now()
            )
        except ProviderError as error:
            if self._store_provider_fault(lease, error):
                outcome = "failed"
                work.count("failed")
        except (AnswerError, CapReachedError, RolloutError) as error:
            if self._is_providers_fault(lease, error, work):
                is_stored = self._store_provider_fault(lease, ProviderError(f"{_USELESS}: {error}"))
            else:
                is_final = isinstance(error, _NothingLeftToCutError)
                is_stored = self._store_thread_fault(lease, str(error), is_final=is_final)
            if is_stored:
                outcome = "failed"
                work.count("failed", getattr(error, "input_tokens", 0), getattr(error, "output_tokens", 0))
        except ConfigError:
            # Nothing about this thread: the run ends with what to change in the configuration.
            self._store.jobs.give_back(lease, now=self._clock.now())
            raise
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - one thread that trips over a fault of ours must not stop the others
            place = traceback.extract_tb(error.__traceback__)[-1]
            message = f"internal error: {type(error).__name__} in {place.name}, line {place.lineno}; please report it"
            if self._store_thread_fault(lease, message):
                outcome = "failed"
                work.count("failed")
        logger.info(
            "extracted",
            extra={
                "action": "extract",
                "thread_id": lease.thread.thread_id,
                "outcome": outcome,
                "seconds": round(time.monotonic() - started, 3),
            },
        )
        return goes_on

    def _hold(self, lease: Lease, error: BudgetHoldError, work: _Work) -> bool:
        """Wait with what can't be paid for now; false when the worker that met it should end."""
        if error.is_too_large:
            # Gated by itself, or it would be claimed again at once and keep the smaller ones waiting. Nothing was sent.
            work.give_turn_back()
            self._store.jobs.set_gates({lease.thread.thread_id: Gate.BUDGET}, now=self._clock.now())
            work.tell(f"thread {lease.thread.thread_id}: {error}")
            return True
        # What is in flight takes less, as a rule, than was reserved for it: one worker fewer may be all it needs.
        if work.leave(error.project):
            return False
        if work.others_ended_since(lease):
            work.give_turn_back()  # what it had no room beside has ended by now
            return True
        if error.project is not None:
            work.tell(str(error))
            apply_gates(self._config, self._store, self._clock, force=work.force)
            return True
        work.hold(str(error))
        return False

    def _read_and_extract(self, lease: Lease, work: _Work) -> Extraction | None:
        thread = lease.thread
        # Looked at after the claim: whoever forgets later than this fences the job out.
        tombstones = self._tombstones.current()
        if tombstones.has_thread(thread.thread_id):
            self._store.threads.set_disabled(thread.thread_id, disabled=True)
            self._store.jobs.set_gates({thread.thread_id: Gate.DISABLED}, now=self._clock.now())
            self._store.jobs.give_back(lease, now=self._clock.now())
            return None
        # As it is in force by now: a person may have changed it since the run began.
        config = self._settings.in_force().config_for(scope=thread.scope, thread_id=thread.thread_id)
        if not config.settings.generate_memories:
            apply_gates(self._config, self._store, self._clock, force=work.force)
            self._store.jobs.give_back(lease, now=self._clock.now())
            return None
        share = self._store.lineage.share_of(thread.thread_id)
        reading = read_events(
            thread.rollout,
            self._config.sources.of(thread.agent).home,
            max_bytes=self._config.gates.max_rollout_bytes,
            own=OwnPart(foreign_hashes=share.foreign_hashes, own_from_byte=share.own_from_byte),
        )
        builder = EvidenceBuilder(
            window_tokens=self._window_tokens(),
            withhold_external=config.gates.external_context != "include",
            memory_folders=self._memory_folders,
            forgotten=Forgotten(thread_id=thread.thread_id, tombstones=tombstones),
        )
        evidence = build_evidence(
            reading, thread, builder, is_complete=lambda: not reading.skipped_lines, hash_lines=reading.hash_lines
        )
        if reading.understood_lines == 0:
            raise RolloutError(f"{thread.rollout_path}: no line of it is understood")
        if work.is_lost(lease):
            return None
        sent = _cut_again(evidence, lease)
        answer = self._extract(sent, deadline=time.monotonic() + self._deadline_seconds())
        if sent is not evidence:
            answer = replace(answer, saw_all_rows=False)
        answer = under_goal(answer, evidence)
        extraction = check_answer(answer, evidence, scope_at=TurnScopes(self._store, thread).at)
        is_partial = extraction.coverage is Coverage.PARTIAL
        earlier = self._store.extractions.get(thread.thread_id) if is_partial or not tombstones.is_empty else None
        if is_partial:
            extraction = keep_earlier_entries(extraction, earlier)
        if not tombstones.is_empty:
            extraction = keep_spared_entries(extraction, earlier, tombstones)
        return with_one_statement(extraction, thread.agent)

    def _window_tokens(self) -> int:
        """Return what may go into one request: what the model takes, and what one job may cost."""
        window = self._config.model.context_window_tokens
        return min(window, self._config.phase1.max_tokens_per_job) if self._config.model.is_paid else window

    def _deadline_seconds(self) -> float:
        # One answer, and the retries that are worth it; heartbeats keep the lease alive meanwhile.
        return min(2 * self._config.model.timeout_seconds + 10, self._config.phase1.max_seconds_per_job)

    def _is_providers_fault(self, lease: Lease, error: Exception, work: _Work) -> bool:
        """Whether a useless answer tells of the provider: many threads in a row got the same, or it rested for that."""
        if not isinstance(error, AnswerError) or not self._config.model.is_paid:
            return False
        if str(error).startswith(TOO_LONG_PREFIX):  # that is the session, and the next try sends less of it
            return False
        in_a_row = work.note_useless(lease.thread.thread_id, str(error))
        rest = self._store.jobs.provider_rest(self._config.model.provider)
        return in_a_row >= USELESS_ANSWERS_IN_A_ROW or (rest.failures > 0 and (rest.reason or "").startswith(_USELESS))

    def _store_provider_fault(self, lease: Lease, error: ProviderError) -> bool:
        """Store a fault of the provider, or of the thread where others succeed; false when the lease was lost."""
        now = self._clock.now()
        provider = self._config.model.provider
        rest = self._store.jobs.provider_rest(provider)
        others_succeed = rest.last_success_at is not None and rest.failures == 0
        if error.per_thread_suspect and lease.provider_faults + 1 >= SUSPECT_FROM_FAULT and others_succeed:
            return self._store_thread_fault(lease, str(error))
        is_resting = rest.rest_until is not None and rest.rest_until > now
        in_a_row = rest.failures if is_resting else rest.failures + 1
        wait = max(self._backoff_seconds(in_a_row), error.retry_after_seconds or 0.0)
        return self._store.jobs.fail_provider(lease, str(error), provider=provider, now=now, retry_at=now + wait)

    def _store_thread_fault(self, lease: Lease, message: str, *, is_final: bool = False) -> bool:
        """Store a fault of the thread; false when the lease was lost. After a final one no try is left."""
        now = self._clock.now()
        return self._store.jobs.fail(
            lease,
            message,
            now=now,
            retry_at=now + self._backoff_seconds(lease.attempt),
            max_attempts=lease.attempt if is_final else self._config.phase1.max_attempts,
        )

    def _backoff_seconds(self, attempt: int) -> float:
        """Exponential, with up to a quarter of jitter on top, so that many threads don't come back at once."""
        limits = self._config.phase1
        wait = min(limits.backoff_base_seconds * 2.0 ** min(attempt - 1, 40), limits.backoff_max_seconds)
        return wait * (1 + 0.25 * self._jitter())

    def _raise_if_stopped(self) -> None:
        if self._stop.is_set():
            raise InterruptedRunError("stopped: what was in flight has been given back")

    def _counts(self, discovery: Discovery, eligible: int, work: _Work, seconds: float) -> Phase1Counts:
        problems = [*discovery.problems, *work.problems]
        if work.rest_until is not None:
            reason = self._store.jobs.provider_rest(self._config.model.provider).reason or "it failed"
            problems.append(
                f"the model provider rests until {iso(work.rest_until)}: {reason}; "
                "nothing is sent before that (`memory-pipeline threads retry THREAD` asks at once)"
            )
        return Phase1Counts(
            discovered=discovery.threads,
            eligible=eligible,
            claimed=work.claimed,
            succeeded=work.outcomes.get("succeeded", 0),
            no_output=work.outcomes.get("no_output", 0),
            failed=work.outcomes.get("failed", 0),
            skipped=self._store.threads.gate_counts(),
            input_tokens=work.input_tokens,
            output_tokens=work.output_tokens,
            seconds=seconds,
            problems=tuple(problems),
        )


class _NothingLeftToCutError(AnswerError):
    """The session is too long for the model however much of it is left out: no further try can do better."""


def _why_never(lease: Lease, error: Exception) -> str | None:
    """Return why no waiting helps this session, None where it does, or where its last error has to be kept."""
    is_too_large = isinstance(error, BudgetHoldError) and error.is_too_large
    has_to_be_cut = (lease.thread.last_error or "").startswith(TOO_LONG_PREFIX)  # see _cut_again
    return str(error) if is_too_large and not has_to_be_cut else None


def _cut_again(evidence: Evidence, lease: Lease) -> Evidence:
    """Return less of the evidence than the tries before sent, where it was too long for them; else all of it.

    Each try sends at most half, and then half of that: the same oversized request is never sent again.

    Raises:
        _NothingLeftToCutError: nothing is left to cut.
    """
    if lease.attempt == 1 or not (lease.thread.last_error or "").startswith(TOO_LONG_PREFIX):
        return evidence
    for _ in range(2 * (lease.attempt - 1)):
        shorter = shorten(evidence)
        if shorter is None:
            raise _NothingLeftToCutError(f"{TOO_LONG_PREFIX} for the model, and nothing is left to cut")
        evidence = shorter
    return evidence


class _Work(Struct, kw_only=True, dict=True):
    """What the workers of one run share."""

    limit: int | None
    total: int
    force: bool
    on_progress: Progress | None
    workers: int = 1  # those that still take turns
    claimed: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    input_tokens: int = 0
    output_tokens: int = 0
    rest_until: float | None = None
    budget_is_spent: bool = False
    problems: list[str] = field(default_factory=list)
    surprise: Exception | None = None
    finished: threading.Event = field(default_factory=threading.Event)
    _useless: str = ""  # what the answers in a row have in common
    _useless_threads: set[str] = field(default_factory=set)
    _turns: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _leases: dict[str, Lease] = field(default_factory=dict)
    _lost: set[tuple[str, int]] = field(default_factory=set)
    _ended: int = 0
    _ended_before: dict[str, int] = field(default_factory=dict)  # how many had ended when a thread's job began

    def take_turn(self) -> bool:
        """Whether one more job may be claimed in this run."""
        with self._lock:
            if (
                self.budget_is_spent
                or self.surprise is not None
                or (self.limit is not None and self._turns >= self.limit)
            ):
                return False
            self._turns += 1
            return True

    def give_turn_back(self) -> None:
        """Let a turn that cost nothing be another session's."""
        with self._lock:
            self._turns -= 1

    def started(self, lease: Lease) -> None:
        """Note that a job is in flight."""
        with self._lock:
            self.claimed += 1
            self._leases[lease.thread.thread_id] = lease
            self._ended_before[lease.thread.thread_id] = self._ended

    def ended(self, lease: Lease) -> None:
        """Note that a job is no longer in flight."""
        with self._lock:
            self._leases.pop(lease.thread.thread_id, None)
            self._ended += 1
            done = self.claimed - len(self._leases)
        if self.on_progress:
            self.on_progress(done, max(self.total, done))

    def others_ended_since(self, lease: Lease) -> bool:
        """Whether a job has ended since this one, which is still in flight, began."""
        with self._lock:
            return self._ended > self._ended_before[lease.thread.thread_id]

    def in_flight(self) -> list[Lease]:
        """Return the leases of the jobs in flight."""
        with self._lock:
            return list(self._leases.values())

    def note_lost(self, leases: list[Lease]) -> None:
        """Note leases that another run took over."""
        with self._lock:
            self._lost.update((lease.thread.thread_id, lease.fence) for lease in leases)

    def is_lost(self, lease: Lease) -> bool:
        """Whether a lease is known to be lost."""
        with self._lock:
            return (lease.thread.thread_id, lease.fence) in self._lost

    def note_useless(self, thread_id: str, reason: str) -> int:
        """Note an answer that can't be used; returns how many threads in a row got one for the same reason."""
        with self._lock:
            if reason != self._useless:
                self._useless, self._useless_threads = reason, set()
            self._useless_threads.add(thread_id)
            return len(self._useless_threads)

    def count(self, outcome: str, input_tokens: int = 0, output_tokens: int = 0) -> None:
        """Count one ended job."""
        with self._lock:
            if outcome != "failed":
                self._useless_threads.clear()
            self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
            self.input_tokens += input_tokens
            self.output_tokens += output_tokens

    def tell(self, problem: str) -> None:
        """Keep a sentence for the person, once."""
        with self._lock:
            if problem not in self.problems:
                self.problems.append(problem)

    def leave(self, project: str | None) -> bool:
        """Let one worker end and its turn be another's.

        False when it is the last one, or nothing else is in flight: of the project, or (None) at all.
        """
        with self._lock:
            beside = [lease for lease in self._leases.values() if project in (None, lease.thread.scope)]
            if self.workers <= 1 or len(beside) <= 1:
                return False
            self.workers -= 1
            self._turns -= 1
            return True

    def hold(self, reason: str) -> None:
        """Claim nothing more in this run: the budget is spent."""
        with self._lock:
            if not self.budget_is_spent:
                self.problems.append(reason)
            self.budget_is_spent = True
