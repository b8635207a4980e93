"""How many heaps the C library keeps."""

from __future__ import annotations

import gc
import platform
import subprocess
import sys

import pytest

from memory_pipeline.heaps import seldom_collecting, share_heaps

_COUNT_HEAPS = """
import ctypes, re, sys, threading
from memory_pipeline.heaps import share_heaps

if "share" in sys.argv:
    share_heaps()
library = ctypes.CDLL(None)
together = threading.Barrier(8)


def take() -> None:
    kept = [bytes(1000) for _ in range(100)]
    together.wait()  # all at once, or one would take over the heap of another that ended
    kept.clear()


threads = [threading.Thread(target=take) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
library.malloc_stats()
"""


def _heaps(*options: str) -> int:
    """Count the heaps of a program of eight threads, by what the C library tells of itself."""
    done = subprocess.run(
        [sys.executable, "-c", _COUNT_HEAPS, *options], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stderr.count("Arena ")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library keeps no heap for each thread")
def test_threads_share_two_heaps() -> None:
    """Eight threads, which would have more heaps by themselves, have two."""
    assert _heaps() > 2
    assert _heaps("share") == 2


def test_sharing_is_told_where_it_is_known() -> None:
    """It takes effect with glibc alone, as often as it is asked for, and harms nobody elsewhere."""
    assert share_heaps() is share_heaps() is (platform.libc_ver()[0] == "glibc")


def test_cycles_are_looked_for_as_before_once_the_work_is_done() -> None:
    """The rest of the program goes on as it was set."""
    before = gc.get_threshold()
    with seldom_collecting():
        assert gc.get_threshold()[0] > before[0]
    assert gc.get_threshold() == before
