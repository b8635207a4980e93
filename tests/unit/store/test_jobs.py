"""Jobs: claimed once, fenced, given back, retried within bounds; a provider's fault is not the thread's."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from reviewed import pass_review
from store_samples import (
    LEASE_SECONDS,
    MAX_ATTEMPTS,
    NOW,
    SCOPE,
    ask,
    enqueue,
    entry,
    extraction,
    index,
    lease,
    rollout_file,
    statements_of,
    thread_of,
)

from memory_pipeline.clock import LONGEST_WAIT_SECONDS
from memory_pipeline.records import ClaimOutcome, Gate, JobState, Lease
from memory_pipeline.store.store import Store

AFTER_LEASE = NOW + LEASE_SECONDS


# --- claiming ---------------------------------------------------------------------------------------------------------


def test_newest_words_are_claimed_first(store: Store) -> None:
    """Jobs come by the time of their threads' last words, newest first, then by id."""
    enqueue(store, "old", updated_at=NOW - 9_000)
    enqueue(store, "new", updated_at=NOW - 1_000)
    enqueue(store, "mid-b", "mid-a", updated_at=NOW - 5_000)
    assert [lease(store).thread.thread_id for _ in range(4)] == ["new", "mid-a", "mid-b", "old"]


def test_nothing_due_is_an_answer(store: Store) -> None:
    """An empty queue answers, and what is leased already is not due."""
    assert ask(store).outcome is ClaimOutcome.NOTHING_DUE
    enqueue(store, "a")
    lease(store)
    assert ask(store).outcome is ClaimOutcome.NOTHING_DUE


def test_a_lease_tells_who_holds_what_until_when(store: Store) -> None:
    """The lease names its thread, owner, attempt, fence and end."""
    enqueue(store, "a")
    held = lease(store, owner="me")
    assert (held.thread.thread_id, held.owner, held.attempt, held.fence) == ("a", "me", 1, 1)
    assert held.lease_until == NOW + LEASE_SECONDS
    assert held.thread.state is JobState.RUNNING


def test_threads_claim_each_job_once(store: Store) -> None:
    """Many workers of one program never hold the same job."""
    names = [f"t{number:02}" for number in range(40)]
    enqueue(store, *names)
    barrier = threading.Barrier(4)

    def work(_: int) -> list[str]:
        barrier.wait(timeout=30)
        mine = []
        while (claim := ask(store)).lease is not None:
            mine.append(claim.lease.thread.thread_id)
        return mine

    with ThreadPoolExecutor(4) as pool:
        claimed = [name for mine in pool.map(work, range(4)) for name in mine]
    assert sorted(claimed) == names


_CLAIM_ALL = """
import sys
from pathlib import Path
from memory_pipeline.store.store import Store

store = Store(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
while True:
    claim = store.jobs.claim(owner=sys.argv[2], now=float(sys.argv[3]), lease_seconds=120.0, max_attempts=3)
    if claim.lease is None:
        break
    print(claim.lease.thread.thread_id, claim.lease.fence)
store.close()
"""


def test_processes_claim_each_job_once(store: Store) -> None:
    """Two runs share the work: every job is leased exactly once, with the first fence token."""
    names = [f"t{number:02}" for number in range(30)]
    enqueue(store, *names)
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", _CLAIM_ALL, str(store.path), f"run-{number}", str(NOW)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    told = "".join(worker.communicate(timeout=60)[0] for worker in workers)
    assert sorted(told.splitlines()) == [f"{name} 1" for name in names]


# --- the fence --------------------------------------------------------------------------------------------------------


def _complete(store: Store, held: Lease, now: float) -> bool:
    return store.jobs.complete(held, extraction(held.thread.thread_id, ["Use tabs in this project."]), now=now)


def _fail(store: Store, held: Lease, now: float) -> bool:
    return store.jobs.fail(held, "stale", now=now, retry_at=now + 1, max_attempts=MAX_ATTEMPTS)


def _fail_provider(store: Store, held: Lease, now: float) -> bool:
    return store.jobs.fail_provider(held, "stale", provider="openai", now=now, retry_at=now + 9_000)


def _give_back(store: Store, held: Lease, _now: float) -> bool:
    return store.jobs.give_back(held)


def _beat(store: Store, held: Lease, now: float) -> bool:
    return bool(store.jobs.heartbeat([held], now=now + 9_000, lease_seconds=LEASE_SECONDS))


Write = Callable[[Store, Lease, float], bool]
WRITES: list[Write] = [_complete, _fail, _fail_provider, _give_back, _beat]


def _whole_database(store: Store) -> list[str]:
    import sqlite3

    plain = sqlite3.connect(store.path)
    try:
        return list(plain.iterdump())
    finally:
        plain.close()


@pytest.mark.parametrize("write", WRITES)
def test_stale_owner_writes_nothing_while_another_works(store: Store, write: Write) -> None:
    """Once a job was taken over, every completing write of the old owner is refused and changes no row."""
    enqueue(store, "a")
    stale = lease(store)
    fresh = lease(store, now=AFTER_LEASE, owner="two")
    before = _whole_database(store)
    assert write(store, stale, AFTER_LEASE + 1) is False
    assert _whole_database(store) == before
    assert fresh.fence > stale.fence
    assert _complete(store, fresh, AFTER_LEASE + 2) is True


@pytest.mark.parametrize("write", WRITES)
def test_stale_owner_writes_nothing_after_the_end(store: Store, write: Write) -> None:
    """A job that another owner completed stays as it is, with what that owner stored."""
    enqueue(store, "a")
    stale = lease(store)
    fresh = lease(store, now=AFTER_LEASE, owner="two")
    assert store.jobs.complete(fresh, extraction("a", ["Run make lint."]), now=AFTER_LEASE + 1)
    before = _whole_database(store)
    assert write(store, stale, AFTER_LEASE + 2) is False
    assert _whole_database(store) == before
    assert statements_of(store, "a") == ["Run make lint."]


@pytest.mark.parametrize("write", WRITES)
def test_an_owner_that_gave_back_writes_nothing(store: Store, write: Write) -> None:
    """After a job was given back, its worker's late result does not count, though nobody holds the job."""
    enqueue(store, "a")
    held = lease(store)
    assert store.jobs.give_back(held)
    before = _whole_database(store)
    assert write(store, held, NOW + 1) is False
    assert _whole_database(store) == before


def test_fence_rises_with_every_claim(store: Store) -> None:
    """No two leases of one job share a token, however the job came back, a changed source included."""
    enqueue(store, "a")
    fences = []
    for number in range(3):
        held = lease(store, now=NOW + number)
        fences.append(held.fence)
        assert store.jobs.give_back(held)
    held = lease(store, now=NOW + 9)
    fences.append(held.fence)
    assert _complete(store, held, NOW + 9)
    enqueue(store, "a", content_digest="digest-2")
    fences.append(lease(store, now=NOW + 10).fence)
    assert fences == sorted(set(fences))


# --- leases -----------------------------------------------------------------------------------------------------------


def test_lease_is_not_claimable_before_it_runs_out(store: Store) -> None:
    """One instant before its end a lease still excludes everybody."""
    enqueue(store, "a")
    lease(store)
    assert ask(store, now=AFTER_LEASE - 0.001, owner="two").lease is None


def test_expired_lease_can_be_reclaimed_at_once_and_used_a_try(store: Store) -> None:
    """A dead worker's job is due the moment its lease ends, without backoff, as the next attempt."""
    enqueue(store, "a")
    lease(store)
    second = lease(store, now=AFTER_LEASE, owner="two")
    assert (second.attempt, second.owner) == (2, "two")


def test_dead_workers_exhaust_a_thread(store: Store) -> None:
    """A thread that kills its workers is not tried for ever; the row says why."""
    enqueue(store, "a")
    for number in range(MAX_ATTEMPTS):
        assert lease(store, now=NOW + number * LEASE_SECONDS).attempt == number + 1
    assert ask(store, now=NOW + MAX_ATTEMPTS * LEASE_SECONDS).outcome is ClaimOutcome.NOTHING_DUE
    thread = thread_of(store, "a")
    assert thread.state is JobState.EXHAUSTED
    assert thread.last_error is not None
    assert "died" in thread.last_error


def test_heartbeat_extends_the_lease(store: Store) -> None:
    """A job whose worker is alive is not taken over when its first lease would have ended."""
    enqueue(store, "a", "b")
    first, second = lease(store), lease(store)
    held = store.jobs.heartbeat([first, second], now=NOW + 100, lease_seconds=LEASE_SECONDS)
    assert held == {"a", "b"}
    assert ask(store, now=AFTER_LEASE).lease is None
    assert ask(store, now=NOW + 100 + LEASE_SECONDS, owner="two").lease is not None


def test_heartbeat_tells_which_lease_was_lost(store: Store) -> None:
    """Of several leases only those still held come back."""
    enqueue(store, "a", "b")
    first, second = lease(store), lease(store)
    assert store.jobs.give_back(first)
    assert store.jobs.heartbeat([first, second], now=NOW, lease_seconds=1) == {second.thread.thread_id}


@pytest.mark.parametrize("gate", [Gate.DISABLED, Gate.ARCHIVED])
def test_a_dead_workers_job_behind_a_gate_no_longer_says_running(store: Store, gate: Gate) -> None:
    """When a gate closed while the worker died, the next look settles the row and hands it to nobody."""
    enqueue(store, "a")
    lease(store)
    store.jobs.set_gates({"a": gate})
    assert ask(store, now=AFTER_LEASE).lease is None
    assert thread_of(store, "a").job_state is JobState.PENDING
    store.jobs.set_gates({"a": None})
    assert lease(store, now=AFTER_LEASE).attempt == 2


# --- giving back, failing, retrying -----------------------------------------------------------------------------------


def test_given_back_job_is_pending_at_once_and_used_no_try(store: Store) -> None:
    """A stopped run costs its threads nothing."""
    enqueue(store, "a")
    for _ in range(MAX_ATTEMPTS + 2):
        held = lease(store)
        assert held.attempt == 1
        assert store.jobs.give_back(held)
        assert thread_of(store, "a").state is JobState.PENDING
        assert thread_of(store, "a").attempts == 0


def test_failed_job_waits_for_its_retry_and_used_a_try(store: Store) -> None:
    """A fault of the thread is stored with its reason and is due again at its time, not before."""
    enqueue(store, "a")
    assert store.jobs.fail(lease(store), "no JSON", now=NOW, retry_at=NOW + 60, max_attempts=MAX_ATTEMPTS)
    thread = thread_of(store, "a")
    assert (thread.state, thread.attempts, thread.retry_at, thread.last_error) == (
        JobState.ERROR,
        1,
        NOW + 60,
        "no JSON",
    )
    assert store.jobs.next_retry_at(now=NOW) == NOW + 60
    assert ask(store, now=NOW + 59.9).lease is None
    assert lease(store, now=NOW + 60).attempt == 2


def test_a_thread_without_tries_left_is_exhausted(store: Store) -> None:
    """Bounded retries end in a visible dead letter that no claim takes."""
    enqueue(store, "a")
    for number in range(MAX_ATTEMPTS):
        held = lease(store, now=NOW + number)
        assert store.jobs.fail(held, "bad", now=NOW + number, retry_at=NOW + number, max_attempts=MAX_ATTEMPTS)
    thread = thread_of(store, "a")
    assert (thread.state, thread.attempts, thread.retry_at) == (JobState.EXHAUSTED, MAX_ATTEMPTS, None)
    assert ask(store, now=NOW + 1e9).outcome is ClaimOutcome.NOTHING_DUE
    assert store.jobs.next_retry_at(now=NOW) is None


def test_a_person_gives_an_exhausted_thread_all_its_tries_again(store: Store) -> None:
    """Retrying forgets the error and the tries and makes the thread due at once."""
    enqueue(store, "a")
    for number in range(MAX_ATTEMPTS):
        store.jobs.fail(lease(store), "bad", now=NOW, retry_at=NOW, max_attempts=number + 1)
        store.jobs.retry("a")
    thread = thread_of(store, "a")
    assert (thread.state, thread.attempts, thread.last_error) == (JobState.PENDING, 0, None)
    assert lease(store).attempt == 1


def test_a_running_job_is_not_retried(store: Store) -> None:
    """Retrying what runs right now is refused, and so is what never passed a gate."""
    enqueue(store, "a")
    held = lease(store)
    assert store.jobs.retry("a") is False
    assert store.jobs.retry("unknown") is False
    assert _complete(store, held, NOW)


def test_retrying_a_gated_thread_does_not_pass_its_gate(store: Store) -> None:
    """A person's other go waits like everything else until the gate opens."""
    enqueue(store, "a")
    store.jobs.fail(lease(store), "bad", now=NOW, retry_at=NOW, max_attempts=MAX_ATTEMPTS)
    store.jobs.set_gates({"a": Gate.DISABLED})
    assert store.jobs.retry("a") is True
    assert ask(store).lease is None
    store.jobs.set_gates({"a": None})
    assert ask(store).lease is not None


# --- the source changes -----------------------------------------------------------------------------------------------


def test_a_source_that_grew_is_a_candidate_again_with_all_tries(store: Store) -> None:
    """New words wake a thread from every end, and its earlier failures no longer count."""
    enqueue(store, "a")
    for number in range(MAX_ATTEMPTS):
        store.jobs.fail(lease(store), "bad", now=NOW, retry_at=NOW, max_attempts=MAX_ATTEMPTS)
        assert thread_of(store, "a").attempts == number + 1
    enqueue(store, "a", content_digest="digest-2")
    thread = thread_of(store, "a")
    assert (thread.state, thread.attempts, thread.last_error, thread.source_digest) == (
        JobState.PENDING,
        0,
        None,
        "digest-2",
    )
    assert lease(store).attempt == 1


@pytest.mark.parametrize("statements", [["Run make lint."], []])
def test_an_unchanged_source_is_not_enqueued_again(store: Store, statements: list[str]) -> None:
    """What is done, also with nothing worth keeping, stays done when only the file's stamp changed."""
    enqueue(store, "a")
    assert store.jobs.complete(lease(store), extraction("a", statements), now=NOW)
    enqueue(store, "a", updated_at=NOW)
    assert thread_of(store, "a").state is (JobState.DONE if statements else JobState.NO_OUTPUT)
    assert ask(store).outcome is ClaimOutcome.NOTHING_DUE


def test_a_running_job_is_not_enqueued_again_while_its_source_grows(store: Store) -> None:
    """Its owner keeps its lease; the growth is work for the time after."""
    enqueue(store, "a")
    held = lease(store)
    enqueue(store, "a", content_digest="digest-2")
    assert thread_of(store, "a").state is JobState.RUNNING
    assert ask(store).lease is None
    assert _complete(store, held, NOW + 1)
    store.jobs.set_gates({"a": None})
    assert lease(store, now=NOW + 2).thread.content_digest == "digest-2"


def test_growth_under_a_dead_worker_is_extracted_once(store: Store) -> None:
    """The job taken over covers what the source says by then, with all its tries, and is not due a second time."""
    enqueue(store, "a")
    lease(store)
    enqueue(store, "a", content_digest="digest-2")
    second = lease(store, now=AFTER_LEASE, owner="two")
    assert second.attempt == 1
    assert _complete(store, second, AFTER_LEASE)
    store.jobs.set_gates({"a": None})
    assert thread_of(store, "a").state is JobState.DONE
    assert ask(store, now=AFTER_LEASE).lease is None


def test_a_gate_that_closes_withdraws_the_candidate(store: Store) -> None:
    """A pending or waiting job behind a gate is not claimed; it is again once the gate opens."""
    enqueue(store, "a", "b")
    store.jobs.fail(lease(store), "bad", now=NOW, retry_at=NOW, max_attempts=MAX_ATTEMPTS)
    store.jobs.set_gates({"a": Gate.TOO_RECENT, "b": Gate.RATE_LIMIT})
    assert ask(store).lease is None
    assert store.jobs.count_due(now=NOW) == 0
    store.jobs.set_gates({"a": None, "b": None})
    assert store.jobs.count_due(now=NOW) == 2


@pytest.mark.parametrize("provider_fails", [False, True])
def test_a_job_that_fails_behind_a_closed_gate_stays_behind_it(store: Store, provider_fails: bool) -> None:
    """A thread that was disabled while it was read is not sent to the model again when its wait is over."""
    enqueue(store, "a")
    held = lease(store)
    store.jobs.set_gates({"a": Gate.DISABLED})
    if provider_fails:
        assert store.jobs.fail_provider(held, "500", provider="openai", now=NOW, retry_at=NOW + 1)
    else:
        assert store.jobs.fail(held, "bad", now=NOW, retry_at=NOW + 1, max_attempts=MAX_ATTEMPTS)
    assert ask(store, now=NOW + 9_000).lease is None
    store.jobs.set_gates({"a": None})
    assert ask(store, now=NOW + 9_000).lease is not None


def test_a_vanished_source_is_no_candidate_until_it_returns(store: Store) -> None:
    """A job whose file is gone waits without being tried, and is due again when the file is back."""
    enqueue(store, "a")
    path = rollout_file("a").path
    store.threads.record_presence(returned=(), vanished=[path])
    assert ask(store).lease is None
    assert store.jobs.count_due(now=NOW) == 0
    store.threads.record_presence(returned=[path], vanished=())
    assert lease(store).attempt == 1


def test_a_vanished_source_that_turns_up_elsewhere_is_due_again(store: Store) -> None:
    """The job follows its file to the archive and is not lost on the way."""
    enqueue(store, "a")
    old = store.threads.seen_files()[rollout_file("a").path]
    store.threads.record_presence(returned=(), vanished=[old.path])
    store.threads.record_move(rollout_file("a", path="/home/sam/.codex/archived_sessions/a.jsonl", archived=True), old)
    assert lease(store).thread.rollout_path == "/home/sam/.codex/archived_sessions/a.jsonl"


def test_a_gated_thread_gets_no_job(store: Store) -> None:
    """A thread that never passed is shown as gated, with its reason."""
    index(store, "a")
    store.jobs.set_gates({"a": Gate.TOO_SHORT})
    thread = thread_of(store, "a")
    assert (thread.state, thread.gate, thread.job_state) == (JobState.GATED, Gate.TOO_SHORT, None)


@pytest.mark.parametrize(
    ("gate", "shown"),
    [
        (Gate.TOO_RECENT, JobState.DONE),
        (Gate.ARCHIVED, JobState.DONE),
        (Gate.DISABLED, JobState.GATED),
        (Gate.POLLUTED, JobState.GATED),
        (Gate.OWN_RUN, JobState.GATED),
        (Gate.SUBAGENT, JobState.GATED),
    ],
)
def test_a_gate_beside_done(store: Store, gate: Gate, shown: JobState) -> None:
    """Four gates turn a thread gated and withdraw its entries; the others leave what is done."""
    enqueue(store, "a")
    said = extraction("a", ["Run make lint."])
    assert store.jobs.complete(lease(store), said, now=NOW)
    pass_review(store, now=NOW)
    store.jobs.set_gates({"a": gate})
    thread = thread_of(store, "a")
    assert (thread.state, thread.gate) == (shown, gate)
    ids = [spoken.entry_id for task in said.tasks for spoken in task.entries]
    assert bool(store.extractions.standing_entries(ids)) is (shown is JobState.DONE)
    assert bool(store.extractions.select(limit=9)) is (shown is JobState.DONE)
    store.jobs.set_gates({"a": None})
    assert list(store.extractions.standing_entries(ids)) == ids


def test_a_gate_beside_a_grown_thread_shows_what_was_stored(store: Store) -> None:
    """A thread that was done, grew and failed shows its last stored outcome while a gate holds it back."""
    enqueue(store, "a")
    assert store.jobs.complete(lease(store), extraction("a", []), now=NOW)
    enqueue(store, "a", content_digest="digest-2")
    store.jobs.set_gates({"a": Gate.TOO_RECENT})
    assert thread_of(store, "a").state is JobState.NO_OUTPUT
    assert store.overview.states() == {"no_output": 1}


# --- providers --------------------------------------------------------------------------------------------------------


def test_a_providers_fault_uses_no_try_and_rests_everyone(store: Store) -> None:
    """Until the rest is over nobody gets a job of that provider, and then the thread has all its tries."""
    enqueue(store, "a", "b")
    held = lease(store, provider="openai")
    assert store.jobs.fail_provider(held, "429", provider="openai", now=NOW, retry_at=NOW + 60)
    thread = thread_of(store, "a")
    assert (thread.state, thread.attempts, thread.retry_at, thread.last_error) == (JobState.ERROR, 0, NOW + 60, "429")
    resting = ask(store, now=NOW + 59, provider="openai")
    assert (resting.outcome, resting.rest_until, resting.lease) == (ClaimOutcome.RESTING, NOW + 60, None)
    claimed = [lease(store, now=NOW + 60, provider="openai") for _ in range(2)]
    assert [(held.thread.thread_id, held.attempt) for held in claimed] == [("b", 1), ("a", 1)]
    assert [held.provider_faults for held in claimed] == [0, 1]


def test_a_resting_provider_binds_only_its_own_calls(store: Store) -> None:
    """Work that asks no provider, or another one, goes on."""
    enqueue(store, "a", "b")
    store.jobs.fail_provider(lease(store), "429", provider="openai", now=NOW, retry_at=NOW + 60)
    assert ask(store, provider=None).outcome is ClaimOutcome.CLAIMED


def test_a_longer_rest_is_not_shortened(store: Store) -> None:
    """A second fault of the same outage with an earlier end leaves the later one, and counts as the same failure."""
    enqueue(store, "a", "b")
    first, second = lease(store), lease(store)
    store.jobs.fail_provider(first, "429", provider="openai", now=NOW, retry_at=NOW + 600)
    store.jobs.fail_provider(second, "500", provider="openai", now=NOW, retry_at=NOW + 60)
    rest = store.jobs.provider_rest("openai")
    assert (rest.rest_until, rest.failures) == (NOW + 600, 1)


def test_failures_after_each_rest_are_counted_in_a_row(store: Store) -> None:
    """A provider that fails again after its rest has failed twice, so that the wait can grow."""
    enqueue(store, "a", "b")
    for number in (1, 2):
        now = NOW + number * 100
        store.jobs.fail_provider(lease(store, now=now), "500", provider="openai", now=now, retry_at=now + 60)
        assert store.jobs.provider_rest("openai").failures == number


def test_a_success_ends_the_rest(store: Store) -> None:
    """An answer shows that the provider works: the count of faults starts anew."""
    enqueue(store, "a", "b")
    first, second = lease(store), lease(store)
    store.jobs.fail_provider(first, "429", provider="openai", now=NOW, retry_at=NOW + 600)
    assert store.jobs.complete(second, extraction("b"), now=NOW + 1, provider="openai")
    rest = store.jobs.provider_rest("openai")
    assert (rest.rest_until, rest.failures, rest.last_success_at) == (None, 0, NOW + 1)


def test_a_person_ends_the_rest(store: Store) -> None:
    """Asking for another go asks the provider at once."""
    enqueue(store, "a")
    store.jobs.fail_provider(lease(store), "429", provider="openai", now=NOW, retry_at=NOW + 600)
    store.jobs.end_rest("openai")
    assert store.jobs.retry("a")
    assert lease(store, now=NOW + 1, provider="openai").attempt == 1


def test_a_thread_on_which_the_provider_fails_lets_the_others_go_first(store: Store) -> None:
    """One poisoned input, though the newest, can't starve the rest of the queue."""
    enqueue(store, "poison", updated_at=NOW)
    enqueue(store, "a", "b", "c", updated_at=NOW - 9_000)
    store.jobs.fail_provider(lease(store), "500", provider="openai", now=NOW, retry_at=NOW + 1)
    order = [lease(store, now=NOW + 2, provider="openai").thread.thread_id for _ in range(4)]
    assert order == ["a", "b", "c", "poison"]


# --- completing -------------------------------------------------------------------------------------------------------


def test_completion_stores_outcome_and_end_together(store: Store) -> None:
    """One transaction holds the end of the job, what was said, and the time of the source."""
    enqueue(store, "a")
    assert store.jobs.complete(lease(store), extraction("a", ["Run make lint."]), now=NOW + 5)
    stored = store.extractions.get("a")
    assert stored is not None
    assert (stored.generated_at, stored.source_updated_at) == (NOW + 5, thread_of(store, "a").updated_at)
    assert thread_of(store, "a").state is JobState.DONE
    assert thread_of(store, "a").extracted


def test_a_completion_that_can_not_be_stored_does_not_end_the_job(store: Store) -> None:
    """When storing what was said fails, the job is still running: no cursor moves without its result."""
    enqueue(store, "a")
    held = lease(store)
    unencodable = extraction("a", [entry("a", "Run \udc80 before you commit.")])
    with pytest.raises(UnicodeEncodeError):
        store.jobs.complete(held, unencodable, now=NOW)
    assert thread_of(store, "a").state is JobState.RUNNING
    assert store.extractions.get("a") is None
    assert _complete(store, held, NOW + 1)


def test_what_was_read_in_an_old_scope_is_stored_in_the_new_one(store: Store) -> None:
    """A thread whose project became known while it was being read says its entries there."""
    enqueue(store, "a")
    held = lease(store)
    store.threads.rescope({"/home/sam/shop": "project:example.org/other"})
    said = ["Run make lint.", entry("a", "Use spaces.", scope="project:/home/sam/elsewhere")]
    assert store.jobs.complete(held, extraction("a", said), now=NOW)
    scopes = {spoken.statement: spoken.scope for spoken in store.extractions.entries("a")}
    assert held.thread.scope == SCOPE
    assert scopes == {"Run make lint.": "project:example.org/other", "Use spaces.": "project:/home/sam/elsewhere"}


# --- clocks -----------------------------------------------------------------------------------------------------------


def test_waits_that_were_set_by_a_clock_far_ahead_come_to_an_end(store: Store) -> None:
    """A lease, a backoff and a provider's rest of another century hold nothing up once the clock is right."""
    ahead = NOW + 70 * 365 * 86_400
    enqueue(store, "leased", "failed", "rested")
    lease(store, now=ahead)
    assert store.jobs.fail(lease(store, now=ahead), "no", now=ahead, retry_at=ahead + 60, max_attempts=MAX_ATTEMPTS)
    assert store.jobs.fail_provider(lease(store, now=ahead), "no", provider="openai", now=ahead, retry_at=ahead + 60)
    assert ask(store, provider="openai").outcome is ClaimOutcome.RESTING
    store.jobs.shorten_waits(now=NOW)
    for _ in range(3):
        lease(store, provider="openai")


def test_waits_of_an_ordinary_length_are_left_alone(store: Store) -> None:
    """What waits hours or days goes on waiting."""
    enqueue(store, "a")
    assert store.jobs.fail(lease(store), "no", now=NOW, retry_at=NOW + 86_400, max_attempts=MAX_ATTEMPTS)
    store.jobs.shorten_waits(now=NOW)
    assert ask(store).outcome is ClaimOutcome.NOTHING_DUE


@pytest.mark.parametrize("wanted", [LONGEST_WAIT_SECONDS, 10 * LONGEST_WAIT_SECONDS])
def test_the_longest_wait_is_waited_to_its_end(store: Store, wanted: float) -> None:
    """What asks for a month, or for a year, is left in peace for a month, also by passes that look for wrong clocks."""
    enqueue(store, "failed", "rested")
    assert store.jobs.fail(lease(store), "no", now=NOW, retry_at=NOW + wanted, max_attempts=MAX_ATTEMPTS)
    assert store.jobs.fail_provider(lease(store), "no", provider="openai", now=NOW, retry_at=NOW + wanted)
    store.jobs.shorten_waits(now=NOW - 3_600)
    store.jobs.shorten_waits(now=NOW + 60)
    assert ask(store, now=NOW + LONGEST_WAIT_SECONDS - 1, provider="openai").outcome is ClaimOutcome.RESTING
    assert ask(store, now=NOW + LONGEST_WAIT_SECONDS - 1).outcome is ClaimOutcome.NOTHING_DUE
    for _ in range(2):
        lease(store, now=NOW + LONGEST_WAIT_SECONDS, provider="openai")


def test_a_job_is_held_by_its_owner_while_it_runs(store: Store) -> None:
    """Not by another, not by one that was taken over, and not once it is done."""
    enqueue(store, "a")
    lease(store, owner="one")
    assert store.jobs.is_held("a", owner="one")
    assert not store.jobs.is_held("a", owner="two")
    assert not store.jobs.is_held("nobody", owner="one")
    later = lease(store, now=NOW + 10_000, owner="two")
    assert not store.jobs.is_held("a", owner="one")
    assert store.jobs.complete(later, extraction("a"), now=NOW + 10_000)
    assert not store.jobs.is_held("a", owner="two")


def test_the_first_lease_to_end_is_known(store: Store) -> None:
    """Of what may be claimed again then: not of what a gate holds back meanwhile, nor of what is done."""
    assert store.jobs.next_lease_end() is None
    enqueue(store, "a", "b")
    first, second = lease(store), lease(store, now=NOW + 10)
    assert store.jobs.next_lease_end() == NOW + LEASE_SECONDS
    store.jobs.set_gates({first.thread.thread_id: Gate.DISABLED})
    assert store.jobs.next_lease_end() == NOW + 10 + LEASE_SECONDS
    assert store.jobs.give_back(second)
    assert store.jobs.next_lease_end() is None
