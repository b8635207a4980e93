"""The configuration: found where it should be, every key checked, every fault told with file and key."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_pipeline.config import (
    CONFIG_ENV,
    STATE_DIR_ENV,
    Config,
    ModelConfig,
    as_table,
    is_loopback,
    key_names,
    load_config,
    parse_config,
)
from memory_pipeline.errors import ConfigError
from memory_pipeline.resources import bundled_path

WHERE = Path("/etc/memory/config.toml")


def written(tmp_path: Path, text: str = "") -> Path:
    """Write a configuration file."""
    path = tmp_path / "config.toml"
    path.write_text(text)
    return path


# --- keys and defaults ------------------------------------------------------------------------------------------------


def test_the_bundled_file_holds_every_key_with_its_default() -> None:
    """What a person copies is what the program does without a file."""
    text = bundled_path("config.toml").read_text()
    table = tomllib.loads(text)
    expected = as_table(Config())
    assert table.pop("state_dir") == "state"  # built in: the user's state folder
    assert expected.pop("state_dir") == ""
    assert table == expected


def test_every_key_of_the_bundled_file_says_what_it_does() -> None:
    """Each line that sets something carries its comment."""
    text = bundled_path("config.toml").read_text()
    for line in text.splitlines():
        if "=" in line and not line.startswith("#"):
            assert "#" in line, line


def test_key_names_are_those_of_the_file() -> None:
    """The list of known keys has no internal ones and misses none."""
    table = tomllib.loads(bundled_path("config.toml").read_text())
    found = []
    for name, value in table.items():
        found += [f"{name}.{key}" for key in value if name != "sources"] if isinstance(value, dict) else [name]
    found += [f"sources.{agent}.{key}" for agent, keys in table["sources"].items() for key in keys]
    assert sorted(key_names()) == sorted(found)


def test_an_empty_file_is_the_defaults() -> None:
    """Nothing set, nothing changed."""
    assert as_table(parse_config("", WHERE)) == as_table(Config())


def test_values_of_the_file_are_taken() -> None:
    """Tables, lists, numbers and strings arrive in their records; a whole number may stand for a fraction."""
    config = parse_config(
        """
        [gates]
        sources = ["interactive", "headless"]
        idle_seconds = 0
        [sources.codex]
        enabled = false
        [model]
        provider = "openai"
        extract_model = "model-x"
        """,
        WHERE,
    )
    assert config.gates.sources == ("interactive", "headless")
    assert config.gates.idle_seconds == 0
    assert (config.sources.codex.enabled, config.sources.codex.home) == (False, "~/.codex")
    assert config.sources.claude.home == "~/.claude"
    assert config.model.is_paid
    assert config.path == str(WHERE)


# --- faults -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[gates]\nidle_second = 5", ["gates.idle_second", "gates.idle_seconds"]),
        ("[phase1]\nidle_seconds = 5", ["phase1.idle_seconds", "gates.idle_seconds"]),
        ("[gate]\nidle_seconds = 5", ["gate", "gates"]),
        ("path = 'x'", ["path"]),
        ("[model]\nparth = 1", ["model.parth"]),
        ("[gates]\nidle_seconds = 'long'", ["gates.idle_seconds", "a number"]),
        ("[gates]\nidle_seconds = nan", ["gates.idle_seconds", "finite"]),
        ("[gates]\nidle_seconds = inf", ["gates.idle_seconds", "finite"]),
        ("[gates]\nidle_seconds = true", ["gates.idle_seconds", "a number"]),
        ("[gates]\nidle_seconds = -1", ["gates.idle_seconds", "at least 0"]),
        ("[gates]\nmin_result_chars = 1.5", ["gates.min_result_chars", "a whole number"]),
        ("[gates]\nsources = 'interactive'", ["gates.sources", "a list of strings"]),
        ("[gates]\nsources = [1]", ["gates.sources", "a list of strings"]),
        ("[gates]\nsources = ['subagent']", ["gates.sources", "subagent"]),
        ("[gates]\nexternal_context = 'no'", ["gates.external_context", "withhold"]),
        ("[gates]\nmin_rate_limit_remaining_percent = 101", ["min_rate_limit_remaining_percent", "100"]),
        ("[settings]\ngenerate_memories = 1", ["settings.generate_memories", "true or false"]),
        ("[phase1]\nconcurrency = 0", ["phase1.concurrency", "at least 1"]),
        ("[phase1]\nmax_attempts = 0", ["phase1.max_attempts", "at least 1"]),
        ("[model]\nprovider = 'other'", ["model.provider", "deterministic, openai"]),
        ("[model]\nwire_api = 'x'", ["model.wire_api", "responses, chat"]),
        ("[model]\nprovider = 'openai'", ["model.extract_model"]),
        ("[model]\nbase_url = 'localhost:8080'", ["model.base_url", "http"]),
        ("[model]\nbase_url = 'http://'", ["model.base_url"]),
        ("[model]\nbase_url = 'http://x:99999'", ["model.base_url"]),
        ("model = 'x'", ["model", "[model]"]),
        ("state_dir = 5", ["state_dir", "a string"]),
        ('state_dir = "a\\u0000b"', ["state_dir", "NUL"]),
        ("state_dir = ", ["TOML"]),
        ("a = 1\na = 2", ["TOML"]),
    ],
)
def test_a_fault_is_one_line_that_names_file_and_key(text: str, told: list[str]) -> None:
    """The message says where, what, and what would fit."""
    with pytest.raises(ConfigError) as caught:
        parse_config(text, WHERE)
    message = str(caught.value)
    assert message.startswith(f"{WHERE}: ")
    assert "\n" not in message
    for part in told:
        assert part in message, message
    assert caught.value.exit_code == 2


_VALUES = st.one_of(
    st.booleans(), st.integers(-5, 10**6), st.floats(), st.text(max_size=5), st.just([]), st.just(["x"])
)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(character):08x}" for character in value) + '"'
    return repr(value)


@settings(max_examples=100, deadline=None)
@given(key=st.sampled_from(key_names()), value=_VALUES)
def test_any_value_of_any_key_is_taken_or_refused_by_name(key: str, value: Any) -> None:
    """No value makes anything but a configuration or one clear error that names its key."""
    if isinstance(value, str) and any(0xD800 <= ord(character) <= 0xDFFF for character in value):
        return
    table, _, name = key.rpartition(".")
    text = f"{f'[{table}]' if table else ''}\n{name} = {_toml(value)}\n"
    refusal = ""
    try:
        config = parse_config(text, WHERE)
    except ConfigError as error:
        refusal = str(error)
    else:
        assert isinstance(config, Config)
    assert not refusal or key in refusal or "extract_model" in refusal


# --- where it is found ------------------------------------------------------------------------------------------------


def test_the_option_wins_over_the_variable(tmp_path: Path) -> None:
    """--config, then MEMORY_PIPELINE_CONFIG."""
    option, variable = tmp_path / "a.toml", tmp_path / "b.toml"
    option.write_text("[phase2]\nmax_candidates = 1")
    variable.write_text("[phase2]\nmax_candidates = 2")
    environ = {CONFIG_ENV: str(variable)}
    assert load_config(str(option), None, environ).phase2.max_candidates == 1
    assert load_config(None, None, environ).phase2.max_candidates == 2


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    """A mistyped name is told with its origin, and never falls back to something else."""
    with pytest.raises(ConfigError, match="--config: there is no file"):
        load_config(str(tmp_path / "none.toml"), None, {})
    with pytest.raises(ConfigError, match=f"{CONFIG_ENV}: there is no file"):
        load_config(None, None, {CONFIG_ENV: str(tmp_path)})
    with pytest.raises(ConfigError, match="--config"):
        load_config("x" * 5_000, None, {})


def test_a_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    """Bytes that are not UTF-8 are named; a byte order mark is none of them."""
    path = tmp_path / "config.toml"
    path.write_bytes(b"state_dir = '\xff'")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_config(str(path), None, {})
    path.write_bytes(b"\xef\xbb\xbf[phase2]\nmax_candidates = 7")
    assert load_config(str(path), None, {}).phase2.max_candidates == 7


def test_the_working_folder_does_not_configure_us(tmp_path: Path) -> None:
    """A stranger's repository can't point us at its server; the user's own folder is looked into instead."""
    repository, home = tmp_path / "repository", tmp_path / "home"
    repository.mkdir()
    (repository / "config.toml").write_text("[phase2]\nmax_candidates = 1")
    own = home / "config" / "memory-pipeline"
    own.mkdir(parents=True)
    code = "from memory_pipeline.config import load_config; c = load_config(); print(c.phase2.max_candidates, c.path)"
    environ = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "PYTHONPATH": str(Path(sys.modules["memory_pipeline"].__path__[0]).parent),
    }

    def told() -> str:
        command = [sys.executable, "-c", code]
        return subprocess.run(
            command, cwd=repository, env=environ, capture_output=True, text=True, check=True
        ).stdout.strip()

    assert told() == "256 None"
    (own / "config.toml").write_text("[phase2]\nmax_candidates = 3")
    assert told() == f"3 {own / 'config.toml'}"


# --- paths ------------------------------------------------------------------------------------------------------------


def test_relative_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    """Not to the working folder; the workspace stands in the state folder unless it is named."""
    path = written(tmp_path, "state_dir = 'state'\n[sources.codex]\nhome = '../logs'")
    config = load_config(str(path), None, {})
    assert config.state_path == tmp_path / "state"
    assert config.database_path == tmp_path / "state" / "memory.db"
    assert config.workspace_path == tmp_path / "state" / "memories"
    assert config.sources.codex.home == str(tmp_path.parent / "logs")
    path.write_text("memories_dir = 'notes'")
    assert load_config(str(path), "/elsewhere", {}).workspace_path == tmp_path / "notes"


def test_the_state_folder_may_be_overridden(tmp_path: Path) -> None:
    """--state-dir, then MEMORY_PIPELINE_STATE_DIR, then the file; the workspace goes along."""
    path = str(written(tmp_path, "state_dir = 'state'"))
    environ = {STATE_DIR_ENV: str(tmp_path / "of-variable")}
    assert load_config(path, str(tmp_path / "of-option"), environ).state_path == tmp_path / "of-option"
    config = load_config(path, None, environ)
    assert config.state_path == tmp_path / "of-variable"
    assert config.workspace_path == tmp_path / "of-variable" / "memories"


def test_an_agents_own_variable_wins_over_the_default_home_only(tmp_path: Path) -> None:
    """CODEX_HOME and CLAUDE_CONFIG_DIR stand in for the very default; a home that was chosen stays."""
    environ = {"CODEX_HOME": str(tmp_path / "codex"), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    path = written(tmp_path)
    moved = load_config(str(path), None, environ).sources
    assert (moved.codex.home, moved.claude.home) == (str(tmp_path / "codex"), str(tmp_path / "claude"))
    path.write_text("[sources.codex]\nhome = '~/.codex'\n[sources.claude]\nhome = '/chosen'")
    chosen = load_config(str(path), None, environ).sources
    assert (chosen.codex.home, chosen.claude.home) == (str(tmp_path / "codex"), "/chosen")
    path.write_text("")
    plain = load_config(str(path), None, {}).sources
    assert plain.codex.home == str(Path("~/.codex").expanduser())


@pytest.mark.parametrize(
    ("text", "state_dir", "environ", "origin"),
    [
        ("state_dir = '~nobody-here/x'", None, {}, "state_dir"),
        ("[sources.codex]\nhome = '~nobody-here/x'", None, {}, "sources.codex.home"),
        ("", "~nobody-here/x", {}, "--state-dir"),
        ("", None, {STATE_DIR_ENV: "~nobody-here/x"}, STATE_DIR_ENV),
        ("", None, {"CODEX_HOME": "~nobody-here/x"}, "CODEX_HOME"),
    ],
)
def test_the_home_of_nobody_is_told(
    tmp_path: Path, text: str, state_dir: str | None, environ: dict[str, str], origin: str
) -> None:
    """A mistyped ``~name`` is one clear line that names its origin."""
    with pytest.raises(ConfigError, match=origin):
        load_config(str(written(tmp_path, text)), state_dir, environ)


# --- paid and remote --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base_url", "stays"),
    [
        ("http://localhost:8080/v1", True),
        ("http://LOCALHOST", True),
        ("http://api.localhost:1", True),
        ("http://127.0.0.1:8000", True),
        ("http://127.9.9.9", True),
        ("http://[::1]:8000", True),
        ("", False),
        ("https://api.example.org/v1", False),
        ("http://localhost.example.org", False),
        ("http://127.0.0.1.example.org", False),
        ("http://127.0.0.1@example.org", False),
        ("http://10.0.0.5:8000", False),
        ("http://0.0.0.0:8000", False),
        ("http://[fe80::1]:8000", False),
    ],
)
def test_only_loopback_stays_on_this_machine(base_url: str, stays: bool) -> None:
    """Every other address, the library's default included, is remote."""
    assert is_loopback(base_url) is stays
    model = ModelConfig(provider="openai", extract_model="x", base_url=base_url)
    assert (model.is_paid, model.is_remote) == (True, not stays)


def test_the_embedded_extractor_is_neither_paid_nor_remote() -> None:
    """Whatever address is left in the file."""
    model = ModelConfig(base_url="https://api.example.org/v1")
    assert (model.is_paid, model.is_remote) == (False, False)
