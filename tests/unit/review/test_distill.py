"""Distilling: what says the same or contradicts is proposed, reviewed like any draft, and carried out once approved."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from phase2_world import DAY, NOW, World, entry, learned, memory

from memory_pipeline.config import ReviewConfig
from memory_pipeline.forget.erasure import erasure_of
from memory_pipeline.records import (
    MEMORIES_THREAD,
    Draft,
    DraftLabel,
    Entry,
    Gate,
    Memory,
    MemoryStatus,
    Readiness,
    ReviewStatus,
)
from memory_pipeline.review.distill import Distillation, Distilled, find_merges
from memory_pipeline.review.run import Review
from memory_pipeline.review.sitting import Sitting
from memory_pipeline.tombstones import Tombstone, TombstoneKind, Tombstones

#: Two that a run keeps apart, since it merges only where nothing is in doubt.
BUILD, BUILDS = "The web build needs Node 20 and pnpm.", "The web build needs Node 20 and the pnpm tool."
PORT, OTHER_PORT = "The dev server listens on port 8080.", "The dev server listens on port 9090."


class Desk:
    """Memories of two sessions, and the distillation of them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.review = Review(replace(world.config, review=ReviewConfig(mode="off")), world.store, world.clock)
        self.distillation = Distillation(world.store, self.review, now=world.clock.now)

    def remember(self, *entries: Entry) -> None:
        """Let each be said in a session of its own, and be consolidated whatever the review says of it."""
        for number, one in enumerate(entries):
            self.world.says(f"thread-{number}", one)
            self.world.run()

    def distill(self, scope: str | None = None) -> Distilled:
        """Distil once."""
        return self.distillation.run_once(scope=scope)

    def proposal(self) -> Draft:
        """The one proposal."""
        (found,) = self.world.store.drafts.merges()
        return found

    def told(self) -> set[str]:
        """What is told."""
        return {statement for _, statement in self.world.told()}


def said_twice(world: World) -> Desk:
    """Two memories that say the same in other words."""
    desk = Desk(world)
    desk.remember(learned(BUILD, at=NOW - 9 * DAY), learned(BUILDS, at=NOW - DAY))
    assert desk.told() == {BUILD, BUILDS}
    return desk


def test_two_that_say_the_same_are_proposed_as_one_with_all_their_evidence(world: World) -> None:
    """As a draft that waits, in the words of the one that stays; no memory changes by itself."""
    desk = said_twice(world)
    found = desk.distill()
    assert (found.looked_at, found.proposed) == (2, 1)
    draft = desk.proposal()
    assert (draft.label, draft.readiness) == (DraftLabel.REFINE, Readiness.READY_CANDIDATE)
    assert draft.entry.thread_id == MEMORIES_THREAD
    assert len(draft.entry.evidence) == 2
    assert draft.merges[1:] == draft.nearest
    assert [one.entry.entry_id for one in world.store.drafts.queue()] == [draft.entry.entry_id]
    world.run()
    assert desk.told() == {BUILD, BUILDS}


def approve_merge(world: World) -> tuple[Desk, Memory, Memory]:
    """Approve what distilling proposes of something said twice; returns the memory that stays, and the other."""
    desk = said_twice(world)
    desk.distill()
    draft = desk.proposal()
    kept, given = (world.store.memories.get(name) for name in draft.merges)
    assert kept is not None
    assert given is not None
    desk.review.approve([draft.entry], seen=[draft])
    return desk, kept, given


def test_an_approved_one_is_carried_out_once_and_can_be_undone(world: World) -> None:
    """The one that stays rests on the entries of both; undone, both are told again, and it does not come back."""
    desk, kept, given = approve_merge(world)
    world.run()
    assert desk.told() == {kept.statement}
    now = world.of(kept.statement)
    assert set(now.entry_ids) == {*kept.entry_ids, *given.entry_ids}
    assert world.of(given.statement).status is MemoryStatus.RETIRED
    assert desk.review.undo() == []  # what was carried out is for the history to undo
    world.undo()
    for _ in range(2):
        assert desk.told() == {BUILD, BUILDS}
        assert world.of(kept.statement).entry_ids == kept.entry_ids
        assert desk.distill().merges == ()
        world.run()


def test_said_again_it_confirms_the_one_that_stayed(world: World) -> None:
    """Not the one that gave way, though that one's words are nearer."""
    desk = said_twice(world)
    desk.distill()
    desk.review.approve([desk.proposal().entry])
    world.run()
    (told,) = desk.told()
    (other,) = {BUILD, BUILDS} - {told}
    world.says("thread-again", learned(other, at=NOW, thread="thread-again"))
    world.run()
    assert desk.told() == {told}


def test_a_rejected_one_does_not_come_back(world: World) -> None:
    """Nor as part of a larger one; undone, it waits again."""
    desk = said_twice(world)
    desk.distill()
    desk.review.reject([desk.proposal().entry], note="they differ")
    assert desk.distill().proposed == 0
    world.run()
    assert desk.told() == {BUILD, BUILDS}
    desk.review.undo()
    assert desk.proposal().review_status is ReviewStatus.PENDING
    assert len(world.store.drafts.queue()) == 1


def test_one_that_holds_no_longer_goes(world: World) -> None:
    """A memory was retired meanwhile: nothing is left to decide, and the next look takes it out."""
    desk = said_twice(world)
    desk.distill()
    draft = desk.proposal()
    world.says("thread-1")
    world.run()
    assert world.store.drafts.queue() == []
    assert desk.review.approve([draft.entry]).gone == (draft.entry.entry_id,)
    assert desk.distill().merges == ()
    assert world.store.drafts.merges() == []


def test_none_waits_that_names_what_was_switched_off(world: World) -> None:
    """At once, like everything else that is told of it."""
    desk = said_twice(world)
    desk.distill()
    assert len(world.store.drafts.queue()) == 1
    world.gate("thread-1", Gate.DISABLED)
    assert world.store.drafts.queue() == []


def test_nothing_gives_way_to_what_was_switched_off_after_it_was_approved(world: World) -> None:
    """Else the words of the session that is kept out would be told for those that stand."""
    desk, kept, given = approve_merge(world)
    world.gate(kept.thread_ids[0], Gate.DISABLED)
    world.run()
    assert desk.told() == {given.statement}


def test_the_scope_that_is_named_is_looked_at_alone(world: World) -> None:
    """And proposals of others stay."""
    desk = said_twice(world)
    desk.distill()
    assert desk.distill(scope="user").looked_at == 0
    assert len(world.store.drafts.merges()) == 1


def test_forgetting_reaches_the_notes_of_a_proposal_and_a_memory_takes_its_proposal(world: World) -> None:
    """A proposal holds ids and the person's note; with one of its memories it goes."""
    desk = said_twice(world)
    desk.distill()
    draft = desk.proposal()
    desk.review.note(draft.entry, "as Zanzibar said")
    words = Tombstones.of([Tombstone(kind=TombstoneKind.WORDS, value="Zanzibar")], now=NOW)
    world.store.forgetting.erase(erasure_of(world.store.forgetting.kept(), words), now=NOW)
    assert desk.proposal().review_note == ""
    one = Tombstones.of([Tombstone(kind=TombstoneKind.MEMORY, value=draft.merges[1])], now=NOW)
    kept = world.store.forgetting.kept()
    world.store.forgetting.erase(replace(erasure_of(kept, one), memories=frozenset({draft.merges[1]})), now=NOW)
    assert world.store.drafts.merges() == []


def test_of_two_that_contradict_the_newer_stays_and_a_persons_word_before_any(world: World) -> None:
    """A contradiction is proposed as a conflict; whose word it is counts before when it was said."""
    older = memory(PORT, number=1, at=NOW - 9 * DAY)
    newer = memory(OTHER_PORT, number=2, at=NOW - DAY)
    (proposed,) = find_merges([older, newer], is_persons=lambda _one: False)
    assert (proposed.label, proposed.keeps) == (DraftLabel.CONFLICT, newer.memory_id)
    (proposed,) = find_merges([older, newer], is_persons=lambda one: one is older)
    assert proposed.keeps == older.memory_id


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("`npm test` runs the tests.", "`npm run build` runs the build."),
        ("Call load_orders before save_orders.", "Call load_items before save_items."),
        ("The cart needs Node 20.", "The invoices are printed in Helvetica."),
        ("提交前都要跑测试", "图表的标题一律用中文"),
        ("`pnpm build` builds the project; it passed", "`pnpm test -- landing` runs the tests; it passed"),
        ("`npm test` runs the tests; it passed", "`TZ=UTC npm test` runs the tests; it passed"),
    ],
)
def test_what_names_other_things_is_never_merged(one: str, other: str) -> None:
    """Other commands, numbers and names are other facts, however alike the sentences are."""
    merges = find_merges([memory(one, number=1), memory(other, number=2)], is_persons=lambda _one: True)
    assert [merge for merge in merges if merge.label is DraftLabel.REFINE] == []


def test_directives_that_settle_one_slot_contradict_in_whatever_words() -> None:
    """Two that share no word are proposed as a conflict; the newer one stays."""
    older = memory("Answer in German.", number=1, last_confirmed=NOW - DAY)
    newer = memory("Reply in English.", number=2, last_confirmed=NOW)
    others = [memory("Write the docs in English.", number=3), memory("Use tabs.", number=4)]
    (found,) = find_merges([older, *others, newer], is_persons=lambda _m: True)
    assert (found.label, found.keeps, found.gives_way) == (DraftLabel.CONFLICT, newer.memory_id, (older.memory_id,))


def test_what_is_said_often_contradicts_once_and_counts_as_its_newest_word() -> None:
    """Two sayings of one rule against three of another are one choice, not six; the last word of all stays."""
    german = [memory("Answer in German.", number=number, last_confirmed=NOW - number * DAY) for number in (1, 5)]
    english = [memory("Reply in English.", number=number, last_confirmed=NOW - number * DAY) for number in (2, 3, 4)]
    german[1] = replace(german[1], pinned=True)  # it stays, though the other was said last
    merges = find_merges([*english, *german], is_persons=lambda _one: True)
    assert [one.label for one in merges] == [DraftLabel.REFINE, DraftLabel.REFINE, DraftLabel.CONFLICT]
    (conflict,) = merges[2:]
    assert conflict.keeps == german[1].memory_id
    assert len(conflict.gives_way) == 1


def test_a_pinned_one_stays(world: World) -> None:
    """Whatever was used more, or said later."""
    pinned = memory(BUILD, number=9, at=NOW - 9 * DAY, pinned=True)
    (proposed,) = find_merges([memory(BUILDS, number=1), pinned], is_persons=lambda _one: False)
    assert proposed.keeps == pinned.memory_id


_WORDS = st.lists(
    st.sampled_from(["build", "cart", "tests", "port", "8080", "9090", "pnpm", "npm", "never", "use", "the", "跑测试"]),
    min_size=1,
    max_size=6,
)


@given(st.lists(_WORDS, max_size=8))
@settings(max_examples=100, deadline=None)
def test_no_memory_is_merged_twice_and_the_order_does_not_matter(sentences: list[list[str]]) -> None:
    """Every proposal names memories that there are, and the same ones in whatever order they are looked at."""
    memories = [memory(" ".join(words), number=number) for number, words in enumerate(sentences)]
    merges = find_merges(memories, is_persons=lambda _one: False)
    assert merges == find_merges(memories[::-1], is_persons=lambda _one: False)
    named = [name for one in merges if one.label is DraftLabel.REFINE for name in (one.keeps, *one.gives_way)]
    assert len(named) == len(set(named))
    assert {name for one in merges for name in (one.keeps, *one.gives_way)} <= {one.memory_id for one in memories}
    refused = frozenset(frozenset({one.keeps, other}) for one in merges for other in one.gives_way)
    again = find_merges(memories, is_persons=lambda _one: False, refused=refused)
    assert not any(frozenset({one.keeps, other}) in refused for one in again for other in one.gives_way)


def test_a_sitting_over_the_proposals_alone_shows_those_alone(world: World) -> None:
    """As it does over one session; over all it shows both."""
    desk = said_twice(world)
    desk.distill()
    world.says("thread-x", entry("It is red for now."))
    desk.review.run_once()
    left = {
        thread: Sitting(desk.review, world.store.drafts, defer_days=1, thread_id=thread).left
        for thread in (MEMORIES_THREAD, "thread-x", "thread-0", None)
    }
    assert left == {MEMORIES_THREAD: 1, "thread-x": 1, "thread-0": 0, None: 2}
