"""Phase two as a whole, on a store and a workspace."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from phase2_world import DAY, NOW, OTHER_PROJECT, World, entry, learned, stamps

from memory_pipeline.errors import InterruptedRunError
from memory_pipeline.lock import os_lock
from memory_pipeline.phase2.places import workspace_lock_path
from memory_pipeline.records import EntryKind, Gate, MemoryStatus, OperationKind, Phase2Outcome, Speaker
from memory_pipeline.review.run import Review

CONSOLIDATED, NO_CHANGES = Phase2Outcome.CONSOLIDATED, Phase2Outcome.NO_CHANGES


class CrashError(Exception):
    """Stands for the end of the program at some step."""


def stop_after(step: str, error: Callable[[], Exception] = CrashError) -> Callable[[str], None]:
    """Stop the program once a step is done."""

    def on_step(name: str) -> None:
        if name == step:
            raise error()

    return on_step


def disk_is_full() -> Exception:
    """What a full disk says."""
    return OSError(28, "No space left on device")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A store and an empty workspace."""
    made = World(tmp_path)
    yield made
    made.close()


def test_without_anything_to_remember_nothing_is_made(world: World) -> None:
    """No input, no memory: no workspace, no baseline, no row."""
    assert world.run().outcome is Phase2Outcome.NO_INPUTS
    world.says("thread-a")
    assert world.run().outcome is Phase2Outcome.NO_INPUTS
    assert not world.workspace.exists()
    assert not (world.config.state_path / "baseline").exists()
    assert world.store.memories.last_consolidation() is None


def test_a_first_run_publishes_and_counts_its_files(world: World) -> None:
    """Two sessions: the handbook, the summary, the raw memories and two summaries are added."""
    world.says("thread-a", entry("use uv"))
    world.says("thread-b", entry("answer in English", scope="user"))
    counts = world.run()
    assert (counts.outcome, counts.selected) == (CONSOLIDATED, 2)
    assert (counts.added, counts.modified, counts.removed, counts.problems) == (5, 0, 0, ())
    files = world.files()
    assert len(files) == 5
    assert b'"use uv"' in files["MEMORY.md"]
    assert b'"answer in English"' in files["memory_summary.md"]
    assert not (world.config.state_path / "staging").exists()


def test_what_contradicts_another_entry_of_its_own_batch_changes_no_later_run(world: World) -> None:
    """Both pass the review, one is placed; that the next review holds the other back changes no file."""
    review = Review(world.config, world.store, world.clock)
    world.says("thread-a", learned("The port is 5432"))
    world.says("thread-b", learned("The port is 5433"), learned("The docs are built with hugo"))
    assert review.run_once().approved == 3
    assert world.parts().run_once().outcome is CONSOLIDATED
    files = world.files()
    assert b"5432" in files["raw_memories.md"]
    assert b"5433" not in files["raw_memories.md"]
    assert review.run_once().pending == 1
    assert world.parts().run_once().outcome is NO_CHANGES
    assert world.files() == files


def test_a_session_of_which_nothing_could_be_placed_is_laid_out_once_something_is(world: World) -> None:
    """What waits has neither raw memory nor summary; said by the person, it comes with both."""
    world.says("thread-a", learned("The port is 5432"))
    world.run()
    world.says("thread-b", learned("The port is 5433"))
    assert world.run().outcome is NO_CHANGES
    world.says("thread-b", learned("The port is 5433"), learned("The docs are built with hugo"))
    assert world.run().added == 1
    raw = world.files()["raw_memories.md"].decode()
    assert ("hugo" in raw, "5433" in raw) == (True, False)


def test_the_diff_counts_added_modified_and_removed_files(world: World) -> None:
    """One thread less and one more: its summary goes, another comes, the three others change."""
    world.says("thread-a", entry("use uv"))
    world.says("thread-b", entry("commit small", thread="thread-b"))
    world.run()
    world.gate("thread-a", Gate.DISABLED)
    world.says("thread-c", entry("use hugo", scope=OTHER_PROJECT))
    counts = world.run()
    assert (counts.added, counts.modified, counts.removed) == (1, 3, 1)


def test_without_a_change_nothing_is_touched(world: World) -> None:
    """Not one byte, not one time stamp, no row in the database, however often it runs."""
    world.says("thread-a", entry("use uv"), learned("the cache lives in /var/tmp/shop"))
    world.run()
    state = world.config.state_path
    world.store.close()
    world.store = type(world.store)(world.config.database_path)
    before = stamps(world.workspace), stamps(state / "baseline"), world.store.memories.last_consolidation()
    database = world.config.database_path.read_bytes()
    for _ in range(10):
        world.clock.moment += 60
        counts = world.run()
        assert (counts.outcome, counts.selected) == (NO_CHANGES, 1)
        assert (counts.added, counts.modified, counts.removed, counts.problems) == (0, 0, 0, ())
    assert (stamps(world.workspace), stamps(state / "baseline"), world.store.memories.last_consolidation()) == before
    assert world.config.database_path.read_bytes() == database


def test_reading_a_log_again_that_says_the_same_changes_nothing(world: World) -> None:
    """Extracted ten times over, the files keep their bytes and the memories their history."""
    world.says("thread-a", entry("use uv"), entry("commit small", byte=9))
    world.run()
    files = world.files()
    for _ in range(10):
        world.says("thread-a", entry("use uv"), entry("commit small", byte=9))
        assert world.run().outcome is NO_CHANGES
    assert world.files() == files
    for memory in world.store.memories.every():
        assert [done.operation.kind for done in world.store.memories.operations_of(memory.memory_id)] == [
            OperationKind.ADD
        ]


def test_two_stores_that_read_in_another_order_publish_the_same_bytes(tmp_path: Path) -> None:
    """Files depend on what was said, not on which session was extracted first."""
    said = [
        ("thread-a", entry("use npm", at=NOW - 9 * DAY)),
        ("thread-b", entry("use pnpm", at=NOW - 5 * DAY)),
        ("thread-c", entry("answer in English", scope="user", at=NOW - 4 * DAY)),
        ("thread-d", entry("use npm", at=NOW - 3 * DAY, scope=OTHER_PROJECT)),
    ]
    published = []
    for name, order in (("one", said), ("other", said[::-1])):
        world = World(tmp_path / name)
        for thread_id, item in order:
            world.says(thread_id, item)
        world.run()
        published.append(world.files())
        world.close()
    assert published[0] == published[1]


# --- what a run waits for --------------------------------------------------------------------------------------------


def test_a_cooldown_holds_a_change_back_and_then_lets_it_through(world: World) -> None:
    """Within the time nothing is written; without a change there is nothing to hold back."""
    world.says("thread-a", entry("use uv"))
    assert world.run(cooldown_seconds=600).outcome is CONSOLIDATED
    assert world.run(cooldown_seconds=600).outcome is NO_CHANGES
    world.says("thread-b", entry("commit small"))
    before = world.files()
    world.clock.moment += 599
    held = world.run(cooldown_seconds=600)
    assert held.outcome is Phase2Outcome.COOLDOWN
    assert held.problems
    assert world.files() == before
    world.clock.moment += 1
    assert world.run(cooldown_seconds=600).outcome is CONSOLIDATED


def test_without_a_cooldown_a_clock_that_was_set_back_holds_nothing(world: World) -> None:
    """Zero means none, whatever the clock says."""
    world.says("thread-a", entry("use uv"))
    world.run()
    world.clock.moment -= 30 * DAY
    world.says("thread-b", entry("commit small"))
    assert world.run().outcome is CONSOLIDATED


def test_waits_that_were_set_by_a_clock_far_ahead_hold_nothing_once_it_is_right(world: World) -> None:
    """Neither a cooldown nor the wait after a failure lasts for the year that the clock ran ahead."""
    right = world.clock.moment
    world.clock.moment = right + 365 * DAY
    world.says("thread-a", entry("use uv"))
    assert world.run(cooldown_seconds=600).outcome is CONSOLIDATED
    world.clock.moment = right
    world.says("thread-b", entry("commit small"))
    assert world.run(cooldown_seconds=600).outcome is CONSOLIDATED
    world.says("thread-c", entry("write tests"))
    world.clock.moment = right + 365 * DAY
    assert world.run(on_step=stop_after("staged", disk_is_full)).outcome is Phase2Outcome.FAILED
    world.clock.moment = right
    assert world.run().outcome is CONSOLIDATED


def test_a_held_workspace_is_reported_and_left_alone(world: World) -> None:
    """Another run holds the lock: nothing is read or written."""
    world.says("thread-a", entry("use uv"))
    with os_lock(workspace_lock_path(world.workspace), purpose="a test"):
        counts = world.run()
    assert counts.outcome is Phase2Outcome.LOCKED
    assert counts.problems
    assert not world.workspace.exists()
    assert world.run().outcome is CONSOLIDATED


def test_a_run_that_waits_for_the_lock_can_be_stopped(world: World) -> None:
    """Waiting ends when a signal asks to stop."""
    with os_lock(workspace_lock_path(world.workspace), purpose="a test"), pytest.raises(InterruptedRunError):
        world.run(wait=True, should_stop=lambda: True)
    world.says("thread-a", entry("use uv"))
    assert world.run(wait=True).outcome is CONSOLIDATED


def test_the_lock_lies_beside_the_workspace_that_a_link_leads_to(world: World, tmp_path: Path) -> None:
    """Two paths to one workspace meet in one lock."""
    real = tmp_path / "elsewhere" / "memories"
    real.mkdir(parents=True)
    world.workspace.symlink_to(real)
    assert workspace_lock_path(world.workspace) == real.parent / "memories.lock"


# --- failures --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["staged", "committed", "wrote raw_memories.md", "wrote MEMORY.md"])
def test_a_failure_leaves_what_was_published_and_waits(world: World, step: str) -> None:
    """Files and baseline are as they were; until the wait is over a run reports cooldown; then it succeeds."""
    world.says("thread-a", entry("use uv"))
    world.run()
    world.handbook.write_bytes(world.handbook.read_bytes() + b"my note\n")
    before = world.files()
    world.says("thread-b", entry("commit small"))
    failed = world.run(on_step=stop_after(step, disk_is_full))
    assert failed.outcome is Phase2Outcome.FAILED
    assert "No space left on device" in failed.problems[-1]
    assert world.files() == before
    waits = world.run()
    assert waits.outcome is Phase2Outcome.COOLDOWN
    assert "No space left on device" in waits.problems[-1]
    assert world.files() == before
    world.clock.moment += 61
    assert world.run().outcome in (CONSOLIDATED, NO_CHANGES)
    text = world.handbook.read_bytes()
    assert b'"commit small"' in text
    assert b"my note\n" in text
    assert world.run().outcome is NO_CHANGES
    last = world.store.memories.last_consolidation()
    assert last is not None
    assert (last.state, last.failures, last.error, last.retry_at) == ("done", 0, None, None)


@pytest.mark.parametrize("step", ["staged", "committed"])
def test_failing_again_waits_twice_as_long(world: World, step: str) -> None:
    """Waits double up to the longest one, whether or not the memories were committed."""
    world.says("thread-a", entry("use uv"))
    waits = []
    refuses_at = step
    for _ in range(6):
        assert world.run(on_step=stop_after(refuses_at, disk_is_full)).outcome is Phase2Outcome.FAILED
        last = world.store.memories.last_consolidation()
        assert last is not None
        assert last.retry_at is not None
        waits.append(last.retry_at - world.clock.moment)
        world.clock.moment = last.retry_at
        if step == "committed":
            refuses_at = "wrote MEMORY.md"
    assert waits == [60, 120, 240, 480, 600, 600]


def test_failing_for_years_does_not_overflow(world: World) -> None:
    """The number of failures in a row has no bound; the wait has one."""
    number = world.store.memories.begin(owner="test", now=NOW)
    world.store.memories.fail(number, "full", failures=5_000, retry_at=NOW, now=NOW)
    world.says("thread-a", entry("use uv"))
    assert world.run(on_step=stop_after("staged", disk_is_full)).outcome is Phase2Outcome.FAILED
    last = world.store.memories.last_consolidation()
    assert last is not None
    assert (last.failures, last.retry_at) == (5_001, NOW + 600)


def test_a_workspace_that_is_no_folder_fails_and_says_so(world: World) -> None:
    """A file in its place is left alone, and the memories are there once it is gone."""
    world.says("thread-a", entry("use uv"))
    world.workspace.write_bytes(b"not a folder")
    failed = world.run()
    assert failed.outcome is Phase2Outcome.FAILED
    assert str(world.workspace) in failed.problems[-1]
    assert world.workspace.read_bytes() == b"not a folder"
    world.workspace.unlink()
    world.clock.moment += 61
    world.run()
    assert b'"use uv"' in world.handbook.read_bytes()


def test_a_folder_where_a_file_belongs_fails_and_keeps_the_rest(world: World) -> None:
    """Somebody's folder named MEMORY.md is not removed, and no other file is replaced."""
    world.says("thread-a", entry("use uv"))
    world.run()
    world.handbook.unlink()
    (world.handbook / "inner").mkdir(parents=True)
    before = world.files()
    world.says("thread-b", entry("commit small"))
    assert world.run().outcome is Phase2Outcome.FAILED
    assert world.files() == before
    assert (world.handbook / "inner").is_dir()


def test_a_parent_of_the_workspace_that_can_not_be_used_fails(tmp_path: Path) -> None:
    """No exception leaves phase two, so that what phase one did is still told."""
    world = World(tmp_path)
    world.config = replace(world.config, memories_dir=str(tmp_path / "file" / "memories"))
    (tmp_path / "file").write_bytes(b"x")
    failed = world.run()
    assert failed.outcome is Phase2Outcome.FAILED
    assert str(tmp_path / "file") in failed.problems[0]
    world.close()


# --- crashes ---------------------------------------------------------------------------------------------------------

STEPS = [
    "staged",
    "committed",
    "wrote memory_summary.md",
    "wrote raw_memories.md",
    "wrote MEMORY.md",
    "wrote baseline",
    "finished",
]


@pytest.mark.parametrize("step", STEPS)
def test_after_a_crash_at_any_step_the_next_run_ends_where_a_calm_one_does(tmp_path: Path, step: str) -> None:
    """At once, without a wait: same files, same memories, an edit kept in its place, and nothing left to do."""
    ends = []
    for name in ("calm", "crashed"):
        world = World(tmp_path / name)
        world.says("thread-a", entry("use npm", at=NOW - 9 * DAY), learned("the cache lives in /var/tmp/shop"))
        world.run()
        lines = world.handbook.read_bytes().splitlines(keepends=True)
        world.handbook.write_bytes(b"".join([*lines[:3], b"my note\n", *lines[3:]]))
        world.says("thread-b", entry("use pnpm", at=NOW - 2 * DAY), entry("be brief", scope="user"))
        if name == "crashed":
            with pytest.raises(CrashError):
                world.run(on_step=stop_after(step))
        counts = world.run()
        assert counts.outcome in (CONSOLIDATED, NO_CHANGES)
        assert world.run().outcome is NO_CHANGES
        assert not (world.config.state_path / "staging").exists()
        assert world.run().problems == ()
        ends.append((world.files(), world.store.memories.every()))
        world.close()
    assert ends[0] == ends[1]
    before_note = ends[0][0]["MEMORY.md"].split(b"my note\n")[0]
    assert before_note.endswith(b"its worktrees\n")


def test_what_was_staged_and_then_lost_is_published_all_the_same(world: World) -> None:
    """The memories had changed already, though no input differs any more: a retirement is shown in the end."""
    world.says("thread-a", entry("use uv"), learned("the cache lives in /var/tmp/shop"))
    world.run()
    world.clock.moment += 40 * DAY
    with pytest.raises(CrashError):
        world.run(on_step=stop_after("committed"))
    shutil.rmtree(world.config.state_path / "staging")
    assert world.run().outcome is CONSOLIDATED
    assert b"/var/tmp/shop" not in world.handbook.read_bytes()
    assert world.run().outcome is NO_CHANGES


def test_a_finished_crash_is_told_once(world: World) -> None:
    """Whoever looks learns that something was mended."""
    world.says("thread-a", entry("use uv"))
    with pytest.raises(CrashError):
        world.run(on_step=stop_after("committed"))
    assert world.run().problems == ("a consolidation that was cut off has been finished",)
    assert world.run().problems == ()


# --- the person's switches and edits ---------------------------------------------------------------------------------


def test_a_disabled_thread_is_withdrawn_and_an_enabled_one_restored(world: World) -> None:
    """What only it said leaves the files; enabling brings back the very same memories and bytes."""
    world.says("thread-a", entry("use uv"), entry("commit small", byte=9))
    world.says("thread-b", entry("use uv"))
    world.run()
    files, before = world.files(), world.store.memories.every()
    world.gate("thread-a", Gate.DISABLED)
    assert world.run().outcome is CONSOLIDATED
    text = world.handbook.read_text()
    assert "commit small" not in text
    assert '"use uv"' in text
    assert all("thread-a" not in path.read_text() for path in world.workspace.rglob("*.md"))
    world.gate("thread-a", None)
    world.run()
    assert world.files() == files
    after = world.store.memories.every()
    assert [(m.memory_id, m.status) for m in after] == [(m.memory_id, m.status) for m in before]


@pytest.mark.parametrize("gate", [Gate.TOO_OLD, Gate.ARCHIVED, Gate.SOURCE, Gate.TOO_RECENT])
def test_other_gates_leave_what_is_remembered(world: World, gate: Gate) -> None:
    """A gate that only stops extraction withdraws nothing."""
    world.says("thread-a", entry("use uv"))
    world.run()
    world.gate("thread-a", gate)
    assert world.run().outcome is NO_CHANGES


def test_when_every_thread_is_withdrawn_the_files_say_so(world: World) -> None:
    """Nothing is left but the shapes; the memories stay listed, retired."""
    world.says("thread-a", entry("use uv"))
    world.run()
    world.gate("thread-a", Gate.POLLUTED)
    assert world.run().outcome is CONSOLIDATED
    assert world.handbook.read_bytes() == b""
    assert b"- Nothing is remembered yet." in (world.workspace / "memory_summary.md").read_bytes()
    (memory,) = world.store.memories.every()
    assert (memory.status, memory.entry_ids) == (MemoryStatus.RETIRED, ())
    assert world.run().outcome is NO_CHANGES


def test_a_persons_text_outlives_any_number_of_consolidations(world: World) -> None:
    """An edit is a difference, is carried, and then is part of what was published."""
    world.says("thread-0", entry("use uv"))
    world.run()
    world.handbook.write_bytes(world.handbook.read_bytes() + "我的笔记\u2028\n".encode())
    assert world.run().outcome is CONSOLIDATED
    assert world.run().outcome is NO_CHANGES
    for number in range(1, 5):
        world.says(f"thread-{number}", entry(f"rule number {number}", scope="user"))
        world.run()
    assert world.handbook.read_bytes().count("我的笔记\u2028\n".encode()) == 1


def test_a_deleted_workspace_is_published_anew(world: World) -> None:
    """All files come back with the person's text, and that is said."""
    world.says("thread-a", entry("use uv"))
    world.run()
    world.handbook.write_bytes(world.handbook.read_bytes() + b"my note\n")
    world.run()
    files = world.files()
    shutil.rmtree(world.workspace)
    counts = world.run()
    assert counts.outcome is CONSOLIDATED
    assert len(counts.problems) == 2
    assert world.files() == files


def test_a_lost_baseline_publishes_anew_and_loses_nothing(world: World) -> None:
    """Files are the same, a person's text is kept, and no blank lines pile up."""
    world.says("thread-a", entry("use uv"), learned("the cache lives in /var/tmp/shop"))
    world.run()
    world.handbook.write_bytes(world.handbook.read_bytes() + b"my note\n")
    world.run()
    files = world.files()
    for _ in range(3):
        shutil.rmtree(world.config.state_path / "baseline")
        assert world.run().outcome is CONSOLIDATED
        assert world.files() == files


def test_a_changed_limit_renders_anew(world: World) -> None:
    """Limits belong to what is published, so changing one is a difference."""
    world.says("thread-a", *(entry(f"rule {number} {'x' * 200}", scope="user", byte=number) for number in range(20)))
    world.run()
    assert world.run(summary_max_bytes=2_000).outcome is CONSOLIDATED
    assert len((world.workspace / "memory_summary.md").read_bytes()) <= 2_000
    assert world.run(summary_max_bytes=2_000).outcome is NO_CHANGES


# --- memory over time ------------------------------------------------------------------------------------------------


def test_due_retirement_is_a_difference_of_its_own(world: World) -> None:
    """Nothing new was said, yet the day comes: the file changes and the reason is kept."""
    world.says("thread-a", entry("use uv"), learned("the cache lives in /var/tmp/shop"))
    world.run()
    world.clock.moment += 31 * DAY
    counts = world.run()
    assert (counts.outcome, counts.modified) == (CONSOLIDATED, 1)
    assert b"/var/tmp/shop" not in world.handbook.read_bytes()
    (faded,) = world.store.memories.every(status=MemoryStatus.RETIRED)
    assert faded.reason.startswith("unused and unconfirmed since 20")
    assert world.run().outcome is NO_CHANGES


def test_use_that_was_recorded_keeps_a_memory(world: World) -> None:
    """A citation counts as use of the memory."""
    world.says("thread-a", learned("the cache lives in /var/tmp/shop"))
    world.run()
    (memory,) = world.store.memories.every()
    world.store.extractions.record_usage("memory", memory.memory_id, now=NOW + 20 * DAY)
    world.clock.moment += 31 * DAY
    assert world.run().outcome is NO_CHANGES
    assert world.store.memories.every()[0].usage.count == 1


def test_a_memory_keeps_its_id_and_history_when_its_thread_is_read_again(world: World) -> None:
    """The withdrawn entry's memory moves to the thread's like new entry, and its history tells that."""
    world.says("thread-a", entry("run the unit tests with pytest -q before pushing"))
    world.run()
    (before,) = world.store.memories.every()
    world.store.extractions.record_usage("memory", before.memory_id, now=NOW)
    world.says("thread-a", entry("run the unit tests quietly with pytest -q before pushing to main"))
    world.run()
    (after,) = world.store.memories.every()
    assert after.memory_id == before.memory_id
    assert after.statement.endswith("to main")
    assert after.usage.count == 1
    history = world.store.memories.operations_of(after.memory_id)
    assert [done.operation.kind for done in history] == [OperationKind.ADD, OperationKind.REWORD]
    assert all(done.operation.reason and done.operation.entry_id for done in history)


def test_history_tells_what_superseded_what_and_back(world: World) -> None:
    """Every change of a memory is kept with its reason, oldest first, and the links read both ways."""
    for number, (words, days) in enumerate((("use npm", 9), ("use pnpm", 5), ("use npm", 1))):
        world.says(f"thread-{number}", entry(words, at=NOW - days * DAY))
        world.run()
    by_words = {memory.statement: memory for memory in world.store.memories.every()}
    npm, pnpm = by_words["use npm"], by_words["use pnpm"]
    assert (npm.status, pnpm.status) == (MemoryStatus.ACTIVE, MemoryStatus.SUPERSEDED)
    assert (npm.supersedes, pnpm.superseded_by) == ((pnpm.memory_id,), npm.memory_id)
    history = world.store.memories.operations_of(npm.memory_id)
    assert [done.operation.kind for done in history] == [
        OperationKind.ADD,
        OperationKind.SUPERSEDE,
        OperationKind.MERGE,
        OperationKind.RESTORE,
    ]
    assert history[1].operation.other_memory_id == pnpm.memory_id


def test_selection_bounds_the_input_and_not_what_is_remembered(world: World) -> None:
    """A memory of a thread that was crowded out stays, with its summary; only the raw memory goes."""
    world.says("thread-a", entry("use uv"))
    world.run()
    world.says("thread-b", entry("commit small"))
    world.store.extractions.record_usage("thread", "thread-b", now=NOW)
    counts = world.run(max_candidates=1)
    assert counts.selected == 1
    text = world.handbook.read_text()
    assert '"use uv"' in text
    assert '"commit small"' in text
    assert "thread-a" not in (world.workspace / "raw_memories.md").read_text()
    assert len(list((world.workspace / "rollout_summaries").iterdir())) == 2


def test_the_watermark_is_bookkeeping_only(world: World) -> None:
    """It tells the newest source that was consolidated, and never holds a run back."""
    world.says("thread-a", entry("use uv"))
    number = world.store.memories.begin(owner="test", now=NOW)
    world.store.memories.finish(number, watermark=NOW + 900 * DAY, now=NOW - DAY)
    assert world.run().outcome is CONSOLIDATED


def test_a_row_of_a_dead_run_is_taken_over(world: World) -> None:
    """Whoever holds the lock closes what still says running, and goes on without a wait."""
    dead = world.store.memories.begin(owner="dead", now=NOW)
    world.says("thread-a", entry("use uv"))
    assert world.run().outcome is CONSOLIDATED
    assert world.store.memories.state_of(dead) == "failed"
    assert not world.store.memories.commit(dead, [], [], [], now=NOW)


def test_a_backlog_larger_than_the_selection_has_its_turn(tmp_path: Path) -> None:
    """One consolidation reads a bounded set; the next ones place what is left, and then nothing changes."""
    world = World(tmp_path, max_candidates=2)
    for number in range(5):
        world.says(f"thread-{number}", entry(f"use port {8000 + number} for service {number}"))
    selected = [world.run().selected for _ in range(3)]
    assert selected == [2, 2, 2]
    assert world.run().outcome is NO_CHANGES
    assert len(world.store.memories.every(status=MemoryStatus.ACTIVE)) == 5
    assert (world.workspace / "raw_memories.md").read_text().count("## Thread") == 2
    world.close()


def test_what_waits_for_a_person_keeps_no_backlog_waiting(tmp_path: Path) -> None:
    """An entry that only a person can settle is looked at once, and does not take the turn of others for ever."""
    world = World(tmp_path, max_candidates=1)
    stated = entry("the port is 8080")
    world.says("thread-a", stated)
    world.run()
    claim = entry("the port is 9090", kind=EntryKind.KNOWLEDGE, speaker=Speaker.TOOL)
    world.says("thread-b", claim)
    world.says("thread-c", entry("use uv"))
    world.says("thread-d", entry("run make lint"))
    for _ in range(4):
        world.run()
    told = {memory.statement for memory in world.store.memories.every(status=MemoryStatus.ACTIVE)}
    assert told == {"the port is 8080", "use uv", "run make lint"}
    world.close()


def test_a_line_taken_out_stays_out_when_its_words_shift(world: World) -> None:
    """A memory is known by its id, not by its line: new tasks renumber the marks behind it."""
    world.says("thread-b", entry("use uv"), entry("run make lint", byte=200))
    world.run()
    kept = [line for line in world.handbook.read_text().splitlines(keepends=True) if "use uv" not in line]
    world.handbook.write_text("".join(kept))
    world.run()
    world.says("thread-a", entry("use uv"), entry("run make lint", byte=200))
    assert world.run().outcome is CONSOLIDATED
    text = world.handbook.read_text()
    assert "run make lint" in text
    assert '"use uv"' not in text


def test_a_linked_folder_inside_the_workspace_is_not_written_through(world: World, tmp_path: Path) -> None:
    """A link where a folder of ours belongs fails the run, says so, and what it leads to stays as it was."""
    world.says("thread-a", entry("use uv"))
    world.run()
    outside = tmp_path / "outside"
    shutil.move(world.workspace / "rollout_summaries", outside)
    (world.workspace / "rollout_summaries").symlink_to(outside)
    before = sorted(outside.iterdir())
    world.says("thread-b", entry("run make lint"))
    counts = world.run()
    assert counts.outcome is Phase2Outcome.FAILED
    assert "is a link" in counts.problems[0]
    assert sorted(outside.iterdir()) == before
