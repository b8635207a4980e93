"""The line reader: what is kept, what is lost, and that the loss is told."""

from __future__ import annotations

import hashlib
import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_pipeline.rollouts.jsonl import LineReader, RawLine, SkippedLines, decode_line, hash_ranges

GOOD = b'{"n":1}'


def read(content: bytes, chunk: int = 7, cap: int = 1 << 20) -> tuple[list[RawLine], LineReader, SkippedLines]:
    """Read content in small chunks, so that lines span them."""
    skipped = SkippedLines()
    pieces = [content[start : start + chunk] for start in range(0, len(content), chunk)]
    reader = LineReader(pieces, skipped, max_line_bytes=cap)
    return list(reader), reader, skipped


def decoded(content: bytes) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Read and decode content; give the records and what was lost."""
    lines, _, skipped = read(content)
    return [record for line in lines for record in decode_line(line, skipped)], dict(skipped.counts)


def test_byte_ranges_point_at_the_line_without_its_end() -> None:
    """A range cut out of the file is the line, and blank lines keep the count of numbers."""
    content = b'{"a":1}\n\n{"b":2}\r\n{"c":3}'
    lines, reader, _ = read(content, chunk=3)
    assert [content[line.byte_start : line.byte_end] for line in lines] == [b'{"a":1}', b'{"b":2}', b'{"c":3}']
    assert [line.number for line in lines] == [1, 3, 4]
    assert reader.total_lines == 3


@settings(max_examples=100)
@given(st.lists(st.binary(min_size=1, max_size=9), max_size=8), st.sets(st.integers(0, 7)), st.integers(1, 20))
def test_hashes_are_those_of_the_lines_asked_for(lines: list[bytes], asked: set[int], chunk: int) -> None:
    """However the text is cut into chunks; a line beyond its end has none."""
    content = b"".join(line + b"\n" for line in lines)
    starts = [0, *itertools.accumulate(len(line) + 1 for line in lines)]
    ranges = {(starts[n], starts[n] + len(lines[n])): lines[n] for n in asked if n < len(lines)}
    pieces = [content[start : start + chunk] for start in range(0, len(content), chunk)]
    told = hash_ranges(pieces, [*ranges, (len(content), len(content) + 3)])
    assert told == {place: hashlib.sha256(line).hexdigest() for place, line in ranges.items()}


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085", "\v", "\f"])
def test_only_newline_bytes_split_lines(separator: str) -> None:
    """A raw line separator of Unicode inside a string is part of the string."""
    records, lost = decoded(f'{{"t":"a{separator}b"}}\n'.encode())
    assert records == [{"t": f"a{separator}b"}]
    assert not lost


def test_a_line_over_the_cap_is_skipped_and_its_neighbours_are_kept() -> None:
    """A huge line is counted, never held, and the byte ranges behind it are right."""
    content = GOOD + b'\n{"x":"' + b"y" * 500 + b'"}\n' + GOOD + b"\n"
    lines, reader, skipped = read(content, chunk=50, cap=100)
    assert [content[line.byte_start : line.byte_end] for line in lines] == [GOOD, GOOD]
    assert skipped.counts == {"too_long": 1}
    assert skipped.places == [(2, "too_long")]
    assert reader.total_lines == 3


def test_a_line_over_the_cap_is_not_kept_in_memory() -> None:
    """While a line over the cap goes by, no more than the cap is held."""
    skipped = SkippedLines()
    reader = LineReader((b"z" * 1000 for _ in range(1000)), skipped, max_line_bytes=5000)
    assert list(reader) == []
    assert reader._held._pieces == []
    assert skipped.counts == {"too_long": 1}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"t":"torn', "torn"),
        (b'{"t":1,', "torn"),
        (b"no json at all", "not_json"),
        (b'{"t":1}}', "not_json"),
        ('{"t":"é'.encode()[:-1], "not_utf8"),
        (b"[1,2]", "not_object"),
        (b'"text"', "not_object"),
        (b"\0\0\0\0", "nul"),
        (b"[" * 100_000, "not_json"),
        (b'{"n":' + b"9" * 5000 + b"}", "not_json"),
    ],
)
def test_a_bad_line_is_lost_alone_and_by_its_reason(line: bytes, reason: str) -> None:
    """Between two good lines only the bad one is lost, and the loss has a name."""
    records, lost = decoded(GOOD + b"\n" + line + b"\n" + GOOD + b"\n")
    assert [record for record in records if record == {"n": 1}] == [{"n": 1}] * 2
    assert lost == {reason: 1}


@pytest.mark.parametrize(
    ("line", "records"),
    [
        (b'\xef\xbb\xbf{"n":1}', [{"n": 1}]),
        (b'{"n":1}{"n":2}', [{"n": 1}, {"n": 2}]),
        (b'{"n":1} {"n":2}', [{"n": 1}, {"n": 2}]),
        (b'{"t":"\\udc88!"}', [{"t": "\ufffd!"}]),
        (b'{"t":"a\x00b"}', [{"t": "ab"}]),
        (b'\x00\x00{"n":1}', [{"n": 1}]),
        (b'{"t":"tab\there"}', [{"t": "tab\there"}]),
    ],
)
def test_an_odd_line_is_kept(line: bytes, records: list[dict[str, Any]]) -> None:
    """A byte order mark, two records on a line, lone surrogates and NUL bytes cost nothing that can be saved."""
    assert decoded(line + b"\n") == (records, {})


def test_a_record_behind_a_torn_one_on_the_same_line_is_kept() -> None:
    """A killed writer leaves no line end; the next record then stands on the torn line."""
    whole = {"timestamp": "2026-01-02T03:04:05Z", "type": "event_msg", "payload": {"type": "x"}}
    torn = b'{"timestamp":"2026-01-02T03:04:04Z","type":"response_item","payload":{"text":"abc'
    assert decoded(torn + json.dumps(whole, separators=(",", ":")).encode()) == ([whole], {"torn": 1})


def test_a_piece_of_a_torn_record_is_not_taken_for_a_record() -> None:
    """What stands inside a torn record has no envelope of its own, so it is not read."""
    records, lost = decoded(b'{"timestamp":"t","payload":{"old":[{"timestamp":"u","role":"user"}')
    assert records == []
    assert lost == {"torn": 1}


def test_an_unterminated_last_line_that_parses_is_no_loss() -> None:
    """The last line may lack its end; it counts like the others."""
    assert decoded(GOOD + b"\n" + GOOD) == ([{"n": 1}, {"n": 1}], {})


_TEXTS = st.text(max_size=12)
_NUMBERS = st.integers(min_value=-(2**63), max_value=2**63 - 1)
_LOGS = st.lists(st.dictionaries(_TEXTS, st.one_of(_TEXTS, _NUMBERS, st.none()), max_size=3), max_size=6)


@settings(max_examples=80, deadline=None)
@given(records=_LOGS, cut=st.integers(min_value=0, max_value=400), chunk=st.integers(min_value=1, max_value=64))
def test_any_prefix_of_a_log_keeps_every_intact_line(records: list[dict[str, Any]], cut: int, chunk: int) -> None:
    """However a log is cut off and chunked, nothing is raised and every whole line is read."""
    written = [json.dumps(record).encode() for record in records]
    content = b"".join(line + b"\n" for line in written)[:cut]
    lines, _, skipped = read(content, chunk=chunk)
    found = [record for line in lines for record in decode_line(line, skipped)]
    whole = content.count(b"\n")
    assert found[:whole] == records[:whole]


@settings(max_examples=80, deadline=None)
@given(records=_LOGS.filter(bool), flipped=st.integers(min_value=0), byte=st.integers(min_value=0, max_value=255))
def test_a_flipped_byte_never_raises_and_spares_the_other_lines(
    records: list[dict[str, Any]], flipped: int, byte: int
) -> None:
    """One wrong byte costs at most the line it is in, and that line's neighbour when it was the line end."""
    written = [json.dumps(record).encode() for record in records]
    content = bytearray(b"".join(line + b"\n" for line in written))
    position = flipped % len(content)
    hit = bytes(content[:position]).count(b"\n")
    content[position] = byte
    lines, _, skipped = read(bytes(content))
    found = [record for line in lines for record in decode_line(line, skipped)]
    assert all(record in found for number, record in enumerate(records) if number not in (hit, hit + 1))
