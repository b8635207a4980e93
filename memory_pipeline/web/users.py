"""The users of a server: each has a state folder of their own, and nobody's calls reach another's."""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from memory_pipeline.config import Config, MetricsConfig, SettingsConfig, SourceConfig, SourcesConfig
from memory_pipeline.errors import UsageError
from memory_pipeline.files import make_private_folder

#: Who runs the server: their state folder is the one that the command line works on.
OWNER = "owner"
#: Lower case alone: some file systems take ``Ann`` and ``ann`` for one folder.
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}", re.ASCII)


class User(Struct, frozen=True, kw_only=True):
    """Somebody whom a token or a login stands for, and the configuration that their calls work on."""

    name: str
    config: Config


class Users:
    """Those who may have tokens."""

    def __init__(self, config: Config) -> None:
        """``config`` is the owner's."""
        self._config = config

    def get(self, name: str) -> User | None:
        """Return a user, None where there is none of this name."""
        if name == OWNER:
            return User(name=name, config=self._config)
        if not _NAME.fullmatch(name) or not (self._config.users_path / name).is_dir():
            return None
        return User(name=name, config=self._config_of(name))

    def make(self, name: str) -> User:
        """Return a user, whose state folder is made where there is none.

        Raises:
            UsageError: the name can't be one.
            OSError: the folder can't be made.
        """
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"--user: {name!r} can't be a name; take up to 32 lower-case letters, digits, - and _, a letter first"
            )
        if name != OWNER:
            make_private_folder(self._config.users_path / name)
        found = self.get(name)
        if found is None:
            raise UsageError(
                f"--user: {self._config.users_path / name} is no folder; move it away, or take another name"
            )
        return found

    def _config_of(self, name: str) -> Config:
        """Return the owner's configuration as it holds for somebody else: another state, none of the owner's logs."""
        state = self._config.users_path / name
        off = SourceConfig(enabled=False, home=str(state / "no-logs"))
        return replace(
            self._config,
            state_dir=str(state),
            memories_dir=str(state / "memories"),
            settings=SettingsConfig(generate_memories=False, use_memories=False),
            sources=SourcesConfig(codex=off, claude=off),
            gates=replace(
                self._config.gates,
                external_context="skip",
                min_rate_limit_remaining_percent=20,
                idle_seconds=900,
                min_duration_seconds=30,
                min_result_chars=200,
            ),
            # A program that the owner named for themselves reads nothing of others.
            review=replace(self._config.review, collaborator=""),
            metrics=MetricsConfig(),
            # Theirs are the defaults of a new user, whatever the owner wrote for themselves.
            written=frozenset(key for key in self._config.written if key.startswith("model.")),
        )
