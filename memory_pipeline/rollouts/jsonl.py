r"""The one tolerant, streaming line reader: bytes in, raw lines out.

Lines end at ``\n`` bytes only. A line's byte range counts the plain text and leaves out its end: the ``\n``, and a
``\r`` directly before it, which then is not decoded. A byte order mark belongs to the range of the
first line. Whatever can't be kept is counted by reason:

- ``torn``: the JSON breaks off (a killed writer); ``not_json``: it is no JSON; ``not_utf8``: a broken character
- ``nul``: nothing but NUL bytes, or broken by them; ``not_object``: JSON, but no object
- ``too_long``: over the cap on its bytes, or on the values in it
- ``bad_payload``: a known type of line that carries talk, with something in the place of its content that is none
- ``cut_frame``, ``past_limit``, ``vanished``: the file as a whole broke off there

Blank lines are no loss and are not counted. Nor is inline media: where a line runs on for a chunk without a blank, a
quote or an escape, that run is left out while it streams by, a marker with its size stands in its place, and the rest
of the line is read. The byte range is that of the whole line all the same.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BytesIO
from itertools import accumulate
from typing import Any, Protocol

import msgspec
import orjson
from msgspec import Struct

#: A longer line is skipped. While it is decoded it takes six times as much: a character may take four bytes.
MAX_LINE_BYTES = 8 << 20
#: And so is one of so many values that they would take more.
_MAX_VALUES = 300_000
#: Only a line of at least this length is looked at for what would take much memory.
LONG_LINE_BYTES = 1 << 20
#: A longer text keeps its beginning and its end: many times what of a row is ever shown.
MAX_TEXT_CHARS = 1 << 19
#: What stands in place of media that was left out: its size in bytes.
MEDIA_LEFT_OUT = re.compile(r"\[(\d+) bytes of media left out\]")
#: Only a piece of at least this length is taken for media.
MEDIA_RUN_BYTES = 1 << 17
#: The reason that a grammar counts: the line is JSON, but what it should say can't be read.
BAD_PAYLOAD = "bad_payload"
#: What a shape raises for a line that is not one JSON object of it.
UNLIKE_SHAPE = (msgspec.DecodeError, RecursionError)
_LISTED_LINES = 100
_CUT_OFF_WITHIN = 1000  # blanks behind what is left of a torn line
_ODD = object()
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


class LineDigest(Protocol):
    """Takes the bytes of a line in, piece by piece. Those of ``hashlib`` are such."""

    def update(self, piece: bytes, /) -> None:
        """Take the next bytes in."""
        ...

    def hexdigest(self) -> str:
        """Give the digest of all bytes so far."""
        ...


class Crc32:
    """The quickest digest: a checksum that tells damage and growth, but could be forged."""

    def __init__(self) -> None:
        self._crc32 = 0

    def update(self, piece: bytes, /) -> None:
        """Take the next bytes in."""
        self._crc32 = zlib.crc32(piece, self._crc32)

    def hexdigest(self) -> str:
        """Give the checksum of all bytes so far."""
        return f"{self._crc32:08x}"


class WholeLine(msgspec.Struct, frozen=True, kw_only=True):
    """What a line was before media, or all of it, was left out."""

    length: int
    digest: str | None  # made while it streamed by, if that was asked for


class RawLine(msgspec.Struct):
    """One line as it stands in the plain text: its number (from 1), its byte range, its bytes without the line end.

    ``raw`` is shorter than the range where inline media was left out of it; then ``whole`` tells of the whole line.
    Made for each line that is read: a dataclass takes ten times as long to make.
    """

    number: int
    byte_start: int
    raw: bytes
    whole: WholeLine | None = None

    @property
    def byte_end(self) -> int:
        """The end of the line, exclusive."""
        return self.byte_start + (len(self.raw) if self.whole is None else self.whole.length)

    def digest(self, new_digest: Callable[[], LineDigest]) -> str:
        """Give a digest of all the line's bytes: of one without its media, that which the reader was asked for."""
        if self.whole is None or self.whole.length == len(self.raw):
            digest = new_digest()
            digest.update(self.raw)
            return digest.hexdigest()
        if self.whole.digest is None:
            raise AssertionError("a line was read without digests, and is no longer whole")
        return self.whole.digest

    def without_bytes(self) -> RawLine:
        """Give the line as its place alone."""
        whole = self.whole or WholeLine(length=len(self.raw), digest=None)
        return RawLine(self.number, self.byte_start, b"", whole)


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


class LineBlock(Struct, frozen=True, kw_only=True):
    r"""Lines that stand together, each with its ``\n``; or one line that spans chunks.

    The first is line ``number``; each starts at one of ``byte_starts`` of the plain text. Blank lines are among them.
    """

    number: int
    byte_starts: Sequence[int]
    raws: Sequence[bytes]
    spanning: RawLine | None = None  # the line that spans chunks, already counted; there are no others then

    def line_at(self, position: int) -> RawLine:
        """Give one of the lines without its line end."""
        if self.spanning is not None:
            return self.spanning
        return RawLine(self.number + position, self.byte_starts[position], without_end(self.raws[position]))

    def place_at(self, position: int) -> RawLine:
        """Give one of the lines as its place alone: its bytes are read."""
        if self.spanning is not None:
            return self.spanning.without_bytes()
        raw = self.raws[position]
        length = len(raw) - (2 if raw.endswith(b"\r\n") else 1)
        return RawLine(self.number + position, self.byte_starts[position], b"", WholeLine(length=length, digest=None))


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
        media_digest: Callable[[], LineDigest] | None = None,
    ) -> None:
        """Take the chunks, and how to make the digest of a line out of which media was left; None: it has none."""
        self.total_lines = 0
        self.last_number = 0
        self._chunks = chunks
        self._skipped = skipped
        self._held = _HeldLine(max_line_bytes, media_digest)
        self._max_line_bytes = max_line_bytes

    def __iter__(self) -> Iterator[RawLine]:
        for block in self.blocks():
            for position in range(len(block.raws)):
                line = self.line(block, position)
                if line is not None:
                    yield line

    def blocks(self) -> Iterator[LineBlock]:
        """Yield the lines in blocks. The caller counts those that are not blank: ``line``, ``count_decoded``."""
        byte_start = 0
        for chunk in self._chunks:
            begin, end, is_cut = 0, chunk.rfind(b"\n") + 1, False
            if self._held.length and end:
                begin, is_cut = chunk.index(b"\n") + 1, True
                length = self._held.length + begin
                yield from self._end_held(byte_start, chunk[: begin - 1])
                byte_start += length
            if begin < end and chunk[begin] in _BLANKS and chunk[begin:end].isspace():
                # Nothing but blank lines, of which a few packed bytes may hold thousands of millions.
                self.last_number += chunk.count(b"\n", begin, end)
            elif begin < end:
                raws = BytesIO(chunk).readlines()  # the quickest way to split at these bytes alone
                del raws[len(raws) - (end < len(chunk)) :], raws[:is_cut]
                number, self.last_number = self.last_number + 1, self.last_number + len(raws)
                starts = list(accumulate(map(len, raws), initial=byte_start))
                yield LineBlock(number=number, byte_starts=starts, raws=raws)
            byte_start += end - begin
            if end < len(chunk):
                self._held.add(chunk[end:])
        if self._held.length:
            yield from self._end_held(byte_start, b"")

    def line(self, block: LineBlock, position: int) -> RawLine | None:
        """Count one line of a block and give it without its line end, None when it is blank or too long."""
        if block.spanning is not None:
            return block.spanning
        raw = block.raws[position]
        if raw.isspace():
            return None
        self.total_lines += 1
        if len(raw) > self._max_line_bytes + 1:
            self._skipped.add("too_long", block.number + position)
            return None
        return block.line_at(position)

    def count_decoded(self, block: LineBlock, lines: int) -> None:
        """Count lines of a block that were decoded: they are not blank, nor too long, since a chunk holds them."""
        if block.spanning is None:
            self.total_lines += lines

    def _end_held(self, byte_start: int, last: bytes) -> Iterator[LineBlock]:
        self.last_number += 1
        self._held.add(last)
        line = self._held.end(self.last_number, byte_start)
        if self._held.is_too_long or (line is not None and _has_too_many_values(line.raw)):
            self.total_lines += 1
            self._skipped.add("too_long", self.last_number)
        elif line is not None:
            self.total_lines += 1
            yield LineBlock(number=self.last_number, byte_starts=(byte_start,), raws=(line.raw,), spanning=line)
        self._held.clear()


class _HeldLine:
    """A line that spans chunks, while it is put together: all of it, or without its media, or only its length."""

    def __init__(self, max_bytes: int, media_digest: Callable[[], LineDigest] | None) -> None:
        self._max_bytes = max_bytes
        self._new_digest = media_digest
        self.clear()

    def clear(self) -> None:
        """Forget the line, ready for the next."""
        self.length = 0
        self.is_too_long = False
        self._pieces: list[bytes] = []
        self._kept_bytes = 0
        self._left_out = 0  # bytes of media since the last kept piece
        self._has_media = False
        self._digest: LineDigest | None = None  # of all but the last piece, once media was left out
        self._last = b""

    def add(self, piece: bytes) -> None:
        """Take the next piece of the line."""
        if not piece:
            return
        self.length += len(piece)
        if self.is_too_long:
            return
        is_media = len(piece) >= MEDIA_RUN_BYTES and bool(self._pieces) and _is_media(piece)
        if self._digest is not None:
            self._digest.update(self._last)
        elif is_media and self._new_digest is not None:
            self._digest = self._new_digest()
            for earlier in self._pieces:
                self._digest.update(earlier)
        self._has_media = self._has_media or is_media
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
        if not self._has_media:
            return RawLine(number, start, raw)
        if self._digest is not None:
            self._digest.update(self._last)
        digest = self._digest.hexdigest() if self._digest is not None else None
        return RawLine(number, start, raw, WholeLine(length=length, digest=digest))

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


def without_end(raw: bytes) -> bytes:
    """Take the line end off a line, if it has one."""
    if not raw.endswith(b"\n"):
        return raw
    return raw[:-2] if raw.endswith(b"\r\n") else raw[:-1]


def _has_too_many_values(raw: bytes) -> bool:
    """Whether a long line holds so many values that decoding them would take far more memory than the line itself."""
    if len(raw) < LONG_LINE_BYTES or raw.count(b",") + raw.count(b":") <= _MAX_VALUES:
        return False
    values, is_text = 0, False
    plain = raw.replace(rb"\\", b"").replace(rb"\"", b"")
    for start in range(0, len(plain), MEDIA_RUN_BYTES):  # piece by piece: a line may be nothing but quotes
        pieces = plain[start : start + MEDIA_RUN_BYTES].split(b'"')
        values += sum(piece.count(b",") + piece.count(b":") for piece in pieces[is_text::2])
        is_text ^= len(pieces) % 2 == 0
    return values > _MAX_VALUES


def _is_media(piece: bytes) -> bool:
    """Whether a long piece from inside a line is no text: in all of it no blank, no quote, no escape."""
    return piece.isascii() and b" " not in piece and b"\\" not in piece and b'"' not in piece


def hash_ranges(chunks: Iterable[bytes], ranges: Iterable[tuple[int, int]]) -> dict[tuple[int, int], str]:
    """Give the SHA-256, in hex, of byte ranges of a plain text, in one pass that ends behind the last of them.

    The ranges are lines: they don't overlap. One that the text is too short for is missing in what is returned.
    """
    hashes: dict[tuple[int, int], str] = {}
    wanted = sorted(set(ranges), reverse=True)
    digest = hashlib.sha256()
    position = 0
    for chunk in chunks:
        if not wanted:
            break
        chunk_end = position + len(chunk)
        while wanted and wanted[-1][0] < chunk_end:
            start, end = wanted[-1]
            digest.update(chunk[max(0, start - position) : end - position])
            if end > chunk_end:
                break
            hashes[wanted.pop()] = digest.hexdigest()
            digest = hashlib.sha256()
        position = chunk_end
    return hashes


def decode_line(line: RawLine, skipped: SkippedLines) -> list[dict[str, Any]]:
    """Decode a line into the records it holds: one as a rule, none when it is lost, several when they share it.

    Of a text longer than ``MAX_TEXT_CHARS`` the middle is left out.
    """
    records = _decode_line(line, skipped)
    return records if len(line.raw) < LONG_LINE_BYTES else with_texts_cut(records)


def _decode_line(line: RawLine, skipped: SkippedLines) -> list[dict[str, Any]]:
    try:
        value = orjson.loads(line.raw)
    except orjson.JSONDecodeError:
        value = _ODD  # the error holds all of the text: it must be gone before the next try
    if value is _ODD:
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
    end = len(text) - _CUT_OFF_WITHIN + len(text[-_CUT_OFF_WITHIN:].rstrip())
    broken_off = error.pos >= end - 5 or error.msg.startswith("Unterminated string")
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


def cut_text(text: str) -> str:
    """Leave out the middle of a text beyond all use; how much it was stands in its place."""
    if len(text) <= MAX_TEXT_CHARS:
        return text
    half = MAX_TEXT_CHARS // 2 - 50  # with the mark it is within the bound
    return f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"


def with_texts_cut(value: Any) -> Any:
    """Cut each text in a value that is longer than ``MAX_TEXT_CHARS``."""
    if isinstance(value, str):
        return cut_text(value)
    if isinstance(value, list):
        return [with_texts_cut(item) for item in value]
    if isinstance(value, dict):
        return {name: with_texts_cut(item) for name, item in value.items()}
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
