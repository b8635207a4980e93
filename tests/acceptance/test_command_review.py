"""Drafts reviewed on a real terminal, by two at once, and beside a run: no decision is lost."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from command import Machine, session
from terminal import Terminal

LINT = "From now on always run make lint before you commit."
SQUASH = "From now on never squash before merging."
TICKET = "From now on name every branch after its ticket."


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine with three drafts that wait, since nothing passes without a person."""
    made = Machine(tmp_path / "machine")
    made.configure(review={"mode": "manual"})
    for number, rule in enumerate((LINT, SQUASH, TICKET), start=1):
        session(number, f"Mend the cart. {rule}", cwd=f"/home/sam/p{number}").write(made.codex)
    made.run("run", "--json")
    return made


def drafts(machine: Machine) -> dict[str, dict[str, Any]]:
    """All drafts, by id."""
    listed = machine.run("drafts", "list", "--all", "--json").document["drafts"]
    return {draft["entry_id"]: draft for draft in listed if draft["kind"] != "knowledge"}


def statuses(machine: Machine) -> list[str]:
    """What is decided, sorted."""
    return sorted(draft["review_status"] for draft in drafts(machine).values())


def test_a_terminal_goes_through_review_undo_quit_and_resume(machine: Machine) -> None:
    """Every key does what it says, and the next sitting goes on where this one ended."""
    with Terminal(machine, "drafts", "review") as terminal:
        terminal.wait_for("3 to review")
        terminal.press("a")
        terminal.wait_for("2 to review")
        assert statuses(machine) == ["approved", "pending", "pending"]  # stored before anything else happens
        terminal.press("u")
        terminal.wait_for("Undone")
        terminal.wait_for("3 to review")
        terminal.press("a")
        terminal.wait_for("2 to review")
        terminal.press("nask Kim\r")
        terminal.wait_for("Note: ask Kim")
        terminal.press("o")
        terminal.wait_for("verified")
        terminal.press("q")
        assert terminal.end() == 0
        assert "Decided: 1 approved; 2 drafts wait for you" in terminal.raw
        assert terminal.modes_now() == terminal.modes
    with Terminal(machine, "drafts", "review", columns=60) as terminal:
        assert "Note: ask Kim" in terminal.wait_for("2 to review")
        terminal.press("r")
        terminal.wait_for("1 to review")
        terminal.press("d")
        terminal.wait_for("No draft is left to review")
        terminal.press("q")
        assert terminal.end() == 0
    assert statuses(machine) == ["approved", "deferred", "rejected"]
    machine.run("run", "--json")
    (told,) = machine.memory_list()
    (approved,) = [draft for draft in drafts(machine).values() if draft["review_status"] == "approved"]
    assert told["statement"] == approved["statement"]


def test_ctrl_c_leaves_the_terminal_as_it_was_and_what_was_decided_stays(machine: Machine) -> None:
    """Echo and lines are back, the screen is left, and the exit code tells of the interruption."""
    with Terminal(machine, "drafts", "review") as terminal:
        terminal.wait_for("3 to review")
        terminal.press("a")
        terminal.wait_for("2 to review")
        assert terminal.modes_now() != terminal.modes
        terminal.press("\x03")
        assert terminal.end() == 130
        assert terminal.modes_now() == terminal.modes
        assert terminal.raw.count("\x1b[?1049l") == terminal.raw.count("\x1b[?1049h") == 1
    assert statuses(machine) == ["approved", "pending", "pending"]


def test_ctrl_z_leaves_the_terminal_to_the_shell_and_fg_takes_it_again(machine: Machine) -> None:
    """Stopped twice, each time the terminal is the shell's as it was; the same draft is shown again, and keys work."""
    with Terminal(machine, "drafts", "review", in_shell=True) as terminal:
        terminal.wait_for("3 to review")
        terminal.press("a")
        terminal.wait_for("2 to review")
        reviewing = terminal.modes_now()
        for times in (1, 2):
            terminal.press("\x1a")
            terminal.wait_for("[stopped]")
            assert terminal.modes_now() == terminal.modes
            assert terminal.raw.count("\x1b[?1049l") == terminal.raw.count("\x1b[?1049h") == times
            terminal.press("fg\n")
            terminal.wait_until_gone("[stopped]")
            terminal.wait_for("2 to review")
            assert terminal.modes_now() == reviewing
        terminal.press("r")
        terminal.wait_for("1 to review")
        terminal.press("q")
        assert terminal.end() == 0
        assert terminal.modes_now() == terminal.modes
    assert statuses(machine) == ["approved", "pending", "rejected"]


def test_a_note_that_is_being_written_outlives_ctrl_z(machine: Machine) -> None:
    """What was typed stands there again."""
    with Terminal(machine, "drafts", "review", in_shell=True) as terminal:
        terminal.wait_for("3 to review")
        terminal.press("nask")
        terminal.wait_for("ask▏")
        terminal.press("\x1a")
        terminal.wait_for("[stopped]")
        terminal.press("fg\n")
        terminal.wait_until_gone("[stopped]")
        terminal.wait_for("ask▏")
        terminal.press(" Kim\r")
        terminal.wait_for("Note: ask Kim")
        terminal.press("q")
        assert terminal.end() == 0


def test_a_window_of_another_size_is_drawn_anew(machine: Machine) -> None:
    """At once and for the new width: no line is wider than the window, and the keys stand at its foot."""
    with Terminal(machine, "drafts", "review", columns=110) as terminal:
        terminal.wait_for("3 to review")
        terminal.wait_for("[q]uit")
        shown = terminal.wait_for("[?] help")
        assert " │ " not in shown
        assert "[?] help" in next(line for line in shown.splitlines() if "[q]uit" in line)
        terminal.resize(columns=44, lines=30)
        shown = terminal.wait_for("[a]pprove  [r]eject  [d]efer  [n]ote  [s]kip\n")
        assert max(map(len, shown.splitlines())) <= 44
        terminal.press("q")
        assert terminal.end() == 0


def test_a_review_tells_of_drafts_that_another_tool_wrote(machine: Machine) -> None:
    """Behind the screen, where it can be read, with the way to import them."""
    theirs = machine.state / "memory-drafts" / "other-1.json"
    theirs.write_text('{"session_id": "other-1", "draft_entries": [{"id": "d1", "statement": "Tag."}]}')
    with Terminal(machine, "drafts", "review", columns=400) as terminal:
        terminal.wait_for("3 to review")
        terminal.press("q")
        assert terminal.end() == 0
        assert "1 drafts that another tool wrote about session other-1" in terminal.raw
        assert "packet import" in terminal.raw


def test_a_lost_terminal_ends_the_review_and_loses_nothing(machine: Machine) -> None:
    """The window is closed in the middle of a note: what was decided before is stored, the note is not."""
    with Terminal(machine, "drafts", "review") as terminal:
        terminal.wait_for("3 to review")
        terminal.press("r")
        terminal.wait_for("2 to review")
        terminal.press("nhalf a no")
        terminal.wait_for("half a no")
        assert terminal.hang_up() in {0, 1, 130}
    assert statuses(machine) == ["pending", "pending", "rejected"]
    assert all(not draft["review_note"] for draft in drafts(machine).values())


def test_of_two_reviewers_the_first_wins_and_the_other_is_told(machine: Machine) -> None:
    """Both look at the same draft; what the first decided is not overwritten."""
    with Terminal(machine, "drafts", "review") as one, Terminal(machine, "drafts", "review") as other:
        for terminal in (one, other):
            terminal.wait_for("3 to review")
        one.press("a")
        one.wait_for("2 to review")
        other.press("r")
        other.wait_for("it was approved elsewhere")
        other.press("r")
        other.wait_for("1 to review")
        for terminal in (one, other):
            terminal.press("q")
            assert terminal.end() == 0
    assert statuses(machine) == ["approved", "pending", "rejected"]


def test_a_run_during_a_review_takes_in_what_passed_and_disturbs_nothing(machine: Machine) -> None:
    """What the person decides after the run is stored as before it, and the next run takes it in."""
    with Terminal(machine, "drafts", "review") as terminal:
        terminal.wait_for("3 to review")
        terminal.press("a")
        terminal.wait_for("2 to review")
        session(4, "Mend the cart. From now on write tests first.", cwd="/home/sam/p4").write(machine.codex)
        machine.run("run", "--json")
        assert len(machine.memory_list()) == 1
        terminal.press("a")
        terminal.wait_for("Approved")
        terminal.wait_for("2 to review")  # the run brought a fourth
        terminal.press("q")
        assert terminal.end() == 0
    assert statuses(machine) == ["approved", "approved", "pending", "pending"]
    machine.run("run", "--json")
    assert len(machine.memory_list()) == 2


def test_many_decisions_at_once_and_runs_beside_them_are_all_kept(machine: Machine) -> None:
    """Each by a process of its own, as two people with scripts would: every one is in the log of its draft."""
    for number in range(4, 10):
        rule = f"Mend the cart. From now on always run task number-{number} before you commit."
        session(number, rule, cwd=f"/home/sam/p{number}").write(machine.codex)
    machine.run("run", "--json")
    ids = list(drafts(machine))
    assert len(ids) == 9
    calls = [("drafts", "approve" if n % 2 else "reject", "--entry", name) for n, name in enumerate(ids)]
    calls += [("drafts", "note", "--entry", name, "--note", f"seen {name}") for name in ids[:3]]
    calls += [("run", "--phase2"), ("run",)]
    with ThreadPoolExecutor(4) as pool:
        ran = list(pool.map(lambda words: machine.run(*words, "--json"), calls))
    assert [one.code for one in ran[:12]] == [0] * 12
    found = drafts(machine)
    for n, name in enumerate(ids):
        assert found[name]["review_status"] == ("approved" if n % 2 else "rejected")
    assert [found[name]["review_note"] for name in ids[:3]] == [f"seen {name}" for name in ids[:3]]
    machine.run("run", "--json")
    assert {told["statement"] for told in machine.memory_list() if told["status"] == "active"} == {
        found[name]["statement"] for n, name in enumerate(ids) if n % 2
    }


def test_a_review_that_is_killed_loses_no_decision(machine: Machine) -> None:
    """SIGKILL leaves no chance to store anything: all was stored before."""
    with Terminal(machine, "drafts", "review") as terminal:
        terminal.wait_for("3 to review")
        terminal.press("ar")
        terminal.wait_for("1 to review")
        terminal.send(signal.SIGKILL)
        assert terminal.end() == -signal.SIGKILL
    assert statuses(machine) == ["approved", "pending", "rejected"]
