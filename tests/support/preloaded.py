"""Starts the command as a fork of a process that has loaded all of it already, since loading takes most of its time.

What is forked is a process of its own and behaves as ``python -m`` does: it has its own environment, working folder,
umask and standard streams, no other descriptor, one thread and the usual meaning of signals, and it ends as the
interpreter ends. What it shares with its siblings is the seed of hashes, and that everything is imported: a test of
either needs a real start, and so does a start with variables that the interpreter itself reads.

This same file is the program that is forked from, one for each process that runs tests, and it serves two ways:

    python preloaded.py serve SOCKET                    is forked from, and ends with its standard input
    python preloaded.py start SOCKET PROGRAM [WORD…]    has a program forked, for who needs a command to call

A program is asked for by its three standard streams and a line of JSON on a connection of its own, on which it is then
told, a line each, the id of the process and how it ended.
"""

from __future__ import annotations

import atexit
import gc
import io
import json
import os
import pkgutil
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

#: What the interpreter and the C library read before any code of ours runs, and what they are given.
_READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "DYLD_", "MALLOC")
_LANGUAGE = {"LANG": "C.UTF-8"}
#: Libraries that commands import once they need them.
_LIBRARIES = (
    *("apscheduler.schedulers.background", "apscheduler.triggers.cron", "filelock", "merge3", "orjson", "rapidfuzz"),
    *("openai.resources.chat", "openai.resources.responses", "tenacity", "sqlite_utils", "zstandard"),
    *("rich.console", "rich.markup", "rich.progress", "rich.table", "rich.text"),
)
_PROMPTS = (
    "From now on always run make lint before you commit.",
    "In all my projects, never use emojis in commit messages.",
    "No, use pnpm instead of npm here. What does the build do?",
    "The tests need a database on port 5433, as we decided. Please fix the failing test, then push it.",
    "以后提交前总是先跑测试。",
)
#: More descriptors than the parent ever holds.
_MOST_FILES = 1024


def can_be_forked(environment: Mapping[str, str]) -> bool:
    """Whether this environment tells the interpreter itself nothing else than the parent was told."""
    return {name: value for name, value in environment.items() if name.startswith(_READ_AT_START)} == _LANGUAGE


def run_forked(
    program: str,
    arguments: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    umask: int = -1,
    told: str = "",
    seconds: float,
) -> tuple[int, str, str]:
    """Run a module as ``-m`` does, or a file of Python, to its end; returns its exit code and its two outputs.

    ``told`` is what it reads on its standard input, which is a file.

    Raises:
        TimeoutError: it did not end within so many seconds; it was killed.
    """
    (out, theirs_out), (err, theirs_err) = os.pipe(), os.pipe()
    with tempfile.TemporaryFile() as standard_input:
        standard_input.write(told.encode())
        standard_input.seek(0)
        try:
            streams = (standard_input.fileno(), theirs_out, theirs_err)
            fate = _ask(_PARENT.address(), program, arguments, env, cwd, umask, streams).detach()
        finally:
            os.close(theirs_out)
            os.close(theirs_err)
    begun = os.read(fate, 1 << 16)
    read = {out: bytearray(), err: bytearray(), fate: bytearray(begun)}
    if not _read_to_the_end(read, seconds):
        child = int(begun.split()[0])
        os.kill(child, signal.SIGKILL)
        raise TimeoutError(f"process {child} still ran after {seconds:.1f} s")
    return _code_in(read[fate]), _text_of(read[out]), _text_of(read[err])


def words_to_start(program: str, arguments: Sequence[str]) -> tuple[str, ...]:
    """Return a command that has the program forked, for whoever starts commands; what it starts ends with its input."""
    return (sys.executable, "-I", "-S", __file__, "start", _PARENT.address(), program, *arguments)


def _ask(
    address: str,
    program: str,
    arguments: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    umask: int,
    streams: Sequence[int],
) -> socket.socket:
    asked = {"program": program, "arguments": arguments, "environment": dict(env), "cwd": str(cwd), "umask": umask}
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(address)
    line = json.dumps(asked).encode() + b"\n"
    sent = socket.send_fds(connection, [line], streams)
    connection.sendall(line[sent:])
    return connection


def _code_in(fate: bytes) -> int:
    _, status = fate.split()
    return os.waitstatus_to_exitcode(int(status))


def _read_to_the_end(told: Mapping[int, bytearray], seconds: float) -> bool:
    """Read descriptors until all have ended, and close them; False if some have not within so many seconds."""
    deadline = time.monotonic() + seconds
    going_on = set(told)
    try:
        while going_on:
            ready, _, _ = select.select(going_on, [], [], max(0, deadline - time.monotonic()))
            if not ready:
                return False
            for descriptor in ready:
                more = os.read(descriptor, 1 << 16)
                told[descriptor].extend(more)
                if not more:
                    going_on.remove(descriptor)
    finally:
        for descriptor in told:
            os.close(descriptor)
    return True


def _text_of(written: bytes) -> str:
    return io.TextIOWrapper(io.BytesIO(written), encoding="utf-8").read()


class _Parent:
    """The process that commands are forked from, as whoever runs tests sees it."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._address = ""

    def address(self) -> str:
        """Return where it listens; the first call starts it, and waits while it loads."""
        with self._starting:
            self._address = self._address or self._start()
        return self._address

    def _start(self) -> str:
        address = os.path.join(tempfile.mkdtemp(), "asked")  # noqa: PTH118 - as text
        started = subprocess.Popen(
            [sys.executable, __file__, "serve", address],
            env={"PATH": os.defpath, **_LANGUAGE},
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        atexit.register(_end, started)
        assert started.stdout is not None
        assert started.stdout.readline() == b"ready\n"
        return address


def _end(started: subprocess.Popen[bytes]) -> None:
    started.communicate()


_PARENT = _Parent()


def main() -> None:
    """Serve until the input ends; in each process that is forked, be the command."""
    how, address, *rest = sys.argv[1:]
    if how == "start":
        _start_and_wait(address, *rest)
        return
    ending = _Ending()
    # The first to be registered runs last: threads were waited for, and all else that ends with a program has ended.
    atexit.register(ending.leave)
    del sys.path[0]  # the folder of this file
    _load()
    asked = _fork_as_asked(address)
    if asked is None:
        shutil.rmtree(Path(address).parent)
        return
    _become(asked)
    program: str = asked["program"]
    try:
        if program.endswith(".py"):
            sys.path.insert(0, str(Path(program).parent))
            runpy.run_path(program, run_name="__main__")
        else:
            sys.path.insert(0, asked["cwd"])
            runpy.run_module(program, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        ending.code = ended.code
        raise


def _start_and_wait(address: str, program: str, *arguments: str) -> None:
    with _ask(address, program, arguments, os.environ, Path.cwd(), -1, (0, 1, 2)) as connection:
        fate = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    code = _code_in(fate)
    sys.exit(code if code >= 0 else 128 - code)


class _Ending:
    """How a fork ends: without taking apart what its parent loaded, which takes longer than most commands."""

    def __init__(self) -> None:
        self.code: object = None

    def leave(self) -> None:
        if isinstance(self.code, int):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(self.code)


def _load() -> None:
    import memory_pipeline
    from memory_pipeline.directions import find_directions, gives_direction
    from memory_pipeline.forget.marks import marks_of
    from memory_pipeline.redact import redact

    for name in _LIBRARIES:
        import_module(name)
    for module in pkgutil.walk_packages(memory_pipeline.__path__, "memory_pipeline."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    for text in _PROMPTS:  # patterns are compiled when a text first needs them
        gives_direction(text)
        find_directions(redact(text).text)
    marks_of(_PROMPTS, ())
    assert threading.active_count() == 1  # a fork has one thread alone
    gc.collect()
    gc.freeze()  # else each fork copies the memory of all that its collector looks at


def _fork_as_asked(address: str) -> Mapping[str, Any] | None:
    """Fork as often as asked; returns in each fork what it is to be, and in the parent None at the end."""
    woken, waking = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # ignored, it would wake nobody
    fates: dict[int, int] = {}
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    print("ready", flush=True)  # noqa: T201
    while True:
        ready, _, _ = select.select([listener, woken, 0], [], [])
        if 0 in ready:
            return None
        if woken in ready:
            os.read(woken, _MOST_FILES)
            _tell_who_ended(fates)
        if listener in ready:
            connection = listener.accept()[0]
            line, streams, _, _ = socket.recv_fds(connection, 1 << 16, 3)
            while not line.endswith(b"\n"):
                line += connection.recv(1 << 16)
            fate = connection.detach()
            child = os.fork()
            if child == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                signal.set_wakeup_fd(-1)
                listener.detach()
                for number, descriptor in enumerate(streams):
                    os.dup2(descriptor, number)
                os.closerange(3, _MOST_FILES)
                asked: Mapping[str, Any] = json.loads(line)
                return asked
            fates[child] = fate
            _tell(fate, child)
            for descriptor in streams:
                os.close(descriptor)


def _tell_who_ended(fates: dict[int, int]) -> None:
    while fates:
        child, status = os.waitpid(-1, os.WNOHANG)
        if child == 0:
            return
        fate = fates.pop(child)
        _tell(fate, status)
        os.close(fate)


def _tell(fate: int, number: int) -> None:
    with suppress(BrokenPipeError):  # whoever asked has gone
        os.write(fate, b"%d\n" % number)


def _become(asked: Mapping[str, Any]) -> None:
    """Set what the interpreter would have set at its start."""
    os.environ.clear()
    os.environ.update(asked["environment"])
    time.tzset()
    os.chdir(asked["cwd"])
    if asked["umask"] >= 0:
        os.umask(asked["umask"])
    sys.argv[1:] = asked["arguments"]
    sys.stdin = sys.__stdin__ = _stream(0, "r", sys.stdin.errors)
    sys.stdout = sys.__stdout__ = _stream(1, "w", sys.stdout.errors)
    sys.stderr = sys.__stderr__ = _stream(2, "w", sys.stderr.errors, buffering=1)


def _stream(descriptor: int, mode: str, errors: str | None, *, buffering: int = -1) -> Any:
    return open(descriptor, mode, buffering=buffering, encoding="utf-8", errors=errors, closefd=False)


if __name__ == "__main__":
    main()
