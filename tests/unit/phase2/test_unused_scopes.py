"""What may not be given to tasks is not said in memory_summary.md, which enters every task."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from phase2_world import OTHER_PROJECT, PROJECT, World, entry

from memory_pipeline.records import Phase2Outcome
from memory_pipeline.settings import USE, Settings

NAMESAKE = "project:example.net/kim/shop"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Two projects and a rule for everywhere, published."""
    made = World(tmp_path)
    made.says("thread-a", entry("use uv"), entry("answer in English", scope="user"))
    made.says("thread-b", entry("use hugo", scope=OTHER_PROJECT))
    made.run()
    yield made
    made.close()


def switch(world: World, position: bool | None, *, scope: str | None = None, thread_id: str | None = None) -> None:
    """Let the person switch the use of memories, or (None) take that back."""
    settings = Settings(world.config, world.store, world.clock)
    if position is None:
        settings.unset(USE, scope=scope, thread_id=thread_id)
    else:
        settings.set(USE, position, scope=scope, thread_id=thread_id)


def summary(world: World) -> str:
    """What every task is given."""
    return world.files()["memory_summary.md"].decode()


def test_a_project_that_is_switched_off_leaves_the_summary_and_comes_back(world: World) -> None:
    """The next run takes its line out, and once it is switched on again the very line is put back; no other differs."""
    before = world.files()
    switch(world, False, scope=PROJECT)
    assert world.run().modified == 1
    off = world.files()
    lines = summary(world).splitlines()
    assert [line for line in before["memory_summary.md"].decode().splitlines() if line not in lines] == [
        "- shop (example.org/sam/shop), last on 2026-09-20: MEMORY.md, `# Task Group: shop`"
    ]
    assert {path for path in before if before[path] != off[path]} == {"memory_summary.md"}
    assert world.run().outcome is Phase2Outcome.NO_CHANGES
    switch(world, None, scope=PROJECT)
    world.run()
    assert world.files() == before


def test_a_project_keeps_its_name_while_its_namesake_is_switched_off(world: World) -> None:
    """The pointer leads to the heading in MEMORY.md, where both stand and are told apart."""
    world.says("thread-c", entry("use npm", scope=NAMESAKE))
    switch(world, False, scope=NAMESAKE)
    world.run()
    assert "kim/shop" not in summary(world)
    assert "`# Task Group: sam/shop`" in summary(world)
    assert b"# Task Group: sam/shop\n" in world.files()["MEMORY.md"]


def test_switched_off_for_the_whole_the_summary_says_so_and_nothing_else(world: World) -> None:
    """Neither a rule for everywhere nor a project stands there; one that is switched on by itself does."""
    switch(world, False)
    world.run()
    for words in ("English", "shop", "blog", "Codex"):
        assert words not in summary(world)
    assert "- The use of memories is switched off (settings.use_memories)." in summary(world)
    switch(world, True, scope=OTHER_PROJECT)
    world.run()
    assert ("blog" in summary(world), "shop" in summary(world), "English" in summary(world)) == (True, False, False)


def test_one_session_that_is_switched_off_changes_no_file(world: World) -> None:
    """What a session said may be given to others, though nothing is given to it."""
    switch(world, False, thread_id="thread-a")
    assert world.run().outcome is Phase2Outcome.NO_CHANGES


def test_the_name_of_what_is_switched_off_stands_in_no_new_place(world: World) -> None:
    """The baseline notes that something is left out as a hash."""
    manifest = world.config.state_path / "baseline" / "manifest.json"
    before = manifest.read_text(encoding="utf-8").count("sam/shop")
    switch(world, False, scope=PROJECT)
    world.run()
    after = manifest.read_text(encoding="utf-8")
    assert (after.count("sam/shop"), "unused=" in after) == (before, True)
