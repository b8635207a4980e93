"""Finding rollouts: what is one, what is none, and each real file once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from memory_pipeline.records import Agent
from memory_pipeline.rollouts.discover import find_rollouts, home_problem

ONE = "11111111-aaaa-4bbb-8ccc-222222222222"
TWO = "33333333-aaaa-4bbb-8ccc-444444444444"


def touch(path: Path) -> Path:
    """Write an empty file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def found(agent: Agent, home: Path) -> list[tuple[str, str, bool]]:
    """Give path below the home, thread and archived flag of what is found."""
    base = os.path.realpath(home)
    return [
        (os.path.relpath(file.path, base), file.thread_id, file.archived) for file in find_rollouts(agent, str(home))
    ]


def test_codex_rollouts_are_found_in_dated_flat_and_archived_folders(tmp_path: Path) -> None:
    """Dated folders, flat sessions and the archive hold rollouts; the first uuid of the name is the thread."""
    dated = f"sessions/2026/01/02/rollout-2026-01-02T03-04-05-{ONE}_{TWO}.jsonl"
    flat = f"sessions/rollout-2026-01-02T03-04-05-{TWO}.jsonl"
    archived = f"archived_sessions/rollout-2025-01-02T03-04-05-{ONE.upper()}.jsonl.zst"
    for name in (dated, flat, archived, "sessions/notes.txt", "history.jsonl", "sessions/index.jsonl"):
        touch(tmp_path / name)
    assert found(Agent.CODEX, tmp_path) == [(dated, ONE, False), (flat, TWO, False), (archived, ONE, True)]


def test_of_two_twins_the_plain_one_wins(tmp_path: Path) -> None:
    """While a log is being compressed both files exist for a moment."""
    plain = touch(tmp_path / f"sessions/rollout-x-{ONE}.jsonl")
    touch(plain.with_name(plain.name + ".zst"))
    assert [name for name, _, _ in found(Agent.CODEX, tmp_path)] == [f"sessions/{plain.name}"]


def test_claude_transcripts_lie_directly_in_a_project(tmp_path: Path) -> None:
    """Sub-agents' logs, tool results and the memory folder are no transcripts."""
    for name in (
        f"projects/-work/{ONE}.jsonl",
        "projects/-work/agent-123.jsonl",
        f"projects/-work/{ONE}/subagents/agent-1.jsonl",
        f"projects/-work/{ONE}/tool-results/x.jsonl",
        "projects/-work/memory/MEMORY.md",
        "projects/stray.jsonl",
        "history.jsonl",
    ):
        touch(tmp_path / name)
    assert found(Agent.CLAUDE, tmp_path) == [(f"projects/-work/{ONE}.jsonl", ONE, False)]


def test_a_linked_home_and_linked_sessions_are_resolved(tmp_path: Path) -> None:
    """The home and its sessions may lie elsewhere; the paths are the real ones."""
    real = touch(tmp_path / f"disk/rollout-x-{ONE}.jsonl")
    (tmp_path / "home").mkdir()
    (tmp_path / "home/sessions").symlink_to(tmp_path / "disk")
    (tmp_path / "link").symlink_to(tmp_path / "home")
    files = list(find_rollouts(Agent.CODEX, str(tmp_path / "link")))
    assert [file.path for file in files] == [os.path.realpath(real)]


def test_links_out_of_the_home_loops_and_odd_files_are_passed_over(tmp_path: Path) -> None:
    """What leads out, what leads round and what is no regular file is not found, and nothing blocks."""
    home = tmp_path / "home"
    good = touch(home / f"sessions/2026/rollout-x-{ONE}.jsonl")
    outside = touch(tmp_path / f"secret/rollout-x-{TWO}.jsonl")
    (home / f"sessions/rollout-x-{TWO}.jsonl").symlink_to(outside)
    (home / "sessions/away").symlink_to(outside.parent)
    (home / "sessions/2026/loop").symlink_to(home / "sessions")
    (home / "sessions/nowhere").symlink_to("nowhere")
    os.mkfifo(home / f"sessions/rollout-fifo-{TWO}.jsonl")
    (home / f"sessions/rollout-folder-{TWO}.jsonl").mkdir()
    assert [file.path for file in find_rollouts(Agent.CODEX, str(home))] == [os.path.realpath(good)]


def test_one_real_file_is_found_once(tmp_path: Path) -> None:
    """A hard link, a link beside a log and a linked folder inside the sessions add nothing."""
    real = touch(tmp_path / f"sessions/2026/rollout-x-{ONE}.jsonl")
    os.link(real, tmp_path / f"sessions/rollout-hard-{ONE}.jsonl")
    (tmp_path / f"sessions/rollout-soft-{ONE}.jsonl").symlink_to(real)
    (tmp_path / "sessions/again").symlink_to(real.parent)
    assert len(found(Agent.CODEX, tmp_path)) == 1


def test_finding_opens_no_file(tmp_path: Path) -> None:
    """A log that may not be read is found all the same, with its size; its access time stays."""
    log = touch(tmp_path / f"sessions/rollout-x-{ONE}.jsonl")
    log.write_bytes(b"12345")
    log.chmod(0)
    (file,) = find_rollouts(Agent.CODEX, str(tmp_path))
    assert (file.size, file.mtime_ns, file.inode) == (5, log.stat().st_mtime_ns, log.stat().st_ino)


@pytest.mark.parametrize("agent", [Agent.CODEX, Agent.CLAUDE])
def test_a_missing_home_yields_nothing_and_is_explained(tmp_path: Path, agent: Agent) -> None:
    """There is a clear sentence for a missing home, and none for a good one."""
    missing = tmp_path / "missing"
    assert list(find_rollouts(agent, str(missing))) == []
    assert str(missing) in (home_problem(agent, str(missing)) or "")
    assert "not a folder" in (home_problem(agent, str(touch(tmp_path / "file"))) or "")
    assert home_problem(agent, str(tmp_path)) is None


class _Barred:
    """A name in a folder that may be listed, but not looked into."""

    def __init__(self, entry: os.DirEntry[str]) -> None:
        self.name, self.path = entry.name, entry.path
        self.is_dir = entry.is_dir
        self.is_symlink = entry.is_symlink

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Refuse."""
        raise PermissionError(13, "Permission denied")


def test_a_folder_whose_files_can_not_be_looked_at_is_told_once(tmp_path: Path) -> None:
    """Its names alone can be read: the sessions behind them are not seen, and one sentence says so."""
    for name in ("1", "2"):
        touch(tmp_path / "sessions" / f"rollout-2026-01-02T03-04-0{name}-{ONE}.jsonl")

    @contextmanager
    def scan(folder: str) -> Iterator[Any]:
        with os.scandir(folder) as entries:
            yield (_Barred(entry) for entry in entries)

    told: list[str] = []
    assert list(find_rollouts(Agent.CODEX, str(tmp_path), tell=told.append, scan=scan)) == []
    assert len(told) == 1
    assert f"{tmp_path}/sessions" in told[0]


@pytest.mark.parametrize("agent", [Agent.CODEX, Agent.CLAUDE])
def test_a_folder_that_can_not_be_listed_is_told_and_holds_up_nothing(tmp_path: Path, agent: Agent) -> None:
    """The sentence names it; what lies elsewhere is found. One that just vanished is no problem."""
    top = "sessions" if agent is Agent.CODEX else "projects"
    for name, thread in (("a-locked", ONE), ("b-gone", ONE), ("c-open", TWO)):
        touch(tmp_path / top / name / f"{thread}.jsonl")
    faults = {"a-locked": PermissionError(13, "Permission denied"), "b-gone": FileNotFoundError(2, "gone")}

    def scan(folder: str) -> Any:
        fault = faults.get(os.path.basename(folder))  # noqa: PTH119
        if fault is not None:
            raise fault
        return os.scandir(folder)

    told: list[str] = []
    files = list(find_rollouts(agent, str(tmp_path), tell=told.append, scan=scan))
    assert [file.thread_id for file in files] == [TWO]
    assert len(told) == 1
    assert f"{tmp_path}/{top}/a-locked" in told[0]
    assert "Permission denied" in told[0]
