"""The pages of the review: what waits, one draft beside what it is most like, decisions, and taking them back."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from itertools import zip_longest
from typing import TYPE_CHECKING

from msgspec import Struct

from memory_pipeline.records import Decider, Draft, EvidenceLine, Memory, ReviewStatus
from memory_pipeline.redact import redact
from memory_pipeline.review.difference import Part, difference
from memory_pipeline.review.policy import why_not_ready
from memory_pipeline.web import draft_calls
from memory_pipeline.web.answers import HttpFault
from memory_pipeline.web.pages.page import Asked, Elsewhere, Page, Shown, fitting, given
from memory_pipeline.web.pages.rendering import MOST_SHOWN_CHARS

if TYPE_CHECKING:
    from memory_pipeline.app import App
    from memory_pipeline.rollouts.readback import ReadBack

LISTING = "/page/review"
_DRAFT = f"{LISTING}/{{entry_id}}"
_MOST_LISTED = 100
_MOST_DECIDED = 10
#: What was done -> how it is told. The name of it is the only thing that comes with an address.
_TOLD = {
    "approve": "Approved; the next run takes it into the memories",
    "reject": "Rejected; it does not come back, reworded or not",
    "defer": "Put off",
    "reopen": "It waits again",
    "note": "Noted",
    "undo": "Taken back",
}


class Beside(Struct, frozen=True, kw_only=True):
    """A memory that a draft is like, and what differs between the two."""

    memory: Memory
    was: Sequence[Part]
    now: Sequence[Part]


class Rests(Struct, frozen=True, kw_only=True):
    """One piece of evidence: the line as it was kept, and as it was read back. Of a merge there is no kept line."""

    line: EvidenceLine | None
    read: ReadBack | None


def show_queue(app: App, asked: Asked) -> Shown | Elsewhere:
    """List what waits, and what was decided last."""
    app.review().run_once()
    waiting = app.store.drafts.queue()
    decided = [
        draft
        for draft in app.store.drafts.every()
        if draft.decided_by is Decider.PERSON and draft.is_said and draft.carried_out is None
    ]
    decided.sort(key=lambda draft: draft.reviewed_at or 0.0, reverse=True)
    return Shown(
        template="review",
        values={
            "drafts": waiting[:_MOST_LISTED],
            "left": len(waiting),
            "decided": [one for one in decided if one.review_status is not ReviewStatus.PENDING][:_MOST_DECIDED],
            **_told(app, asked),
        },
    )


def show_draft(app: App, asked: Asked) -> Shown | Elsewhere:
    """Show one draft, beside what it is most like, with its evidence read back."""
    document = draft_calls.show_draft(app, asked.call())
    entry_id = document.entry_id
    draft = app.store.drafts.get(entry_id)
    if draft is None:
        raise HttpFault(HTTPStatus.NOT_FOUND, "not_found", "there is no draft of this id")
    queue = app.store.drafts.queue_ids()
    place = queue.index(entry_id) if entry_id in queue else None
    return Shown(
        template="draft",
        values={
            "draft": draft,
            "document": document,
            "not_ready": why_not_ready(draft.readiness),
            "can_decide": draft.is_said and draft.carried_out is None,
            "near": _near(app, draft),
            "evidence": _evidence(app, draft),
            "place": place,
            "left": len(queue),
            "previous": queue[place - 1] if place else None,
            "next": queue[place + 1] if place is not None and place + 1 < len(queue) else None,
            "defer_days": app.config.review.defer_days,
            **_told(app, asked),
        },
    )


def decide(app: App, asked: Asked) -> Shown | Elsewhere:
    """Decide about one draft, and go on to the next that waits."""
    entry_id = asked.path["entry_id"]
    queue = app.store.drafts.queue_ids()
    form = given(asked.form, "decision", "note", "days", "version")
    body = fitting({**form, "force": "force" in asked.form}, draft_calls.DecisionBody)
    try:
        decided = draft_calls.decide(app, asked.call(body=body))
    except HttpFault as fault:
        if fault.code != "not_ready":
            raise
        words = "Nothing was done: tick that you approve it all the same, if you mean it."
        raise HttpFault(fault.status, fault.code, words) from None
    if not decided.drafts:
        raise HttpFault(
            HTTPStatus.CONFLICT,
            "changed",
            "It was decided or labelled anew meanwhile. Look at it again: nothing was done.",
        )
    return _on(_after(entry_id, queue, app.store.drafts.queue_ids()), told=body.decision.value, about=entry_id)


def note(app: App, asked: Asked) -> Shown | Elsewhere:
    """Put a note on one draft, and stay there."""
    entry_id = asked.path["entry_id"]
    body = fitting({"note": asked.form.get("note", "").strip()}, draft_calls.NoteBody)
    draft_calls.note_draft(app, asked.call(body=body))
    return _on(entry_id, told="note", about=entry_id)


def undo(app: App, asked: Asked) -> Shown | Elsewhere:
    """Take back what was decided last about one draft, and show it again."""
    entry_id = asked.path["entry_id"]
    draft_calls.undo_decision(app, asked.call())
    return _on(entry_id, told="undo", about=entry_id)


def _told(app: App, asked: Asked) -> dict[str, object]:
    """Return what was just done, where the address says so and there is such a draft."""
    what, about = asked.query.get("told", ""), app.store.drafts.get(asked.query.get("about", ""))
    known = about is not None and what in _TOLD
    can_undo = known and what not in ("undo", "reopen")
    return {"told": _TOLD[what] if known else None, "about": about if known else None, "can_undo": can_undo}


def _on(entry_id: str | None, *, told: str, about: str) -> Elsewhere:
    path = LISTING if entry_id is None else f"{LISTING}/{entry_id}"
    return Elsewhere(path=path, query={"told": told, "about": about})


def _after(entry_id: str, before: Sequence[str], now: Sequence[str]) -> str | None:
    """Return the draft that comes after one that waited; the first where it was the last; None where none is left."""
    waiting = set(now) - {entry_id}
    later = before[before.index(entry_id) + 1 :] if entry_id in before else ()
    return next((name for name in (*later, *now) if name in waiting), None)


def _near(app: App, draft: Draft) -> list[Beside]:
    memories = app.store.memories.get_many(draft.nearest)
    said = _whole(draft.entry.statement, draft.entry.condition)
    found = []
    for memory in (memories[name] for name in draft.nearest if name in memories):
        was, now = difference(_whole(memory.statement, memory.condition), said)
        found.append(Beside(memory=memory, was=was, now=now))
    return found


def _whole(statement: str, condition: str) -> str:
    return redact(f"{statement} (when: {condition})" if condition else statement).text[:MOST_SHOWN_CHARS]


def _evidence(app: App, draft: Draft) -> list[Rests]:
    read = app.read_back(draft)
    if draft.merges:
        return [Rests(line=None, read=one) for one in read]
    return [Rests(line=line, read=one) for line, one in zip_longest(draft.entry.evidence, read)]


PAGES = (
    Page(name="pageReview", path=LISTING, answer=show_queue),
    Page(name="pageDraft", path=_DRAFT, answer=show_draft, back=LISTING),
    Page(
        name="pageDecide",
        path=f"{_DRAFT}/decide",
        method="POST",
        answer=decide,
        back=_DRAFT,
    ),
    Page(name="pageNote", path=f"{_DRAFT}/note", method="POST", answer=note, back=_DRAFT),
    Page(name="pageUndo", path=f"{_DRAFT}/undo", method="POST", answer=undo, back=_DRAFT),
)
