"""Opening: only regular files below the logs, nothing that blocks, nothing that grows without end."""

from __future__ import annotations

import os
import random
import socket
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from log_homes import MAX_BYTES, Logs

from memory_pipeline.errors import RolloutError
from memory_pipeline.records import Agent, RolloutFile
from memory_pipeline.rollouts.discover import find_rollouts
from memory_pipeline.rollouts.opening import CHUNK_BYTES, open_rollout
from memory_pipeline.rollouts.reading import read_events

LINE = b'{"timestamp":"2026-01-02T03:04:05Z","type":"world_state","payload":{}}\n'


def replaced(logs: Logs, file: RolloutFile, kind: str) -> None:
    """Put something else where the log was found."""
    logs.path.unlink()
    if kind == "fifo":
        os.mkfifo(logs.path)
    elif kind == "folder":
        logs.path.mkdir()
    elif kind == "link":
        target = logs.home.parent / "elsewhere.jsonl"
        target.write_bytes(LINE)
        logs.path.symlink_to(target)


@pytest.mark.parametrize(
    ("kind", "says"), [("fifo", "FIFO"), ("folder", "folder"), ("link", "symbolic link"), ("gone", "no longer there")]
)
def test_what_is_no_regular_file_is_refused_without_blocking(codex: Logs, kind: str, says: str) -> None:
    """A log replaced by something else after it was found is refused with the reason."""
    file = codex.write(LINE)
    replaced(codex, file, kind)
    with pytest.raises(RolloutError, match=says):
        open_rollout(file, str(codex.home), max_bytes=MAX_BYTES)


def test_a_socket_is_refused(codex: Logs) -> None:
    """A socket with a log's name is no log."""
    file = codex.write(LINE)
    codex.path.unlink()
    with socket.socket(socket.AF_UNIX) as listener, tempfile.TemporaryDirectory() as short:
        # A socket's address may have about a hundred bytes, so it is bound elsewhere and linked to its place.
        listener.bind(f"{short}/s")
        os.link(f"{short}/s", codex.path)
        with pytest.raises(RolloutError, match="not a regular file"):
            open_rollout(file, str(codex.home), max_bytes=MAX_BYTES)


def test_a_folder_swapped_for_a_link_is_not_followed(codex: Logs) -> None:
    """A link put in place of a folder on the way to a log leads nowhere."""
    file = codex.write(LINE)
    month = codex.path.parent.parent
    month.rename(month.with_name("moved"))
    month.symlink_to("moved")
    with pytest.raises(RolloutError, match=r"symbolic link|no longer there"):
        open_rollout(file, str(codex.home), max_bytes=MAX_BYTES)


@pytest.mark.parametrize("path", ["outside.jsonl", "codex-home/auth.jsonl", "codex-home/sessions/../auth.jsonl"])
def test_a_path_outside_the_log_folders_is_refused(codex: Logs, tmp_path: Path, path: str) -> None:
    """What lies outside the log folders is not opened, wherever the path claims to be."""
    file = codex.write(LINE)
    for name in ("outside.jsonl", "codex-home/auth.jsonl"):
        (tmp_path / name).write_bytes(LINE)
    outside = file._replace(path=f"{tmp_path}/{path}")
    with pytest.raises(RolloutError, match="outside"):
        open_rollout(outside, str(codex.home), max_bytes=MAX_BYTES)


def test_reading_changes_no_time_stamp(codex: Logs) -> None:
    """The access and modification times are those from before."""
    file = codex.write(LINE)
    os.utime(codex.path, ns=(10**18, 2 * 10**18))
    list(read_events(file, str(codex.home), max_bytes=MAX_BYTES))
    assert (codex.path.stat().st_atime_ns, codex.path.stat().st_mtime_ns) == (10**18, 2 * 10**18)


def test_a_log_that_grows_is_read_to_its_size_at_opening(codex: Logs) -> None:
    """What is appended while reading waits for the next reading."""
    file = codex.write(LINE * 3)
    with open_rollout(file, str(codex.home), max_bytes=MAX_BYTES) as plain:
        with codex.path.open("ab") as log:
            log.write(LINE)
        assert b"".join(plain.chunks()) == LINE * 3
        assert plain.cut is None


def test_reading_stops_at_max_bytes_and_says_so(codex: Logs) -> None:
    """No more plain text than asked for is read, and the cut is counted."""
    reading = read_events(codex.write(LINE * 3), str(codex.home), max_bytes=len(LINE))
    assert list(reading) == []
    assert reading.total_lines == 1
    assert reading.skipped_lines == {"past_limit": 1}


def zst(codex: Logs, content: bytes) -> RolloutFile:
    """Write a compressed log and find it."""
    codex.path.with_name(codex.path.name + ".zst").write_bytes(content)
    (file,) = find_rollouts(codex.agent, str(codex.home))
    return file


def test_a_compressed_log_of_several_frames_is_one_text(codex: Logs) -> None:
    """Frames follow one another; byte ranges are of the plain text."""
    packed = zstandard.ZstdCompressor().compress(LINE) + zstandard.ZstdCompressor().compress(LINE * 2)
    with open_rollout(zst(codex, packed), str(codex.home), max_bytes=MAX_BYTES) as plain:
        assert b"".join(plain.chunks()) == LINE * 3
        assert plain.cut is None


def test_a_cut_frame_keeps_what_was_read(codex: Logs) -> None:
    """A frame torn off by a crash gives its whole lines, and the cut is counted."""
    lines = b"".join(LINE.replace(b"{}", b'{"n":"%d"}' % number) for number in range(20_000))
    packed = zstandard.ZstdCompressor().compress(lines)
    reading = read_events(zst(codex, packed[: len(packed) // 2]), str(codex.home), max_bytes=MAX_BYTES)
    assert list(reading) == []
    assert reading.understood_lines > 1000
    assert reading.skipped_lines["cut_frame"] == 1


def test_what_is_no_frame_at_all_is_understood_not_at_all(codex: Logs) -> None:
    """A file that only has a compressed log's name raises nothing and gives nothing."""
    reading = read_events(zst(codex, b"not compressed"), str(codex.home), max_bytes=MAX_BYTES)
    assert list(reading) == []
    assert (reading.understood_lines, dict(reading.skipped_lines)) == (0, {"cut_frame": 1})


def bomb(unit: bytes, megabytes: int = 256) -> bytes:
    """Pack one short text over and over."""
    packer = zstandard.ZstdCompressor().compressobj()
    text = unit * ((1 << 20) // len(unit))
    return b"".join(packer.compress(text) for _ in range(megabytes)) + packer.flush()


@pytest.mark.parametrize("unit", [b"\0", b"\n", b"x y"])
def test_a_decompression_bomb_is_cut_early_and_in_small_pieces(codex: Logs, unit: bytes) -> None:
    """A few bytes that stand for hundreds of megabytes are unpacked piece by piece, up to a hundred times theirs."""
    packed = bomb(unit)
    with open_rollout(zst(codex, packed), str(codex.home), max_bytes=1 << 30) as plain:
        sizes = [len(chunk) for chunk in plain.chunks()]
    assert sum(sizes) <= (8 << 20) + 100 * len(packed)
    assert max(sizes) < 3 * CHUNK_BYTES
    assert plain.cut == "past_limit"


@pytest.mark.parametrize("unit", [b"\n", b"{}\n", b'{"a":1}\n'])
def test_a_bomb_of_lines_is_cut_before_it_takes_long(codex: Logs, unit: bytes) -> None:
    """Each line costs work, however short: no more are read than a log of that packed size can hold, and it is told."""
    packed = bomb(unit) + zstandard.ZstdCompressor().compress(os.urandom(1 << 16))
    file = zst(codex, packed)
    with open_rollout(file, str(codex.home), max_bytes=1 << 30) as plain:
        lines = sum(chunk.count(b"\n") for chunk in plain.chunks())
    assert lines <= (1 << 17) + len(packed)
    reading = read_events(file, str(codex.home), max_bytes=1 << 30)
    assert list(reading) == []
    assert reading.skipped_lines["past_limit"] == 1


def test_a_packed_log_of_the_shortest_lines_is_read_whole(codex: Logs) -> None:
    """Lines that differ by their time alone pack to a few bytes each, and are no bomb."""
    moment, steps = datetime(2026, 1, 2, tzinfo=UTC), random.Random(7)
    lines = []
    for _ in range(160_000):
        moment += timedelta(milliseconds=steps.randint(20, 400))
        lines.append(
            f'{{"timestamp":"{moment.isoformat()}","type":"event_msg","payload":{{"type":"agent_reasoning"}}}}\n'
        )
    log = "".join(lines).encode()
    packed = zst(codex, zstandard.ZstdCompressor().compress(log))
    with open_rollout(packed, str(codex.home), max_bytes=1 << 30) as plain:
        assert sum(len(chunk) for chunk in plain.chunks()) == len(log)
    assert plain.cut is None


def test_max_bytes_binds_a_packed_log_too(codex: Logs) -> None:
    """No more plain text than asked for is unpacked."""
    with open_rollout(zst(codex, bomb(b"x y", 1)), str(codex.home), max_bytes=1000) as plain:
        assert sum(len(chunk) for chunk in plain.chunks()) == 1000
    assert plain.cut == "past_limit"


def test_blank_lines_by_the_million_are_passed_over_whole(codex: Logs) -> None:
    """They cost no work each, and the lines behind them keep their numbers and their place."""
    blanks = b"\n" * (1 << 20)
    reading = read_events(codex.write(LINE + blanks + b" \r\n" + LINE + b"{"), str(codex.home), max_bytes=MAX_BYTES)
    assert list(reading) == []
    assert (reading.total_lines, reading.understood_lines) == (3, 2)
    assert reading.skipped_places == (((1 << 20) + 4, "torn"),)


def test_a_wrong_checksum_loses_nothing(codex: Logs) -> None:
    """All that stands before it is read, and that something is damaged is counted."""
    packed = zstandard.ZstdCompressor(write_checksum=True).compress(LINE * 3)
    reading = read_events(zst(codex, packed[:-1] + bytes([packed[-1] ^ 1])), str(codex.home), max_bytes=MAX_BYTES)
    assert list(reading) == []
    assert (reading.understood_lines, dict(reading.skipped_lines)) == (3, {"cut_frame": 1})


def test_a_torn_frame_loses_only_the_block_it_is_torn_in(codex: Logs) -> None:
    """Every whole block before the tear is read, wherever the tear is."""
    text = b"".join(LINE.replace(b"{}", b'{"n":"%s"}' % os.urandom(200).hex().encode()) for _ in range(1000))
    packed = zstandard.ZstdCompressor().compress(text)
    for end in (len(packed) - 1, len(packed) - 5, 2 * len(packed) // 3):
        with open_rollout(zst(codex, packed[:end]), str(codex.home), max_bytes=MAX_BYTES) as plain:
            read = b"".join(plain.chunks())
        assert text.startswith(read)
        assert len(read) >= len(text) * end // len(packed) - 2 * CHUNK_BYTES
        assert plain.cut == "cut_frame"


def test_frames_that_hold_no_text_are_passed_over(codex: Logs) -> None:
    """The format lets programs put notes of their own between frames."""
    note = b"\x5a\x2a\x4d\x18" + (300_000).to_bytes(4, "little") + b"n" * 300_000
    packed = note + zstandard.ZstdCompressor().compress(LINE) + note + zstandard.ZstdCompressor().compress(LINE)
    with open_rollout(zst(codex, packed), str(codex.home), max_bytes=MAX_BYTES) as plain:
        assert b"".join(plain.chunks()) == LINE * 2
    assert plain.cut is None


@given(st.lists(st.binary(max_size=300), max_size=4), st.integers(0, 1200), st.integers(0, 255))
def test_however_a_packed_text_is_damaged_what_is_read_is_no_error(
    tmp_path_factory: pytest.TempPathFactory, texts: list[bytes], position: int, byte: int
) -> None:
    """Frames of any texts unpack to these; with one byte changed, some text is given and nothing raised."""
    logs = Logs(Agent.CODEX, tmp_path_factory.mktemp("packed") / "home")
    packed = b"".join(zstandard.ZstdCompressor(write_checksum=True).compress(text) for text in texts)
    with open_rollout(zst(logs, packed), str(logs.home), max_bytes=MAX_BYTES) as plain:
        assert b"".join(plain.chunks()) == b"".join(texts)
        assert plain.cut is None
    if packed:
        damaged = bytearray(packed)
        damaged[position % len(packed)] = byte
        with open_rollout(zst(logs, bytes(damaged)), str(logs.home), max_bytes=MAX_BYTES) as plain:
            b"".join(plain.chunks())
