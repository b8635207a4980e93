"""Whether a workspace is a folder of Codex, and whether its configuration leaves it to us."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from memory_pipeline.config import Config, SourceConfig, SourcesConfig
from memory_pipeline.errors import ConfigError
from memory_pipeline.rollouts.codex_home import MEMORY_LINES, CodexReader, check_codex_home, is_read_by_codex

ALLOWED = """
[features]
memories = true
[memories]
version = "v1"
generate_memories = false
use_memories = true
consolidation_model = ""
"""


class Home:
    """A home of Codex, and a configuration of ours that names a workspace in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.path = root / "codex"
        self.path.mkdir()

    @property
    def toml(self) -> Path:
        return self.path / "config.toml"

    def config(self, memories: Path | None = None, home: Path | None = None) -> Config:
        """Return our configuration."""
        codex = SourceConfig(home=str(home or self.path))
        claude = SourceConfig(home=str(self.root / "claude"))
        return Config(
            state_dir=str(self.root / "state"),
            memories_dir=str(memories or self.path / "memories"),
            sources=SourcesConfig(codex=codex, claude=claude),
        )

    def check(self, text: str | None = None, **config: Any) -> CodexReader | None:
        """Check with this config.toml of Codex."""
        if text is not None:
            self.toml.write_text(text, encoding="utf-8")
        return check_codex_home(self.config(**config), {})

    def refusal(self, text: str | None = None, **config: Any) -> ConfigError:
        """Return the refusal that this config.toml must give."""
        with pytest.raises(ConfigError) as caught:
            self.check(text, **config)
        assert caught.value.exit_code == 2
        return caught.value


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A bare home of Codex."""
    return Home(tmp_path)


def test_the_lines_that_are_told_are_the_ones_that_pass(home: Home) -> None:
    """Who copies the lines of a refusal into an empty config.toml is let through, without a hint."""
    refused = home.refusal()
    assert "does not exist" in str(refused)
    assert home.check("\n".join(refused.lines)) == CodexReader(home=home.path)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "version"),
        ('[memories]\nversion = "v2"\ngenerate_memories = false\n', "version"),
        ("[memories]\ngenerate_memories = false\n", "version"),
        ('[memories]\nversion = "v1"\n', "generate_memories"),
        ('[memories]\nversion = "v1"\ngenerate_memories = true\n', "generate_memories"),
        ('[memories]\nversion = "v1"\ngenerate_memories = "false"\n', "generate_memories"),
        ("memories = 3\n", "no table"),
        ("[memories\n", "can't be read"),
        ("\udcff", "can't be read"),
    ],
)
def test_a_configuration_that_does_not_leave_the_folder_to_us_is_refused(home: Home, text: str, named: str) -> None:
    """Another pipeline, its own generation on (as by default), or nothing that can be read: named with its file."""
    home.toml.write_bytes(text.encode("utf-8", "surrogateescape"))
    refused = home.refusal()
    assert str(home.toml) in str(refused)
    assert named in str(refused)
    if named in ("version", "generate_memories"):
        assert set(MEMORY_LINES) <= set(refused.lines)
        assert tomllib.loads("\n".join(refused.lines))["memories"]["generate_memories"] is False


def test_a_folder_in_the_place_of_the_configuration_is_refused(home: Home) -> None:
    """What can't be a file is named, and nothing hangs or crashes over it."""
    home.toml.mkdir()
    assert str(home.toml) in str(home.refusal())


def test_a_byte_order_mark_or_a_link_does_no_harm(home: Home) -> None:
    """A configuration that is kept elsewhere and linked counts as it stands."""
    kept = home.root / "dotfiles.toml"
    kept.write_text(f"\ufeff{ALLOWED}", encoding="utf-8")
    home.toml.symlink_to(kept)
    assert home.check() is not None


def test_a_profile_that_sets_it_otherwise_is_refused_by_name(home: Home) -> None:
    """Codex lays a profile's file over its configuration: one that turns generation on would let it write."""
    profile = home.path / "work.config.toml"
    profile.write_text("[memories]\ngenerate_memories = true\n", encoding="utf-8")
    assert str(profile) in str(home.refusal(ALLOWED))
    profile.write_text('[memories]\nuse_memories = false\n[features]\nother = "x"\n', encoding="utf-8")
    assert home.check() is not None
    profile.write_text("no toml [", encoding="utf-8")
    assert home.check() is not None


def test_what_only_keeps_codex_from_reading_is_a_hint(home: Home) -> None:
    """Memories switched off, unused, or consolidated by Codex: said with the line that mends it, and not refused."""
    found = home.check('[memories]\nversion = "v1"\ngenerate_memories = false\nuse_memories = false\n')
    assert found is not None
    told = " ".join(found.hints)
    for line in ("memories = true", "use_memories = true", 'consolidation_model = ""'):
        assert line in told


def test_the_folder_of_the_second_pipeline_is_refused(home: Home) -> None:
    """Codex writes memories_v2 itself, whatever its configuration says."""
    refused = home.refusal(ALLOWED, memories=home.path / "memories_v2")
    assert "second memory pipeline" in str(refused)
    assert str(home.path / "memories") in str(refused)


def test_the_home_itself_is_refused(home: Home) -> None:
    """The home holds logs and credentials of Codex; memories have a folder of their own."""
    assert str(home.path / "memories") in str(home.refusal(ALLOWED, memories=home.path))


def test_a_workspace_of_its_own_needs_nothing_of_codex(home: Home) -> None:
    """Elsewhere, or beside a config.toml that is not Codex's, nothing is looked at."""
    assert home.check(memories=home.root / "memories") is None
    (home.root / "config.toml").write_text("[memories]\n", encoding="utf-8")
    assert home.check(memories=home.root / "memories") is None


def test_a_folder_is_known_through_links_both_ways(home: Home) -> None:
    """A linked home, and a memory folder that is a link elsewhere, are the same folder."""
    linked = home.root / "linked"
    linked.symlink_to(home.path)
    assert home.check(ALLOWED, memories=linked / "memories") is not None
    elsewhere = home.root / "elsewhere"
    elsewhere.mkdir()
    (home.path / "memories").symlink_to(elsewhere)
    assert home.check(memories=elsewhere) is not None
    assert is_read_by_codex(home.config(memories=elsewhere))
    assert not is_read_by_codex(home.config(memories=home.root / "memories"))


def test_a_home_that_no_setting_names_is_known_by_its_traces(home: Home) -> None:
    """A second home of Codex, and the one that its variable names, are looked at too."""
    other = home.root / "claude"
    (home.path / "sessions").mkdir()
    assert "does not select" in str(home.refusal("[memories]\n", home=other))
    (home.path / "sessions").rmdir()
    assert home.check(home=other) is None
    with pytest.raises(ConfigError):
        check_codex_home(home.config(home=other), {"CODEX_HOME": str(home.path)})
