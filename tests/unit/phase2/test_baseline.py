"""The baseline: what was published last, and what differs from it now."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memory_pipeline.files import write_whole
from memory_pipeline.phase2.baseline import Baseline, differences, read_baseline, read_workspace_file, write_baseline
from memory_pipeline.phase2.layout import MEMORY_FILE
from memory_pipeline.phase2.render import RenderedLine

FILES = {"raw_memories.md": b"raw\n", "memory_summary.md": b"v1\n", "rollout_summaries/a.md": b"a\n"}
HANDBOOK = [RenderedLine(text="# Task Group: shop"), RenderedLine(text="- use uv", memory_id="m_1")]
RENDERED = b"# Task Group: shop\n- use uv\n"
PUBLISHED = RENDERED + b"my note\n"


def write(folder: Path, *, number: int = 7) -> Baseline:
    """Write a baseline and read it back."""
    write_baseline(
        folder,
        consolidation_id=number,
        settings="limits",
        files={**FILES, "MEMORY.md": PUBLISHED},
        handbook=HANDBOOK,
        rendered=RENDERED,
    )
    return read_baseline(folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the baseline lies."""
    return tmp_path / "baseline"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace as it was published."""
    root = tmp_path / "memories"
    for path, content in {**FILES, "MEMORY.md": PUBLISHED}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    return root


def test_a_baseline_reads_back_as_written(folder: Path) -> None:
    """Both texts of MEMORY.md, the memory of each line, and a hash of every file are kept."""
    baseline = write(folder)
    assert baseline.exists
    assert (baseline.consolidation_id, baseline.settings) == (7, "limits")
    assert (baseline.rendered, baseline.published) == (RENDERED, PUBLISHED)
    assert baseline.line_memories == (None, "m_1")
    assert set(baseline.hashes) == {*FILES, "MEMORY.md"}


def test_a_baseline_is_replaced_as_a_whole(folder: Path) -> None:
    """Nothing of the older one is left, beside it neither."""
    write(folder)
    (folder / "files" / "old.md").write_bytes(b"old")
    assert write(folder, number=8).consolidation_id == 8
    assert not (folder / "files" / "old.md").exists()
    assert [path.name for path in folder.parent.iterdir()] == ["baseline"]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b'{"consolidation_id": "x"}', b"\xff\xfe", b'{"files": 3}']
)
def test_a_damaged_manifest_reads_as_never_published(folder: Path, content: bytes) -> None:
    """Then everything is published again; nothing crashes."""
    write(folder)
    (folder / "manifest.json").write_bytes(content)
    assert read_baseline(folder) == Baseline()
    assert not read_baseline(folder).exists


@pytest.mark.parametrize("name", ["manifest.json", "rendered-MEMORY.md", "files/MEMORY.md"])
def test_a_baseline_that_lost_a_file_reads_as_never_published(folder: Path, name: str) -> None:
    """Half a baseline is none."""
    write(folder)
    (folder / name).unlink()
    assert not read_baseline(folder).exists


def test_a_crash_between_the_two_renames_leaves_the_new_baseline(folder: Path) -> None:
    """The old one is out of the way, the new one not yet in its place: it is whole, and found."""
    write(folder)
    folder.rename(folder.with_name("baseline.new"))
    assert read_baseline(folder).consolidation_id == 7
    assert write(folder, number=8).consolidation_id == 8


def test_an_unfinished_new_baseline_does_not_count(folder: Path) -> None:
    """A crash while it was written leaves the old one in force."""
    write(folder)
    fresh = folder.with_name("baseline.new")
    (fresh / "files").mkdir(parents=True)
    (fresh / "files" / "MEMORY.md").write_bytes(b"half")
    assert read_baseline(folder).consolidation_id == 7
    folder.rename(folder.with_name("elsewhere"))
    assert not read_baseline(folder).exists


def test_nothing_differs_when_all_is_as_published(folder: Path, workspace: Path) -> None:
    """Same inputs, untouched files: no difference."""
    assert differences(FILES, write(folder), workspace) == {}


def test_inputs_are_told_as_added_modified_and_removed(folder: Path, workspace: Path) -> None:
    """Each path has one letter, by path."""
    baseline = write(folder)
    planned = {"raw_memories.md": b"new\n", "rollout_summaries/b.md": b"b\n"}
    assert differences(planned, baseline, workspace) == {
        "raw_memories.md": "M",
        "rollout_summaries/a.md": "D",
        "rollout_summaries/b.md": "A",
    }


@pytest.mark.parametrize("path", ["MEMORY.md", "memory_summary.md", "rollout_summaries/a.md"])
def test_a_published_file_that_was_changed_or_is_gone_differs(folder: Path, workspace: Path, path: str) -> None:
    """Whoever changed it, and also when a link or folder stands in its place."""
    baseline = write(folder)
    target = workspace / path
    target.write_bytes(b"changed")
    assert differences(FILES, baseline, workspace) == {path: "M"}
    target.unlink()
    assert differences(FILES, baseline, workspace) == {path: "M"}
    target.symlink_to(folder / "files" / path)
    assert differences(FILES, baseline, workspace) == {path: "M"}
    target.unlink()
    target.mkdir()
    assert differences(FILES, baseline, workspace) == {path: "M"}


def test_files_of_others_are_no_difference(folder: Path, workspace: Path) -> None:
    """What we did not publish is not ours to look at."""
    (workspace / "skills").mkdir()
    (workspace / "skills" / "SKILL.md").write_bytes(b"theirs")
    assert differences(FILES, write(folder), workspace) == {}


def test_only_regular_files_of_the_workspace_are_read(workspace: Path) -> None:
    """A link is not followed, and a pipe does not block."""
    (workspace / "link").symlink_to(workspace / "MEMORY.md")
    os.mkfifo(workspace / "pipe")
    assert read_workspace_file(workspace, "link") is None
    assert read_workspace_file(workspace, "rollout_summaries") is None
    assert read_workspace_file(workspace, "gone") is None
    assert read_workspace_file(workspace, "pipe") is None
    assert read_workspace_file(workspace, "MEMORY.md") == PUBLISHED


def test_what_the_baseline_holds_already_is_not_written_once_more(tmp_path: Path) -> None:
    """Of hundreds of summaries a consolidation changes a few; each write waits for the disk."""
    baseline = tmp_path / "baseline"
    written: list[str] = []

    def note_and_write(path: Path, content: bytes) -> None:
        written.append(path.name)
        write_whole(path, content)

    def replace_with(files: dict[str, bytes]) -> None:
        written.clear()
        write_baseline(
            baseline, consolidation_id=1, settings="", files=files, handbook=(), rendered=b"", write=note_and_write
        )

    old = {MEMORY_FILE: b"a", "rollout_summaries/one.md": b"1", "rollout_summaries/two.md": b"2"}
    replace_with(old)
    new = {**old, "rollout_summaries/two.md": b"3", "rollout_summaries/three.md": b"1"}
    replace_with(new)
    assert {"two.md", "three.md"} <= set(written)
    assert not {"one.md", MEMORY_FILE} & set(written)
    assert {path: (baseline / "files" / path).read_bytes() for path in new} == new


def test_a_baseline_file_that_was_damaged_or_replaced_by_a_link_is_written_anew(tmp_path: Path) -> None:
    """Another name for what stands there would keep the damage, or lead out of the state folder."""
    baseline, elsewhere = tmp_path / "baseline", tmp_path / "elsewhere"
    elsewhere.write_bytes(b"2")
    files = {MEMORY_FILE: b"a", "rollout_summaries/one.md": b"1", "rollout_summaries/two.md": b"2"}
    for _ in range(2):
        write_baseline(baseline, consolidation_id=1, settings="", files=files, handbook=(), rendered=b"")
        found = {path: baseline / "files" / path for path in files}
        assert {path: found[path].read_bytes() for path in files} == files
        assert not found["rollout_summaries/two.md"].is_symlink()
        found["rollout_summaries/one.md"].write_bytes(b"torn")
        found["rollout_summaries/two.md"].unlink()
        found["rollout_summaries/two.md"].symlink_to(elsewhere)
