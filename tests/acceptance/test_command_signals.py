"""A run or a daemon that is asked to stop, or is killed, while a model hangs."""

from __future__ import annotations

import signal
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from command import Machine, Ran, Running, session, wait_until
from model_server import ModelServer, answer, hang, status
from rollout_logs import thread_id_of

RULE = "From now on always run make lint before you commit."
STOP_SECONDS = 10
MANY = 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_gives_back_what_is_in_flight(machine: Machine, number: signal.Signals) -> None:
    """While the model hangs, a signal ends the run within 10 s with 130; the jobs are pending with no try used."""
    for each in (1, 2, 3):
        session(each, RULE).write(machine.codex)
    with ModelServer(default=hang()) as server:
        _ask(machine, server, phase1={"concurrency": 2})
        with machine.start("run", "--json") as running:
            assert server.wait_for_requests(2)
            assert _states(machine) == {"running": 2, "pending": 1}
            # The files beside the database are there only while it is in use.
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in machine.state.glob("memory.db*")}
            assert modes == {"memory.db": 0o600, "memory.db-wal": 0o600, "memory.db-shm": 0o600}
            ran = _stop(running, number)
        assert ran.code == 130
        assert ran.document["exit_code"] == 130
        assert len(ran.err.splitlines()) == 1
        assert _states(machine) == {"pending": 3}
        assert {thread["attempts"] for thread in machine.threads().values()} == {0}
    with ModelServer() as server:
        _ask(machine, server)
        assert machine.run("run", "--json").document["phase1"]["no_output"] == 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_scan_that_was_not_through_says_so(machine: Machine, number: signal.Signals) -> None:
    """It ends with 130, what it read by then is known, and the next one reads the rest."""
    machine.configure()
    for each in range(MANY):
        session(each, RULE).write(machine.codex)
    with machine.start("scan", "--json") as running:
        wait_until(lambda: machine.rows("SELECT 1 FROM threads"))
        with writing(machine):  # so that it is not through before it is told
            running.send(number)
        ran = running.wait(STOP_SECONDS)
    assert ran.code == 130
    assert ran.document["exit_code"] == 130
    assert f"of {MANY} logs were read" in ran.complaint
    known = len(machine.threads())
    assert 0 < known < MANY
    assert machine.run("scan", "--json").document["opened"] == MANY - known
    assert len(machine.threads()) == MANY


def test_a_signal_between_two_tries_ends_the_wait(machine: Machine) -> None:
    """A run that waits before it asks a failing server again stops as quickly, and uses no try."""
    session(1, RULE).write(machine.codex)
    with ModelServer(default=status(429, headers={"Retry-After": "9"})) as server:
        _ask(machine, server)
        with machine.start("run", "--json") as running:
            assert server.wait_for_requests(1)
            ran = _stop(running, signal.SIGTERM)
        assert ran.code == 130
    assert (machine.thread(1)["state"], machine.thread(1)["attempts"]) == ("pending", 0)


def test_a_daemon_works_at_its_start_and_ends_well(machine: Machine) -> None:
    """The first pass comes at once; SIGTERM ends the daemon with 0; its log names passes, not words."""
    machine.configure(daemon={"schedule": "0 0 1 1 *"})
    session(1, RULE).write(machine.codex)
    with machine.start("daemon") as running:
        wait_until((machine.memories / "MEMORY.md").is_file)
        wait_until(lambda: ("done",) in machine.rows("SELECT state FROM consolidations"))
        ran = _stop(running, signal.SIGTERM)
    assert (ran.code, ran.out) == (0, "")
    assert "pass done" in ran.err
    assert "make lint" not in ran.err
    assert "make lint" in machine.handbook()


def test_a_daemon_gives_back_what_is_in_flight(machine: Machine) -> None:
    """SIGTERM while the model hangs ends the daemon within 10 s with 0; the job is pending with no try used."""
    session(1, RULE).write(machine.codex)
    with ModelServer(default=hang()) as server:
        _ask(machine, server, daemon={"schedule": "* * * * *"})
        with machine.start("daemon") as running:
            assert server.wait_for_requests(1)
            ran = _stop(running, signal.SIGTERM)
    assert ran.code == 0
    assert (machine.thread(1)["state"], machine.thread(1)["attempts"]) == ("pending", 0)


def test_a_daemon_refuses_a_schedule_that_is_none(machine: Machine) -> None:
    """One line that names the key, exit code 2, and nothing is done."""
    machine.configure(daemon={"schedule": "every day"})
    session(1, RULE).write(machine.codex)
    ran = machine.run("daemon")
    assert ran.code == 2
    assert "daemon.schedule" in ran.complaint
    assert not machine.state.exists()


def test_a_killed_run_is_taken_over_once_its_lease_ran_out(machine: Machine) -> None:
    """After kill -9 in phase one nobody waits longer than the lease; each thread is then extracted once."""
    for each in (1, 2, 3):
        session(each, RULE).write(machine.codex)
    with ModelServer([hang(), hang()], default=answer({})) as server:
        _ask(machine, server, phase1={"concurrency": 2, "lease_seconds": 1.5})
        with machine.start("run", "--json") as running:
            assert server.wait_for_requests(2)
            running.kill()
        assert _states(machine) == {"running": 2, "pending": 1}
        first = machine.run("run", "--json").document["phase1"]
        (lease_until,) = max(machine.rows("SELECT coalesce(max(lease_until), 0) FROM jobs"))
        wait_until(lambda: time.time() > lease_until)
        second = machine.run("run", "--json").document["phase1"]
        assert first["no_output"] + second["no_output"] == 3
        assert len(server.requests) == 2 + 3
        assert machine.run("run", "--json").document["phase1"]["claimed"] == 0
    attempts = sorted(thread["attempts"] for thread in machine.threads().values())
    assert attempts == [1, 2, 2]  # dying used a try
    assert _states(machine) == {"no_output": 3}


def test_a_worker_that_dies_every_time_exhausts_its_thread(machine: Machine) -> None:
    """With its tries used up by dead workers a thread is exhausted, told so, and a person can have it tried again."""
    session(1, RULE).write(machine.codex)
    with ModelServer([hang()], default=answer({})) as server:
        _ask(machine, server, phase1={"max_attempts": 1, "lease_seconds": 1})
        with machine.start("run", "--json") as running:
            assert server.wait_for_requests(1)
            running.kill()
        ((lease_until,),) = machine.rows("SELECT lease_until FROM jobs")
        wait_until(lambda: time.time() > lease_until)
        assert machine.run("run", "--json").document["phase1"]["claimed"] == 0
        thread = machine.thread(1)
        assert thread["state"] == "exhausted"
        assert "died" in thread["last_error"]
        assert machine.run("threads", "retry", thread_id_of(1), "--json").document["state"] == "pending"
        assert machine.run("run", "--json").document["phase1"]["no_output"] == 1


@contextmanager
def writing(machine: Machine) -> Iterator[None]:
    """Keep everybody else from writing into the database."""
    with closing(sqlite3.connect(machine.database, isolation_level=None, timeout=STOP_SECONDS)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


def _ask(machine: Machine, server: ModelServer, **tables: object) -> None:
    machine.configure(model={"provider": "openai", "extract_model": "m", "base_url": server.base_url}, **tables)


def _stop(running: Running, number: signal.Signals) -> Ran:
    running.send(number)
    return running.wait(STOP_SECONDS)


def _states(machine: Machine) -> dict[str, int]:
    return dict(machine.rows("SELECT state, count(*) FROM jobs GROUP BY state"))
