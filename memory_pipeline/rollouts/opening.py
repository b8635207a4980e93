"""Opening a rollout safely, and its plain text as a stream of bounded chunks.

Only regular files below the agent's log folders are opened, component by component, following no link and never
blocking, so that a FIFO or a link swapped in after the search does no harm. The size is taken at the opening and
reading stops there: a log that grows meanwhile is read to one consistent point. Time stamps are left as they are
where the system allows it (``O_NOATIME``).
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from types import TracebackType

from memory_pipeline.errors import RolloutError, VanishedError
from memory_pipeline.records import PAST_LIMIT, RolloutFile
from memory_pipeline.rollouts.homes import each_log_root

CHUNK_BYTES = 1 << 17
_GATHERED_BYTES = CHUNK_BYTES  # what zstd's blocks give is handed on in pieces of at least this size
_MAX_ZSTD_WINDOW_BYTES = 1 << 26
# Logs shrink to a fifth, or a twentieth. What grows further than this, behind the first megabytes, is a bomb.
_MAX_GROWTH = 100
_FREE_GROWTH_BYTES = 8 << 20
# A line of the shortest logs takes five packed bytes or more. Millions of lines that take less take long to read.
_MAX_LINES_PER_BYTE = 0.5
_FREE_LINES = 1 << 17
_SKIPPABLE_FRAME = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
_FRAME_HEADER_BYTES = 18  # at most
_BLOCK_HEADER_BYTES = 3
_CHECKSUM_BYTES = 4
_REPEATED_BYTE = 1  # the kind of block that holds one byte, to be repeated
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_ATIME = getattr(os, "O_NOATIME", 0)


class PlainText:
    """The plain text of an opened rollout. ``cut`` names why reading stopped early, None when it did not.

    ``cut`` is ``cut_frame`` (a zstd frame is torn or damaged), ``past_limit`` (more than ``max_bytes`` of plain
    text, or far more, in bytes or in lines, than what is packed can hold by rights) or ``vanished`` (the file shrank
    while it was read); what was read before that stands.
    """

    def __init__(self, descriptor: int, size: int, mtime: float, *, compressed: bool, max_bytes: int) -> None:
        self.size = size
        self.mtime = mtime
        self.cut: str | None = None
        self._descriptor = descriptor
        self.is_packed = compressed
        self._max_bytes = max_bytes

    def __enter__(self) -> PlainText:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Closing twice is fine."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def chunks(self) -> Iterator[bytes]:
        """Yield the plain text in order, in pieces of bounded size, to the size at opening or ``max_bytes``."""
        left = self._max_bytes
        for chunk in self._unzipped() if self.is_packed else self._stored(CHUNK_BYTES):
            if len(chunk) > left:
                self.cut = PAST_LIMIT
                yield chunk[:left]
                return
            left -= len(chunk)
            yield chunk

    def stored_range(self, start: int, end: int) -> Iterator[bytes]:
        """Yield a byte range of a log that is not packed, in pieces of bounded size; nothing else is read."""
        end = min(end, self.size, self._max_bytes)
        while start < end and (piece := os.pread(self._descriptor, min(CHUNK_BYTES, end - start), start)):
            start += len(piece)
            yield piece

    def _stored(self, bite: int) -> Iterator[bytes]:
        left = self.size
        while left > 0:
            try:
                chunk = os.read(self._descriptor, min(bite, left))
            except OSError as error:
                raise RolloutError(f"reading failed: {error.strerror or error}") from error
            if not chunk:
                self.cut = "vanished"
                return
            left -= len(chunk)
            yield chunk

    def _unzipped(self) -> Iterator[bytes]:
        import zstandard

        context = zstandard.ZstdDecompressor(max_window_size=_MAX_ZSTD_WINDOW_BYTES)
        frame = None
        pieces: list[bytes] = []
        gathered = packed = unpacked = lines = 0
        for block in _blocks(_Packed(self._stored(CHUNK_BYTES))):
            frame = frame or context.decompressobj()
            try:
                plain = frame.decompress(block)
            except zstandard.ZstdError:
                break
            if frame.eof:
                frame = None
            packed += len(block)
            unpacked += len(plain)
            lines += plain.count(b"\n")
            if (
                unpacked > _FREE_GROWTH_BYTES + _MAX_GROWTH * packed
                or lines > _FREE_LINES + _MAX_LINES_PER_BYTE * packed
            ):
                self.cut = PAST_LIMIT
                frame = None
                break
            pieces.append(plain)
            gathered += len(plain)
            if gathered >= _GATHERED_BYTES:
                yield b"".join(pieces)
                pieces, gathered = [], 0
        if frame is not None:
            self.cut = "cut_frame"
        yield b"".join(pieces)


class _Packed:
    """Packed bytes, to be taken as many at a time as are wanted; fewer only at their end."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._held = b""
        self._position = 0

    def peek(self, count: int) -> bytes:
        """Give the next bytes and leave them."""
        while len(self._held) - self._position < count and (chunk := next(self._chunks, b"")):
            self._held = self._held[self._position :] + chunk
            self._position = 0
        return self._held[self._position : self._position + count]

    def take(self, count: int) -> bytes:
        """Give the next bytes."""
        piece = self.peek(count)
        self._position += len(piece)
        return piece

    def skip(self, count: int) -> None:
        """Pass over bytes, however many."""
        while count > 0 and (piece := self.take(min(count, CHUNK_BYTES))):
            count -= len(piece)


def _blocks(packed: _Packed) -> Iterator[bytes]:
    """Cut packed bytes where the headers, blocks and checksums of zstd's frames end.

    A block of four bytes may stand for 128 KiB, and none for more: unpacked one by one, they fill no memory. A torn
    block, or a checksum that is wrong, takes nothing with it of what stands before.
    """
    import zstandard

    while head := packed.peek(_FRAME_HEADER_BYTES):
        if _SKIPPABLE_FRAME.match(head):
            packed.skip(8 + int.from_bytes(head[4:8], "little"))
            continue
        try:
            header_bytes = zstandard.frame_header_size(head)
            has_checksum = zstandard.get_frame_parameters(head).has_checksum
        except zstandard.ZstdError:
            yield packed.take(len(head))  # no frame, or not all of its header: unpacking it tells
            return
        yield packed.take(header_bytes)
        is_last = False
        while not is_last:
            block_header = packed.take(_BLOCK_HEADER_BYTES)
            if len(block_header) < _BLOCK_HEADER_BYTES:
                return
            fields = int.from_bytes(block_header, "little")
            is_last = bool(fields & 1)
            yield block_header + packed.take(1 if fields >> 1 & 3 == _REPEATED_BYTE else fields >> 3)
        if has_checksum:
            yield packed.take(_CHECKSUM_BYTES)


def open_rollout(file: RolloutFile, home: str, *, max_bytes: int) -> PlainText:
    """Open a rollout for reading as plain text.

    Raises:
        RolloutError: it vanished, is not a regular file, lies outside the agent's log folders, or may not be read.
    """
    descriptor = _open_below(file, home)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise RolloutError(f"{file.path}: not a regular file ({_kind_of(status.st_mode)}); it is passed over")
    except BaseException:
        os.close(descriptor)
        raise
    return PlainText(
        descriptor,
        status.st_size,
        status.st_mtime,
        compressed=file.path.endswith(".zst"),
        max_bytes=max_bytes,
    )


def _open_below(file: RolloutFile, home: str) -> int:
    root, parts = _split_below(file, home)
    folder = -1
    try:
        folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for part in parts[:-1]:
            deeper = os.open(part, _FLAGS | os.O_DIRECTORY, dir_fd=folder)
            os.close(folder)
            folder = deeper
        return _open_file(parts[-1], folder)
    except FileNotFoundError as error:
        raise VanishedError(f"{file.path}: {_reason(error)}") from error
    except OSError as error:
        raise RolloutError(f"{file.path}: {_reason(error)}") from error
    finally:
        if folder >= 0:
            os.close(folder)


def _split_below(file: RolloutFile, home: str) -> tuple[str, list[str]]:
    for _, root in each_log_root(file.agent, home):
        prefix = root.rstrip("/") + "/"
        if file.path.startswith(prefix):
            parts = file.path[len(prefix) :].split("/")
            if all(part not in ("", ".", "..") for part in parts):
                return root, parts
    if not os.path.lexists(file.path):
        raise VanishedError(f"{file.path}: no longer there")
    raise RolloutError(f"{file.path}: lies outside the {file.agent.value} logs below {home}; it is not read")


def _open_file(name: str, folder: int) -> int:
    flags = _FLAGS | os.O_NONBLOCK
    try:
        return os.open(name, flags | _NO_ATIME, dir_fd=folder)
    except PermissionError:
        # O_NOATIME is for the owner only; another's readable file is read without it.
        return os.open(name, flags, dir_fd=folder)


def _reason(error: OSError) -> str:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return "no longer there"
    if error.errno in (errno.ELOOP, errno.EMLINK):
        return "a symbolic link stands where a file or folder was; it is not followed"
    if error.errno == errno.ENXIO:
        return "not a regular file (socket or device); it is passed over"
    return f"can't be opened: {error.strerror or error}"


def _kind_of(mode: int) -> str:
    for name, test in (("folder", stat.S_ISDIR), ("FIFO", stat.S_ISFIFO), ("socket", stat.S_ISSOCK)):
        if test(mode):
            return name
    return "device"
