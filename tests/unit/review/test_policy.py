"""Readiness and who passes by itself, as tables of cases."""

from __future__ import annotations

import pytest
from phase2_world import entry, learned

from memory_pipeline.records import Coverage, DraftLabel, Entry, EntryKind, Readiness, Speaker
from memory_pipeline.review.labels import Known, Labelled
from memory_pipeline.review.policy import passes, readiness_of

STATED = entry("Use pnpm.")
SEEN = learned("The port is 8080.")
ASSUMED = learned("The port is 8080.", speaker=Speaker.ASSISTANT)
BROKE = learned("make ship fails without a token.", kind=EntryKind.FAILURE)
THEIRS = Known(known_id="m_1", statement="Use npm.", is_persons_word=True)
LEARNT = Known(known_id="m_2", statement="The port is 9090.")


def labelled(label: DraftLabel, *contradicted: Known, independent: bool = False) -> Labelled:
    """Make a label."""
    return Labelled(label=label, rationale="", contradicted=contradicted, is_independent=independent)


@pytest.mark.parametrize(
    ("label", "coverage", "readiness"),
    [
        (DraftLabel.NEW, Coverage.HIGH, Readiness.READY_CANDIDATE),
        (DraftLabel.REFINE, Coverage.HIGH, Readiness.READY_CANDIDATE),
        (DraftLabel.CONFIRM, Coverage.HIGH, Readiness.READY_CANDIDATE),
        (DraftLabel.NEW, Coverage.PARTIAL, Readiness.NEEDS_RAW_REVIEW),
        (DraftLabel.CONFIRM, Coverage.PARTIAL, Readiness.NEEDS_RAW_REVIEW),
        (DraftLabel.CONFLICT, Coverage.HIGH, Readiness.NEEDS_CONFLICT_REVIEW),
        (DraftLabel.CONFLICT, Coverage.PARTIAL, Readiness.NEEDS_CONFLICT_REVIEW),
        (DraftLabel.EPHEMERAL, Coverage.HIGH, Readiness.LOCAL_ONLY),
        (DraftLabel.EPHEMERAL, Coverage.PARTIAL, Readiness.LOCAL_ONLY),
    ],
)
def test_readiness_follows_from_label_and_coverage(label: DraftLabel, coverage: Coverage, readiness: Readiness) -> None:
    """A partial reading never becomes ready by itself."""
    assert readiness_of(label, coverage) is readiness


@pytest.mark.parametrize(
    ("draft", "label", "passing"),
    [
        # a person's statement
        (STATED, labelled(DraftLabel.NEW), "policy off"),
        (STATED, labelled(DraftLabel.REFINE), "policy off"),
        (STATED, labelled(DraftLabel.CONFIRM), "policy off"),
        (STATED, labelled(DraftLabel.CONFLICT, THEIRS), "policy off"),  # the newer word wins
        (STATED, labelled(DraftLabel.CONFLICT, THEIRS, LEARNT), ""),
        (STATED, labelled(DraftLabel.CONFLICT), ""),  # a model saw it, and does not say against what
        (STATED, labelled(DraftLabel.EPHEMERAL), ""),
        # what a tool showed
        (SEEN, labelled(DraftLabel.NEW), "policy off"),
        (SEEN, labelled(DraftLabel.REFINE), "policy off"),
        (SEEN, labelled(DraftLabel.CONFLICT, LEARNT), ""),
        (SEEN, labelled(DraftLabel.CONFLICT, THEIRS), ""),
        (BROKE, labelled(DraftLabel.NEW), "policy off"),
        # what only an assistant says
        (ASSUMED, labelled(DraftLabel.NEW), "off"),
        (ASSUMED, labelled(DraftLabel.CONFIRM), "off"),
        (ASSUMED, labelled(DraftLabel.CONFIRM, independent=True), "policy off"),
        (ASSUMED, labelled(DraftLabel.CONFLICT, LEARNT), ""),
        (ASSUMED, labelled(DraftLabel.EPHEMERAL), ""),
    ],
)
def test_a_draft_passes_by_itself_in_these_modes(draft: Entry, label: Labelled, passing: str) -> None:
    """With high coverage; in manual mode nothing ever does."""
    modes = {mode for mode in ("off", "policy", "manual") if passes(mode, draft, label, Coverage.HIGH)}
    assert modes == set(passing.split())


@pytest.mark.parametrize("draft", [STATED, SEEN, ASSUMED])
def test_of_a_partial_reading_nothing_passes_by_policy(draft: Entry) -> None:
    """Only with review.mode off."""
    label = labelled(DraftLabel.CONFIRM, independent=True)
    assert not passes("policy", draft, label, Coverage.PARTIAL)
    assert passes("off", draft, label, Coverage.PARTIAL)


@pytest.mark.parametrize("mode", ["off", "policy", "manual"])
def test_what_an_agent_noted_never_passes_by_itself(mode: str) -> None:
    """Not even where two sessions say so: an agent may say the same twice."""
    noted = learned("The port is 8080.", thread="journal", speaker=Speaker.ASSISTANT)
    for label in (labelled(DraftLabel.NEW), labelled(DraftLabel.CONFIRM, independent=True)):
        assert not passes(mode, noted, label, Coverage.HIGH)
