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

from memory_pipeline.records import Gate, JournalAction, MemoryStatus, Phase2Counts, Phase2Outcome

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
    """Run once more as if everything had changed, and no key of a statement were known."""
    with closing(sqlite3.connect(world.config.database_path, isolation_level=None)) as connection:
        connection.execute("INSERT OR IGNORE INTO memories_to_judge (memory_id) SELECT memory_id FROM memories")
        connection.execute("DELETE FROM keys_made")
    return world.run()


SAID = ("use npm", "use pnpm", "use yarn", "never use pnpm", "answer in English", "answer in German")
LEARNT = ("the api listens on port 8080", "the api listens on port 9090", "the tests use pnpm")
STEPS = st.tuples(
    st.sampled_from(
        ["says", "says", "says", "learns", "again", "gate", "gate", "open", "retire", "restore", "edit", "pin", "undo"]
    ),
    st.integers(0, 5),
    st.integers(0, 9),
    st.sampled_from([PROJECT, PROJECT, OTHER_PROJECT, "user"]),
)


@settings(max_examples=60, deadline=None)
@given(steps=st.lists(STEPS, min_size=2, max_size=9))
def test_judging_everything_finds_nothing_that_was_missed(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int, str]]
) -> None:
    """After any series of sayings, gates, deeds and undoings, each consolidated by itself."""
    world = World(tmp_path_factory.mktemp("judged"))
    try:
        for number, step in enumerate(steps):
            _take(world, number, step)
            world.clock.moment += 60
            world.run()
            before = world.files(), world.store.memories.every()
            assert judge_everything(world).outcome in NOTHING
            assert (world.files(), world.store.memories.every()) == before
    finally:
        world.close()


def _take(world: World, number: int, step: tuple[str, int, int, str]) -> None:
    what, index, days, scope = step
    threads = sorted(thread.thread_id for thread in world.store.threads.every() if thread.agent != "journal")
    memories = world.store.memories.every()
    at = NOW - days * DAY
    if what == "says":
        other = SAID[(index + number) % len(SAID)]
        world.says(f"thread-{number}", entry(SAID[index], at=at, scope=scope), entry(other, at=at, scope=scope))
    elif what == "learns":
        world.says(f"thread-{number}", learned(LEARNT[index % len(LEARNT)], at=at, scope=scope))
    elif what == "again" and threads:
        world.says(threads[index % len(threads)], entry(SAID[days % len(SAID)], at=NOW, scope=scope))
    elif what in ("gate", "open") and threads:
        world.gate(threads[index % len(threads)], Gate.DISABLED if what == "gate" else None)
    elif what == "undo" and memories:
        world.undo()
    elif what == "edit" and memories:
        memory = memories[index % len(memories)]
        world.does(JournalAction.EDIT, memory, statement=f"edited {number}", was=memory.statement)
    elif what in ("retire", "restore", "pin") and memories:
        world.does(JournalAction(what), memories[index % len(memories)])


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
