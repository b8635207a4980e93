"""What a person sees of the program: status, status --watch on a real terminal, log, doctor, the log file, metrics."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import select
import signal
import sqlite3
import struct
import termios
import time
from pathlib import Path

import pytest
from command import COMMAND, PATIENCE_SECONDS, Machine, contents, session
from model_server import ModelServer, Reply, Request, status
from rollout_logs import thread_id_of

RULE = "From now on always run make lint before you commit."
CANARIES = ("kanarienvogel", "xylophonquartett", "zwetschgendatschi", "quarkbaellchen")
ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"
HIDE, SHOW = b"\x1b[?25l", b"\x1b[?25h"


class Terminal:
    """The command on a terminal of its own."""

    def __init__(self, machine: Machine, *words: str, columns: int = 80, rows: int = 24) -> None:
        placed = ("--config", str(machine.root / "config.toml"))
        environment = machine.environment | {"TERM": "xterm-256color"}
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:  # pragma: no cover - the child
            os.execve(COMMAND[0], [*COMMAND, *placed, *words], environment)
        self.resize(columns, rows)
        self.shown = b""

    def resize(self, columns: int, rows: int) -> None:
        """Give the window another size; the system sends the signal."""
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read_until(self, words: bytes) -> bytes:
        """Read until some words are shown that were not there yet; returns what came."""
        start, deadline = len(self.shown), time.monotonic() + PATIENCE_SECONDS
        while words not in self.shown[start:]:
            assert time.monotonic() < deadline, self.shown[start:]
            if select.select([self._terminal], [], [], 0.1)[0]:
                self.shown += os.read(self._terminal, 65_536)
        return self.shown[start:]

    def press(self, keys: bytes) -> None:
        """Type something."""
        os.write(self._terminal, keys)

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        os.kill(self._pid, number)

    def wait(self) -> int:
        """Read to the end; returns the exit code. A command that does not end is killed, which is none of its own."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        with contextlib.suppress(OSError):  # Linux says so when the other end is closed
            while True:
                if time.monotonic() > deadline:
                    os.kill(self._pid, signal.SIGKILL)
                if select.select([self._terminal], [], [], 0.1)[0]:
                    chunk = os.read(self._terminal, 65_536)
                    if not chunk:
                        break
                    self.shown += chunk
        code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        os.close(self._terminal)
        return code


@pytest.fixture
def filled(machine: Machine) -> Machine:
    """A machine with one extracted session and one that is too recent."""
    session(1, RULE).write(machine.codex)
    machine.run("run")
    return machine


def log_lines(machine: Machine) -> list[dict[str, object]]:
    """Every line of the log file."""
    path = machine.state / "logs" / "memory-pipeline.log"
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("end", ["ctrl-c", "term", "hangup"])
def test_watching_on_a_terminal_gives_the_screen_back_however_it_ends(filled: Machine, end: str) -> None:
    """It draws on a screen of its own, in place, and leaves cursor and screen as they were, with exit code 0."""
    terminal = Terminal(filled, "status", "--watch", "--interval", "0.2")
    terminal.read_until(b"Published:")
    terminal.read_until(b"Published:")
    if end == "ctrl-c":
        terminal.press(b"\x03")
    else:
        terminal.send(signal.SIGTERM if end == "term" else signal.SIGHUP)
    assert terminal.wait() == 0
    shown = terminal.shown
    assert shown.startswith(ENTER)
    assert (shown.count(ENTER), shown.count(LEAVE)) == (1, 1)
    assert shown.rindex(SHOW) > shown.rindex(HIDE)
    assert b"\x1b[2J" not in shown  # nothing is wiped before it is drawn: that flickers
    assert b"Traceback" not in shown


def test_a_narrow_window_cuts_lines_and_another_size_is_followed(filled: Machine) -> None:
    """No line wraps, whatever the size is; the interval is not waited for."""
    terminal = Terminal(filled, "status", "--watch", "--interval", "60", columns=30, rows=8)
    terminal.read_until(b"Sessions:")
    terminal.resize(120, 40)
    wide = terminal.read_until(b"Published:")
    assert f"State:     {filled.state}".encode() in wide
    terminal.resize(20, 5)
    narrow = terminal.read_until(b"Provider:")
    terminal.press(b"\x03")
    assert terminal.wait() == 0
    drawn = narrow[narrow.rindex(b"State:") :].decode()
    assert max(map(len, drawn.replace("\r", "").splitlines())) <= 20


def test_watching_without_a_terminal_prints_one_status_after_the_other(filled: Machine) -> None:
    """Each in full, a blank line in between, without any control character; a signal ends it with 0."""
    with filled.start("status", "--watch", "--interval", "0.1") as running:
        end_after(running._running.stdout, "Published:", 2)
        running.send(signal.SIGTERM)
        ran = running.wait()
    assert (ran.code, ran.err) == (0, "")


def test_watching_as_json_prints_one_document_a_line(filled: Machine) -> None:
    """Each has every key."""
    reading, writing = os.pipe()
    with filled.start("status", "--watch", "--json", "--interval", "0.1", out=writing) as running:
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8") as lines:
            documents = [json.loads(next(lines)) for _ in range(2)]
            running.send(signal.SIGINT)
            assert running.wait().code == 0
    assert [document["threads"] for document in documents] == [{"done": 1}] * 2


def end_after(stream: object, words: str, times: int) -> None:
    """Read lines until some words came so often."""
    seen = 0
    for line in stream:  # type: ignore[attr-defined]
        assert line.isprintable() or line.endswith("\n")
        seen += line.startswith(words)
        if seen == times:
            return


def test_a_reader_that_goes_away_ends_the_watching(filled: Machine) -> None:
    """As `| head` does: exit code 0, and no complaint."""
    reading, writing = os.pipe()
    with filled.start("status", "--watch", "--interval", "0.1", out=writing) as running:
        os.close(writing)
        os.close(reading)
        ran = running.wait()
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize("command", ["threads list", "memory list", "memory history", "log", "cost", "status"])
def test_a_reader_that_goes_away_early_is_no_fault(filled: Machine, command: str) -> None:
    """As with `| true`: exit code 0, and no complaint."""
    reading, writing = os.pipe()
    os.close(reading)
    with filled.start(*command.split(), out=writing) as running:
        os.close(writing)
        ran = running.wait()
    assert (ran.code, ran.err) == (0, "")


def test_an_interval_needs_something_to_watch(filled: Machine) -> None:
    """Wrong usage is said, with exit code 2."""
    ran = filled.run("status", "--interval", "1")
    assert (ran.code, "--watch" in ran.complaint) == (2, True)


@pytest.mark.parametrize("broken", ["words", "version", "missing"])
def test_the_status_of_a_database_that_can_not_be_read_says_so(filled: Machine, broken: str) -> None:
    """Exit code 0, every key, and what to do; nothing is changed."""
    keys = filled.run("status", "--json").document.keys()
    if broken == "words":
        filled.database.write_bytes(b"no database " * 900)
    elif broken == "version":
        set_version(filled.database, 999)
    else:
        filled.database.unlink()
    before = filled.database.read_bytes() if filled.database.exists() else None
    ran = filled.run("status", "--json")
    shown = filled.run("status")
    assert (ran.code, ran.err, ran.document.keys()) == (0, "", keys)
    state = {"words": "broken", "version": "newer", "missing": "missing"}[broken]
    assert ran.document["database"]["state"] == state
    assert "Database:" in shown.out
    assert (filled.database.read_bytes() if filled.database.exists() else None) == before


def test_the_status_of_a_database_that_another_program_holds_says_so(filled: Machine) -> None:
    """After a short wait, not after a minute."""
    with contextlib.closing(sqlite3.connect(filled.database, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("BEGIN EXCLUSIVE")
        ran = filled.run("status", "--json")
        found = filled.run("doctor", "--json")
    assert (ran.code, ran.document["database"]["state"]) == (0, "locked")
    assert [one["check"] for one in found.document["findings"] if one["level"] == "error"] == ["database"]


def set_version(database: Path, version: int) -> None:
    """Write another version into a database."""
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")


def test_the_log_tells_what_was_decided_for_a_session(filled: Machine) -> None:
    """Newest first: what phase two did with it, extracted, taken, found; by the beginning of its id too."""
    document = filled.run("log", thread_id_of(1), "--json").document
    assert [line["what"] for line in document] == ["done", "succeeded", "claimed", "indexed"]
    assert document[0]["operations"] == {"add": 1}
    assert all(line["at"].endswith("Z") for line in document)
    shown = filled.run("log", thread_id_of(1)).out
    assert "extracted: 1 entry" in shown
    assert shown.count("\n") == 4


def test_a_pass_without_news_adds_no_line(filled: Machine) -> None:
    """However often it is made."""
    before = filled.run("log", "--json").document
    for _ in range(2):
        filled.run("run")
    assert filled.run("log", "--json").document == before


def test_the_log_can_be_cut_by_time_and_number(filled: Machine) -> None:
    """Spans, dates and times; what is none is said."""
    assert len(filled.run("log", "--limit", "2", "--json").document) == 2
    assert len(filled.run("log", "--since", "1h", "--json").document) == 4
    assert filled.run("log", "--since", "2999-01-01", "--json").document == []
    assert len(filled.run("log", "--since", "2020-01-01T00:00:00+02:00", "--json").document) == 4
    ran = filled.run("log", "--since", "yesterday")
    assert (ran.code, "2026-10-05" in ran.complaint) == (2, True)


def test_a_forgotten_session_leaves_one_line(filled: Machine) -> None:
    """That it was forgotten, and nothing of what was before."""
    filled.run("forget", "--thread", thread_id_of(1), "--yes")
    lines = [line for line in filled.run("log", thread_id_of(1), "--json").document if line["thread_id"]]
    assert [line["what"] for line in lines] == ["forgotten"]


def test_the_doctor_finds_nothing_where_nothing_is_wrong(filled: Machine) -> None:
    """Exit code 0; every finding says what is, and warnings and errors what to do."""
    filled.claude.joinpath("projects").mkdir()
    before = contents(filled.state)
    ran = filled.run("doctor", "--json")
    assert (ran.code, ran.document["counts"]["error"], ran.document["counts"]["warning"]) == (0, 0, 0)
    assert "All is well." in filled.run("doctor").out
    after = contents(filled.state)
    assert {path: after.get(path) for path in before} == before


def test_the_doctor_works_with_a_configuration_that_does_not(machine: Machine) -> None:
    """Exit code 1, and the finding names file and key."""
    machine.configure(phase1={"concurency": 2})
    ran = machine.run("doctor", "--json")
    (finding,) = ran.document["findings"]
    assert (ran.code, finding["level"], "phase1.concurrency" in finding["what"]) == (1, "error", True)


def test_the_doctor_asks_the_server_for_its_models_and_sends_no_words(filled: Machine) -> None:
    """One GET with the key; a model that is not listed is a warning; offline, nothing is asked."""
    with ModelServer() as server:
        server.models = ("other-model",)
        model = {"provider": "openai", "extract_model": "test-model", "base_url": server.base_url}
        filled.configure(model=model)
        ran = filled.run("doctor", "--json", env={"OPENAI_API_KEY": "fake-key"})
        offline = filled.run("doctor", "--offline", "--json")
        assert [headers["authorization"] for headers in server.listings] == ["Bearer fake-key"]
        assert (server.requests, server.faults) == ([], [])
    said = {one["what"] for one in ran.document["findings"] if one["check"] == "model" and one["level"] == "warning"}
    assert said == {"the server does not list test-model (model.extract_model); it lists other-model"}
    assert (ran.code, offline.code) == (0, 0)


def test_a_server_that_is_down_is_an_error(filled: Machine) -> None:
    """With exit code 1."""
    with ModelServer() as server:
        url = server.base_url
    filled.configure(model={"provider": "openai", "extract_model": "m", "base_url": url})
    ran = filled.run("doctor", "--json")
    (error,) = [one for one in ran.document["findings"] if one["level"] == "error"]
    assert (ran.code, error["check"], "can't be reached" in error["what"]) == (1, "model", True)


def test_the_log_file_holds_no_word_of_anything(machine: Machine) -> None:
    """Prompts, folders, branches, titles and a server's echo of them: none gets there, whatever goes wrong."""
    prompt, folder, branch, echoed = CANARIES

    def echo(_request: Request) -> Reply:
        return status(400, message=f"{echoed} {prompt} refused")

    with ModelServer(default=echo) as server:
        model = {"provider": "openai", "extract_model": "test-model", "base_url": server.base_url}
        for tables in ({"logging": {"level": "debug"}}, {"logging": {"level": "debug"}, "model": model}):
            machine.configure(**tables)
            number = len(tables)  # one session for each extractor
            made = session(
                number,
                f"From now on always feed the {prompt}.",
                cwd=f"/home/sam/{folder}",
                meta={"git": {"branch": branch}},
            )
            made.write(machine.codex)
            machine.run("run")
    (machine.memories / "MEMORY.md").unlink()
    (machine.state / "staging").write_text("in the way")
    machine.run("run")
    lines = log_lines(machine)
    assert {"pass", "extract", "consolidate"} <= {line["action"] for line in lines}
    assert "failed" in {line["outcome"] for line in lines}
    written = b"".join(contents(machine.state / "logs").values()).decode()
    assert [word for word in (*CANARIES, str(machine.root), "make", "MEMORY.md") if word in written] == []


def test_a_pass_is_one_line_of_the_log_file_with_its_counts(filled: Machine) -> None:
    """Runs are told apart by their id; the file is private."""
    session(2, "From now on always write commit messages in Latin.").write(filled.codex)
    filled.run("run")
    passes = [line for line in log_lines(filled) if line["action"] == "pass"]
    assert [(line["outcome"], line["succeeded"]) for line in passes] == [("consolidated", 1)] * 2
    assert len({line["run"] for line in passes}) == 2
    logs = filled.state / "logs"
    assert (logs.stat().st_mode & 0o777, (logs / "memory-pipeline.log").stat().st_mode & 0o777) == (0o700, 0o600)


def test_a_pass_without_news_is_logged_only_when_everything_is_wanted(filled: Machine) -> None:
    """There may be one a minute, for months."""
    before = log_lines(filled)
    filled.run("run")
    assert log_lines(filled) == before
    filled.configure(logging={"level": "debug"})
    filled.run("run")
    assert [line["outcome"] for line in log_lines(filled)[len(before) :]] == ["began", "no_changes"]


def test_figures_are_written_after_each_pass_and_printed_on_demand(machine: Machine) -> None:
    """The file is that of the last pass; one that can't be written is told and fails nothing."""
    machine.configure(metrics={"textfile": "memory.prom"})
    session(1, RULE).write(machine.codex)
    machine.run("run")
    written = (machine.root / "memory.prom").read_text()
    assert 'memory_pipeline_last_pass_threads{outcome="succeeded"} 1\n' in written
    printed = machine.run("metrics")
    assert (printed.code, 'memory_pipeline_threads{state="done"} 1\n' in printed.out) == (0, True)
    machine.configure(metrics={"textfile": "none/memory.prom"})
    ran = machine.run("run", "--json")
    assert (ran.code, "metrics.textfile" in ran.complaint) == (0, True)


def test_metrics_of_a_database_that_can_not_be_read_say_so(machine: Machine) -> None:
    """A figure of its own."""
    printed = machine.run("metrics")
    assert (printed.code, "memory_pipeline_database_readable 0\n" in printed.out) == (0, True)
