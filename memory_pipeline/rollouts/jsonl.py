r"""The one tolerant, streaming line reader: bytes in, raw lines out, each decoded once.

Lines end at ``\n`` bytes only. A line's byte range counts the plain text and leaves out its end: the ``\n``, and a
``\r`` directly before it, which then is neither decoded nor hashed. A byte order mark belongs to the range of the
first line. Whatever can't be kept is counted by reason:

- ``torn``: the JSON breaks off (a killed writer); ``not_json``: it is no JSON; ``not_utf8``: a broken character
- ``nul``: nothing but NUL bytes, or broken by them; ``not_object``: JSON, but no object; ``too_long``: over the cap
- ``bad_payload``: a known type of line that carries talk, with something in the place of its content that is none
- ``cut_frame``, ``past_limit``, ``vanished``: the file as a whole broke off there

Blank lines are no loss and are not counted. Nor is inline media: where a line runs on for a chunk without a blank, a
quote or an escape, that run is left out while it streams by, a marker with its size stands in its place, and the rest
of the line is read. The byte range and the hash are those of the whole line all the same.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

#: A longer line is skipped. Some five times as much is in memory while two such lines are read after one another.
MAX_LINE_BYTES = 16 << 20
#: What stands in place of media that was left out: its size in bytes.
MEDIA_LEFT_OUT = re.compile(r"\[(\d+) bytes of media left out\]")
#: Only a piece of at least this length is taken for media.
MEDIA_RUN_BYTES = 1 << 17
#: The reason that a grammar counts: the line is JSON, but what it should say can't be read.
BAD_PAYLOAD = "bad_payload"
_LISTED_LINES = 100
_BLANKS = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"
# Where a new record may begin behind one that a kill tore off: any object, those spelled as the agents do foremost.
_RECORD_START = re.compile(rb'\{"(?:timestamp|parentUuid)":')
_OBJECT_START = re.compile(rb'\{\s*"')
_RESTARTS_TRIED = 20
_RESTARTS_LOOKED_AT = 5000
# What stands before an object inside a record; before a new record stands whatever the torn one ended with.
_BEFORE_INNER = b":,["
_SURROGATES = re.compile("[\ud800-\udfff]")
_BETWEEN_RECORDS = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder(strict=False)


class RawLine:
    """One line as it stands in the plain text: its number (from 1), its byte range, its bytes without the line end.

    ``byte_end`` is exclusive. ``raw`` is shorter than the range where inline media was left out of it.
    """

    __slots__ = ("_crc32", "_sha256", "byte_end", "byte_start", "number", "raw")

    def __init__(self, number: int, byte_start: int, raw: bytes, whole: WholeLine | None = None) -> None:
        """Take a line; ``whole`` tells of the whole line where ``raw`` is not all of it."""
        self.number = number
        self.byte_start = byte_start
        self.raw = raw
        self.byte_end = byte_start + (len(raw) if whole is None else whole.length)
        self._sha256 = None if whole is None else whole.sha256
        self._crc32 = None if whole is None else whole.crc32

    @property
    def is_whole(self) -> bool:
        """Whether ``raw`` is all of the line: nothing was left out."""
        return len(self.raw) == self.byte_end - self.byte_start

    @property
    def sha256(self) -> str:
        """Hex digest of the line's bytes, computed when first asked for."""
        if self._sha256 is None:
            self._sha256 = hashlib.sha256(self.raw).hexdigest()
        return self._sha256

    @property
    def crc32(self) -> int:
        """A checksum of the line's bytes, several times quicker than the hash."""
        if self._crc32 is None:
            self._crc32 = zlib.crc32(self.raw)
        return self._crc32

    def without_bytes(self, *, hashed: bool) -> RawLine:
        """Give the line as its place alone, with its hash if that will be asked for."""
        sha256 = self.sha256 if hashed else self._sha256 or ""
        return RawLine(
            self.number, self.byte_start, b"", WholeLine(length=self.byte_end - self.byte_start, sha256=sha256)
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class WholeLine:
    """What a line was before media was left out of it. Of hash and checksum, one was computed while it streamed by."""

    length: int
    sha256: str | None = None
    crc32: int | None = None


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


@dataclass(frozen=True, kw_only=True, slots=True)
class LineBlock:
    """Whole lines that stand together, ``data[begin:end]``, each with its line end; or one line that spans chunks.

    The first is line ``number`` and starts at ``byte_start`` of the plain text. Blank lines are among them.
    """

    number: int
    byte_start: int
    data: bytes
    begin: int
    end: int
    line: RawLine | None = None  # the line that spans chunks, already counted; the rest then is empty


class LineReader:
    """Splits chunks of plain text into lines, holding at most one line of at most ``max_line_bytes``.

    Iterated, it gives raw lines; ``blocks`` gives them many at once, for a reader that looks at most of them shortly.
    After the iteration ``total_lines`` is the number of lines that were not blank, skipped ones included.
    """

    def __init__(
        self,
        chunks: Iterable[bytes],
        skipped: SkippedLines,
        *,
        max_line_bytes: int = MAX_LINE_BYTES,
        hashes: bool = True,
    ) -> None:
        """Take the chunks; without ``hashes`` a line out of which media was left has its checksum alone."""
        self.total_lines = 0
        self.last_number = 0
        self._chunks = chunks
        self._skipped = skipped
        self._held = _HeldLine(max_line_bytes, hashes=hashes)
        self._max_line_bytes = max_line_bytes

    def __iter__(self) -> Iterator[RawLine]:
        for block in self.blocks():
            if block.line is not None:
                yield block.line
                continue
            begin, number = block.begin, block.number
            while begin < block.end:
                end = block.data.index(b"\n", begin)
                line = self.line(number, block.byte_start + begin - block.begin, block.data[begin:end])
                begin, number = end + 1, number + 1
                if line is not None:
                    yield line
            self.last_number = number - 1

    def blocks(self) -> Iterator[LineBlock]:
        """Yield the lines in blocks. The caller counts those of ``data``: in ``last_number``, and by ``line``."""
        byte_start = 0
        for chunk in self._chunks:
            begin, end = 0, chunk.rfind(b"\n") + 1
            if self._held.length and end:
                begin = chunk.index(b"\n") + 1
                length = self._held.length + begin
                yield from self._end_held(byte_start, chunk[: begin - 1])
                byte_start += length
            if begin < end and chunk[begin] in _BLANKS and chunk[begin:end].isspace():
                # Nothing but blank lines, of which a few packed bytes may hold thousands of millions.
                self.last_number += chunk.count(b"\n", begin, end)
                byte_start += end - begin
            elif begin < end:
                yield LineBlock(number=self.last_number + 1, byte_start=byte_start, data=chunk, begin=begin, end=end)
                byte_start += end - begin
            if end < len(chunk):
                self._held.add(chunk[end:])
        if self._held.length:
            yield from self._end_held(byte_start, b"")

    def line(self, number: int, byte_start: int, raw: bytes) -> RawLine | None:
        """Count one line of a block and give it without its line end, None when it is blank or too long."""
        if not raw or raw.isspace():
            return None
        self.total_lines += 1
        if len(raw) > self._max_line_bytes:
            self._skipped.add("too_long", number)
            return None
        return RawLine(number, byte_start, raw[:-1] if raw.endswith(b"\r") else raw)

    def _end_held(self, byte_start: int, last: bytes) -> Iterator[LineBlock]:
        self.last_number += 1
        self._held.add(last)
        line = self._held.end(self.last_number, byte_start)
        if self._held.is_too_long:
            self.total_lines += 1
            self._skipped.add("too_long", self.last_number)
        elif line is not None:
            self.total_lines += 1
            yield LineBlock(number=self.last_number, byte_start=byte_start, data=b"", begin=0, end=0, line=line)
        self._held.clear()


class _HeldLine:
    """A line that spans chunks, while it is put together: all of it, or without its media, or only its length."""

    def __init__(self, max_bytes: int, *, hashes: bool) -> None:
        self._max_bytes = max_bytes
        self._hashes = hashes
        self.clear()

    def clear(self) -> None:
        """Forget the line, ready for the next."""
        self.length = 0
        self.is_too_long = False
        self._pieces: list[bytes] = []
        self._kept_bytes = 0
        self._left_out = 0  # bytes of media since the last kept piece
        self._digest: _Digest | None = None  # of all but the last piece, once media was left out
        self._last = b""

    def add(self, piece: bytes) -> None:
        """Take the next piece of the line."""
        if not piece:
            return
        self.length += len(piece)
        if self.is_too_long:
            return
        is_media = len(piece) >= MEDIA_RUN_BYTES and bool(self._pieces) and _is_media(piece)
        if is_media and self._digest is None:
            self._digest = _Sha256() if self._hashes else _Crc32()
            self._digest.update(b"".join(self._pieces))
        elif self._digest is not None:
            self._digest.update(self._last)
        self._last = piece
        if is_media:
            self._left_out += len(piece)
        else:
            self._mark_media()
            self._keep(piece)

    def end(self, number: int, start: int) -> RawLine | None:
        """Give the line without its line end, None when it is blank or too long."""
        if self.is_too_long:
            return None
        self._mark_media()
        raw = b"".join(self._pieces)
        self._pieces = []
        length = self.length
        if raw.endswith(b"\r"):
            raw, length, self._last = raw[:-1], length - 1, self._last[:-1]
        if not raw or raw.isspace():
            return None
        if self._digest is None:
            return RawLine(number, start, raw)
        self._digest.update(self._last)
        return RawLine(number, start, raw, self._digest.whole_line(length))

    def _mark_media(self) -> None:
        if self._left_out:
            mark, self._left_out = b"[%d bytes of media left out]" % self._left_out, 0
            self._keep(mark)

    def _keep(self, piece: bytes) -> None:
        self._kept_bytes += len(piece)
        if self._kept_bytes > self._max_bytes:
            self.is_too_long = True
            self._pieces = []
        else:
            self._pieces.append(piece)


def _is_media(piece: bytes) -> bool:
    """Whether a long piece from inside a line is no text: in all of it no blank, no quote, no escape."""
    return piece.isascii() and b" " not in piece and b"\\" not in piece and b'"' not in piece


class _Digest(Protocol):
    """What is computed of a whole line while it streams by."""

    def update(self, piece: bytes) -> object: ...

    def whole_line(self, length: int) -> WholeLine: ...


class _Sha256:
    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self.update = self._digest.update

    def whole_line(self, length: int) -> WholeLine:
        return WholeLine(length=length, sha256=self._digest.hexdigest())


class _Crc32:
    def __init__(self) -> None:
        self._sum = 0

    def update(self, piece: bytes) -> None:
        self._sum = zlib.crc32(piece, self._sum)

    def whole_line(self, length: int) -> WholeLine:
        return WholeLine(length=length, crc32=self._sum)


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
    spelled = [match.start() for match in _RECORD_START.finditer(raw, 1)][-_RESTARTS_TRIED:]
    for start in dict.fromkeys((*spelled, *_likely_restarts(raw))):
        values, fault = _decode_values(raw[start:])
        has_envelope = _has_envelope if _may_be_inner(raw, start) else _has_some_envelope
        if fault is None and values and has_envelope(values[0]) and all(map(_has_some_envelope, values)):
            return values
    return []


def _likely_restarts(raw: bytes) -> list[int]:
    """List where objects begin that no record around them explains, then the others; from the left, some of each."""
    likely: list[int] = []
    inner: list[int] = []
    for looked_at, match in enumerate(_OBJECT_START.finditer(raw, 1)):
        starts = inner if _may_be_inner(raw, match.start()) else likely
        if len(starts) < _RESTARTS_TRIED:
            starts.append(match.start())
        if len(likely) == _RESTARTS_TRIED or looked_at == _RESTARTS_LOOKED_AT:
            break
    return likely + inner


def _may_be_inner(raw: bytes, start: int) -> bool:
    before = raw[max(0, start - 8) : start].rstrip()
    return before[-1:] in _BEFORE_INNER if before else False


def _has_envelope(value: Any) -> bool:
    """Whether a value is a record for sure, though it stands where one inside another may stand."""
    return isinstance(value, dict) and ({"timestamp", "payload"} <= value.keys() or {"uuid", "message"} <= value.keys())


def _has_some_envelope(value: Any) -> bool:
    """Whether a value looks like a record of any age: an enveloped one, or a bare response item."""
    if _has_envelope(value):
        return True
    if not isinstance(value, dict) or not isinstance(value.get("type", value.get("record_type")), str):
        return False
    if not value.keys().isdisjoint(("timestamp", "payload", "message", "uuid", "record_type", "call_id")):
        return True
    return {"role", "content"} <= value.keys()
