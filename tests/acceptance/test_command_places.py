"""Places that can't be used: each gives one clear line, the right exit code, and no traceback."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from pathlib import Path

import pytest
from command import Machine, contents, rows_of, session
from rollout_logs import thread_id_of

RULE = "From now on always run make lint before you commit."


def test_who_uses_one_agent_hears_nothing_of_the_other(machine: Machine) -> None:
    """The default home of an agent that was never installed is no problem while the other one has logs."""
    session(1, RULE).write(machine.codex)
    machine.claude.rmdir()
    ran = machine.run("run", "--json")
    assert (ran.code, ran.document["phase1"]["succeeded"], ran.err) == (0, 1, "")


def test_a_missing_home_is_told_and_the_other_is_read(machine: Machine) -> None:
    """A home that someone named and that is not there gives one line with its key; the run ends well."""
    machine.configure(sources={"claude": {"home": "nowhere"}})
    session(1, RULE).write(machine.codex)
    ran = machine.run("run", "--json")
    assert (ran.code, ran.document["phase1"]["succeeded"]) == (0, 1)
    assert str(machine.root / "nowhere") in ran.complaint
    assert "sources.claude.home" in ran.complaint


def test_no_home_at_all_is_told_for_each(machine: Machine) -> None:
    """On a machine with neither agent each missing home gets its line."""
    machine.codex.rmdir()
    machine.claude.rmdir()
    ran = machine.run("run", "--json")
    assert (ran.code, len(ran.err.splitlines())) == (0, 2)


def test_a_variable_that_names_a_missing_home_is_told(machine: Machine) -> None:
    """CODEX_HOME at nothing gives one line that names it, and the run ends well."""
    missing = machine.root / "nowhere"
    ran = machine.run("run", "--json", env={"CODEX_HOME": str(missing)})
    assert (ran.code, ran.document["phase1"]["discovered"], ran.document["phase2"]["outcome"]) == (0, 0, "no_inputs")
    assert str(missing) in ran.complaint
    assert not missing.exists()


def test_a_home_that_is_a_file_or_a_broken_link_is_told(machine: Machine) -> None:
    """What can't be a home is named with its reason."""
    broken, file = machine.root / "broken", machine.root / "file"
    broken.symlink_to(machine.root / "gone")
    file.write_text("not a folder", encoding="utf-8")
    machine.configure(sources={"codex": {"home": str(broken)}, "claude": {"home": str(file)}})
    ran = machine.run("run", "--json")
    assert ran.code == 0
    first, second = ran.err.splitlines()
    assert str(broken) in first
    assert "link" in first
    assert str(file) in second
    assert "not a folder" in second


def test_homes_without_logs_are_well(machine: Machine) -> None:
    """Nothing to do is done: no inputs, exit code 0, no file in the workspace."""
    ran = machine.run("run", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert (ran.document["phase1"]["discovered"], ran.document["phase2"]["outcome"]) == (0, "no_inputs")
    assert not machine.memories.exists()
    assert machine.run("threads", "list", "--json").document == []
    assert machine.run("memory", "list", "--json").document == []


def test_a_session_folder_that_is_a_link_is_read_once(machine: Machine) -> None:
    """A home on another disk, linked, and a loop inside it give one thread for each real file."""
    elsewhere = machine.root / "disk"
    session(1, RULE).write(elsewhere)
    (machine.codex / "sessions").symlink_to(elsewhere / "sessions")
    (elsewhere / "sessions" / "loop").symlink_to(elsewhere / "sessions")
    ran = machine.run("run", "--json")
    assert (ran.document["phase1"]["discovered"], ran.document["phase1"]["succeeded"]) == (1, 1)


@pytest.mark.parametrize(
    "words",
    [("run", "--json"), ("memory", "list", "--json"), ("threads", "list", "--json"), ("scan", "--json"), ("daemon",)],
)
def test_a_file_in_place_of_the_state_folder_is_one_line(machine: Machine, words: tuple[str, ...]) -> None:
    """The line names the place and what is wrong; the exit code is 1; the file stays as it is."""
    machine.state.write_text("in the way", encoding="utf-8")
    ran = machine.run(*words)
    assert ran.code == 1
    assert str(machine.state) in ran.complaint
    assert machine.state.read_text(encoding="utf-8") == "in the way"


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is a place where nobody, root included, can make a folder")
def test_a_state_folder_that_can_not_be_made_is_one_line(machine: Machine) -> None:
    """A read-only place is named, with exit code 1."""
    ran = machine.run("--state-dir", "/proc/memory-pipeline", "run", "--json")
    assert ran.code == 1
    assert "/proc/memory-pipeline" in ran.complaint


@pytest.mark.skipif(os.geteuid() == 0, reason="root ignores modes")
def test_a_state_folder_without_permission_to_write_is_one_line(machine: Machine) -> None:
    """So is a folder whose mode forbids writing."""
    machine.state.mkdir(mode=0o500)
    ran = machine.run("run", "--json")
    assert ran.code == 1
    assert str(machine.state) in ran.complaint


@pytest.mark.parametrize(
    "content", [b"this is no database, whatever its name says " * 40, b"SQLite format 3\0" + b"\0" * 9000]
)
def test_a_database_that_is_none_is_set_aside_and_told(machine: Machine, content: bytes) -> None:
    """One line says what was done; the file is kept as it was; memories and MEMORY.md are as before."""
    session(1, RULE).write(machine.codex)
    machine.run("run", "--json")
    memories, listed = contents(machine.memories), machine.memory_list()
    machine.database.write_bytes(content)
    ran = machine.run("run", "--json")
    assert ran.code == 0
    assert f"{machine.database}: the database was damaged" in ran.complaint
    assert contents(machine.memories) == memories
    assert machine.memory_list() == listed
    assert [path.read_bytes() for path in machine.state.glob("set-aside/*/memory.db")] == [content]


def test_a_folder_in_place_of_the_database_is_one_line(machine: Machine) -> None:
    """The line names it, with exit code 1."""
    machine.database.mkdir(parents=True)
    ran = machine.run("run", "--json")
    assert (ran.code, str(machine.database) in ran.complaint) == (1, True)


def test_a_database_of_a_newer_program_is_refused(machine: Machine) -> None:
    """The line says to update the program; nothing is changed."""
    machine.run("scan")
    connection = sqlite3.connect(machine.database)
    connection.execute("PRAGMA user_version = 99999")
    connection.close()
    ran = machine.run("threads", "list", "--json")
    assert ran.code == 1
    assert "newer" in ran.complaint


@pytest.mark.parametrize("broken", ["file", "link", "below a file"])
def test_a_workspace_that_can_not_be_used_fails_phase_two_alone(machine: Machine, broken: str) -> None:
    """What was extracted stays; the outcome is failed, exit code 1; once the place is mended the next run publishes."""
    session(1, RULE).write(machine.codex)
    in_the_way = machine.root / "words"
    machine.configure(memories_dir=str(in_the_way / "memories" if broken == "below a file" else in_the_way))
    if broken == "link":
        in_the_way.symlink_to(machine.root / "gone" / "gone")
    else:
        in_the_way.write_text("in the way", encoding="utf-8")
    ran = machine.run("run", "--json")
    assert (ran.code, ran.document["phase1"]["succeeded"], ran.document["phase2"]["outcome"]) == (1, 1, "failed")
    assert [line for line in ran.err.splitlines() if str(in_the_way) not in line] == []
    in_the_way.unlink()
    # A failing consolidation waits, so that a fault that stays is not run into every time.
    after = machine.run("run", "--json")
    assert (after.code, after.document["phase2"]["outcome"]) in ((0, "cooldown"), (0, "consolidated"))


def test_a_failed_consolidation_leaves_everything_as_it_was(machine: Machine) -> None:
    """Published files and baseline stay, nothing is left in between, and a run until the next try reports cooldown."""
    session(1, RULE).write(machine.codex)
    machine.run("run", "--json")
    session(2, "From now on always write commit messages in Latin.").write(machine.codex)
    before = contents(machine.memories), contents(machine.state / "baseline")
    in_the_way = machine.state / "staging"
    in_the_way.write_text("in the way", encoding="utf-8")
    ran = machine.run("run", "--json")
    assert (ran.code, ran.document["phase2"]["outcome"]) == (1, "failed")
    assert str(in_the_way) in ran.err
    assert (contents(machine.memories), contents(machine.state / "baseline")) == before
    again = machine.run("run", "--json")
    assert (again.code, again.document["phase2"]["outcome"]) == (0, "cooldown")
    assert "next try" in again.complaint
    last = machine.run("status", "--json").document["last_consolidation"]
    assert last["last_state"] == "failed"
    assert last["retry_at"].endswith("Z")


def test_the_bundled_samples_show_what_the_program_can_do(machine: Machine) -> None:
    """With bare homes, `run --samples if-empty` finds memories in both agents' invented sessions, from any folder."""
    for home in (machine.codex, machine.claude):
        shutil.rmtree(home)
    ran = machine.run("run", "--samples", "if-empty", "--json")
    assert (ran.code, ran.document["phase2"]["outcome"]) == (0, "consolidated")
    assert "sample sessions" in ran.err
    state = machine.state / "samples"
    told = {path.name: path.read_text(encoding="utf-8") for path in (state / "memories").glob("*.md")}
    assert told["memory_summary.md"].startswith("v1\n\n## User Profile\n")
    assert told["MEMORY.md"].startswith("# Task Group: ")
    for heading in ("## User preferences", "## Reusable knowledge", "## Failures and how to do differently"):
        assert heading in told["MEMORY.md"]
    agents = {agent for (agent,) in rows_of(state / "memory.db", "SELECT DISTINCT agent FROM threads")}
    assert agents == {"codex", "claude"}
    assert machine.threads() == {}
    again = machine.run("run", "--samples", "if-empty", "--json")
    assert again.document["phase2"]["outcome"] == "no_changes"


def test_own_logs_win_over_the_samples(machine: Machine) -> None:
    """As soon as there is a session of the person's own, the samples are not looked at."""
    session(1, RULE).write(machine.codex)
    machine.run("run", "--samples", "if-empty")
    assert machine.threads().keys() == {thread_id_of(1)}


def test_a_reader_that_has_seen_enough_is_no_error(machine: Machine) -> None:
    """`memory-pipeline threads list | head -1` shows no traceback."""
    for number in range(1, 30):
        session(number, RULE).write(machine.codex)
    machine.run("scan")
    read, write = os.pipe()
    os.close(read)
    with machine.start("threads", "list", "--json", out=write) as running:
        os.close(write)
        ran = running.wait()
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_full_disk_behind_standard_output_is_one_line(machine: Machine) -> None:
    """Output that can't be written is a failure, told in one line."""
    machine.run("scan")
    full = os.open("/dev/full", os.O_WRONLY)
    with machine.start("threads", "list", "--json", out=full) as running:
        os.close(full)
        ran = running.wait()
    assert ran.code == 1
    assert "No space left" in ran.complaint


def test_two_state_folders_on_one_workspace_are_told_apart(machine: Machine) -> None:
    """Whatever would write there is refused and names both ways out; the one that takes over refuses the first."""
    session(1, RULE).write(machine.codex)
    machine.configure(memories_dir="shared/memories")
    assert machine.run("run", "--json").code == 0
    workspace, second = machine.root / "shared" / "memories", machine.root / "second"
    before = contents(workspace)
    assert machine.run("--state-dir", str(second), "run", "--phase1", "--json").code == 0
    for words in (
        ("run", "--json"),
        ("run", "--phase2", "--json"),
        ("memory", "add", "Answer in English", "--json"),
        ("forget", "--thread", thread_id_of(1), "--yes", "--json"),
    ):
        ran = machine.run("--state-dir", str(second), *words)
        assert (ran.code, contents(workspace) == before) == (2, True), words
        for told in (str(machine.state), "--state-dir", "memories_dir", "run --adopt"):
            assert told in ran.complaint
    assert machine.run("--state-dir", str(second), "status", "--json").code == 0
    assert machine.run("run", "--json").document["phase2"]["outcome"] == "no_changes"
    session(2, "From now on always answer in English.").write(machine.codex)
    taken_over = machine.run("--state-dir", str(second), "run", "--adopt", "--json")
    assert (taken_over.code, taken_over.document["phase2"]["outcome"]) == (0, "consolidated")
    assert machine.run("--state-dir", str(second), "run", "--json").document["phase2"]["outcome"] == "no_changes"
    assert machine.run("run", "--json").code == 2


def test_a_state_folder_that_was_moved_keeps_its_workspace(machine: Machine) -> None:
    """Nothing is refused, and nothing changes."""
    session(1, RULE).write(machine.codex)
    machine.configure(memories_dir="shared/memories")
    assert machine.run("run", "--json").code == 0
    before = contents(machine.root / "shared")
    moved = machine.state.rename(machine.root / "moved")
    ran = machine.run("--state-dir", str(moved), "run", "--json")
    assert (ran.code, ran.document["phase2"]["outcome"]) == (0, "no_changes")
    assert contents(machine.root / "shared") == before
