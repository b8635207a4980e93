"""Signals as wishes that work looks at: to stop, to read the configuration again."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from memory_pipeline.cli.output import say
from memory_pipeline.cli.place import EXIT_INTERRUPTED

#: How long work that was asked to stop may take to give back what is in flight, in seconds.
STOP_SECONDS = 9.0


@contextmanager
def stoppable(
    *,
    on_stop: Callable[[], None] = lambda: None,
    on_hangup: Callable[[], None] | None = None,
    stop_seconds: float = STOP_SECONDS,
) -> Iterator[threading.Event]:
    """Turn SIGINT and SIGTERM into an event that work looks at, and into a call of ``on_stop``.

    A second signal ends the program at once, and so does work that goes on for ``stop_seconds`` after the first: leases
    that it still holds run out by themselves. SIGHUP calls ``on_hangup``; without one, it asks to stop where it comes
    from a terminal that closed, and is ignored where there is no terminal.
    """
    stop = threading.Event()

    def ask_to_stop() -> None:
        if stop.is_set():
            os._exit(EXIT_INTERRUPTED)
        stop.set()
        on_stop()
        deadline = threading.Timer(stop_seconds, _leave)
        deadline.daemon = True
        deadline.start()
        deadlines.append(deadline)

    def act(number: int) -> None:
        if number != signal.SIGHUP:
            ask_to_stop()
        elif on_hangup is not None:
            on_hangup()
        elif has_terminal:
            ask_to_stop()

    has_terminal = _has_terminal()  # asked now: once it is closed, it is none any longer
    deadlines: list[threading.Timer] = []
    with _listening((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), act):
        try:
            yield stop
        finally:
            for deadline in deadlines:
                deadline.cancel()


def _leave() -> None:
    with suppress(OSError):
        say("memory-pipeline: did not come to an end in time; what was in flight is taken over when its lease ends")
    os._exit(EXIT_INTERRUPTED)


def _has_terminal() -> bool:
    return any(stream is not None and not stream.closed and stream.isatty() for stream in (sys.stdin, sys.stderr))


@contextmanager
def _listening(numbers: Sequence[signal.Signals], act: Callable[[int], None]) -> Iterator[None]:
    """Call ``act`` with each of these signals that comes, in a thread of its own.

    The system writes the number of a signal into a pipe, and that thread reads it. A handler would have to wait until
    the main thread runs Python code again, which may wait for a database; and it might meet a lock that this very
    thread holds.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = {number: signal.signal(number, lambda *_: None) for number in numbers}
    former = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

    def listen() -> None:
        while received := os.read(reading, 1):
            if received[0] in numbers:
                act(received[0])

    listener = threading.Thread(target=listen, name="signals", daemon=True)
    listener.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(former)
        for number, action in before.items():
            signal.signal(number, action)
        os.close(writing)
        listener.join()
        os.close(reading)
