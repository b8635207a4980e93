"""What a service is to run: which program, on which configuration and state folder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from memory_pipeline.config import AGENT_HOMES, Config, parse_config, user_config_path
from memory_pipeline.errors import UsageError

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class ServiceJob(Struct, frozen=True, kw_only=True):
    """A call of this program that needs nothing of the shell that it was made in: all paths are absolute."""

    program: tuple[str, ...]
    options: tuple[str, ...]  # which configuration and state folder
    environment: tuple[tuple[str, str], ...]  # the homes of agents that a variable names, never a key
    environment_file: str  # where a person may put the key of a model's server; it need not exist
    state_dir: str
    schedule: str

    def __post_init__(self) -> None:
        """Check what no text for a service can hold.

        Raises:
            UsageError: a path holds a line break or another control character, or is no text.
        """
        for value in (*self.words("daemon"), *(value for _, value in self.environment), self.environment_file):
            if _UNPRINTABLE.search(value):
                raise UsageError(f"{value!r} holds a character that no service can be given; use another path")

    def words(self, command: str) -> tuple[str, ...]:
        """Return the words of a call."""
        return (*self.program, *self.options, command)


def service_job(
    config: Config, *, explicit_state_dir: bool, environ: Mapping[str, str], interpreter: str
) -> ServiceJob:
    """Return what a service is to run, so that it works on the very places that ``config`` names.

    ``explicit_state_dir`` says that an option or a variable named the state folder.

    Raises:
        UsageError: a path can't be given to a service.
        OSError: the configuration can't be read.
    """
    options: list[str] = []
    if config.path is not None:
        options += ["--config", config.path]
    if explicit_state_dir or not _names_state_dir(config):
        # The default depends on variables that a service may not have.
        options += ["--state-dir", config.state_dir]
    homes = [(name, environ[name]) for name, _ in AGENT_HOMES.values() if environ.get(name)]
    return ServiceJob(
        # Without -P a module in the working folder, which is the home of the person, would come before our own.
        program=(interpreter, "-P", "-m", "memory_pipeline"),
        options=tuple(options),
        environment=tuple((name, str(Path(home).expanduser().absolute())) for name, home in homes),
        environment_file=str(user_config_path().parent / "environment"),
        state_dir=config.state_dir,
        schedule=config.daemon.schedule,
    )


def _names_state_dir(config: Config) -> bool:
    if config.path is None:
        return False
    path = Path(config.path)
    return bool(parse_config(path.read_text(encoding="utf-8-sig"), path).state_dir)
