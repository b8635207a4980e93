"""How many heaps the C library keeps."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

from memory_pipeline.heaps import share_heaps

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


_TWO_AT_ONCE = """
import gc
from memory_pipeline.heaps import seldom_collecting

usual = gc.get_threshold()
first, second = seldom_collecting(), seldom_collecting()
for work in (first, second):
    work.__enter__()
first.__exit__(None, None, None)
assert gc.get_threshold()[0] > usual[0]
second.__exit__(None, None, None)
assert gc.get_threshold() == usual
"""


def test_cycles_are_looked_for_as_before_once_the_work_is_done() -> None:
    """Also where the work of one user of a server ends while that of another goes on."""
    subprocess.run([sys.executable, "-c", _TWO_AT_ONCE], check=True)
