"""What a person decided in the review outlives the database: the journal tells it again."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kept_state import KeptState

from memory_pipeline.app import App
from memory_pipeline.forget.selection import Selector
from memory_pipeline.records import Decider, Draft, ReviewStatus

RULES = {
    1: "Always run make lint before you commit",
    2: "From now on, never push to main without asking me",
    3: "Always use tabs in Makefiles",
    4: "From now on name every branch after its ticket",
}


@pytest.fixture
def kept(tmp_path: Path) -> KeptState:
    """A state with four drafts that wait, each of a session of its own."""
    return waiting(tmp_path)


def waiting(root: Path) -> KeptState:
    """Let four sessions be read, and nothing pass without a person."""
    kept = KeptState(root, review={"mode": "manual"})
    for number, rule in RULES.items():
        kept.say(number, rule + ".")
    kept.run()
    return kept


def draft_of(app: App, number: int) -> Draft:
    """Return the draft that says a rule."""
    (found,) = [one for one in app.store.drafts.every() if one.entry.statement == RULES[number]]
    return found


def lose_the_database(kept: KeptState) -> None:
    """Delete it with what lies beside it, and every backup."""
    for path in kept.state.glob("memory.db*"):
        path.unlink()
    if kept.backups.exists():
        kept.backups.rename(kept.root / f"lost-{len(list(kept.root.iterdir()))}")


def decisions(app: App) -> dict[str, tuple[object, ...]]:
    """Return what was decided of each draft, and how."""
    return {
        one.entry.entry_id: (
            one.review_status,
            one.decided_by,
            one.review_note,
            one.reviewed_at,
            one.deferred_until,
            one.review_log,
        )
        for one in app.store.drafts.every()
    }


def test_every_kind_of_decision_is_there_again(kept: KeptState) -> None:
    """Approved, rejected, deferred and noted ones stand as they stood, with their notes and logs."""
    with kept.open() as app:
        review = app.review()
        review.approve([draft_of(app, 1).entry], note="yes")
        review.reject([draft_of(app, 2).entry], note="not so")
        kept.clock.go_on(60)
        review.defer([draft_of(app, 3).entry], days=9)
        review.note(draft_of(app, 4).entry, "ask Kim")
        review.note(draft_of(app, 1).entry, "and Lee")
        before = decisions(app)
    lose_the_database(kept)
    kept.run()
    with kept.open() as app:
        assert decisions(app) == before
    assert kept.statements() == {RULES[1]}


def test_what_was_rejected_does_not_come_back_though_its_log_is_gone(kept: KeptState) -> None:
    """The journal holds its fingerprint: another session that says it in other words is known."""
    with kept.open() as app:
        app.review().reject([draft_of(app, 1).entry])
    kept.forget_log(1)
    lose_the_database(kept)
    kept.say(7, "Before you commit, always run make lint.")
    kept.run()
    with kept.open() as app:
        found = [one for one in app.store.drafts.every() if "lint" in one.entry.statement]
        assert [(one.review_status, one.decided_by) for one in found] == [(ReviewStatus.REJECTED, Decider.REJECTION)]


def test_what_was_taken_back_stays_taken_back_and_a_batch_is_one(kept: KeptState) -> None:
    """Undoing is written down as well, and what was decided at once is undone at once, before and after."""
    with kept.open() as app:
        app.review().reject([draft_of(app, 1).entry])
        app.review().undo()
        kept.clock.go_on(60)
        app.review().approve([draft_of(app, number).entry for number in (2, 3)])
    lose_the_database(kept)
    kept.run(phase2=False)
    with kept.open() as app:
        assert draft_of(app, 1).decided_by is None
        assert [draft_of(app, number).review_status for number in (2, 3)] == [ReviewStatus.APPROVED] * 2
        assert len(app.review().undo()) == 2
        assert {one.review_status for one in app.store.drafts.every()} == {ReviewStatus.PENDING}


def test_what_the_policy_would_let_pass_stays_rejected(tmp_path: Path) -> None:
    """A database that is made anew tells nothing for a moment that the person had refused."""
    kept = KeptState(tmp_path)
    kept.say(1, RULES[1] + ".")
    kept.run()
    assert kept.statements() == {RULES[1]}
    with kept.open() as app:
        app.review().reject([draft_of(app, 1).entry])
    kept.run()
    assert kept.statements() == set()
    lose_the_database(kept)
    kept.run()
    assert kept.statements() == set()


def test_decisions_after_the_backup_are_taken_in_from_the_journal(kept: KeptState) -> None:
    """The backup knows the first decision, the journal both."""
    with kept.open() as app:
        app.review().approve([draft_of(app, 1).entry], note="first")
    kept.clock.go_on(2 * 86_400)
    kept.run()  # makes a backup
    with kept.open() as app:
        app.review().undo()
        app.review().reject([draft_of(app, 2).entry], note="second")
        before = decisions(app)
    kept.database.write_bytes(b"no database at all")
    kept.run(phase2=False)
    with kept.open() as app:
        assert decisions(app) == before


@given(st.lists(st.tuples(st.sampled_from("arden u".replace(" ", "")), st.integers(1, 4)), max_size=8))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_was_decided_is_there_again(
    tmp_path_factory: pytest.TempPathFactory, deeds: list[tuple[str, int]]
) -> None:
    """In whatever order it was decided, noted and taken back; and all of it can be taken back afterwards."""
    kept = waiting(tmp_path_factory.mktemp("kept"))
    with kept.open() as app:
        review = app.review()
        for key, number in deeds:
            entry = draft_of(app, number).entry
            kept.clock.go_on(1)
            if key == "a":
                review.approve([entry], note="fine")
            elif key == "r":
                review.reject([entry])
            elif key == "d":
                review.defer([entry], days=30)
            elif key == "e":
                review.reopen([entry])
            elif key == "n":
                review.note(entry, f"note of {key}{number}")
            else:
                review.undo()
        before = decisions(app)
    lose_the_database(kept)
    kept.run(phase2=False)
    with kept.open() as app:
        assert decisions(app) == before
        while app.review().undo():
            pass
        assert {one.review_log for one in app.store.drafts.every()} == {()}


def test_a_forgotten_session_leaves_no_word_and_no_hash_of_its_decisions(kept: KeptState) -> None:
    """Its lines of the journal are blank, and a journal that is put back brings nothing back."""
    with kept.open() as app:
        app.review().reject([draft_of(app, 1).entry], note="the wombat disagrees")
        app.review().approve([draft_of(app, 2).entry], note="yes")
        thread_id = draft_of(app, 1).entry.thread_id
    journal = kept.config.journal_path
    before = journal.read_bytes()
    with kept.open() as app:
        app.forgetting().forget(Selector(thread=thread_id))
    first, second = journal.read_bytes().splitlines()
    assert not first.strip()
    assert b'"yes"' in second
    journal.write_bytes(before)
    with kept.open() as app:
        app.review().catch_up()
        assert app.store.drafts.waiting_records() == []
        assert app.store.drafts.rejections() == []


def test_a_note_with_forgotten_words_goes_from_the_journal_and_the_decision_stays(kept: KeptState) -> None:
    """What was decided outlives both the forgetting and the database."""
    with kept.open() as app:
        app.review().approve([draft_of(app, 1).entry], note="as Wombatius said")
        app.forgetting().forget(Selector(match="Wombatius"))
    assert "Wombatius" not in kept.config.journal_path.read_text(encoding="utf-8")
    lose_the_database(kept)
    kept.run()
    with kept.open() as app:
        assert (draft_of(app, 1).review_status, draft_of(app, 1).review_note) == (ReviewStatus.APPROVED, "")
    assert kept.statements() == {RULES[1]}
