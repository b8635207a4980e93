"""The review as a person meets it: with the default policy and nobody reviewing, nothing that was told is lost."""

from __future__ import annotations

import re
from pathlib import Path

from command import Machine, session

SAMPLES = Path(__file__).resolve().parents[2] / "samples"


def _run_on_samples(machine: Machine, mode: str) -> str:
    machine.configure(
        sources={"codex": {"home": str(SAMPLES / "codex-home")}, "claude": {"home": str(SAMPLES / "claude-home")}},
        gates={"max_age_days": 0},
        review={"mode": mode},
    )
    assert machine.run("run", "--json").document["phase2"]["outcome"] == "consolidated"
    return (machine.memories / "MEMORY.md").read_text(encoding="utf-8")


def test_the_bundled_samples_give_the_memories_that_they_give_without_a_review(tmp_path: Path) -> None:
    """By policy every memory of them passes by itself."""
    told = []
    for mode in ("off", "policy"):
        machine = Machine(tmp_path / mode)
        told.append(_run_on_samples(machine, mode))
    assert told[0] == told[1]
    assert len(re.findall(r"^- ", told[0], re.MULTILINE)) > 30


def test_what_waits_for_a_person_is_told_with_its_thread(machine: Machine) -> None:
    """In manual mode nothing is remembered; the session's entries say that they wait, and as what."""
    machine.configure(review={"mode": "manual"})
    session(1, "From now on always run make lint before you commit.").write(machine.codex)
    ran = machine.run("run", "--json").document
    assert ran["phase1"]["succeeded"] == 1
    assert ran["phase2"]["outcome"] == "no_inputs"
    (thread,) = machine.run("threads", "list", "--json").document
    shown = machine.run("threads", "show", thread["thread_id"], "--json").document
    assert {(entry["label"], entry["review_status"]) for entry in shown["entries"]} == {("new", "pending")}
    assert machine.memory_list() == []
