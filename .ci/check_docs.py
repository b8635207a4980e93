"""Fails when the documentation and the program disagree. Looks at the checkout alone: no network.

Run: python .ci/check_docs.py. Prints one line for each fault and ends with 1, or says that all is well and ends with 0.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import click

from memory_pipeline import records
from memory_pipeline.cli.commands import cli
from memory_pipeline.config import Config, as_table, key_names

ROOT = Path(__file__).resolve().parent.parent

#: Keys whose line in config.toml is meant to say something else than the built-in default: a checkout keeps its state
#: beside the file, an installed program in the user's state folder.
MEANT_TO_DIFFER: Mapping[str, object] = {"state_dir": "state"}

#: What a person meets in the output of a command, and so must be able to look up.
SHOWN_ENUMS: Sequence[type[StrEnum]] = (
    records.Agent,
    records.Source,
    records.Speaker,
    records.Coverage,
    records.Gate,
    records.JobState,
    records.EntryKind,
    records.TaskOutcome,
    records.MemoryStatus,
    records.OperationKind,
    records.ClaimOutcome,
    records.Phase2Outcome,
    records.Happened,
    records.DraftLabel,
    records.Readiness,
    records.ReviewStatus,
    records.Decider,
)

_VARIABLE = re.compile(r"\{\{([a-z][a-z0-9_]*)\}\}")
_ASSIGNMENT = re.compile(r"^\s*[A-Za-z_][A-Za-z0-9_]*\s*=")
_CONFIG_ROW = re.compile(r"^\| `([a-z0-9_.]+)` \| `(.*?)` \| (.+) \|$", re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(```+|~~~+)")
_LINK = re.compile(r"\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)|^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)", re.MULTILINE)
_ELSEWHERE = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)
_MACHINE_PATH = re.compile(r"(?<![\w:.~$}*/<>)-])/(?:work|root|tmp)/[\w.-]*")


def main() -> int:
    """Check this checkout."""
    faults = find_faults(ROOT)
    for fault in faults:
        print(fault)
    print(f"{len(faults)} faults in the documentation" if faults else "The documentation agrees with the program.")
    return 1 if faults else 0


def find_faults(root: Path) -> list[str]:
    """Return every fault of the checkout at ``root``, one line each."""
    readme = _read(root / "README.md")
    told = readme + _read(root / "docs/architecture.md")
    files = tracked_files(root)
    return [
        *command_faults(cli, readme),
        *config_faults(_read(root / "config.toml"), readme),
        *template_faults(root / "prompts"),
        *enum_faults(SHOWN_ENUMS, told),
        *link_faults(root, [path for path in files if path.suffix == ".md"]),
        *machine_path_faults(root, files),
    ]


def command_faults(program: click.Command, readme: str) -> Iterator[str]:
    """Yield the commands without a row in the README's table, and the options that their rows leave out."""
    for words, command in _commands(program, ()):
        name = " ".join(words)
        # The options of the program itself stand in the text; a group has no row, its commands have.
        row = _row_of(name, readme) if words else readme
        if isinstance(command, click.Group) and words:
            continue
        if row is None:
            yield f"README.md: the table of commands has no row for `{name}`"
            continue
        for option in _long_options(command):
            if not re.search(rf"`{option}(?![\w-])", row):
                yield f"README.md: `{option}` of `{name or 'memory-pipeline'}` is not documented"


def config_faults(config_text: str, readme: str) -> Iterator[str]:
    """Yield where config.toml, the README's table and the built-in defaults disagree."""
    written = dict(_leaves(tomllib.loads(config_text)))
    defaults = {**dict(_leaves(as_table(Config()))), **MEANT_TO_DIFFER}
    told = {name: default for name, default, _ in _CONFIG_ROW.findall(readme)}
    for name in key_names():
        if name not in written:
            yield f"config.toml: the key {name} is missing"
        elif written[name] != defaults[name]:
            yield f"config.toml: {name} is {written[name]!r}, but the program's default is {defaults[name]!r}"
        if name not in told:
            yield f"README.md: the table of settings has no row for {name}"
        elif not _means(told[name], defaults[name]):
            yield f"README.md: the default of {name} is told as {told[name]}, but it is {defaults[name]!r}"
    for name in sorted((written.keys() | told.keys()) - set(key_names())):
        where = "config.toml" if name in written else "README.md"
        yield f"{where}: the program knows no key {name}"
    for number, line in enumerate(config_text.splitlines(), start=1):
        if _ASSIGNMENT.match(line) and not _comment_of(line):
            yield f"config.toml, line {number}: a key without a comment that says what it does"


def template_faults(folder: Path) -> Iterator[str]:
    """Yield the templates and variables that prompts/README.md does not name."""
    readme = _read(folder / "README.md")
    for path in sorted(folder.glob("*.md")):
        if path.name == "README.md":
            continue
        if f"`{path.name}`" not in readme:
            yield f"prompts/README.md: the template {path.name} is not documented"
        for name in sorted(set(_VARIABLE.findall(_read(path)))):
            if f"`{{{{{name}}}}}`" not in readme:
                yield f"prompts/README.md: the variable {{{{{name}}}}} of {path.name} is not documented"


def enum_faults(enums: Iterable[type[StrEnum]], told: str) -> Iterator[str]:
    """Yield the values that a command may print and that neither the README nor the architecture explains."""
    for enum in enums:
        for value in enum:
            if f"`{value.value}`" not in told:
                yield f"README.md or docs/architecture.md: `{value.value}` ({enum.__name__}) is not explained"


def link_faults(root: Path, documents: Iterable[Path]) -> Iterator[str]:
    """Yield the relative links of Markdown files that lead to no file, or to no heading of it."""
    for document in documents:
        text = _without_code(_read(root / document))
        for match in _LINK.finditer(text):
            target = match.group(1) or match.group(2)
            if _ELSEWHERE.match(target):
                continue
            path, _, anchor = target.partition("#")
            place = (root / document).parent / path if path else root / document
            if path.startswith("/") or not place.exists():
                yield f"{document}: the link to {target} leads nowhere"
            elif anchor and place.suffix == ".md" and anchor not in _anchors(_read(place)):
                yield f"{document}: the link to {target} names no heading there"


def machine_path_faults(root: Path, files: Iterable[Path]) -> Iterator[str]:
    """Yield where a path of one particular machine stands in a tracked file.

    Two kinds of mention are meant: rules of the code about temporary folders, and the working folders that invented
    logs of the tests name. The path of this very checkout is meant nowhere.
    """
    for file in files:
        try:
            text = (root / file).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            found = [match.group() for match in _MACHINE_PATH.finditer(line) if not _is_meant(file, match.group())]
            if len(root.parts) > 2 and str(root) in line:
                found.append(str(root))
            for path in dict.fromkeys(found):
                yield f"{file}, line {number}: {path} is a path of one machine"


def tracked_files(root: Path) -> list[Path]:
    """List the files that git tracks or would track, relative to ``root``, by name."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
    )
    return sorted(Path(name) for name in listing.stdout.decode().split("\0") if name and (root / name).is_file())


def _commands(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if (inner := command.get_command(context, name)) is not None:
                yield from _commands(inner, (*words, name))


def _row_of(name: str, readme: str) -> str | None:
    rows = re.findall(rf"^\| `{re.escape(name)}(?:`|(?: \[?[A-Z-]+\]?)+`).*$", readme, re.MULTILINE)
    return "\n".join(rows) or None


def _long_options(command: click.Command) -> Iterator[str]:
    for parameter in command.params:
        yield from (name for name in parameter.opts if name.startswith("--"))


def _leaves(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _means(told: str, default: object) -> bool:
    try:
        return bool(tomllib.loads(f"value = {told}")["value"] == default)
    except tomllib.TOMLDecodeError:
        return False


def _comment_of(line: str) -> str:
    """Return the comment behind a value; a ``#`` inside quotes is none."""
    quoted = ""
    for position, character in enumerate(line):
        if quoted:
            quoted = "" if character == quoted else quoted
        elif character in "\"'":
            quoted = character
        elif character == "#":
            return line[position + 1 :].strip()
    return ""


def _without_code(text: str) -> str:
    """Blank out fenced blocks and code spans, in which nothing is a link."""
    lines = []
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark.group(1).startswith(fence) else fence
            lines.append("")
        elif mark:
            fence = mark.group(1)
            lines.append("")
        else:
            lines.append(re.sub(r"`[^`]*`", "", line))
    return "\n".join(lines)


def _anchors(text: str) -> set[str]:
    anchors: set[str] = set()
    inside_fence = False
    for line in text.splitlines():
        inside_fence ^= bool(_FENCE.match(line))
        heading = None if inside_fence else re.match(r"^#{1,6}\s+(.*?)\s*#*$", line)
        if heading:
            words = re.sub(r"[^\w\- ]", "", heading.group(1).lower())
            anchors.add(words.replace(" ", "-"))
    return anchors


def _is_meant(file: Path, path: str) -> bool:
    folder = path.split("/")[1]
    return (folder == "tmp" and file.suffix == ".py") or (folder == "work" and file.parts[0] == "tests")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


if __name__ == "__main__":
    sys.exit(main())
