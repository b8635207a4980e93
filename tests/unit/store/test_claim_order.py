"""Which job is claimed next, against a plain model of the rule; and that finding it looks at few jobs."""

from __future__ import annotations

import sqlite3
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from sqlite_utils import Database
from store_samples import LEASE_SECONDS, MAX_ATTEMPTS, NOW, ask, enqueue, lease

from memory_pipeline.records import ClaimOutcome, Gate
from memory_pipeline.store.migrations import SCHEMA_VERSION, schema_steps
from memory_pipeline.store.store import Store

LONG = 10 * LEASE_SECONDS


class Job(Struct, kw_only=True, dict=True):
    """One job as the rule sees it."""

    name: str
    words_at: float
    fate: str  # what happened to it before
    wait: float = 0.0  # until it is due once more, from NOW
    is_gated: bool = False

    def is_due(self, now: float) -> bool:
        """Whether a claim may take it."""
        if self.is_gated:
            return False
        return self.fate == "waits" or NOW + (LEASE_SECONDS if self.fate == "leased" else self.wait) <= now

    def turn(self) -> tuple[bool, float, str]:
        """Its place among the due ones: newest words first, but those that a provider failed on last."""
        return (self.fate == "yields", -self.words_at, self.name)


_JOBS = st.lists(
    st.builds(
        Job,
        name=st.integers(0, 9).map("t{}".format),
        words_at=st.sampled_from([NOW - 9_000, NOW - 8_000, NOW - 7_000]),
        fate=st.sampled_from(["waits", "failed", "yields", "leased"]),
        wait=st.sampled_from([1.0, LEASE_SECONDS, LONG]),
        is_gated=st.booleans(),
    ),
    max_size=10,
    unique_by=lambda job: job.name,
)


@settings(max_examples=60, deadline=None)
@given(jobs=_JOBS, nows=st.lists(st.sampled_from([NOW, NOW + 1, NOW + LEASE_SECONDS, NOW + LONG]), max_size=12))
def test_the_next_job_is_the_one_that_the_rule_names(jobs: list[Job], nows: list[float]) -> None:
    """Whatever waits, failed, was left running or is gated, and however the clock jumps: the model names the same."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "memory.db")
        # Those that wait come last, so that no claim for another one takes them.
        for job in sorted(jobs, key=lambda job: job.fate == "waits"):
            _bring_about(store, job)
        store.jobs.set_gates({job.name: Gate.TOO_RECENT for job in jobs if job.is_gated})
        left = {job.name: job for job in jobs}
        for now in nows:
            due = sorted((job for job in left.values() if job.is_due(now)), key=Job.turn)
            assert store.jobs.count_due(now=now) == len(due)
            claim = ask(store, now=now)
            assert (claim.lease.thread.thread_id if claim.lease else None) == (due[0].name if due else None)
            if claim.lease is not None:
                # It is done; one that was merely left running would come back.
                assert store.jobs.fail(claim.lease, "no", now=now, retry_at=now, max_attempts=1)
                del left[due[0].name]
        store.close()


def _bring_about(store: Store, job: Job) -> None:
    enqueue(store, job.name, updated_at=job.words_at)
    if job.fate == "waits":
        return
    held = lease(store)
    assert held.thread.thread_id == job.name
    if job.fate == "failed":
        store.jobs.fail(held, "no", now=NOW, retry_at=NOW + job.wait, max_attempts=MAX_ATTEMPTS)
    elif job.fate == "yields":
        store.jobs.fail_provider(held, "no", provider="openai", now=NOW, retry_at=NOW + job.wait)


def test_a_claim_looks_at_no_more_jobs_however_many_there_are(store: Store) -> None:
    """Beside jobs that wait, failed ones and leased ones, it takes no more steps among many than among few."""
    _add_of_each(store, range(20))
    few = _steps_of_a_claim(store)
    _add_of_each(store, range(20, 400))
    assert _steps_of_a_claim(store) < 1.5 * few
    assert few > 0


def test_waits_that_end_together_are_looked_at_once(store: Store) -> None:
    """The claim after they end brings them all into their turn; the next ones find theirs at once."""
    _add_of_each(store, range(200))
    later = NOW + LONG + 1
    first = _steps_of_a_claim(store, now=later)
    assert _steps_of_a_claim(store, now=later) < first / 5


def _add_of_each(store: Store, numbers: range) -> None:
    """Add threads of three sorts: waiting ones, failed ones that wait for their next try, and leased ones."""
    for number in numbers:
        enqueue(store, f"failed-{number:03}", f"leased-{number:03}", updated_at=NOW - 5_000)
    while (claim := ask(store)).lease is not None:
        if claim.lease.thread.thread_id.startswith("failed"):
            store.jobs.fail(claim.lease, "no", now=NOW, retry_at=NOW + LONG, max_attempts=MAX_ATTEMPTS)
        else:
            store.jobs.heartbeat([claim.lease], now=NOW, lease_seconds=2 * LONG)
    enqueue(store, *(f"waits-{number:03}" for number in numbers), updated_at=NOW - 5_000)


def _steps_of_a_claim(store: Store, *, now: float = NOW) -> int:
    """Count what SQLite does for one claim, in steps of its own machine."""
    connection = store.jobs._connect()
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    connection.set_progress_handler(count, 10)
    claim = ask(store, now=now)
    connection.set_progress_handler(None, 0)
    assert claim.outcome is ClaimOutcome.CLAIMED
    return steps


def test_a_database_from_before_the_index_by_turn_keeps_its_jobs_and_their_order(tmp_path: Path) -> None:
    """What waited, failed or was leased is claimed in the same order once the step was applied."""
    now = Store(tmp_path / "now.db")
    for job in (
        Job(name="failed", words_at=NOW - 6_000, fate="failed", wait=1.0),
        Job(name="leased", words_at=NOW - 7_000, fate="leased"),
        Job(name="yields", words_at=NOW - 5_000, fate="yields", wait=1.0),
        Job(name="waits", words_at=NOW - 8_000, fate="waits"),
    ):
        _bring_about(now, job)
    now.close()
    path = tmp_path / "memory.db"
    older = sqlite3.connect(path, isolation_level=None)
    schema_steps().apply(Database(older), stop_before="turns_and_looks")
    older.execute(f"PRAGMA user_version = {SCHEMA_VERSION - len(schema_steps().pending(Database(older)))}")
    older.execute("ATTACH ? AS now", (str(tmp_path / "now.db"),))
    for table in ("threads", "jobs"):
        columns = ", ".join(row[1] for row in older.execute(f"PRAGMA main.table_info({table})"))
        older.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM now.{table}")
    older.close()
    store = Store(path)
    claimed = [lease(store, now=NOW + LEASE_SECONDS).thread.thread_id for _ in range(4)]
    assert claimed == ["failed", "leased", "waits", "yields"]
    store.close()
