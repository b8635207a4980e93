"""A person's way through the queue: one draft after the other, each decision stored at once, none over another's."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from msgspec import Struct

from memory_pipeline.records import Draft, ReviewStatus
from memory_pipeline.review.run import Review
from memory_pipeline.store.drafts import Decided, Drafts


class Answer(StrEnum):
    """What became of a key that decides."""

    DONE = "done"  # stored
    CHANGED = "changed"  # somebody else decided, or a run labelled the draft anew, after it was shown
    GONE = "gone"  # it is no longer said, or was forgotten
    NOTHING = "nothing"  # there is nothing to decide about, or to take back


class Told(Struct, frozen=True, kw_only=True):
    """What a person is told about a decision: about which draft, as it stands now."""

    answer: Answer
    draft: Draft | None = None


class Sitting:
    """Goes through the queue, or the part of it that one session said. Nothing is kept but in the store."""

    def __init__(self, review: Review, drafts: Drafts, *, defer_days: float, thread_id: str | None = None) -> None:
        self._review = review
        self._drafts = drafts
        self._defer_days = defer_days
        self._thread_id = thread_id
        self._skipped: set[str] = set()
        self._next: str | None = None  # a draft that is shown before the others
        self._made: list[Draft] = []  # what this sitting decided, each as it stood right after
        self._shown: Draft | None = None
        self.touched: set[str] = set()  # sessions of whose drafts something was stored
        self.left = 0  # that wait now, without those that were skipped
        self.skipped = 0  # that wait now and were skipped
        self.look()

    @property
    def shown(self) -> Draft | None:
        """The draft that the person looks at; None when none is left but those that were skipped."""
        return self._shown

    @property
    def decided(self) -> dict[ReviewStatus, int]:
        """How many drafts this sitting decided, by what was decided last about each."""
        last = {draft.entry.entry_id: draft.review_status for draft in self._made}
        statuses = [status for status in last.values() if status is not ReviewStatus.PENDING]
        return {status: statuses.count(status) for status in ReviewStatus if status in statuses}

    def look(self) -> None:
        """Look at the queue anew, and turn to the draft that comes first."""
        queue = self._drafts.queue_ids(thread_id=self._thread_id)
        waiting = [entry_id for entry_id in queue if entry_id not in self._skipped]
        wanted = self._next if self._next in waiting else next(iter(waiting), None)
        self._shown = self._drafts.get(wanted) if wanted is not None else None
        self.left, self.skipped = len(waiting), len(queue) - len(waiting)

    def approve(self, *, note: str = "") -> Told:
        """Approve what is shown."""
        return self._decide(lambda draft: self._review.approve([draft.entry], note=note, seen=[draft]))

    def reject(self, *, note: str = "") -> Told:
        """Reject what is shown."""
        return self._decide(lambda draft: self._review.reject([draft.entry], note=note, seen=[draft]))

    def defer(self, *, note: str = "") -> Told:
        """Put off what is shown."""
        return self._decide(
            lambda draft: self._review.defer([draft.entry], days=self._defer_days, note=note, seen=[draft])
        )

    def note(self, text: str) -> Told:
        """Put a note on what is shown, and stay there."""
        draft = self._shown
        if draft is None or not text.strip():
            return Told(answer=Answer.NOTHING)
        is_noted = self._review.note(draft.entry, text)
        self._next = draft.entry.entry_id
        return self._after(draft, Answer.DONE if is_noted else Answer.GONE)

    def skip(self) -> None:
        """Turn to the next; when none is left but what was skipped, begin again with those."""
        if self._shown is None:
            self._skipped.clear()
        else:
            self._skipped.add(self._shown.entry.entry_id)
        self._next = None
        self.look()

    def undo(self) -> Told:
        """Take back what this sitting did last, and show that draft again; what others did since stays."""
        if not self._made:
            return Told(answer=Answer.NOTHING)
        draft = self._made.pop()
        entry_id = draft.entry.entry_id
        undone = self._review.undo([entry_id], seen=[draft])
        self.touched.add(draft.entry.thread_id)
        self._next = entry_id
        self._skipped.discard(entry_id)
        self.look()
        return Told(answer=Answer.DONE if undone else Answer.CHANGED, draft=self._drafts.get(entry_id))

    def _decide(self, decide: Callable[[Draft], Decided]) -> Told:
        draft = self._shown
        if draft is None:
            return Told(answer=Answer.NOTHING)
        decided = decide(draft)
        self._next = draft.entry.entry_id if decided.changed else None  # changed, it is looked at again
        if decided.entry_ids:
            return self._after(draft, Answer.DONE)
        return self._after(draft, Answer.CHANGED if decided.changed else Answer.GONE)

    def _after(self, draft: Draft, answer: Answer) -> Told:
        now = self._drafts.get(draft.entry.entry_id)
        if answer is Answer.DONE and now is not None:
            self._made.append(now)
            self.touched.add(now.entry.thread_id)
        self.look()
        return Told(answer=answer, draft=now)
