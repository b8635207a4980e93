"""The documentation check finds each kind of disagreement, and is silent when there is none."""

from __future__ import annotations

import importlib.util
import subprocess
from enum import StrEnum
from pathlib import Path
from types import ModuleType

import click
import pytest

ROOT = Path(__file__).parents[2]


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_docs", ROOT / ".ci" / "check_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check_docs = _load()
CONFIG = (ROOT / "config.toml").read_text("utf-8")


@click.group()
@click.option("--loud", is_flag=True)
def program(*, loud: bool) -> None:
    """Stand in for our command line."""


@program.group()
def songs() -> None:
    """Stand in for a group."""


@songs.command("sing")
@click.option("--slowly", is_flag=True)
@click.argument("song")
def sing(song: str, *, slowly: bool) -> None:
    """Stand in for a command."""


class Mood(StrEnum):
    """Stand in for an enum whose values a person meets."""

    GLAD = "glad"
    NOT_SO_GLAD = "not_so_glad"


def _readme_settings(config: str = CONFIG) -> str:
    rows = []
    table = ""
    for line in config.splitlines():
        if line.startswith("["):
            table = line.strip("[]") + "."
        elif "=" in line:
            name, value = line.split("=", 1)
            rows.append(
                f"| `{table}{name.strip()}` | `{value.split('  #')[0].split(' #')[0].strip()}` | what it does |"
            )
    return "\n".join(rows)


def test_documented_commands_and_options_are_no_fault() -> None:
    """A row for each command, with its options, and the program's own options in the text are enough."""
    readme = "Say `--loud`.\n| `songs sing SONG` | sings | `--slowly`: takes its time |\n"
    assert list(check_docs.command_faults(program, readme)) == []


@pytest.mark.parametrize(
    ("readme", "missing"),
    [
        ("`--loud`\n", "`songs sing`"),
        ("`--loud` `--slowly`\n| `songs sing SONG` | sings | |\n", "`--slowly` of `songs sing`"),
        ("| `songs sing SONG` | sings | `--slowly` |\n", "`--loud` of `memory-pipeline`"),
        ("`--loud`\n| `songs singing` | sings | `--slowly` |\n", "`songs sing`"),
    ],
)
def test_an_undocumented_command_or_option_is_named(readme: str, missing: str) -> None:
    """An option must stand in the row of its own command, and a longer word is no mention of a shorter one."""
    faults = list(check_docs.command_faults(program, readme))
    assert len(faults) == 1
    assert missing in faults[0]


def test_a_configuration_that_agrees_everywhere_is_no_fault() -> None:
    """The shipped file, a README table made from it, and the program's defaults agree."""
    assert list(check_docs.config_faults(CONFIG, _readme_settings())) == []


def test_a_default_that_differs_is_told_with_both_values() -> None:
    """A changed value in config.toml is held against the program's own default."""
    changed = CONFIG.replace("idle_seconds = 900", "idle_seconds = 901")
    faults = list(check_docs.config_faults(changed, _readme_settings()))
    assert faults == ["config.toml: gates.idle_seconds is 901, but the program's default is 900"]


def test_a_missing_key_is_named() -> None:
    """A key that config.toml lost is found, though the program would run with its default."""
    without = "\n".join(line for line in CONFIG.splitlines() if not line.startswith("wire_api"))
    assert list(check_docs.config_faults(without, _readme_settings())) == [
        "config.toml: the key model.wire_api is missing"
    ]


def test_a_readme_row_that_is_missing_or_wrong_is_named() -> None:
    """The README's table is held against the defaults, key by key."""
    rows = _readme_settings().splitlines()
    told = "\n".join(row for row in rows if "`phase1.concurrency`" not in row).replace("| `120` |", "| `121` |")
    faults = list(check_docs.config_faults(CONFIG, told))
    assert "README.md: the table of settings has no row for phase1.concurrency" in faults
    assert "README.md: the default of model.timeout_seconds is told as 121, but it is 120" in faults


def test_a_key_that_the_program_does_not_know_is_named() -> None:
    """What was removed from the program must go from the documentation too."""
    told = _readme_settings() + "\n| `gates.moon_phase` | `1` | howling |"
    assert list(check_docs.config_faults(CONFIG, told)) == ["README.md: the program knows no key gates.moon_phase"]


@pytest.mark.parametrize("line", ["wire_api = 'chat # room'", 'wire_api = "responses"   #', 'wire_api = "responses"'])
def test_a_key_without_a_comment_is_named(line: str) -> None:
    """A mark inside quotes is no comment, and an empty comment says nothing."""
    old = next(row for row in CONFIG.splitlines() if row.startswith("wire_api"))
    faults = list(check_docs.config_faults(CONFIG.replace(old, line), _readme_settings()))
    assert any("a key without a comment" in fault for fault in faults)


def test_an_undocumented_variable_of_a_template_is_named(tmp_path: Path) -> None:
    """Each variable of each template stands in the folder's README, and each template too."""
    (tmp_path / "README.md").write_text("`greet.md` knows `{{name}}`.\n")
    (tmp_path / "greet.md").write_text("Hello {{name}}, it is {{weekday}}.\n")
    (tmp_path / "part.md").write_text("Bye.\n")
    assert list(check_docs.template_faults(tmp_path)) == [
        "prompts/README.md: the variable {{weekday}} of greet.md is not documented",
        "prompts/README.md: the template part.md is not documented",
    ]


def test_an_unexplained_value_is_named() -> None:
    """A value counts as explained only where it stands by itself between backticks."""
    faults = list(check_docs.enum_faults([Mood], "One may be `glad`, or not_so_glad, or `not_so_glad_at_all`."))
    assert faults == ["README.md or docs/architecture.md: `not_so_glad` (Mood) is not explained"]


def test_dead_links_are_named_and_living_ones_are_not(tmp_path: Path) -> None:
    """Files, folders and headings must be there; an absolute path is dead; other sites and code are not looked at."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "other.md").write_text("# A `code` Heading!\n\n```\n# no heading\n```\n")
    (tmp_path / "a.md").write_text(
        "[well](docs/other.md) [well](docs/other.md#a-code-heading) [well](docs) [well](https://example.org/x)\n"
        "[dead](docs/gone.md) [dead](docs/other.md#no-heading) [dead](/docs/other.md) [dead](#nowhere)\n"
        "`[code](gone.md)`\n\n```\n[code](gone.md)\n```\n\n[named]: gone-too.md\n"
    )
    faults = list(check_docs.link_faults(tmp_path, [Path("a.md")]))
    assert faults == [
        "a.md: the link to docs/gone.md leads nowhere",
        "a.md: the link to docs/other.md#no-heading names no heading there",
        "a.md: the link to /docs/other.md leads nowhere",
        "a.md: the link to #nowhere names no heading there",
        "a.md: the link to gone-too.md leads nowhere",
    ]


@pytest.mark.parametrize(
    ("name", "text", "is_fault"),
    [
        ("README.md", "look into /{}/me/notes", True),
        ("README.md", "look into ~/{}/me or $HOME/{}/me or C:/{}/me or https://example.org/{}/me", False),
        ("src/rules.py", 'TEMPORARY = "/{}/"', None),
        ("tests/test_x.py", 'cwd = "/{}/calc"', None),
    ],
)
@pytest.mark.parametrize("folder", ["work", "root", "tmp"])
def test_paths_of_one_machine_are_named(
    tmp_path: Path, name: str, text: str, folder: str, is_fault: bool | None
) -> None:
    """Such a path is a fault in a document; code may have rules about temporary folders, tests invented folders."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text.replace("{}", folder))
    meant = {"src/rules.py": folder == "tmp", "tests/test_x.py": folder in ("work", "tmp")}
    expected = not meant[name] if is_fault is None else is_fault
    assert bool(list(check_docs.machine_path_faults(tmp_path, [Path(name)]))) is expected


def test_the_checkouts_own_path_is_meant_nowhere(tmp_path: Path) -> None:
    """Wherever the checkout lies, its absolute path in a file would be dead on another machine."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_y.py").write_text(f'PLACE = "{tmp_path}"\n')
    assert list(check_docs.machine_path_faults(tmp_path, [Path("tests/test_y.py")])) != []


def test_files_not_yet_added_are_checked_and_ignored_ones_are_not(tmp_path: Path) -> None:
    """A new document is checked before it is committed."""
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("private/\n")
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "b.md").write_text("b")
    (tmp_path / "new.md").write_text("new")
    assert check_docs.tracked_files(tmp_path) == [Path(".gitignore"), Path("new.md")]
