"""Two runs at once, and a run that meets the lock."""

from __future__ import annotations

import contextlib
import re
import signal
import sqlite3
import subprocess
import threading
from collections import Counter

import pytest
from command import PATIENCE_SECONDS, Machine, session, wait_until
from model_server import ModelServer, Reply, Request

from memory_pipeline.lock import os_lock

MARK = re.compile(r"marker-(\d+)")


def marked_rule(number: int) -> str:
    """Return a direction that names its session, so that a request tells whose it is."""
    return f"From now on always run task marker-{number} before you commit."


def answer_for(request: Request) -> Reply:
    """Answer as a model does that repeats the direction, citing the first row."""
    (number,) = set(MARK.findall(request.shown))
    entry = {
        "kind": "preference",
        "scope": "project",
        "condition": "",
        "statement": marked_rule(int(number)),
        "evidence": [1],
    }
    task = {"title": f"Task {number}", "outcome": "success", "entries": [entry]}
    return Reply(answer={"rollout_summary": "A rule was given.", "rollout_slug": f"rule_{number}", "tasks": [task]})


def test_two_runs_share_the_threads_and_one_consolidates(machine: Machine) -> None:
    """While each of two runs works on its threads, none is asked twice; the end finds all of them remembered."""
    for number in range(1, 5):
        session(number, marked_rule(number), cwd=f"/home/sam/p{number}").write(machine.codex)
    both_are_at_work = threading.Event()

    def answer_when_both_work(request: Request) -> Reply:
        assert both_are_at_work.wait(PATIENCE_SECONDS)
        return answer_for(request)

    with ModelServer(default=answer_when_both_work) as server:
        machine.configure(
            model={"provider": "openai", "extract_model": "m", "base_url": server.base_url},
            phase1={"concurrency": 2},
            phase2={"curator": "rules"},
        )
        with machine.start("run", "--json") as one:
            assert server.wait_for_requests(2)
            with machine.start("run", "--json") as other:
                assert server.wait_for_requests(4)
                both_are_at_work.set()
                ran = [one.wait(), other.wait()]
        asked = Counter(number for request in server.requests for number in set(MARK.findall(request.shown)))
    assert asked == Counter({str(number): 1 for number in range(1, 5)})
    assert sum(each.document["phase1"]["claimed"] for each in ran) == 4
    assert sum(each.document["phase1"]["succeeded"] for each in ran) == 4
    outcomes = [each.document["phase2"]["outcome"] for each in ran]
    assert "consolidated" in outcomes
    for each in ran:
        assert each.code == (75 if each.document["phase2"]["outcome"] == "locked" else 0)
    assert machine.run("run", "--json").code == 0
    assert [number for number in range(1, 5) if f"marker-{number}" not in machine.handbook()] == []
    assert {thread["attempts"] for thread in machine.threads().values()} == {1}


def test_concurrent_first_starts_extract_each_thread_once(machine: Machine) -> None:
    """Runs that are all the first meet in one lock while the database is made; each thread is claimed once."""
    for number in range(1, 7):
        session(number, marked_rule(number), cwd=f"/home/sam/p{number}").write(machine.codex)
    with contextlib.ExitStack() as stack:
        started = [stack.enter_context(machine.start("run", "--json")) for _ in range(3)]
        ran = [each.wait() for each in started]
    assert {each.code for each in ran} <= {0, 75}
    assert sum(each.document["phase1"]["claimed"] for each in ran) == 6
    assert "consolidated" in {each.document["phase2"]["outcome"] for each in ran}
    machine.run("run", "--json")
    assert [number for number in range(1, 7) if f"marker-{number}" not in machine.handbook()] == []
    assert {thread["attempts"] for thread in machine.threads().values()} == {1}


def test_a_run_waits_for_another_programs_write_lock(machine: Machine) -> None:
    """While another program holds SQLite's write lock a run waits instead of failing, and then loses nothing."""
    session(1, marked_rule(1)).write(machine.codex)
    machine.run("scan", "--json")
    with contextlib.closing(sqlite3.connect(machine.database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with machine.start("run", "--json") as waiting:
            with pytest.raises(subprocess.TimeoutExpired):
                waiting.wait(1.5)
            other.execute("ROLLBACK")
            ran = waiting.wait()
    assert (ran.code, ran.document["phase1"]["succeeded"], ran.document["phase2"]["outcome"]) == (0, 1, "consolidated")


def test_a_held_lock_is_told_and_what_was_extracted_stays(machine: Machine) -> None:
    """Phase one works all the same; phase two reports locked, in one line for the person, and the run exits 75."""
    session(1, marked_rule(1)).write(machine.codex)
    machine.state.mkdir(mode=0o700)
    with os_lock(machine.state / "memories.lock", purpose="a test"):
        ran = machine.run("run", "--json")
        assert ran.code == 75
        assert (ran.document["phase1"]["succeeded"], ran.document["phase2"]["outcome"]) == (1, "locked")
        assert "--wait" in ran.complaint
        assert machine.run("--phase2").code == 75
        assert machine.run("run", "--phase1", "--json").code == 0
        assert not (machine.memories / "MEMORY.md").exists()
    after = machine.run("run", "--json")
    assert (after.code, after.document["phase2"]["outcome"]) == (0, "consolidated")


def test_with_wait_a_run_waits_for_the_lock(machine: Machine) -> None:
    """It extracts, waits for its turn, and then consolidates and exits 0."""
    session(1, marked_rule(1)).write(machine.codex)
    machine.state.mkdir(mode=0o700)
    with contextlib.ExitStack() as held:
        held.enter_context(os_lock(machine.state / "memories.lock", purpose="a test"))
        with machine.start("run", "--wait", "--json") as waiting:
            wait_until(lambda: ("done",) in machine.rows("SELECT state FROM jobs"))
            assert machine.run("run", "--json").code == 75  # it took longer than the other one needed to give up
            assert waiting.is_running
            held.close()
            ran = waiting.wait()
    assert (ran.code, ran.document["phase2"]["outcome"]) == (0, "consolidated")
    assert "marker-1" in machine.handbook()


def test_a_waiting_run_can_be_stopped(machine: Machine) -> None:
    """SIGTERM ends the wait for the lock; what was extracted stays."""
    session(1, marked_rule(1)).write(machine.codex)
    machine.state.mkdir(mode=0o700)
    with (
        os_lock(machine.state / "memories.lock", purpose="a test"),
        machine.start("run", "--wait", "--json") as waiting,
    ):
        wait_until(lambda: ("done",) in machine.rows("SELECT state FROM jobs"))
        waiting.send(signal.SIGTERM)
        assert waiting.wait(10).code == 130
    assert machine.thread(1)["state"] == "done"
