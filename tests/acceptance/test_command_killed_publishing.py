"""kill -9 at each step of publishing: the next plain run makes everything as if nothing had happened."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import killed_consolidation
import pytest
from command import Machine, contents, rows_of, session
from rollout_logs import thread_id_of
from state_ends import end_of

STEPS = (
    "staged",
    "committed",
    "prepared",
    "wrote raw_memories.md",
    "wrote rollout_summaries/",
    "wrote memory_summary.md",
    "kept MEMORY.md",
    "wrote MEMORY.md",
    "wrote baseline",
    "looked again",
    "finished",
)
NOTE = "Ask Kim before touching the payment code."


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A machine whose sessions are extracted and not yet consolidated."""
    machine = Machine(tmp_path_factory.mktemp("first") / "machine")
    machine.configure()
    session(1, "From now on always run make lint before you commit.").write(machine.codex)
    session(2, "From now on always write commit messages in Latin.", cwd="/home/sam/web").write(machine.codex)
    session(3, "In all my projects, never use emojis in commit messages.", cwd="/home/sam/web").write(machine.codex)
    assert machine.run("--phase1", "--json").document["phase1"]["succeeded"] == 3
    return machine


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A machine that consolidated once; since then a thread came, one went, one grew, and the person wrote a note."""
    machine = Machine(tmp_path_factory.mktemp("second") / "machine")
    machine.configure()
    session(1, "From now on always run make lint before you commit.").write(machine.codex)
    session(2, "From now on always write commit messages in Latin.", cwd="/home/sam/web").write(machine.codex)
    session(3, "In all my projects, never use emojis in commit messages.").write(machine.codex)
    assert machine.run("run", "--json").document["phase2"]["outcome"] == "consolidated"
    handbook = machine.memories / "MEMORY.md"
    lines = handbook.read_text(encoding="utf-8").splitlines()
    lines.insert(4, NOTE)
    handbook.write_text("\n".join([*lines, NOTE.upper(), ""]), encoding="utf-8")
    session(4, "From now on always squash before merging.", age=timedelta(days=1)).write(machine.codex)
    session(1, "From now on always run make lint before you commit.", "From now on use pnpm.").write(machine.codex)
    machine.run("threads", "disable", thread_id_of(2))
    assert machine.run("--phase1", "--json").document["phase1"]["succeeded"] == 2
    return machine


@pytest.fixture(scope="module")
def first_end(first: Machine, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """How the first consolidation ends when nothing disturbs it."""
    return _undisturbed(first, tmp_path_factory.mktemp("first-end"))


@pytest.fixture(scope="module")
def second_end(second: Machine, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """How the later consolidation ends when nothing disturbs it."""
    return _undisturbed(second, tmp_path_factory.mktemp("second-end"))


@pytest.mark.parametrize("step", STEPS)
def test_a_first_consolidation_killed_at_any_step_is_mended(
    first: Machine, first_end: dict[str, Any], tmp_path: Path, step: str
) -> None:
    """Workspace, baseline and memories end as those of a run that was never killed."""
    assert _after_kill(first, tmp_path, step) == first_end


@pytest.mark.parametrize("step", STEPS)
def test_a_later_consolidation_killed_at_any_step_is_mended(
    second: Machine, second_end: dict[str, Any], tmp_path: Path, step: str
) -> None:
    """So it is when files are added, changed and removed, and what the person wrote into MEMORY.md stays, once."""
    ended = _after_kill(second, tmp_path, step)
    assert ended == second_end
    handbook = ended["workspace"]["MEMORY.md"].decode()
    assert handbook.count(NOTE) == 1
    assert handbook.count(NOTE.upper()) == 1
    assert "Latin" not in handbook
    assert "pnpm" in handbook


@pytest.mark.parametrize("step", ["committed", "wrote memory_summary.md", "wrote MEMORY.md"])
def test_what_the_person_writes_after_a_crash_survives_the_mending(second: Machine, tmp_path: Path, step: str) -> None:
    """An edit of MEMORY.md between the crash and the next run is as safe as one before it."""
    state = _copy(second, tmp_path / "killed")
    _consolidate_until(second, state, step)
    handbook = state / "memories" / "MEMORY.md"
    handbook.write_text(handbook.read_text(encoding="utf-8") + "A late thought.\n", encoding="utf-8")
    assert second.run("--state-dir", str(state), "run", "--json").code == 0
    told = handbook.read_text(encoding="utf-8")
    assert [told.count(words) for words in ("A late thought.", NOTE, NOTE.upper())] == [1, 1, 1]
    assert "pnpm" in told
    assert "Latin" not in told


@pytest.mark.parametrize("step", ["prepared", "kept MEMORY.md", "wrote MEMORY.md", "wrote baseline"])
def test_an_editor_that_was_saving_when_a_run_was_killed_loses_nothing(
    second: Machine, second_end: dict[str, Any], tmp_path: Path, step: str
) -> None:
    """It had opened the file before the run and writes after the crash, into whatever that file is by then."""
    state = _copy(second, tmp_path / "killed")
    handbook = state / "memories" / "MEMORY.md"
    with handbook.open("ab") as editor:
        _consolidate_until(second, state, step)
        editor.write(b"A late thought.\n")
    for _ in range(2):
        assert second.run("--state-dir", str(state), "run", "--json").code == 0
    told = handbook.read_text(encoding="utf-8")
    assert told.count("A late thought.\n") == 1
    assert told.replace("A late thought.\n", "").encode() == second_end["workspace"]["MEMORY.md"]
    assert second.run("--state-dir", str(state), "run", "--json").document["phase2"]["outcome"] == "no_changes"


def test_a_lost_baseline_loses_nothing_of_the_person(second: Machine, tmp_path: Path) -> None:
    """Without the copy of what was published last, everything is published anew, and the person's text stays."""
    state = _copy(second, tmp_path / "damaged")
    shutil.rmtree(state / "baseline")
    assert second.run("--state-dir", str(state), "run", "--json").document["phase2"]["outcome"] == "consolidated"
    told = (state / "memories" / "MEMORY.md").read_text(encoding="utf-8")
    assert NOTE in told
    assert NOTE.upper() in told
    assert "pnpm" in told
    assert second.run("--state-dir", str(state), "run", "--json").document["phase2"]["outcome"] == "no_changes"


def _undisturbed(machine: Machine, tmp_path: Path) -> dict[str, Any]:
    state = _copy(machine, tmp_path / "undisturbed")
    ran = machine.run("--state-dir", str(state), "run", "--json")
    assert (ran.code, ran.document["phase2"]["outcome"]) == (0, "consolidated")
    return _end_of(state)


def _after_kill(machine: Machine, tmp_path: Path, step: str) -> dict[str, Any]:
    state = _copy(machine, tmp_path / "killed")
    before = contents(state / "memories") if (state / "memories").exists() else {}
    _consolidate_until(machine, state, step)
    _check_files_are_whole(before, state / "memories")
    ran = machine.run("--state-dir", str(state), "run", "--json")
    assert (ran.code, ran.document["phase1"]["claimed"]) == (0, 0)
    assert ran.document["phase2"]["outcome"] in ("consolidated", "no_changes")
    assert machine.run("--state-dir", str(state), "run", "--json").document["phase2"]["outcome"] == "no_changes"
    return _end_of(state)


def _copy(machine: Machine, state: Path) -> Path:
    return Path(shutil.copytree(machine.state, state, copy_function=shutil.copy2))


def _consolidate_until(machine: Machine, state: Path, step: str) -> None:
    words = ("--config", str(machine.root / "config.toml"), "--state-dir", str(state), "--at", step)
    killed = machine.run_program(killed_consolidation.__file__, *words)
    assert killed.code == -9


def _check_files_are_whole(before: dict[str, bytes], workspace: Path) -> None:
    """Look at the workspace as the crash left it: each file is the old one or a new one, whole."""
    for name, content in contents(workspace).items() if workspace.exists() else ():
        assert content == before.get(name) or content.endswith(b"\n"), name
        if name == "memory_summary.md":
            assert content.startswith(b"v1\n")


def _end_of(state: Path) -> dict[str, Any]:
    jobs = rows_of(state / "memory.db", "SELECT thread_id, state, attempts FROM jobs ORDER BY thread_id")
    return {**end_of(state), "jobs": jobs}
