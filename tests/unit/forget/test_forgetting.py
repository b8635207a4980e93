"""Forgetting in a world of stored words: what it fences out, blanks, words anew and leaves as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from forgetting_runs import files_holding
from phase2_world import NOW, PROJECT, World, entry, facts
from store_samples import rollout_file

from memory_pipeline.app import App
from memory_pipeline.errors import LockedError, UsageError
from memory_pipeline.forget.forgetting import Forgetting
from memory_pipeline.forget.selection import Selector
from memory_pipeline.lock import os_lock
from memory_pipeline.phase2.places import workspace_lock_path
from memory_pipeline.records import (
    Coverage,
    Entry,
    Extraction,
    JournalAction,
    JournalRecord,
    Lease,
    Memory,
    MemoryStatus,
)

DAY = 86_400.0


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A world in which nothing was said yet."""
    made = World(tmp_path)
    yield made
    made.close()


@pytest.fixture
def app(world: World) -> Iterator[App]:
    """The program on that world."""
    with App(world.config, clock=world.clock) as opened:
        yield opened


def memory_of(world: World, word: str) -> Memory:
    """Return the memory that holds a word."""
    (found,) = [memory for memory in world.store.memories.every() if word in memory.statement]
    return found


def only_entry(world: World, thread_id: str, word: str) -> Entry:
    """Return the entry of a thread that holds a word."""
    (found,) = [said for said in world.store.extractions.entries(thread_id) if word in said.statement]
    return found


def claimed(world: World, thread_id: str) -> Lease:
    """Let a new thread be in the middle of its extraction."""
    file = rollout_file(thread_id)
    world.store.threads.record_reading(file, facts(thread_id), PROJECT, now=NOW)
    world.store.jobs.set_gates({thread_id: None})
    lease = world.store.jobs.claim(owner="worker", now=NOW, lease_seconds=600, max_attempts=3).lease
    assert lease is not None
    return lease


def test_a_worker_in_flight_can_not_store_the_old_words(world: World, app: App) -> None:
    """What was being extracted while something was forgotten is refused, and is due again without a try used."""
    world.says("a", entry("Use the aardvarkmug."))
    world.run()
    lease = claimed(world, "b")
    app.forgetting().forget(Selector(memory=memory_of(world, "aardvarkmug").memory_id))
    nothing = Extraction(
        thread_id="b", rollout_summary="aardvarkmug", slug="", raw_memory="", tasks=(), coverage=Coverage.HIGH
    )
    assert world.store.jobs.complete(lease, nothing, now=NOW) is False
    again = world.store.jobs.claim(owner="worker", now=NOW, lease_seconds=600, max_attempts=3).lease
    assert again is not None
    assert (again.thread.thread_id, again.attempt) == ("b", 1)


def test_an_entry_that_shares_a_forgotten_line_stays_without_the_words_of_that_line(world: World, app: App) -> None:
    """Whose word it is and when stays; its quote, range and hash of that line go."""
    both = entry("Use the aardvarkmug.")
    other = Entry(
        entry_id="e_other",
        thread_id=both.thread_id,
        kind=both.kind,
        scope=both.scope,
        condition="",
        statement="Keep the wombatade cold.",
        evidence=both.evidence,
    )
    world.says("a", both, other)
    world.run()
    app.forgetting().forget(Selector(entry=only_entry(world, "a", "aardvarkmug").entry_id))
    (line,) = only_entry(world, "a", "wombatade").evidence
    assert (line.quote, line.line_sha256, line.byte_end) == ("", "", 0)
    assert (line.speaker, line.at) == (both.evidence[0].speaker, both.evidence[0].at)
    assert memory_of(world, "wombatade").status is MemoryStatus.ACTIVE
    assert files_holding(world.folder, "aardvarkmug") == []


def test_what_the_person_took_back_long_ago_does_not_hold_again(world: World, app: App) -> None:
    """When the newer word is forgotten, the older one that it superseded is retired, not told."""
    world.says("a", entry("Always use aardvarkmug for tea.", at=NOW - 2 * DAY))
    world.says("b", entry("Never use aardvarkmug for tea.", at=NOW - DAY))
    world.run()
    newer = memory_of(world, "Never")
    assert memory_of(world, "Always").status is MemoryStatus.SUPERSEDED
    app.forgetting().forget(Selector(memory=newer.memory_id))
    world.run()
    assert memory_of(world, "Always").status is MemoryStatus.RETIRED


def test_a_former_wording_that_is_forgotten_goes_from_the_history_and_undoing_does_not_bring_it_back(
    world: World, app: App
) -> None:
    """The image of the memory before it was worded anew tells what it says now."""
    world.says("a", entry("Serve tea in the aardvarkmug."))
    world.run()
    memory = memory_of(world, "aardvarkmug")
    app.take_in_hand(
        [
            JournalRecord(
                record_id="j_1",
                action=JournalAction.EDIT,
                at=NOW,
                origin="command",
                memory_id=memory.memory_id,
                kind=memory.kind,
                scope=memory.scope,
                statement="Serve tea in a proper pot.",
                was=memory.statement,
            )
        ]
    )
    app.forgetting().forget(Selector(entry=only_entry(world, "a", "aardvarkmug").entry_id))
    assert files_holding(world.folder, "aardvarkmug") == []
    app.undo(2)
    assert memory_of(world, "proper").memory_id == memory.memory_id
    assert files_holding(world.folder, "aardvarkmug") == []


def test_the_journal_keeps_its_length_and_the_ranges_of_its_other_lines(world: World, app: App) -> None:
    """A forgotten line is blanked where it stands, so what rests on the others can still be read back."""
    for number, statement in enumerate(("Use the aardvarkmug.", "Keep the wombatade cold.")):
        app.take_in_hand(
            [
                JournalRecord(
                    record_id=f"j_{number}",
                    action=JournalAction.ADD,
                    at=NOW,
                    origin="command",
                    scope="user",
                    statement=statement,
                )
            ]
        )
    journal = world.config.journal_path
    before = journal.read_bytes()
    (line,) = only_entry(world, "journal", "wombatade").evidence
    app.forgetting().forget(Selector(memory=memory_of(world, "aardvarkmug").memory_id))
    after = journal.read_bytes()
    assert len(after) == len(before)
    assert after[line.byte_start : line.byte_end] == before[line.byte_start : line.byte_end]
    assert after.splitlines()[0].strip() == b""


def test_nothing_is_forgotten_while_another_run_holds_the_workspace(world: World, app: App) -> None:
    """It is refused before anything is written down."""
    world.says("a", entry("Use the aardvarkmug."))
    world.run()
    with os_lock(workspace_lock_path(world.workspace), purpose="a test"), pytest.raises(LockedError):
        app.forgetting().forget(Selector(match="aardvarkmug"))
    assert not world.config.tombstones_path.exists()
    assert memory_of(world, "aardvarkmug").status is MemoryStatus.ACTIVE


def test_a_cut_off_forgetting_waits_for_the_run_that_holds_the_workspace(world: World, app: App) -> None:
    """A start finds the workspace held and goes on; the next one finishes what was cut off."""
    world.says("a", entry("Use the aardvarkmug."))
    world.run()
    with pytest.raises(InterruptedError):
        app.forgetting(on_step=_stop_at("wrote tombstones")).forget(Selector(match="aardvarkmug"))
    with os_lock(workspace_lock_path(world.workspace), purpose="a test"):
        App(world.config, clock=world.clock).close()
        assert memory_of(world, "aardvarkmug").status is MemoryStatus.ACTIVE
    App(world.config, clock=world.clock).close()
    assert files_holding(world.folder, "aardvarkmug") == []


def test_a_run_of_phase_two_finishes_what_was_cut_off_before_it_does_anything(world: World, app: App) -> None:
    """So a long-lived program that meets a restored database publishes nothing of it."""
    world.says("a", entry("Use the aardvarkmug."))
    world.run()
    with pytest.raises(InterruptedError):
        app.forgetting(on_step=_stop_at("wrote tombstones")).forget(Selector(match="aardvarkmug"))
    app.undo(1)
    assert files_holding(world.folder, "aardvarkmug") == []


def test_older_databases_and_journals_in_the_state_folder_are_deleted(world: World, app: App) -> None:
    """They hold what they held; the plan names them, and other files stay."""
    world.says("a", entry("Use the aardvarkmug."))
    world.run()
    state = world.config.state_path
    for name in ("memory.db.2026-11-20", "journal.jsonl.bak", "notes.txt"):
        (state / name).write_text("wombatade", encoding="utf-8")
    forgetting: Forgetting = app.forgetting()
    plan = forgetting.plan(Selector(match="aardvarkmug"))
    assert [path.name for path in plan.backups] == ["journal.jsonl.bak", "memory.db.2026-11-20"]
    forgetting.forget(Selector(match="aardvarkmug"))
    assert sorted(path.name for path in state.iterdir() if path.suffix in (".bak", ".txt", ".2026-11-20")) == [
        "notes.txt"
    ]


def test_a_copy_that_was_kept_aside_loses_the_lines_that_tell_it(world: World, app: App) -> None:
    """What stood in the workspace before stays otherwise as it was."""
    world.workspace.mkdir(parents=True)
    stranger = "Buy milk.\nAlways serve tea in the aardvarkmug.\n"
    (world.workspace / "memory_summary.md").write_text(stranger, encoding="utf-8")
    world.says("a", entry("Always serve tea in the aardvarkmug."))
    world.run()
    app.forgetting().forget(Selector(memory=memory_of(world, "aardvarkmug").memory_id))
    (copy,) = (world.config.state_path / "replaced").iterdir()
    assert copy.read_text(encoding="utf-8") == "Buy milk.\n"
    assert files_holding(world.folder, "aardvarkmug") == []


def test_the_journal_as_a_whole_can_not_be_forgotten_at_once(world: World, app: App) -> None:
    """What a person wrote by hand goes memory by memory, so that a slip of the hand loses little."""
    record = JournalRecord(
        record_id="j_1", action=JournalAction.ADD, at=NOW, origin="command", scope="user", statement="Drink tea."
    )
    app.take_in_hand([record])
    with pytest.raises(UsageError, match="--memory"):
        app.forgetting().plan(Selector(thread="journal"))


def _stop_at(step: str) -> Callable[[str], None]:
    def stop(done: str) -> None:
        if done == step:
            raise InterruptedError(step)

    return stop
