"""Readiness, and which drafts pass by themselves in each review mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_pipeline.entries import is_persons_word
from memory_pipeline.records import Coverage, DraftLabel, Entry, EntryKind, Readiness, Speaker
from memory_pipeline.rollouts.journal import JOURNAL_THREAD

if TYPE_CHECKING:
    from memory_pipeline.review.labels import Labelled

_LEARNT_KINDS = frozenset({EntryKind.KNOWLEDGE, EntryKind.FAILURE})


def readiness_of(label: DraftLabel, coverage: Coverage) -> Readiness:
    """Say what stands between a draft and the memories. A partial reading lowers it, and drops nothing."""
    if label is DraftLabel.EPHEMERAL:
        return Readiness.LOCAL_ONLY
    if label is DraftLabel.CONFLICT:
        return Readiness.NEEDS_CONFLICT_REVIEW
    return Readiness.NEEDS_RAW_REVIEW if coverage is Coverage.PARTIAL else Readiness.READY_CANDIDATE


def why_not_ready(readiness: Readiness) -> str | None:
    """Say why a draft is not approved without a second thought; None when it may be."""
    return _REASONS.get(readiness)


_REASONS = {
    Readiness.NEEDS_RAW_REVIEW: "its session was not read whole, so what was said around it may change it",
    Readiness.NEEDS_CONFLICT_REVIEW: "it contradicts what is remembered, and takes its place once it is approved",
    Readiness.LOCAL_ONLY: "it holds for the moment only, and is not meant to be remembered",
}


def passes(mode: str, entry: Entry, labelled: Labelled, coverage: Coverage) -> bool:
    """Whether a draft passes without a person, in review.mode ``off``, ``policy`` or ``manual``.

    What an agent noted never does: the journal's other entries are the person's own deeds, which no review sees.
    """
    if mode == "manual" or entry.thread_id == JOURNAL_THREAD or labelled.label is DraftLabel.EPHEMERAL:
        return False
    if labelled.label is DraftLabel.CONFLICT and not _is_a_persons_change_of_mind(entry, labelled):
        return False
    if mode == "off":
        return True
    if coverage is Coverage.PARTIAL:
        return False
    return (
        is_persons_word(entry)
        or (labelled.label is DraftLabel.CONFIRM and labelled.is_independent)
        or (entry.kind in _LEARNT_KINDS and _rests_on_a_tool(entry))
    )


def _is_a_persons_change_of_mind(entry: Entry, labelled: Labelled) -> bool:
    """Whether only the person's own word stands against the person's word: the newer one wins, whichever it is."""
    return (
        bool(labelled.contradicted)
        and is_persons_word(entry)
        and all(known.is_persons_word for known in labelled.contradicted)
    )


def _rests_on_a_tool(entry: Entry) -> bool:
    return any(line.speaker is Speaker.TOOL for line in entry.evidence)
