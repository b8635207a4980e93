"""How memory is kept while many sessions are read: few heaps for all threads, and few looks for what is not used."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

#: So many new objects before Python looks for cycles among them that nobody holds; it does so each 700 by default.
_NEW_OBJECTS = 20_000
#: glibc: M_ARENA_MAX of ``mallopt``.
_MOST_HEAPS = -8


def share_heaps() -> bool:
    """Let all threads share two heaps from now on; tells whether this system's C library knows of such a thing.

    glibc gives a thread a heap of its own, so that threads need not wait for each other, and each keeps what was freed
    in it. Ours wait for the interpreter anyway: sixteen heaps would be megabytes that nobody uses.
    """
    import ctypes

    try:
        set_option = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return False
    return bool(set_option(_MOST_HEAPS, 2))


class _Collecting:
    """How often Python looks for cycles, while any work of the program wants it seldom."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wanting = 0
        self._usual = gc.get_threshold()

    def begin(self) -> None:
        with self._lock:
            if not self._wanting:
                self._usual = gc.get_threshold()
                gc.set_threshold(_NEW_OBJECTS, *self._usual[1:])
            self._wanting += 1

    def end(self) -> None:
        with self._lock:
            self._wanting -= 1
            if not self._wanting:
                gc.set_threshold(*self._usual)


_COLLECTING = _Collecting()


@contextmanager
def seldom_collecting() -> Iterator[None]:
    """Look for cycles more seldom meanwhile: reading logs, or comparing an index, makes small records, and no cycles.

    Several threads may ask for it at once; when the last of them is done, all is as it was before the first.
    """
    _COLLECTING.begin()
    try:
        yield
    finally:
        _COLLECTING.end()
