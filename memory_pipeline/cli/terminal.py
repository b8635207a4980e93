"""A terminal that shows one screen and gives single keys, and is left as it was found."""

from __future__ import annotations

import codecs
import errno
import os
import re
import select
import shutil
import signal
import sys
import termios
import tty
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

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
    with suppress(OSError), _Window() as window:
        while True:
            window.draw(lambda: _drawing(screen))
            if not all(map(screen.press, window.keys())):
                return


class _Window:
    """The terminal while it shows a screen and gives single keys that are not echoed.

    Stopped by Ctrl-Z it is left as it was found, and taken again when the program goes on; where its size changes, it
    is drawn anew.
    """

    def __init__(self) -> None:
        self._descriptor = sys.stdin.fileno()
        self._before = termios.tcgetattr(self._descriptor)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._drawn = ""
        self._handlers: dict[signal.Signals, Any] = {}
        self._wishes: set[signal.Signals] = set()  # to stop, or that it went on
        self._waking: tuple[int, int] = (-1, -1)  # a pipe that wakes whoever waits for keys
        self._former_waking = -1

    def __enter__(self) -> _Window:
        self._waking = os.pipe()
        for end in self._waking:
            os.set_blocking(end, False)
        self._former_waking = signal.set_wakeup_fd(self._waking[1], warn_on_full_buffer=False)
        # Asked to end, or with the terminal gone, it leaves as by Ctrl-C: what was decided is stored.
        self._on(signal.SIGTERM, signal.default_int_handler)
        self._on(signal.SIGHUP, signal.default_int_handler)
        self._on(signal.SIGWINCH, lambda *_: None)  # it wakes, and what is drawn for another size differs
        # A shell that can't continue a stopped program lets it ignore this signal, and so it stays.
        if signal.getsignal(signal.SIGTSTP) is not signal.SIG_IGN:
            self._on(signal.SIGTSTP, self._note_wish)
        self._on(signal.SIGCONT, self._note_wish)
        try:
            self._take()
        except BaseException:
            self._let_go()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._let_go()

    def draw(self, drawing: Callable[[], str]) -> None:
        """Show what is to be seen now, if that differs from what is seen."""
        drawn = drawing()
        if drawn != self._drawn:
            _write(drawn)
            self._drawn = drawn

    def keys(self) -> list[str]:
        """Wait for keys; none when only time passed, or a signal came."""
        ready = select.select([self._descriptor, self._waking[0]], [], [], _LOOK_EVERY_SECONDS)[0]
        if self._waking[0] in ready:
            os.read(self._waking[0], _READ_BYTES)
        self._follow_wishes()
        if self._descriptor not in ready:
            return []
        read = os.read(self._descriptor, _READ_BYTES)
        return _KEY.findall(self._decoder.decode(read)) if read else ["q"]  # the other side has gone

    def _take(self) -> None:
        self._give_single_keys(termios.TCSAFLUSH)  # what was typed before there was anything to see decides nothing
        _write(_ENTER_SCREEN)
        self._drawn = ""

    def _put_back(self) -> None:
        with suppress(OSError):
            _write(_LEAVE_SCREEN)
        with suppress(OSError, termios.error):
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)

    def _note_wish(self, number: int, _frame: FrameType | None) -> None:
        # Not more, here: the signal may have come in the middle of writing to the terminal.
        self._wishes.add(signal.Signals(number))

    def _follow_wishes(self) -> None:
        wishes, self._wishes = self._wishes, set()
        if signal.SIGTSTP in wishes:
            self._stop()
        elif signal.SIGCONT in wishes:
            # Whoever stopped it, by a signal that can't be caught perhaps, may have set the terminal otherwise.
            self._give_single_keys(termios.TCSADRAIN)  # what was typed for this screen counts
            self._drawn = ""

    def _stop(self) -> None:
        """Leave the terminal to the shell, stop, and take it again once the shell lets the program go on."""
        self._put_back()
        ours = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTSTP])
        os.kill(os.getpid(), signal.SIGTSTP)  # here it stands still
        signal.signal(signal.SIGTSTP, ours)
        self._before = termios.tcgetattr(self._descriptor)  # as the shell leaves it now
        self._take()
        self._wishes.discard(signal.SIGCONT)

    def _give_single_keys(self, when: int) -> None:
        while True:
            try:
                tty.setcbreak(self._descriptor, when)
            except termios.error as error:
                if error.args[0] != errno.EINTR:  # in the background it stood still here, until it was brought back
                    raise OSError(*error.args) from error
            else:
                return

    def _let_go(self) -> None:
        self._put_back()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._former_waking)
        for end in self._waking:
            os.close(end)

    def _on(self, number: signal.Signals, act: Callable[[int, FrameType | None], Any]) -> None:
        self._handlers[number] = signal.signal(number, act)


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
