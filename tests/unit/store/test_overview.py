"""Counts by the database agree with what the records say one by one."""

from __future__ import annotations

from collections import Counter
from itertools import count
from pathlib import Path

from fresh_database import lay_database
from hypothesis import given, settings
from hypothesis import strategies as st
from store_samples import MAX_ATTEMPTS, NOW, enqueue, extraction, index, lease

from memory_pipeline.records import Gate
from memory_pipeline.store.store import Store

_OUTCOMES = ("none", "pending", "running", "done", "no_output", "error", "exhausted")
_FOLDERS = count()


def bring_to(store: Store, thread_id: str, outcome: str) -> None:
    """Bring a thread to a state of its job."""
    if outcome == "none":
        index(store, thread_id)
        return
    enqueue(store, thread_id)
    if outcome == "pending":
        return
    held = lease(store)
    if outcome == "done":
        store.jobs.complete(held, extraction(thread_id), now=NOW)
    elif outcome == "no_output":
        store.jobs.complete(held, extraction(thread_id, ()), now=NOW)
    elif outcome in ("error", "exhausted"):
        most = 1 if outcome == "exhausted" else MAX_ATTEMPTS
        store.jobs.fail(held, "no JSON", now=NOW, retry_at=NOW + 900, max_attempts=most)


@settings(max_examples=40, deadline=None)
@given(
    threads=st.lists(
        st.tuples(st.sampled_from(_OUTCOMES), st.none() | st.sampled_from(list(Gate)), st.booleans()), max_size=8
    )
)
def test_states_are_counted_as_each_thread_shows_its_own(
    tmp_path_factory: object, threads: list[tuple[str, Gate | None, bool]]
) -> None:
    """For any mix of outcomes, gates and logs that said something new since."""
    folder = Path(tmp_path_factory.getbasetemp()) / f"overview-{next(_FOLDERS)}"  # type: ignore[attr-defined]
    store = Store(lay_database(folder / "memory.db"))
    try:
        # What stays claimable comes last, so that each lease is of its own thread.
        for number, (outcome, gate, grew) in enumerate(sorted(threads, key=lambda one: one[0] in ("none", "pending"))):
            bring_to(store, f"t{number}", outcome)
            if grew and outcome != "running":
                index(store, f"t{number}", content_digest="digest-2")
            store.jobs.set_gates({f"t{number}": gate or Gate.TOO_SHORT}, now=NOW)
            if gate is None:
                store.threads._connect().execute("UPDATE threads SET gate = NULL WHERE thread_id = ?", (f"t{number}",))
        assert store.overview.states() == dict(Counter(thread.state.value for thread in store.threads.every()))
    finally:
        store.close()


def test_failures_are_counted_by_reason(store: Store) -> None:
    """The most frequent first; what a gate holds back meanwhile is no failure that is shown."""
    enqueue(store, "a", "b", "c", "d")
    for message in ("no JSON", "no JSON", "too long", "too long"):
        store.jobs.fail(lease(store), message, now=NOW, retry_at=NOW + 60, max_attempts=MAX_ATTEMPTS)
    failed = {thread.thread_id for thread in store.threads.every() if thread.last_error == "too long"}
    store.jobs.set_gates({failed.pop(): Gate.DISABLED}, now=NOW)
    assert [(one.reason, one.count, one.first_retry_at) for one in store.overview.failures()] == [
        ("no JSON", 2, NOW + 60),
        ("too long", 1, NOW + 60),
    ]


def test_unknown_types_are_counted_in_lines_and_threads(store: Store) -> None:
    """Most lines first."""
    index(store, "a", unknown_types={"new_thing": 3, "odd": 1})
    index(store, "b", unknown_types={"new_thing": 2})
    assert store.overview.unknown_types() == {"new_thing": (5, 2), "odd": (1, 1)}
