"""Where the configuration is looked for, what it may hold, and what a wrong one gets told."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from command import Machine, as_toml, session

from memory_pipeline.resources import bundled_path


@pytest.fixture
def bare(tmp_path: Path) -> Machine:
    """A machine without any configuration."""
    return Machine(tmp_path / "machine")


def write(path: Path, **tables: object) -> Path:
    """Write a configuration file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(as_toml(tables), encoding="utf-8")
    return path


def test_without_a_file_the_built_in_defaults_hold(bare: Machine) -> None:
    """The defaults are those of the config.toml that comes with the program; state lives in the user's state folder."""
    shown = bare.run("config", "show", "--json")
    settings = shown.document
    defaults = tomllib.loads(bundled_path("config.toml").read_text(encoding="utf-8"))
    defaults["state_dir"] = str(bare.root / "xdg-state" / "memory-pipeline")
    defaults["memories_dir"] = str(bare.root / "xdg-state" / "memory-pipeline" / "memories")
    defaults["sources"]["codex"]["home"] = str(bare.codex)
    defaults["sources"]["claude"]["home"] = str(bare.claude)
    assert (shown.code, shown.err) == (0, "")
    assert settings == defaults
    path = bare.run("config", "path", "--json").document
    assert path == {"path": None, "user_path": str(bare.root / "xdg-config" / "memory-pipeline" / "config.toml")}


def test_looking_at_the_configuration_makes_nothing(bare: Machine) -> None:
    """Showing settings makes no folder and no database."""
    before = sorted(bare.root.rglob("*"))
    bare.run("config", "show")
    bare.run("config", "path")
    bare.run("completion", "bash")
    assert sorted(bare.root.rglob("*")) == before


def test_option_beats_variable_beats_user_file(bare: Machine) -> None:
    """--config is taken first, then MEMORY_PIPELINE_CONFIG, then the user's configuration folder."""
    user = write(bare.root / "xdg-config" / "memory-pipeline" / "config.toml", phase1={"concurrency": 1})
    named = write(bare.root / "named.toml", phase1={"concurrency": 2})
    given = write(bare.root / "given.toml", phase1={"concurrency": 3})
    variable = {"MEMORY_PIPELINE_CONFIG": str(named)}

    def concurrency(*options: str, env: dict[str, str] | None = None) -> int:
        found = bare.run(*options, "config", "show", "--json", env=env).document["phase1"]["concurrency"]
        assert isinstance(found, int)
        return found

    assert concurrency() == 1
    assert concurrency(env=variable) == 2
    assert concurrency("--config", str(given), env=variable) == 3
    assert bare.run("config", "path").out.strip() == str(user)


def test_a_config_in_the_working_folder_is_never_read(bare: Machine) -> None:
    """A stranger's repository can't point us at its server: not by config.toml, nor by one in a folder of our name."""
    hostile = {"model": {"provider": "openai", "extract_model": "m", "base_url": "http://192.0.2.1/v1"}}
    repository = bare.root / "repository"
    names = (
        "config.toml",
        "memory-pipeline.toml",
        "memory-pipeline/config.toml",
        ".config/memory-pipeline/config.toml",
    )
    for name in names:
        write(repository / name, **hostile)
    ran = bare.run("config", "show", "--json", cwd=repository)
    assert ran.document["model"]["provider"] == "deterministic"
    assert bare.run("config", "path", "--json", cwd=repository).document["path"] is None


def test_relative_paths_are_relative_to_the_file(bare: Machine) -> None:
    """State, workspace and homes named by the file lie beside it, whatever the working folder is."""
    config = write(
        bare.root / "etc" / "mp.toml",
        state_dir="../var/state",
        memories_dir="words",
        sources={"codex": {"home": "logs/codex"}},
    )
    settings = bare.run("--config", "../etc/mp.toml", "config", "show", "--json").document
    assert settings["state_dir"] == str(bare.root / "var" / "state")
    assert settings["memories_dir"] == str(config.parent / "words")
    assert settings["sources"]["codex"]["home"] == str(config.parent / "logs" / "codex")
    assert settings["sources"]["claude"]["home"] == str(bare.claude)


def test_state_dir_option_beats_variable_beats_file(bare: Machine) -> None:
    """--state-dir first, then MEMORY_PIPELINE_STATE_DIR, then state_dir; the first two start at the shell's folder."""
    bare.configure()
    variable = {"MEMORY_PIPELINE_STATE_DIR": str(bare.root / "by-variable")}

    def state_dir(*options: str, env: dict[str, str] | None = None) -> str:
        return str(bare.run(*options, "config", "show", "--json", env=env).document["state_dir"])

    assert state_dir() == str(bare.state)
    assert state_dir(env=variable) == str(bare.root / "by-variable")
    assert state_dir("--state-dir", "by-option", env=variable) == str(bare.elsewhere / "by-option")


def test_everything_lands_in_the_state_dir_that_was_named(bare: Machine) -> None:
    """Database, locks, baseline and memories lie below --state-dir, and nothing anywhere else."""
    session(1, "Always run make lint before you commit.").write(bare.codex)
    before = set(bare.root.rglob("*"))
    assert bare.run("--state-dir", str(bare.state), "run", "--json").code == 0
    new = set(bare.root.rglob("*")) - before
    assert bare.memories / "MEMORY.md" in new
    assert [path for path in new if path != bare.state and bare.state not in path.parents] == []


def test_agent_variables_win_over_the_default_home_only(bare: Machine) -> None:
    """CODEX_HOME and CLAUDE_CONFIG_DIR stand in for the default value, not for another one."""
    moved = {"CODEX_HOME": str(bare.root / "moved-codex"), "CLAUDE_CONFIG_DIR": str(bare.root / "moved-claude")}
    sources = bare.run("config", "show", "--json", env=moved).document["sources"]
    assert sources["codex"]["home"] == moved["CODEX_HOME"]
    assert sources["claude"]["home"] == moved["CLAUDE_CONFIG_DIR"]
    bare.configure(sources={"codex": {"home": "~/.codex"}, "claude": {"home": str(bare.claude)}})
    sources = bare.run("config", "show", "--json", env=moved).document["sources"]
    assert sources["codex"]["home"] == moved["CODEX_HOME"]
    assert sources["claude"]["home"] == str(bare.claude)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[phase1]\nconcurency = 3\n", ("phase1.concurency", "phase1.concurrency")),
        ("[phase_1]\nconcurrency = 3\n", ("phase_1", "phase1")),
        ("idle_seconds = 3\n", ("idle_seconds", "gates.idle_seconds")),
        ("[phase1]\nconcurrency = 0\n", ("phase1.concurrency", "at least 1")),
        ("[phase1]\nconcurrency = true\n", ("phase1.concurrency", "whole number")),
        ('[gates]\nexternal_context = "maybe"\n', ("gates.external_context", "withhold")),
        ('[gates]\nsources = ["robots"]\n', ("gates.sources", "headless")),
        ('[model]\nprovider = "openai"\n', ("model.extract_model",)),
        ('[model]\nprovider = "openai"\nextract_model = "m"\nbase_url = "ftp://x"\n', ("model.base_url",)),
        ("phase1 = 3\n", ("phase1", "table")),
        ("[phase1\n", ("not valid TOML",)),
        ("state_dir = 'a'\nstate_dir = 'b'\n", ("not valid TOML",)),
    ],
)
def test_a_wrong_file_is_refused_in_one_line_that_says_where(bare: Machine, text: str, words: tuple[str, ...]) -> None:
    """A mistyped key names the nearest known one; a value that can't be names the key; all end with exit code 2."""
    config = bare.root / "wrong.toml"
    config.write_text(text, encoding="utf-8")
    ran = bare.run("--config", str(config), "run", "--json")
    assert ran.code == 2
    assert ran.document == {"error": ran.complaint.removeprefix("memory-pipeline: "), "exit_code": 2}
    assert [word for word in (str(config), *words) if word not in ran.complaint] == []
    assert not (bare.root / "xdg-state").exists()


def test_a_file_that_can_not_be_read_is_refused_in_one_line(bare: Machine) -> None:
    """A missing file, a folder and text that is no UTF-8 are told apart, with exit code 2."""
    missing = bare.run("--config", str(bare.root / "missing.toml"), "status")
    named = bare.run("status", env={"MEMORY_PIPELINE_CONFIG": str(bare.root / "missing.toml")})
    folder = bare.run("--config", str(bare.home), "status")
    latin = bare.root / "latin.toml"
    latin.write_bytes('state_dir = "Größe"\n'.encode("latin-1"))
    assert (missing.code, named.code, folder.code) == (2, 2, 2)
    assert "missing.toml" in missing.complaint
    assert "MEMORY_PIPELINE_CONFIG" in named.complaint
    assert str(bare.home) in folder.complaint
    ran = bare.run("--config", str(latin), "status")
    assert (ran.code, "UTF-8" in ran.complaint) == (2, True)


def test_the_top_level_phases_are_one_shot_runs(machine: Machine) -> None:
    """--phase1 and --phase2 without a command do what run --phase1 and run --phase2 do; the other phase is skipped."""
    session(1, "Always run make lint before you commit.").write(machine.codex)
    first = machine.run("--phase1", "--json")
    assert (first.code, first.document["phase1"]["succeeded"]) == (0, 1)
    assert first.document["phase2"]["outcome"] == "skipped"
    assert not machine.memories.exists()
    second = machine.run("--phase2", "--json")
    assert (second.code, second.document["phase2"]["outcome"]) == (0, "consolidated")
    assert second.document["phase1"]["discovered"] == 0
    third = machine.run("run", "--phase1", "--json").document
    assert (third["phase1"]["discovered"], third["phase2"]["outcome"]) == (1, "skipped")
    assert machine.run("run", "--phase2", "--json").document["phase2"]["outcome"] == "no_changes"
    both = machine.run("--phase1", "--phase2", "--json").document
    assert (both["phase1"]["discovered"], both["phase2"]["outcome"]) == (1, "no_changes")


def test_no_command_shows_the_help(bare: Machine) -> None:
    """Without a command the help is shown, which is wrong usage; --help and --version are not."""
    assert bare.run().code == 2
    assert bare.run("--force").code == 2
    assert bare.run("--force", "run").code == 2
    helped = bare.run("--help")
    assert helped.code == 0
    for command in ("run", "scan", "status", "threads", "memory", "config", "daemon", "completion"):
        assert f"  {command} " in helped.out
    assert bare.run("--version").out.startswith("memory-pipeline, version ")


@pytest.mark.parametrize(
    ("shell", "variables", "wanted"),
    [
        ("bash", {"COMP_WORDS": "memory-pipeline th", "COMP_CWORD": "1"}, "threads"),
        ("zsh", {"COMP_WORDS": "memory-pipeline threads re", "COMP_CWORD": "2"}, "retry"),
        ("fish", {"COMP_WORDS": "memory-pipeline memory ", "COMP_CWORD": "sh"}, "show"),
    ],
)
def test_completion_is_offered_and_works(bare: Machine, shell: str, variables: dict[str, str], wanted: str) -> None:
    """The script of each shell names the command, and asking as the script does gives the right words."""
    script = bare.run("completion", shell)
    assert script.code == 0
    assert "_MEMORY_PIPELINE_COMPLETE" in script.out
    asked = bare.run(env={"_MEMORY_PIPELINE_COMPLETE": f"{shell}_complete", **variables})
    assert wanted in asked.out
    assert bare.run("completion", "tcl").code == 2
