"""Standard input as lines, for a server that a signal may end at any time."""

from __future__ import annotations

import json
import os
import re
import select

import anyio.to_thread

#: A longer line is no request.
_MOST_LINE_BYTES = 64 * 1024 * 1024
_READ_BYTES = 256 * 1024


class StandardInput:
    """Standard input as lines. A wish to stop ends it as its own end does, whatever it waits for."""

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor
        self._stopped, self._stop = os.pipe()
        self._buffer = bytearray()
        self._is_over = False

    def stop(self) -> None:
        """Let it end. May be called from any thread."""
        os.write(self._stop, b".")

    def __aiter__(self) -> StandardInput:
        return self

    async def __anext__(self) -> str:
        line = await anyio.to_thread.run_sync(self.next_line, abandon_on_cancel=True)
        if line is None:
            raise StopAsyncIteration
        return line

    def next_line(self) -> str | None:
        """Return the next line, None at the end. Blocks until then."""
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if self._is_over or not self._read_more():
                self._is_over = True
                rest = bytes(self._buffer)
                self._buffer.clear()
                return _as_request(rest) if rest.strip() else None
            if len(self._buffer) > _MOST_LINE_BYTES:
                return None  # no client of ours, and there is no telling where the next request begins
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return _as_request(line)

    def _read_more(self) -> bool:
        ready, _, _ = select.select([self._descriptor, self._stopped], [], [])
        if self._stopped in ready:
            return False
        read = os.read(self._descriptor, _READ_BYTES)
        self._buffer += read
        return bool(read)


def _as_request(line: bytes) -> str:
    """Decode a line; half a character that JSON may hold and UTF-8 may not becomes a mark."""
    text = line.decode("utf-8", "replace")
    if not re.search(r"\\u[dD][89a-fA-F]", text):
        return text
    try:
        document = json.loads(text)
    except ValueError:
        return text
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "replace").decode("utf-8")
