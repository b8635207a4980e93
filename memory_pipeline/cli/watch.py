"""Shows something again and again: in place on a terminal, one after the other elsewhere."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import click

#: Between two looks, where nothing is printed in place: a line that begins nothing else.
_SEPARATOR = ""


def watch(look: Callable[[], Sequence[str]], *, interval_seconds: float) -> None:
    """Show the lines that ``look`` returns every so many seconds, until SIGINT, SIGTERM or SIGHUP.

    On a terminal the screen that was there is back afterwards, however it ends; lines that don't fit are cut.
    """
    with _woken_by_signals() as (wake, ended):
        if sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb"):
            _in_place(look, interval_seconds, wake, ended)
        else:
            _one_after_the_other(look, interval_seconds, wake, ended)


def _in_place(
    look: Callable[[], Sequence[str]], interval_seconds: float, wake: threading.Event, ended: threading.Event
) -> None:
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
        while not _wait(interval_seconds, wake, ended):
            live.update(screen(), refresh=True)


def _one_after_the_other(
    look: Callable[[], Sequence[str]], interval_seconds: float, wake: threading.Event, ended: threading.Event
) -> None:
    is_first = True
    while True:
        lines = look()
        if not is_first and len(lines) > 1:
            click.echo(_SEPARATOR)
        is_first = False
        for line in lines:
            click.echo(line)
        sys.stdout.flush()
        if _wait(interval_seconds, wake, ended):
            return


def _wait(seconds: float, wake: threading.Event, ended: threading.Event) -> bool:
    """Wait for the next look; true when there is to be none."""
    wake.wait(seconds)
    wake.clear()
    return ended.is_set()


@contextmanager
def _woken_by_signals() -> Iterator[tuple[threading.Event, threading.Event]]:
    """Turn signals into events: one that wakes whoever waits, and one that says that it is to end."""
    wake, ended = threading.Event(), threading.Event()

    def end(_number: int, _frame: object) -> None:
        ended.set()
        wake.set()

    def look_again(_number: int, _frame: object) -> None:
        wake.set()  # the window has another size

    wanted = {signal.SIGINT: end, signal.SIGTERM: end, signal.SIGHUP: end, signal.SIGWINCH: look_again}
    before = {number: signal.signal(number, action) for number, action in wanted.items()}
    try:
        yield wake, ended
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
