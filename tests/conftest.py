"""What holds for all tests: where their files lie, and that the end says what could not be tested on this machine."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

_MEMORY = Path("/dev/shm")
_ROOM_BYTES = 2 << 30


def pytest_configure() -> None:
    """Keep the tests' files in memory where there is room: the program waits for the disk at each file that it writes.

    Whoever sets TMPDIR, or gives --basetemp, has them there.
    """
    has_room = os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free >= _ROOM_BYTES
    if has_room and "TMPDIR" not in os.environ:
        os.environ["TMPDIR"] = str(_MEMORY)
        tempfile.tempdir = None  # to be found anew


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say it where the tests in a browser were skipped; a mere s among thousands of dots is seen by nobody."""
    reasons = [str(one.longrepr) for one in terminalreporter.stats.get("skipped", [])]
    if not reasons:
        return
    from browsing import NO_BROWSER

    skipped = sum(NO_BROWSER in reason for reason in reasons)
    if skipped:
        terminalreporter.write_line(f"{skipped} tests skipped, {NO_BROWSER}", yellow=True, bold=True)
