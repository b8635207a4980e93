"""The journal: our own log of what the person did and decided, of notes and of uses, one JSON line each.

It is read like a rollout: every line has a byte range and a hash, so that what the person said has evidence too.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Sequence, Set
from pathlib import Path
from typing import Any

import orjson

from memory_pipeline.clock import iso
from memory_pipeline.files import FILE_MODE, make_private_folder, sync_folder, write_whole
from memory_pipeline.lock import os_lock
from memory_pipeline.records import (
    PROJECT_SCOPE_PREFIX,
    USER_SCOPE,
    EntryKind,
    JournalAction,
    JournalLine,
    JournalRecord,
    ReviewRecord,
    SettingRecord,
    Speaker,
    SubmittedTask,
)
from memory_pipeline.rollouts.review_lines import decode_review, encode_review
from memory_pipeline.rollouts.task_lines import decode_task, encode_task
from memory_pipeline.rollouts.times import to_seconds

#: Whether a text holds what must go.
Holds = Callable[[str], bool]
#: What stays of a record, None for nothing of it.
RemainsOf = Callable[[JournalRecord], JournalRecord | None]
RemainsOfReview = Callable[[ReviewRecord], ReviewRecord | None]
#: What stays of a submitted task whose line has this hash; None for nothing of it.
RemainsOfTask = Callable[[SubmittedTask, str], SubmittedTask | None]

#: The thread of all that the person did by hand.
JOURNAL_THREAD = "journal"

_FORMAT = 1
#: How a line says that it tells a use, and its id.
_USE = re.compile(rb'"action": ?"use"')
_ID = re.compile(rb'"id": ?"(j_[0-9a-f]{24})"')
#: How long one writer waits for another, in seconds. A line is written in no time.
_WAIT_SECONDS = 20.0


def record_id_of(*parts: object) -> str:
    """Return the id of a deed: the same parts give the same id, so that a deed found twice is one."""
    text = "\x1f".join(str(part) for part in parts)
    return "j_" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:24]


class Journal:
    """The journal of one state folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, records: Sequence[JournalRecord | ReviewRecord]) -> None:
        """Write records at the end, durably, before anything is done about them.

        Raises:
            OSError: they can't be written.
            LockedError: another program has been writing for a long time.
        """
        self.append_lines([_encode(record) for record in records])

    def append_settings(self, records: Sequence[SettingRecord]) -> None:
        """Write down what was set and unset, in the same way.

        Raises:
            OSError, LockedError: as append.
        """
        self.append_lines([_encode_setting(record) for record in records])

    def begin_anew(self, before: bytes, records: Sequence[JournalRecord | ReviewRecord | SettingRecord]) -> bool:
        """Write a journal that is gone anew: the lines of a copy, then records; false when there is one by now.

        Raises:
            OSError, LockedError: as append; there is none still.
        """
        lines = [_encode_setting(one) if isinstance(one, SettingRecord) else _encode(one) for one in records]
        ending = b"\n" if before and not before.endswith(b"\n") else b""
        with self.lock():
            if os.path.lexists(self.path):
                return False
            write_whole(self.path, before + ending + b"".join(line + b"\n" for line in lines))
        return True

    def append_lines(self, lines: Sequence[bytes]) -> int:
        """Write lines at the end in the same way, each whole and without its end; returns where the first one begins.

        Raises:
            OSError, LockedError: as append.
        """
        if not lines:
            return 0
        make_private_folder(self.path.parent)
        with self.lock():
            descriptor = os.open(
                self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE
            )
            try:
                # A line that a crash cut off must not swallow the next one.
                text = b"".join(line + b"\n" for line in lines)
                ending = b"" if _ends_in_newline(descriptor) else b"\n"
                start = os.fstat(descriptor).st_size + len(ending)
                _write_all(descriptor, ending + text)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            sync_folder(self.path.parent)
        return start

    def rewrite(
        self,
        remains_of: RemainsOf,
        *,
        holds: Holds,
        remains_of_review: RemainsOfReview = lambda record: record,
        drops: Callable[[SettingRecord], bool] = lambda _record: False,
        remains_of_task: RemainsOfTask = lambda task, _line_sha256: task,
    ) -> int:
        """Blank what must go, in place: ``remains_of`` and ``remains_of_review`` give what stays of a record.

        A line keeps its length where what stays fits into it, so that the byte ranges of the others hold. What was set
        goes where ``drops`` says so. ``remains_of_task`` gives what stays of a submitted task. Another line that is no
        record goes when its text ``holds`` what must go, or is torn. Returns how many lines were changed.

        Raises:
            OSError, LockedError: it can't be written; nothing was changed.
        """
        if not self.path.exists():
            return 0
        with self.lock():
            before = self.path.read_bytes().split(b"\n")
            after = [_rewritten(raw, remains_of, holds, remains_of_review, drops, remains_of_task) for raw in before]
            changed = sum(old != new for old, new in zip(before, after, strict=True))
            if changed:
                write_whole(self.path, b"\n".join(after))
        return changed

    def lock(self) -> Any:
        """Return a context in which nobody else writes the journal."""
        return os_lock(self.path.with_suffix(".lock"), purpose="writing the journal", wait_seconds=_WAIT_SECONDS)

    def read(self, *, with_uses: bool = True) -> list[JournalLine]:
        """Read all records about memories in order; a line that is torn or of another kind is passed over.

        Without uses, of which there may be many thousands, it costs next to nothing for them.

        Raises:
            OSError: the file is there but can't be read.
        """
        lines: list[JournalLine] = []
        start = 0
        for raw in self._raw_lines():
            record = decode_record(raw) if with_uses or not _USE.search(raw) else None
            if record is not None:
                lines.append(
                    JournalLine(
                        record=record,
                        byte_start=start,
                        byte_end=start + len(raw),
                        line_sha256=hashlib.sha256(raw).hexdigest(),
                    )
                )
            start += len(raw) + 1
        return _first_of_each(lines)

    def is_gone(self) -> bool:
        """Whether there is nothing at all in its place."""
        return not os.path.lexists(self.path)

    def read_settings(self) -> list[SettingRecord]:
        """Read what was set and unset, in order.

        Raises:
            OSError: the file is there but can't be read.
        """
        return [record for raw in self._raw_lines() if (record := decode_setting(raw)) is not None]

    def uses_beside(self, known: Set[str]) -> list[JournalRecord]:
        """Return the uses whose ids are not ``known``, in order.

        Raises:
            OSError: the file is there but can't be read.
        """
        used = [raw for raw in self._raw_lines() if _USE.search(raw) and _id_of(raw) not in known]
        records = (decode_record(raw) for raw in used)
        return [record for record in records if record is not None and record.action is JournalAction.USE]

    def stamp(self) -> str:
        """Return what differs whenever the file was written; "" while there is none.

        Raises:
            OSError: it can't be looked at.
        """
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return ""
        return f"{found.st_size}:{found.st_mtime_ns}:{found.st_ino}"

    def read_reviews(self) -> list[ReviewRecord]:
        """Read all records about drafts in order, each once; a line that is torn or of another kind is passed over.

        Raises:
            OSError: the file is there but can't be read.
        """
        found: dict[str, ReviewRecord] = {}
        for raw in self._raw_lines():
            record = decode_review(raw) if b'"review"' in raw else None
            if record is not None:
                found.setdefault(record.record_id, record)
        return list(found.values())

    def _raw_lines(self) -> list[bytes]:
        try:
            return self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []


def ids_in(text: bytes) -> frozenset[str]:
    """Return the ids of the records of ours in the text of a journal."""
    return frozenset(name.decode() for name in _ID.findall(text))


def is_readable(raw: bytes) -> bool:
    """Whether a line of the journal tells something."""
    return any(decode(raw) is not None for decode in (decode_record, decode_review, decode_setting, decode_task))


def decode_setting(raw: bytes) -> SettingRecord | None:
    """Read one line of the journal as what was set or unset; None when it is torn, or tells something else."""
    if b'"set"' not in raw and b'"unset"' not in raw:
        return None
    try:
        fields = orjson.loads(raw)
        if not isinstance(fields, dict) or fields["action"] not in ("set", "unset"):
            return None
        return SettingRecord(
            record_id=_text(fields["id"]),
            target=_text(fields["target"]),
            key=_text(fields["key"]),
            value=orjson.dumps(fields["value"]).decode() if fields["action"] == "set" else None,
            at=to_seconds(fields["at"]) or 0.0,
        )
    except (ValueError, KeyError, TypeError):
        return None


def _id_of(raw: bytes) -> str | None:
    """Find the id of a record of ours without decoding the rest of it; None where it is written otherwise."""
    found = _ID.search(raw)
    return found.group(1).decode() if found else None


def decode_record(raw: bytes) -> JournalRecord | None:
    """Read one line of the journal; None when it is torn, or no record of ours."""
    try:
        fields = orjson.loads(raw)
        if not isinstance(fields, dict):
            return None
        return JournalRecord(
            record_id=_text(fields["id"]),
            action=JournalAction(fields["action"]),
            at=to_seconds(fields["at"]) or 0.0,
            origin=_text(fields["origin"]),
            memory_id=_text_or_none(fields.get("memory_id")),
            thread_id=_text_or_none(fields.get("thread_id")),
            kind=EntryKind(fields["kind"]) if fields.get("kind") else None,
            scope=_scope(fields.get("scope")),
            condition=_text(fields.get("condition", "")),
            statement=_text(fields.get("statement", "")),
            was=_text(fields.get("was", "")),
            was_condition=_text(fields.get("was_condition", "")),
            speaker=Speaker(fields.get("speaker", Speaker.USER)),
        )
    except (ValueError, KeyError, TypeError):
        return None


def _rewritten(
    raw: bytes,
    remains_of: RemainsOf,
    holds: Holds,
    remains_of_review: RemainsOfReview,
    drops: Callable[[SettingRecord], bool],
    remains_of_task: RemainsOfTask,
) -> bytes:
    setting = decode_setting(raw)
    if setting is not None:
        return b" " * len(raw) if drops(setting) else raw
    task = decode_task(raw)
    if task is not None:
        left = remains_of_task(task, hashlib.sha256(raw).hexdigest())
        return raw if left == task else (b"" if left is None else encode_task(left)).ljust(len(raw))
    record: JournalRecord | ReviewRecord | None
    remains: JournalRecord | ReviewRecord | None
    if (deed := decode_record(raw)) is not None:
        record, remains = deed, remains_of(deed)
    elif (review := decode_review(raw)) is not None:
        record, remains = review, remains_of_review(review)
    else:
        record = remains = None
    if record is not None:
        if remains == record:
            return raw
        return (b"" if remains is None else _encode(remains)).ljust(len(raw))
    is_foreign = raw.endswith(b"}") and not holds(raw.decode("utf-8", "replace"))
    return raw if is_foreign or not raw.strip() else b" " * len(raw)


def _encode(record: JournalRecord | ReviewRecord) -> bytes:
    if isinstance(record, ReviewRecord):
        return encode_review(record)
    fields: dict[str, Any] = {
        "format": _FORMAT,
        "id": record.record_id,
        "at": iso(record.at),
        "action": record.action,
        "origin": record.origin,
        "memory_id": record.memory_id,
        "thread_id": record.thread_id,
        "kind": record.kind,
        "scope": record.scope,
        "condition": record.condition,
        "statement": record.statement,
        "was": record.was,
        "was_condition": record.was_condition,
        "speaker": record.speaker if record.speaker is not Speaker.USER else None,
    }
    return orjson.dumps({name: value for name, value in fields.items() if value not in (None, "")})


def _encode_setting(record: SettingRecord) -> bytes:
    fields: dict[str, Any] = {
        "format": _FORMAT,
        "id": record.record_id,
        "at": iso(record.at),
        "action": "unset" if record.value is None else "set",
        "target": record.target,
        "key": record.key,
    }
    return orjson.dumps(fields if record.value is None else {**fields, "value": orjson.loads(record.value)})


def _write_all(descriptor: int, text: bytes) -> None:
    before = os.fstat(descriptor).st_size
    written = 0
    try:
        while written < len(text):
            written += os.write(descriptor, text[written:])
    except OSError:
        os.ftruncate(descriptor, before)  # a full disk leaves no half line
        raise


def _ends_in_newline(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"


def _first_of_each(lines: Iterable[JournalLine]) -> list[JournalLine]:
    by_id: dict[str, JournalLine] = {}
    for line in lines:
        by_id.setdefault(line.record.record_id, line)
    return list(by_id.values())


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a text is expected")
    return value


def _scope(value: object) -> str | None:
    scope = _text_or_none(value)
    if scope is None or scope == USER_SCOPE or scope.removeprefix(PROJECT_SCOPE_PREFIX) not in ("", scope):
        return scope
    raise ValueError("a scope is expected")


def _text_or_none(value: object) -> str | None:
    return None if value is None else _text(value)
