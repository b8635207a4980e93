"""Which part of a file is its own thread's: forks, resumed copies, and several files of one thread.

Codex forks by reference, and then the file holds nothing of its parent, or by copy: the parent's lines follow the
fork's own meta, stamped anew. Claude Code writes old records again with the uuid they had; of the files that hold a
record, one owns it. Who owns what is decided once, and kept, by the caller.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from memory_pipeline.records import RolloutFile
from memory_pipeline.rollouts.jsonl import LineReader, RawLine, SkippedLines, decode_line
from memory_pipeline.rollouts.opening import open_rollout
from memory_pipeline.rollouts.times import to_seconds

_HASH_BYTES = 8
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_ENVELOPE = re.compile(rb'\{"timestamp":"[^"\\]*",(?:"ordinal":\d+,)?("type":"(\w+)",)')
# A copy is written in one go; a person, or a model, takes longer than this to say the next thing.
_COPIED_WITHIN_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnPart:
    """What of a file is its own thread's: all but these records, and all from this byte of the plain text on."""

    foreign_hashes: frozenset[int] = frozenset()
    own_from_byte: int = 0


WHOLE_FILE = OwnPart()


def record_hash(uuid: str) -> int:
    """Give the eight bytes that stand for a record's id: both halves of a uuid folded together, else a hash.

    Folded, because some kinds of uuid carry their randomness in one half only.
    """
    if len(uuid) == 36 and uuid[8:24:5] == "----":
        try:
            halves = bytes.fromhex(uuid.replace("-", ""))
        except ValueError:
            halves = b""
        if len(halves) == 2 * _HASH_BYTES:
            return int.from_bytes(halves[:_HASH_BYTES], "big") ^ int.from_bytes(halves[_HASH_BYTES:], "big")
    return int.from_bytes(hashlib.blake2b(uuid.encode("utf-8", "replace"), digest_size=_HASH_BYTES).digest(), "big")


def current_file(files: Sequence[RolloutFile]) -> RolloutFile:
    """Of several files of one Codex thread, say which one holds its present state.

    A revert writes ``<thread id>_<rollout id>``: the newest rollout id wins, and any wins over none. Then the plain
    file over its compressed twin, the one written last, the one not archived, and the first by path.
    """
    if not files:
        raise ValueError("a thread has at least one file")
    return min(files, key=_currency)


def _currency(file: RolloutFile) -> tuple[int, bool, int, bool, str]:
    ids = _UUID.findall(file.path.rsplit("/", 1)[-1])
    # A rollout id begins with its time, so the greater is the newer.
    rollout = int(ids[1].replace("-", ""), 16) if len(ids) > 1 else -1
    return (-rollout, file.path.endswith(".zst"), -file.mtime_ns, file.archived, file.path)


def own_start(child: RolloutFile, child_home: str, *, parent: RolloutFile | None = None, max_bytes: int) -> int:
    """Give the byte of a forked Codex rollout's plain text from which on it is its own; 0 when it copies nothing.

    With the parent's file at hand, what both hold after their metas is the parent's, apart from times and ordinals; a
    parent that grew after the fork does no harm. Without it, or when the two have nothing in common, the copies show
    by their times: they are stamped with the time of the fork, but the turns they hold began before it.

    Raises:
        RolloutError: one of the files vanished, or may not be read.
    """
    with open_rollout(child, child_home, max_bytes=max_bytes) as plain:
        fork = _read_fork(plain.chunks())
    if fork is None or not fork.copies:
        return 0
    common = 0 if parent is None else _common_until(child, parent, child_home, max_bytes)
    with open_rollout(child, child_home, max_bytes=max_bytes) as plain:
        copied = _copied_until(plain.chunks(), fork)
    if common <= fork.meta_end or copied.is_sure:
        # A turn of the fork's own is sure; copies that were spelled anew may break what the two have in common.
        return max(common, copied.until)
    return common


@dataclass(frozen=True, kw_only=True, slots=True)
class _Fork:
    """What the first meta of a fork says."""

    copies: bool
    created_at: float | None
    stamped_at: float | None  # of the meta's line
    meta_end: int  # behind the meta's line


@dataclass(frozen=True, kw_only=True, slots=True)
class _Copied:
    """Where the copies end by their times, and whether a turn that began after the fork shows it."""

    until: int
    is_sure: bool


def _read_fork(chunks: Iterable[bytes]) -> _Fork | None:
    for line in LineReader(chunks, SkippedLines()):
        for record in decode_line(line, SkippedLines()):
            meta = record.get("payload")
            if record.get("type") != "session_meta" or not isinstance(meta, dict):
                return None
            return _Fork(
                copies=bool(meta.get("forked_from_id")) and not meta.get("history_base"),
                created_at=to_seconds(meta.get("timestamp")),
                stamped_at=to_seconds(record.get("timestamp")),
                meta_end=line.byte_end + 1,
            )
    return None


def _common_until(child: RolloutFile, parent: RolloutFile, home: str, max_bytes: int) -> int:
    """Give the end of what both files say from their beginnings on, metas apart."""
    end = 0
    with (
        open_rollout(child, home, max_bytes=max_bytes) as copy,
        open_rollout(parent, home, max_bytes=max_bytes) as original,
    ):
        pairs = zip_longest(_without_metas(copy.chunks()), _without_metas(original.chunks()))
        for mine, theirs in pairs:
            if mine is None or theirs is None or not _say_the_same(mine, theirs):
                break
            end = mine.byte_end + 1
    return end


def _without_metas(chunks: Iterable[bytes]) -> Iterator[RawLine]:
    for line in LineReader(chunks, SkippedLines()):
        envelope = _ENVELOPE.match(line.raw)
        if envelope is None or envelope.group(2) != b"session_meta":
            yield line


def _say_the_same(one: RawLine, other: RawLine) -> bool:
    first, second = _ENVELOPE.match(one.raw), _ENVELOPE.match(other.raw)
    if first and second and one.raw[first.start(1) :] == other.raw[second.start(1) :]:
        return one.is_whole == other.is_whole
    # Written by two versions of the program, the same record may be spelled in two ways.
    return _payloads(one) == _payloads(other) != []


def _payloads(line: RawLine) -> list[Any]:
    records = decode_line(line, SkippedLines())
    return [
        (record.get("type"), record.get("payload")) for record in records if isinstance(record.get("payload"), dict)
    ]


def _copied_until(chunks: Iterable[bytes], fork: _Fork) -> _Copied:
    """Give the end of the copies by their times alone: the first turn of the fork's own ends them.

    A turn says when it began: by the time in its id, or by ``started_at``. In logs that say neither, the copies end at
    the first pause: they were written in one go.
    """
    end = fork.meta_end
    paused_at: int | None = None
    tells_turns = False
    stamped_before = fork.stamped_at
    for line in LineReader(chunks, SkippedLines()):
        if line.byte_start < fork.meta_end:
            continue
        for record in decode_line(line, SkippedLines()):
            began_at = _turn_began_at(record)
            if began_at is not None:
                tells_turns = True
                if fork.created_at is not None and began_at >= fork.created_at:
                    return _Copied(until=line.byte_start, is_sure=True)
            stamped_at = to_seconds(record.get("timestamp"))
            if stamped_at is not None and stamped_before is not None and paused_at is None:
                paused_at = line.byte_start if stamped_at - stamped_before > _COPIED_WITHIN_SECONDS else None
            stamped_before = stamped_at or stamped_before
        if paused_at is not None and not tells_turns:
            return _Copied(until=paused_at, is_sure=False)
        end = line.byte_end + 1
    return _Copied(until=end, is_sure=False)


def _turn_began_at(record: Mapping[str, Any]) -> float | None:
    """Say when the turn began that a line opens, None for any other line or when it does not tell."""
    payload = record.get("payload")
    if not isinstance(payload, dict) or not (
        record.get("type") == "turn_context" or payload.get("type") in ("task_started", "turn_started")
    ):
        return None
    turn_id = payload.get("turn_id")
    if isinstance(turn_id, str) and _UUID.fullmatch(turn_id) and turn_id[14] == "7":
        # The first 48 bits of such an id are its time in milliseconds.
        return to_seconds(int(turn_id.replace("-", "")[:12], 16))
    started_at = to_seconds(payload.get("started_at"))
    # Whole seconds: the turn may have begun at any moment of this one.
    return None if started_at is None else started_at + 1
