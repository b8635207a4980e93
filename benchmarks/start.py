"""How long a new task waits for us. Run: python benchmarks/start.py [--memories N] [--runs N].

Prints one JSON document: medians in milliseconds, and how many times `python -c pass` each of them takes.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from remembered import remember, row

from memory_pipeline.store.store import Store

#: What a start may take, in times of an empty program, and a hook's answer, in milliseconds.
GOAL_RATIO = 10
GOAL_MILLISECONDS = 2_000
PROJECT = "/home/sam/shop"
WORDS = (
    "run",
    "the tests",
    "before",
    "you deploy",
    "build",
    "with make",
    "use",
    "never push",
    "check",
    "the login",
    "report",
)


def main() -> None:
    """Measure on an invented memory, which is deleted afterwards."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memories", type=int, default=1_000, help="how many memories there are")
    parser.add_argument("--runs", type=int, default=21, help="how often each program is started")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "state"
        _remember(state, options.memories)
        taken = _take_turns(_programs(state), options.runs)
    empty = taken["empty program"]
    told = {
        name: {"milliseconds": round(seconds * 1_000, 1), "times_empty": round(seconds / empty, 1)}
        for name, seconds in taken.items()
    }
    goals = {"times_empty": GOAL_RATIO, "milliseconds": GOAL_MILLISECONDS}
    print(json.dumps({"memories": options.memories, "runs": options.runs, "medians": told, "goals": goals}, indent=2))


def _programs(state: Path) -> Mapping[str, Sequence[str]]:
    beside = Path(sys.executable).with_name("memory-pipeline")
    command = (str(beside),) if beside.exists() else (sys.executable, "-m", "memory_pipeline")
    ours = (*command, "--state-dir", str(state))
    return {
        "empty program": (sys.executable, "-c", "pass"),
        "--version": (*command, "--version"),
        "context, with a task": (*ours, "context", "--cwd", PROJECT, "--task", "run the tests and deploy"),
        "context, as a hook": (*ours, "context", "--cwd", PROJECT, "--format", "claude-hook"),
    }


def _take_turns(programs: Mapping[str, Sequence[str]], runs: int) -> dict[str, float]:
    """Start each program in turn, so that a busy moment hits all of them alike; returns medians in seconds."""
    taken: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(runs):
        for name, words in programs.items():
            began = time.perf_counter()
            subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
            taken[name].append(time.perf_counter() - began)
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def _remember(state: Path, count: int) -> None:
    """Make a database that remembers things of the person and of ten projects."""
    store = Store(state / "memory.db")
    chance = random.Random(1)
    scopes = ["user", f"project:{PROJECT}", *(f"project:/home/sam/other{number}" for number in range(8))]
    now = time.time()
    rows = []
    for number in range(count):
        kind = chance.choice(["preference", "knowledge", "failure"])
        statement = " ".join(chance.choices(WORDS, k=12)) + f" number {number}"
        said = now - chance.random() * 3e7
        times = {"first_seen": said, "last_confirmed": said, "learned_at": said}
        rows.append(row(f"m_{number:016x}", statement, scopes[number % len(scopes)], kind=kind, **times))
    remember(store.path, rows)
    store.search.refresh()
    store.close()


if __name__ == "__main__":
    main()
