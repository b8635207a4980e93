"""What ``memory lint`` tells a person: clean or not, and where to look."""

from __future__ import annotations

from command import Machine, contents, session

LINT = "From now on always run make lint before you commit."
GERMAN = "In all my projects, always answer in German."
SECRET = "ghp_" + "Fake0" * 8


def test_a_fresh_machine_and_a_workspace_just_written_are_clean(machine: Machine) -> None:
    """Nothing found is exit 0, in text and JSON, before the first run, after it, and after one without news."""
    assert machine.run("memory", "lint", "--json").document == {"clean": True, "findings": []}
    session(1, LINT).write(machine.codex)
    session(2, GERMAN).write(machine.codex)
    for _ in range(2):
        machine.run("run", "--json")
        ran = machine.run("memory", "lint")
        assert (ran.code, ran.err) == (0, "")
        assert "nothing found" in ran.out
        assert machine.run("memory", "lint", "--json").document == {"clean": True, "findings": []}


def test_the_bundled_samples_are_clean(machine: Machine) -> None:
    """What the program makes of its own samples keeps every rule."""
    assert machine.run("run", "--samples", "if-empty").code == 0
    samples = machine.state / "samples"
    assert (samples / "memories" / "MEMORY.md").is_file()
    ran = machine.run("--state-dir", str(samples), "memory", "lint", "--json")
    assert (ran.code, ran.document["findings"]) == (0, [])


def test_findings_end_with_1_and_change_nothing(machine: Machine) -> None:
    """Each finding names rule, place and what to do; the workspace stays as it is until the next run mends it."""
    session(1, LINT).write(machine.codex)
    machine.run("run", "--json")
    (machine.memories / "memory_summary.md").unlink()
    (machine.memories / "raw_memories.md").chmod(0o644)
    with (machine.memories / "MEMORY.md").open("a", encoding="utf-8") as handbook:
        handbook.write(f"my token is {SECRET}\n")
    number = machine.handbook().count("\n")
    before = contents(machine.memories)
    ran = machine.run("memory", "lint", "--json")
    assert (ran.code, ran.document["clean"], ran.err) == (1, False, "")
    found = {finding["rule"]: finding["place"] for finding in ran.document["findings"]}
    assert found == {
        "secret": f"MEMORY.md:{number}",
        "missing_file": "memory_summary.md",
        "open_mode": str(machine.memories / "raw_memories.md"),
    }
    assert all(finding["advice"] and finding["problem"] for finding in ran.document["findings"])
    text = machine.run("memory", "lint").out
    assert all(f"{rule}: {place}" in text for rule, place in found.items())
    assert SECRET not in ran.out + text
    assert contents(machine.memories) == before


def test_a_thread_that_is_disabled_leaves_a_finding_until_the_next_run(machine: Machine) -> None:
    """A memory whose only entry was withdrawn is told, and the run that is advised clears it."""
    session(1, LINT).write(machine.codex)
    session(2, GERMAN).write(machine.codex)
    machine.run("run", "--json")
    (told,) = [memory for memory in machine.memory_list() if "make lint" in memory["statement"]]
    assert machine.run("threads", "disable", told["threads"][0]).code == 0
    (finding,) = machine.run("memory", "lint", "--json").document["findings"]
    assert (finding["rule"], finding["place"]) == ("no_entry", told["memory_id"])
    assert "memory-pipeline run" in finding["advice"]
    machine.run("run", "--json")
    assert machine.run("memory", "lint").code == 0
