"""Files are written whole: temporary file, fsync, rename. All that we write is for its owner only."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

FILE_MODE = 0o600
FOLDER_MODE = 0o700
TEMPORARY_PREFIX = ".memory-pipeline-"


def make_private_folder(path: Path) -> None:
    """Make a folder and its missing parents, each for the owner only; an existing folder keeps its mode.

    Raises:
        OSError: it can't be made.
    """
    missing = []
    folder = path
    while not folder.exists() and folder != folder.parent:
        missing.append(folder)
        folder = folder.parent
    for part in reversed(missing):
        part.mkdir(mode=FOLDER_MODE, exist_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Put ``content`` at ``path`` so that a reader, or a crash, sees the old file or the new one, never a part.

    Raises:
        OSError: it can't be written; the old file stands and nothing is left beside it.
    """
    descriptor, temporary = tempfile.mkstemp(prefix=TEMPORARY_PREFIX, dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(FILE_MODE)
        os.replace(temporary, path)  # noqa: PTH105 - the atomic rename is the point
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108
        raise
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Make the renames inside a folder durable, where the system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sha256_hex(content: bytes) -> str:
    """Return the SHA-256 of some bytes, in hex."""
    return hashlib.sha256(content).hexdigest()
