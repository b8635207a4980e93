"""What a person decides: stored at once, never over what somebody else decided meanwhile, and taken back whole."""

from __future__ import annotations

from msgspec.structs import replace
from phase2_world import NOW, World, entry

from memory_pipeline.config import ReviewConfig
from memory_pipeline.records import Draft, Readiness, ReviewStatus
from memory_pipeline.review.run import Review


def manual(world: World) -> Review:
    """A review in which nothing passes by itself."""
    return Review(replace(world.config, review=ReviewConfig(mode="manual")), world.store, world.clock)


def labelled(world: World, *statements: str) -> list[Draft]:
    """Drafts that wait, in the order in which they were said."""
    world.says("thread-a", *(entry(statement) for statement in statements))
    manual(world).run_once()
    return world.store.drafts.every()


def test_a_draft_decided_elsewhere_meanwhile_is_left_alone(world: World) -> None:
    """Whoever saw it pending does not overwrite what another reviewer decided since."""
    (draft,) = labelled(world, "Use pnpm.")
    manual(world).reject([draft.entry], note="mine")
    decided = manual(world).approve([draft.entry], seen=[draft])
    assert (decided.entry_ids, decided.changed) == ((), (draft.entry.entry_id,))
    now = world.store.drafts.get(draft.entry.entry_id)
    assert now is not None
    assert (now.review_status, now.review_note) == (ReviewStatus.REJECTED, "mine")


def test_a_draft_labelled_anew_meanwhile_is_left_alone(world: World) -> None:
    """A person approves what they saw: not what a run found to be a contradiction since."""
    (draft,) = labelled(world, "The registry listens on port 8080.")
    shown = replace(draft, readiness=Readiness.NEEDS_RAW_REVIEW)
    assert manual(world).approve([draft.entry], seen=[shown]).changed == (draft.entry.entry_id,)
    assert manual(world).approve([draft.entry], seen=[draft]).entry_ids == (draft.entry.entry_id,)


def test_a_withdrawn_draft_is_not_decided_and_the_others_are(world: World) -> None:
    """One that is no longer said, and one that never was, are told apart from what was decided."""
    kept, gone = labelled(world, "Use pnpm.", "Squash before merging.")
    world.says("thread-a", entry("Use pnpm."))
    unknown = replace(kept.entry, entry_id="e_unknown")
    decided = manual(world).approve([gone.entry, kept.entry, unknown], note="yes")
    assert decided.entry_ids == (kept.entry.entry_id,)
    assert decided.gone == (gone.entry.entry_id, "e_unknown")
    assert not manual(world).note(gone.entry, "too late")


def test_a_note_keeps_no_secret_and_stays_one_line(world: World) -> None:
    """What a person notes is stored masked, as everything is."""
    (draft,) = labelled(world, "Use pnpm.")
    assert manual(world).note(draft.entry, "ask Sam,\nhis key is sk-proj-" + "Fake" * 12)
    noted = world.store.drafts.get(draft.entry.entry_id)
    assert noted is not None
    assert noted.review_note.startswith("ask Sam, his key is [redacted:")
    assert noted.review_status is ReviewStatus.PENDING


def test_undoing_leaves_alone_what_was_decided_since(world: World) -> None:
    """A reviewer takes back their own decision, not the one that another made after it."""
    (draft,) = labelled(world, "Use pnpm.")
    review = manual(world)
    review.approve([draft.entry])
    mine = world.store.drafts.get(draft.entry.entry_id)
    assert mine is not None
    world.clock.moment += 60
    review.reject([draft.entry])
    assert manual(world).undo([draft.entry.entry_id], seen=[mine]) == []
    now = world.store.drafts.get(draft.entry.entry_id)
    assert now is not None
    assert now.review_status is ReviewStatus.REJECTED


def test_undoing_an_approval_leaves_set_aside_what_a_curator_had_set_aside(world: World) -> None:
    """Otherwise the next labelling would no longer know of the contradiction that a model saw."""
    (draft,) = labelled(world, "Use pnpm.")
    last = world.store.memories.begin(owner="test", now=NOW)
    assert world.store.memories.commit(last, [], [], [], flagged=frozenset({draft.entry.entry_id}), now=NOW)
    assert world.store.drafts.unjudged("other")[0].is_flagged
    manual(world).approve([draft.entry])
    assert not any(one.is_flagged for one in world.store.drafts.unjudged("other"))
    manual(world).undo()
    assert world.store.drafts.unjudged("other")[0].is_flagged
