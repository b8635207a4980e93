"""The calls about drafts: look, decide, take back."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from enum import StrEnum
from hashlib import sha256
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import UNSET, UnsetType

from memory_pipeline.errors import MemoryPipelineError
from memory_pipeline.records import MEMORIES_THREAD, Draft, DraftLabel, Readiness, ReviewStatus
from memory_pipeline.web import documents
from memory_pipeline.web.answers import HttpFault, not_found
from memory_pipeline.web.endpoints import Call, Endpoint, Id
from memory_pipeline.web.memory_calls import Limit, Offset

if TYPE_CHECKING:
    from memory_pipeline.app import App
    from memory_pipeline.store.drafts import Decided

logger = logging.getLogger(__name__)

Note = Annotated[str, msgspec.Meta(max_length=2_000)]


class Decision(StrEnum):
    """What a person decides about a draft."""

    APPROVE = "approve"  # the next run takes it into the memories
    REJECT = "reject"  # what it says does not come back, reworded or not
    DEFER = "defer"  # it comes back into the queue after some days
    REOPEN = "reopen"  # it waits again


class DraftsQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which drafts to list."""

    thread: Id | UnsetType = UNSET
    label: DraftLabel | UnsetType = UNSET
    readiness: Readiness | UnsetType = UNSET
    status: ReviewStatus | UnsetType = UNSET
    limit: Limit = 100
    offset: Offset = 0


class DecisionBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A decision about one draft."""

    decision: Decision
    note: Note = ""
    days: Annotated[float, msgspec.Meta(ge=0, le=3_650)] | None = None  # of defer; by default review.defer_days
    force: bool = False  # approve also what its readiness forbids
    version: Annotated[str, msgspec.Meta(max_length=64)] | None = None  # as the draft was shown


class NoteBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A note on one draft."""

    note: Annotated[str, msgspec.Meta(min_length=1, max_length=2_000)]


def list_drafts(app: App, call: Call) -> documents.DraftList:
    """List drafts, labelled against what is remembered now."""
    query: DraftsQuery = call.query
    app.review().run_once()
    found = [draft for draft in app.store.drafts.every(thread_id=query.thread or None) if _fits(draft, query)]
    return _listed(found[query.offset : query.offset + query.limit], total=len(found))


def show_draft(app: App, call: Call) -> documents.DraftDocument:
    """Show one draft."""
    app.review().run_once()
    return document_of(_draft(app, call.path["entry_id"]))


def decide(app: App, call: Call) -> documents.DecidedDocument:
    """Decide about one draft."""
    from memory_pipeline.review.policy import why_not_ready

    body: DecisionBody = call.body
    app.review_with_files()
    draft = _open_draft(app, call.path["entry_id"])
    if body.version is not None and body.version != version_of(draft):
        raise _changed()
    reason = why_not_ready(draft.readiness)
    if body.decision is Decision.APPROVE and reason is not None and not body.force:
        raise HttpFault(
            HTTPStatus.CONFLICT, "not_ready", f"{draft.readiness}: {reason}; force approves it all the same"
        )
    note = _note(app, body.note)
    review = app.review()
    entries, seen = [draft.entry], [draft]
    if body.decision is Decision.APPROVE:
        decided = review.approve(entries, note=note, seen=seen)
    elif body.decision is Decision.REJECT:
        decided = review.reject(entries, note=note, seen=seen)
    elif body.decision is Decision.DEFER:
        days = app.config.review.defer_days if body.days is None else body.days
        decided = review.defer(entries, days=days, note=note, seen=seen)
    else:
        decided = review.reopen(entries, note=note, seen=seen)
    return _told(app, decided)


def note_draft(app: App, call: Call) -> documents.DraftDocument:
    """Put a note on one draft, and decide nothing."""
    body: NoteBody = call.body
    app.review_with_files()
    draft = _open_draft(app, call.path["entry_id"])
    if not app.review().note(draft.entry, _note(app, body.note)):
        raise _changed()
    _write_files(app, [draft])
    return document_of(_draft(app, draft.entry.entry_id))


def undo_decision(app: App, call: Call) -> documents.DraftList:
    """Take back the last decision or note about one draft."""
    app.review_with_files()
    draft = _open_draft(app, call.path["entry_id"])
    return _undone(app, app.review().undo([draft.entry.entry_id], seen=[draft]))


def undo_last(app: App, call: Call) -> documents.DraftList:
    """Take back the last decision or note, with all that were made at once."""
    del call
    app.review_with_files()
    return _undone(app, app.review().undo())


def version_of(draft: Draft) -> str:
    """Return a mark of a draft that changes when the draft does."""
    return sha256(repr((draft.entry.entry_id, draft.standing)).encode()).hexdigest()[:16]


def document_of(draft: Draft) -> documents.DraftDocument:
    """Return one draft as it is shown."""
    return documents.draft_document(draft, version=version_of(draft))


def _draft(app: App, entry_id: str) -> Draft:
    draft = app.store.drafts.get(entry_id)
    if draft is None:
        raise not_found("there is no draft of this id")
    return draft


def _open_draft(app: App, entry_id: str) -> Draft:
    """Return a draft that can be decided about."""
    draft = _draft(app, entry_id)
    if draft.carried_out is not None:
        raise HttpFault(
            HTTPStatus.CONFLICT, "carried_out", f"consolidation {draft.carried_out} carried it out; that can be undone"
        )
    if not draft.is_said:
        raise HttpFault(HTTPStatus.CONFLICT, "withdrawn", "its session no longer says it: there is nothing to decide")
    return draft


def _changed() -> HttpFault:
    return HttpFault(HTTPStatus.CONFLICT, "changed", "it was decided or labelled anew meanwhile; look at it again")


def _note(app: App, text: str) -> str:
    if app.forgets_words(text):
        raise HttpFault(HTTPStatus.CONFLICT, "forgotten", "the note holds words that you had forgotten for good")
    return text


def _fits(draft: Draft, query: DraftsQuery) -> bool:
    asked = ((draft.label, query.label), (draft.readiness, query.readiness), (draft.review_status, query.status))
    return all(wanted is UNSET or value == wanted for value, wanted in asked)


def _told(app: App, decided: Decided) -> documents.DecidedDocument:
    drafts = [draft for name in decided.entry_ids if (draft := app.store.drafts.get(name)) is not None]
    _write_files(app, drafts)
    return documents.DecidedDocument(
        drafts=[document_of(draft) for draft in drafts], changed=list(decided.changed), gone=list(decided.gone)
    )


def _undone(app: App, entry_ids: Iterable[str]) -> documents.DraftList:
    drafts = [draft for name in entry_ids if (draft := app.store.drafts.get(name)) is not None]
    if not drafts:
        raise not_found("there is no decision of yours to take back")
    _write_files(app, drafts)
    return _listed(drafts, total=len(drafts))


def _listed(drafts: Iterable[Draft], *, total: int) -> documents.DraftList:
    return documents.DraftList(drafts=[document_of(draft) for draft in drafts], total=total)


def _write_files(app: App, drafts: Iterable[Draft]) -> None:
    """Write the draft files of sessions anew. What can't be written, the next run writes."""
    for thread_id in sorted({draft.entry.thread_id for draft in drafts} - {MEMORIES_THREAD}):
        try:
            app.write_session_files(thread_id)
        except (OSError, MemoryPipelineError) as error:
            logger.warning("%s", error, extra={"action": "write_session_files", "outcome": "left"})


_FAULTS = {404: "There is no such draft.", 409: "It can't be decided so; `code` says why."}

ENDPOINTS = (
    Endpoint(
        name="listDrafts",
        method="GET",
        path="/drafts",
        summary="List drafts, labelled against what is remembered now.",
        query=DraftsQuery,
        answer=documents.DraftList,
        run=list_drafts,
    ),
    Endpoint(
        name="undoLastDecision",
        method="POST",
        path="/drafts/undo",
        summary="Take back the last decision or note, with all that were made at once.",
        answer=documents.DraftList,
        faults={404: "There is no decision to take back."},
        run=undo_last,
    ),
    Endpoint(
        name="showDraft",
        method="GET",
        path="/drafts/{entry_id}",
        summary="Show one draft with its evidence.",
        answer=documents.DraftDocument,
        faults={404: "There is no such draft."},
        run=show_draft,
    ),
    Endpoint(
        name="decideDraft",
        method="POST",
        path="/drafts/{entry_id}/decision",
        summary="Approve, reject, defer or reopen one draft.",
        body=DecisionBody,
        answer=documents.DecidedDocument,
        faults=_FAULTS,
        run=decide,
    ),
    Endpoint(
        name="noteDraft",
        method="POST",
        path="/drafts/{entry_id}/note",
        summary="Put a note on one draft, and decide nothing.",
        body=NoteBody,
        answer=documents.DraftDocument,
        faults=_FAULTS,
        run=note_draft,
    ),
    Endpoint(
        name="undoDecision",
        method="POST",
        path="/drafts/{entry_id}/undo",
        summary="Take back the last decision or note about one draft.",
        answer=documents.DraftList,
        faults=_FAULTS,
        run=undo_decision,
    ),
)
