"""The daemon as a process: new configurations, a second daemon, runs beside it, signals that come twice."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import PATIENCE_SECONDS, Machine, Running, session, wait_until
from model_server import ModelServer, Reply, Request, answer, hang

from memory_pipeline.lock import os_lock

YEARLY = {"schedule": "0 0 1 1 *", "jitter_seconds": 0}
RULE = "From now on always run make lint before you commit."


class Watched:
    """A daemon whose log can be read while it works."""

    def __init__(self, machine: Machine, running: Running, log: Path) -> None:
        self.machine = machine
        self.running = running
        self._log = log

    @property
    def log(self) -> str:
        """What it has logged so far."""
        return self._log.read_text(encoding="utf-8")

    def wait_for(self, words: str, times: int = 1) -> None:
        """Wait until the log holds these words so often."""
        wait_until(lambda: self.log.count(words) >= times or not self.running.is_running)
        assert self.log.count(words) >= times, self.log

    def end(self) -> str:
        """Ask it to stop; returns its whole log."""
        self.running.send(signal.SIGTERM)
        assert self.running.wait(10).code == 0, self.log
        return self.log


@contextlib.contextmanager
def daemon(machine: Machine) -> Iterator[Watched]:
    """Start a daemon and leave it running."""
    log = machine.root / "daemon.log"
    with log.open("ab") as file, machine.start("daemon", err=file.fileno()) as running:
        yield Watched(machine, running, log)


class Held:
    """A model that answers only once it may."""

    def __init__(self) -> None:
        self._may_answer = threading.Event()

    def __call__(self, request: Request) -> Reply:
        assert self._may_answer.wait(PATIENCE_SECONDS)
        return answer({})

    def let_go(self) -> None:
        """Let it answer, now and from now on."""
        self._may_answer.set()


def test_a_changed_configuration_takes_effect_and_a_broken_one_does_not(machine: Machine) -> None:
    """SIGHUP: an unknown key is logged and the old one goes on; another home is read by a pass at once."""
    machine.configure(daemon=YEARLY)
    other_home = machine.root / "other-codex"
    session(1, RULE).write(other_home)
    with daemon(machine) as watched:
        watched.wait_for("pass done")
        config = machine.configure(daemon=YEARLY, nonsense=1)
        watched.running.send(signal.SIGHUP)
        watched.wait_for("outcome=refused")
        assert "unknown key nonsense" in watched.log
        machine.configure(daemon=YEARLY, state_dir="elsewhere")
        watched.running.send(signal.SIGHUP)
        watched.wait_for("restart the daemon")
        config.unlink()
        watched.running.send(signal.SIGHUP)
        watched.wait_for("there is no file")
        assert watched.log.count("pass done") == 1
        machine.configure(daemon=YEARLY, sources={"codex": {"home": str(other_home)}})
        watched.running.send(signal.SIGHUP)
        watched.wait_for("pass done", times=2)
        assert "changed: sources.codex.home" in watched.end()
    assert "make lint" in machine.handbook()
    assert not (machine.root / "elsewhere").exists()


def test_a_pass_in_flight_ends_on_the_configuration_it_began_with(machine: Machine) -> None:
    """What hangs at the old server is answered by it; the next pass asks the new one."""
    session(1, RULE).write(machine.codex)
    model, held = {"provider": "openai", "extract_model": "m"}, Held()
    with ModelServer(default=held) as old, ModelServer() as new:
        machine.configure(daemon=YEARLY, model={**model, "base_url": old.base_url})
        with daemon(machine) as watched:
            assert old.wait_for_requests(1)
            session(2, RULE).write(machine.codex)
            machine.configure(daemon=YEARLY, model={**model, "base_url": new.base_url})
            watched.running.send(signal.SIGHUP)
            held.let_go()
            watched.wait_for("pass done", times=2)
            log = watched.end()
    assert [len(old.requests), len(new.requests)] == [1, 1]
    assert log.index("pass done") < log.index("configuration read again")
    assert {thread["state"] for thread in machine.threads().values()} == {"no_output"}


def test_a_second_daemon_ends_with_75(machine: Machine) -> None:
    """It says why, and leaves the first alone; when that one is killed, nothing is in the way of the next."""
    machine.configure(daemon=YEARLY)
    with daemon(machine) as first:
        first.wait_for("pass done")
        ran = machine.run("daemon")
        assert ran.code == 75
        assert "another daemon works" in ran.complaint
        assert first.running.is_running
        first.running.kill()
    with daemon(machine) as second:
        second.wait_for("pass done", times=2)
        second.end()


def test_runs_beside_a_daemon_share_its_work(machine: Machine) -> None:
    """While the daemon waits for a model, a run by cron takes what is left and consolidates; both end well."""
    for number in (1, 2, 3):
        session(number, RULE).write(machine.codex)
    held = Held()
    with ModelServer([held]) as server:
        machine.configure(
            daemon=YEARLY,
            model={"provider": "openai", "extract_model": "m", "base_url": server.base_url},
            phase1={"concurrency": 1},
        )
        with daemon(machine) as watched:
            assert server.wait_for_requests(1)
            by_cron = [machine.run("run", "--json") for _ in range(2)]
            assert [each.code for each in by_cron] == [0, 0]
            assert [each.document["phase1"]["claimed"] for each in by_cron] == [2, 0]
            held.let_go()
            watched.wait_for("pass done")
            log = watched.end()
    assert "1 no_output, 0 failed" in log
    assert {thread["attempts"] for thread in machine.threads().values()} == {1}


def test_a_workspace_that_a_run_holds_is_no_failure_of_the_daemon(machine: Machine) -> None:
    """Its pass extracts and leaves the rest to that run, or to its own next pass."""
    session(1, RULE).write(machine.codex)
    machine.configure(daemon=YEARLY)
    machine.state.mkdir(mode=0o700)
    with os_lock(machine.state / "memories.lock", purpose="a test"), daemon(machine) as watched:
        watched.wait_for("pass done")
        log = watched.end()
    assert "1 succeeded, 0 no_output, 0 failed, phase2 locked" in log
    assert "WARNING" not in log
    assert "ERROR" not in log


def test_what_a_person_must_mend_is_told_at_the_start(machine: Machine) -> None:
    """A daemon without a key for its model does not begin: one line, exit code 2."""
    machine.configure(model={"provider": "openai", "extract_model": "m", "base_url": "https://models.example/v1"})
    ran = machine.run("daemon")
    assert ran.code == 2
    assert "OPENAI_API_KEY" in ran.complaint


@pytest.mark.parametrize("command", ["daemon", "run"])
def test_a_second_signal_leaves_at_once(machine: Machine, command: str) -> None:
    """Also while the first one can't be granted, because another program holds the database; the lease lapses later."""
    session(1, RULE).write(machine.codex)
    with ModelServer(default=hang()) as server:
        machine.configure(
            daemon=YEARLY,
            model={"provider": "openai", "extract_model": "m", "base_url": server.base_url},
            phase1={"lease_seconds": 60},
        )
        with machine.start(command) as running:
            assert server.wait_for_requests(1)
            with contextlib.closing(sqlite3.connect(machine.database, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                running.send(signal.SIGTERM)
                with pytest.raises(subprocess.TimeoutExpired):
                    running.wait(0.5)
                running.send(signal.SIGTERM)
                assert running.wait(5).code == 130
    assert machine.rows("SELECT state FROM jobs") == [("running",)]


def test_a_hangup_does_not_end_a_run_without_a_terminal(machine: Machine) -> None:
    """SIGHUP is meant for a daemon; a run that cron started goes on to its end."""
    session(1, RULE).write(machine.codex)
    held = Held()
    with ModelServer([held]) as server:
        machine.configure(model={"provider": "openai", "extract_model": "m", "base_url": server.base_url})
        with machine.start("run", "--json") as running:
            assert server.wait_for_requests(1)
            running.send(signal.SIGHUP)
            with pytest.raises(subprocess.TimeoutExpired):
                running.wait(0.3)
            held.let_go()
            ran = running.wait()
    assert (ran.code, ran.document["phase1"]["no_output"]) == (0, 1)


def test_a_terminal_that_closes_asks_a_run_to_stop(machine: Machine) -> None:
    """What is in flight is given back."""
    session(1, RULE).write(machine.codex)
    ours, terminal = os.openpty()
    try:
        with ModelServer(default=hang()) as server:
            machine.configure(model={"provider": "openai", "extract_model": "m", "base_url": server.base_url})
            with machine.start("run", err=terminal) as running:
                assert server.wait_for_requests(1)
                running.send(signal.SIGHUP)
                assert running.wait(10).code == 130
    finally:
        os.close(ours)
        os.close(terminal)
    assert machine.thread(1)["state"] == "pending"


_STUCK = """
import threading
from memory_pipeline.cli.signals import stoppable
with stoppable(stop_seconds=0.2):
    print("begun", flush=True)
    threading.Event().wait()
"""


def test_work_that_does_not_stop_in_time_is_left(machine: Machine) -> None:
    """Whatever holds it up, a program that was asked to stop ends, says so, and with a code that tells it apart."""
    with subprocess.Popen(
        [sys.executable, "-c", _STUCK],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=machine.environment,
        cwd=Path(__file__).parents[2],
    ) as stuck:
        assert stuck.stdout is not None
        assert stuck.stdout.readline() == "begun\n"
        stuck.terminate()
        _, err = stuck.communicate(timeout=10)
    assert stuck.returncode == 130
    assert "did not come to an end in time" in err
