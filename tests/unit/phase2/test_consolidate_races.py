"""Phase two beside an editor that saves, and beside another run that has taken over."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from phase2_world import World, entry

from memory_pipeline.lock import os_lock
from memory_pipeline.phase2.places import workspace_lock_path
from memory_pipeline.records import Gate, Phase2Outcome

CONSOLIDATED, FAILED = Phase2Outcome.CONSOLIDATED, Phase2Outcome.FAILED


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A store whose first memory is published, and another one waiting."""
    made = World(tmp_path)
    made.says("thread-a", entry("use uv"))
    assert made.run().outcome is CONSOLIDATED
    made.says("thread-b", entry("commit small"))
    yield made
    made.close()


def at(step: str, act: Callable[[], object]) -> Callable[[str], None]:
    """Do something right after a step."""

    def on_step(name: str) -> None:
        if name == step:
            act()

    return on_step


# --- the lock and the row --------------------------------------------------------------------------------------------


def test_a_lock_file_that_was_deleted_stops_a_run_before_it_renames_anything(world: World) -> None:
    """Another run could be at work already. It is said, nothing waits, and the next run publishes."""
    before = world.files()
    lock = workspace_lock_path(world.workspace)
    stopped = world.run(on_step=at("prepared", lock.unlink))
    assert stopped.outcome is FAILED
    assert str(lock) in stopped.problems[-1]
    published = {path: content for path, content in world.files().items() if "/." not in f"/{path}"}
    assert published == before
    mended = world.run()
    assert mended.problems == ("a consolidation that was cut off has been finished",)
    assert b'"commit small"' in world.handbook.read_bytes()
    assert world.run().outcome is Phase2Outcome.NO_CHANGES


def test_a_second_run_that_took_the_name_of_the_lock_stops_the_first(world: World) -> None:
    """The file at the path is there, but it is not the one that is held."""
    before = world.handbook.read_bytes()
    lock = workspace_lock_path(world.workspace)

    def second_run() -> None:
        lock.unlink()
        with os_lock(lock, purpose="a test"):
            pass

    assert world.run(on_step=at("prepared", second_run)).outcome is FAILED
    assert world.handbook.read_bytes() == before


def test_a_run_whose_row_was_taken_over_publishes_nothing(world: World) -> None:
    """Its row does not say publishing any more; that is reported, and the row of the other run is left alone."""
    before = world.handbook.read_bytes()
    others: list[int] = []

    def taken_over() -> None:
        others.append(world.store.memories.begin(owner="other", now=world.clock.moment))

    stopped = world.run(on_step=at("prepared", taken_over))
    assert (stopped.outcome, stopped.problems[-1].count("another run")) == (FAILED, 1)
    assert world.handbook.read_bytes() == before
    assert world.store.memories.state_of(others[0]) == "running"
    world.says("thread-c", entry("write tests"))
    assert world.run().outcome is CONSOLIDATED
    told = world.handbook.read_bytes()
    assert b'"commit small"' in told
    assert b'"write tests"' in told


def test_a_crashed_consolidation_is_not_mended_without_the_lock_either(world: World) -> None:
    """Mending publishes too, and asks the same question first; it fails without a wait."""

    def crash() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        world.run(on_step=at("committed", crash))
    before = world.handbook.read_bytes()
    assert world.run(on_step=at("prepared", workspace_lock_path(world.workspace).unlink)).outcome is FAILED
    assert world.handbook.read_bytes() == before
    assert world.run().problems == ("a consolidation that was cut off has been finished",)


# --- an editor beside it ---------------------------------------------------------------------------------------------


def test_a_late_save_is_an_edit_that_the_next_run_sees(world: World) -> None:
    """What an editor wrote after the run into the file that MEMORY.md was is published as the person's text."""
    with world.handbook.open("ab") as editor:
        assert world.run().outcome is CONSOLIDATED
        editor.write(b"my note\n")
    seen = world.run()
    assert seen.outcome is CONSOLIDATED
    assert "has been merged into it" in seen.problems[0]
    assert world.handbook.read_bytes().count(b"my note\n") == 1
    last = world.run()
    assert (last.outcome, last.problems) == (Phase2Outcome.NO_CHANGES, ())
    assert not (world.config.state_path / "kept").exists()


class Editor:
    """Saves MEMORY.md in a thread of its own, one more line each time; each step of a run lets it save once."""

    def __init__(self, path: Path, save: Callable[[Path, bytes], None]) -> None:
        self.saved: list[bytes] = []
        self._path = path
        self._save = save
        self._turns: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run)

    def on_step(self, _name: str) -> None:
        """Let it save, while the run goes on."""
        self._turns.put(True)

    def _run(self) -> None:
        while self._turns.get():
            line = f"my line {len(self.saved)}\n".encode()
            self._save(self._path, line)
            self.saved.append(line)

    def __enter__(self) -> Editor:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._turns.put(False)
        self._thread.join(timeout=30)


def in_place(path: Path, line: bytes) -> None:
    """Read the file, empty it and write it anew, by one open file, as an editor with a fresh buffer does."""
    with path.open("r+b", buffering=0) as stream:
        text = stream.read()
        stream.seek(0)
        stream.truncate()
        stream.write(text + line)


def appending(path: Path, line: bytes) -> None:
    """Append, as a shell does."""
    with path.open("ab") as stream:
        stream.write(line)


def by_rename(path: Path, line: bytes) -> None:
    """Write another file and rename it over the old one."""
    path.with_name("editor.tmp").write_bytes(path.read_bytes() + line)
    path.with_name("editor.tmp").replace(path)


@pytest.mark.parametrize("save", [in_place, appending, by_rename])
def test_an_editor_that_saves_in_a_loop_loses_no_line(world: World, save: Callable[[Path, bytes], None]) -> None:
    """Consolidations with changing memories run beside it; in the end each line that it saved is there, once."""
    with Editor(world.handbook, save) as editor:
        for number in range(6):
            world.gate("thread-a", Gate.DISABLED if number % 2 else None)
            world.says("thread-c", entry(f"use port {8000 + number}"))
            assert world.run(on_step=editor.on_step).outcome in (CONSOLIDATED, Phase2Outcome.NO_CHANGES)
    world.run()
    assert world.run().outcome is Phase2Outcome.NO_CHANGES
    told = world.handbook.read_bytes().splitlines(keepends=True)
    assert len(editor.saved) >= 30
    assert [line for line in editor.saved if told.count(line) != 1] == []
    assert not (world.config.state_path / "kept").exists()


def test_a_file_that_is_emptied_while_it_is_saved_is_of_no_version(world: World) -> None:
    """A run that meets it then loses no note of before, whatever was published between the two last versions."""
    world.handbook.write_bytes(world.handbook.read_bytes() + b"my note\n")
    assert world.run().outcome is CONSOLIDATED
    world.says("thread-c", entry("use port 8001"))
    with world.handbook.open("r+b", buffering=0) as editor:
        text = editor.read()
        editor.seek(0)
        editor.truncate()
        assert world.run().outcome is CONSOLIDATED
        assert world.handbook.read_bytes().count(b"my note\n") == 1
        editor.write(text + b"my other note\n")
    for _ in range(3):
        world.run()
    told = world.handbook.read_bytes()
    assert (told.count(b"my note\n"), told.count(b"my other note\n")) == (1, 1)
