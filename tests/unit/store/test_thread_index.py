"""The index of threads: one row a thread, which follows the file with the latest words and outlives it."""

from __future__ import annotations

import pytest
from reviewed import pass_review
from store_samples import NOW, SCOPE, enqueue, entry, extraction, index, lease, rollout_file, thread_facts, thread_of

from memory_pipeline.records import (
    Agent,
    Change,
    EntryKind,
    Gate,
    Memory,
    MemoryStatus,
    Operation,
    OperationKind,
    RateLimit,
    Usage,
)
from memory_pipeline.store.store import Store

REMOTE_SCOPE = "project:example.org/sam/shop-of-the-remote"


def test_a_reading_is_stored_whole(store: Store) -> None:
    """Everything that a reading tells comes back from the index."""
    facts = thread_facts(
        "a",
        agent=Agent.CLAUDE,
        git_remote="git@example.org:sam/shop.git",
        gives_direction=True,
        memory_mode="polluted",
        model_provider="ollama",
        external_context=True,
        skipped_lines={"torn": 2, "blank": 1},
        unknown_types={"novel": 3},
    )
    store.threads.record_reading(rollout_file("a", archived=True, size=7), facts, SCOPE, now=NOW)
    thread = thread_of(store, "a")
    for name in (
        "agent", "source", "cwd", "git_branch", "title", "started_at", "updated_at", "prompt_count", "result_chars",
        "gives_direction", "memory_mode", "model_provider", "external_context", "content_digest", "understood_lines",
        "total_lines", "skipped_lines", "unknown_types",
    ):  # fmt: skip
        assert getattr(thread, name) == getattr(facts, name), name
    assert (thread.scope, thread.archived, thread.present, thread.size) == (SCOPE, True, True, 7)
    assert (thread.index_error, thread.gate, thread.job_state, thread.extracted) == (None, None, None, False)


def test_a_second_reading_overwrites_the_row(store: Store) -> None:
    """One row a thread: a grown file replaces what was known, and keeps the person's switch."""
    index(store, "a", title="First")
    assert store.threads.set_disabled("a", disabled=True)
    index(store, "a", title="Second", content_digest="digest-2")
    assert [(thread.title, thread.disabled_by_person) for thread in store.threads.every()] == [("Second", True)]


def test_a_thread_without_times_takes_those_of_its_file(store: Store) -> None:
    """Where the log tells no time that can be believed, the file's own stands in."""
    index(store, "a", updated_at=None)
    assert thread_of(store, "a").updated_at == pytest.approx(NOW - 5_000)


def test_a_clock_that_ran_ahead_does_not_jump_the_queue(store: Store) -> None:
    """Words from the future count as said now."""
    index(store, "a", updated_at=NOW + 9e9)
    assert thread_of(store, "a").updated_at == NOW


def test_a_time_counts_once_our_clock_has_reached_it(store: Store) -> None:
    """Read under a clock that was behind, a thread takes its true time and place in the queue when that is right."""
    behind = NOW - 900 * 86_400
    enqueue(store, "early", updated_at=None, newest_at=NOW - 9_000, now=behind)
    enqueue(store, "late", updated_at=behind - 60, newest_at=NOW - 60, now=behind)
    enqueue(store, "true", updated_at=NOW - 600)
    assert [thread_of(store, name).updated_at for name in ("early", "late")] == [behind, behind - 60]
    store.threads.catch_up(now=NOW - 5_000)
    assert [thread_of(store, name).updated_at for name in ("early", "late")] == [NOW - 9_000, behind - 60]
    store.threads.catch_up(now=NOW)
    assert thread_of(store, "late").updated_at == NOW - 60
    assert [lease(store).thread.thread_id for _ in range(3)] == ["late", "true", "early"]


def test_threads_are_listed_newest_first(store: Store) -> None:
    """Lists come by last words, then by id, vanished threads included."""
    index(store, "old", updated_at=NOW - 9_000)
    index(store, "b", updated_at=NOW - 10)
    index(store, "a", updated_at=NOW - 10)
    store.threads.record_presence(returned=(), vanished=[rollout_file("b").path])
    assert [thread.thread_id for thread in store.threads.every()] == ["a", "b", "old"]


def test_threads_are_found_by_the_start_of_their_id(store: Store) -> None:
    """A prefix is taken literally and the answer is bounded."""
    for name in ("ab1", "ab2", "a%", "b"):
        index(store, name)
    assert [thread.thread_id for thread in store.threads.find_by_prefix("ab")] == ["ab1", "ab2"]
    assert [thread.thread_id for thread in store.threads.find_by_prefix("a%")] == ["a%"]
    assert len(store.threads.find_by_prefix("", limit=2)) == 2
    assert store.threads.get("ab") is None


def test_a_switch_on_an_unknown_thread_is_told(store: Store) -> None:
    """Disabling what does not exist changes nothing and says so."""
    assert store.threads.set_disabled("nobody", disabled=True) is False


# --- files ------------------------------------------------------------------------------------------------------------


def test_a_vanished_file_leaves_its_row(store: Store) -> None:
    """The agents delete their logs: the thread and what it said stay, marked as no longer on disk."""
    enqueue(store, "a")
    assert store.jobs.complete(lease(store), extraction("a"), now=NOW)
    pass_review(store, now=NOW)
    path = rollout_file("a").path
    store.threads.record_presence(returned=(), vanished=[path])
    assert not thread_of(store, "a").present
    assert not store.threads.seen_files()[path].present
    assert store.extractions.get("a") is not None
    assert store.extractions.select(limit=9)
    store.threads.record_presence(returned=[path], vanished=())
    assert thread_of(store, "a").present


def test_a_moved_file_takes_its_thread_along(store: Store) -> None:
    """To the archive and back it is the same thread, with one file, and nothing is due."""
    enqueue(store, "a")
    assert store.jobs.complete(lease(store), extraction("a"), now=NOW)
    old = store.threads.seen_files()[rollout_file("a").path]
    store.threads.record_move(rollout_file("a", path="/archive/a.jsonl", archived=True), old)
    moved = store.threads.seen_files()
    assert list(moved) == ["/archive/a.jsonl"]
    assert (thread_of(store, "a").rollout_path, thread_of(store, "a").archived) == ("/archive/a.jsonl", True)
    store.threads.record_move(rollout_file("a"), moved["/archive/a.jsonl"])
    assert (thread_of(store, "a").rollout_path, thread_of(store, "a").archived) == (old.path, False)
    assert store.jobs.count_due(now=NOW) == 0


@pytest.mark.parametrize("newest_first", [False, True])
def test_of_two_files_the_one_with_the_latest_words_owns_the_thread(store: Store, newest_first: bool) -> None:
    """The order of reading does not decide which of a thread's files its row follows."""
    files = [("/s/one.jsonl", NOW - 100, "digest-old"), ("/s/two.jsonl", NOW - 50, "digest-new")]
    for path, updated_at, digest in reversed(files) if newest_first else files:
        facts = thread_facts("a", updated_at=updated_at, content_digest=digest)
        store.threads.record_reading(rollout_file("a", path=path), facts, SCOPE, now=NOW)
    thread = thread_of(store, "a")
    assert (thread.rollout_path, thread.content_digest) == ("/s/two.jsonl", "digest-new")
    assert len(store.threads.seen_files()) == 2


def test_the_other_file_takes_over_when_the_owner_is_gone(store: Store) -> None:
    """When the file with the latest words has vanished, a reading of the other one counts."""
    for path, updated_at in (("/s/one.jsonl", NOW - 100), ("/s/two.jsonl", NOW - 50)):
        store.threads.record_reading(
            rollout_file("a", path=path), thread_facts("a", updated_at=updated_at), SCOPE, now=NOW
        )
    store.threads.record_presence(returned=(), vanished=["/s/two.jsonl"])
    store.threads.record_reading(
        rollout_file("a", path="/s/one.jsonl"), thread_facts("a", updated_at=NOW - 100), SCOPE, now=NOW
    )
    thread = thread_of(store, "a")
    assert (thread.rollout_path, thread.present) == ("/s/one.jsonl", True)


def test_a_new_file_that_can_not_be_read_has_a_row_with_its_reason(store: Store) -> None:
    """An unreadable rollout is shown, not passed over in silence."""
    store.threads.record_unreadable(rollout_file("a"), "permission denied", SCOPE, now=NOW)
    thread = thread_of(store, "a")
    assert (thread.index_error, thread.total_lines) == ("permission denied", 0)
    assert store.threads.seen_files()[rollout_file("a").path].open_error


def test_a_known_file_that_turns_unreadable_keeps_what_is_known(store: Store) -> None:
    """The row keeps the facts of the last reading beside the reason, and a later reading clears it."""
    index(store, "a", title="Mend the checkout")
    store.threads.record_unreadable(rollout_file("a"), "permission denied", "project:else", now=NOW)
    thread = thread_of(store, "a")
    assert (thread.title, thread.scope, thread.index_error) == ("Mend the checkout", SCOPE, "permission denied")
    index(store, "a")
    assert thread_of(store, "a").index_error is None
    assert not store.threads.seen_files()[rollout_file("a").path].open_error


def test_an_unreadable_second_file_does_not_taint_the_thread(store: Store) -> None:
    """The file that the thread follows was read; the other one's fault is that file's alone."""
    index(store, "a")
    store.threads.record_unreadable(rollout_file("a", path="/s/other.jsonl"), "permission denied", SCOPE, now=NOW)
    assert thread_of(store, "a").index_error is None


def test_gates_are_counted_for_what_is_on_disk(store: Store) -> None:
    """Counts of skipped threads leave out what has vanished."""
    for name in ("a", "b", "c"):
        index(store, name)
    store.jobs.set_gates({"a": Gate.TOO_SHORT, "b": Gate.TOO_SHORT, "c": Gate.SOURCE})
    store.threads.record_presence(returned=(), vanished=[rollout_file("b").path])
    assert store.threads.gate_counts() == {"source": 1, "too_short": 1}


# --- rate limits ------------------------------------------------------------------------------------------------------


def _limit(used: float, seen_at: float, window: int | None = 300) -> RateLimit:
    return RateLimit(used_percent=used, window_minutes=window, resets_at=NOW + 999, seen_at=seen_at)


def test_the_newest_snapshot_of_a_window_wins(store: Store) -> None:
    """An older log read later does not bring back an older quota; windows and agents are kept apart."""
    index(store, "a", rate_limits=(_limit(90, NOW - 10), _limit(20, NOW - 10, window=10_080)))
    index(store, "b", rate_limits=(_limit(5, NOW - 500),))
    index(store, "c", agent=Agent.CLAUDE, rate_limits=(_limit(33, NOW - 900),))
    assert sorted(limit.used_percent for limit in store.threads.rate_limits()) == [20, 33, 90]
    index(store, "d", rate_limits=(_limit(1, NOW - 1),))
    assert sorted(limit.used_percent for limit in store.threads.rate_limits()) == [1, 20, 33]


# --- scopes -----------------------------------------------------------------------------------------------------------


def _learn(store: Store, memory_id: str, scope: str, entry_ids: list[str]) -> None:
    memory = Memory(
        memory_id=memory_id,
        kind=EntryKind.PREFERENCE,
        scope=scope,
        condition="",
        statement="Run make lint.",
        status=MemoryStatus.ACTIVE,
        pinned=False,
        first_seen=NOW,
        last_confirmed=NOW,
        learned_at=NOW,
        superseded_by=None,
        reason="",
        entry_ids=(),
        thread_ids=(),
        supersedes=(),
        usage=Usage(),
    )
    opened = store.memories.begin(owner="one", now=NOW)
    added = Operation(kind=OperationKind.ADD, memory_id=memory_id, reason="new")
    assert store.memories.commit(
        opened,
        [memory],
        [(memory_id, entry_id) for entry_id in entry_ids],
        [Change(operation=added, before=None)],
        now=NOW,
    )
    store.memories.finish(opened, watermark=NOW, now=NOW)


def _say(store: Store, thread_id: str, *said: str, cwd: str = "/home/sam/shop") -> list[str]:
    enqueue(store, thread_id, cwd=cwd)
    done = extraction(thread_id, said)
    assert store.jobs.complete(lease(store), done, now=NOW)
    return [spoken.entry_id for task in done.tasks for spoken in task.entries]


def test_a_folder_with_a_recorded_remote_has_that_scope_in_every_log(store: Store) -> None:
    """Threads of the folder whose own log named no remote move, with their entries and memories; ids stay."""
    first, second = _say(store, "a", "Run make lint."), _say(store, "b", "Run make lint.")
    elsewhere = _say(store, "c", "Run make lint.", cwd="/home/sam/other")
    _learn(store, "m_shop", SCOPE, first + second)
    _learn(store, "m_other", SCOPE, elsewhere)
    index(store, "r", scope=REMOTE_SCOPE, git_remote="git@example.org:sam/shop-of-the-remote.git")
    assert store.threads.scopes_with_remote() == {"/home/sam/shop": REMOTE_SCOPE}
    store.threads.rescope(store.threads.scopes_with_remote())
    assert {thread.thread_id: thread.scope for thread in store.threads.every()} == {
        "a": REMOTE_SCOPE,
        "b": REMOTE_SCOPE,
        "c": SCOPE,
        "r": REMOTE_SCOPE,
    }
    assert [spoken.scope for name in "abc" for spoken in store.extractions.entries(name)] == [
        REMOTE_SCOPE,
        REMOTE_SCOPE,
        SCOPE,
    ]
    assert {memory.memory_id: (memory.scope, set(memory.entry_ids)) for memory in store.memories.every()} == {
        "m_shop": (REMOTE_SCOPE, {*first, *second}),
        "m_other": (SCOPE, set(elsewhere)),
    }


def test_rescoping_leaves_what_was_said_for_everywhere_or_elsewhere(store: Store) -> None:
    """Only entries of the thread's old project move: not the person's general ones, not those of another folder."""
    enqueue(store, "a")
    said = [
        entry("a", "Answer in English.", scope="user"),
        entry("a", "Use spaces.", scope="project:/home/sam/elsewhere"),
        entry("a", "Run make lint."),
    ]
    assert store.jobs.complete(lease(store), extraction("a", said), now=NOW)
    store.threads.rescope({"/home/sam/shop": REMOTE_SCOPE})
    assert [spoken.scope for spoken in store.extractions.entries("a")] == [
        "user",
        "project:/home/sam/elsewhere",
        REMOTE_SCOPE,
    ]


def test_a_memory_that_rests_on_another_project_too_stays(store: Store) -> None:
    """A memory moves only when nothing that it rests on is left in the old scope."""
    here, there = _say(store, "a", "Run make lint."), _say(store, "c", "Run make lint.", cwd="/home/sam/other")
    _learn(store, "m", SCOPE, here + there)
    store.threads.rescope({"/home/sam/shop": REMOTE_SCOPE})
    assert [memory.scope for memory in store.memories.every()] == [SCOPE]


def test_a_threads_own_remote_is_never_overruled(store: Store) -> None:
    """A log that names its remote keeps it, whatever another log of the folder says."""
    index(store, "a", git_remote="https://example.org/fork")
    store.threads.rescope({"/home/sam/shop": REMOTE_SCOPE})
    assert thread_of(store, "a").scope == SCOPE
