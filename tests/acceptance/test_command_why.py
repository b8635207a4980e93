"""What ``memory why`` tells a person: the memory whole, and whether the log still says it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
import zstandard
from command import Machine, below, session

LINT = "From now on always run make lint before you commit."
SQUASH = "From now on never squash before merging."
SECRET = "sk-proj-" + "Fake" * 12


def stay(_: Path) -> None:
    """Leave the log as it is."""


def go(log: Path) -> None:
    """Delete the log, as the agents do by themselves."""
    log.unlink()


def change_one_byte(log: Path) -> None:
    """Change one letter of the rule."""
    log.write_bytes(log.read_bytes().replace(b"make lint", b"make lent"))


def compress(log: Path) -> None:
    """Compress the log, as Codex does with old ones."""
    log.with_name(f"{log.name}.zst").write_bytes(zstandard.ZstdCompressor().compress(log.read_bytes()))
    log.unlink()


def archive(log: Path) -> None:
    """Move the log to the archive."""
    home = next(parent for parent in log.parents if parent.name == "sessions").parent
    (home / "archived_sessions").mkdir()
    log.rename(home / "archived_sessions" / log.name)


def evidence_of(machine: Machine, query: str) -> dict[str, object]:
    """Ask why, and take the one piece of evidence of the one memory."""
    (memory,) = machine.run("memory", "why", query, "--json").document["memories"]
    ((evidence,),) = (entry["evidence"] for entry in memory["entries"])
    return dict(evidence)


@pytest.mark.parametrize("is_known", [False, True], ids=["at once", "after the next run"])
@pytest.mark.parametrize(
    ("befalls", "state"),
    [(stay, "verified"), (go, "gone"), (change_one_byte, "changed"), (compress, "verified"), (archive, "verified")],
)
def test_evidence_is_read_back_whatever_befell_the_log(
    machine: Machine, befalls: Callable[[Path], None], state: str, is_known: bool
) -> None:
    """The words are told in each case; whether they still stand in the log is told beside them."""
    log = session(1, f"Mend the cart. {LINT}").write(machine.codex)
    machine.run("run", "--json")
    befalls(log)
    if is_known and befalls is not change_one_byte:  # then the rule itself would be another
        machine.run("run", "--json")
    evidence = evidence_of(machine, "make lint")
    assert (evidence["state"], evidence["speaker"]) == (state, "user")
    assert LINT.removesuffix(".") in str(evidence["words"])
    assert (evidence["found_at"] is not None) is (state == "verified")


def test_a_line_pasted_from_the_handbook_leads_to_its_memory(machine: Machine) -> None:
    """The line as it stands, with its list mark, date and task mark, finds the memory and its history."""
    session(1, LINT).write(machine.codex)
    machine.run("run", "--json")
    (line,) = [line for line in machine.handbook().splitlines() if "make lint" in line and "the user asked" in line]
    assert line.startswith("- ")
    document = machine.run("memory", "why", line, "--json").document
    (memory,) = document["memories"]
    assert document["query"] == line
    assert "make lint" in memory["statement"]
    assert [(done["operation"], done["reason"]) for done in memory["history"]] == [("add", "new")]
    listed = machine.memory_list()[0]
    assert {name: memory[name] for name in listed if name != "entries"} == {
        name: value for name, value in listed.items() if name != "entries"
    }
    assert [entry["entry_id"] for entry in memory["entries"]] == listed["entries"]


def test_a_superseded_memory_is_found_and_says_by_what(machine: Machine) -> None:
    """What the person said otherwise later is told with its link and the other statement."""
    session(1, "From now on always squash before merging.", age=timedelta(days=4)).write(machine.codex)
    session(2, SQUASH, age=timedelta(days=1)).write(machine.codex)
    machine.run("run", "--json")
    text = machine.run("memory", "why", "always", "squash", "before", "merging").out
    assert "superseded by" in text
    assert "never squash before merging" in text
    assert max(len(line) for line in text.splitlines() if ".jsonl:" not in line) <= 80


def test_a_secret_beside_the_words_is_never_shown(machine: Machine) -> None:
    """The log is read anew, and what it holds is masked anew; so is a secret in the question."""
    session(1, f"The key is {SECRET}. {LINT}").write(machine.codex)
    machine.run("run", "--json")
    for words in (("make lint",), ("make lint", "--json"), (f"no such thing {SECRET}", "--json")):
        ran = machine.run("memory", "why", *words)
        assert SECRET not in ran.out + ran.err


def test_a_question_that_nothing_answers_ends_with_2(machine: Machine) -> None:
    """The complaint names the command that lists all."""
    session(1, LINT).write(machine.codex)
    machine.run("run", "--json")
    ran = machine.run("memory", "why", "carrier pigeons")
    assert (ran.code, ran.out) == (2, "")
    assert "carrier pigeons" in ran.complaint
    assert "memory list" in ran.complaint
    assert machine.run("memory", "why", "carrier pigeons", "--json").document["exit_code"] == 2


def test_asking_why_changes_no_log(machine: Machine) -> None:
    """Logs are only read: content, times and places stay."""
    session(1, LINT).write(machine.codex)
    machine.run("run", "--json")
    before = below(machine.codex)
    machine.run("memory", "why", "make lint")
    assert below(machine.codex) == before
