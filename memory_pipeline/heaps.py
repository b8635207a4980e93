"""How many heaps the C library keeps for the threads of this program: two, where it would keep one for each."""

from __future__ import annotations

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
