"""A terminal that shows one screen and gives single keys, and is left as it was found."""

from __future__ import annotations

import codecs
import os
import re
import select
import shutil
import signal
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from memory_pipeline.cli.review_screen import ReviewScreen

_ENTER_SCREEN = "\x1b[?1049h\x1b[?25l"
_LEAVE_SCREEN = "\x1b[?25h\x1b[?1049l"
_CLEAR = "\x1b[H\x1b[2J"
_KEY = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O.)|.", re.DOTALL)
#: So often it is looked whether the window has another size.
_LOOK_EVERY_SECONDS = 0.5
_READ_BYTES = 4096


def is_terminal() -> bool:
    """Whether a person can look at standard output and press keys on standard input."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def show(screen: ReviewScreen) -> None:
    """Show a screen and give it the keys until it is over, or the terminal is lost.

    Raises:
        KeyboardInterrupt: Ctrl-C; the terminal is as it was.
    """
    with suppress(OSError), _single_keys() as read_keys:
        drawn = ""
        while True:
            drawing = _drawing(screen)
            if drawing != drawn:
                _write(drawing)
                drawn = drawing
            if not all(map(screen.press, read_keys())):
                return


@contextmanager
def _single_keys() -> Iterator[Callable[[], list[str]]]:
    """Turn the terminal to single keys that are not echoed; yields what waits for some, none when only time passed."""
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    # Asked to end, or with the terminal gone, it leaves as by Ctrl-C: what was decided is stored.
    signals = {number: signal.signal(number, signal.default_int_handler) for number in (signal.SIGTERM, signal.SIGHUP)}
    decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def read_keys() -> list[str]:
        if not select.select([descriptor], [], [], _LOOK_EVERY_SECONDS)[0]:
            return []
        read = os.read(descriptor, _READ_BYTES)
        return _KEY.findall(decoder.decode(read)) if read else ["q"]  # the other side has gone

    try:
        tty.setcbreak(descriptor)
        _write(_ENTER_SCREEN)
        yield read_keys
    finally:
        with suppress(OSError):
            _write(_LEAVE_SCREEN)
        with suppress(OSError, termios.error):
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
        for number, action in signals.items():
            signal.signal(number, action)


def _drawing(screen: ReviewScreen) -> str:
    """Lay the screen out for the window as it is now: the body, scrolled, and the foot at the bottom."""
    from rich.console import Console

    width, height = shutil.get_terminal_size()
    foot = screen.foot(width)
    room = max(height - len(foot) - 1, 1)
    body = screen.body(width)
    screen.top = max(0, min(screen.top, len(body) - room))
    shown = body[screen.top : screen.top + room]
    is_cut = screen.top + room < len(body)
    console = Console(file=sys.stdout, width=width, highlight=False, soft_wrap=True)
    with console.capture() as captured:
        for line in shown:
            console.print(line, end="\n")
        console.print("… Space shows more" if is_cut else "", end="\n")
        for number, line in enumerate(foot):
            console.print(line, end="\n" if number < len(foot) - 1 else "")
    return _CLEAR + captured.get()


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
