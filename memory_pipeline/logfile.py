"""The log file: one JSON object a line, of several processes at once, rotated by size, without a word of a session.

What stands in a line is named in ``FIELDS`` and comes from our own code: names of actions and outcomes, ids, numbers.
Messages are left out, since a message may quote what was read, or what a server answered.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import orjson

from memory_pipeline.clock import iso
from memory_pipeline.config import Config
from memory_pipeline.errors import MemoryPipelineError
from memory_pipeline.files import FILE_MODE, FOLDER_MODE
from memory_pipeline.lock import os_lock

LOG_FOLDER = "logs"
LOG_NAME = "memory-pipeline.log"
LOCK_NAME = "rotate.lock"

OWN = "memory_pipeline"
#: What our own events may carry. Numbers and short names; see ``_value``.
FIELDS = (
    "action",
    "thread_id",
    "outcome",
    "seconds",
    "fault",
    "succeeded",
    "no_output",
    "failed",
    "claimed",
    "discovered",
    "due",
    "added",
    "modified",
    "removed",
)
_VALUE_CHARS = 120
#: How often it is looked whether the last line still lacks its end, and how long is waited in between, in seconds.
_LOOKS_AT_THE_END = 5
_LOOK_SECONDS = 0.01


class LogFile:
    """A file that many processes append to. Nothing that happens to it is ever raised: the work goes on."""

    def __init__(
        self,
        folder: Path,
        *,
        max_bytes: int,
        keep: int,
        write: Callable[[int, bytes], int] = os.write,
    ) -> None:
        """``max_bytes`` is how large it may grow, ``keep`` how many older ones are left beside it."""
        self._path = folder / LOG_NAME
        self._max_bytes = max_bytes
        self._keep = keep
        self._write = write
        self._descriptor: int | None = None
        self._is_torn = False  # the last line has no end
        self._lock = threading.Lock()

    def append(self, line: bytes) -> None:
        """Add one line, whole: it is one write, so no other process's line stands inside of it."""
        with self._lock, contextlib.suppress(OSError):
            self._rotate_if_full(len(line) + 1)
            descriptor = self._open_current()
            # A line that a full disk cut off is ended first, so that it costs no other one.
            whole = (b"\n" if self._is_torn else b"") + line + b"\n"
            written = 0
            try:
                written = self._write(descriptor, whole)
            finally:
                self._is_torn = written < len(whole) and (self._is_torn or written > 0)

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._let_go()

    def _open_current(self) -> int:
        """Return a descriptor of the file that has the name now: another process may have rotated it away."""
        if self._descriptor is not None and not _is_at(self._descriptor, self._path):
            self._let_go()
        if self._descriptor is None:
            with contextlib.suppress(FileExistsError):
                self._path.parent.mkdir(mode=FOLDER_MODE)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            self._descriptor = os.open(self._path, flags, FILE_MODE)
            self._is_torn = not _ends_a_line(self._descriptor)
        return self._descriptor

    def _let_go(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _rotate_if_full(self, more: int) -> None:
        if not self._is_full(more):
            return
        # One process rotates; whoever meets the lock goes on in the file that is there.
        with (
            contextlib.suppress(MemoryPipelineError),
            os_lock(self._path.with_name(LOCK_NAME), purpose="rotating the log"),
        ):
            if self._is_full(more):  # nobody else did meanwhile
                self._rotate()

    def _is_full(self, more: int) -> bool:
        try:
            size = self._path.lstat().st_size
        except FileNotFoundError:
            return False
        return size > 0 and size + more > self._max_bytes

    def _rotate(self) -> None:
        names = [self._path, *(self._path.with_name(f"{LOG_NAME}.{number}") for number in range(1, self._keep + 1))]
        for older, newer in zip(reversed(names[1:]), reversed(names[:-1]), strict=True):
            with contextlib.suppress(FileNotFoundError):
                newer.replace(older)
        for path in self._path.parent.glob(f"{LOG_NAME}.*"):  # fewer are kept than before
            number = path.name.removeprefix(f"{LOG_NAME}.")
            if number.isascii() and number.isdecimal() and int(number) > self._keep:
                path.unlink(missing_ok=True)


@contextlib.contextmanager
def logging_to_file(config: Config, *, run_id: str) -> Iterator[Callable[..., None]]:
    """Send events to the log file for the time of the ``with`` block, by [logging]; it is given what tells one more.

    Ours go there with their fields; of libraries, that one of them warned.
    """
    limits = config.logging
    if not limits.file:
        yield lambda **_fields: None
        return
    file = LogFile(config.state_path / LOG_FOLDER, max_bytes=limits.max_bytes, keep=limits.keep)
    level = logging.getLevelNamesMapping()[limits.level.upper()]
    own, root = logging.getLogger(OWN), logging.getLogger()
    events = _OwnEvents(file, run_id, level)
    handlers = {own: events, root: _OfLibraries(file, run_id, logging.WARNING)}
    level_before = own.level
    if own.getEffectiveLevel() > level:
        own.setLevel(level)
    for logger, handler in handlers.items():
        logger.addHandler(handler)
    try:
        yield events.tell
    finally:
        for logger, handler in handlers.items():
            logger.removeHandler(handler)
        own.setLevel(level_before)
        file.close()


class _Events(logging.Handler):
    """Writes events to the log file. An event that can't be written is left out."""

    def __init__(self, file: LogFile, run_id: str, level: int) -> None:
        super().__init__(level)
        self._file = file
        self._run_id = run_id

    def tell(self, *, level: int = logging.INFO, **fields: object) -> None:
        """Write one event that goes nowhere else."""
        if level >= self.level:
            self._write(time.time(), level, fields)

    def _write(self, at: float, level: int, fields: Mapping[str, object]) -> None:
        head = {"time": iso(at), "level": logging.getLevelName(level).lower(), "run": self._run_id}
        with contextlib.suppress(Exception):
            self._file.append(orjson.dumps(head | {name: _value(value) for name, value in fields.items()}))


class _OwnEvents(_Events):
    """Events of ours, with their fields."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one event."""
        fields = {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
        self._write(record.created, record.levelno, fields)


class _OfLibraries(_Events):
    """Events of libraries: by name alone, since what they say may be what they sent."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one event; ours, which may pass by here too, were written already."""
        if record.name != OWN and not record.name.startswith(f"{OWN}."):
            self._write(record.created, record.levelno, {"action": "library", "library": record.name})


def _value(value: object) -> object:
    """Return what may stand in the log: a number, or a name on one line."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = str(value)[:_VALUE_CHARS]
    return "".join(character if character.isprintable() else "?" for character in text)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        named = path.lstat()
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(descriptor), named)


def _ends_a_line(descriptor: int) -> bool:
    """Whether the file ends with a whole line; one that another process is just writing counts as such."""
    for _ in range(_LOOKS_AT_THE_END):
        size = os.fstat(descriptor).st_size
        if size == 0 or os.pread(descriptor, 1, size - 1) == b"\n":
            return True
        time.sleep(_LOOK_SECONDS)
    return False
