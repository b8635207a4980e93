"""Each rule of the workspace's files is noticed when it is broken; a look changes nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import pytest
from msgspec.structs import replace
from phase2_world import World, entry, learned, read_tree, stamps

from memory_pipeline.phase2.findings import Rule
from memory_pipeline.phase2.lint import lint
from memory_pipeline.records import MemoryStatus

LINT = entry("run make lint before a commit")
GERMAN = entry("answer in German", scope="user")
SEEN = learned("`make test` runs the tests; it passed")
SECRET = "ghp_" + "Fake0" * 8


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A workspace that was published once."""
    made = World(tmp_path)
    made.says("thread-a", LINT, SEEN)
    made.says("thread-b", GERMAN)
    made.run()
    yield made
    made.close()


def found(world: World) -> list[tuple[Rule, str]]:
    """Rule and place of every finding."""
    return [(finding.rule, finding.place) for finding in lint(world.config, world.store)]


def summary_of(world: World) -> str:
    """The path of one rollout summary."""
    return min(path for path in world.files() if path.startswith("rollout_summaries/"))


def test_what_was_just_published_gives_no_finding(world: World) -> None:
    """A sound workspace is clean, and stays byte for byte what it was, time stamps included."""
    baseline = world.folder / "state" / "baseline"
    before = read_tree(world.workspace), stamps(world.workspace), stamps(baseline), world.store.memories.every()
    assert found(world) == []
    after = read_tree(world.workspace), stamps(world.workspace), stamps(baseline), world.store.memories.every()
    assert after == before


def test_a_state_without_memories_gives_no_finding(tmp_path: Path) -> None:
    """Before the first run there is nothing to complain of."""
    empty = World(tmp_path)
    assert found(empty) == []
    empty.close()


def test_what_the_person_writes_into_the_handbook_is_no_finding(world: World) -> None:
    """MEMORY.md is theirs to edit: lines added, rewritten and taken out."""
    lines = world.handbook.read_text(encoding="utf-8").split("\n")
    kept = [line for line in lines if "German" not in line]
    world.handbook.write_text("\n".join(["My own line.", *kept]).replace("make lint", "make fmt"), encoding="utf-8")
    assert found(world) == []


def test_a_line_without_its_memory_is_found_where_it_stands(world: World) -> None:
    """The line number is that of the file on disk, the person's own lines counted."""
    world.handbook.write_bytes(b"My own line.\n" + world.handbook.read_bytes())
    number = next(
        number for number, line in enumerate(world.handbook.read_bytes().split(b"\n"), 1) if b'"run make lint' in line
    )
    told = next(item for item in world.store.memories.every() if item.statement == LINT.statement)
    change(world, replace(told, status=MemoryStatus.RETIRED))
    assert found(world) == [(Rule.UNTRACED_LINE, f"MEMORY.md:{number}")]
    change(world, replace(told, statement="run make before a commit"))
    assert found(world) == [(Rule.OUTDATED_LINE, f"MEMORY.md:{number}")]


def change(world: World, *memories: object) -> None:
    """Store memories as they are, beside the curator."""
    number = world.store.memories.begin(owner="test", now=1.0)
    assert world.store.memories.commit(number, memories, [], [], now=1.0)  # type: ignore[arg-type]
    world.store.memories.finish(number, watermark=0.0, now=1.0)


@pytest.mark.parametrize("path", ["MEMORY.md", "memory_summary.md", "raw_memories.md", "summary"])
def test_a_missing_file_is_found(world: World, path: str) -> None:
    """Whatever was published has to be there."""
    path = summary_of(world) if path == "summary" else path
    (world.workspace / path).unlink()
    assert found(world) == [(Rule.MISSING_FILE, path)]


def test_a_handbook_that_was_never_published_is_missed(world: World) -> None:
    """There are memories, but neither a baseline nor a MEMORY.md."""
    (world.folder / "state" / "baseline").rename(world.folder / "elsewhere")
    world.workspace.rename(world.folder / "moved")
    assert found(world) == [(Rule.MISSING_FILE, "MEMORY.md")]


@pytest.mark.parametrize("path", ["memory_summary.md", "raw_memories.md", "summary"])
def test_a_changed_file_is_found(world: World, path: str) -> None:
    """Only MEMORY.md may differ from what was published."""
    path = summary_of(world) if path == "summary" else path
    content = (world.workspace / path).read_bytes()
    (world.workspace / path).write_bytes(content + b"\n")
    assert found(world) == [(Rule.CHANGED_FILE, path)]


def test_a_handbook_that_lost_most_lines_is_found(world: World) -> None:
    """That is damage, not an edit."""
    world.handbook.write_bytes(world.handbook.read_bytes()[:40])
    assert found(world) == [(Rule.CHANGED_FILE, "MEMORY.md")]


def test_a_summary_that_its_readers_refuse_is_found(world: World) -> None:
    """First line, size, and the scope of each line are looked at."""
    path = world.workspace / "memory_summary.md"
    lines = path.read_text(encoding="utf-8").split("\n")
    lines.insert(lines.index("## User preferences") + 1, f'- the user asked: "{LINT.statement}"')
    path.write_text("\n".join(["v2", *lines[1:], "x" * 9_999]), encoding="utf-8")
    places = [place for rule, place in found(world) if rule is Rule.BAD_SUMMARY]
    assert places == [f"memory_summary.md:{number}" for number in (1, 1, lines.index("## User preferences") + 2)]


def link(path: Path, elsewhere: Path) -> None:
    """Put a link in a file's place."""
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


def folder(path: Path, elsewhere: Path) -> None:
    """Put a folder in a file's place."""
    path.rename(elsewhere)
    path.mkdir()


def fifo(path: Path, elsewhere: Path) -> None:
    """Put a FIFO in a file's place."""
    path.rename(elsewhere)
    os.mkfifo(path)


@pytest.mark.parametrize("replace", [link, folder, fifo])
@pytest.mark.parametrize("name", ["MEMORY.md", "raw_memories.md"])
def test_what_is_no_file_of_ours_is_found(world: World, name: str, replace: Callable[[Path, Path], None]) -> None:
    """A link, a folder or a FIFO in the place of a file is told, and not read."""
    replace(world.workspace / name, world.folder / "elsewhere")
    assert found(world) == [(Rule.LINK, name)]


def test_a_linked_folder_is_found_and_not_entered(world: World) -> None:
    """Nothing below a link is looked at as ours."""
    path = world.workspace / "rollout_summaries"
    link(path, world.folder / "elsewhere")
    assert (Rule.LINK, "rollout_summaries") in found(world)


def test_a_foreign_file_among_ours_is_found(world: World) -> None:
    """A stranger among the summaries and what a killed run left are told; other folders are nobody's business."""
    (world.workspace / "rollout_summaries" / "notes.md").write_text("hello", encoding="utf-8")
    (world.workspace / ".memory-pipeline-abc").write_text("", encoding="utf-8")
    (world.workspace / "skills").mkdir()
    (world.workspace / "skills" / "SKILL.md").write_text("mine", encoding="utf-8")
    assert found(world) == [
        (Rule.FOREIGN_FILE, ".memory-pipeline-abc"),
        (Rule.FOREIGN_FILE, "rollout_summaries/notes.md"),
    ]


@pytest.mark.parametrize("name", ["memories/MEMORY.md", "state/memory.db", "state/baseline/manifest.json"])
def test_a_file_that_others_may_read_is_found(world: World, name: str) -> None:
    """Our files are for their owner alone, in the workspace and in the state folder."""
    (world.folder / name).chmod(0o644)
    assert found(world) == [(Rule.OPEN_MODE, str(world.folder / name))]


@pytest.mark.parametrize("name", ["MEMORY.md", "extensions/ad_hoc/notes/today.md"])
def test_a_secret_in_a_file_is_found_by_its_line(world: World, name: str) -> None:
    """What a person pasted into their files is told by place and kind, never by its words."""
    path = world.workspace / name
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_text(encoding="utf-8") if path.exists() else "note\n"
    path.write_text(f"{before}token {SECRET}\n", encoding="utf-8")
    findings = lint(world.config, world.store)
    number = before.count("\n") + 1
    assert [(item.rule, item.place) for item in findings] == [(Rule.SECRET, f"{name}:{number}")]
    assert SECRET not in str(findings)


def test_a_secret_that_spans_lines_is_found(world: World) -> None:
    """A private key has no line of its own that tells what it is."""
    key = "\n".join(["-----BEGIN PRIVATE KEY-----", *["FAKEfakeFAKEfake" * 4] * 4, "-----END PRIVATE KEY-----"])
    notes = world.workspace / "extensions" / "notes.md"
    notes.parent.mkdir()
    notes.write_text(f"a\nb\n{key}\n", encoding="utf-8")
    assert found(world) == [(Rule.SECRET, "extensions/notes.md:3")]


def test_a_file_too_large_to_search_is_told(world: World) -> None:
    """What was not looked through is not called clean; nothing of it is read."""
    notes = world.workspace / "extensions" / "dump.bin"
    notes.parent.mkdir()
    with notes.open("wb") as stream:
        stream.truncate(1 << 30)
    assert found(world) == [(Rule.SECRET, "extensions/dump.bin")]


def test_a_damaged_baseline_is_found(world: World) -> None:
    """Its manifest can't be read, or does not fit its copy of MEMORY.md."""
    manifest = world.folder / "state" / "baseline" / "manifest.json"
    whole = orjson.loads(manifest.read_bytes())
    manifest.write_bytes(orjson.dumps({**whole, "line_memories": whole["line_memories"][:-1]}))
    assert found(world) == [(Rule.BAD_BASELINE, "baseline")]
    manifest.write_bytes(b"{")
    assert (Rule.BAD_BASELINE, "baseline") in found(world)


def test_a_consolidation_that_was_not_published_is_found(world: World) -> None:
    """Its operations are committed, but no file shows them."""
    number = world.store.memories.begin(owner="test", now=1.0)
    assert world.store.memories.commit(number, [], [], [], now=1.0)
    assert found(world) == [(Rule.UNPUBLISHED, f"consolidation {number}")]
