"""Results of submitted tasks with one goal: the newest stands, whatever was read when, and whatever goes."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st
from phase2_world import DAY, NOW, OTHER_PROJECT, PROJECT, Shelf, entry, learned

from memory_pipeline.records import Entry, EntryKind, MemoryStatus, OperationKind

GOALS = ("the task is: paint the shed", "the task is: mend the roof")
COLOURS = ("amber", "birch", "cobalt", "dusk", "ebony", "fern", "garnet", "hazel")


def _result(number: int, goal: str, *, scope: str = PROJECT) -> Entry:
    return learned(
        f"it came out in {COLOURS[number]} tone number {number}",
        thread=f"task-{number}",
        condition=goal,
        scope=scope,
        at=NOW - DAY + number,
    )


@settings(max_examples=80, deadline=None)
@given(
    goals=st.lists(st.sampled_from(GOALS), min_size=1, max_size=len(COLOURS)),
    order=st.randoms(use_true_random=False),
    size=st.integers(1, 4),
    gone=st.sets(st.integers(0, len(COLOURS) - 1)),
)
def test_of_each_goal_the_newest_that_stands_is_told(
    goals: list[str], order: random.Random, size: int, gone: set[int]
) -> None:
    """Read in any order and batches, then some withdrawn: exactly the newest left of each goal is told."""
    results = [_result(number, goal) for number, goal in enumerate(goals)]
    shelf = Shelf()
    shuffled = order.sample(results, len(results))
    for start in range(0, len(shuffled), size):
        shelf.read(*shuffled[start : start + size])
    assert shelf.told() == _newest(results)
    left = [result for number, result in enumerate(results) if number not in gone]
    shelf.withdraw(*(result for number, result in enumerate(results) if number in gone))
    assert shelf.told() == _newest(left)
    assert shelf.consolidate() == [], "and nothing is left to do"


def _newest(results: list[Entry]) -> set[str]:
    return {{result.condition: result for result in results}[goal].statement for goal in {r.condition for r in results}}


def test_the_older_result_is_linked_and_says_why() -> None:
    """It is superseded by the newer one, with a reason that names the goal's newer result."""
    shelf = Shelf()
    shelf.read(_result(0, GOALS[0]))
    (operation,) = [one for one in shelf.read(_result(1, GOALS[0])) if one.kind is OperationKind.SUPERSEDE]
    assert operation.reason.startswith("a newer result for the same goal")
    (older,) = [one for one in shelf.memories.values() if one.status is MemoryStatus.SUPERSEDED]
    assert older.superseded_by == operation.other_memory_id


def test_only_results_of_tasks_replace_one_another() -> None:
    """The same condition in a session, in another project, or said by the person, takes nobody's place."""
    shelf = Shelf()
    others = [
        learned("it came out in teal", condition=GOALS[0], thread="01a0c34d"),
        entry("Always use the big brush", condition=GOALS[0], kind=EntryKind.PREFERENCE),
        _result(2, GOALS[0], scope=OTHER_PROJECT),
    ]
    shelf.read(_result(0, GOALS[0]), *others)
    shelf.read(_result(3, GOALS[0]))
    assert shelf.told() == {_result(3, GOALS[0]).statement, *(one.statement for one in others)}


def test_a_changed_task_keeps_its_memory() -> None:
    """However much its words differ, what a task says now takes the place of what it said, under the same id."""
    shelf = Shelf()
    before = _result(0, GOALS[0])
    shelf.read(before)
    (memory,) = shelf.memories.values()
    after = learned("nothing of that was done after all", thread="task-0", condition=GOALS[0])
    shelf.replace(before, after)
    (changed,) = shelf.memories.values()
    assert (changed.memory_id, changed.statement) == (memory.memory_id, after.statement)
