"""Lines of the journal about drafts: what a person decided in the review, noted there and took back."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import orjson
from msgspec.structs import replace

from memory_pipeline.clock import iso
from memory_pipeline.records import EntryKind, ReviewAct, ReviewRecord, ReviewStatus
from memory_pipeline.rollouts.times import to_seconds
from memory_pipeline.tombstones import Tombstones

_FORMAT = 1
#: What stands in the place of a deed about memories.
_ACTION = "review"


def encode_review(record: ReviewRecord) -> bytes:
    """Write a record as its line, without the line end."""
    fields: dict[str, Any] = {
        "format": _FORMAT,
        "id": record.record_id,
        "at": iso(record.at),
        "action": _ACTION,
        "act": record.act,
        "batch": record.batch,
        "entry_id": record.entry_id,
        "thread_id": record.thread_id,
        "kind": record.kind,
        "scope": record.scope,
        "status": record.status,
        "note": record.note,
        "until": iso(record.deferred_until),
        "undoes": record.undoes,
        "merges": list(record.merges) or None,
        "fingerprint": orjson.Fragment(record.fingerprint) if record.fingerprint else None,
    }
    return orjson.dumps({name: value for name, value in fields.items() if value not in (None, "")})


def decode_review(raw: bytes) -> ReviewRecord | None:
    """Read one line; None when it is torn, or tells of something else."""
    try:
        fields = orjson.loads(raw)
        if not isinstance(fields, dict) or fields["action"] != _ACTION:
            return None
        act = ReviewAct(fields["act"])
        undoes = _text(fields["undoes"]) if act is ReviewAct.UNDO else None
        status = ReviewStatus(fields["status"]) if act is ReviewAct.DECIDE else None
        at = to_seconds(fields["at"]) or 0.0
        until = _until(fields.get("until"), at) if status is ReviewStatus.DEFERRED else None
        return ReviewRecord(
            record_id=_text(fields["id"]),
            act=act,
            at=at,
            batch=_text(fields["batch"]),
            entry_id=_text(fields["entry_id"]),
            thread_id=_text(fields["thread_id"]),
            kind=EntryKind(fields["kind"]),
            scope=_text(fields["scope"]),
            fingerprint=_fingerprint(fields.get("fingerprint")),
            status=status,
            note=_text(fields.get("note", "")),
            deferred_until=until,
            undoes=undoes,
            merges=_texts(fields.get("merges", [])),
        )
    except (ValueError, KeyError, TypeError):
        return None


def left_of_review(record: ReviewRecord, tombstones: Tombstones, *, is_known: bool) -> ReviewRecord | None:
    """Return what stays of a record: nothing where its entry was forgotten, and no note with forgotten words.

    ``is_known`` says whether the entry is stored under its id. One that is not may have been forgotten under another,
    if a part of its session was. A draft about memories goes with each of them.
    """
    if (
        tombstones.has_thread(record.thread_id)
        or tombstones.has_entry_id(record.entry_id)
        or any(map(tombstones.has_memory, record.merges))
        or (not is_known and tombstones.touches(record.thread_id))
    ):
        return None
    return replace(record, note="") if tombstones.holds_words(record.note) else record


def _until(value: object, at: float) -> float:
    """Read when a draft comes back: at once where that can't be read, since without an end it never would."""
    try:
        # Not as the times of a log are read: a person may put off for longer than those are believed.
        return datetime.fromisoformat(_text(value)).timestamp()
    except (TypeError, ValueError, OverflowError):
        return at


def _fingerprint(value: object) -> str:
    """Return a fingerprint as the store keeps it; "" for one that was cut or written by hand, which tells nothing."""
    if not isinstance(value, dict):
        return ""
    try:
        for name in ("salt", "whole"):
            _text(value[name])
        for name in ("words", "refused", "exact"):
            _texts(value[name])
    except (KeyError, TypeError):
        return ""
    return orjson.dumps(value).decode() if isinstance(value.get("negates"), bool) else ""


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError("a list of texts is expected")
    return tuple(map(_text, value))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a text is expected")
    return value
