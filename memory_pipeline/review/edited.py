"""An edited draft file becomes a person's decisions: checked whole first, so that nothing of a wrong one counts."""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
from msgspec import Struct

from memory_pipeline.errors import MemoryPipelineError
from memory_pipeline.records import Draft, Entry, ReviewStatus
from memory_pipeline.review.run import Review, note_of
from memory_pipeline.store.drafts import Decided
from memory_pipeline.store.store import Store
from memory_pipeline.tombstones import Tombstones

_MOST_NOTE_CHARS = 10_000
_STATUSES = ", ".join(status.value for status in ReviewStatus)


class EditRefusedError(MemoryPipelineError):
    """An edited file is not taken in; the message says why, and goes on after "since"."""


class TakenIn(Struct, frozen=True, kw_only=True):
    """What became of the decisions in a file."""

    decided: int = 0
    problems: tuple[str, ...] = ()


class _Edit(Struct, frozen=True, kw_only=True):
    """What a file says otherwise than we wrote it, about one entry."""

    entry_id: str
    was: ReviewStatus
    status: ReviewStatus
    note: str | None  # None: as it was

    @property
    def changes_status(self) -> bool:
        return self.status is not self.was


def take_in_edit(
    content: bytes,
    thread_id: str,
    told: Sequence[Mapping[str, object]],
    *,
    store: Store,
    review: Review,
    tombstones: Tombstones,
    defer_days: float,
) -> TakenIn:
    """Store what a file decides otherwise than the versions of it that we wrote (``told``, the newest last).

    Raises:
        EditRefusedError: it is wrong somewhere; nothing of it was stored.
    """
    entries = _checked_entries(content, thread_id, told, store)
    edits = list(_edits(entries, told, tombstones))
    drafts = {draft.entry.entry_id: draft for draft in store.drafts.every(thread_id=thread_id)}
    decided, problems = 0, []
    for edit in edits:
        draft = drafts.get(edit.entry_id)
        if draft is None:
            problems.append(f"{edit.entry_id} is no longer said, so what the file decides about it was left out")
        elif edit.changes_status and draft.review_status not in (edit.was, edit.status):
            problems.append(
                f"{edit.entry_id} was decided otherwise meanwhile ({draft.review_status}), so that the file decides "
                f"{edit.status} was left out; set it again if you mean it"
            )
    left_out = {problem.split(" ", 1)[0] for problem in problems}
    for group in _grouped(edit for edit in edits if edit.entry_id not in left_out):
        decided += _apply(group, drafts, review, defer_days)
    return TakenIn(decided=decided, problems=tuple(problems))


def _checked_entries(
    content: bytes, thread_id: str, told: Sequence[Mapping[str, object]], store: Store
) -> list[Mapping[str, Any]]:
    try:
        document = orjson.loads(content.removeprefix(codecs.BOM_UTF8))
    except orjson.JSONDecodeError as error:
        raise EditRefusedError(f"it is no JSON: {error}") from error
    if not isinstance(document, dict) or document.get("session_id") != thread_id:
        raise EditRefusedError("it is not the draft document of this session: its session_id was changed")
    entries = document.get("draft_entries")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise EditRefusedError("its draft_entries are no list of entries")
    ids = [entry.get("id") for entry in entries]
    if not all(isinstance(one, str) for one in ids) or not any(sorted(ids) == sorted(version) for version in told):
        raise EditRefusedError("its ids are not those that were written: entries were added, taken out or renamed")
    known = store.extractions.known_entries(ids)
    for entry in entries:
        _check_entry(entry, known.get(entry["id"]), told)
    return entries


def _check_entry(entry: Mapping[str, Any], known: Entry | None, told: Sequence[Mapping[str, object]]) -> None:
    name = entry["id"]
    if known is not None and entry.get("statement") != known.statement:
        raise EditRefusedError(
            f"the statement of {name} was changed; what a session said stays as it is: reject it, and say it your way "
            "with `memory-pipeline memory add`"
        )
    fixed = [[entry.get("label"), entry.get("sync_readiness")]]
    if fixed[0] not in [_told_of(version, name)[2:] for version in told if name in version]:
        raise EditRefusedError(f"label or sync_readiness of {name} were changed; they follow from the memories")
    if entry.get("review_status") not in list(ReviewStatus):  # a list, since anything may stand there
        raise EditRefusedError(f"the review_status of {name} is none of {_STATUSES}")
    note = entry.get("review_note", "")
    if not isinstance(note, str) or len(note) > _MOST_NOTE_CHARS:
        raise EditRefusedError(f"the review_note of {name} is no text of at most {_MOST_NOTE_CHARS} characters")


def _edits(
    entries: Iterable[Mapping[str, Any]], told: Sequence[Mapping[str, object]], tombstones: Tombstones
) -> Iterable[_Edit]:
    """Yield what differs from every version of ours: a crash may have left two, and either may be what was edited."""
    for entry in entries:
        name = entry["id"]
        versions = [_told_of(version, name) for version in told if name in version]
        status, note = ReviewStatus(entry["review_status"]), entry.get("review_note", "")
        was = ReviewStatus(str(versions[-1][0]))
        if any(version[0] == status for version in versions):
            was = status
        is_new_note = all(version[1] != note_hash(note) for version in versions)
        if is_new_note and tombstones.holds_words(note):
            raise EditRefusedError(f"the review_note of {name} holds words that were forgotten")
        if status is not was or is_new_note:
            yield _Edit(entry_id=name, was=was, status=status, note=note_of(note) if is_new_note else None)


def _told_of(version: Mapping[str, object], entry_id: str) -> list[object]:
    told = version[entry_id]
    return list(told) if isinstance(told, list | tuple) else []


def _grouped(edits: Iterable[_Edit]) -> Iterable[list[_Edit]]:
    """Put together what is decided alike: one decision, that is undone as one."""
    groups: dict[tuple[object, ...], list[_Edit]] = {}
    for edit in edits:
        key = (edit.status, edit.note) if edit.changes_status else (edit.entry_id,)
        groups.setdefault(key, []).append(edit)
    return groups.values()


def _apply(group: Sequence[_Edit], drafts: Mapping[str, Draft], review: Review, defer_days: float) -> int:
    first = group[0]
    changed = [drafts[edit.entry_id] for edit in group]
    decided = 0
    # What already stands so was taken in before a crash.
    waiting = [draft for draft in changed if draft.review_status is not first.status] if first.changes_status else []
    if waiting:
        decided += len(_decide(first.status, waiting, first.note or "", review, defer_days).entry_ids)
    if first.note is not None and (not waiting or not first.note):
        decided += sum(review.note(draft.entry, first.note) for draft in changed if draft.review_note != first.note)
    return decided


def _decide(status: ReviewStatus, drafts: Sequence[Draft], note: str, review: Review, defer_days: float) -> Decided:
    entries = [draft.entry for draft in drafts]
    if status is ReviewStatus.APPROVED:
        return review.approve(entries, note=note, seen=drafts)
    if status is ReviewStatus.REJECTED:
        return review.reject(entries, note=note, seen=drafts)
    if status is ReviewStatus.DEFERRED:
        return review.defer(entries, days=defer_days, note=note, seen=drafts)
    return review.reopen(entries, note=note, seen=drafts)


def note_hash(note: str) -> str:
    """Return what tells whether a note was changed."""
    return hashlib.sha256(note.encode("utf-8", "replace")).hexdigest()[:16]
