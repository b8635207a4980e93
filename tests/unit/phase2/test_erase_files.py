"""What rendering does not reach: lines of MEMORY.md, stale summaries, and copies kept aside."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from phase2_world import NOW, World, entry

from memory_pipeline.phase2.erase import erase_found, find_forgotten
from memory_pipeline.phase2.places import places_below
from memory_pipeline.tombstones import Tombstone, TombstoneFolder, TombstoneKind, Tombstones

OTHER = Tombstones.of([Tombstone(kind=TombstoneKind.ENTRY, value="e_other")], now=NOW)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A world whose MEMORY.md tells of one session."""
    made = World(tmp_path)
    made.says("a", entry("Keep the wombatade cold."), title="Cool the wombatade down")
    made.run()
    yield made
    made.close()


def edit(world: World, *, add: str) -> None:
    """Let something stand at the end of MEMORY.md."""
    world.handbook.write_text(world.handbook.read_text(encoding="utf-8") + add, encoding="utf-8")


def test_nothing_is_looked_for_while_nothing_was_forgotten(world: World) -> None:
    """A workspace without tombstones is as it was, whatever stands there."""
    edit(world, add="## Task 9: Cool the wombatade down, success\n")
    assert find_forgotten(places_below(world.config.state_path, world.config.workspace_path), Tombstones()).is_empty


def test_lines_that_the_rendering_holds_as_often_are_left(world: World) -> None:
    """Also where the person moved them; their own text stays."""
    lines = world.handbook.read_text(encoding="utf-8").splitlines()
    heading = next(line for line in lines if line.startswith("## Task 1"))
    lines.remove(heading)
    world.handbook.write_text("\n".join([*lines, heading, "scope: mine", "Buy milk.", ""]), encoding="utf-8")
    assert find_forgotten(places_below(world.config.state_path, world.config.workspace_path), OTHER).is_empty


def test_a_second_copy_of_what_tells_of_a_session_is_left_out(world: World) -> None:
    """An older rendering that came back would pass for the person's text, and keep its words for ever."""
    before = world.handbook.read_text(encoding="utf-8")
    edit(world, add="## Task 1: Cool the wombatade down, success\n### keywords\n- cool, wombatade\nBuy milk.\n")
    places = places_below(world.config.state_path, world.config.workspace_path)
    found = find_forgotten(places, OTHER)
    assert (found.stale_lines, found.handbook_lines) == (3, [])
    erase_found(places, found, OTHER)
    assert world.handbook.read_text(encoding="utf-8") == f"{before}Buy milk.\n"


def test_a_summary_of_a_forgotten_session_that_came_back_is_removed(world: World) -> None:
    """The name alone tells nothing; its head says whose it is. Those of other sessions and of strangers stay."""
    folder = world.workspace / "rollout_summaries"
    (folder / "old-gone.md").write_text("thread_id: gone\n\nWords.\n", encoding="utf-8")
    (folder / "old-other.md").write_text("thread_id: other\n\nWords.\n", encoding="utf-8")
    (folder / "mine.md").write_text("Words.\n", encoding="utf-8")
    stones = Tombstones.of([Tombstone(kind=TombstoneKind.THREAD, value="gone")], now=NOW)
    places = places_below(world.config.state_path, world.config.workspace_path)
    assert find_forgotten(places, stones).summaries == ["rollout_summaries/old-gone.md"]


def test_a_consolidation_says_that_it_left_lines_out(world: World) -> None:
    """The person may have typed them, so the message says how to remember a statement anew."""
    stone = Tombstone(kind=TombstoneKind.TEXT, value="Serve tea in the aardvarkmug.")
    TombstoneFolder(world.config.tombstones_path).add([stone], now=NOW)
    edit(world, add="- Serve tea in the aardvarkmug.\n")
    assert "memory add" in " ".join(world.run().problems)
    assert "aardvarkmug" not in world.handbook.read_text(encoding="utf-8")
