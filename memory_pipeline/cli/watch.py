"""Shows something again and again: in place on a terminal, one after the other elsewhere."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import click

#: Between two looks, where nothing is printed in place: a line that begins nothing else.
_SEPARATOR = ""


def watch(look: Callable[[], Sequence[str]], *, interval_seconds: float) -> None:
    """Show the lines that ``look`` returns every so many seconds, until SIGINT, SIGTERM or SIGHUP.

    On a terminal the screen that was there is back afterwards, however it ends; lines that don't fit are cut.
    """
    with _Waiting() as waiting:
        if sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb"):
            _in_place(look, interval_seconds, waiting)
        else:
            _one_after_the_other(look, interval_seconds, waiting)


def _in_place(look: Callable[[], Sequence[str]], interval_seconds: float, waiting: _Waiting) -> None:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(highlight=False)

    def screen() -> Text:
        lines = [Text(line, no_wrap=True, overflow="ellipsis") for line in look()]
        for line in lines:
            line.truncate(console.width, overflow="ellipsis")
        return Text("\n", no_wrap=True).join(lines[: console.height])

    with Live(screen(), console=console, screen=True, auto_refresh=False, vertical_overflow="crop") as live:
        while not waiting.is_over(interval_seconds):
            live.update(screen(), refresh=True)


def _one_after_the_other(look: Callable[[], Sequence[str]], interval_seconds: float, waiting: _Waiting) -> None:
    is_first = True
    while True:
        lines = look()
        if not is_first and len(lines) > 1:
            click.echo(_SEPARATOR)
        is_first = False
        for line in lines:
            click.echo(line)
        sys.stdout.flush()
        if waiting.is_over(interval_seconds):
            return


class _Waiting:
    """The wait between two looks, which signals cut short.

    They write into a pipe: a handler that took a lock could meet it held by the very code that it interrupted. And they
    do so at once, not when Python next runs: a signal right before the wait would be slept over.
    """

    def __init__(self) -> None:
        self._is_over = False
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._reading, False)
        os.set_blocking(self._writing, False)
        self._before: dict[int, Any] = {}
        self._wakeup_before = -1

    def is_over(self, seconds: float) -> bool:
        """Wait for the next look, or until the window has another size; true when there is to be no other look."""
        select.select([self._reading], [], [], seconds)
        with suppress(BlockingIOError):
            os.read(self._reading, 4096)
        return self._is_over

    def __enter__(self) -> _Waiting:
        wanted = {signal.SIGINT: self._end, signal.SIGTERM: self._end, signal.SIGHUP: self._end}
        self._wakeup_before = signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        for number, action in {**wanted, signal.SIGWINCH: _do_nothing}.items():
            self._before[number] = signal.signal(number, action)
        return self

    def __exit__(self, *_: object) -> None:
        for number, action in self._before.items():
            signal.signal(number, action)
        signal.set_wakeup_fd(self._wakeup_before)
        os.close(self._reading)
        os.close(self._writing)

    def _end(self, _number: int, _frame: object) -> None:
        self._is_over = True


def _do_nothing(_number: int, _frame: object) -> None:
    """Let a signal be noticed, and no more."""
