"""Whatever happens in whatever order: one live owner a job, bounded tries, nothing stale written, no job lost."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from fresh_database import lay_database
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from store_samples import LEASE_SECONDS, MAX_ATTEMPTS, NOW, ask, enqueue, extraction, statements_of, thread_of

from memory_pipeline.records import ClaimOutcome, Gate, Lease
from memory_pipeline.store.store import Store

NAMES = ("a", "b")
PROVIDER = "openai"
PICK = st.integers(min_value=0, max_value=7)


@dataclass
class Expected:
    """What the model of the test knows of one thread."""

    digest: int = 1
    job_digest: int = 1  # the content that the job is about
    state: str = "pending"
    attempts: int = 0
    due_at: float = 0.0  # of an error
    gated: bool = False
    present: bool = True
    said: tuple[str, ...] = ()
    holder: Lease | None = None
    ends_at: float = 0.0

    def is_held(self, now: float) -> bool:
        return self.holder is not None and now < self.ends_at


class JobsMachine(RuleBasedStateMachine):
    """Drives the real store beside a small model of what must hold."""

    @initialize()
    def open(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="jobs-machine-"))
        self.store = Store(lay_database(self.folder / "memory.db"))
        self.now = NOW
        self.rest_until = 0.0
        self.threads = {name: Expected() for name in NAMES}
        self.leases: list[Lease] = []  # every lease ever given, live and stale
        self.written = 0
        self.watermark = 0.0
        enqueue(self.store, *NAMES)

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.folder)

    # --- time, sources, people ---

    @rule(seconds=st.sampled_from([1.0, LEASE_SECONDS / 2, LEASE_SECONDS]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(name=st.sampled_from(NAMES))
    def source_grows(self, name: str) -> None:
        known = self.threads[name]
        known.digest += 1
        known.present = True
        was_gated = known.gated
        # The words of one thread are older than those of the other, whichever is completed first.
        updated_at = NOW - 5_000 - (1_000 if name == "b" else 0)
        enqueue(self.store, name, content_digest=f"digest-{known.digest}", updated_at=updated_at)
        self._gate_opens(name)
        self.gate_is_set(name, was_gated)

    @rule(name=st.sampled_from(NAMES), gated=st.booleans())
    def gate_is_set(self, name: str, gated: bool) -> None:
        self.store.jobs.set_gates({name: Gate.TOO_RECENT if gated else None})
        if gated:
            self.threads[name].gated = True
        else:
            self._gate_opens(name)

    @rule(name=st.sampled_from(NAMES), present=st.booleans())
    def file_comes_or_goes(self, name: str, present: bool) -> None:
        path = thread_of(self.store, name).rollout_path
        self.store.threads.record_presence(returned=[path] * present, vanished=[path] * (not present))
        self.threads[name].present = present

    @rule(name=st.sampled_from(NAMES))
    def person_retries(self, name: str) -> None:
        known = self.threads[name]
        assert self.store.jobs.retry(name) is (known.state != "running")
        if known.state != "running":
            known.state, known.attempts = "pending", 0

    # --- workers ---

    @rule()
    def worker_claims(self) -> None:
        claim = ask(self.store, now=self.now, provider=PROVIDER)
        if self.now < self.rest_until:
            assert claim.outcome is ClaimOutcome.RESTING
            return
        self._settle_dead()
        due = {name for name in NAMES if self._is_due(name)}
        if claim.lease is None:
            assert not due, "a due job was not handed out"
            return
        name = claim.lease.thread.thread_id
        assert name in due, "a job was handed out that was not due"
        known = self.threads[name]
        assert not known.is_held(self.now), "two live owners"
        is_new = known.job_digest != known.digest
        known.attempts = 1 if is_new else known.attempts + 1
        known.job_digest = known.digest
        known.state, known.holder, known.ends_at = "running", claim.lease, self.now + LEASE_SECONDS
        assert claim.lease.attempt == known.attempts
        assert all(claim.lease.fence > old.fence for old in self.leases if old.thread.thread_id == name)
        self.leases.append(claim.lease)

    @precondition(lambda self: self.leases)
    @rule(pick=PICK)
    def worker_beats(self, pick: int) -> None:
        held, known, is_owner = self._lease(pick)
        kept = self.store.jobs.heartbeat([held], now=self.now, lease_seconds=LEASE_SECONDS)
        assert (held.thread.thread_id in kept) is is_owner
        if is_owner:
            known.ends_at = self.now + LEASE_SECONDS

    @precondition(lambda self: self.leases)
    @rule(pick=PICK, empty=st.booleans())
    def worker_completes(self, pick: int, empty: bool) -> None:
        held, known, is_owner = self._lease(pick)
        self.written += 1
        said = () if empty else (f"Statement {self.written} stands.",)
        done = self.store.jobs.complete(held, extraction(held.thread.thread_id, said), now=self.now, provider=PROVIDER)
        assert done is is_owner
        if is_owner:
            known.state, known.said, known.holder = ("no_output" if empty else "done"), said, None
            self.rest_until = 0.0

    @precondition(lambda self: self.leases)
    @rule(pick=PICK)
    def worker_fails(self, pick: int) -> None:
        held, known, is_owner = self._lease(pick)
        retry_at = self.now + 60
        assert self.store.jobs.fail(held, "bad", now=self.now, retry_at=retry_at, max_attempts=MAX_ATTEMPTS) is is_owner
        if is_owner:
            known.state = "exhausted" if known.attempts >= MAX_ATTEMPTS else "error"
            known.due_at, known.holder = retry_at, None

    @precondition(lambda self: self.leases)
    @rule(pick=PICK)
    def provider_fails(self, pick: int) -> None:
        held, known, is_owner = self._lease(pick)
        retry_at = self.now + 60
        assert (
            self.store.jobs.fail_provider(held, "429", provider=PROVIDER, now=self.now, retry_at=retry_at) is is_owner
        )
        if is_owner:
            known.state, known.due_at, known.holder = "error", retry_at, None
            known.attempts -= 1
            self.rest_until = max(self.rest_until, retry_at)

    @precondition(lambda self: self.leases)
    @rule(pick=PICK)
    def worker_gives_back(self, pick: int) -> None:
        held, known, is_owner = self._lease(pick)
        assert self.store.jobs.give_back(held) is is_owner
        if is_owner:
            known.state, known.holder = "pending", None
            known.attempts -= 1

    # --- what always holds ---

    @invariant()
    def store_and_model_agree(self) -> None:
        for name, known in self.threads.items():
            thread = thread_of(self.store, name)
            assert thread.job_state == known.state
            assert thread.attempts == known.attempts
            assert 0 <= thread.attempts <= MAX_ATTEMPTS
            assert tuple(statements_of(self.store, name)) == known.said
            if known.state == "error":
                assert thread.retry_at == known.due_at

    @invariant()
    def watermarks_never_fall(self) -> None:
        """Not even when a job is completed that is about older words than the one before."""
        with closing(sqlite3.connect(self.folder / "memory.db")) as connection:
            (value,) = connection.execute("SELECT coalesce(max(value), 0) FROM watermarks").fetchone()
        assert value >= self.watermark
        self.watermark = value

    @invariant()
    def no_job_is_lost(self) -> None:
        """Every thread is done, exhausted, held, behind a gate, gone from disk, or will be due again."""
        due = self.store.jobs.count_due(now=self.now + 10 * LEASE_SECONDS)
        waiting = [
            name
            for name, known in self.threads.items()
            if known.state in ("pending", "error", "running") and not known.gated and known.present
        ]
        assert due == len(waiting)

    def _lease(self, pick: int) -> tuple[Lease, Expected, bool]:
        held = self.leases[-1 - pick % len(self.leases)]
        known = self.threads[held.thread.thread_id]
        return held, known, known.holder is not None and known.holder.fence == held.fence

    def _is_due(self, name: str) -> bool:
        known = self.threads[name]
        if known.gated or not known.present:
            return False
        return (
            known.state == "pending"
            or (known.state == "error" and known.due_at <= self.now)
            or (known.state == "running" and not known.is_held(self.now))
        )

    def _settle_dead(self) -> None:
        for known in self.threads.values():
            if known.state == "running" and not known.is_held(self.now):
                if known.attempts >= MAX_ATTEMPTS:
                    known.state, known.holder = "exhausted", None
                elif known.gated or not known.present:
                    known.state, known.holder = "pending", None

    def _gate_opens(self, name: str) -> None:
        known = self.threads[name]
        known.gated = False
        if known.digest != known.job_digest and known.state != "running" and known.present:
            known.job_digest = known.digest
            known.state, known.attempts = "pending", 0


JobsMachine.TestCase.settings = settings(
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestJobsMachine = JobsMachine.TestCase
