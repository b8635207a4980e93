"""Which part of a file is its own thread's: forks, resumed copies, and several files of one thread.

Codex forks by reference, and then the file holds nothing of its parent, or by copy: the parent's lines follow the
fork's own meta, stamped anew. Claude Code writes old records again with the uuid they had; of the files that hold a
record, one owns it. Who owns what is decided once, and kept, by the caller.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from msgspec import Struct

from memory_pipeline.records import RolloutFile
from memory_pipeline.rollouts.jsonl import (
    MEDIA_LEFT_OUT,
    MEDIA_RUN_BYTES,
    LineReader,
    RawLine,
    SkippedLines,
    decode_line,
)
from memory_pipeline.rollouts.opening import open_rollout
from memory_pipeline.rollouts.times import to_seconds

_HASH_BYTES = 8
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
# A copy is written in one go; a person, or a model, takes longer than this to say the next thing.
_COPIED_WITHIN_SECONDS = 1.0
# A fork may leave out what its parent holds, event lines foremost: so many records of the parent are looked through.
_LOOKED_AHEAD = 512
# The fields of a response item that say something; the others tell about it, and differ by version.
_SAYING = ("type", "role", "content", "name", "arguments", "input", "action", "call_id", "output", "tools", "result")


class OwnPart(Struct, frozen=True, kw_only=True):
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

    A fork says of which thread it is one, or, before it did, holds another thread's meta among the copies. With the
    parent's file at hand, the records that both hold, in their order, are the parent's; a parent that grew after the
    fork does no harm. Without it, or when the two have nothing in common, the copies show by their times: they were
    written in one go, at the time of the fork, but the turns they hold began before it.

    Raises:
        RolloutError: one of the files vanished, or may not be read.
    """
    with open_rollout(child, child_home, max_bytes=max_bytes) as plain:
        fork = _read_fork(plain.chunks())
    if fork is None:
        return 0
    with open_rollout(child, child_home, max_bytes=max_bytes) as plain:
        copied = _copied_until(plain.chunks(), fork)
    if not fork.says_so and not copied.hold_another_meta:
        return 0
    common = 0
    if parent is not None:
        with (
            open_rollout(child, child_home, max_bytes=max_bytes) as copy,
            open_rollout(parent, child_home, max_bytes=max_bytes) as original,
        ):
            common = _common_until(copy.chunks(), original.chunks(), before=copied.paused_at)
    if common <= fork.meta_end or copied.is_sure:
        # A turn of the fork's own is sure; copies that were written otherwise may break what the two have in common.
        return max(common, copied.until)
    return common


class _Fork(Struct, frozen=True, kw_only=True):
    """What the first meta of a file says that may be a fork."""

    thread_id: str
    says_so: bool
    created_at: float | None
    stamped_at: float | None  # of the meta's line
    meta_end: int  # behind the meta's line


class _Copied(Struct, frozen=True, kw_only=True):
    """Where the copies end by their times, and whether a turn that began after the fork shows it."""

    until: int
    is_sure: bool
    paused_at: int | None  # where the first line begins that was not written in one go with those before it
    hold_another_meta: bool


def _read_fork(chunks: Iterable[bytes]) -> _Fork | None:
    for line in LineReader(chunks, SkippedLines()):
        for record in decode_line(line, SkippedLines()):
            meta = record.get("payload")
            if record.get("type") != "session_meta" or not isinstance(meta, dict) or meta.get("history_base"):
                return None
            return _Fork(
                thread_id=str(meta.get("id")),
                says_so=bool(meta.get("forked_from_id")),
                created_at=to_seconds(meta.get("timestamp")),
                stamped_at=to_seconds(record.get("timestamp")),
                meta_end=line.byte_end + 1,
            )
    return None


def _common_until(copy: Iterable[bytes], original: Iterable[bytes], *, before: int | None) -> int:
    """Give the end of the last record of a copy that stands in the original too, in the same order, metas apart.

    A fork leaves out some of what its parent holds, and its own records of what is no talk may stand between the
    copies; the first words that the parent does not have are its own.
    """
    theirs = (_hash_of(record) for line in LineReader(original, SkippedLines()) for record in _comparable(line))
    ahead: deque[int] = deque(islice(theirs, _LOOKED_AHEAD))
    end = 0
    for line in LineReader(copy, SkippedLines()):
        if before is not None and line.byte_start >= before:
            break
        for record in _comparable(line):
            mine = _hash_of(record)
            if mine in ahead:
                while ahead.popleft() != mine:
                    pass
                ahead.extend(islice(theirs, _LOOKED_AHEAD - len(ahead)))
                end = line.byte_end + 1
            elif _is_talk(record):
                return end
    return end


def _comparable(line: RawLine) -> list[dict[str, Any]]:
    records = decode_line(line, SkippedLines())
    return [
        record
        for record in records
        if record.get("type") != "session_meta" and isinstance(record.get("payload"), dict) and record["payload"]
    ]


def _is_talk(record: Mapping[str, Any]) -> bool:
    payload = record["payload"]
    if record.get("type") != "response_item":
        return False
    return payload.get("role") in ("user", "assistant") or str(payload.get("type")).endswith(("_call", "_output"))


def _hash_of(record: Mapping[str, Any]) -> int:
    """Hash what a record says: not when, nor where, nor the fields that another version of the program adds to it."""
    payload = record["payload"]
    says = {name: _said(payload[name]) for name in _SAYING if name in payload} if _is_talk(record) else payload
    written = json.dumps([record.get("type"), says], sort_keys=True).encode()
    return int.from_bytes(hashlib.blake2b(written, digest_size=_HASH_BYTES).digest(), "big")


def _said(value: Any) -> Any:
    if isinstance(value, list):
        return [_said(item) for item in value]
    if isinstance(value, dict):
        texts = [value[name] for name in ("text", "image_url") if name in value]
        return _said(texts[0]) if texts else value
    if isinstance(value, str) and len(value) > MEDIA_RUN_BYTES // 2:
        # What of it was left out as media depends on where it stands in its file.
        left_out = [(int(match.group(1)), len(match.group())) for match in MEDIA_LEFT_OUT.finditer(value)]
        return [value[:1000], len(value) + sum(size - mark for size, mark in left_out)]
    if isinstance(value, str) and (mark := MEDIA_LEFT_OUT.search(value)):
        return [value[: mark.start()][:1000], len(value) - len(mark.group()) + int(mark.group(1))]
    return value


def _copied_until(chunks: Iterable[bytes], fork: _Fork) -> _Copied:
    """Give the end of the copies by their times alone: the first turn of the fork's own ends them.

    A turn says when it began: by the time in its id, or by ``started_at``. In logs that say neither, the copies end at
    the first pause: they were written in one go.
    """
    end = fork.meta_end
    paused_at: int | None = None
    tells_turns = hold_another_meta = False
    stamped_before = fork.stamped_at
    for line in LineReader(chunks, SkippedLines()):
        if line.byte_start < fork.meta_end:
            continue
        for record in decode_line(line, SkippedLines()):
            stamped_at = to_seconds(record.get("timestamp"))
            if paused_at is None and _is_later(stamped_at, stamped_before, fork.stamped_at):
                paused_at = line.byte_start
            stamped_before = stamped_at or stamped_before
            hold_another_meta = hold_another_meta or (paused_at is None and _is_meta_of_another(record, fork))
            began_at = _turn_began_at(record)
            if began_at is not None:
                tells_turns = True
                if fork.created_at is not None and began_at >= fork.created_at:
                    return _Copied(
                        until=line.byte_start,
                        is_sure=True,
                        paused_at=paused_at,
                        hold_another_meta=hold_another_meta,
                    )
        if paused_at is not None and not (tells_turns and (fork.says_so or hold_another_meta)):
            end = paused_at
            break
        end = line.byte_end + 1
    return _Copied(until=end, is_sure=False, paused_at=paused_at, hold_another_meta=hold_another_meta)


def _is_later(stamped_at: float | None, before: float | None, forked_at: float | None) -> bool:
    """Whether a line was not written in one go with the one before it: later than that, and than the fork."""
    if stamped_at is None or before is None or forked_at is None:
        return False
    return stamped_at - max(before, forked_at) > _COPIED_WITHIN_SECONDS


def _is_meta_of_another(record: Mapping[str, Any], fork: _Fork) -> bool:
    meta = record.get("payload")
    return (
        record.get("type") == "session_meta" and isinstance(meta, dict) and meta.get("id") not in (None, fork.thread_id)
    )


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
