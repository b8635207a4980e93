"""Lets entries pass the review, for tests of what comes after it."""

from __future__ import annotations

from memory_pipeline.records import Decider, DraftLabel, Judgement, Readiness, ReviewStatus
from memory_pipeline.store.store import Store


def pass_review(store: Store, *, now: float) -> None:
    """Let pass every entry that is not judged yet, whatever it says."""
    judged = [
        Judgement(
            entry_id=one.entry.entry_id,
            coverage=one.coverage,
            label=DraftLabel.NEW,
            readiness=Readiness.READY_CANDIDATE,
            rationale="",
            nearest=(),
            review_status=ReviewStatus.APPROVED,
            decided_by=Decider.POLICY,
        )
        for one in store.drafts.unjudged("test")
    ]
    store.drafts.judge(judged, basis="test", now=now)
