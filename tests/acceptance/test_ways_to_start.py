"""A command that is forked does what its own program does; each command is started here as a person starts it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command import PATIENCE_SECONDS, Machine, Ran, contents, session, wait_until
from preloaded import can_be_forked, run_forked, words_to_start

from memory_pipeline.cli.commands import cli

RULE = "From now on always run make lint before you commit."
PROGRAM = Path(sys.executable).with_name("memory-pipeline")
#: One call of each command: it leaves things as they are, or finds nothing to do, or refuses. (The last three are
#: started for good in tests of their own.)
CALLS = (
    *("--version", "completion bash", "config show --json", "context --cwd /home/sam/shop --strict", "cost --json"),
    *("doctor --json", "drafts self-test", "forget --match lint --dry-run --json", "hooks status claude --json", "log"),
    *("memory list", "metrics", "packet list --json", "redact --rescan --dry-run --json", "run --json", "scan --json"),
    *("search lint --json", "service status --json", "settings get --json", "state verify", "status --json"),
    *("threads list", "usage record --memory none", "daemon --no", "serve --port many", "mcp --cwd"),
)
#: A module that says what a process is given, and then ends as its argument says.
PROBE = """
import atexit, json, locale, os, signal, sys, threading, time

def is_open(descriptor):
    try:
        return bool(os.fstat(descriptor))
    except OSError:
        return False

def has_children():
    try:
        return os.waitpid(-1, os.WNOHANG) is not None
    except ChildProcessError:
        return False

streams = [sys.stdin, sys.stdout, sys.stderr]
print(json.dumps({
    "environment": dict(os.environ),
    "folder": os.getcwd(),
    "umask": os.umask(0),
    "words": sys.argv,
    "path": sys.path,
    "main": [sys.modules["__main__"].__file__, __name__],
    "flags": str(sys.flags),
    "streams": [[each.encoding, each.errors, each.line_buffering, each.isatty(), each.fileno()] for each in streams],
    "originals": [sys.__stdin__ is sys.stdin, sys.__stdout__ is sys.stdout, sys.__stderr__ is sys.stderr],
    "read": sys.stdin.read(),
    "signals": {str(each): str(signal.getsignal(each)) for each in signal.valid_signals()},
    "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    "waker": signal.set_wakeup_fd(-1),
    "threads": [each.name for each in threading.enumerate()],
    "descriptors": [each for each in range(256) if is_open(each)],
    "children": has_children(),
    "locale": locale.setlocale(locale.LC_ALL),
    "zone": [time.tzname, time.timezone],
    "limits": [sys.getrecursionlimit(), sys.getswitchinterval()],
}), flush=True)
atexit.register(print, "at the end")
threading.Timer(0.01, print, ["a thread that goes on"]).start()
print("to the other output", file=sys.stderr)
how = sys.argv[1]
if how == "raise":
    raise ValueError("a fault")
if how.startswith("SIG"):
    signal.raise_signal(getattr(signal, how))
sys.exit(int(how) if how.isdigit() else how)
"""


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A machine that has learned a rule."""
    machine = Machine(tmp_path_factory.mktemp("started") / "machine")
    machine.configure()
    session(1, RULE).write(machine.codex)
    assert machine.run("run").code == 0
    return machine


def test_each_command_is_started() -> None:
    """A new command needs its line in the list above."""
    assert {call.split()[0] for call in CALLS} - {"--version"} == set(cli.list_commands(cli.make_context("x", [])))


@pytest.mark.parametrize("call", CALLS)
def test_both_ways_of_starting_give_the_same(learned: Machine, call: str) -> None:
    """The exit code and both outputs, except for what tells the time."""
    words = learned.words(*call.split())[3:]
    begun = subprocess.run(
        [PROGRAM, *words],
        env=learned.environment,
        cwd=learned.elsewhere,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    forked = learned.run(*call.split())
    assert _timeless(forked) == _timeless(Ran(code=begun.returncode, out=begun.stdout, err=begun.stderr))
    assert forked.out or forked.err


@pytest.mark.parametrize("how", ["0", "3", "words", "raise", "SIGTERM", "SIGINT", "SIGKILL"])
@pytest.mark.parametrize("is_module", [True, False], ids=["module", "file"])
def test_a_fork_is_given_what_a_new_process_is_and_ends_as_it_does(tmp_path: Path, how: str, is_module: bool) -> None:
    """All that the interpreter sets at its start, and what comes after the last line of the program."""
    file = tmp_path / "probe.py"
    file.write_text(PROBE, encoding="utf-8")
    env = {"HOME": str(tmp_path), "LANG": "C.UTF-8", "TZ": "Asia/Tokyo", "PATH": os.defpath, "NAME": "a\nb=c"}
    given: dict[str, Any] = {"env": env, "cwd": tmp_path, "umask": 0o027}
    begun = subprocess.run(
        [sys.executable, *(("-m", "probe") if is_module else (file,)), how, "a b", ""],
        **given,
        input="a line\n",
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    code, out, err = run_forked(
        "probe" if is_module else str(file), [how, "a b", ""], **given, told="a line\n", seconds=PATIENCE_SECONDS
    )
    assert (code, out) == (begun.returncode, begun.stdout)
    # A traceback leads through how it was started.
    assert (err.splitlines()[:2], err.splitlines()[-1:]) == (
        begun.stderr.splitlines()[:2],
        begun.stderr.splitlines()[-1:],
    )


@pytest.mark.parametrize(("how", "code"), [("3", 3), ("SIGTERM", 128 + 15)])
def test_a_command_that_has_a_fork_started_stands_for_it(tmp_path: Path, how: str, code: int) -> None:
    """Its input, its outputs, its folder and its environment are the fork's, and it ends with its code."""
    (tmp_path / "probe.py").write_text(PROBE, encoding="utf-8")
    ran = subprocess.run(
        words_to_start("probe", [how]),
        env={"LANG": "C.UTF-8", "NAME": "value"},
        cwd=tmp_path,
        input="a line\n",
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (code, "to the other output\n")
    told = json.loads(ran.stdout.splitlines()[0])
    assert (told["environment"]["NAME"], told["folder"], told["read"]) == ("value", str(tmp_path), "a line\n")


def test_a_fork_that_does_not_end_is_killed(tmp_path: Path) -> None:
    """The test that waits for it fails, and the process is gone."""
    (tmp_path / "lasting.py").write_text("import time; time.sleep(60)", encoding="utf-8")
    with pytest.raises(TimeoutError, match="still ran") as told:
        run_forked("lasting", [], env={"LANG": "C.UTF-8"}, cwd=tmp_path, seconds=0.1)
    child = int(str(told.value).split()[1])

    def is_gone() -> bool:
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return True
        return False

    wait_until(is_gone)


def test_two_forks_draw_other_numbers_and_share_no_state(tmp_path: Path) -> None:
    """What one of them changes in a module, or draws by chance, is not found in the next."""
    code = "import json, os, random; print(hasattr(json, 'mark'), random.random(), os.urandom(8).hex()); "
    (tmp_path / "drawing.py").write_text(f"{code}json.mark = True", encoding="utf-8")
    drawn = [
        run_forked("drawing", [], env={"LANG": "C.UTF-8"}, cwd=tmp_path, seconds=PATIENCE_SECONDS)[1] for _ in "ab"
    ]
    (marked, number, token), (marked_then, number_then, token_then) = (each.split() for each in drawn)
    assert (marked, marked_then) == ("False", "False")
    assert number != number_then
    assert token != token_then


@pytest.mark.parametrize("name", ["PYTHONHASHSEED", "PYTHONIOENCODING", "LC_ALL", "LD_PRELOAD"])
def test_what_the_interpreter_itself_reads_needs_a_new_one(name: str) -> None:
    """A fork would have what its parent was given."""
    assert can_be_forked({"LANG": "C.UTF-8", "HOME": "/home/sam"})
    assert not can_be_forked({"LANG": "C.UTF-8", "HOME": "/home/sam", name: "1"})
    assert not can_be_forked({"LANG": "C", "HOME": "/home/sam"})


def test_the_files_are_the_same_whatever_the_seed_of_hashes(machine: Machine) -> None:
    """Forks share a seed, so that what hangs on the order of a set would show in none of them."""
    for number in range(1, 9):
        made = session(number, f"From now on always run make check-{number % 5} first.", cwd=f"/home/sam/p{number % 3}")
        made.write(machine.codex)
    written = []
    for seed in ("1", "2"):
        assert machine.run("run", env={"PYTHONHASHSEED": seed}).code == 0
        written.append(contents(machine.memories))
        shutil.rmtree(machine.state)
    assert written[0] == written[1]


def _timeless(ran: Ran) -> tuple[int, str, str]:
    return ran.code, _FIGURE.sub("#", ran.out), _FIGURE.sub("#", ran.err)


#: Times, spans, sizes of the database and ids of processes.
_FIGURE = re.compile(r"\d+(\.\d+)?")
