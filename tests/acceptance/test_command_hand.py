"""What a person does to the memories, by file and by command, with the real program."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from command import Machine, session

from memory_pipeline.lock import os_lock
from memory_pipeline.phase2.places import workspace_lock_path

RULE = "From now on always run make lint before you commit."


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine that remembers one rule of a project."""
    made = Machine(tmp_path / "machine")
    made.configure()
    session(1, RULE).write(made.codex)
    made.run("run", "--json")
    return made


def statements(machine: Machine, status: str = "active") -> dict[str, str]:
    """Statement -> id of the memories of one status."""
    return {one["statement"]: one["memory_id"] for one in machine.memory_list() if one["status"] == status}


def test_a_memory_is_added_worded_anew_pinned_taken_out_and_brought_back(machine: Machine) -> None:
    """Each command holds at once, in the list and in MEMORY.md, and answers with one document."""
    added = machine.run("memory", "add", "Never use emojis", "--scope", "user", "--json").document
    assert (added["applied"], added["memory"]["scope"], added["memory"]["pinned"]) == (True, "user", True)
    name = added["memory"]["memory_id"]
    assert "- Never use emojis (" in machine.handbook()
    edited = machine.run("memory", "edit", name[:8], "Never use emojis in commits", "--json").document
    assert edited["memory"]["memory_id"] == name
    assert "- Never use emojis in commits (" in machine.handbook()
    assert not machine.run("memory", "pin", name, "--off", "--json").document["memory"]["pinned"]
    assert machine.run("memory", "pin", name, "--json").document["memory"]["pinned"]
    retired = machine.run("memory", "retire", name, "--json").document
    assert retired["memory"]["status"] == "retired"
    assert "emojis" not in machine.handbook()
    assert machine.run("memory", "restore", name, "--json").document["memory"]["status"] == "active"
    assert "emojis" in machine.handbook()
    assert machine.run("run", "--json").document["phase2"]["outcome"] == "no_changes"
    history = machine.run("memory", "history", name, "--json").document["history"]
    assert [one["operation"] for one in history if one["operation"] != "merge"] == [
        *("add", "pin", "reword", "unpin", "pin", "retire", "restore"),
    ]
    assert all(one["actor"] == "person" and one["reason"] for one in history)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("add", "x" * 400), "at most 300 characters"),
        (("add", "# a heading"), "can't be a memory"),
        (("add", ""), "can't be a memory"),
        (("add", "fine", "--scope", "shop"), "project:shop"),
        (("edit", "m_nothing", "fine"), "there is no memory m_nothing"),
        (("undo", "99"), "can't be undone"),
        (("diff", "99"), "there is no consolidation 99"),
    ],
)
def test_what_can_not_be_is_refused_with_what_to_do(machine: Machine, words: tuple[str, ...], told: str) -> None:
    """Exit 2, one line, nothing written."""
    journal = machine.state / "journal.jsonl"
    ran = machine.run("memory", *words)
    assert ran.code == 2
    assert told in ran.complaint
    assert not journal.exists()


def test_a_secret_typed_into_a_memory_is_masked(machine: Machine) -> None:
    """It reaches no file."""
    token = "ghp_" + "a1B2" * 9
    machine.run("memory", "add", f"The deploy token is {token}", "--scope", "user")
    for path in machine.state.rglob("*"):
        assert not path.is_file() or token.encode() not in path.read_bytes()


def test_an_edit_of_the_file_is_shown_before_it_counts_and_undone_after(machine: Machine) -> None:
    """`memory diff` tells what the next run would take in; `memory undo` takes it back, and it stays back."""
    handbook = machine.memories / "MEMORY.md"
    before = handbook.read_bytes()
    text = handbook.read_text(encoding="utf-8").rstrip("\n")
    handbook.write_text(f"{text}\n- squash before merging\n", encoding="utf-8")
    (change,) = machine.run("memory", "diff", "--json").document["memories"]
    assert (change["change"], change["after"]["statement"]) == ("added", "squash before merging")
    assert "squash before merging" not in statements(machine)
    assert machine.run("run", "--json").document["phase2"]["outcome"] == "consolidated"
    assert "squash before merging" in statements(machine)
    listed = machine.run("memory", "history", "--json").document
    assert [one["kind"] for one in listed] == ["run", "run"]
    undone = machine.run("memory", "undo", "--json").document
    assert [one["change"] for one in undone["memories"]] == ["removed"]
    assert handbook.read_bytes() == before
    session(2, "From now on write tests first.", age=timedelta(days=1)).write(machine.codex)
    machine.run("run", "--json")
    assert "squash before merging" in statements(machine, "retired")
    assert "squash" not in machine.handbook()
    since = machine.run("memory", "diff", str(listed[-1]["consolidation"]), "--json").document["memories"]
    assert [one["after"]["statement"] for one in since] == ["From now on write tests first"]
    for words in (("diff",), ("history",), ("diff", "1"), ("undo",)):
        assert machine.run("memory", *words).code == 0


def test_every_line_of_the_journal_is_one_document_and_private(machine: Machine) -> None:
    """Other programs may read it; other people may not."""
    machine.run("memory", "add", "Never use emojis", "--scope", "user")
    journal = machine.state / "journal.jsonl"
    (line,) = journal.read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["statement"] == "Never use emojis"
    assert journal.stat().st_mode & 0o777 == 0o600
    thread = machine.threads()["journal"]
    assert (thread["agent"], thread["state"], thread["gate"]) == ("journal", "done", None)
    shown = machine.run("threads", "show", "journal", "--json").document
    assert shown["entries"][0]["evidence"][0]["speaker"] == "user"
    why = machine.run("memory", "why", "never use emojis", "--json").document
    (evidence,) = why["memories"][0]["entries"][0]["evidence"]
    assert evidence["state"] == "verified"


def test_a_deed_is_written_down_while_another_run_holds_the_workspace(machine: Machine) -> None:
    """The command says so, does not ask to be repeated, and the next run takes the deed in."""
    with os_lock(workspace_lock_path(machine.memories), purpose="a test"):
        ran = machine.run("memory", "add", "use uv", "--scope", "user")
    assert ran.code == 0
    assert "written down" in ran.err
    assert "try again" not in ran.err
    machine.run("run")
    assert "use uv" in statements(machine)


def test_what_stands_in_the_place_of_the_handbook_is_told_apart(machine: Machine) -> None:
    """A link is replaced and what it named is left; a folder is left, and the message says what to do."""
    handbook, elsewhere = machine.memories / "MEMORY.md", machine.root / "elsewhere.md"
    handbook.rename(elsewhere)
    handbook.symlink_to(elsewhere)
    before = elsewhere.read_bytes()
    ran = machine.run("memory", "add", "use uv", "--scope", "user")
    assert ran.code == 0
    assert "no file of its own" in ran.err
    assert elsewhere.read_bytes() == before
    assert "use uv" in machine.handbook()
    handbook.unlink()
    handbook.mkdir()
    ran = machine.run("run")
    assert ran.code == 1
    assert "is a folder" in ran.err
    assert "move it elsewhere" in ran.err
    assert handbook.is_dir()
