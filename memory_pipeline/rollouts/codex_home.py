"""The home of Codex as a reader of our memory: whether the workspace is its memory folder, and is left to us.

Codex has two memory pipelines, and its config.toml says which one it uses and whether it generates memories by itself.
It reads what we write only with the first one, and leaves it alone only while its own generation is off.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from memory_pipeline.config import AGENT_HOMES, Config
from memory_pipeline.errors import ConfigError
from memory_pipeline.records import Agent

CONFIG_FILE = "config.toml"
MEMORY_FOLDER = "memories"
NEWER_MEMORY_FOLDER = "memories_v2"

#: What Codex must be told so that it reads our memory and writes none of its own, as lines of its config.toml.
FEATURE_LINES = ("[features]", "memories = true")
MEMORY_LINES = (
    "[memories]",
    'version = "v1"',
    "generate_memories = false",
    "use_memories = true",
    'consolidation_model = ""',
)
#: What shows that the folder above a memory folder is a home of Codex, where no setting names it.
_TRACES = ("sessions", "archived_sessions", "auth.json", "installation_id")
_MOST_BYTES = 4 << 20


class CodexReader(Struct, frozen=True, kw_only=True):
    """A home of Codex whose memory folder is our workspace."""

    home: Path
    hints: tuple[str, ...] = ()  # sentences for the person: what keeps Codex from reading it, or lets it interfere


def is_read_by_codex(config: Config) -> bool:
    """Whether the workspace is the memory folder of that Codex whose logs are read."""
    return _is_same(config.workspace_path, Path(config.sources.codex.home) / MEMORY_FOLDER)


def check_codex_home(config: Config, environ: Mapping[str, str]) -> CodexReader | None:
    """Check that Codex may take the workspace as its memory; None when the workspace is no folder of Codex.

    Raises:
        ConfigError: the workspace is a folder that Codex writes itself, or its config.toml does not let us write
            there; the message says what to put into it.
    """
    for known in _homes(config, environ):
        if _is_same(config.workspace_path, known):
            raise ConfigError(
                f"memories_dir: {config.workspace_path} is the home of Codex, which holds more than memories; "
                f"name {known / MEMORY_FOLDER}"
            )
    newer = _home_with(NEWER_MEMORY_FOLDER, config, environ)
    if newer is not None:
        raise ConfigError(
            f"memories_dir: {config.workspace_path} belongs to the second memory pipeline of Codex, which writes it "
            f"itself; name {newer / MEMORY_FOLDER}, which its first one reads"
        )
    home = _home_with(MEMORY_FOLDER, config, environ)
    if home is None:
        return None
    path = home / CONFIG_FILE
    settings = _read(path)
    _check_settings(settings, path, whole=True)
    for profile in sorted(home.glob(f"*.{CONFIG_FILE}")):
        overlay = _read_profile(profile)
        if overlay.keys() & {"memories"}:
            merged = {
                **settings,
                "memories": {**_table(settings, "memories", path), **_table(overlay, "memories", profile)},
            }
            _check_settings(merged, profile, whole=False)
    return CodexReader(home=home, hints=_hints(settings, path))


def _home_with(folder: str, config: Config, environ: Mapping[str, str]) -> Path | None:
    workspace = config.workspace_path
    for home in _homes(config, environ):
        if _is_same(workspace, home / folder):
            return home
    resolved = Path(os.path.realpath(workspace))
    above = resolved.parent
    is_a_home = (above / CONFIG_FILE).is_file() and any((above / name).exists() for name in _TRACES)
    return above if resolved.name == folder and is_a_home else None


def _homes(config: Config, environ: Mapping[str, str]) -> list[Path]:
    """List where a home of Codex may be: the configured one, the one its variable names, and the default."""
    variable, default = AGENT_HOMES[Agent.CODEX]
    named = [config.sources.codex.home, environ.get(variable, ""), default]
    homes = []
    for name in named:
        try:
            homes += [Path(name).expanduser()] if name else []
        except RuntimeError:  # there is no home of the user
            continue
    return homes


def _is_same(one: Path, other: Path) -> bool:
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    try:
        return one.samefile(other)  # a file system that takes capitals for small letters
    except OSError:
        return False


def _read(path: Path) -> Mapping[str, Any]:
    if not os.path.lexists(path):
        raise ConfigError(
            f"{path} does not exist, so Codex would not read the memory; make it, and put these lines into it:",
            lines=(*FEATURE_LINES, *MEMORY_LINES),
        )
    try:
        return _parse(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError(
            f"{path} can't be read, so nobody knows whether Codex leaves its memory folder to us: {reason}; mend it"
        ) from error


def _read_profile(path: Path) -> Mapping[str, Any]:
    try:
        return _parse(path)
    except (OSError, ValueError):
        return {}  # Codex starts with no profile that it can't read either.


def _parse(path: Path) -> Mapping[str, Any]:
    """Read a TOML file, through a link too: configurations are often kept elsewhere.

    Raises:
        OSError, ValueError: it can't be read, or is no TOML.
    """
    if not path.is_file():
        raise ValueError("it is no file")
    if path.stat().st_size > _MOST_BYTES:
        raise ValueError(f"it has more than {_MOST_BYTES} bytes")
    return tomllib.loads(path.read_text(encoding="utf-8-sig"))


def _check_settings(settings: Mapping[str, Any], path: Path, *, whole: bool) -> None:
    memories = _table(settings, "memories", path)
    wrong = []
    if memories.get("version") != "v1":
        wrong.append('does not select the first memory pipeline of Codex (version = "v1"), which reads this folder')
    if memories.get("generate_memories") is not False:
        wrong.append("lets Codex generate memories itself (generate_memories), which rewrites this folder")
    if not wrong:
        return
    where = "put these lines into it" if "memories" not in settings else "let these lines stand in its table [memories]"
    if whole and _table(settings, "features", path).get("memories") is not True:
        raise ConfigError(
            f"{path} {' and '.join(wrong)}; {where}, and its features likewise:", lines=(*FEATURE_LINES, *MEMORY_LINES)
        )
    raise ConfigError(f"{path} {' and '.join(wrong)}; {where}:", lines=MEMORY_LINES)


def _table(settings: Mapping[str, Any], name: str, path: Path) -> Mapping[str, Any]:
    table = settings.get(name, {})
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: {name} is no table; mend it")
    return table


def _hints(settings: Mapping[str, Any], path: Path) -> tuple[str, ...]:
    """Say what else keeps Codex from reading the memory. None of it harms what we write, so it is no refusal."""
    memories = _table(settings, "memories", path)
    hints = []
    if _table(settings, "features", path).get("memories") is not True:
        hints.append(f"{path} does not switch memories on, so Codex reads none: put memories = true under [features]")
    if memories.get("use_memories") is False:
        hints.append(f"{path} says use_memories = false, so Codex reads no memory: put use_memories = true there")
    if memories.get("consolidation_model") != "":
        hints.append(
            f"Codex consolidates at its start even with generate_memories = false, and rewrites {MEMORY_FOLDER}; "
            f'consolidation_model = "" under [memories] of {path} keeps it from that'
        )
    return tuple(hints)
