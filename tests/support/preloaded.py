"""Starts the command as a fork of a process that has loaded all of it already, since loading takes most of its time.

What is forked is a process of its own and behaves as ``python -m`` does: it has its own environment,
working folder, umask and standard streams, no other descriptor, one thread and the signals' usual meaning, and it ends
as the interpreter ends. What it shares with its siblings is the seed of hashes, and that everything is imported: a test
of either needs a real start, and so does a start with variables that the interpreter itself reads.

This same file is the program that is forked from, one for each process that runs tests: ``python preloaded.py SOCKET``.
A command is asked for by four descriptors and a JSON object. The first three become its standard streams; to the fourth
is told, a line each, the id of the process, and how it ended. The program ends when the socket does.
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
import signal
import socket
import struct
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
_LENGTH = struct.Struct("!I")
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
    asked = {"program": program, "arguments": arguments, "environment": dict(env), "cwd": str(cwd), "umask": umask}
    pipes = [os.pipe() for _ in range(3)]
    with tempfile.TemporaryFile() as standard_input:
        standard_input.write(told.encode())
        standard_input.seek(0)
        theirs = [given for _, given in pipes]
        try:
            _PARENT.ask(asked, [standard_input.fileno(), *theirs])
        finally:
            for descriptor in theirs:
                os.close(descriptor)
    out, err, fate = (ours for ours, _ in pipes)
    begun = os.read(fate, 1 << 16)  # the first one waits here until the parent has loaded
    told = {out: bytearray(), err: bytearray(), fate: bytearray(begun)}
    if not _read_to_the_end(told, seconds):
        child = int(begun.split()[0])
        os.kill(child, signal.SIGKILL)
        raise TimeoutError(f"process {child} still ran after {seconds:.1f} s")
    _, status = told[fate].split()
    return os.waitstatus_to_exitcode(int(status)), _text_of(told[out]), _text_of(told[err])


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
        self._asking = threading.Lock()
        self._socket: socket.socket | None = None

    def ask(self, asked: Mapping[str, Any], descriptors: Sequence[int]) -> None:
        """Have a command started; the first one starts the parent."""
        told = json.dumps(asked).encode()
        with self._asking:
            self._socket = self._socket or self._start()
            socket.send_fds(self._socket, [_LENGTH.pack(len(told))], descriptors)
            self._socket.sendall(told)

    def _start(self) -> socket.socket:
        ours, given = socket.socketpair()
        with given:
            started = subprocess.Popen(
                [sys.executable, __file__, str(given.fileno())],
                env={"PATH": os.defpath, **_LANGUAGE},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[given.fileno()],
            )
        atexit.register(self._end, started)
        return ours

    def _end(self, started: subprocess.Popen[bytes]) -> None:
        if self._socket is not None:
            self._socket.close()
        started.wait()


_PARENT = _Parent()


def main() -> None:
    """Serve until the socket ends; in each process that is forked, be the command."""
    ending = _Ending()
    # The first to be registered runs last: threads were waited for, and all else that ends with a program has ended.
    atexit.register(ending.leave)
    given = socket.socket(fileno=int(sys.argv[1]))
    del sys.path[0]  # the folder of this file
    _load()
    asked = _fork_as_asked(given)
    if asked is not None:
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


def _fork_as_asked(given: socket.socket) -> Mapping[str, Any] | None:
    """Fork as often as asked; returns in each fork what it is to be, and in the parent None at the end."""
    woken, waking = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # ignored, it would wake nobody
    fates: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([given, woken], [], [])
        if woken in ready:
            os.read(woken, _MOST_FILES)
            _tell_who_ended(fates)
        if given in ready:
            head, descriptors, _, _ = socket.recv_fds(given, _LENGTH.size, 4)
            if not head:
                return None
            asked = json.loads(given.recv(_LENGTH.unpack(head)[0], socket.MSG_WAITALL))
            child = os.fork()
            if child == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                signal.set_wakeup_fd(-1)
                given.detach()
                for number, descriptor in enumerate(descriptors[:3]):
                    os.dup2(descriptor, number)
                os.closerange(3, _MOST_FILES)
                return asked
            fates[child] = descriptors.pop()
            os.write(fates[child], b"%d\n" % child)
            for descriptor in descriptors:
                os.close(descriptor)


def _tell_who_ended(fates: dict[int, int]) -> None:
    while fates:
        child, status = os.waitpid(-1, os.WNOHANG)
        if child == 0:
            return
        fate = fates.pop(child)
        with suppress(BrokenPipeError):  # whoever asked has gone
            os.write(fate, b"%d\n" % status)
        os.close(fate)


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
