"""The real command, as a person's shell starts it: a process of its own, with a home, a configuration and a state.

In a test::

    machine = Machine(tmp_path)
    machine.configure(gates={"idle_seconds": 0})
    session(1, "Always run make lint.").write(machine.codex)
    assert machine.run("run", "--json").document["phase1"]["succeeded"] == 1
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct
from preloaded import can_be_forked, run_forked
from rollout_logs import CodexSession, thread_id_of

COMMAND = (sys.executable, "-m", "memory_pipeline")
PATIENCE_SECONDS = 30.0
_LOOK_EVERY_SECONDS = 0.02

#: Long enough that a session that ends with it is never too short.
LONG_ANSWER = "That is done, and the tests pass. " * 8


class Ran(Struct, frozen=True, kw_only=True):
    """What one call of the command gave back."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on standard output."""
        return json.loads(self.out)

    @property
    def complaint(self) -> str:
        """The only line on standard error."""
        (line,) = self.err.splitlines()
        return line


class Machine:
    """A fresh machine below one folder: bare homes of both agents, no configuration, no state."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home"
        self.codex = self.home / ".codex"
        self.claude = self.home / ".claude"
        self.state = root / "state"
        self.memories = self.state / "memories"
        self.database = self.state / "memory.db"
        self.elsewhere = root / "elsewhere"  # the working folder
        self._config: Path | None = None
        for folder in (self.codex, self.claude, self.elsewhere):
            folder.mkdir(parents=True)

    @property
    def environment(self) -> dict[str, str]:
        """A clean environment: nothing of whoever runs the tests."""
        return {
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.root / "xdg-config"),
            "XDG_STATE_HOME": str(self.root / "xdg-state"),
            "PATH": os.defpath,
            "LANG": "C.UTF-8",
            "TZ": "UTC",
        }

    def configure(self, **tables: Any) -> Path:
        """Write the configuration that every further call names; the state lies in ``state`` beside it."""
        self._config = self.root / "config.toml"
        self._config.write_text(as_toml({"state_dir": "state", **tables}), encoding="utf-8")
        return self._config

    def run(
        self,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        umask: int = -1,
        told: str = "",
    ) -> Ran:
        """Call the command and wait for its end. It never shows a traceback, and with --json prints JSON alone.

        ``told`` is what it finds on its standard input. It is a fork of a process that has loaded it already, except
        where the environment tells the interpreter itself something (see preloaded.py).
        """
        environment = self.environment | dict(env or {})
        if not can_be_forked(environment):
            with self.start(*arguments, env=env, cwd=cwd, umask=umask) as running:
                return running.wait()
        _, _, module, *words = self.words(*arguments)
        code, out, err = run_forked(
            module, words, env=environment, cwd=cwd or self.elsewhere, umask=umask, told=told, seconds=PATIENCE_SECONDS
        )
        return _checked(Ran(code=code, out=out, err=err), prints_json="--json" in words)

    def run_program(self, program: str | Path, *arguments: str) -> Ran:
        """Run another program, a file of Python, as the command is run."""
        code, out, err = run_forked(
            str(program), arguments, env=self.environment, cwd=self.elsewhere, seconds=PATIENCE_SECONDS
        )
        return Ran(code=code, out=out, err=err)

    def start(
        self,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        umask: int = -1,
        out: int = subprocess.PIPE,
        err: int = subprocess.PIPE,
    ) -> Running:
        """Call the command in an interpreter of its own and leave it running; leaving its context kills it if it is.

        ``out`` and ``err`` are the descriptors that it writes to; what it writes there is not read here.
        """
        return Running(
            self.words(*arguments),
            environment=self.environment | dict(env or {}),
            cwd=cwd or self.elsewhere,
            umask=umask,
            out=out,
            err=err,
        )

    def words(self, *arguments: str) -> tuple[str, ...]:
        """Return the command with its configuration, as it is started."""
        placed = ("--config", str(self._config)) if self._config else ()
        return (*COMMAND, *placed, *arguments)

    def threads(self) -> dict[str, dict[str, Any]]:
        """Return what ``threads list`` tells, by thread id."""
        return {thread["thread_id"]: thread for thread in self.run("threads", "list", "--json").document}

    def thread(self, number: int) -> dict[str, Any]:
        """Return what ``threads show`` tells of the session with this number."""
        shown: dict[str, Any] = self.run("threads", "show", thread_id_of(number), "--json").document
        return shown

    def memory_list(self) -> list[dict[str, Any]]:
        """Return what ``memory list`` tells."""
        listed: list[dict[str, Any]] = self.run("memory", "list", "--json").document
        return listed

    def handbook(self) -> str:
        """Return MEMORY.md."""
        return (self.memories / "MEMORY.md").read_text(encoding="utf-8")

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Read the database beside whoever writes it, leaving it as it is; none while there is no database yet."""
        try:
            return rows_of(self.database, sql)
        except sqlite3.OperationalError:
            return []


class Running:
    """The command while it runs."""

    def __init__(
        self, words: Sequence[str], *, environment: Mapping[str, str], cwd: Path, umask: int, out: int, err: int
    ) -> None:
        self._prints_json = "--json" in words and out == subprocess.PIPE
        self._running = subprocess.Popen(
            words,
            env=dict(environment),
            cwd=cwd,
            umask=umask,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            text=True,
            encoding="utf-8",
        )

    @property
    def is_running(self) -> bool:
        """Whether it has not ended yet."""
        return self._running.poll() is None

    def wait(self, seconds: float = PATIENCE_SECONDS) -> Ran:
        """Wait for its end, at most ``seconds``."""
        out, err = self._running.communicate(timeout=seconds)
        ran = Ran(code=self._running.returncode, out=out or "", err=err or "")
        return _checked(ran, prints_json=self._prints_json)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._running.send_signal(number)

    def kill(self) -> Ran:
        """Kill it as a crash of the machine would, and wait until it is gone."""
        self._running.kill()
        return self.wait()

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        if self.is_running:
            self._running.kill()
        with contextlib.suppress(ValueError):  # its output was read already
            self._running.communicate()


def _checked(ran: Ran, *, prints_json: bool) -> Ran:
    assert "Traceback" not in ran.err, ran.err
    if prints_json and ran.code >= 0:
        json.loads(ran.out)
    return ran


def session(number: int, *prompts: str, age: timedelta = timedelta(days=2), **fields: Any) -> CodexSession:
    """Make an interactive Codex session of ``age`` that the gates let through: prompts, each with a long answer."""
    started = fields.pop("start", None) or moment(age)
    made = CodexSession(thread_id=thread_id_of(number), start=started, **fields)
    for prompt in prompts:
        made.prompt(prompt).answer(LONG_ANSWER)
    return made


def moment(age: timedelta) -> datetime:
    """Return the moment that lies so far back, in whole seconds."""
    return datetime.now(UTC).replace(microsecond=0) - age


def rows_of(database: Path, sql: str) -> list[tuple[Any, ...]]:
    """Read a database without writing to it."""
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        return connection.execute(sql).fetchall()


def wait_until(condition: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> None:
    """Look again and again until a condition holds, and fail when it doesn't in time."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        pause.wait(_LOOK_EVERY_SECONDS)


def as_toml(table: Mapping[str, Any], prefix: str = "") -> str:
    """Write nested settings as TOML."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in table.items() if not isinstance(value, Mapping)]
    for key, value in table.items():
        if isinstance(value, Mapping):
            lines += [f"[{prefix}{key}]", as_toml(value, f"{prefix}{key}.")]
    return "\n".join(lines)


class FileState(Struct, frozen=True, kw_only=True):
    """What must stay the same of a file or folder that nothing touches."""

    mode: int
    mtime_ns: int
    inode: int
    sha256: str  # "" for a folder


def below(folder: Path) -> dict[str, FileState]:
    """Return the state of a folder and of everything below it, by relative path."""
    return {str(path.relative_to(folder)): _state_of(path) for path in _everything(folder)}


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every file below a folder, by relative path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in _everything(folder) if path.is_file()}


def _everything(folder: Path) -> Iterator[Path]:
    yield folder
    yield from sorted(folder.rglob("*"))


def _state_of(path: Path) -> FileState:
    status = path.lstat()
    return FileState(
        mode=stat.S_IMODE(status.st_mode),
        mtime_ns=status.st_mtime_ns,
        inode=status.st_ino,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
    )
