"""``hooks`` as a person uses it: what is installed, what would be, and that nothing of others is touched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import Machine, below, contents

SETTINGS = b'{\n\t"model": "opus",\n\t"hooks": {"Stop": []}\n}'


def status(machine: Machine, agent: str) -> dict[str, Any]:
    """Return what the status tells of one agent."""
    (told,) = machine.run("hooks", "status", agent, "--json").document["hooks"]
    return dict(told)


@pytest.mark.parametrize(("agent", "name"), [("claude", "settings.json"), ("codex", "AGENTS.md")])
@pytest.mark.parametrize("was_there", [True, False])
def test_a_hook_comes_and_goes_without_a_trace(machine: Machine, agent: str, name: str, was_there: bool) -> None:
    """Installed twice, looked at, and taken out: everything is as it was, and nothing else was touched."""
    home = machine.home / f".{agent}"
    if was_there:
        (home / name).write_bytes(SETTINGS)
    before = contents(machine.root)
    assert status(machine, agent)["state"] == "absent"
    assert machine.run("hooks", "install", agent).code == 0
    once = below(home)
    assert machine.run("hooks", "install", agent).code == 0
    assert below(home) == once
    told = status(machine, agent)
    assert (told["state"], told["file"], told["problem"]) == ("installed", str(home / name), None)
    assert set(contents(machine.root)) == set(before) | {f"home/.{agent}/{name}"}
    assert machine.run("hooks", "uninstall", agent).code == 0
    assert contents(machine.root) == before
    assert machine.run("hooks", "uninstall", agent).code == 0


@pytest.mark.parametrize("agent", ["claude", "codex"])
@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_print_shows_what_would_change_and_changes_nothing(machine: Machine, agent: str, command: str) -> None:
    """Only the lines that would: what else stands in the settings is the person's own."""
    (machine.claude / "settings.json").write_bytes(b'{\n  "env": {"KEY": "hunter2"},\n  "model": "x"\n}')
    if command == "uninstall":
        machine.run("hooks", "install", agent)
    before = below(machine.root)
    shown = machine.run("hooks", command, agent, "--print")
    assert "memory-pipeline" in shown.out
    assert "hunter2" not in shown.out
    assert below(machine.root) == before


def test_settings_that_are_no_json_are_refused_and_left_alone(machine: Machine) -> None:
    """With the place of the fault; the status says so too."""
    settings = machine.claude / "settings.json"
    settings.write_bytes(b'{"a": 1, // why\n}')
    before = below(machine.claude)
    for command in ("install", "uninstall"):
        refused = machine.run("hooks", command, "claude")
        assert refused.code == 1
        assert str(settings) in refused.complaint
    assert status(machine, "claude")["state"] == "unreadable"
    assert below(machine.claude) == before


def test_the_home_is_the_one_that_the_agents_variable_names(machine: Machine, tmp_path: Path) -> None:
    """CLAUDE_CONFIG_DIR and CODEX_HOME; the folder of a project is never written to."""
    project = tmp_path / "project"
    (project / ".claude").mkdir(parents=True)
    homes = {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "CODEX_HOME": str(tmp_path / "codex")}
    for agent in ("claude", "codex"):
        assert machine.run("hooks", "install", agent, env=homes, cwd=project).code == 0
    assert (tmp_path / "claude" / "settings.json").exists()
    assert (tmp_path / "codex" / "AGENTS.md").exists()
    assert contents(project) == {}


def test_a_hook_of_a_program_that_was_moved_is_seen(machine: Machine) -> None:
    """And installing again puts it right."""
    machine.run("hooks", "install", "claude")
    settings = machine.claude / "settings.json"
    document = json.loads(settings.read_text(encoding="utf-8"))
    document["hooks"]["SessionStart"][0]["hooks"][0]["command"] = "/gone/memory-pipeline context --format claude-hook"
    settings.write_text(json.dumps(document), encoding="utf-8")
    told = status(machine, "claude")
    assert told["state"] == "differs"
    assert "/gone/memory-pipeline" in told["problem"]
    machine.run("hooks", "install", "claude")
    assert status(machine, "claude")["state"] == "installed"


def test_hooks_that_are_switched_off_are_told(machine: Machine) -> None:
    """Else the person would look for the fault with us."""
    (machine.claude / "settings.json").write_bytes(b'{"disableAllHooks": true}')
    machine.run("hooks", "install", "claude")
    assert "disableAllHooks" in status(machine, "claude")["problem"]


def test_an_empty_override_of_codex_does_not_come_to_hide_the_instructions(machine: Machine) -> None:
    """Codex reads the first of its files in which something stands: our block goes where the person's words are."""
    (machine.codex / "AGENTS.override.md").write_bytes(b" \n")
    (machine.codex / "AGENTS.md").write_bytes(b"Prefer uv.\n")
    before = contents(machine.codex)
    assert machine.run("hooks", "install", "codex").code == 0
    assert (machine.codex / "AGENTS.override.md").read_bytes() == b" \n"
    assert (machine.codex / "AGENTS.md").read_bytes().startswith(b"Prefer uv.\n")
    assert status(machine, "codex")["state"] == "installed"
    assert machine.run("hooks", "uninstall", "codex").code == 0
    assert contents(machine.codex) == before


@pytest.mark.parametrize("then", ["uninstall", "install"])
def test_a_block_that_codex_reads_no_more_is_seen_and_goes(machine: Machine, then: str) -> None:
    """An override came after it was put into the usual file. It moves, or goes from there."""
    usual, override = machine.codex / "AGENTS.md", machine.codex / "AGENTS.override.md"
    usual.write_bytes(b"Prefer uv.\n")
    assert machine.run("hooks", "install", "codex").code == 0
    override.write_bytes(b"Today: pip.\n")
    told = status(machine, "codex")
    assert (told["state"], str(usual) in told["problem"]) == ("absent", True)
    assert str(usual) in machine.run("hooks", then, "codex", "--print").out
    assert machine.run("hooks", then, "codex").code == 0
    assert usual.read_bytes() == b"Prefer uv.\n"
    assert (override.read_bytes() == b"Today: pip.\n") is (then == "uninstall")
    told = status(machine, "codex")
    assert (told["state"], told["problem"]) == ("absent" if then == "uninstall" else "installed", None)
