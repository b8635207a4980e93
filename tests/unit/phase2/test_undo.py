"""Undoing a consolidation: the files are as they were, and what was undone stays undone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phase2_world import DAY, NOW, OTHER_PROJECT, PROJECT, World, entry, learned

from memory_pipeline.phase2.history import between
from memory_pipeline.records import EntryKind, Gate, JournalAction, MemoryStatus, OperationKind, Phase2Outcome

PUBLISHED = ("MEMORY.md", "memory_summary.md")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A workspace that was consolidated once."""
    made = World(tmp_path)
    made.says("thread-a", entry("use npm", at=NOW - 9 * DAY), learned("the cache lives in /var/tmp/shop"))
    made.says("thread-b", entry("answer in English", scope="user", at=NOW - 9 * DAY))
    made.run()
    yield made
    made.close()


def published(world: World) -> dict[str, bytes]:
    """What agents read of the memories."""
    return {name: content for name, content in world.files().items() if name in PUBLISHED}


def test_undo_restores_the_bytes_and_nothing_comes_back_by_itself(world: World) -> None:
    """Added, merged and superseded memories are as they were before, through any number of later runs."""
    before = published(world)
    world.says("thread-c", entry("use pnpm", at=NOW - DAY), entry("answer in English", scope="user", at=NOW - DAY))
    world.run()
    assert published(world) != before
    assert world.undo().outcome is Phase2Outcome.CONSOLIDATED
    assert published(world) == before
    for _ in range(3):
        world.clock.moment += DAY
        world.run()
        assert published(world) == before
    assert world.of("use npm").status is MemoryStatus.ACTIVE
    assert world.of("use pnpm").status is MemoryStatus.RETIRED


def test_what_was_undone_stays_out_when_another_session_says_it(world: World) -> None:
    """The same words in a new thread join the retired memory; only the person has it told again."""
    world.says("thread-c", entry("squash before merging"))
    world.run()
    world.undo()
    world.says("thread-d", entry("squash before merging", at=NOW - DAY / 2))
    world.run()
    assert (PROJECT, "squash before merging") not in world.told()
    world.does(JournalAction.RESTORE, world.of("squash before merging"))
    assert (PROJECT, "squash before merging") in world.told()


def test_undoing_the_undoing_brings_everything_back(world: World) -> None:
    """Links, dates and entries included."""
    world.says("thread-c", entry("use pnpm", at=NOW - DAY), entry("answer in English", scope="user", at=NOW - DAY))
    world.run()
    after, memories = published(world), world.store.memories.every()
    world.undo()
    world.undo()
    assert published(world) == after
    assert [(one.memory_id, one.statement, one.status, one.entry_ids, one.superseded_by) for one in memories] == [
        (one.memory_id, one.statement, one.status, one.entry_ids, one.superseded_by)
        for one in world.store.memories.every()
    ]
    world.run()
    assert published(world) == after


def test_a_retirement_that_was_undone_is_not_repeated(world: World) -> None:
    """Age does not take out again what the person brought back; losing its evidence does."""
    world.clock.moment = NOW + 60 * DAY
    world.run()
    assert world.of("the cache lives in /var/tmp/shop").status is MemoryStatus.RETIRED
    world.undo()
    for _ in range(2):
        world.clock.moment += 60 * DAY
        world.run()
        assert world.of("the cache lives in /var/tmp/shop").status is MemoryStatus.ACTIVE
    world.says("thread-a", entry("use npm", at=NOW - 9 * DAY))
    world.run()
    assert world.of("the cache lives in /var/tmp/shop").status is MemoryStatus.RETIRED


def test_commands_are_undone_one_after_the_other(world: World) -> None:
    """Each step back is the state before that command."""
    stages = [published(world)]
    world.does(JournalAction.RETIRE, world.of("use npm"))
    stages.append(published(world))
    world.does(JournalAction.ADD, kind=EntryKind.PREFERENCE, scope="user", statement="never use emojis")
    second = world.store.memories.last_consolidation()
    assert second is not None
    assert world.undo(second.consolidation_id).outcome is Phase2Outcome.CONSOLIDATED
    assert published(world) == stages[1]
    assert world.undo(second.consolidation_id - 1).outcome is Phase2Outcome.CONSOLIDATED
    assert published(world) == stages[0]


def test_undoing_keeps_what_a_new_reading_of_the_log_says(world: World) -> None:
    """A thread read anew rests on other lines; taking its consolidation back does not cost what it still says."""
    world.says("thread-a", entry("use npm", at=NOW - 9 * DAY, byte=500), entry("squash before merging"))
    world.run()
    world.undo()
    for _ in range(2):
        assert (PROJECT, "use npm") in world.told()
        assert (PROJECT, "squash before merging") not in world.told()
        world.run()


def test_undoing_tells_nothing_that_no_evidence_stands_for(world: World) -> None:
    """What went because its session was disabled is left, and that is said."""
    world.gate("thread-b", Gate.DISABLED)
    world.run()
    gone = world.of("answer in English")
    counts = world.undo()
    assert any(gone.memory_id in problem for problem in counts.problems)
    assert world.of("answer in English").status is MemoryStatus.RETIRED


def test_undoing_does_not_take_a_renamed_project_back(world: World) -> None:
    """A folder whose remote became known keeps that name; the memory goes back to its words alone."""
    folder = "project:/home/sam/blog"
    world.says("thread-c", entry("squash before merging", scope=folder), cwd="/home/sam/blog")
    world.run()
    world.does(JournalAction.EDIT, world.of("squash before merging"), statement="squash before merging to main")
    target = world.store.memories.last_consolidation()
    assert target is not None
    world.store.threads.rescope({"/home/sam/blog": OTHER_PROJECT})
    assert world.of("squash before merging to main").scope == OTHER_PROJECT
    world.run()
    world.undo(target.consolidation_id)
    assert world.told() >= {(OTHER_PROJECT, "squash before merging")}
    assert folder not in {scope for scope, _ in world.told()}


def test_what_changed_since_is_left_and_said(world: World) -> None:
    """An older consolidation is undone but for the memories that later ones changed."""
    world.says("thread-c", entry("squash before merging"), entry("write tests first"))
    world.run()
    target = world.store.memories.last_consolidation()
    assert target is not None
    changed = world.of("squash before merging")
    world.does(JournalAction.EDIT, changed, statement="squash before merging to main", was=changed.statement)
    counts = world.undo(target.consolidation_id)
    assert any(changed.memory_id in problem for problem in counts.problems)
    assert (PROJECT, "squash before merging to main") in world.told()
    assert (PROJECT, "write tests first") not in world.told()


def test_the_difference_between_two_consolidations_is_told(world: World) -> None:
    """Added, changed and taken out, with what stood before."""
    first = world.store.memories.last_consolidation()
    world.says("thread-c", entry("squash before merging"))
    world.run()
    world.does(JournalAction.RETIRE, world.of("use npm"))
    last = world.store.memories.last_consolidation()
    assert first is not None
    assert last is not None
    found = between(world.store.memories, first.consolidation_id, last.consolidation_id)
    assert {(one.sign, (one.after or one.before).statement) for one in found if one.after or one.before} == {
        ("+", "squash before merging"),
        ("-", "use npm"),
    }
    middle = between(world.store.memories, first.consolidation_id, last.consolidation_id - 1)
    assert [one.sign for one in middle] == ["+"]


def test_a_preview_changes_nothing_and_says_what_will_change(world: World) -> None:
    """Neither the journal nor the store nor a file is touched by looking."""
    world.says("thread-c", entry("squash before merging"))
    world.pass_review()
    world.write_handbook(lambda lines: [line for line in lines if "use npm" not in line])
    files, rows = world.files(), world.store.memories.every()
    preview = world.parts().preview()
    assert {(change.operation.kind, change.operation.memory_id) for change in preview.changes} >= {
        (OperationKind.RETIRE, world.of("use npm").memory_id)
    }
    assert any(change.before is None for change in preview.changes)
    assert preview.files["MEMORY.md"] == "M"
    assert (world.files(), world.store.memories.every()) == (files, rows)
    assert not world.config.journal_path.exists()


STATEMENTS = ("use npm", "use pnpm", "never use npm", "run make lint", "the port is 8080", "the port is 9090")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("says"), st.sampled_from(STATEMENTS), st.integers(0, 3), st.sampled_from((PROJECT, "user"))),
        st.tuples(st.just("learns"), st.sampled_from(STATEMENTS), st.integers(0, 3), st.just(OTHER_PROJECT)),
        st.tuples(st.sampled_from(("retire", "restore", "pin", "edit")), st.just(""), st.integers(0, 9), st.just("")),
        st.tuples(st.just("write"), st.sampled_from(("my note", "- my rule")), st.integers(0, 40), st.just("")),
        st.tuples(st.just("undo"), st.just(""), st.just(0), st.just("")),
    ),
    min_size=2,
    max_size=9,
)


@given(steps=STEPS)
@settings(max_examples=25, deadline=None)
def test_through_any_history_lines_lead_to_evidence_and_undo_restores_the_bytes(
    steps: list[tuple[str, str, int, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """After every step: no text of the person is lost, what is told rests on something, and one undo is exact."""
    world = World(tmp_path_factory.mktemp("history"))
    written: list[str] = []
    try:
        for number, step in enumerate(steps):
            world.clock.moment += 3600
            _take(world, number, step, written)
            before = published(world)
            known = world.store.memories.every()
            world.run()
            changed = world.store.memories.last_consolidation()
            if changed is not None and published(world) != before and not written and known:
                after = published(world)
                if world.undo().outcome is Phase2Outcome.CONSOLIDATED:
                    assert published(world) == before
                    world.undo()
                    assert published(world) == after
            _hold(world, written)
            assert world.run().outcome in (Phase2Outcome.NO_CHANGES, Phase2Outcome.NO_INPUTS)
    finally:
        world.close()


def _take(world: World, number: int, step: tuple[str, str, int, str], written: list[str]) -> None:
    what, words, index, scope = step
    memories = world.store.memories.every()
    if what in ("says", "learns"):
        make = entry if what == "says" else learned
        world.says(f"thread-{number}-{index}", make(words, at=world.clock.moment - index * DAY, scope=scope))
    elif what == "write" and world.handbook.exists():
        line = f"{words} {number}"
        written.append(line.removeprefix("- "))
        world.write_handbook(
            lambda lines: [*lines[: index % (len(lines) + 1)], line, *lines[index % (len(lines) + 1) :]]
        )
    elif what == "undo" and memories:
        world.undo()
    elif memories and what in ("retire", "restore", "pin", "edit"):
        memory = memories[index % len(memories)]
        if what == "edit":
            world.does(JournalAction.EDIT, memory, statement=f"edited {number}", was=memory.statement)
        else:
            world.does(JournalAction(what), memory)


def _inserted(lines: list[str], index: int, line: str) -> list[str]:
    place = index % (len(lines) + 1)
    return [*lines[:place], line, *lines[place:]]


def _hold(world: World, written: list[str]) -> None:
    told = world.handbook.read_text(encoding="utf-8") if world.handbook.exists() else ""
    journal = world.config.journal_path.read_text(encoding="utf-8") if world.config.journal_path.exists() else ""
    for words in written:
        assert words in told or f'"{words}"' in journal
    for memory in world.store.memories.every(status=MemoryStatus.ACTIVE):
        entries = world.store.extractions.standing_entries(memory.entry_ids)
        assert entries
        assert all(one.evidence and one.scope == memory.scope for one in entries.values())
        assert memory.statement in told
