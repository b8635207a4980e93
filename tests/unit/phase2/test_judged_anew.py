"""Only what changed is judged again, and that comes to the same as judging everything."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phase2_world import DAY, NOW, OTHER_PROJECT, PROJECT, World, entry, learned

from memory_pipeline.phase2.curators.rules import curate
from memory_pipeline.phase2.known import StoredArchive
from memory_pipeline.phase2.operations import MemoryBook
from memory_pipeline.phase2.placing import Shelves
from memory_pipeline.records import (
    DraftLabel,
    Gate,
    IndexedThread,
    JournalAction,
    Memory,
    MemoryStatus,
    Merge,
    Phase2Counts,
    Phase2Outcome,
)
from memory_pipeline.store.store import Store

NOTHING = (Phase2Outcome.NO_CHANGES, Phase2Outcome.NO_INPUTS)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """An empty workspace."""
    made = World(tmp_path)
    yield made
    made.close()


def marked(world: World) -> list[str]:
    """The ids of the memories that the next consolidation judges."""
    return sorted(world.store.memories.to_judge().memory_ids)


def judge_everything(world: World) -> Phase2Counts:
    """Run once more as if another version had judged all that stands, and made all keys of statements."""
    execute(world, "DELETE FROM keys_made")
    return world.run()


SAID = ("use npm", "use pnpm", "use yarn", "never use pnpm", "answer in English", "answer in German")
LEARNT = ("the api listens on port 8080", "the api listens on port 9090", "the tests use pnpm")
RESULTS = ("it came out amber", "nothing of that was done", "the shed is painted cobalt")
GOALS = ("the task is: paint the shed", "the task is: mend the roof")
MOVED = "project:example.org/sam/moved"
FOLDERS = {PROJECT: "/home/sam/shop", OTHER_PROJECT: "/home/sam/blog", "user": "/home/sam/shop"}
#: What is done more often stands more often.
ACTS = (
    *("says", "says", "says", "learns", "result", "result", "again", "result again", "gate", "gate", "open"),
    *("retire", "restore", "edit", "pin", "unpin", "undo", "undo any", "move", "wait", "merge", "review"),
)
STEPS = st.tuples(
    st.sampled_from(ACTS),
    st.integers(0, 5),
    st.integers(0, 9),
    st.sampled_from([PROJECT, PROJECT, OTHER_PROJECT, "user"]),
)


@settings(max_examples=60, deadline=None)
@given(steps=st.lists(STEPS, min_size=2, max_size=9))
def test_judging_everything_finds_nothing_that_was_missed(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int, str]]
) -> None:
    """After any series of what is said, withdrawn, moved, decided, done and undone, consolidated until all is quiet."""
    world = World(tmp_path_factory.mktemp("judged"))
    try:
        for number, step in enumerate(steps):
            _take(world, number, step)
            world.clock.moment += 60
            run_until_quiet(world)
            before = world.files(), world.store.memories.every()
            assert judge_everything(world).outcome in NOTHING
            assert (world.files(), world.store.memories.every()) == before
    finally:
        world.close()


def run_until_quiet(world: World) -> None:
    """Consolidate as the daemon would: what follows from one consolidation may be left to the next."""
    for _ in range(5):
        if world.run().outcome in NOTHING:
            return
    raise AssertionError("it never comes to rest")


def _take(world: World, number: int, step: tuple[str, int, int, str]) -> None:
    what, index, days, scope = step
    threads = sorted(
        (thread for thread in world.store.threads.every() if thread.agent != "journal"), key=lambda one: one.thread_id
    )
    memories = world.store.memories.every()
    at = NOW - days * DAY
    if what == "says":
        other = SAID[(index + number) % len(SAID)]
        world.says(f"thread-{number}", entry(SAID[index], at=at, scope=scope), entry(other, at=at, scope=scope))
    elif what == "learns":
        said = learned(LEARNT[index % len(LEARNT)], at=at, scope=scope)
        world.says(f"thread-{number}", said, cwd=FOLDERS[scope])
    elif what == "result":
        said = learned(RESULTS[index % len(RESULTS)], at=at, scope=scope, condition=GOALS[days % len(GOALS)])
        world.says(f"task-{number}", said, cwd=FOLDERS[scope])
    elif what == "move":
        world.store.threads.rescope({FOLDERS[scope]: (MOVED, PROJECT, OTHER_PROJECT)[index % 3]})
    elif what == "wait":
        world.clock.moment += 3 * index * DAY
    elif threads and what in ("again", "result again", "gate", "open", "review"):
        _take_again(world, what, threads[index % len(threads)], days, at)
    elif memories:
        _take_in_hand(world, number, what, memories, memories[index % len(memories)])


def _take_again(world: World, what: str, thread: IndexedThread, days: int, at: float) -> None:
    is_task = thread.thread_id.startswith("task-")
    if what in ("gate", "open"):
        world.gate(thread.thread_id, Gate.DISABLED if what == "gate" else None)
    elif what == "review":
        status = ("rejected", "deferred", "pending", "approved")[days % 4]
        execute(
            world,
            "UPDATE drafts SET review_status = ?, decided_by = 'person' "
            "WHERE entry_id IN (SELECT entry_id FROM entries WHERE thread_id = ?)",
            status,
            thread.thread_id,
        )
    elif what == "again" and not is_task:
        said = entry(SAID[days % len(SAID)], at=NOW, scope=thread.scope)
        world.says(thread.thread_id, said, cwd=thread.cwd or "")
    elif what == "result again" and is_task:
        said = learned(RESULTS[days % len(RESULTS)], at=at, scope=thread.scope, condition=GOALS[days % len(GOALS)])
        world.says(thread.thread_id, said, cwd=thread.cwd or "")


def _take_in_hand(world: World, number: int, what: str, memories: list[Memory], memory: Memory) -> None:
    beside = [one for one in memories if one.memory_id != memory.memory_id and one.scope == memory.scope]
    if what == "undo":
        world.undo()
    elif what == "undo any":
        consolidations = world.store.memories.consolidations(limit=20)
        world.undo(consolidations[number % len(consolidations)].consolidation_id)
    elif what == "edit":
        # Sometimes without the condition: what was the result of a task then is one no more.
        condition = memory.condition if number % 2 else ""
        statement, was = f"edited {number}", memory.statement
        world.does(JournalAction.EDIT, memory, statement=statement, was=was, condition=condition)
    elif what in ("retire", "restore", "pin", "unpin"):
        world.does(JournalAction(what), memory)
    elif what == "merge" and beside:
        label = (DraftLabel.REFINE, DraftLabel.CONFLICT)[number % 2]
        approve_merge(world, f"g_{number}", label, memory, beside[0])


def execute(world: World, statement: str, *values: object) -> None:
    """Change the database behind the back of the program."""
    with closing(sqlite3.connect(world.config.database_path, isolation_level=None)) as connection:
        connection.execute(statement, values)


def approve_merge(world: World, merge_id: str, label: DraftLabel, keeps: Memory, gives_way: Memory) -> None:
    """Let a person approve that of two memories one stays."""
    merge = Merge(merge_id=merge_id, label=label, keeps=keeps.memory_id, gives_way=(gives_way.memory_id,))
    world.store.drafts.propose([merge], outdated=(), now=world.clock.now())
    execute(
        world,
        "UPDATE drafts SET review_status = 'approved', decided_by = 'person', reviewed_at = ? WHERE entry_id = ?",
        world.clock.now(),
        merge_id,
    )


def test_a_run_without_news_leaves_nothing_to_judge(world: World) -> None:
    """What a consolidation changed itself, it has judged."""
    world.says("thread-a", entry("use npm", at=NOW - 2 * DAY))
    world.says("thread-b", entry("use pnpm", at=NOW - DAY))
    world.run()
    assert marked(world) == []
    world.run()
    assert marked(world) == []


@pytest.mark.parametrize("back", [False, True])
def test_what_gave_way_is_judged_when_the_evidence_of_the_newer_word_goes(world: World, back: bool) -> None:
    """And once more when it comes back."""
    world.says("thread-a", entry("use npm", at=NOW - 2 * DAY))
    world.says("thread-b", entry("use pnpm", at=NOW - DAY))
    world.run()
    world.gate("thread-b", Gate.DISABLED)
    assert marked(world) == [world.of("use pnpm").memory_id]
    world.run()
    assert world.told() == {(PROJECT, "use npm")}
    if back:
        world.gate("thread-b", None)
        world.run()
        assert world.told() == {(PROJECT, "use pnpm")}


def test_what_changes_while_a_consolidation_works_is_left_to_the_next(world: World) -> None:
    """Its mark is newer than what was seen."""
    world.says("thread-a", entry("use npm", at=NOW - 2 * DAY))
    world.says("thread-b", entry("use pnpm", at=NOW - DAY))
    world.run()
    world.says("thread-c", entry("answer in English"))

    def meanwhile(step: str) -> None:
        if step == "staged":
            world.gate("thread-b", Gate.DISABLED)

    world.run(on_step=meanwhile)
    assert marked(world) == [world.of("use pnpm").memory_id]
    world.run()
    assert (PROJECT, "use npm") in world.told()


def test_what_is_withdrawn_before_a_memory_rests_on_it_is_told_no_longer(world: World) -> None:
    """Another process takes it back after it was placed and before that is stored: no trigger can mark its memory."""
    world.says("thread-a", entry("use npm"))
    other = Store(world.config.database_path)

    def meanwhile(step: str) -> None:
        if step == "staged":
            other.jobs.set_gates({"thread-a": Gate.DISABLED})

    world.run(on_step=meanwhile)
    other.close()
    assert world.told() == {(PROJECT, "use npm")}
    run_until_quiet(world)
    assert world.told() == set()


def test_a_project_that_moves_while_a_consolidation_works_has_moved(world: World) -> None:
    """What the consolidation stores of a memory does not bring it back to where it was."""
    world.says("thread-a", entry("use npm", at=NOW - 2 * DAY))
    world.run()
    world.says("thread-b", entry("use pnpm", at=NOW - DAY), cwd="/home/sam/elsewhere")
    other = Store(world.config.database_path)

    def meanwhile(step: str) -> None:
        if step == "staged":
            other.threads.rescope({"/home/sam/shop": MOVED})

    world.run(on_step=meanwhile)
    other.close()
    run_until_quiet(world)
    assert world.told() == {(MOVED, "use npm"), (PROJECT, "use pnpm")}


def test_a_memory_that_can_not_come_back_yet_is_tried_again(world: World) -> None:
    """As long as something learnt stands against it; nothing else reminds of it."""
    world.says("thread-a", learned("the api listens on port 8080", at=NOW - 3 * DAY))
    world.run()
    world.gate("thread-a", Gate.DISABLED)
    world.run()
    world.says("thread-b", learned("the api listens on port 9090", at=NOW - DAY))
    world.run()
    world.gate("thread-a", None)
    world.run()
    back = world.of("the api listens on port 8080")
    assert back.status is MemoryStatus.RETIRED
    assert marked(world) == [back.memory_id]
    world.gate("thread-b", Gate.DISABLED)
    world.run()
    world.run()
    assert world.told() == {(PROJECT, "the api listens on port 8080")}


def test_after_an_update_statements_are_found_before_their_keys_are_made_anew(world: World) -> None:
    """Keys that an older version made are not relied upon."""
    world.says("thread-a", entry("use npm", at=NOW - 2 * DAY))
    world.run()
    with closing(sqlite3.connect(world.config.database_path, isolation_level=None)) as connection:
        connection.execute("UPDATE keys_made SET version = 'older'")
        connection.execute("DELETE FROM memory_keys")
    world.says("thread-b", entry("use pnpm", at=NOW - DAY))
    world.run()
    assert world.told() == {(PROJECT, "use pnpm")}
    assert world.store.memory_keys.unkept() == []


def test_what_the_person_took_out_ends_nothing_when_it_is_said_again(world: World) -> None:
    """Also when what stands against it lost its newest evidence, and so is judged again."""
    world.says("thread-a", entry("use yarn", at=NOW - 3 * DAY))
    world.run()
    world.does(JournalAction.RETIRE, world.of("use yarn"))
    world.says("thread-b", entry("use npm", at=NOW - 2 * DAY))
    world.says("thread-c", entry("use npm", at=NOW))
    world.run()
    world.says("thread-d", entry("use yarn", at=NOW - DAY))
    world.run()
    world.gate("thread-c", Gate.DISABLED)
    world.run()
    assert world.told() == {(PROJECT, "use npm")}
    assert judge_everything(world).outcome is Phase2Outcome.NO_CHANGES


def test_what_waited_is_placed_with_the_run_in_which_nothing_stands_against_it(world: World) -> None:
    """And not with the run after it."""
    world.says("thread-a", learned("the api listens on port 8080", at=NOW - 3 * DAY))
    world.says("thread-b", learned("the api listens on port 9090", at=NOW - DAY))
    world.run()
    world.says("thread-a", entry("use npm"))
    world.run()
    assert world.told() == {(PROJECT, "the api listens on port 9090"), (PROJECT, "use npm")}
    assert world.run().outcome is Phase2Outcome.NO_CHANGES


@pytest.mark.parametrize("moves", ["old", "new"])
def test_a_word_of_another_project_outdoes_none(world: World, moves: str) -> None:
    """Of two that contradict each other, one moves: each holds in its own project, until both are in one again."""
    world.says("thread-a", entry("use npm", at=NOW - 2 * DAY), cwd="/home/sam/old")
    world.says("thread-b", entry("use pnpm", at=NOW - DAY), cwd="/home/sam/new")
    world.run()
    assert world.told() == {(PROJECT, "use pnpm")}
    world.store.threads.rescope({f"/home/sam/{moves}": MOVED})
    world.run()
    assert {statement for _, statement in world.told()} == {"use npm", "use pnpm"}
    world.store.threads.rescope({"/home/sam/old": MOVED, "/home/sam/new": MOVED})
    run_until_quiet(world)
    assert world.told() == {(MOVED, "use pnpm")}


def test_an_older_result_is_told_again_when_the_newer_one_moves_to_another_project(world: World) -> None:
    """Nothing of the older one changed: what it gave way to is of another scope now."""
    goal = GOALS[0]
    world.says("task-a", learned("it came out amber", at=NOW - 3 * DAY, condition=goal), cwd="/home/sam/old")
    world.says("task-b", learned("it came out cobalt", at=NOW - DAY, condition=goal), cwd="/home/sam/new")
    world.run()
    assert world.told() == {(PROJECT, "it came out cobalt")}
    world.store.threads.rescope({"/home/sam/new": MOVED})
    world.run()
    assert world.told() == {(PROJECT, "it came out amber"), (MOVED, "it came out cobalt")}


def test_an_older_result_is_told_again_when_the_newer_one_is_no_result_any_more(world: World) -> None:
    """The person worded it so that it tells of no goal."""
    world.says("task-a", learned("it came out amber", at=NOW - 3 * DAY, condition=GOALS[0]))
    world.says("task-b", learned("it came out cobalt", at=NOW - DAY, condition=GOALS[0]))
    world.run()
    newer = world.of("it came out cobalt")
    world.does(JournalAction.EDIT, newer, statement="cobalt is a fine tone", was=newer.statement, condition="")
    world.run()
    assert world.told() == {(PROJECT, "it came out amber"), (PROJECT, "cobalt is a fine tone")}


def test_an_older_result_is_told_again_when_the_newer_one_is_retired_as_unused(world: World) -> None:
    """That comes last of all in a consolidation, so the next one judges what follows from it."""
    world.says("task-a", learned("it came out amber", at=NOW - 30 * DAY, condition=GOALS[0]))
    world.says("task-b", learned("it came out cobalt", at=NOW - 20 * DAY, condition=GOALS[0]))
    world.run()
    execute(world, "UPDATE memories SET learned_at = ? WHERE statement = 'it came out amber'", NOW + 20 * DAY)
    world.clock.moment += 40 * DAY
    world.run()
    assert world.told() == set()
    run_until_quiet(world)
    assert world.told() == {(PROJECT, "it came out amber")}


def test_what_was_undone_is_judged_when_the_undoing_is_undone(world: World) -> None:
    """Also of memories that changed since, and that the second undoing leaves as they are."""
    world.says("thread-a", entry("use npm", at=NOW - 3 * DAY))
    world.run()
    world.says("thread-b", entry("use pnpm", at=NOW - 2 * DAY), entry("answer in English", at=NOW - 2 * DAY))
    world.run()
    world.undo()
    undoing = world.store.memories.last_consolidation()
    assert undoing is not None
    world.says("thread-c", entry("use pnpm", at=NOW - DAY))
    world.run()
    world.does(JournalAction.PIN, world.of("use npm"))
    world.undo(undoing.consolidation_id)
    assert world.of("use npm").memory_id in marked(world)
    run_until_quiet(world)
    assert judge_everything(world).outcome in NOTHING


def test_what_a_full_consolidation_could_not_do_is_judged_by_the_next(world: World) -> None:
    """Nothing is taken for judged that was refused because there was no room for another operation."""
    world.says("thread-a", entry("use npm", at=NOW - 2 * DAY))
    world.run()
    known = world.of("use npm")
    book = MemoryBook({known.memory_id: known}, {}, now=NOW, most_operations=0)
    execute(world, "INSERT INTO memories_to_judge (memory_id) VALUES (?)", known.memory_id)
    curated = curate(book, Shelves([known]), [], StoredArchive(world.store.memories), max_unused_days=0, now=NOW)
    assert curated.still_to_judge == {known.memory_id}


def test_after_an_update_everything_is_judged_once(world: World) -> None:
    """What another version of the program judged, this one may judge otherwise; and its keys are made, once."""
    world.says("thread-a", entry("use npm", at=NOW - 2 * DAY))
    world.says("thread-b", entry("use pnpm", at=NOW - DAY))
    world.run()
    execute(world, "UPDATE memories SET status = 'active', superseded_by = NULL WHERE statement = 'use npm'")
    execute(world, "DELETE FROM memories_to_judge")
    assert world.run().outcome is Phase2Outcome.NO_CHANGES
    execute(world, "UPDATE keys_made SET version = 'older'")
    run_until_quiet(world)
    assert world.told() == {(PROJECT, "use pnpm")}
    execute(world, "UPDATE keys_made SET version = 'older'")
    assert world.run().outcome is Phase2Outcome.NO_CHANGES
    assert marked(world) == []
    assert world.store.memory_keys.unkept() == []


def test_keys_that_are_made_by_the_way_do_not_stand_for_judging(world: World) -> None:
    """After an update, a masking or an undoing makes the keys first: everything is judged all the same."""
    world.says("thread-a", entry("use npm"))
    world.run()
    execute(world, "UPDATE keys_made SET version = 'older'")
    world.store.forgetting.mask(lambda text: text, met="")
    assert world.store.memory_keys.are_current()
    assert marked(world) == [world.of("use npm").memory_id]


def test_what_a_person_does_retires_nothing_that_a_new_reading_takes_over(world: World) -> None:
    """A command between the reading and the run: the memory keeps its id and its pin."""
    world.says("thread-a", entry("run make lint before every commit"))
    world.says("thread-b", entry("answer in English"))
    world.run()
    before = world.of("run make lint before every commit")
    world.does(JournalAction.PIN, before)
    world.says("thread-a", entry("run make lint quickly before every commit and push"))
    world.does(JournalAction.PIN, world.of("answer in English"))
    run_until_quiet(world)
    after = world.of("run make lint quickly before every commit and push")
    assert (after.memory_id, after.status, after.pinned) == (before.memory_id, MemoryStatus.ACTIVE, True)
