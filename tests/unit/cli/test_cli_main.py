"""The command line's frame: exit codes, one line for a failure, one JSON document."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Shell, call
from phase2_world import NOW, entry

from memory_pipeline import __version__
from memory_pipeline.lock import os_lock
from memory_pipeline.phase2.places import workspace_lock_path


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """A command line with an empty state."""
    made = Shell(tmp_path)
    yield made
    made.world.close()


WRONG_USAGE = [
    ("nonsense",),
    ("threads", "nonsense"),
    ("threads", "list", "--nope"),
    ("threads", "list", "--state", "bogus"),
    ("threads", "list", "--gate", "bogus"),
    ("threads", "show"),
    ("threads", "show", "unknown"),
    ("threads", "show", ""),
    ("threads", "retry", "unknown"),
    ("threads", "disable", "unknown"),
    ("memory", "show", "unknown"),
    ("memory", "list", "--status", "bogus"),
    ("run", "--limit", "x"),
    ("run", "--limit", "-1"),
    ("run", "--samples", "always"),
    ("--json",),
    ("--force",),
    ("--phase1", "status"),
    ("--json", "status"),
    ("completion", "tcsh"),
]


@pytest.mark.parametrize("arguments", WRONG_USAGE, ids=" ".join)
def test_wrong_usage_is_one_line_and_exit_code_2(shell: Shell, arguments: tuple[str, ...]) -> None:
    """The line says what is wrong; nothing stands on standard output, unless JSON was asked for."""
    printed = shell.call(*arguments)
    assert printed.code == 2
    assert printed.err.startswith("memory-pipeline: ")
    assert printed.err.count("\n") == 1
    if "--json" in arguments:
        assert printed.json() == {"error": printed.err.removeprefix("memory-pipeline: ").strip(), "exit_code": 2}
    else:
        assert printed.out == ""


BAD_CONFIGURATIONS = [
    "state_dir = ",
    "nonsense = 1",
    "[phase2]\nmax_candidate = 1",
    "[phase2]\nmax_candidates = 0",
    '[phase2]\nmax_candidates = "many"',
    '[gates]\nsources = ["everything"]',
    '[model]\nprovider = "openai"',
    "\x00",
]


@pytest.mark.parametrize("text", BAD_CONFIGURATIONS)
@pytest.mark.parametrize("command", [("status",), ("run", "--json")], ids=" ".join)
def test_a_configuration_that_can_not_be_used_is_named(shell: Shell, text: str, command: tuple[str, ...]) -> None:
    """Exit code 2, one line with the file's name, and no state is made."""
    shell.config.write_text(text)
    printed = shell.call(*command)
    assert printed.code == 2
    assert str(shell.config) in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == "" or printed.json()["exit_code"] == 2


def test_a_missing_configuration_is_wrong_usage(tmp_path: Path) -> None:
    """A path that was named must be there."""
    printed = call("--config", str(tmp_path / "none.toml"), "status")
    assert printed.code == 2
    assert "none.toml" in printed.err


def test_a_schedule_that_is_none_stops_the_daemon_before_it_begins(shell: Shell) -> None:
    """It is a mistake in the configuration."""
    shell.config.write_text('state_dir = "state"\n[daemon]\nschedule = "often"\n')
    printed = shell.call("daemon")
    assert printed.code == 2
    assert "daemon.schedule" in printed.err


@pytest.mark.parametrize("group", ["threads", "memory", "config"])
def test_a_group_without_a_command_shows_its_help(shell: Shell, group: str) -> None:
    """It reads as help does, line by line."""
    printed = shell.call(group)
    assert printed.code == 2
    assert printed.out.startswith(f"Usage: memory-pipeline {group}")
    assert printed.out.count("\n") > 5
    assert printed.err == ""


def test_no_command_shows_the_help() -> None:
    """Nothing was asked for, so nothing runs."""
    printed = call()
    assert printed.code == 2
    assert printed.out.startswith("Usage: memory-pipeline")


@pytest.mark.parametrize("arguments", [("--help",), ("-h",), ("run", "--help"), ("memory", "list", "-h")], ids=" ".join)
def test_help_is_done(arguments: tuple[str, ...]) -> None:
    """Exit code 0."""
    assert call(*arguments).code == 0


def test_the_version_is_told() -> None:
    """Name and number."""
    assert call("--version").out == f"memory-pipeline, version {__version__}\n"


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(shell_name: str) -> None:
    """To be sourced from the shell's start-up file."""
    printed = call("completion", shell_name)
    assert printed.code == 0
    assert "_MEMORY_PIPELINE_COMPLETE" in printed.out


def test_a_state_folder_that_can_not_be_made_is_named(shell: Shell, tmp_path: Path) -> None:
    """Exit code 1, one line, no traceback."""
    (tmp_path / "file").write_bytes(b"x")
    printed = shell.call("--state-dir", str(tmp_path / "file" / "state"), "scan")
    assert printed.code == 1
    assert str(tmp_path / "file" / "state") in printed.err
    assert printed.err.count("\n") == 1


def test_a_state_folder_on_the_command_line_wins(shell: Shell, tmp_path: Path) -> None:
    """Nothing is made in the one of the configuration."""
    shell.call("--state-dir", str(tmp_path / "other"), "scan")
    printed = shell.call("--state-dir", str(tmp_path / "other"), "status", "--json")
    assert printed.json()["state_dir"] == str(tmp_path / "other")
    assert (tmp_path / "other" / "memory.db").exists()


def test_a_held_workspace_ends_in_75(shell: Shell) -> None:
    """The document says locked; scripts can tell it from a failure."""
    with os_lock(workspace_lock_path(shell.world.workspace), purpose="a test"):
        printed = shell.call("run", "--json")
    assert printed.code == 75
    assert printed.json()["phase2"]["outcome"] == "locked"


def test_a_failed_consolidation_ends_in_1_and_then_in_0_while_it_waits(shell: Shell) -> None:
    """A run that only waits is no failure."""
    shell.world.says("thread-a", entry("use uv"))
    shell.world.workspace.write_bytes(b"not a folder")
    failed = shell.call("--phase2", "--json")
    assert failed.code == 1
    assert failed.json()["phase2"]["outcome"] == "failed"
    assert str(shell.world.workspace) in failed.err
    waits = shell.call("run", "--phase2", "--json")
    assert (waits.code, waits.json()["phase2"]["outcome"]) == (0, "cooldown")


@pytest.mark.parametrize(
    ("arguments", "outcome"),
    [
        (("run", "--json"), "no_inputs"),
        (("run", "--phase1", "--json"), "skipped"),
        (("--phase1", "--json"), "skipped"),
        (("--phase2", "--json"), "no_inputs"),
        (("--phase1", "--phase2", "--json"), "no_inputs"),
    ],
    ids=str,
)
def test_one_shot_forms_run_what_they_name(shell: Shell, arguments: tuple[str, ...], outcome: str) -> None:
    """Nothing to do is done, and the document has every field."""
    printed = shell.call(*arguments)
    assert printed.code == 0
    document = printed.json()
    assert set(document) == {"phase1", "phase2"}
    assert set(document["phase1"]) == {
        "discovered", "eligible", "claimed", "succeeded", "no_output", "failed", "skipped", "tokens", "seconds",
    }  # fmt: skip
    assert set(document["phase2"]) == {"outcome", "selected", "added", "modified", "removed", "seconds"}
    assert document["phase2"]["outcome"] == outcome


JSON_COMMANDS = [
    ("scan",), ("status",), ("threads", "list"), ("threads", "show", "thread-a"), ("threads", "disable", "thread-a"),
    ("threads", "enable", "thread-a"), ("threads", "retry", "thread-a"), ("memory", "list"), ("config", "show"),
    ("config", "path"),
]  # fmt: skip


@pytest.mark.parametrize("command", JSON_COMMANDS, ids=" ".join)
def test_every_report_is_one_json_document(shell: Shell, command: tuple[str, ...]) -> None:
    """Standard output holds nothing else."""
    shell.world.says("thread-a", entry("use uv", at=NOW))
    shell.world.run()
    printed = shell.call(*command, "--json")
    assert printed.code == 0
    assert printed.json() is not None
