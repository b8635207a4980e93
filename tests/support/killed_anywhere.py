"""Runs the command many times in processes of their own, and kills each at another place, as a crash would.

    python killed_anywhere.py --folder FOLDER [--from STATE] [--every N] -- COMMAND...

Places are the statements that end a transaction or change a job, and each renaming, linking and removing of a file or
folder below the state folder: the process is killed right before it. So whatever a crash can leave is seen, whichever
part of the program is at work, and the program needs no hook for it. (What SQLite was told within a transaction, and
what was written to a file of a temporary name, is the same as nothing for whoever comes after the crash.) COMMAND is
that of ``memory-pipeline``, without ``--state-dir``.

With ``--every`` only each Nth place is taken, the first one included.

FOLDER gets one state folder a place, each a copy of STATE: ``N`` was killed at place N, and ``0`` was never killed.
A copy of all that is FOLDER-as-killed; in FOLDER itself the command was then run twice more in each, its output in
``N.1`` and ``N.2``. Prints as JSON, for each place: its number, its name, the signal that ended the first run
(negative), and the two exit codes.

Processes are forked from one that has worked already, since loading the program is what takes the time.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from command import wait_until

FILE_EVENTS = frozenset({"os.rename", "os.link", "os.remove", "os.rmdir"})
STATEMENTS = ("COMMIT", "UPDATE jobs SET state", "INSERT INTO jobs", "INSERT OR REPLACE INTO extractions")


class Crash:
    """Counts the places that this process comes to, and kills it at one of them; 0: at none."""

    def __init__(self, state: Path, at: int) -> None:
        self.places: list[str] = []
        self._state = str(state)
        self._at = at

    def arm(self) -> None:
        """Watch this process from now on, to its end."""
        sys.addaudithook(self._audit)
        connect = sqlite3.connect

        def watched(*arguments: Any, **named: Any) -> sqlite3.Connection:
            connection: sqlite3.Connection = connect(*arguments, **named)
            connection.set_trace_callback(self._statement)
            return connection

        sqlite3.connect = watched

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in FILE_EVENTS:
            path = os.fsdecode(arguments[0])
            if path.startswith(self._state):
                self._come_to(f"{event} {os.path.relpath(path, self._state)}")

    def _statement(self, statement: str) -> None:
        words = " ".join(statement.split())
        if words.startswith(STATEMENTS):
            self._come_to(words[:40])

    def _come_to(self, place: str) -> None:
        self.places.append(place)
        if len(self.places) == self._at:
            os.kill(os.getpid(), signal.SIGKILL)


def in_child(body: Callable[[], int]) -> int:
    """Call ``body`` in a process of its own; returns its exit code, or the signal that ended it, negative."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            code = body()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run_command(words: Sequence[str], out: Path) -> int:
    """Run the command in this process, its output in a file; returns its exit code."""
    from memory_pipeline.cli.main import run

    streams = sys.stdout, sys.stderr
    with out.open("w", encoding="utf-8") as stream:
        sys.stdout = sys.stderr = stream
        try:
            return run(words)
        finally:
            sys.stdout, sys.stderr = streams


def main() -> int:
    """Kill the command at each of its places, then run it again in each of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--from", dest="state", type=Path)
    parser.add_argument("--every", type=int, default=1, help="take every Nth place alone")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)

    def make_state(name: str) -> Path:
        state = Path(options.folder / name)
        if options.state is not None:
            shutil.copytree(options.state, state, copy_function=shutil.copy2)
        return state

    def words(state: Path) -> list[str]:
        return ["--state-dir", str(state), *options.command]

    def crash_at(number: int) -> int:
        state, out = make_state(str(number)), options.folder / f"{number}.killed"

        def body() -> int:
            crash = Crash(state, number)
            crash.arm()
            code = run_command(words(state), out)
            out.with_suffix(".places").write_text(json.dumps(crash.places), encoding="utf-8")
            return code

        return in_child(body)

    def run_again(number: int, turn: int) -> int:
        state, out = options.folder / str(number), options.folder / f"{number}.{turn}"
        return in_child(lambda: run_command(words(state), out))

    assert run_command(words(make_state("warm")), options.folder / "warm.out") == 0
    assert crash_at(0) == 0
    names = json.loads((options.folder / "0.places").read_text(encoding="utf-8"))
    numbers = range(1, len(names) + 1, options.every)
    killed = [crash_at(number) for number in numbers]
    shutil.copytree(options.folder, options.folder.with_name(f"{options.folder.name}-as-killed"))
    _wait_for_leases(options.folder / str(number) for number in numbers)
    again = [(run_again(number, 1), run_again(number, 2)) for number in numbers]
    json.dump([list(each) for each in zip(numbers, names[:: options.every], killed, again, strict=True)], sys.stdout)
    return 0


def _wait_for_leases(states: Iterable[Path]) -> None:
    """Wait until the leases of those that were killed have run out."""
    latest = max(_lease_until(state / "memory.db") for state in states)
    wait_until(lambda: time.time() > latest)


def _lease_until(database: Path) -> float:
    try:
        with closing(sqlite3.connect(database)) as connection:
            return float(connection.execute("SELECT coalesce(max(lease_until), 0) FROM jobs").fetchone()[0])
    except sqlite3.OperationalError:
        return 0.0  # killed before there was such a table


if __name__ == "__main__":
    raise SystemExit(main())
