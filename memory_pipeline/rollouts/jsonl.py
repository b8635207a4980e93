r"""The one tolerant, streaming line reader: bytes in, raw lines out, each decoded once.

Lines end at ``\n`` bytes only. A line's byte range counts the plain text and leaves out its end: the ``\n``, and a
``\r`` directly before it, which then is neither decoded nor hashed. A byte order mark belongs to the range of the
first line. Whatever can't be kept is counted by reason:

- ``torn``: the JSON breaks off (a killed writer); ``not_json``: it is no JSON; ``not_utf8``: a broken character
- ``nul``: nothing but NUL bytes, or broken by them; ``not_object``: JSON, but no object; ``too_long``: over the cap
- ``cut_frame``, ``past_limit``, ``vanished``: the file as a whole broke off there

Blank lines are no loss and are not counted.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

MAX_LINE_BYTES = 32 << 20
_LISTED_LINES = 100
_BOM = b"\xef\xbb\xbf"
# What starts a record of either agent: where a new record may begin behind one that a kill tore off.
_RECORD_START = re.compile(rb'\{"(?:timestamp|parentUuid)":')
_RESTARTS_TRIED = 16
_SURROGATES = re.compile("[\ud800-\udfff]")
_BETWEEN_RECORDS = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder(strict=False)


class RawLine:
    """One line as it stands in the plain text: its number (from 1), its byte range, its bytes without the line end."""

    __slots__ = ("_sha256", "byte_start", "number", "raw")

    def __init__(self, number: int, byte_start: int, raw: bytes) -> None:
        self.number = number
        self.byte_start = byte_start
        self.raw = raw
        self._sha256: str | None = None

    @property
    def byte_end(self) -> int:
        """Where the line ends (exclusive, without the line end)."""
        return self.byte_start + len(self.raw)

    @property
    def sha256(self) -> str:
        """Hex digest of the line's bytes, computed when first asked for."""
        if self._sha256 is None:
            self._sha256 = hashlib.sha256(self.raw).hexdigest()
        return self._sha256


class SkippedLines:
    """What was lost while reading: how much for each reason, and the first places."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.places: list[tuple[int, str]] = []

    def add(self, reason: str, line_number: int) -> None:
        """Count one loss. The first hundred are kept as ``(line number, reason)``."""
        self.counts[reason] += 1
        if len(self.places) < _LISTED_LINES:
            self.places.append((line_number, reason))


class LineReader:
    """Splits chunks of plain text into raw lines, holding at most one line of at most ``max_line_bytes``.

    After the iteration ``total_lines`` is the number of lines that were not blank, skipped ones included.
    """

    def __init__(self, chunks: Iterable[bytes], skipped: SkippedLines, *, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self.total_lines = 0
        self.last_number = 0
        self._chunks = chunks
        self._skipped = skipped
        self._max_line_bytes = max_line_bytes
        self._pieces: list[bytes] = []
        self._held_bytes = 0

    def __iter__(self) -> Iterator[RawLine]:
        line_start = 0
        for chunk in self._chunks:
            *ended, rest = chunk.split(b"\n")
            for piece in ended:
                length = self._held_bytes + len(piece)
                line = self._end_line(line_start, piece)
                line_start += length + 1
                if line is not None:
                    yield line
            self._hold(rest)
        if self._held_bytes:
            line = self._end_line(line_start, b"")
            if line is not None:
                yield line

    def _hold(self, piece: bytes) -> None:
        """Keep the beginning of a line, or only its length once it is over the cap."""
        if not piece:
            return
        self._held_bytes += len(piece)
        if self._held_bytes > self._max_line_bytes:
            self._pieces.clear()
        else:
            self._pieces.append(piece)

    def _end_line(self, start: int, last: bytes) -> RawLine | None:
        self.last_number += 1
        length = self._held_bytes + len(last)
        if self._held_bytes:
            self._pieces.append(last)
            raw = b"".join(self._pieces)
            self._pieces.clear()
            self._held_bytes = 0
        else:
            raw = last
        if length > self._max_line_bytes:
            self.total_lines += 1
            self._skipped.add("too_long", self.last_number)
            return None
        if raw.endswith(b"\r"):
            raw = raw[:-1]
        if not raw.strip():
            return None
        self.total_lines += 1
        return RawLine(self.last_number, start, raw)


def decode_line(line: RawLine, skipped: SkippedLines) -> list[dict[str, Any]]:
    """Decode a line into the records it holds: one as a rule, none when it is lost, several when they share it."""
    try:
        value = orjson.loads(line.raw)
    except orjson.JSONDecodeError:
        return _decode_odd_line(line, skipped)
    if isinstance(value, dict):
        return [value]
    skipped.add("not_object", line.number)
    return []


def _decode_odd_line(line: RawLine, skipped: SkippedLines) -> list[dict[str, Any]]:
    raw = line.raw.removeprefix(_BOM)
    if b"\0" in raw:
        raw = raw.replace(b"\0", b"")
    values, fault = _decode_values(raw)
    if fault is not None:
        if len(raw) != len(line.raw.removeprefix(_BOM)):
            fault = "nul"
        behind = _records_behind_a_tear(raw)
        skipped.add("torn" if behind and fault != "nul" else fault, line.number)
        values.extend(behind)
    records = [value for value in values if isinstance(value, dict)]
    for _ in range(len(values) - len(records)):
        skipped.add("not_object", line.number)
    if not values and fault is None and b"\0" in line.raw:
        skipped.add("nul", line.number)
    return records


def _decode_values(raw: bytes) -> tuple[list[Any], str | None]:
    """Decode the values that follow one another, and say why it stopped before the end, if it did."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return [], "not_utf8"
    values: list[Any] = []
    position = 0
    while True:
        position = _BETWEEN_RECORDS.match(text, position).end()  # type: ignore[union-attr]
        if position >= len(text):
            return values, None
        try:
            value, position = _DECODER.raw_decode(text, position)
        except json.JSONDecodeError as error:
            return values, _fault(text, position, error)
        except (ValueError, RecursionError):
            # A number of thousands of digits, or brackets nested thousands deep.
            return values, "not_json"
        values.append(_without_surrogates(value))


def _fault(text: str, start: int, error: json.JSONDecodeError) -> str:
    if text[start] not in '{["':
        return "not_json"
    broken_off = error.pos >= len(text.rstrip()) - 5 or error.msg.startswith("Unterminated string")
    return "torn" if broken_off else "not_json"


def _without_surrogates(value: Any) -> Any:
    """Replace lone surrogates, which no database, file or server would take, by U+FFFD."""
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value)
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value


def _records_behind_a_tear(raw: bytes) -> list[Any]:
    """Find the whole records behind a torn one on the same line: a killed writer leaves no line end.

    Only what is a record by its envelope counts, so that a piece from inside the torn one is never taken for a record.
    """
    starts = [match.start() for match in _RECORD_START.finditer(raw)][-_RESTARTS_TRIED:]
    for start in starts:
        if start == 0:
            continue
        values, fault = _decode_values(raw[start:])
        if fault is None and values and all(_has_envelope(value) for value in values):
            return values
    return []


def _has_envelope(value: Any) -> bool:
    return isinstance(value, dict) and ({"timestamp", "payload"} <= value.keys() or {"uuid", "message"} <= value.keys())
