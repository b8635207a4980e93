"""kill -9 at every step of both phases, then the command again: as if nothing had happened."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import killed_anywhere
import pytest
from command import Machine, contents, moment, rows_of, session
from model_server import ModelServer, Reply, Request, answer
from rollout_logs import thread_id_of
from state_ends import end_of

NOW = moment(timedelta()).timestamp()
_KEPT_ROWS = """
    SELECT memory_id, status FROM memories
    UNION ALL SELECT 'spent', sum(reserved_tokens) FROM ledger ORDER BY 1
"""
NOTE = "Ask Kim before touching the payment code."
#: What each scenario must have come to at least, so that a place that is no longer seen fails the test.
OF_A_RUN = (
    "INSERT INTO jobs",
    "UPDATE jobs SET state = 'running'",
    "UPDATE jobs SET state = 'done'",
    "INSERT OR REPLACE INTO extractions",
    "COMMIT",
    "os.rename staging/",
    "os.rename baseline.new",
    "os.remove memories/",
    "os.rmdir staging",
)


def first_start(machine: Machine) -> Path | None:
    """Three sessions, and no state folder yet."""
    session(1, "From now on always run make lint before you commit.").write(machine.codex)
    session(2, "From now on always write commit messages in Latin.", cwd="/home/sam/web").write(machine.codex)
    session(3, "In all my projects, never use emojis in commit messages.").write(machine.codex)
    return None


def later_run(machine: Machine) -> Path | None:
    """A state in use: since the last run a session came, one went on, one was disabled, and the person wrote a note."""
    first_start(machine)
    assert machine.run("run", "--json").document["phase2"]["outcome"] == "consolidated"
    handbook = machine.memories / "MEMORY.md"
    handbook.write_text(f"{handbook.read_text(encoding='utf-8')}{NOTE}\n", encoding="utf-8")
    session(4, "From now on always squash before merging.", age=timedelta(days=1)).write(machine.codex)
    session(1, "From now on always run make lint before you commit.", "From now on use pnpm.").write(machine.codex)
    assert machine.run("threads", "disable", thread_id_of(2)).code == 0
    return machine.state


@pytest.mark.parametrize(("scenario", "every"), [(first_start, 3), (later_run, 1)], ids=["first start", "later run"])
def test_a_run_killed_anywhere_is_made_good_by_the_next(
    machine: Machine, tmp_path: Path, scenario: Callable[[Machine], Path | None], every: int
) -> None:
    """At each place: published files whole, old or new; then each thread extracted once, and the same end as ever."""
    before = scenario(machine)
    places = _kill_everywhere(machine, tmp_path / "places", before, every)
    assert _faults(tmp_path / "places", places, before) == []


def test_a_run_killed_anywhere_around_a_model_asks_once_more_at_most(machine: Machine, tmp_path: Path) -> None:
    """So it is with a model that is paid for: what was answered and stored is never asked again."""
    first_start(machine)
    with ModelServer(default=_repeat_the_rule) as server:
        machine.configure(
            phase1={"concurrency": 1},
            phase2={"curator": "rules"},
            model={"provider": "openai", "extract_model": "m", "base_url": server.base_url},
        )
        places = _kill_everywhere(machine, tmp_path / "places", None, every=4)
        asked = len(server.requests)
    assert _faults(tmp_path / "places", places, None) == []
    undisturbed = 3 * (2 + len(places))  # three sessions in each state folder, and in the one that was for warming up
    assert undisturbed <= asked <= undisturbed + len(places)


def test_a_mending_killed_anywhere_is_gone_on_from(machine: Machine, tmp_path: Path) -> None:
    """At each place of mending a damaged database, the next command has all memories, and what was spent."""
    first_start(machine)
    assert machine.run("run").code == 0
    with closing(sqlite3.connect(machine.database)) as plain:
        plain.execute("INSERT INTO ledger (at, phase, model, reserved_tokens) VALUES (?, 'phase1', 'm', 321)", (NOW,))
        plain.commit()
        (page,) = plain.execute("SELECT rootpage FROM sqlite_master WHERE name = 'memories'").fetchone()
    told = rows_of(machine.database, _KEPT_ROWS)
    content = bytearray(machine.database.read_bytes())
    content[(page - 1) * 4096 : (page - 1) * 4096 + 8] = b"\xa5" * 8
    machine.database.write_bytes(content)
    machine.database.with_name("database.suspect").touch()
    places = _kill_everywhere(machine, tmp_path / "places", machine.state, 1, command=("memory", "list", "--json"))
    names = [name for _, name, _, _ in places]
    assert {"os.rename memory.db", "os.rename memory.db.new", "os.remove database.suspect"} <= set(names)
    for number, name, killed, codes in places:
        assert (name, killed, codes) == (name, -9, [0, 0])
        assert (name, rows_of(tmp_path / "places" / str(number) / "memory.db", _KEPT_ROWS)) == (name, told)


def _repeat_the_rule(request: Request) -> Reply:
    """Answer as a model that repeats what the person said, citing the first row."""
    (rule,) = set(re.findall(r"From now on always [a-zA-Z ]+|In all my projects, never [a-z ]+", request.shown))
    entry = {"kind": "preference", "scope": "project", "condition": "", "statement": rule, "evidence": [1]}
    task = {"title": "A rule", "outcome": "success", "entries": [entry]}
    return answer({"rollout_summary": "A rule was given.", "rollout_slug": "rule", "tasks": [task]})


def _faults(folder: Path, places: list[tuple[int, str, int, list[int]]], before: Path | None) -> list[str]:
    names = json.loads((folder / "0.places").read_text(encoding="utf-8"))
    assert [wanted for wanted in OF_A_RUN if not any(name.startswith(wanted) for name in names)] == []
    old = contents(before / "memories") if before is not None else {}
    expected = _end_of_jobs(folder / "0") | end_of(folder / "0")
    return [
        f"{number} ({name}): {fault}"
        for number, name, killed, codes in places
        for fault in _faults_at(folder, number, killed, codes, old, expected)
    ]


def _kill_everywhere(
    machine: Machine, folder: Path, before: Path | None, every: int, *, command: Sequence[str] = ("run", "--json")
) -> list[tuple[int, str, int, list[int]]]:
    copied = ["--from", str(before)] if before is not None else []
    ran = subprocess.run(
        [
            sys.executable,
            killed_anywhere.__file__,
            "--folder",
            str(folder),
            "--every",
            str(every),
            *copied,
            "--",
            "--config",
            str(machine.root / "config.toml"),
            *command,
        ],
        env=machine.environment,
        cwd=machine.elsewhere,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found: list[tuple[int, str, int, list[int]]] = json.loads(ran.stdout)
    return found


def _faults_at(
    folder: Path, number: int, killed: int, codes: list[int], old: dict[str, bytes], expected: dict[str, Any]
) -> Iterator[str]:
    as_killed, state = folder.with_name(f"{folder.name}-as-killed") / str(number), folder / str(number)
    if killed != -9:
        yield f"it was not killed there, but ended with {killed}"
    if codes != [0, 0]:
        yield f"the next runs ended with {codes}: {(folder / f'{number}.1').read_text(encoding='utf-8')}"
        return
    yield from _torn_files(as_killed / "memories", old, expected["workspace"])
    told = {**_end_of_jobs(state), **end_of(state)}
    yield from (f"{part} is not as ever: {told[part]}" for part in expected if told[part] != expected[part])
    done_before = _done_jobs(as_killed)
    again = {job for job, fence in _done_jobs(state).items() if done_before.get(job, fence) != fence}
    if again:
        yield f"extracted once more, though its outcome was stored: {again}"
    second = json.loads((folder / f"{number}.2").read_text(encoding="utf-8"))
    if (second["phase1"]["claimed"], second["phase2"]["outcome"]) != (0, "no_changes"):
        yield f"something was left to do for a second run: {second}"


def _torn_files(workspace: Path, old: dict[str, bytes], new: dict[str, bytes]) -> Iterator[str]:
    found = contents(workspace) if workspace.exists() else {}
    for name in old.keys() | new.keys() | found.keys():
        if not Path(name).name.startswith(".memory-pipeline") and found.get(name) not in (old.get(name), new.get(name)):
            yield f"{name} is neither the old one nor the new one"


def _end_of_jobs(state: Path) -> dict[str, Any]:
    database = state / "memory.db"
    extracted = "SELECT thread_id, count(*) FROM extractions GROUP BY thread_id ORDER BY thread_id"
    standing = "SELECT entry_id FROM entries WHERE withdrawn_at IS NULL ORDER BY entry_id"
    unfinished = "SELECT state FROM consolidations WHERE state NOT IN ('done', 'failed')"
    return {
        "jobs": rows_of(database, "SELECT thread_id, state, owner, lease_until, retry_at FROM jobs ORDER BY thread_id"),
        "extracted": rows_of(database, extracted),
        "entries": rows_of(database, standing),
        "unfinished": rows_of(database, unfinished),
        # A kill may have used one try, and never more.
        "tries": [attempts for (attempts,) in rows_of(database, "SELECT max(attempts) > 2 FROM jobs")],
    }


def _done_jobs(state: Path) -> dict[tuple[str, str], int]:
    """Return the fence tokens of what is extracted on disk, by thread and what it said; none without such a table."""
    database = state / "memory.db"
    tables = {name for (name,) in rows_of(database, "SELECT name FROM sqlite_master")} if database.exists() else set()
    if "jobs" not in tables:
        return {}
    done = rows_of(database, "SELECT thread_id, source_digest, fence FROM jobs WHERE state = 'done'")
    return {(thread_id, digest): fence for thread_id, digest, fence in done}
