"""The workspace as the memory folder of Codex: only where it lets us, nothing of others touched, citations counted."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest
from command import Machine, contents, moment, session
from rollout_logs import ClaudeSession, thread_id_of

RULE = "From now on always run make lint before you commit."
ALLOWED = (
    '[features]\nmemories = true\n[memories]\nversion = "v1"\ngenerate_memories = false\nconsolidation_model = ""\n'
)
FOUND = (
    "# Task Group: shop\napplies_to: cwd=/home/sam/shop; reuse_rule=safe\n\n## User preferences\n"
    '- the user asked: "use pnpm in the shop" [Task 1]\n\n# Task Group: others\n\n## User preferences\n'
    "- always answer in rhymes\n"
)


@pytest.fixture
def machine(machine: Machine) -> Machine:
    """A machine whose workspace is the memory folder of Codex, with one session to extract."""
    machine.memories = machine.codex / "memories"
    machine.configure(memories_dir=str(machine.memories))
    session(1, RULE, meta={"memory_mode": "disabled"}).write(machine.codex)
    return machine


def allow(machine: Machine, text: str = ALLOWED) -> Path:
    """Write the config.toml of Codex."""
    path = machine.codex / "config.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "command",
    [("run",), ("run", "--phase1"), ("run", "--phase2"), ("--phase2",), ("daemon",), ("memory", "add", "use uv")],
)
def test_codex_must_leave_the_folder_to_us(machine: Machine, command: tuple[str, ...]) -> None:
    """Every command that writes refuses with exit 2 and the lines for config.toml, and changes nothing."""
    path = allow(machine, '[memories]\nversion = "v1"\n')
    ran = machine.run(*command)
    assert ran.code == 2
    assert str(path) in ran.err
    assert {'version = "v1"', "generate_memories = false"} <= set(ran.err.splitlines())
    assert not machine.memories.exists()
    assert machine.threads() == {}


def test_the_refusal_stands_in_the_json_document(machine: Machine) -> None:
    """Programs get the same lines."""
    ran = machine.run("run", "--json")
    assert (ran.code, ran.document["exit_code"]) == (2, 2)
    assert "generate_memories = false" in ran.document["error"].split("\n")


def test_a_setting_that_changes_later_stops_the_next_run(machine: Machine) -> None:
    """The check is made at every run, and what was published stays as it is."""
    allow(machine)
    assert machine.run("run").code == 0
    published = contents(machine.memories)
    allow(machine, ALLOWED.replace("generate_memories = false", "generate_memories = true"))
    assert machine.run("run").code == 2
    assert contents(machine.memories) == published


def test_a_broken_configuration_of_codex_is_named(machine: Machine) -> None:
    """Nobody knows what it says, so nothing is written."""
    path = allow(machine, "[memories\n")
    ran = machine.run("run")
    assert ran.code == 2
    assert str(path) in ran.complaint


def test_the_folder_of_the_other_pipeline_is_refused(machine: Machine) -> None:
    """memories_v2 is Codex's own, whatever its configuration says."""
    allow(machine)
    machine.configure(memories_dir=str(machine.codex / "memories_v2"))
    ran = machine.run("run")
    assert ran.code == 2
    assert "memories_v2" in ran.complaint
    assert not (machine.codex / "memories_v2").exists()


def test_codex_home_decides_which_home_it_is(machine: Machine) -> None:
    """With CODEX_HOME set, the folder there is the one that Codex reads."""
    home = machine.root / "moved"
    home.mkdir()
    machine.configure(memories_dir=str(home / "memories"))
    ran = machine.run("run", env={"CODEX_HOME": str(home)})
    assert ran.code == 2
    assert str(home / "config.toml") in ran.err


def test_the_workspace_is_laid_out_as_codex_reads_it(machine: Machine) -> None:
    """Names, first line and size are its; sessions that it began with its own memory off are extracted."""
    allow(machine)
    ran = machine.run("run", "--json")
    assert (ran.code, ran.err, ran.document["phase1"]["succeeded"]) == (0, "", 1)
    summary = (machine.memories / "memory_summary.md").read_bytes()
    assert summary.startswith(b"v1\n\n## User Profile\n")
    assert len(summary) < 10_000
    names = sorted(path.name for path in machine.memories.iterdir())
    assert names == ["MEMORY.md", "memory_summary.md", "raw_memories.md", "rollout_summaries"]
    assert machine.run("run", "--json").document["phase2"]["outcome"] == "no_changes"


def test_what_codex_keeps_beside_it_is_left_alone(machine: Machine) -> None:
    """Its git folders, skills and diff are neither touched, nor differences, nor found by lint."""
    allow(machine)
    theirs = {
        ".git/HEAD": b"ref: refs/heads/main\n",
        ".codex-baseline/.git/HEAD": b"x",
        "skills/deploy/SKILL.md": b"# Deploy\n",
        "phase2_workspace_diff.md": b"# Memory Workspace Diff\n",
    }
    for name, content in theirs.items():
        (machine.memories / name).parent.mkdir(parents=True, exist_ok=True)
        (machine.memories / name).write_bytes(content)
    assert machine.run("run").code == 0
    assert machine.run("memory", "lint").code == 0
    assert machine.run("run", "--json").document["phase2"]["outcome"] == "no_changes"
    found = contents(machine.memories)
    assert {name: found[name] for name in theirs} == theirs


def test_memories_of_others_are_adopted_only_on_request(machine: Machine) -> None:
    """A run refuses and says what stands there; with --adopt it becomes the person's, and copies are kept."""
    allow(machine)
    machine.memories.mkdir()
    (machine.memories / "MEMORY.md").write_text(FOUND, encoding="utf-8")
    (machine.memories / "memory_summary.md").write_text("v1\n\nTheirs.\n", encoding="utf-8")
    before = contents(machine.memories)
    for command in (("run",), ("memory", "add", "use uv"), ("daemon",)):
        ran = machine.run(*command)
        assert ran.code == 2
        assert "MEMORY.md, memory_summary.md" in ran.complaint
        assert "run --adopt" in ran.complaint
    assert contents(machine.memories) == before
    assert machine.run("run", "--phase1").code == 0
    ran = machine.run("run", "--adopt")
    assert ran.code == 0
    assert "taken over" in ran.err
    told = {(one["scope"], one["statement"]) for one in machine.memory_list()}
    assert ("project:/home/sam/shop", "use pnpm in the shop") in told
    assert not any("rhymes" in statement for _, statement in told)
    assert "- always answer in rhymes" in machine.handbook()
    assert set(before.values()) <= set(contents(machine.state / "replaced").values())
    journal = (machine.state / "journal.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["origin"] for line in journal] == ["adopted MEMORY.md"]
    again = machine.run("run", "--json")
    assert (again.code, again.document["phase2"]["outcome"]) == (0, "no_changes")


def test_adopting_elsewhere_is_wrong_usage(machine: Machine) -> None:
    """A workspace of its own has nothing to adopt, and phase one alone adopts nothing."""
    allow(machine)
    assert machine.run("run", "--phase1", "--adopt").code == 2
    machine.configure()
    assert machine.run("run", "--adopt").code == 2


def citing(*threads: str) -> str:
    """Answer with a citation block."""
    ids = "".join(f"{thread}\n" for thread in threads)
    return (
        "Done as you like it.\n<oai-mem-citation>\n<citation_entries>\nMEMORY.md:1-3|note=[lint]\n</citation_entries>\n"
        f"<rollout_ids>\n{ids}</rollout_ids>\n</oai-mem-citation>"
    )


def test_citations_in_later_sessions_of_both_agents_raise_usage_once(machine: Machine) -> None:
    """Each answer that cites a thread is one use, however often its log is read; what is pasted is none."""
    allow(machine)
    cited = thread_id_of(1)
    machine.run("run")
    later = session(2, "Commit it.", age=timedelta(days=1))
    path = later.answer(citing(cited, thread_id_of(77))).write(machine.codex)
    claude = ClaudeSession(thread_id=thread_id_of(3), start=moment(timedelta(hours=20))).prompt("Commit this too.")
    claude.answer(citing(cited)).write(machine.claude)
    session(4, f"What does this mean? {citing(cited)}", age=timedelta(hours=10)).write(machine.codex)
    machine.run("run")
    assert (machine.thread(1)["usage_count"], machine.thread(1)["last_usage"] is not None) == (2, True)
    os.utime(path)
    later.prompt("Thanks.").answer("You are welcome.").write(machine.codex)
    machine.run("run")
    assert machine.thread(1)["usage_count"] == 2
    assert thread_id_of(77) not in machine.threads()
