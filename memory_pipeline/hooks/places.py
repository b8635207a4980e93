"""The files of others that we write ourselves into: read whole, changed only if nobody else changed them meanwhile."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from memory_pipeline.errors import HookError
from memory_pipeline.files import FILE_MODE, make_private_folder, write_whole

_MOST_BYTES = 16 << 20


def read_file(path: Path) -> bytes | None:
    """Return what a file holds, through links; None where there is none.

    Raises:
        HookError: it can't be read, is no file, or is too large to be what it should be.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HookError(f"{path}: can't be read: {error.strerror or error}") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
            raise HookError(f"{path}: is no regular file, or too large; it is left as it is")
        with os.fdopen(os.dup(descriptor), "rb") as stream:
            return stream.read()
    finally:
        os.close(descriptor)


def change_file(path: Path, before: bytes | None, after: bytes | None) -> None:
    """Put ``after`` in the place of ``before``, whole; None for no file. A link stays one, and a mode stays.

    Raises:
        HookError: it can't be written, or is not ``before`` any more.
    """
    if before == after:
        return
    target = Path(os.path.realpath(path))
    if read_file(path) != before:
        raise HookError(f"{path}: another program changes it just now; nothing was done, try again")
    try:
        if after is None:
            target.unlink()
            return
        mode = FILE_MODE if before is None else stat.S_IMODE(target.stat().st_mode)
        if before is not None and not os.access(target, os.W_OK):
            raise HookError(f"{path}: may not be written; change its mode, or add what `--print` shows by hand")
        make_private_folder(target.parent)
        write_whole(target, after, mode=mode)
    except OSError as error:
        raise HookError(f"{path}: can't be written: {error.strerror or error}") from error
