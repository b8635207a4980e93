"""The OS lock: held by a live process, gone with it. Never a marker file that outlives a crash."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from memory_pipeline.errors import InterruptedRunError, LockedError, StoreError

#: How often a waiting run looks whether it was asked to stop, in seconds.
_POLL_SECONDS = 0.1


class HeldLock(NamedTuple):
    """A lock file that this process holds, and which file it was when it was taken."""

    path: Path
    file: tuple[int, int]  # device and inode

    def is_held(self) -> bool:
        """Whether the file at the path is still the one that is locked.

        A lock holds a file, not a name: once somebody deletes the file, another run can make and lock a new one.
        """
        return _identity(self.path) == self.file


@contextmanager
def os_lock(
    path: Path, *, purpose: str, wait_seconds: float = 0.0, should_stop: Callable[[], bool] | None = None
) -> Iterator[HeldLock]:
    """Hold the lock file at ``path`` for the time of the ``with`` block, which is given what tells if it still does.

    ``wait_seconds`` bounds the wait for another holder: 0 does not wait, infinity waits as long as it takes, or until
    ``should_stop`` says so.

    Raises:
        LockedError: another live process holds it.
        InterruptedRunError: ``should_stop`` said so while waiting.
        StoreError: the lock file can't be made, or its file system offers no real locks.
    """
    from filelock import FileLock, Timeout

    # A soft lock would survive a crash and block every later run, so a file system without flock is refused instead.
    lock = FileLock(path, timeout=0, mode=0o600, fallback_to_soft=False)
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            lock.acquire(timeout=0)
            break
        except Timeout as error:
            if should_stop is not None and should_stop():
                raise InterruptedRunError(f"stopped while waiting for {path}") from error
            if time.monotonic() >= deadline:
                raise LockedError(
                    f"another run holds {path} ({purpose}); try again later, or use `run --wait`"
                ) from error
            time.sleep(_POLL_SECONDS)
        except (OSError, NotImplementedError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise StoreError(
                f"{path}: can't be locked ({reason}); the folder must be writable and offer file locks"
            ) from error
    try:
        yield HeldLock(path=path, file=_identity(path) or (0, 0))
    finally:
        lock.release()


class Holding(NamedTuple):
    """Whether somebody holds a lock file, as a look from outside tells."""

    is_held: bool
    pid: int | None = None  # of the holder, where the system tells


def who_holds(path: Path, *, table: Path = Path("/proc/locks")) -> Holding:
    """Say whether a live process holds the lock file at ``path``, without making it; ``table`` is the system's list.

    Raises:
        OSError: the file is there and can't be looked at.
    """
    identity = _identity(path)
    if identity is None:
        return Holding(is_held=False)
    pid = _pid_in(table, identity)
    if pid is not None:
        return Holding(is_held=True, pid=pid)
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        # The list may leave out processes of other containers, so it is tried: shared, and let go of at once.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return Holding(is_held=True)
    finally:
        os.close(descriptor)
    return Holding(is_held=False)


def _pid_in(table: Path, identity: tuple[int, int]) -> int | None:
    """Find the holder in the list of locks: ``1: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF``."""
    try:
        lines = table.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return None
    device, inode = identity
    place = f"{os.major(device):02x}:{os.minor(device):02x}:{inode}"
    for line in lines:
        fields = line.split()
        if len(fields) >= 6 and fields[1:4] == ["FLOCK", "ADVISORY", "WRITE"] and fields[5] == place:
            return int(fields[4]) if fields[4].isdecimal() and fields[4] != "0" else None
    return None


class UseLock:
    """A lock that all users of something share. Whoever wants it alone gets it only while nobody uses it.

    Like ``os_lock`` a lock of the operating system: it goes with its process. One object is for one user.
    """

    def __init__(self, path: Path) -> None:
        """Open the lock file, and make it where there is none.

        Raises:
            StoreError: it can't be made or opened.
        """
        self.path = path
        try:
            self._descriptor: int | None = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise StoreError(
                f"{path}: can't be opened: {error.strerror or error}; is the state folder writable?"
            ) from error

    def take_alone(self, *, wait_seconds: float = 0.0) -> bool:
        """Take it alone; false when others still hold it after ``wait_seconds``.

        Raises:
            StoreError: the file system offers no locks.
        """
        return self._take(fcntl.LOCK_EX, wait_seconds)

    def share(self, *, wait_seconds: float) -> bool:
        """Take it beside others, also after having held it alone; false when one still has it alone by then.

        Raises:
            StoreError: the file system offers no locks.
        """
        return self._take(fcntl.LOCK_SH, wait_seconds)

    def release(self) -> None:
        """Let go of it; harmless when that was done before."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _take(self, how: int, wait_seconds: float) -> bool:
        if self._descriptor is None:
            raise StoreError(f"{self.path}: was let go of before")
        deadline = time.monotonic() + wait_seconds
        while True:
            try:
                fcntl.flock(self._descriptor, how | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    return False
                time.sleep(_POLL_SECONDS)
            except OSError as error:
                raise StoreError(
                    f"{self.path}: can't be locked ({error.strerror or error}); the state folder must lie on a file "
                    "system that offers file locks: name another state_dir"
                ) from error
            else:
                return True


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path, follow_symlinks=False)  # noqa: PTH116 - a link in its place is another file
    except OSError:
        return None
    return status.st_dev, status.st_ino
