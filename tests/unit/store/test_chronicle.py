"""The chronicle: every decision about a thread has its line, and what does not change has none."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from store_samples import LEASE_SECONDS, MAX_ATTEMPTS, NOW, ask, enqueue, extraction, index, lease, rollout_file

from memory_pipeline.clock import DAY_SECONDS
from memory_pipeline.config import Config, GatesConfig
from memory_pipeline.phase1.gates import apply_gates
from memory_pipeline.records import Gate, Happened, SeenFile
from memory_pipeline.store import chronicle
from memory_pipeline.store.forgetting import Erasure
from memory_pipeline.store.store import Store


def told(store: Store, thread_id: str = "a") -> list[Happened]:
    """What was decided for a thread, oldest first."""
    return [line.what for line in reversed(store.chronicle.lines(thread_id=thread_id))]


def newest(store: Store, thread_id: str = "a") -> tuple[object, ...]:
    """The newest line of a thread, without its thread."""
    line = store.chronicle.lines(thread_id=thread_id, limit=1)[0]
    return line.at, line.what, line.gate, line.count, line.reason


class HandClock:
    """A clock that stands still."""

    def now(self) -> float:
        """Return the moment of all tests."""
        return NOW


def test_the_life_of_a_thread_is_told_in_order(store: Store) -> None:
    """Found, held back, let through, taken, extracted; each with its time, gate, try or entries."""
    index(store, "a")
    store.jobs.set_gates({"a": Gate.TOO_RECENT}, now=NOW + 1)
    store.jobs.set_gates({"a": None}, now=NOW + 2)
    held = lease(store, now=NOW + 3)
    assert store.jobs.complete(held, extraction("a", ("Use make.", "Never push.")), now=NOW + 4)
    lines = [(line.at - NOW, line.what, line.gate, line.count) for line in reversed(store.chronicle.lines())]
    assert lines == [
        (0, Happened.INDEXED, None, None),
        (1, Happened.GATED, Gate.TOO_RECENT, None),
        (2, Happened.OPENED, None, None),
        (3, Happened.CLAIMED, None, 1),
        (4, Happened.SUCCEEDED, None, 2),
    ]


def test_a_fault_is_told_with_its_reason_and_the_tries_used(store: Store) -> None:
    """A fault of the thread uses a try, until none is left; one of the provider uses none."""
    enqueue(store, "a")
    now = NOW
    for attempt in range(1, MAX_ATTEMPTS + 1):
        held = lease(store, now=now)
        assert store.jobs.fail(held, "no JSON", now=now, retry_at=now + 1, max_attempts=MAX_ATTEMPTS)
        ended = Happened.EXHAUSTED if attempt == MAX_ATTEMPTS else Happened.FAILED
        assert newest(store) == (now, ended, None, attempt, "no JSON")
        now += 10
    store.jobs.retry("a", now=now)
    assert newest(store)[1] is Happened.RETRIED
    held = lease(store, now=now, provider="openai")
    assert store.jobs.fail_provider(held, "it answered 503", provider="openai", now=now, retry_at=now + 60)
    assert newest(store) == (now, Happened.FAILED, None, 0, "it answered 503")


def test_a_reading_without_anything_to_keep_is_told_as_such(store: Store) -> None:
    """No-output is an outcome of its own."""
    enqueue(store, "a")
    store.jobs.complete(lease(store), extraction("a", ()), now=NOW)
    assert newest(store)[1:4] == (Happened.NO_OUTPUT, None, 0)


def test_a_job_that_is_given_back_is_told(store: Store) -> None:
    """And the next claim is one like any other."""
    enqueue(store, "a")
    store.jobs.give_back(lease(store), now=NOW)
    lease(store, now=NOW + 1)
    assert told(store)[-3:] == [Happened.CLAIMED, Happened.GIVEN_BACK, Happened.CLAIMED]


def test_a_job_of_a_dead_worker_is_told_as_taken_over_and_at_last_as_exhausted(store: Store) -> None:
    """The line names the try, and the last one the reason."""
    enqueue(store, "a")
    now = NOW
    lease(store, now=now)
    for attempt in range(2, MAX_ATTEMPTS + 1):
        now += LEASE_SECONDS + 1
        lease(store, now=now)
        assert newest(store) == (now, Happened.TAKEN_OVER, None, attempt, None)
    now += LEASE_SECONDS + 1
    assert ask(store, now=now).lease is None
    assert newest(store)[1:4] == (Happened.EXHAUSTED, None, MAX_ATTEMPTS)
    assert "died" in str(newest(store)[4])


def test_a_stale_owner_writes_no_line(store: Store) -> None:
    """Whoever lost the lease neither completes, fails nor gives back in the chronicle."""
    enqueue(store, "a")
    stale = lease(store)
    lease(store, now=NOW + LEASE_SECONDS + 1)
    before = told(store)
    assert not store.jobs.complete(stale, extraction("a"), now=NOW)
    assert not store.jobs.fail(stale, "late", now=NOW, retry_at=NOW, max_attempts=3)
    assert not store.jobs.fail_provider(stale, "late", provider="openai", now=NOW, retry_at=NOW)
    assert not store.jobs.give_back(stale, now=NOW)
    assert told(store) == before


def test_what_a_gate_withdraws_is_told_with_the_number_of_entries(store: Store) -> None:
    """Only where something was said, and once while such gates follow one another."""
    enqueue(store, "a")
    store.jobs.complete(lease(store), extraction("a", ("Use make.",)), now=NOW)
    index(store, "b")
    store.jobs.set_gates({"a": Gate.DISABLED, "b": Gate.SUBAGENT}, now=NOW + 1)
    store.jobs.set_gates({"a": Gate.POLLUTED}, now=NOW + 2)
    assert told(store)[-3:] == [Happened.GATED, Happened.WITHDRAWN, Happened.GATED]
    assert Happened.WITHDRAWN not in told(store, "b")
    (line,) = [line for line in store.chronicle.lines() if line.what is Happened.WITHDRAWN]
    assert line.count == 1


def test_where_a_log_goes_is_told(store: Store) -> None:
    """Moved, gone, there again."""
    index(store, "a")
    file = rollout_file("a")
    old = SeenFile(
        path=file.path, thread_id="a", archived=False, size=1, mtime_ns=1, inode=1, device=1, present=True,
        open_error=False,
    )  # fmt: skip
    moved = rollout_file("a", path="/archive/a.jsonl", archived=True)
    store.threads.record_move(moved, old, now=NOW)
    store.threads.record_presence(returned=(), vanished=[moved.path], now=NOW)
    store.threads.record_presence(returned=[moved.path], vanished=(), now=NOW)
    assert told(store) == [Happened.INDEXED, Happened.MOVED, Happened.VANISHED, Happened.RETURNED]


def test_what_a_person_switches_is_told_once(store: Store) -> None:
    """Switching off what is off already says nothing."""
    index(store, "a")
    for disabled in (True, True, False, False):
        store.threads.set_disabled("a", disabled=disabled, now=NOW)
    assert told(store) == [Happened.INDEXED, Happened.DISABLED, Happened.ENABLED]


def test_a_log_that_grew_is_told_and_one_that_was_only_touched_is_not(store: Store) -> None:
    """What counts is whether it says something new."""
    index(store, "a")
    index(store, "a", content_digest="digest-1")
    assert told(store) == [Happened.INDEXED]
    index(store, "a", content_digest="digest-2")
    assert told(store) == [Happened.INDEXED, Happened.GREW]


def test_gates_that_stay_as_they_are_write_nothing(store: Store) -> None:
    """Gating a hundred threads at rest once more leaves the chronicle, and every other table, untouched."""
    for number in range(100):
        index(store, f"t{number}", updated_at=NOW - 5)
    config = Config(gates=GatesConfig(idle_seconds=900))
    apply_gates(config, store, HandClock(), force=False)
    assert len(store.chronicle.lines()) == 200
    written = store.threads._connect().total_changes
    apply_gates(config, store, HandClock(), force=False)
    store.chronicle.trim(now=NOW)
    assert store.threads._connect().total_changes == written


def test_a_decision_that_is_not_stored_has_no_line(store: Store) -> None:
    """The line is of the same transaction: a refused write takes it along."""
    enqueue(store, "a")
    held = lease(store)
    before = told(store)
    broken = replace(extraction("a"), coverage=object())
    with pytest.raises(Exception, match="type"):
        store.jobs.complete(held, broken, now=NOW)
    assert told(store) == before


def test_old_lines_are_dropped(store: Store) -> None:
    """Those of whole days before the last ninety; newer ones stay."""
    for days, thread_id in ((chronicle.KEPT_DAYS + 2, "old"), (chronicle.KEPT_DAYS - 2, "young")):
        index(store, thread_id, now=NOW - days * DAY_SECONDS)
    store.chronicle.trim(now=NOW)
    assert [line.thread_id for line in store.chronicle.lines()] == ["young"]


def test_lines_above_the_number_that_is_kept_are_dropped(store: Store) -> None:
    """The oldest go, so that the table never grows without end."""
    index(store, "first")
    connection = store.threads._connect()
    connection.execute(
        "INSERT INTO chronicle (line_id, at, thread_id, what) VALUES (?, ?, 'last', 'indexed')",
        (chronicle.KEPT_LINES + 1, NOW),
    )
    store.chronicle.trim(now=NOW)
    assert [line.thread_id for line in store.chronicle.lines()] == ["last"]


def test_a_forgotten_thread_leaves_one_line_without_its_past(store: Store) -> None:
    """Nothing but that it was forgotten; and no message of a fault is left of any thread."""
    enqueue(store, "a", "b")
    for _ in range(2):
        held = lease(store)
        store.jobs.fail(held, "named after a secret plan", now=NOW, retry_at=NOW + 60, max_attempts=3)
    store.forgetting.erase(Erasure(threads=frozenset({"a"})), now=NOW + 1)
    assert told(store, "a") == [Happened.FORGOTTEN]
    assert Happened.FAILED in told(store, "b")
    assert [line.reason for line in store.chronicle.lines() if line.reason] == []


def test_stored_reasons_are_masked_with_the_rest(store: Store) -> None:
    """A secret that today's rules find in a message is masked there too."""
    enqueue(store, "a")
    store.jobs.fail(lease(store), "the key is hunter2", now=NOW, retry_at=NOW, max_attempts=3)
    failed = store.memories.begin(owner="one", now=NOW)
    store.memories.fail(failed, "the key is hunter2", failures=1, retry_at=NOW, now=NOW)
    assert "the key is hunter2" in set(store.forgetting.texts())
    store.forgetting.mask(lambda text: text.replace("hunter2", "…"), met="")
    assert newest(store)[4] == "the key is …"
    assert store.chronicle.consolidations()[0].reason == "the key is …"


def test_lines_can_be_asked_for_by_thread_time_and_number(store: Store) -> None:
    """Newest first."""
    for number in range(5):
        index(store, f"t{number}", now=NOW + number)
    assert [line.thread_id for line in store.chronicle.lines(limit=2)] == ["t4", "t3"]
    assert [line.thread_id for line in store.chronicle.lines(since=NOW + 3)] == ["t4", "t3"]
    assert [line.thread_id for line in store.chronicle.lines(thread_id="t1")] == ["t1"]


def test_consolidations_are_told_whatever_became_of_them(tmp_path: Path, store: Store) -> None:
    """Failed ones with their reason, newest first."""
    first = store.memories.begin(owner="one", now=NOW)
    store.memories.fail(first, "no space", failures=1, retry_at=NOW + 60, now=NOW + 1)
    second = store.memories.begin(owner="one", now=NOW + 100)
    store.memories.commit(second, (), (), (), now=NOW + 101)
    store.memories.finish(second, watermark=0, now=NOW + 102)
    told_of = [(line.consolidation_id, line.state, line.reason, line.at) for line in store.chronicle.consolidations()]
    assert told_of == [(second, "done", None, NOW + 102), (first, "failed", "no space", NOW + 1)]
    assert store.chronicle.consolidations(limit=1)[0].consolidation_id == second
    assert store.chronicle.consolidations(thread_id="a") == []
