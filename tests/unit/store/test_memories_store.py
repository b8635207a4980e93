"""The memories in the database: changed by a consolidation as a whole, or not at all."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from reviewed import pass_review
from store_samples import NOW, SCOPE, enqueue, extraction, lease

from memory_pipeline.records import (
    Change,
    ConsolidationKind,
    EntryKind,
    Gate,
    Memory,
    MemoryStatus,
    Operation,
    OperationKind,
    Usage,
)
from memory_pipeline.store.store import Store


def _memory(memory_id: str, **fields: Any) -> Memory:
    known: dict[str, Any] = {
        "kind": EntryKind.PREFERENCE,
        "scope": SCOPE,
        "condition": "",
        "statement": f"Statement of {memory_id}.",
        "status": MemoryStatus.ACTIVE,
        "pinned": False,
        "first_seen": NOW,
        "last_confirmed": NOW,
        "learned_at": NOW,
        "superseded_by": None,
        "reason": "",
        "entry_ids": (),
        "thread_ids": (),
        "supersedes": (),
        "usage": Usage(),
    }
    return Memory(memory_id=memory_id, **(known | fields))


def _say(store: Store, thread_id: str, *said: str) -> list[str]:
    enqueue(store, thread_id)
    done = extraction(thread_id, said)
    assert store.jobs.complete(lease(store), done, now=NOW)
    pass_review(store, now=NOW)
    return [spoken.entry_id for task in done.tasks for spoken in task.entries]


def _commit(store: Store, *memories: Memory, placements: list[tuple[str, str]] | None = None) -> int:
    opened = store.memories.begin(owner="one", now=NOW)
    changes = [
        Change(
            operation=Operation(kind=OperationKind.ADD, memory_id=memory.memory_id, reason="new", entry_id="e"),
            before=None,
        )
        for memory in memories
    ]
    assert store.memories.commit(opened, memories, placements or [], changes, now=NOW)
    store.memories.finish(opened, watermark=NOW, now=NOW + 1)
    return opened


def test_memories_come_back_with_what_they_rest_on(store: Store) -> None:
    """Entries, threads, links and usage are joined to each memory; order is by scope, kind, age and id."""
    first, second = _say(store, "a", "Use tabs."), _say(store, "b", "Use tabs.")
    old = _memory("m_old", status=MemoryStatus.SUPERSEDED, superseded_by="m_new", reason="said otherwise")
    former = _say(store, "c", "Use spaces.")
    _commit(store, old, _memory("m_new"), placements=[("m_new", *second), ("m_new", *first), ("m_old", *former)])
    store.extractions.record_usage("memory", "m_new", now=NOW + 5)
    new, kept_old = store.memories.every()
    assert (new.memory_id, new.entry_ids, new.thread_ids) == ("m_new", (*second, *first), ("a", "b"))
    assert (new.supersedes, new.usage) == (("m_old",), Usage(count=1, last_usage=NOW + 5))
    assert (kept_old.superseded_by, kept_old.reason) == ("m_new", "said otherwise")
    assert store.memories.every(status=MemoryStatus.SUPERSEDED) == [kept_old]
    assert store.memories.counts_by_status() == {"active": 1, "superseded": 1}
    assert store.memories.get("m_new") == new
    assert store.memories.find_by_prefix("m_o") == [kept_old]
    assert store.memories.get("m") is None


def test_withdrawn_entries_carry_no_memory_but_are_remembered_as_its_past(store: Store) -> None:
    """A memory no longer rests on what its thread withdrew; from which thread it came stays known."""
    said = _say(store, "a", "Use tabs.")
    _commit(store, _memory("m"), placements=[("m", *said)])
    store.jobs.set_gates({"a": Gate.DISABLED})
    (memory,) = store.memories.every()
    assert (memory.entry_ids, memory.thread_ids) == ((), ())
    assert store.memories.former_threads(["m", "n"]) == {"m": frozenset({"a"})}


def test_placed_entries_are_not_offered_again(store: Store) -> None:
    """Only entries that passed the review and that no memory rests on are left to place."""
    said = _say(store, "a", "Use tabs.", "Run make lint.")
    _commit(store, _memory("m"), placements=[("m", said[0])])
    assert [spoken.entry_id for spoken in store.memories.unplaced_entries(["a", "nobody"])] == said[1:]


def test_a_consolidation_that_was_taken_over_commits_nothing(store: Store) -> None:
    """Whoever opens the next one closes the row of a dead run, whose late commit is refused whole."""
    dead = store.memories.begin(owner="one", now=NOW)
    alive = store.memories.begin(owner="two", now=NOW + 1)
    assert store.memories.state_of(dead) == "failed"
    assert store.memories.commit(dead, [_memory("m")], [], [], now=NOW + 2) is False
    assert store.memories.every() == []
    assert store.memories.commit(alive, [_memory("m")], [], [], now=NOW + 2) is True
    assert store.memories.state_of(alive) == "publishing"


def test_a_changed_memory_keeps_when_it_was_learned(store: Store) -> None:
    """A later consolidation rewrites statement and status, never the time of learning."""
    _commit(store, _memory("m"))
    _commit(store, _memory("m", statement="Otherwise.", learned_at=NOW + 99, last_confirmed=NOW + 9))
    (memory,) = store.memories.every()
    assert memory == replace(_memory("m"), statement="Otherwise.", last_confirmed=NOW + 9)
    assert [done.operation.kind for done in store.memories.operations_of("m")] == [OperationKind.ADD] * 2


def test_a_failed_consolidation_waits_and_counts(store: Store) -> None:
    """The newest row tells failures and the next try; the newest success is found beside it."""
    assert store.memories.last_consolidation() is None
    good = _commit(store, _memory("m"))
    bad = store.memories.begin(owner="one", now=NOW + 5)
    store.memories.fail(bad, "disk full", failures=2, retry_at=NOW + 60, now=NOW + 6)
    last, success = store.memories.last_consolidation(), store.memories.last_success()
    assert last is not None
    assert success is not None
    assert (last.consolidation_id, last.state, last.failures, last.retry_at, last.error) == (
        bad,
        "failed",
        2,
        NOW + 60,
        "disk full",
    )
    assert (success.consolidation_id, success.finished_at) == (good, NOW + 1)


def test_a_published_consolidation_can_not_fail_afterwards(store: Store) -> None:
    """A late failure report leaves a finished row as it is."""
    good = _commit(store, _memory("m"))
    store.memories.fail(good, "late", failures=1, retry_at=NOW + 60, now=NOW + 6)
    assert store.memories.state_of(good) == "done"
    assert store.memories.state_of(999) is None


def test_a_group_is_kept_and_undone_with_the_memory(store: Store) -> None:
    """It is stored, read back, and stands in the image that an undoing takes."""
    _say(store, "thread-a", "One.", "Two.")
    _commit(store, _memory("m_1"), _memory("m_2", group="m_1"))
    assert [memory.group for memory in store.memories.every()] == ["", "m_1"]
    opened = store.memories.begin(owner="one", now=NOW)
    before = _memory("m_2", group="m_1")
    change = Change(
        operation=Operation(kind=OperationKind.GROUP, memory_id="m_2", reason="x", other_memory_id="m_2"), before=before
    )
    assert store.memories.commit(opened, [replace(before, group="m_2")], [], [change], now=NOW)
    (done,) = store.memories.operations_in(opened)
    assert done.before is not None
    assert done.before.group == "m_1"


def test_a_flagged_entry_is_not_placed_by_itself_any_more(store: Store) -> None:
    """One that only waits is looked at again with its thread; a flagged one is not."""
    first, second, third = _say(store, "thread-a", "One.", "Two.", "Three.")
    opened = store.memories.begin(owner="one", now=NOW)
    assert store.memories.commit(opened, [], [], [], waiting=[first, second], flagged=[second], now=NOW)
    assert [item.entry_id for item in store.memories.unplaced_entries(["thread-a"])] == [first, third]
    assert store.memories.waiting_entries() == {first, second}


def test_the_newest_run_is_told_apart_from_what_the_person_had_done(store: Store) -> None:
    """A command in between does not hide how the last run ended."""
    failed = store.memories.begin(owner="one", now=NOW)
    store.memories.fail(failed, "no answer", failures=1, retry_at=NOW + 60, now=NOW)
    store.memories.begin(owner="one", now=NOW, kind=ConsolidationKind.PERSON)
    last = store.memories.last_run()
    assert last is not None
    assert (last.consolidation_id, last.retry_at) == (failed, NOW + 60)
