"""The screen of a review without a terminal: what it shows, and what each key does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from phase2_world import DAY, NOW, World, entry, learned
from rich.cells import cell_len

from memory_pipeline.cli.review_screen import Near, ReviewScreen, difference
from memory_pipeline.config import ReviewConfig
from memory_pipeline.records import Draft, EntryKind, ReviewStatus
from memory_pipeline.review.run import Review
from memory_pipeline.review.sitting import Sitting
from memory_pipeline.rollouts.readback import EvidenceState, ReadBack

PNPM, SQUASH, TESTS = "Use pnpm for packages.", "Squash before merging.", "Write tests first."


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A store with nothing in it."""
    made = World(tmp_path)
    yield made
    made.close()


class Desk:
    """A person before the screen."""

    def __init__(
        self,
        world: World,
        *,
        statements: Sequence[str] = (PNPM, SQUASH, TESTS),
        kind: EntryKind = EntryKind.PREFERENCE,
    ) -> None:
        self.world = world
        self.review = Review(replace(world.config, review=ReviewConfig(mode="manual")), world.store, world.clock)
        say = entry if kind is EntryKind.PREFERENCE else learned
        world.says("thread-a", *(say(statement, at=NOW - DAY, byte=n) for n, statement in enumerate(statements)))
        self.review.run_once()
        self.near: list[Near] = []
        self.read_back = 0
        self.sitting = Sitting(self.review, world.store.drafts, defer_days=3)
        self.screen = ReviewScreen(self.sitting, near=lambda _draft: self.near, read_back=self._read)

    def _read(self, draft: Draft) -> list[ReadBack]:
        self.read_back += 1
        return [
            ReadBack(state=EvidenceState.VERIFIED, words="around the quote", rollout_path="/log", line_number=7)
            for _ in draft.entry.evidence
        ]

    def press(self, keys: str) -> bool:
        """Press keys; whether the screen goes on after the last."""
        return [self.screen.press(key) for key in keys][-1]

    def shows(self, width: int = 100) -> str:
        """All that is to be seen."""
        return "\n".join(line.plain for line in (*self.screen.body(width), *self.screen.foot(width)))

    def statuses(self) -> dict[str, str]:
        """What is decided about each statement."""
        return {one.entry.statement: one.review_status.value for one in self.world.store.drafts.every()}

    def draft(self, statement: str) -> Draft:
        """The draft that says this."""
        (found,) = [one for one in self.world.store.drafts.every() if one.entry.statement == statement]
        return found


def test_one_key_decides_and_turns_to_the_next(world: World) -> None:
    """Each decision is in the store before the next key."""
    desk = Desk(world)
    assert PNPM in desk.shows()
    desk.press("a")
    assert desk.statuses() == {PNPM: "approved", SQUASH: "pending", TESTS: "pending"}
    assert f"Approved: {PNPM}" in desk.shows()
    desk.press("rd")
    assert desk.statuses() == {PNPM: "approved", SQUASH: "rejected", TESTS: "deferred"}
    assert "No draft is left to review" in desk.shows()
    assert desk.sitting.decided == {
        ReviewStatus.APPROVED: 1,
        ReviewStatus.REJECTED: 1,
        ReviewStatus.DEFERRED: 1,
    }


def test_undo_takes_back_one_decision_after_the_other_and_shows_it_again(world: World) -> None:
    """Until nothing is left that this sitting did; then each draft is as it was."""
    desk = Desk(world)
    before = world.store.drafts.every()
    desk.press("aru")
    assert SQUASH in desk.shows().split("Evidence")[0]
    desk.press("u")
    assert PNPM in desk.shows().split("Evidence")[0]
    assert world.store.drafts.every() == before
    desk.press("u")
    assert "You did nothing yet" in desk.shows()


def test_what_is_not_ready_needs_the_key_twice(world: World) -> None:
    """The first says why; another key in between takes that back."""
    desk = Desk(world, statements=["The build is still failing today."])
    desk.press("a")
    assert "Not ready: it holds for the moment only" in desk.shows()
    desk.press("oa")
    assert desk.statuses() == {"The build is still failing today.": "pending"}
    desk.press("a")
    assert desk.statuses() == {"The build is still failing today.": "approved"}


def test_a_skipped_draft_comes_last_and_stays_in_the_queue(world: World) -> None:
    """It is shown again when nothing else is left and the person asks."""
    desk = Desk(world)
    desk.press("saa")
    assert "1 drafts that you skipped are left" in desk.shows()
    desk.press("s")
    assert PNPM in desk.shows().split("Evidence")[0]
    assert desk.statuses()[PNPM] == "pending"


def test_a_note_is_typed_and_kept_with_the_draft(world: World) -> None:
    """Keys are letters then; Enter stores, Esc does not, and the draft stays where it is."""
    desk = Desk(world)
    desk.press("nara\x7f 要问\r")
    assert desk.draft(PNPM).review_note == "ar 要问"
    assert desk.statuses()[PNPM] == "pending"
    assert "Note: ar 要问" in desk.shows()
    desk.press("nqq")
    assert "qq▏" in desk.shows()
    desk.press("\x1b")
    assert desk.draft(PNPM).review_note == "ar 要问"


def test_a_note_that_must_not_be_kept_is_refused_with_its_reason(world: World) -> None:
    """Forgotten words do not come back through a note."""
    desk = Desk(world)
    desk.screen = ReviewScreen(
        desk.sitting, near=lambda _draft: [], read_back=desk._read, note_fault=lambda note: f"no {note}"
    )
    desk.press("nx\r")
    assert "Not noted: no x" in desk.shows()
    assert desk.draft(PNPM).review_note == ""


def test_what_another_reviewer_decided_meanwhile_stands_and_is_told(world: World) -> None:
    """Who won, when, and with which note; the key changes nothing."""
    desk = Desk(world)
    desk.review.reject([desk.draft(PNPM).entry], note="not so")
    desk.press("a")
    assert desk.statuses()[PNPM] == "rejected"
    shown = desk.shows()
    assert "Not done: it was rejected elsewhere" in shown
    assert "(not so), and that stands" in shown
    assert SQUASH in shown.split("Evidence")[0]


def test_what_was_labelled_anew_meanwhile_is_looked_at_again(world: World) -> None:
    """A memory appeared that contradicts it: approving it now would be another decision."""
    desk = Desk(world, statements=["The dev server listens on port 9090."], kind=EntryKind.KNOWLEDGE)
    world.says("thread-b", learned("The dev server listens on port 8080.", thread="thread-b"))
    desk.review.run_once()
    desk.review.approve([desk.draft("The dev server listens on port 8080.").entry])
    world.parts().run_once()
    desk.review.run_once()
    desk.press("a")
    shown = desk.shows()
    assert "Not done: it changed meanwhile, and is conflict, needs-conflict-review by now" in shown
    assert desk.statuses()["The dev server listens on port 9090."] == "pending"


def test_what_is_no_longer_said_is_told_and_passed_over(world: World) -> None:
    """Its session was read anew meanwhile."""
    desk = Desk(world)
    world.says("thread-a", entry(SQUASH, at=NOW - DAY, byte=1))
    desk.press("a")
    assert "Gone meanwhile" in desk.shows()
    assert desk.statuses() == {SQUASH: "pending"}


def test_undo_leaves_alone_what_another_reviewer_decided_since(world: World) -> None:
    """One's own decision was overruled; taking it back would take back theirs."""
    desk = Desk(world)
    desk.press("a")
    world.clock.moment += 60
    desk.review.reject([desk.draft(PNPM).entry])
    desk.press("u")
    assert desk.statuses()[PNPM] == "rejected"
    assert "Not done: it was rejected elsewhere" in desk.shows()


def test_evidence_stands_with_its_speaker_and_date_and_more_is_read_back_once(world: World) -> None:
    """As the log has it now, with its place."""
    desk = Desk(world)
    assert "[user 20" in desk.shows()
    assert "around the quote" not in desk.shows()
    desk.press("o")
    for _ in range(2):
        shown = desk.shows()
    assert "verified" in shown
    assert "around the quote" in shown
    assert "/log, line 7" in shown
    assert desk.read_back == 1
    desk.press("o")
    assert "around the quote" not in desk.shows()


def test_the_nearest_memory_stands_side_by_side_where_there_is_room(world: World) -> None:
    """And above the draft where there is none; the difference is marked without colours."""
    desk = Desk(world, statements=[PNPM])
    desk.near = [Near(known_id="m_1", statement="Use npm for packages.", about="preference, last said 2026-01-01")]
    (row,) = [line for line in desk.shows(100).splitlines() if "[-npm-]" in line]
    assert "{+pnpm+}" in row
    narrow = desk.shows(60).splitlines()
    (above,) = [number for number, line in enumerate(narrow) if "[-npm-]" in line]
    (below,) = [number for number, line in enumerate(narrow) if "{+pnpm+}" in line]
    assert above < below


def test_hidden_characters_show_wherever_they_stand(world: World) -> None:
    """In the statement, the memory beside it, and the words of the log."""
    desk = Desk(world, statements=["Use \u202epnpm."])
    desk.near = [Near(known_id="m_1", statement="Use\u00a0npm.")]
    shown = desk.shows()
    assert "Use ⟨U+202E⟩pnpm." in shown
    assert "⟨U+00A0⟩" in shown
    assert "\u202e" not in shown


def test_help_shows_every_key_and_any_key_leads_back(world: World) -> None:
    """The key that leads back does nothing else."""
    desk = Desk(world)
    desk.press("?")
    assert "approve: the next run takes it" in desk.shows()
    assert desk.press("q")
    assert PNPM in desk.shows()


@pytest.mark.parametrize("key", ["q", "\x04"])
def test_quitting_keeps_what_was_decided(world: World, key: str) -> None:
    """And a new sitting goes on with what is left."""
    desk = Desk(world)
    assert not desk.press("a" + key)
    again = Sitting(desk.review, world.store.drafts, defer_days=3)
    assert again.left == 2
    assert again.shown is not None
    assert again.shown.entry.statement == SQUASH


def test_no_line_is_wider_than_the_window(world: World) -> None:
    """Chinese takes two columns a character; nothing runs over."""
    desk = Desk(world, statements=["提交前都要跑测试，不要跳过任何一步。" * 8, PNPM * 3])
    desk.near = [Near(known_id="m_1", statement="提交前都要跑测试。" * 9)]
    for width in (40, 84, 120, 200):
        for keys in ("o", "o", "?", "q"):
            lines = [*desk.screen.body(width), *desk.screen.foot(width)]
            assert max(cell_len(line.plain) for line in lines) <= width
            desk.press(keys)


@given(st.text(max_size=40), st.text(max_size=40))
@settings(max_examples=100)
def test_a_marked_difference_holds_both_texts_whole(before: str, after: str) -> None:
    """Without the marks, each side is the text that it was."""
    from memory_pipeline.visible import visible

    first, second = difference(before, after)
    spans = {"red": first, "green": second}
    for style, (marked, text) in zip(spans, ((first, before), (second, after)), strict=True):
        plain = marked.plain
        for span in sorted(marked.spans, key=lambda span: -span.start):
            assert span.style == style
            plain = plain[: span.start] + plain[span.start + 2 : span.end - 2] + plain[span.end :]
        assert plain == visible(text)


@given(st.text(alphabet="ardnsu?o q\r\x1bb要", max_size=30))
@settings(max_examples=60, deadline=None)
def test_whatever_is_pressed_nothing_is_lost(tmp_path_factory: pytest.TempPathFactory, keys: str) -> None:
    """Every draft is there, and undoing to the end leaves each as it was."""
    world = World(tmp_path_factory.mktemp("world"))
    try:
        desk = Desk(world)
        before = world.store.drafts.every()
        for key in keys:
            desk.screen.press(key)
            desk.shows()
        assert len(world.store.drafts.every()) == len(before)
        while desk.review.undo():
            pass
        assert world.store.drafts.every() == before
    finally:
        world.close()


def test_what_a_collaborator_said_is_shown_as_its_own(world: World) -> None:
    """Never as the person's note, and nothing hides in it."""
    desk = Desk(world)
    desk.world.store.drafts.attach(
        desk.draft(PNPM).entry.entry_id, notes=["see \u202epackage.json"], evidence=["line 3"]
    )
    desk.sitting.look()
    shown = desk.shows()
    assert "The collaborator: see" in shown
    assert "The collaborator: line 3" in shown
    assert "Note:" not in shown
    assert "\u202e" not in shown
