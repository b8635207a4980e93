"""The draft document of a session and its sync list, in the shapes that the review tools of others read and write.

Both are made from the store alone: same drafts, same bytes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import orjson

from memory_pipeline.clock import iso
from memory_pipeline.files import TEMPORARY_PREFIX
from memory_pipeline.records import (
    Coverage,
    Draft,
    DraftLabel,
    IndexedThread,
    Readiness,
    ReviewStatus,
    StoredExtraction,
)

SCHEMA_VERSION = 1
DRAFTS_FOLDER = "memory-drafts"
SYNC_FOLDER = "sync-lists"
PACKETS_FOLDER = "packets"

#: What may be synced. A conflict is settled here first, and what holds for the moment stays local.
SYNC_LABELS = frozenset({DraftLabel.NEW, DraftLabel.REFINE, DraftLabel.CONFIRM})

_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")


def file_stem(thread_id: str) -> str:
    """Return what the files of a session are named after: its id, or a hash of one that is no plain name."""
    if _PLAIN_NAME.fullmatch(thread_id) and not thread_id.endswith("."):
        return thread_id
    return "session-" + hashlib.sha256(thread_id.encode("utf-8", "replace")).hexdigest()[:32]


def drafts_name(thread_id: str) -> str:
    """Return the draft file of a session, below the state folder."""
    return f"{DRAFTS_FOLDER}/{file_stem(thread_id)}.json"


def sync_name(thread_id: str) -> str:
    """Return the sync list of a session, below the state folder."""
    return f"{SYNC_FOLDER}/{file_stem(thread_id)}.json"


def packet_name(thread_id: str) -> str:
    """Return the packet of a session, below the state folder."""
    return f"{PACKETS_FOLDER}/{file_stem(thread_id)}.md"


def own_name(name: str) -> str:
    """Return the name of the file that one is, was kept aside of, or was to replace."""
    name = name.removeprefix(TEMPORARY_PREFIX)
    for suffix in (".json", ".md"):
        if suffix in name:
            return name[: name.rindex(suffix) + len(suffix)]
    return name


def session_named(name: str) -> str:
    """Return the session that such a file is named after."""
    return own_name(name).removesuffix(".json").removesuffix(".md")


def draft_document(
    thread: IndexedThread,
    extraction: StoredExtraction,
    drafts: Sequence[Draft],
    *,
    audit: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """Make the draft document of a session; ``audit`` is that of its packet, if one was built."""
    return {
        "schema_version": SCHEMA_VERSION,
        # When the session was read: a decision, and taking it back, must not show here.
        "generated_at": iso(extraction.generated_at),
        "source_packet": packet_name(thread.thread_id),
        "session_id": thread.thread_id,
        "memory_input": "MEMORY.md",
        "packet_audit": audit or _audit_without_packet(thread, extraction),
        "requires_raw_review": extraction.coverage is Coverage.PARTIAL or any(map(_needs_raw_review, drafts)),
        "draft_entries": [entry_document(draft) for draft in drafts],
        "label_counts": _counts(DraftLabel, (draft.label for draft in drafts)),
        "readiness_counts": _counts(Readiness, (draft.readiness for draft in drafts)),
        "review_counts": _counts(ReviewStatus, (draft.review_status for draft in drafts)),
        "sync_candidates": _ids(draft for draft in drafts if _may_sync(draft) and _is_ready(draft)),
        "blocked_sync_candidates": _ids(draft for draft in drafts if _may_sync(draft) and not _is_ready(draft)),
        "conflict_ids": _ids(draft for draft in drafts if draft.label is DraftLabel.CONFLICT),
        "local_only_ids": _ids(draft for draft in drafts if draft.readiness is Readiness.LOCAL_ONLY),
    }


def sync_document(extraction: StoredExtraction, drafts: Sequence[Draft]) -> dict[str, Any] | None:
    """Make the sync list of a session; None while nothing in it is approved and ready."""
    ready = [
        draft
        for draft in drafts
        if _may_sync(draft) and _is_ready(draft) and draft.review_status is ReviewStatus.APPROVED
    ]
    if not ready:
        return None
    return {
        "schema_version": SCHEMA_VERSION,
        "generated_at": iso(extraction.generated_at),
        "source_draft": drafts_name(extraction.thread_id),
        "session_id": extraction.thread_id,
        "approved_ready_count": len(ready),
        "entries": [entry_document(draft) for draft in ready],
    }


def encode(document: Mapping[str, Any]) -> bytes:
    """Write a document as its file holds it."""
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def entry_document(draft: Draft) -> dict[str, Any]:
    """Make one entry of a draft document."""
    entry = draft.entry
    first = entry.evidence[0] if entry.evidence else None
    turn = first.turn if first is not None else None
    said: dict[str, Any] = {}
    if draft.collaborator_notes or draft.collaborator_evidence:
        said = {"notes": list(draft.collaborator_notes), "evidence": list(draft.collaborator_evidence)}
    return {
        "id": entry.entry_id,
        "statement": entry.statement,
        "label": draft.label,
        "sync_readiness": draft.readiness,
        "review_status": draft.review_status,
        "review_note": draft.review_note,
        "reviewed_at": iso(draft.reviewed_at),
        "review_log": [
            {"at": iso(event.at), "status": event.status, **({"note": event.note} if event.note else {})}
            for event in draft.review_log
        ],
        "rationale": draft.rationale,
        "destination": entry.scope,
        "source_session_id": entry.thread_id,
        "evidence_refs": {
            "turn_number": turn,
            "turn_id": turn_id(turn),
            "source_kind": first.speaker if first is not None else None,
            "commands": list(dict.fromkeys(line.command for line in entry.evidence if line.command)),
            "files": list(dict.fromkeys(path for line in entry.evidence for path in line.paths)),
        },
        **({"collaborator": said} if said else {}),
    }


def turn_id(turn: int | None) -> str | None:
    """Return how a packet names a turn."""
    return None if turn is None else f"turn-{turn}"


def _audit_without_packet(thread: IndexedThread, extraction: StoredExtraction) -> dict[str, object]:
    return {
        "coverage": extraction.coverage,
        "turns_rendered": 0,
        "invalid_json_lines_skipped": sum(thread.skipped_lines.values()),
        "orphan_tool_results": 0,
        "unfinished_turns": 0,
        "compaction_events": 0,
        "audit_warnings": ["No packet of this session was built; `memory-pipeline packet build` does."],
        "lossy_transforms": [],
    }


def _counts(kinds: type[StrEnum], found: Iterable[StrEnum]) -> dict[str, int]:
    counts = dict.fromkeys((kind.value for kind in kinds), 0)
    for kind in found:
        counts[kind.value] += 1
    return counts


def _ids(drafts: Iterable[Draft]) -> list[str]:
    return [draft.entry.entry_id for draft in drafts]


def _needs_raw_review(draft: Draft) -> bool:
    return draft.readiness is Readiness.NEEDS_RAW_REVIEW


def _may_sync(draft: Draft) -> bool:
    return draft.label in SYNC_LABELS and draft.review_status is not ReviewStatus.REJECTED


def _is_ready(draft: Draft) -> bool:
    return draft.readiness is Readiness.READY_CANDIDATE
