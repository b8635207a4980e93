"""Cited lines of MEMORY.md: a memory is used only where it is certain which text the citing session read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from phase2_world import DAY, NOW, PROJECT, World, entry, facts

from memory_pipeline.records import Agent, Citation, RolloutFile


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A workspace that tells two memories."""
    made = World(tmp_path)
    made.says("thread-a", entry("use tabs for indentation"), entry("run make lint before every commit"))
    made.run()
    made.clock.moment = NOW + DAY
    yield made
    made.close()


def line_of(world: World, words: str) -> int:
    """Return the number of the one line of MEMORY.md that says this."""
    lines = world.handbook.read_text(encoding="utf-8").splitlines()
    (number,) = [number for number, line in enumerate(lines, start=1) if words in line]
    return number


def cite(world: World, *lines: int, began: float | None = NOW + 10) -> None:
    """Let a session that began then cite lines, and index it."""
    file = RolloutFile(
        agent=Agent.CODEX, path="/home/sam/.codex/sessions/citing.jsonl", thread_id="citing", archived=False,
        size=1, mtime_ns=1, inode=2, device=1,
    )  # fmt: skip
    citation = Citation(citation_id="c_1", at=NOW + 60, threads=(), lines=lines)
    told = facts("citing", started_at=began, citations=(citation,))
    world.store.threads.record_reading(file, told, PROJECT, now=NOW + DAY)


def uses(world: World, statement: str) -> int:
    """How often the memory that says this was used."""
    return world.of(statement).usage.count


def test_a_memory_whose_line_was_cited_is_used(world: World) -> None:
    """A session that began after the publication read the very text: the line tells the memory, once."""
    cite(world, line_of(world, "use tabs"), 1)
    world.run()
    world.run()
    assert (uses(world, "use tabs for indentation"), uses(world, "run make lint before every commit")) == (1, 0)


def test_lines_below_a_note_of_the_person_are_counted_as_they_stand(world: World) -> None:
    """The numbers are those of the file with the person's own lines in it."""
    world.write_handbook(lambda lines: ["A note of mine.", "", *lines])
    world.says("thread-b", entry("keep the changelog short"))
    world.run()
    cite(world, line_of(world, "use tabs"), began=NOW + DAY + 1)
    world.run()
    assert uses(world, "use tabs for indentation") == 1


@pytest.mark.parametrize("began", [NOW - 10, None])
def test_a_session_that_may_have_read_an_older_text_uses_no_memory(world: World, began: float | None) -> None:
    """Begun before the publication, or nobody knows when: its line numbers may mean other lines."""
    cite(world, line_of(world, "use tabs"), began=began)
    world.run()
    assert uses(world, "use tabs for indentation") == 0


def test_an_edited_file_tells_no_cited_memory(world: World) -> None:
    """Since the person edited MEMORY.md, nobody knows which text had these numbers."""
    cite(world, line_of(world, "use tabs"))
    world.write_handbook(lambda lines: ["A note of mine.", *lines])
    world.run()
    assert uses(world, "use tabs for indentation") == 0
    assert world.store.citations.open_lines() == []


def test_lines_that_are_not_there_are_harmless(world: World) -> None:
    """Numbers beyond the file, or of lines without a memory, count for nothing."""
    cite(world, 1, 2, 9_999_999)
    world.run()
    assert world.store.citations.open_lines() == []
