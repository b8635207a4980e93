"""Publishing: files change as one, a crash at any step is mended, and nothing of others is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from phase2_world import read_tree, stamps

from memory_pipeline.errors import WorkspaceError
from memory_pipeline.phase2.baseline import read_baseline
from memory_pipeline.phase2.places import Places, places_below
from memory_pipeline.phase2.publish import Publication, check, discard_staged, publish, read_staged, stage
from memory_pipeline.phase2.render import RenderedLine


class CrashError(Exception):
    """Stands for the end of the program at some step."""


def crash_after(step: str) -> Callable[[str], None]:
    """Stop the program once a step is done."""

    def on_step(name: str) -> None:
        if name == step:
            raise CrashError

    return on_step


def lines(*texts: str) -> list[RenderedLine]:
    """Make a rendered MEMORY.md."""
    return [RenderedLine(text=text, memory_id=f"m_{text}" if text.startswith("-") else None) for text in texts]


FIRST = Publication(
    consolidation_id=1,
    settings="s",
    handbook=lines("# Task Group: shop", "", "- use uv", "- commit small"),
    files={"memory_summary.md": b"v1\n", "raw_memories.md": b"# Raw Memories\n", "rollout_summaries/a.md": b"a\n"},
    watermark=1.0,
)
SECOND = Publication(
    consolidation_id=2,
    settings="s",
    handbook=lines("# Task Group: shop", "", "- use uv 2", "- write tests", "- commit small 2"),
    files={
        "memory_summary.md": b"v1\nnew\n",
        "raw_memories.md": b"# Raw Memories\n2\n",
        "rollout_summaries/b.md": b"b\n",
    },
    watermark=2.0,
)
NOTED = b"# Task Group: shop\nmy note\n\n- use uv\nmine, too\n- commit small\n"


def places(root: Path) -> Places:
    """Where a test publishes."""
    return places_below(root / "state", root / "memories")


def put(where: Places, publication: Publication, on_step: Callable[[str], None] = lambda _name: None) -> list[str]:
    """Stage and publish."""
    stage(where, publication)
    return go_on(where, publication, on_step)


def go_on(where: Places, publication: Publication, on_step: Callable[[str], None] = lambda _name: None) -> list[str]:
    """Publish what was staged."""
    return publish(where, publication, check_fence=lambda: None, on_step=on_step)


@pytest.fixture
def where(tmp_path: Path) -> Places:
    """A place where the first publication was made."""
    spot = places(tmp_path)
    assert put(spot, FIRST) == []
    discard_staged(spot)
    return spot


def test_what_is_staged_reads_back(tmp_path: Path) -> None:
    """A crash after staging loses nothing that is needed to publish."""
    spot = places(tmp_path)
    stage(spot, FIRST)
    assert read_staged(spot) == FIRST
    discard_staged(spot)
    assert read_staged(spot) is None


@pytest.mark.parametrize("name", ["publish.json", "files/raw_memories.md"])
def test_half_a_staging_is_none(tmp_path: Path, name: str) -> None:
    """Without its journal or one of its files it can't be published."""
    spot = places(tmp_path)
    stage(spot, FIRST)
    (spot.staging / name).unlink()
    assert read_staged(spot) is None


def test_what_the_baseline_holds_is_staged_by_name(where: Places) -> None:
    """It reads back from there, also while the baseline is being replaced, or from where it lies as it was."""
    same = "rollout_summaries/a.md"
    third = replace(FIRST, consolidation_id=3, files={**FIRST.files, "raw_memories.md": b"# Raw Memories\n3\n"})
    stage(where, third)
    assert not (where.staging / "files" / same).exists()
    assert read_staged(where) == third
    fresh = where.baseline.with_name(f"{where.baseline.name}.new")
    where.baseline.rename(fresh)  # as between the two renames that replace it
    assert read_staged(where) == third
    (fresh / "files" / same).write_bytes(b"spoilt")
    assert read_staged(where) == third
    (where.workspace / same).write_bytes(b"spoilt, too")
    assert read_staged(where) is None


def test_files_are_private_and_whole(where: Places) -> None:
    """The workspace holds what was published, for its owner only, and no temporary file."""
    assert read_tree(where.workspace) == {
        **FIRST.files,
        "MEMORY.md": b"# Task Group: shop\n\n- use uv\n- commit small\n",
    }
    for path in where.workspace.rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600)
    assert where.workspace.stat().st_mode & 0o777 == 0o700


def test_a_file_that_says_the_same_is_not_touched(where: Places) -> None:
    """Publishing again changes neither bytes nor times."""
    before = stamps(where.workspace)
    assert put(where, FIRST) == []
    assert stamps(where.workspace) == before


def test_a_summary_that_nothing_needs_is_removed(where: Places) -> None:
    """Only files that we published before are ever removed."""
    (where.workspace / "rollout_summaries" / "theirs.md").write_bytes(b"theirs")
    put(where, SECOND)
    assert sorted(path.name for path in (where.workspace / "rollout_summaries").iterdir()) == ["b.md", "theirs.md"]


STEPS = [
    "wrote memory_summary.md",
    "wrote raw_memories.md",
    "wrote rollout_summaries/b.md",
    "wrote MEMORY.md",
    "wrote baseline",
]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("edited", [False, True], ids=["untouched", "edited"])
def test_after_a_crash_at_any_step_the_files_are_the_same(tmp_path: Path, step: str, edited: bool) -> None:
    """Going on from what was staged gives what an undisturbed run gives, a person's edits included."""
    results = []
    for name, on_step in (("calm", lambda _name: None), ("crashed", crash_after(step))):
        spot = places(tmp_path / name)
        put(spot, FIRST)
        if edited:
            (spot.workspace / "MEMORY.md").write_bytes(NOTED)
        if name == "crashed":
            with pytest.raises(CrashError):
                put(spot, SECOND, on_step)
            staged = read_staged(spot)
            assert staged is not None
            assert go_on(spot, staged) == []
        else:
            put(spot, SECOND)
        results.append((read_tree(spot.workspace), read_tree(spot.baseline)))
    assert results[0] == results[1]
    if edited:
        assert b"my note\n" in results[0][0]["MEMORY.md"]
        assert b"mine, too\n" in results[0][0]["MEMORY.md"]


def test_after_a_crash_while_the_baseline_is_swapped_nothing_moves(where: Places) -> None:
    """Between its two renames the baseline has another name; a person's line still keeps its place."""
    (where.workspace / "MEMORY.md").write_bytes(NOTED)
    put(where, SECOND)
    expected = read_tree(where.workspace)
    where.baseline.rename(where.baseline.with_name("baseline.new"))
    assert go_on(where, SECOND) == []
    assert read_tree(where.workspace) == expected
    assert read_baseline(where.baseline).consolidation_id == 2


@pytest.mark.parametrize("step", STEPS[:-1])
def test_a_disk_that_refuses_leaves_the_workspace_as_it_was(where: Places, step: str) -> None:
    """Files that were written already are put back, the baseline stays, and what is staged stays for the next try."""
    (where.workspace / "MEMORY.md").write_bytes(NOTED)
    before = read_tree(where.workspace), read_tree(where.baseline)

    def refuse(name: str) -> None:
        if name == step:
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        put(where, SECOND, refuse)
    assert (read_tree(where.workspace), read_tree(where.baseline)) == before
    assert read_staged(where) == SECOND


def test_an_edit_that_was_saved_during_the_run_survives(where: Places) -> None:
    """MEMORY.md is read right before it is replaced."""

    def person_saves(name: str) -> None:
        if name == "wrote raw_memories.md":
            (where.workspace / "MEMORY.md").write_bytes(NOTED)

    put(where, SECOND, person_saves)
    assert b"my note\n" in (where.workspace / "MEMORY.md").read_bytes()


def test_a_file_of_others_in_our_place_is_copied_before_it_is_replaced(tmp_path: Path) -> None:
    """Our first publication loses nothing of another program's memories, and says where they went."""
    spot = places(tmp_path)
    (spot.workspace / "rollout_summaries").mkdir(parents=True)
    (spot.workspace / "raw_memories.md").write_bytes(b"another program's")
    (spot.workspace / "MEMORY.md").write_bytes(b"# Their handbook\n- theirs\n")
    (note,) = put(spot, FIRST)
    (copy,) = spot.replaced.iterdir()
    assert copy.read_bytes() == b"another program's"
    assert str(copy) in note
    assert note.startswith("raw_memories.md stood in the workspace already")
    assert (spot.workspace / "MEMORY.md").read_bytes().endswith(b"# Their handbook\n- theirs\n")


def test_folders_of_others_are_left_alone(tmp_path: Path) -> None:
    """Git folders, skills, extensions and unknown files keep bytes and times."""
    spot = places(tmp_path)
    for path in (".git/HEAD", "skills/deploy/SKILL.md", "extensions/ad_hoc/notes/n.md", "notes.txt"):
        (spot.workspace / path).parent.mkdir(parents=True, exist_ok=True)
        (spot.workspace / path).write_bytes(path.encode())
    folders = [spot.workspace / name for name in (".git", "skills", "extensions")]
    before = [stamps(folder) for folder in folders]
    put(spot, FIRST)
    put(spot, SECOND)
    assert [stamps(folder) for folder in folders] == before
    assert (spot.workspace / "notes.txt").read_bytes() == b"notes.txt"


@pytest.mark.parametrize("publication", [FIRST, SECOND], ids=["same", "new"])
def test_a_derived_file_that_somebody_changed_is_restored_and_that_is_said(
    where: Places, publication: Publication
) -> None:
    """Whether or not we have something new for it."""
    (where.workspace / "memory_summary.md").write_bytes(b"v1\nsomebody's")
    (note,) = put(where, publication)
    assert (where.workspace / "memory_summary.md").read_bytes() == publication.files["memory_summary.md"]
    assert "memory_summary.md" in note
    assert "changed by someone else" in note


def test_missing_files_are_restored_and_that_is_said_in_one_sentence(where: Places) -> None:
    """Of many, a few are named."""
    many = replace(FIRST, files={**FIRST.files, **{f"rollout_summaries/s{number}.md": b"s\n" for number in range(9)}})
    put(where, many)
    for path in many.files:
        (where.workspace / path).unlink()
    (where.workspace / "MEMORY.md").unlink()
    notes = put(where, many)
    assert len(notes) == 2
    assert notes[0].endswith("and 9 more")
    assert notes[1] == "MEMORY.md was missing and is restored"
    assert set(read_tree(where.workspace)) == {*many.files, "MEMORY.md"}


def test_a_damaged_handbook_is_restored_and_kept_aside(where: Places) -> None:
    """What stood there can be found at the place that is named."""
    (where.workspace / "MEMORY.md").write_bytes(NOTED)
    put(where, FIRST)
    (where.workspace / "MEMORY.md").write_bytes(b"torn")
    (note,) = put(where, SECOND)
    (copy,) = where.replaced.iterdir()
    assert copy.read_bytes() == b"torn"
    assert str(copy) in note
    text = (where.workspace / "MEMORY.md").read_bytes()
    assert b"my note\n" in text
    assert b"- write tests\n" in text


@pytest.mark.parametrize("name", ["MEMORY.md", "memory_summary.md", "raw_memories.md"])
def test_a_link_in_our_place_is_replaced_and_never_followed(where: Places, tmp_path: Path, name: str) -> None:
    """What the link leads to is neither read nor written."""
    outside = tmp_path / "outside.txt"
    outside.write_bytes(b"a private file\n")
    (where.workspace / name).unlink()
    (where.workspace / name).symlink_to(outside)
    put(where, SECOND)
    assert outside.read_bytes() == b"a private file\n"
    assert not (where.workspace / name).is_symlink()
    assert all(b"private" not in content for content in read_tree(where.workspace).values())


BAD = [
    ({"memory_summary.md": None}, "memory_summary.md was not rendered"),
    ({"memory_summary.md": b"v2\n"}, "memory_summary.md was not rendered"),
    ({"memory_summary.md": b"\xef\xbb\xbfv1\n"}, "memory_summary.md was not rendered"),
    ({"memory_summary.md": b"v1\n" + b"x" * 100}, "has 103 bytes"),
    ({"raw_memories.md": None}, "raw_memories.md was not laid out"),
    ({"rollout_summaries/a.md": b"\xff"}, "rollout_summaries/a.md would not be UTF-8"),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_what_its_readers_could_not_read_is_not_published(changes: dict[str, bytes | None], message: str) -> None:
    """The last look before publishing names the file."""
    files = {path: content for path, content in {**FIRST.files, **changes}.items() if content is not None}
    with pytest.raises(WorkspaceError, match=message):
        check(replace(FIRST, files=files), summary_max_bytes=100)
    check(FIRST, summary_max_bytes=100)
