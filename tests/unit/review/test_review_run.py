"""Review between the phases, on a real store: what flows on, what waits, what stays away."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from phase2_world import DAY, NOW, World, entry, learned

from memory_pipeline.config import ReviewConfig
from memory_pipeline.forget.erasure import erasure_of, forgotten_texts
from memory_pipeline.records import (
    Decider,
    Draft,
    DraftLabel,
    Entry,
    EntryKind,
    MemoryStatus,
    Phase2Counts,
    ReviewCounts,
    ReviewStatus,
    Speaker,
)
from memory_pipeline.review.run import Review
from memory_pipeline.tombstones import Tombstone, TombstoneKind, Tombstones


class Desk:
    """A review on a world, as the command wires it."""

    def __init__(self, world: World, **review: object) -> None:
        config = replace(world.config, review=ReviewConfig(**review))  # type: ignore[arg-type]
        self.world = world
        self.review = Review(config, world.store, world.clock)

    def run(self) -> ReviewCounts:
        """Review once."""
        return self.review.run_once()

    def pass_on(self) -> Phase2Counts:
        """Review, then consolidate."""
        self.run()
        return self.world.parts().run_once()

    def draft(self, statement: str) -> Draft:
        """The one draft that says this."""
        (found,) = [one for one in self.world.store.drafts.every() if one.entry.statement == statement]
        return found

    def entries(self, *statements: str) -> Sequence[Entry]:
        """The entries of drafts."""
        return [self.draft(statement).entry for statement in statements]

    def told(self) -> set[str]:
        """What is told."""
        return {statement for _, statement in self.world.told()}


ASSUMED = learned("The cache is cleared at night.", speaker=Speaker.ASSISTANT)


def test_what_may_pass_flows_on_and_the_rest_waits(world: World) -> None:
    """A person's word is consolidated in the same pass; an assistant's guess is not, and keeps nothing else back."""
    desk = Desk(world)
    world.says("thread-a", entry("Use pnpm."), ASSUMED)
    counts = desk.run()
    assert (counts.labelled, counts.approved, counts.pending) == (2, 1, 1)
    desk.pass_on()
    assert desk.told() == {"Use pnpm."}
    raw = (world.workspace / "raw_memories.md").read_text(encoding="utf-8")
    assert "Use pnpm." in raw
    assert "cleared at night" not in raw
    assert [one.entry.statement for one in world.store.drafts.queue()] == [ASSUMED.statement]


def test_in_manual_mode_nothing_flows_without_a_person(world: World) -> None:
    """And no summary of a session is laid out of which nothing passed."""
    desk = Desk(world, mode="manual")
    world.says("thread-a", entry("Use pnpm."))
    desk.pass_on()
    assert desk.told() == set()
    assert not list(world.workspace.rglob("rollout_summaries/*"))
    desk.review.approve(desk.entries("Use pnpm."), note="yes")
    desk.pass_on()
    assert desk.told() == {"Use pnpm."}


def test_an_entry_that_no_review_saw_does_not_flow(world: World) -> None:
    """Also when it was extracted after the review of a pass, by another run."""
    world.says("thread-a", entry("Use pnpm."))
    world.parts().run_once()
    assert world.told() == set()


def test_a_persons_newer_word_supersedes_their_older_one(world: World) -> None:
    """By policy, with the link and the undo, as without a review."""
    desk = Desk(world)
    world.says("thread-a", entry("Use npm for packages.", at=NOW - 5 * DAY))
    desk.pass_on()
    world.says("thread-b", entry("Use pnpm for packages.", at=NOW - DAY))
    desk.pass_on()
    assert desk.told() == {"Use pnpm for packages."}
    assert world.of("Use npm for packages.").status is MemoryStatus.SUPERSEDED
    assert desk.draft("Use pnpm for packages.").label is DraftLabel.CONFLICT


def test_what_contradicts_otherwise_waits_until_a_person_approves_it_and_then_takes_the_place(world: World) -> None:
    """What a tool shows against what another tool showed is for the person to settle."""
    desk = Desk(world)
    world.says("thread-a", learned("The dev server listens on port 8080."))
    desk.pass_on()
    world.says("thread-b", learned("The dev server listens on port 9090.", thread="thread-b"))
    desk.pass_on()
    assert desk.told() == {"The dev server listens on port 8080."}
    draft = desk.draft("The dev server listens on port 9090.")
    assert (draft.label, draft.review_status) == (DraftLabel.CONFLICT, ReviewStatus.PENDING)
    desk.review.approve([draft.entry])
    desk.pass_on()
    assert desk.told() == {"The dev server listens on port 9090."}
    old = world.of("The dev server listens on port 8080.")
    assert old.superseded_by == world.of("The dev server listens on port 9090.").memory_id


def test_two_that_contradict_in_one_pass_leave_one_waiting_as_a_conflict(world: World) -> None:
    """Both were new when they were labelled; the second is labelled anew against the first."""
    desk = Desk(world)
    world.says("thread-a", learned("The dev server listens on port 8080."))
    world.says("thread-b", learned("The dev server listens on port 9090.", thread="thread-b"))
    desk.pass_on()
    desk.pass_on()
    assert len(desk.told()) == 1
    (waiting,) = world.store.drafts.queue()
    assert waiting.label is DraftLabel.CONFLICT


def test_approving_a_tools_word_against_a_persons_takes_out_the_persons(world: World) -> None:
    """It is the person who approves; the person's own statement can be restored."""
    desk = Desk(world)
    world.says("thread-a", entry("The package manager is npm."))
    desk.pass_on()
    world.says("thread-b", learned("The package manager is pnpm.", thread="thread-b"))
    desk.pass_on()
    desk.review.approve(desk.entries("The package manager is pnpm."))
    desk.pass_on()
    assert desk.told() == {"The package manager is pnpm."}
    assert world.of("The package manager is npm.").status is MemoryStatus.RETIRED


@pytest.mark.parametrize("again", ["Use pnpm for packages.", "Please always use pnpm for all packages!"])
def test_what_was_rejected_does_not_come_back(world: World, again: str) -> None:
    """Reworded or not, in another session, in whatever mode but a person's own approval."""
    desk = Desk(world)
    world.says("thread-a", entry("Use pnpm for packages."))
    desk.run()
    desk.review.reject(desk.entries("Use pnpm for packages."), note="never said so")
    world.says("thread-b", entry(again, thread="thread-b"))
    desk.pass_on()
    assert desk.told() == set()
    drafts = [one for one in world.store.drafts.every() if one.entry.thread_id == "thread-b"]
    assert [(one.review_status, one.decided_by) for one in drafts] == [(ReviewStatus.REJECTED, Decider.REJECTION)]


def test_a_rejected_word_does_not_come_back_as_a_fact_but_a_rejected_fact_may_be_stated(world: World) -> None:
    """Another reading may take the same words for another kind; what a person states anew is their word."""
    desk = Desk(world)
    world.says("thread-a", entry("The release runs through make ship."))
    world.says("thread-b", learned("The cache is cleared at night.", thread="thread-b"))
    desk.run()
    desk.review.reject(desk.entries("The release runs through make ship.", "The cache is cleared at night."))
    world.says("thread-c", learned("The release runs through make ship", thread="thread-c"))
    world.says("thread-d", entry("The cache is cleared at night", thread="thread-d"))
    desk.pass_on()
    assert desk.told() == {"The cache is cleared at night"}


def test_what_a_rejection_held_back_comes_back_when_it_is_taken_back(world: World) -> None:
    """And what waited already goes with a rejection of the same in other words."""
    desk = Desk(world, mode="manual")
    world.says("thread-a", entry("Use pnpm for packages."))
    world.says("thread-b", entry("Please always use pnpm for all packages!", thread="thread-b"))
    desk.run()
    before = world.store.drafts.every()
    desk.review.reject(desk.entries("Use pnpm for packages."))
    desk.run()
    assert [one.decided_by for one in world.store.drafts.every()] == [Decider.PERSON, Decider.REJECTION]
    desk.review.undo()
    desk.run()
    assert world.store.drafts.every() == before


def test_what_is_rejected_after_it_was_remembered_is_told_no_longer(world: World) -> None:
    """And told again once the rejection is undone."""
    desk = Desk(world)
    world.says("thread-a", entry("Use pnpm."), entry("Squash before merging."))
    desk.pass_on()
    desk.review.reject(desk.entries("Use pnpm."))
    desk.pass_on()
    assert desk.told() == {"Squash before merging."}
    assert desk.review.undo() == [desk.draft("Use pnpm.").entry.entry_id]
    desk.pass_on()
    assert desk.told() == {"Use pnpm.", "Squash before merging."}


def test_a_deferred_draft_returns_after_its_time(world: World) -> None:
    """Until then it waits nowhere; then it is in the queue again."""
    desk = Desk(world, mode="manual")
    world.says("thread-a", entry("Use pnpm."))
    desk.run()
    desk.review.defer(desk.entries("Use pnpm."), days=3)
    world.clock.moment += 2 * DAY
    assert desk.run().pending == 0
    world.clock.moment += DAY
    assert desk.run().pending == 1


@pytest.mark.parametrize("days", [1e9, float("inf"), float("nan")])
def test_a_deferral_ends_on_a_day_that_can_be_shown(world: World, days: float) -> None:
    """However long somebody puts a draft off, it comes back at last."""
    desk = Desk(world, mode="manual")
    world.says("thread-a", entry("Use pnpm."))
    desk.run()
    desk.review.defer(desk.entries("Use pnpm."), days=days)
    assert desk.draft("Use pnpm.").deferred_until == NOW + 36_500 * DAY


def test_what_found_no_room_in_the_queue_passes_as_soon_as_the_mode_lets_it(world: World) -> None:
    """What waits never blocks what passes: a full queue least of all."""
    desk = Desk(world, mode="manual", max_pending=1)
    world.says("thread-a", entry("Use pnpm."), entry("Squash before merging."), entry("Deploy on Mondays."))
    desk.run()
    counts = Desk(world, mode="policy", max_pending=1).run()
    assert (counts.approved, counts.pending, counts.dropped) == (3, 0, 0)
    assert all(one.dropped is None for one in world.store.drafts.every())


def test_the_queue_is_bounded_by_rank_and_by_age_and_says_so(world: World) -> None:
    """What a person stated stays; what does not fit comes back when there is room; what is too old goes."""
    desk = Desk(world, mode="manual", max_pending=2, max_pending_days=10)
    world.says("thread-a", ASSUMED, entry("Use pnpm."), entry("Squash before merging."))
    counts = desk.run()
    assert (counts.pending, counts.dropped) == (2, 1)
    assert "max_pending" in counts.problems[0]
    assert desk.draft(ASSUMED.statement).dropped == "rank"
    desk.review.approve(desk.entries("Use pnpm."))
    assert desk.run().pending == 2
    assert desk.draft(ASSUMED.statement).dropped is None
    world.clock.moment += 11 * DAY
    counts = desk.run()
    assert (counts.pending, counts.dropped) == (0, 2)
    assert "max_pending_days" in counts.problems[0]


def test_a_partial_reading_drops_no_draft_and_lets_none_pass(world: World) -> None:
    """Read whole later, the same words pass."""
    desk = Desk(world)
    world.says("thread-a", entry("Use pnpm."), coverage="partial")
    desk.pass_on()
    assert desk.told() == set()
    assert len(world.store.drafts.queue()) == 1
    world.says("thread-a", entry("Use pnpm."))
    desk.pass_on()
    assert desk.told() == {"Use pnpm."}


def test_labelling_leaves_alone_what_a_person_decided_meanwhile(world: World) -> None:
    """A run that labels while a person decides loses no decision."""
    desk = Desk(world, mode="manual")
    world.says("thread-a", entry("Use pnpm."), entry("Squash before merging."))
    desk.run()
    desk.review.approve(desk.entries("Use pnpm."), note="mine")
    Desk(world, mode="off").run()
    draft = desk.draft("Use pnpm.")
    assert (draft.review_status, draft.decided_by, draft.review_note) == (
        ReviewStatus.APPROVED,
        Decider.PERSON,
        "mine",
    )
    assert desk.draft("Squash before merging.").decided_by is Decider.POLICY


def test_a_decision_and_its_undo_leave_the_draft_as_it_was(world: World) -> None:
    """Whatever was decided, one after the other or at once."""
    desk = Desk(world, mode="manual")
    world.says("thread-a", entry("Use pnpm."), entry("Squash before merging."))
    desk.run()
    before = world.store.drafts.every()
    desk.review.reject(desk.entries("Use pnpm.", "Squash before merging."))
    desk.review.approve(desk.entries("Use pnpm."), note="after all")
    desk.review.defer(desk.entries("Use pnpm."), days=1)
    assert [len(desk.review.undo()) for _ in range(4)] == [1, 1, 2, 0]
    assert world.store.drafts.every() == before


def test_a_failure_that_a_tool_showed_passes(world: World) -> None:
    """So does knowledge: both rest on what really happened."""
    desk = Desk(world)
    world.says("thread-a", learned("make ship fails without a token.", kind=EntryKind.FAILURE))
    desk.pass_on()
    assert desk.told() == {"make ship fails without a token."}


def test_a_note_with_forgotten_words_goes_and_the_decision_stays(world: World) -> None:
    """Forgetting reaches what the person noted in review, and what undoing would bring back."""
    desk = Desk(world, mode="manual")
    world.says("thread-a", entry("Use pnpm."))
    desk.run()
    desk.review.approve(desk.entries("Use pnpm."), note="as Zanzibar said")
    desk.review.note(desk.draft("Use pnpm.").entry, "ask Zanzibar again")
    stones = Tombstones.of([Tombstone(kind=TombstoneKind.WORDS, value="Zanzibar")], now=NOW)
    kept = world.store.forgetting.kept()
    erasure = erasure_of(kept, stones)
    assert set(forgotten_texts(kept, erasure)) == {"as Zanzibar said", "ask Zanzibar again"}
    world.store.forgetting.erase(erasure, now=NOW)
    draft = desk.draft("Use pnpm.")
    assert (draft.review_status, draft.review_note) == (ReviewStatus.APPROVED, "")
    assert [event.note for event in draft.review_log] == ["", ""]
    assert desk.review.undo() == []
    assert not any("Zanzibar" in text for text in world.store.forgetting.texts())


def test_forgetting_an_entry_takes_its_draft(world: World) -> None:
    """With its notes, its fingerprint and the decisions about it."""
    desk = Desk(world)
    world.says("thread-a", entry("Use pnpm."))
    desk.run()
    desk.review.reject(desk.entries("Use pnpm."), note="no")
    entry_id = desk.draft("Use pnpm.").entry.entry_id
    stones = Tombstones.of([Tombstone(kind=TombstoneKind.ENTRY, value=entry_id)], now=NOW)
    world.store.forgetting.erase(erasure_of(world.store.forgetting.kept(), stones), now=NOW)
    assert world.store.drafts.get(entry_id) is None
    assert world.store.drafts.rejections() == []
    assert desk.review.undo() == []
