"""Publishing while a person saves: whatever was saved at whichever moment is in MEMORY.md in the end."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace
from phase2_world import read_tree

from memory_pipeline.errors import FencedOutError
from memory_pipeline.files import EXCHANGE_WAYS, ExchangeWay, by_link, by_rename, by_swap, write_whole
from memory_pipeline.phase2.baseline import read_baseline
from memory_pipeline.phase2.places import Places, places_below
from memory_pipeline.phase2.publish import (
    Publication,
    discard_staged,
    let_go_of_kept,
    look_again,
    publish,
    read_staged,
    stage,
    sweep_temporary,
)
from memory_pipeline.phase2.render import RenderedLine

only_linux_tells_who_writes = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it is looked at twice")


class CrashError(Exception):
    """Stands for the end of the program at some step."""


def not_here(one: Path, other: Path) -> bool:
    """Stand for a state folder on another file system: only names in one folder can be exchanged."""
    if one.parent != other.parent:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(one))
    return by_swap(one, other)


WAYS = {"usual": EXCHANGE_WAYS, "links": (by_link,), "renames": (by_rename,), "other file system": (not_here,)}


def publication(number: int, *lines: str, **files: bytes) -> Publication:
    """Make a publication with these lines in MEMORY.md."""
    usual = {"memory_summary.md": b"v1\n", "raw_memories.md": f"# Raw Memories\n{number}\n".encode()}
    return Publication(
        consolidation_id=number,
        settings="s",
        handbook=[RenderedLine(text=line, memory_id=f"m_{line}" if line.startswith("-") else None) for line in lines],
        files=usual | files,
        watermark=float(number),
    )


FIRST = publication(1, "# Task Group: shop", "", "- use uv", "- commit small")
SECOND = publication(2, "# Task Group: shop", "", "- use uv", "- write tests", "- commit small")
OLD = b"# Task Group: shop\n\n- use uv\n- commit small\n"
NEW = b"# Task Group: shop\n\n- use uv\n- write tests\n- commit small\n"


def noted(text: bytes) -> bytes:
    """Write a person's line into MEMORY.md."""
    return text.replace(b"# Task Group: shop\n", b"# Task Group: shop\nmy note\n")


def nothing(_name: str) -> None:
    """Do nothing at any step."""


def at(step: str, act: Callable[[], object]) -> Callable[[str], None]:
    """Do something right after a step."""

    def on_step(name: str) -> None:
        if name == step:
            act()

    return on_step


def crash() -> None:
    """End the program."""
    raise CrashError


def fail() -> None:
    """Say what a full disk says."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture(params=WAYS.values(), ids=WAYS)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Places:
    """A place where the first publication was made, for each way in which files are exchanged."""
    ways: Sequence[ExchangeWay] = request.param
    spot = replace(places_below(tmp_path / "state", tmp_path / "memories"), exchange_ways=ways)
    assert run(spot, FIRST) == []
    assert handbook(spot).read_bytes() == OLD
    return spot


def run(where: Places, new: Publication, on_step: Callable[[str], None] = nothing) -> list[str]:
    """Publish as a run does that nothing disturbs: stage, publish, clear away."""
    stage(where, new)
    notes = publish(where, new, check_fence=lambda: None, on_step=on_step)
    discard_staged(where)
    return notes + let_go_of_kept(where)


def start_again(where: Places) -> list[str]:
    """Do what each start does first."""
    sweep_temporary(where.workspace)
    notes = look_again(where)
    staged = read_staged(where)
    if staged is not None:
        notes += publish(where, staged, check_fence=lambda: None, on_step=nothing)
        discard_staged(where)
    return notes + let_go_of_kept(where)


def handbook(where: Places) -> Path:
    """MEMORY.md."""
    return where.workspace / "MEMORY.md"


def save_by_rename(path: Path, content: bytes) -> None:
    """Save as editors do that write a new file first."""
    path.with_name("editor.tmp").write_bytes(content)
    path.with_name("editor.tmp").replace(path)


def is_tidy(where: Places) -> bool:
    """Whether nothing of the publication is left beside its files."""
    hidden = [path.name for path in where.workspace.rglob("*") if path.name.startswith(".memory")]
    return not hidden and not where.kept.exists() and not where.staging.exists()


@only_linux_tells_who_writes
def test_without_an_editor_nothing_is_kept(where: Places) -> None:
    """What MEMORY.md was is gone with the run, since nobody can write to it any more."""
    assert run(where, SECOND) == []
    assert handbook(where).read_bytes() == NEW
    assert is_tidy(where)


@pytest.mark.parametrize("save", [Path.write_bytes, save_by_rename], ids=["in place", "by rename"])
def test_what_is_saved_between_our_last_look_and_the_exchange_is_merged(
    where: Places, save: Callable[[Path, bytes], object]
) -> None:
    """The old file is looked at after the exchange; the line stands where it was written."""
    late = noted(OLD)
    notes = run(where, SECOND, at("kept MEMORY.md", lambda: save(handbook(where), late)))
    assert handbook(where).read_bytes() == noted(NEW)
    assert notes == ["what was saved into MEMORY.md while it was replaced has been merged into it"]
    assert read_baseline(where.baseline).published == NEW  # so that the next run sees an edit
    assert start_again(where) == []
    assert is_tidy(where)


def test_what_is_saved_right_after_the_exchange_stays(where: Places) -> None:
    """It stands in the new file already, and is an edit like any other."""
    late = NEW + b"my note\n"
    assert run(where, SECOND, at("wrote MEMORY.md", lambda: handbook(where).write_bytes(late))) == []
    assert handbook(where).read_bytes() == late
    assert read_baseline(where.baseline).published == NEW


@only_linux_tells_who_writes
def test_an_editor_that_writes_after_the_run_loses_nothing(where: Places) -> None:
    """Opened and emptied before, written after: the old file is kept until the editor closes it, however late."""
    handbook(where).write_bytes(noted(OLD))
    editor = handbook(where).open("r+b", buffering=0)
    run(where, SECOND, at("kept MEMORY.md", lambda: editor.truncate(0)))
    assert handbook(where).read_bytes() == noted(NEW)
    for _ in range(3):
        assert start_again(where) == []
        assert where.kept.exists()
    editor.write(noted(OLD) + b"late note\n")
    editor.close()
    assert start_again(where) == ["what was saved into MEMORY.md while it was replaced has been merged into it"]
    assert handbook(where).read_bytes() == noted(NEW) + b"late note\n"
    assert start_again(where) == []
    assert is_tidy(where)


def test_where_it_can_not_be_told_who_writes_the_next_start_looks_again(where: Places, tmp_path: Path) -> None:
    """A file with a second name is kept until then, and what came meanwhile is merged."""
    os.link(handbook(where), tmp_path / "second name")
    run(where, SECOND)
    assert where.kept.exists()
    with (tmp_path / "second name").open("ab") as editor:
        editor.write(b"late note\n")
    assert len(start_again(where)) == 1
    assert handbook(where).read_bytes() == NEW + b"late note\n"
    assert start_again(where) == []
    assert is_tidy(where)


def test_a_late_save_that_an_older_text_overwrites_comes_back_once(where: Places) -> None:
    """An editor that read the file before the merge saves after it; whoever takes the line out later is heeded."""
    run(where, SECOND, at("kept MEMORY.md", lambda: handbook(where).write_bytes(noted(OLD))))
    assert handbook(where).read_bytes() == noted(NEW)
    handbook(where).write_bytes(NEW + b"of an older buffer\n")
    assert len(start_again(where)) == 1
    assert handbook(where).read_bytes() == noted(NEW) + b"of an older buffer\n"
    handbook(where).write_bytes(NEW)
    assert start_again(where) == []
    assert handbook(where).read_bytes() == NEW
    assert is_tidy(where)


def test_what_was_taken_out_late_is_not_taken_out_twice(where: Places) -> None:
    """A line that went with a late save may be written again before the next start."""
    late = noted(OLD).replace(b"- commit small\n", b"")
    run(where, SECOND, at("kept MEMORY.md", lambda: handbook(where).write_bytes(late)))
    assert b"- commit small\n" not in handbook(where).read_bytes()
    handbook(where).write_bytes(NEW)
    start_again(where)
    assert handbook(where).read_bytes() == noted(NEW)


def test_a_file_that_was_just_emptied_is_not_taken_for_a_persons_wish(where: Places) -> None:
    """What looks damaged is restored with a copy; the rest of the save arrives on the old file and is merged."""
    handbook(where).write_bytes(b"# Task")
    with handbook(where).open("r+b", buffering=0) as editor:
        restored, merged = run(where, SECOND, at("wrote baseline", lambda: editor.write(noted(OLD))))
    assert "had lost more than half of its lines" in restored
    assert "has been merged into it" in merged
    assert handbook(where).read_bytes() == noted(NEW)


def test_half_a_save_is_completed_by_its_other_half(where: Places) -> None:
    """More than half of the lines are there when we look; the rest comes later, and no line is missing or doubled."""
    half = OLD.removesuffix(b"- commit small\n") + b"my note\n"
    with handbook(where).open("r+b", buffering=0) as editor:
        editor.truncate(0)
        editor.write(half)
        run(where, SECOND, at("wrote baseline", lambda: editor.write(b"- commit small\nlast line\n")))
    start_again(where)
    told = handbook(where).read_bytes().splitlines()
    assert sorted(told) == sorted([*NEW.splitlines(), b"my note", b"last line"])
    assert start_again(where) == []
    assert is_tidy(where)


def test_a_save_that_never_came_to_its_end_is_kept_aside(where: Places) -> None:
    """An editor that died with most lines unwritten changed nothing; what it wrote can be found."""
    with handbook(where).open("r+b", buffering=0) as editor:

        def dies() -> None:
            editor.seek(0)
            editor.truncate()
            editor.write(b"my own wo")

        run(where, SECOND, at("kept MEMORY.md", dies))
    assert start_again(where) == []
    (note,) = start_again(where)
    (copy,) = where.replaced.iterdir()
    assert copy.read_bytes() == b"my own wo"
    assert str(copy) in note
    assert handbook(where).read_bytes() == NEW
    assert is_tidy(where)


def test_saving_again_and_again_during_the_merge_loses_nothing(where: Places) -> None:
    """Each exchange may find another save; all of them end in the file, once."""
    saved: list[bytes] = []
    usual = where.exchange_ways

    def busy(one: Path, other: Path) -> bool:
        if other == handbook(where) and len(saved) < 5:
            saved.append(f"note {len(saved)}\n".encode())
            with other.open("ab") as editor:
                editor.write(saved[-1])
        return any(way(one, other) for way in usual)

    run(replace(where, exchange_ways=(busy,)), SECOND)
    start_again(where)
    told = handbook(where).read_bytes()
    assert len(saved) == 5
    assert sorted(told.splitlines(keepends=True)) == sorted([*NEW.splitlines(keepends=True), *saved])
    assert is_tidy(where)


def test_a_save_that_never_rests_is_left_to_the_next_start(where: Places) -> None:
    """The rounds are bounded; nothing is lost when they are over."""
    saved: list[bytes] = []
    usual = where.exchange_ways

    def restless(one: Path, other: Path) -> bool:
        if other == handbook(where):
            saved.append(f"note {len(saved)}\n".encode())
            with other.open("ab") as editor:
                editor.write(saved[-1])
        return any(way(one, other) for way in usual)

    run(replace(where, exchange_ways=(restless,)), SECOND)
    assert len(saved) > 5
    start_again(where)
    told = handbook(where).read_bytes()
    assert sorted(told.splitlines(keepends=True)) == sorted([*NEW.splitlines(keepends=True), *saved])


# --- crashes ---------------------------------------------------------------------------------------------------------

STEPS = [
    "prepared",
    "wrote raw_memories.md",
    "kept MEMORY.md",
    "wrote MEMORY.md",
    "wrote baseline",
    "looked again",
]


@pytest.mark.parametrize("step", STEPS)
def test_a_save_around_a_crash_at_any_step_survives_it(where: Places, step: str) -> None:
    """Saved in place into whatever file was opened before the run, and by rename after the crash."""
    editor = handbook(where).open("ab", buffering=0)
    with pytest.raises(CrashError):
        run(where, SECOND, at(step, crash))
    editor.write(b"late note\n")
    editor.close()
    save_by_rename(handbook(where), handbook(where).read_bytes() + b"later note\n")
    start_again(where)
    start_again(where)
    told = handbook(where).read_bytes().splitlines()
    assert sorted(told) == sorted([*NEW.splitlines(), b"late note", b"later note"])
    assert is_tidy(where)
    assert read_baseline(where.baseline).rendered == NEW


@pytest.mark.parametrize("moved", [False, True], ids=["before the new file is there", "after it"])
@pytest.mark.parametrize("way", [by_link, by_rename])
def test_a_crash_inside_an_exchange_is_mended(tmp_path: Path, way: ExchangeWay, moved: bool) -> None:
    """A save just before it, and the text of before, survive the moment between two renames."""
    where = replace(places_below(tmp_path / "state", tmp_path / "memories"), exchange_ways=(way,))
    run(where, FIRST)

    def cut_off(one: Path, other: Path) -> bool:
        if other != handbook(where):
            return way(one, other)
        with other.open("ab") as editor:
            editor.write(b"my note\n")
        aside = one.with_name(f"{one.name}.aside")
        if way is by_link:
            os.link(other, aside)
        else:
            other.rename(aside)
        if moved:
            one.replace(other)
        raise CrashError

    with pytest.raises(CrashError):
        run(replace(where, exchange_ways=(cut_off,)), SECOND)
    start_again(where)
    assert handbook(where).read_bytes() == NEW + b"my note\n"
    start_again(where)
    assert is_tidy(where)


def test_a_crash_after_a_late_save_was_merged_doubles_nothing(where: Places) -> None:
    """Cut off before it was noted as merged, the same save is seen once more."""
    late = noted(OLD)
    with pytest.raises(CrashError):
        run(where, SECOND, at("wrote baseline", crash))
    (kept,) = where.kept.iterdir()
    (kept / "file" if (kept / "file").exists() else next(where.workspace.glob(".memory*"))).write_bytes(late)

    def dies(path: Path, content: bytes) -> None:
        if path == kept / "merged":
            raise CrashError
        write_whole(path, content)

    with pytest.raises(CrashError):
        look_again(replace(where, write=dies))
    merged = noted(NEW)
    assert handbook(where).read_bytes() == merged
    start_again(where)
    assert handbook(where).read_bytes() == merged
    start_again(where)
    assert is_tidy(where)


def test_a_record_that_a_crash_left_unfinished_is_cleared_away(where: Places) -> None:
    """Nothing was exchanged before the record was whole."""

    def dies(path: Path, content: bytes) -> None:
        if path.name == "about.json":
            raise CrashError
        write_whole(path, content)

    with pytest.raises(CrashError):
        run(replace(where, write=dies), SECOND)
    start_again(where)
    assert handbook(where).read_bytes() == NEW
    assert is_tidy(where)


# --- a full disk -----------------------------------------------------------------------------------------------------


def test_a_full_disk_at_any_write_leaves_everything_as_it_was(where: Places) -> None:
    """Every write of staging, publishing and baseline fails once; nothing but staged files may be left of it."""
    handbook(where).write_bytes(OLD + b"my note\n")
    before = read_tree(where.workspace), read_tree(where.baseline)
    writes, room = 0, 0

    def full(path: Path, content: bytes) -> None:
        nonlocal writes
        writes += 1
        if writes > room:
            fail()
        write_whole(path, content)

    while True:
        writes = 0
        try:
            run(replace(where, write=full), SECOND)
        except OSError:
            assert (read_tree(where.workspace), read_tree(where.baseline)) == before
            discard_staged(where)
            room += 1
        else:
            break
    assert room == writes > 10
    assert handbook(where).read_bytes() == NEW + b"my note\n"
    start_again(where)
    assert is_tidy(where)


def test_a_full_disk_at_the_first_publication_leaves_no_baseline(tmp_path: Path) -> None:
    """A baseline that is whole, but whose publication was taken back, would claim that all is published."""
    where = places_below(tmp_path / "state", tmp_path / "memories")
    (tmp_path / "state" / "baseline").mkdir(parents=True)
    (tmp_path / "state" / "baseline").rmdir()

    def full(path: Path, content: bytes) -> None:
        write_whole(path, content)
        if path.name == "manifest.json":
            fail()

    with pytest.raises(OSError, match="No space left"):
        run(replace(where, write=full), FIRST)
    assert not read_baseline(where.baseline).exists
    assert read_tree(where.workspace) == {}
    start_again(where)
    assert handbook(where).read_bytes() == OLD


@pytest.mark.parametrize("step", ["wrote memory_summary.md", "wrote MEMORY.md"])
def test_taking_back_writes_nothing(where: Places, step: str) -> None:
    """When the disk is full there is no room for copies: the very files come back, what was removed included."""
    run(where, replace(FIRST, files={**FIRST.files, "rollout_summaries/a.md": b"a\n"}))
    before = {path: path.stat().st_ino for path in where.workspace.rglob("*") if path.is_file()}
    (where.workspace / "memory_summary.md").write_bytes(b"v1\nsomebody's\n")
    is_full = False

    def full(path: Path, content: bytes) -> None:
        if is_full or path.name == "rendered-MEMORY.md":
            fail()
        write_whole(path, content)

    def fills_up() -> None:
        nonlocal is_full
        is_full = True

    with pytest.raises(OSError, match="No space left"):
        run(replace(where, write=full), SECOND, at(step, fills_up))
    assert {path: path.stat().st_ino for path in where.workspace.rglob("*") if path.is_file()} == before
    assert (where.workspace / "memory_summary.md").read_bytes() == b"v1\nsomebody's\n"


def test_what_is_saved_into_a_publication_that_is_taken_back_is_merged(where: Places) -> None:
    """The person saw the new file for a moment and wrote into it: their line stands in the old one."""

    def saves_and_fails() -> None:
        handbook(where).write_bytes(NEW + b"my note\n")
        fail()

    with pytest.raises(OSError, match="No space left"):
        run(where, SECOND, at("wrote MEMORY.md", saves_and_fails))
    assert handbook(where).read_bytes() == OLD + b"my note\n"
    start_again(where)
    assert handbook(where).read_bytes() == NEW + b"my note\n"
    assert is_tidy(where)


def test_a_late_save_that_can_not_be_merged_now_fails_nothing(where: Places) -> None:
    """All is published already; the next start merges it."""
    is_full = False

    def full(path: Path, content: bytes) -> None:
        if is_full:
            fail()
        write_whole(path, content)

    def saves() -> None:
        handbook(where).write_bytes(OLD + b"my note\n")

    def on_step(name: str) -> None:
        nonlocal is_full
        if name == "kept MEMORY.md":
            saves()
        is_full = name == "wrote baseline"

    assert run(replace(where, write=full), SECOND, on_step) == []
    assert handbook(where).read_bytes() == NEW
    assert len(start_again(where)) == 1
    assert handbook(where).read_bytes() == NEW + b"my note\n"


# --- the fence -------------------------------------------------------------------------------------------------------


def test_without_the_right_to_publish_nothing_is_renamed(where: Places) -> None:
    """It is asked once everything is written; no published file changes, and the baseline stands."""
    before = read_tree(where.workspace), read_tree(where.baseline)

    def refuse() -> None:
        raise FencedOutError("the lock is gone")

    stage(where, SECOND)
    with pytest.raises(FencedOutError):
        publish(where, SECOND, check_fence=refuse, on_step=nothing)
    sweep_temporary(where.workspace)
    assert (read_tree(where.workspace), read_tree(where.baseline)) == before
    start_again(where)
    assert handbook(where).read_bytes() == NEW
