"""Calls the command line inside the test's own process, with a terminal's width and a state of its own."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from msgspec import Struct
from phase2_world import World

from memory_pipeline.cli.main import run


class Printed(Struct, frozen=True, kw_only=True, dict=True):
    """What a call gave."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Read standard output as one JSON document."""
        return json.loads(self.out)


class Shell:
    """A folder with a configuration, two bare homes, and a store that a test may fill."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.world = World(folder)
        self.config = folder / "config.toml"
        self.config.write_text(
            'state_dir = "state"\n'
            'memories_dir = "memories"\n'
            '[sources.codex]\nhome = "codex-home"\n'
            '[sources.claude]\nhome = "claude-home"\n',
            encoding="utf-8",
        )
        for name in ("codex-home", "claude-home"):
            (folder / name).mkdir()

    def call(self, *arguments: str, columns: int = 80) -> Printed:
        """Run a command with this configuration."""
        return call("--config", str(self.config), *arguments, columns=columns)


def call(*arguments: str, columns: int = 80) -> Printed:
    """Run a command line."""
    with _logging_kept(), CliRunner().isolation(env={"COLUMNS": str(columns)}) as (out, err, _):
        code = run(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
        return Printed(code=code, out=out.getvalue().decode(), err=err.getvalue().decode())


@contextmanager
def _logging_kept() -> Iterator[None]:
    """Commands set up logging for a process of their own; a test's process goes on afterwards."""
    root, own = logging.getLogger(), logging.getLogger("memory_pipeline")
    before = (root.handlers[:], own.handlers[:], own.level, own.propagate)
    try:
        yield
    finally:
        root.handlers[:], own.handlers[:], own.level, own.propagate = before
