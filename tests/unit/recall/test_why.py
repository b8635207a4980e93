"""Why something is remembered: history, entries that stand and that were withdrawn, and what the log says now."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from phase2_world import DAY, NOW, World, entry

from memory_pipeline.recall.why import MOST_EXPLAINED, explain
from memory_pipeline.records import Agent, MemoryStatus, OperationKind
from memory_pipeline.rollouts.readback import EvidenceReader, EvidenceState

NPM = entry("use npm in this repo", at=NOW - 9 * DAY)
PNPM = entry("use pnpm in this repo, not npm", at=NOW - DAY)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A store and a workspace."""
    made = World(tmp_path)
    yield made
    made.close()


@pytest.fixture
def reader(tmp_path: Path) -> EvidenceReader:
    """A reader of a home without logs."""
    return EvidenceReader({Agent.CODEX: str(tmp_path / "no-home")}, max_bytes=1 << 20)


def test_a_memory_is_shown_with_what_it_superseded_and_its_history(world: World, reader: EvidenceReader) -> None:
    """Both sides of a supersession lead to each other, and each operation has its time and reason."""
    world.says("thread-a", NPM)
    world.run()
    world.clock.moment = NOW + 60
    world.says("thread-b", PNPM)
    world.run()
    (newer,) = explain(PNPM.statement, world.store, reader).memories
    (older,) = explain(NPM.statement, world.store, reader).memories
    assert [item.statement for item in newer.supersedes] == [NPM.statement]
    assert older.superseded_by is not None
    assert older.superseded_by.statement == PNPM.statement
    assert older.memory.status is MemoryStatus.SUPERSEDED
    done = [(applied.operation.kind, applied.at) for applied in older.history]
    assert done == [(OperationKind.ADD, NOW), (OperationKind.SUPERSEDE, NOW + 60)]
    assert older.history[-1].operation.reason == older.memory.reason


def test_without_its_log_an_entry_keeps_its_quote(world: World, reader: EvidenceReader) -> None:
    """Evidence whose log is gone is told with the words that were stored."""
    world.says("thread-a", NPM)
    world.run()
    (found,) = explain("npm", world.store, reader).memories
    (shown,) = found.entries
    assert (shown.stands, shown.entry.thread_id) == (True, "thread-a")
    assert [(read.state, read.words) for read in shown.evidence] == [(EvidenceState.GONE, NPM.statement)]


def test_a_withdrawn_entry_is_shown_as_such(world: World, reader: EvidenceReader) -> None:
    """A memory that was retired since its thread no longer says it still tells what it rested on."""
    world.says("thread-a", NPM)
    world.run()
    world.says("thread-a")
    world.run()
    (found,) = explain("npm", world.store, reader).memories
    assert found.memory.status is MemoryStatus.RETIRED
    assert [(shown.stands, shown.entry.statement) for shown in found.entries] == [(False, NPM.statement)]


def test_of_many_that_fit_a_few_are_explained_and_the_rest_counted(world: World, reader: EvidenceReader) -> None:
    """A vague query does not print the whole store."""
    world.says("thread-a", *(entry(f"Keep module{number} free of wildcard imports") for number in range(9)))
    world.run()
    explanation = explain("wildcard", world.store, reader)
    assert (len(explanation.memories), explanation.left_out) == (MOST_EXPLAINED, 9 - MOST_EXPLAINED)


def test_nothing_counts_as_used(world: World, reader: EvidenceReader) -> None:
    """Asking why leaves the store as it is."""
    world.says("thread-a", NPM)
    world.run()
    before = world.store.memories.every()
    explain("npm", world.store, reader)
    assert world.store.memories.every() == before


def test_a_copy_of_a_session_confirms_nothing(world: World, reader: EvidenceReader) -> None:
    """Threads that hold the very same line count as one; another session with the same words is a second."""
    world.says("thread-a", NPM)
    world.says("thread-copy", NPM)
    world.run()
    (found,) = explain("npm", world.store, reader).memories
    assert (len(found.memory.thread_ids), found.independent_threads) == (2, 1)
    world.says("thread-c", entry("use npm in this repo", at=NOW - 2 * DAY, thread="thread-c"))
    world.run()
    (found,) = explain("npm", world.store, reader).memories
    assert (len(found.memory.thread_ids), found.independent_threads) == (3, 2)
