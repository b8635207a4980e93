"""A real terminal around the real command: a pseudo-terminal that a test types into and looks at.

In a test::

    with Terminal(machine, "drafts", "review") as terminal:
        terminal.wait_for("to review")
        terminal.press("a")
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from contextlib import suppress
from pathlib import Path

from command import PATIENCE_SECONDS, Machine

_SEQUENCE = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|[@-_])")
_CLEAR = "\x1b[2J"
#: Makes the terminal the controlling one, so that Ctrl-C is a signal, and becomes the command.
_STARTER = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
_SHELL = str(Path(__file__).with_name("tiny_shell.py"))


class Terminal:
    """The command in a terminal of its own; leaving its context kills it if it still runs."""

    def __init__(
        self, machine: Machine, *arguments: str, columns: int = 100, lines: int = 40, in_shell: bool = False
    ) -> None:
        """Start the command; ``in_shell``, below a shell, so that Ctrl-Z stops it (see tiny_shell.py)."""
        self._near, self._far = pty.openpty()
        fcntl.ioctl(self._far, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.modes = termios.tcgetattr(self._far)
        self._seen = b""
        self._running = subprocess.Popen(
            [sys.executable, *((_SHELL,) if in_shell else ("-c", _STARTER)), *machine.words(*arguments)],
            env=machine.environment | {"TERM": "xterm-256color"},
            cwd=machine.elsewhere,
            stdin=self._far,
            stdout=self._far,
            stderr=self._far,
            start_new_session=True,
        )

    def press(self, keys: str) -> None:
        """Type keys."""
        os.write(self._near, keys.encode())

    def wait_for(self, words: str) -> str:
        """Wait until the screen shows these words; returns all that it shows."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while words not in self.screen:
            left = deadline - time.monotonic()
            assert left > 0, f"waited in vain for {words!r}; the screen shows:\n{self.screen}"
            self._read(left)
        return self.screen

    def wait_until_gone(self, words: str) -> str:
        """Wait until the screen shows these words no longer; returns all that it shows."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while words in self.screen:
            left = deadline - time.monotonic()
            assert left > 0, f"{words!r} stays; the screen shows:\n{self.screen}"
            self._read(left)
        return self.screen

    @property
    def screen(self) -> str:
        """What is to be seen now: what was written since the screen was cleared last."""
        text = self._seen.decode("utf-8", "replace").rsplit(_CLEAR, maxsplit=1)[-1]
        return _SEQUENCE.sub("", text).replace("\r", "")

    @property
    def raw(self) -> str:
        """All that was written, sequences included."""
        return self._seen.decode("utf-8", "replace")

    def send(self, number: signal.Signals) -> None:
        """Send the command a signal."""
        self._running.send_signal(number)

    def resize(self, *, columns: int, lines: int) -> None:
        """Let the window have another size; the system tells the command by SIGWINCH."""
        fcntl.ioctl(self._near, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def end(self) -> int:
        """Wait for the end of the command; returns its exit code."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self._running.poll() is None:
            assert time.monotonic() < deadline, f"it does not end; the screen shows:\n{self.screen}"
            self._read(0.05)
        self._read(0)
        return self._running.returncode

    def modes_now(self) -> list[object]:
        """How the terminal is set."""
        return termios.tcgetattr(self._far)

    def hang_up(self) -> int:
        """Close the terminal under the command, as a window that is closed; returns its exit code."""
        os.close(self._far)
        os.close(self._near)
        self._far = self._near = -1
        return self._running.wait(PATIENCE_SECONDS)

    def _read(self, seconds: float) -> None:
        if select.select([self._near], [], [], seconds)[0]:
            with suppress(OSError):
                self._seen += os.read(self._near, 1 << 16)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self._running.poll() is None:
            self._running.kill()
        self._running.wait(PATIENCE_SECONDS)
        for descriptor in (self._near, self._far):
            if descriptor >= 0:
                os.close(descriptor)
