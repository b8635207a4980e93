"""A state with sessions, memories and a backup, for tests of what is kept: in one process, with a clock of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rollout_logs import CodexSession, thread_id_of

from memory_pipeline.app import App
from memory_pipeline.config import Config, load_config
from memory_pipeline.pipeline import PassOptions
from memory_pipeline.records import RunCounts

START = datetime(2026, 9, 1, 9, 0, tzinfo=UTC)
LONG_ANSWER = "That is done, and the tests pass. " * 8


class SetClock:
    """A clock that stands until it is moved."""

    def __init__(self, now: float) -> None:
        self.at = now

    def now(self) -> float:
        """Return the moment that was set."""
        return self.at

    def go_on(self, seconds: float) -> None:
        """Let time pass."""
        self.at += seconds


class KeptState:
    """One state folder, a home of Codex, and a clock that starts days after the sessions."""

    def __init__(self, root: Path, **tables: Any) -> None:
        self.root = root
        self.codex = root / "codex"
        self.codex.mkdir(parents=True)
        (root / "claude").mkdir()
        self.clock = SetClock((START + timedelta(days=2)).timestamp())
        self.config = self._configure(tables)
        self.state = self.config.state_path
        self.database = self.config.database_path
        self.backups = self.config.backups_path

    def say(self, number: int, *prompts: str, after: timedelta = timedelta()) -> None:
        """Write a session of the person's."""
        made = CodexSession(thread_id=thread_id_of(number), start=START + after)
        for prompt in prompts:
            made.prompt(prompt).answer(LONG_ANSWER)
        made.write(self.codex)

    def forget_log(self, number: int) -> None:
        """Delete the log of a session, as its agent does after a time."""
        for path in self.codex.rglob(f"*{thread_id_of(number)}*"):
            path.unlink()

    @contextmanager
    def open(self) -> Iterator[App]:
        """Open the parts on this state, with its clock."""
        with App(self.config, clock=self.clock, environ={}) as app:
            yield app

    def run(self, **options: Any) -> RunCounts:
        """Run one pass, as one command does."""
        with self.open() as app:
            return app.run_once(PassOptions(**options))

    def statements(self) -> set[str]:
        """Return what the active memories say."""
        with self.open() as app:
            return {one.statement for one in app.store.memories.every() if one.status == "active"}

    def handbook(self) -> str:
        """Return MEMORY.md."""
        return (self.config.workspace_path / "MEMORY.md").read_text(encoding="utf-8")

    def write_handbook(self, text: str) -> None:
        """Let the person save MEMORY.md."""
        (self.config.workspace_path / "MEMORY.md").write_text(text, encoding="utf-8")

    def _configure(self, tables: Mapping[str, Any]) -> Config:
        lines = ['state_dir = "state"', "[sources.codex]", f'home = "{self.codex}"']
        lines += ["[sources.claude]", f'home = "{self.root / "claude"}"']
        for name, table in tables.items():
            lines.append(f"[{name}]")
            lines += [
                f"{key} = {value!r}".replace("'", '"').replace("True", "true").replace("False", "false")
                for key, value in table.items()
            ]
        path = self.root / "config.toml"
        path.write_text("\n".join(lines), encoding="utf-8")
        return load_config(str(path), environ={})
