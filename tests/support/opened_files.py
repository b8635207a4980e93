"""Tells which files were opened by whatever process, as the Linux kernel saw it."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable
from pathlib import Path

_IN_OPEN = 0x20
_EVENT_HEAD = struct.Struct("iIII")


class OpenedFiles:
    """Watches files from entering the context on. Linux only."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._paths = tuple(paths)
        self._watched: dict[int, Path] = {}
        self._descriptor = -1

    def __enter__(self) -> OpenedFiles:
        library = ctypes.CDLL(None, use_errno=True)
        self._descriptor = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        for path in self._paths:
            number = library.inotify_add_watch(self._descriptor, os.fsencode(path), _IN_OPEN)
            if number < 0:
                raise OSError(ctypes.get_errno(), "inotify_add_watch failed", str(path))
            self._watched[number] = path
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def so_far(self) -> set[Path]:
        """Return the files that were opened since the last call."""
        opened = set()
        while True:
            try:
                events = os.read(self._descriptor, 1 << 16)
            except BlockingIOError:
                return opened
            position = 0
            while position < len(events):
                number, _, _, name_bytes = _EVENT_HEAD.unpack_from(events, position)
                opened.add(self._watched[number])
                position += _EVENT_HEAD.size + name_bytes
