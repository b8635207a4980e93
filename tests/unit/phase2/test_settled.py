"""A pass that found nothing to do is not repeated over what is still the same."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from phase2_world import DAY, World, entry, stamps

from memory_pipeline.phase2.places import places_below
from memory_pipeline.phase2.settled import SETTLED_FILE, Settled
from memory_pipeline.records import Phase2Counts, Phase2Outcome

NOTHING = Phase2Counts(outcome=Phase2Outcome.NO_CHANGES, selected=1)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A world whose one rule is published."""
    world = World(tmp_path)
    world.says("thread-a", entry("Run make lint before you commit."))
    assert world.run().outcome is Phase2Outcome.CONSOLIDATED
    yield world
    world.close()


def later() -> float:
    """Tell a time at which everything on disk is old enough."""
    return time.time() + 10


def settled(world: World, *, disk_time: Callable[[], float] = later) -> Settled:
    """Look at this world."""
    return Settled(
        world.config,
        places_below(world.config.state_path, world.workspace),
        world.clock,
        disk_time=disk_time,
    )


def note(world: World) -> None:
    """Let there be nothing to do, and be noted."""
    looking = settled(world)
    looking.note(looking.look(), NOTHING)
    assert looking.look().counts == NOTHING


def save_handbook(world: World) -> None:
    """Write a line into MEMORY.md."""
    world.handbook.write_text(world.handbook.read_text(encoding="utf-8") + "- Mine.\n", encoding="utf-8")


def leave_note(world: World) -> None:
    """Put a note of another program into the workspace."""
    folder = world.workspace / "extensions" / "mine"
    folder.mkdir(parents=True)
    (folder / "note.md").write_text("Hello.\n", encoding="utf-8")


def take_summary_away(world: World) -> None:
    """Delete one of the files that are laid out."""
    next((world.workspace / "rollout_summaries").iterdir()).unlink()


CHANGES: dict[str, Callable[[World], object]] = {
    "MEMORY.md is saved": save_handbook,
    "a note appears": leave_note,
    "a summary is gone": take_summary_away,
    "a thread says more": lambda world: world.says("thread-b", entry("Use tabs.", thread="thread-b")),
    "usage is counted": lambda world: world.store.extractions.record_usage("thread", "thread-a", now=1.0),
    "something is forgotten": lambda world: _write(world.config.tombstones_path / "one.json"),
    "the journal grows": lambda world: _write(world.config.journal_path),
    "the baseline is gone": lambda world: (world.config.state_path / "baseline" / "manifest.json").unlink(),
    "a publication was cut off": lambda world: _write(world.config.state_path / "staging" / "left"),
    "a day goes by": lambda world: setattr(world.clock, "moment", world.clock.moment + DAY),
    "the note is torn": lambda world: _write(world.config.state_path / SETTLED_FILE),
}


def _write(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("{", encoding="utf-8")


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_whatever_changes_is_looked_at(world: World, change: Callable[[World], object]) -> None:
    """Nothing that phase two reads can change without the next pass looking at everything."""
    note(world)
    change(world)
    assert settled(world).look().counts is None


def test_another_configuration_is_looked_at(world: World) -> None:
    """A limit that changed makes the note void."""
    note(world)
    world.config = replace(world.config, phase2=replace(world.config.phase2, summary_max_bytes=500))
    assert settled(world).look().counts is None


def test_what_is_younger_than_a_tick_is_not_relied_upon(world: World) -> None:
    """A second change within the same tick of the disk's clock would show no difference, so nothing is noted."""
    looking = settled(world, disk_time=time.time)
    save_handbook(world)
    looking.note(looking.look(), NOTHING)
    assert not (world.config.state_path / SETTLED_FILE).exists()


def test_nothing_to_read_is_noted_like_nothing_new(world: World) -> None:
    """That there is no input at all is known again, and told again, in another process too."""
    looking = settled(world)
    none = Phase2Counts(outcome=Phase2Outcome.NO_INPUTS)
    looking.note(looking.look(), none)
    assert settled(world).look().counts == none


@pytest.mark.parametrize(
    "counts",
    [
        Phase2Counts(outcome=Phase2Outcome.COOLDOWN),
        Phase2Counts(outcome=Phase2Outcome.CONSOLIDATED, selected=1),
        Phase2Counts(outcome=Phase2Outcome.NO_CHANGES, selected=1, problems=("It was cut.",)),
    ],
    ids=lambda counts: counts.outcome.value,
)
def test_what_has_to_be_done_or_told_again_is_not_noted(world: World, counts: Phase2Counts) -> None:
    """Only that there is nothing to do, and nothing to say, is known again."""
    looking = settled(world)
    looking.note(looking.look(), counts)
    assert looking.look().counts is None


def test_opening_the_database_once_more_is_no_change(world: World) -> None:
    """Each pass does, in the threads that it starts; where that touches the log's status, nothing was written yet."""
    note(world)
    log = world.config.database_path.with_name("memory.db-wal")
    assert log.stat().st_size
    log.chmod(log.stat().st_mode)  # as SQLite does with its owner
    assert settled(world).look().counts == NOTHING


def test_another_process_finds_the_note(world: World, tmp_path: Path) -> None:
    """What the note is compared with does not depend on how a process orders its sets."""
    path = tmp_path / "config.toml"
    state = world.config.state_path
    path.write_text(f'state_dir = "{state}"\n[gates]\nidle_seconds = 1\nmax_age_days = 9\n', encoding="utf-8")
    code = """
import sys
from memory_pipeline.config import load_config
from memory_pipeline.phase2.places import places_below
from memory_pipeline.phase2.settled import Settled

class Clock:
    def now(self):
        return 1.0

config = load_config(sys.argv[1])
places = places_below(config.state_path, config.workspace_path)
print(Settled(config, places, Clock(), disk_time=lambda: 1e11).look().digest)
"""
    environs = [{**os.environ, "PYTHONHASHSEED": seed} for seed in ("1", "2")]
    told = {
        subprocess.run([sys.executable, "-c", code, str(path)], env=env, check=True, capture_output=True).stdout
        for env in environs
    }
    assert len(told) == 1
    assert told != {b"None\n"}


def test_what_changes_while_it_is_looked_at_is_not_noted(world: World) -> None:
    """What is saved between the look and the note was perhaps not seen."""
    looking = settled(world)
    look = looking.look()
    save_handbook(world)
    looking.note(look, NOTHING)
    assert looking.look().counts is None


def test_a_link_in_the_workspace_is_looked_at_each_time(world: World, tmp_path: Path) -> None:
    """What is behind a link may change without the link."""
    (tmp_path / "elsewhere").mkdir()
    (world.workspace / "extensions").symlink_to(tmp_path / "elsewhere")
    looking = settled(world)
    looking.note(looking.look(), NOTHING)
    assert not (world.config.state_path / SETTLED_FILE).exists()


def test_a_pass_over_what_is_settled_says_the_same_and_touches_nothing(world: World) -> None:
    """The first pass that finds nothing to do notes it; the next says the same of it, and no file changes."""
    first = world.parts(disk_time=later).run_once()
    assert (first.outcome, first.selected) == (Phase2Outcome.NO_CHANGES, 1)
    assert (world.config.state_path / SETTLED_FILE).exists()
    before = stamps(world.folder)
    second = world.parts(disk_time=later).run_once()
    assert (second.outcome, second.selected) == (Phase2Outcome.NO_CHANGES, 1)
    assert stamps(world.folder) == before


def test_an_edit_after_a_settled_pass_is_taken_in(world: World) -> None:
    """What a person takes out of MEMORY.md goes at the next pass, settled before or not."""
    world.parts(disk_time=later).run_once()
    world.write_handbook(lambda lines: [line for line in lines if "make lint" not in line])
    assert world.parts(disk_time=later).run_once().outcome is Phase2Outcome.CONSOLIDATED
    assert world.told() == set()
