"""How memory is kept while many sessions are read: few heaps for all threads, and few looks for what is not used."""

from __future__ import annotations

import gc
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


@contextmanager
def seldom_collecting() -> Iterator[None]:
    """Look for cycles more seldom meanwhile: reading a log makes thousands of small records, and no cycles."""
    before = gc.get_threshold()
    gc.set_threshold(_NEW_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
