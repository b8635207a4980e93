"""Two state folders on one workspace: the second is refused while the first is there; a moved one is known again."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace
from phase2_world import World, entry

from memory_pipeline.errors import ConfigError
from memory_pipeline.phase2.owner import claim_workspace, owner_path
from memory_pipeline.phase2.places import places_below
from memory_pipeline.records import JournalAction, JournalRecord, Phase2Outcome
from memory_pipeline.store.store import Store

CONSOLIDATED, NO_CHANGES = Phase2Outcome.CONSOLIDATED, Phase2Outcome.NO_CHANGES


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """One workspace, in no state folder."""
    return tmp_path / "shared" / "memories"


def state(tmp_path: Path, name: str, workspace: Path) -> World:
    """A state folder that writes this workspace."""
    world = World(tmp_path / name)
    world.config = replace(world.config, memories_dir=str(workspace))
    return world


def moved(world: World, folder: Path, *, copied: bool = False) -> World:
    """The same state in another place."""
    world.close()
    (shutil.copytree if copied else shutil.move)(world.config.state_path, folder / "state")
    made = state(folder.parent, folder.name, world.workspace)
    made.store.close()
    made.store = Store(made.config.database_path)
    return made


def edit(world: World, line: str) -> None:
    """Let the person add a line to the first section of MEMORY.md."""
    world.write_handbook(lambda lines: [*lines, line])


def test_a_second_state_folder_is_refused_and_changes_nothing(tmp_path: Path, workspace: Path) -> None:
    """It is told which folder writes there and what to do; neither the person's command nor an undoing gets by."""
    first, second = (state(tmp_path, name, workspace) for name in ("first", "second"))
    first.says("thread-a", entry("use uv"))
    first.run()
    before = first.files()
    second.says("thread-b", entry("use hugo", thread="thread-b"))
    second.pass_review()
    for deed in (second.run, lambda: second.parts().take_in_hand([]), lambda: second.parts().undo(1)):
        with pytest.raises(ConfigError) as refused:
            deed()
        for words in (str(first.config.state_path), "--state-dir", "memories_dir", "run --adopt"):
            assert words in str(refused.value)
    assert first.files() == before
    assert first.run().outcome is NO_CHANGES
    assert second.store.memories.every() == []


def test_what_is_refused_is_not_written_down_either(tmp_path: Path, workspace: Path) -> None:
    """Who is told that nothing was changed says it again elsewhere; it would be there twice."""
    first, second = (state(tmp_path, name, workspace) for name in ("first", "second"))
    first.says("thread-a", entry("use uv"))
    first.run()
    record = JournalRecord(
        record_id="note-1", action=JournalAction.NOTE, at=second.clock.now(), origin="mcp", statement="use hugo"
    )
    for deed in (second.parts().write_down, second.parts().take_in_hand):
        with pytest.raises(ConfigError):
            deed([record])
    assert not second.config.journal_path.exists()


def test_of_two_that_never_published_neither_is_the_other(tmp_path: Path, workspace: Path) -> None:
    """One that took the workspace over and was killed before it published holds it all the same."""
    first, second, third = (state(tmp_path, name, workspace) for name in ("first", "second", "third"))
    first.says("thread-a", entry("use uv"))
    first.run()
    claim_workspace(places_below(second.config.state_path, workspace), second.config.database_path, adopt=True)
    with pytest.raises(ConfigError):
        third.run()
    assert second.run().outcome is not Phase2Outcome.FAILED


def test_a_state_folder_that_takes_over_writes_from_then_on(tmp_path: Path, workspace: Path) -> None:
    """What stood there is kept, no memory of the other comes in as the person's word, and the other is refused now."""
    first, second = (state(tmp_path, name, workspace) for name in ("first", "second"))
    first.says("thread-a", entry("use uv"))
    first.run()
    told = first.handbook.read_bytes()
    second.says("thread-b", entry("use hugo"))
    second.pass_review()
    counts = second.parts().run_once(adopt=True)
    assert counts.outcome is CONSOLIDATED
    assert str(first.config.state_path) in counts.problems[0]
    assert {statement for _, statement in second.told()} == {"use hugo"}
    assert b"use uv" not in second.handbook.read_bytes()
    assert told in [path.read_bytes() for path in (second.config.state_path / "replaced").iterdir()]
    assert second.run().outcome is NO_CHANGES
    with pytest.raises(ConfigError):
        first.run()


def test_taking_back_what_another_wrote_meanwhile_is_no_edit(tmp_path: Path, workspace: Path) -> None:
    """Neither what the other took out is retired nor what it added remembered: the person did neither."""
    first, second = (state(tmp_path, name, workspace) for name in ("first", "second"))
    rules = [entry(rule) for rule in ("use uv", "commit small", "write short functions", "name tests after facts")]
    first.says("thread-a", *rules)
    first.run()
    second.says("thread-a", *rules[1:], entry("use hugo"))
    second.pass_review()
    second.parts().run_once(adopt=True)
    counts = first.parts().run_once(adopt=True)
    assert {statement for _, statement in first.told()} == {rule.statement for rule in rules}
    assert b"hugo" not in first.handbook.read_bytes()
    assert "is kept at" in counts.problems[0]
    assert first.run().outcome is NO_CHANGES


@pytest.mark.parametrize("copied", [False, True], ids=["moved", "copied"])
def test_a_state_folder_that_was_moved_goes_on(tmp_path: Path, workspace: Path, copied: bool) -> None:
    """It takes in what the person wrote meanwhile; of a copy, the one that writes first goes on."""
    first = state(tmp_path, "first", workspace)
    first.says("thread-a", entry("use uv"))
    first.run()
    second = moved(first, tmp_path / "second", copied=copied)
    assert second.run().outcome is NO_CHANGES
    edit(second, "- never push on Fridays")
    assert second.run().problems == ()
    assert "never push on Fridays" in {statement for _, statement in second.told()}
    if copied:
        left = state(tmp_path, "first", workspace)
        with pytest.raises(ConfigError):
            left.run()


def test_the_workspace_of_a_state_folder_that_is_gone_is_written_at_once(tmp_path: Path, workspace: Path) -> None:
    """Nobody is there to write over it; a copy of what stood there is kept."""
    first, second = (state(tmp_path, name, workspace) for name in ("first", "second"))
    first.says("thread-a", entry("use uv"))
    first.run()
    first.close()
    shutil.rmtree(first.config.state_path)
    second.says("thread-b", entry("use hugo"))
    assert second.run().outcome is CONSOLIDATED
    assert second.run().outcome is NO_CHANGES


def test_a_state_folder_that_was_made_anew_at_its_place_goes_on(tmp_path: Path, workspace: Path) -> None:
    """The place is what the mark names, whatever was deleted in it."""
    first = state(tmp_path, "first", workspace)
    first.says("thread-a", entry("use uv"))
    first.run()
    first.close()
    shutil.rmtree(first.config.state_path)
    again = state(tmp_path, "first", workspace)
    again.says("thread-b", entry("use hugo"))
    assert again.run().outcome is CONSOLIDATED


def test_a_state_folder_whose_name_is_no_text_is_known_too(tmp_path: Path, workspace: Path) -> None:
    """A file system takes any bytes for a name, and what is named by them is run, refused and told like others."""
    first, second = state(tmp_path, os.fsdecode(b"first\xff"), workspace), state(tmp_path, "second", workspace)
    first.says("thread-a", entry("use uv"))
    assert first.run().outcome is CONSOLIDATED
    assert first.run().outcome is NO_CHANGES
    second.says("thread-b", entry("use hugo"))
    with pytest.raises(ConfigError, match="first"):
        second.run()


def test_a_workspace_in_its_own_state_folder_needs_no_mark(tmp_path: Path) -> None:
    """A copy of the folder is a state with a workspace of its own; whoever points at it from elsewhere is refused."""
    world = World(tmp_path / "first")
    inner = world.config.state_path / "memories"
    world.config = replace(world.config, memories_dir=str(inner))
    world.says("thread-a", entry("use uv"))
    world.run()
    assert not owner_path(inner).exists()
    other = state(tmp_path, "second", inner)
    other.says("thread-b", entry("use hugo"))
    other.pass_review()
    for adopt in (False, True):
        with pytest.raises(ConfigError) as refused:
            other.parts().run_once(adopt=adopt)
        assert "--adopt" not in str(refused.value)
    copy = tmp_path / "copy" / "state"
    world.close()
    shutil.copytree(world.config.state_path, copy)
    copied = World(tmp_path / "copy")
    copied.config = replace(copied.config, memories_dir=str(copy / "memories"))
    assert copied.run().outcome is NO_CHANGES


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"state": 3, "handbook": "x"}', b"\xff"])
def test_a_mark_that_cannot_be_read_holds_nothing_up(tmp_path: Path, workspace: Path, content: bytes) -> None:
    """It is written anew by the next publication."""
    world = state(tmp_path, "first", workspace)
    workspace.parent.mkdir(parents=True)
    owner_path(workspace).write_bytes(content)
    world.says("thread-a", entry("use uv"))
    assert world.run().outcome is CONSOLIDATED
    assert str(world.config.state_path).encode() in owner_path(workspace).read_bytes()
