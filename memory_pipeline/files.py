"""Files are written whole: temporary file, fsync, rename. All that we write is for its owner only.

``exchange`` puts a new file in place of an old one without losing the old one: the two trade names.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

FILE_MODE = 0o600
FOLDER_MODE = 0o700
TEMPORARY_PREFIX = ".memory-pipeline-"

#: One way for two files to trade names. False when this system or file system does not offer it; an OSError else.
ExchangeWay = Callable[[Path, Path], bool]

#: What a kernel or a file system answers when it can't do what was asked, whichever files are named.
_NOT_OFFERED = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM})
_AT_CURRENT_FOLDER = -100  # Linux: AT_FDCWD
_SWAP = 2  # Linux: RENAME_EXCHANGE; macOS: RENAME_SWAP
#: How often a file may come and go under its name while we take it.
_MOST_TRIES = 100


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


def write_whole(path: Path, content: bytes, *, mode: int = FILE_MODE, sync_name: bool = True) -> None:
    """Put ``content`` at ``path`` so that a reader, or a crash, sees the old file or the new one, never a part.

    Without ``sync_name`` a crash may take the name away again: for a caller that gives the file another one at once.

    Raises:
        OSError: it can't be written; the old file stands and nothing is left beside it.
    """
    import tempfile

    descriptor, temporary = tempfile.mkstemp(prefix=TEMPORARY_PREFIX, dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(mode)
        os.replace(temporary, path)  # noqa: PTH105 - the atomic rename is the point
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108
        raise
    if sync_name:
        sync_folder(path.parent)


def exchange(new: Path, target: Path, ways: Sequence[ExchangeWay] | None = None) -> None:
    """Put the file ``new`` at ``target``; whatever stood there has the name ``new`` afterwards, read by nobody yet.

    Nothing is overwritten, nothing is copied and a link is not followed, so that neither disk space nor what somebody
    saved a moment ago is at stake. When nothing stood there, nothing has the name ``new`` afterwards. ``ways`` are
    tried in order; see EXCHANGE_WAYS.

    Raises:
        OSError: it can't be done, a folder stands at ``target``, or the two lie on different file systems (EXDEV);
            both are as they were.
    """
    for _ in range(_MOST_TRIES):
        if target.is_dir() and not target.is_symlink():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
        try:
            done = (
                any(way(new, target) for way in ways or EXCHANGE_WAYS)
                if os.path.lexists(target)
                else _put_where_nothing_stands(new, target)
            )
        except FileNotFoundError:
            if not os.path.lexists(new):
                raise
            continue  # It was taken away since we looked.
        if done:
            for folder in {target.parent, new.parent}:
                sync_folder(folder)
            return
    raise OSError(errno.EBUSY, "it changes too often to be replaced", str(target))


def by_swap(new: Path, target: Path) -> bool:
    """Let the kernel swap the two names: at no moment does one of them name nothing."""
    import ctypes

    swap = _system_swap()
    if swap is None:
        return False
    ctypes.set_errno(0)
    if swap(os.fsencode(new), os.fsencode(target)) == 0:
        return True
    number = ctypes.get_errno()
    if number in _NOT_OFFERED:
        return False
    raise OSError(number, os.strerror(number), str(new), None, str(target))


def by_link(new: Path, target: Path) -> bool:
    """Keep a link to the old file, rename the new one over it. A file put there between the two would be lost."""
    aside = _aside(new)
    try:
        aside.unlink(missing_ok=True)
        os.link(target, aside, follow_symlinks=False)
    except (FileNotFoundError, PermissionError, NotImplementedError):
        if os.path.lexists(target):
            return False
        raise
    except OSError as error:
        if error.errno in _NOT_OFFERED or error.errno == errno.EMLINK:
            return False
        raise
    try:
        os.replace(new, target)  # noqa: PTH105 - the atomic rename is the point
    except OSError:
        aside.unlink(missing_ok=True)
        raise
    os.replace(aside, new)  # noqa: PTH105
    return True


def by_rename(new: Path, target: Path) -> bool:
    """Move the old file aside, then the new one into its place: for a moment nothing stands there."""
    aside = _aside(new)
    os.replace(target, aside)  # noqa: PTH105
    try:
        os.replace(new, target)  # noqa: PTH105
    except OSError:
        os.replace(aside, target)  # noqa: PTH105
        raise
    os.replace(aside, new)  # noqa: PTH105
    return True


#: The best one first. Every file system offers the last one.
EXCHANGE_WAYS: Sequence[ExchangeWay] = (by_swap, by_link, by_rename)


def finish_exchange(new: Path, target: Path) -> None:
    """Bring to its end what a crash cut off within ``exchange``; harmless when nothing was.

    Raises:
        OSError: a file can't be renamed.
    """
    aside = _aside(new)
    if not os.path.lexists(aside):
        return
    if not os.path.lexists(target):
        os.replace(aside, target)  # noqa: PTH105 - moved aside, and nothing came in its place
    elif not os.path.lexists(new) or not _is_same_file(aside, target):
        os.replace(aside, new)  # noqa: PTH105 - the old file, which something has replaced
    else:
        aside.unlink()


def is_open_for_writing(path: Path) -> bool | None:
    """Whether somebody, in whichever process, has a file open for writing; None where that can't be told.

    Only Linux tells, and only to the owner of the file. A file that has another name besides can always be opened
    again, so nothing is told of it either.
    """
    if sys.platform != "linux":
        return None
    import fcntl
    import signal

    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if os.fstat(descriptor).st_nlink > 1:
            return None
        # A lease for reading is granted only while nobody can write. Should somebody open the file just then, the
        # kernel sends the holder a signal, whose default would end the program; this one is ignored by default.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return True if error.errno == errno.EAGAIN else None
    finally:
        os.close(descriptor)
    return False


def _put_where_nothing_stands(new: Path, target: Path) -> bool:
    """Give ``new`` its place, unless somebody else's file came there first: then false."""
    try:
        os.link(new, target, follow_symlinks=False)
    except FileExistsError:
        return False
    except (FileNotFoundError, NotImplementedError):
        raise
    except OSError as error:
        if error.errno not in _NOT_OFFERED:
            raise
        os.replace(new, target)  # noqa: PTH105 - without hard links there is no better way
        return True
    new.unlink()
    return True


@functools.cache
def _system_swap() -> Callable[[bytes, bytes], int] | None:
    """Return the call of this system's C library that swaps two names, if it has one."""
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "darwin":
        call = getattr(library, "renamex_np", None)
        return None if call is None else lambda one, other: int(call(one, other, ctypes.c_uint(_SWAP)))
    call = getattr(library, "renameat2", None)
    if sys.platform != "linux" or call is None:
        return None
    here = ctypes.c_int(_AT_CURRENT_FOLDER)
    return lambda one, other: int(call(here, one, here, other, ctypes.c_uint(_SWAP)))


def _aside(new: Path) -> Path:
    return new.with_name(f"{new.name}.aside")


def _is_same_file(one: Path, other: Path) -> bool:
    first, second = one.lstat(), other.lstat()
    return (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)


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
    import hashlib

    return hashlib.sha256(content).hexdigest()
