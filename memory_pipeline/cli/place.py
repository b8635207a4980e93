"""Where a command works: configuration, state, and the parts opened on them; the exit codes."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import click

from memory_pipeline.errors import UsageError

if TYPE_CHECKING:
    from memory_pipeline.app import App
    from memory_pipeline.config import Config

T = TypeVar("T")

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_LOCKED = 75
EXIT_INTERRUPTED = 130


class AtOnce(int):
    """An exit code with which the program ends at once: nothing is left to do, and work that hangs is left alone."""


JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


class Place(NamedTuple):
    """Which configuration and state the command line names. A named tuple: `--version` needs no library of records."""

    config_path: str | None
    state_dir: str | None

    def load(self) -> Config:
        """Read the configuration."""
        from memory_pipeline.config import load_config

        return load_config(self.config_path, self.state_dir)

    def command(self, words: str) -> str:
        """Return how to call a command for this same place, to show to the person."""
        import shlex

        parts = [_program()]
        if self.config_path:
            parts += ["--config", shlex.quote(self.config_path)]
        if self.state_dir:
            parts += ["--state-dir", shlex.quote(self.state_dir)]
        return " ".join([*parts, words])


def _program() -> str:
    """Return how this program was called, so that what we print can be typed as it stands."""
    import shlex
    import shutil

    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        beside = Path(sys.executable).with_name("memory-pipeline")
        if not beside.exists():
            # Without -P a module in the working folder, which may be a stranger's, would come before our own.
            return f"{shlex.quote(sys.executable)} -P -m memory_pipeline"
        called = beside
    found = shutil.which("memory-pipeline")
    is_on_path = found is not None and called.exists() and Path(found).samefile(called)
    return "memory-pipeline" if is_on_path or not called.exists() else shlex.quote(str(called.absolute()))


@contextmanager
def open_app(config: Config, stop: threading.Event | None = None) -> Iterator[App]:
    """Open the parts that commands work on, and close them at the end."""
    from memory_pipeline.app import App

    with App(config, stop=stop) as app:
        yield app


def find_one(
    name: str, get: Callable[[str], T | None], find_by_prefix: Callable[..., list[T]], *, noun: str, listing: str
) -> T:
    """Find what an id, or the beginning of one, names; ``listing`` is the command that shows all.

    Raises:
        UsageError: there is none, or the beginning fits several.
    """
    exact = get(name)
    if exact is not None:
        return exact
    found = find_by_prefix(name, limit=2) if name else []
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"{name} is the beginning of several {noun} ids; give more of it")
    raise UsageError(f"there is no {noun} {name}; `{listing}` shows all")
