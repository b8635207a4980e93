"""Decisions and the journal: written down before they count, caught up after a crash, once and in their order."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

import orjson
import pytest
from msgspec.structs import replace
from phase2_world import NOW, World, entry, learned

from memory_pipeline.config import ReviewConfig
from memory_pipeline.errors import StoreError
from memory_pipeline.records import Draft, EntryKind, ReviewAct, ReviewRecord, ReviewStatus
from memory_pipeline.review.fingerprint import fingerprint_of
from memory_pipeline.review.run import Review
from memory_pipeline.rollouts.journal import Journal
from memory_pipeline.rollouts.review_lines import decode_review, encode_review


class _Killed(BaseException):
    """Stands for a process that ends here."""


class Desk:
    """Two drafts that wait, and their journal."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.journal = Journal(world.config.journal_path)
        world.says("thread-a", entry("Use pnpm."), entry("Squash before merging."))
        self.review().run_once()

    def review(self) -> Review:
        """A review as a process of its own would have it."""
        config = replace(self.world.config, review=ReviewConfig(mode="manual"))
        return Review(config, self.world.store, self.world.clock)

    def draft(self, statement: str = "Use pnpm.") -> Draft:
        """The draft that says this."""
        (found,) = [one for one in self.world.store.drafts.every() if one.entry.statement == statement]
        return found

    def die_deciding(self, status: ReviewStatus) -> None:
        """Be killed between the journal and the end of the transaction."""
        draft = self.draft()

        def write_down_and_die(records: Sequence[ReviewRecord]) -> None:
            self.journal.append(records)
            raise _Killed

        with contextlib.suppress(_Killed):
            self.world.store.drafts.decide(
                [draft.entry],
                status,
                note="last words",
                now=self.world.clock.now(),
                write_down=write_down_and_die,
                fingerprints=[fingerprint_of(draft.entry.statement, "", salt="00").as_json()],
            )


@pytest.fixture
def desk(world: World) -> Desk:
    """A desk in a world of its own."""
    return Desk(world)


def test_a_line_comes_back_as_it_was_written() -> None:
    """Whatever a record holds, its line tells, and no other line is taken for one."""
    record = ReviewRecord(
        record_id="j_1",
        act=ReviewAct.DECIDE,
        at=NOW,
        batch="j_0",
        entry_id="e_1",
        thread_id="thread",
        kind=EntryKind.PREFERENCE,
        scope="user",
        fingerprint=fingerprint_of("Use pnpm.", "", salt="00").as_json(),
        status=ReviewStatus.DEFERRED,
        note='say "hi"',
        deferred_until=NOW + 60,
    )
    undoing = ReviewRecord(
        record_id="j_2",
        act=ReviewAct.UNDO,
        at=NOW,
        batch="j_2",
        entry_id="g_1",
        thread_id="memories",
        kind=EntryKind.KNOWLEDGE,
        scope="user",
        undoes="j_1",
        merges=("m_1", "m_2"),
    )
    for one in (record, undoing):
        assert decode_review(encode_review(one)) == one
        for end in range(len(encode_review(one)) - 1):
            assert decode_review(encode_review(one)[:end]) is None
    assert decode_review(b'{"action":"add","id":"j_3"}') is None


def test_a_decision_that_a_crash_cut_off_is_caught_up_once(desk: Desk) -> None:
    """Its line is there and its transaction is not: the next start carries it out, and only once."""
    desk.die_deciding(ReviewStatus.REJECTED)
    assert desk.draft().review_status is ReviewStatus.PENDING
    for _ in range(2):
        desk.review().run_once()
        assert (desk.draft().review_status, desk.draft().review_note) == (ReviewStatus.REJECTED, "last words")
        assert len(desk.draft().review_log) == 1
    assert desk.review().undo() == [desk.draft().entry.entry_id]
    assert desk.draft().review_status is ReviewStatus.PENDING


def test_the_next_decision_comes_after_the_one_that_was_cut_off(desk: Desk) -> None:
    """What another process decides next stands, as it was decided last."""
    desk.die_deciding(ReviewStatus.REJECTED)
    desk.world.clock.moment += 1
    desk.review().approve([desk.draft().entry])
    desk.review().run_once()
    assert desk.draft().review_status is ReviewStatus.APPROVED
    assert [event.status for event in desk.draft().review_log] == [ReviewStatus.REJECTED, ReviewStatus.APPROVED]


def test_what_can_not_be_written_down_is_not_decided(desk: Desk) -> None:
    """The journal's place is taken by a folder: the person is told, and nothing changed."""
    os.mkdir(desk.journal.path)  # noqa: PTH102
    before = desk.world.store.drafts.every()
    with pytest.raises(StoreError, match=r"journal\.jsonl"):
        desk.review().reject([desk.draft().entry])
    desk.journal.path.rmdir()
    assert desk.world.store.drafts.every() == before
    assert desk.review().undo() == []


def test_the_journal_holds_no_word_of_a_draft(desk: Desk) -> None:
    """Hashes alone, and the person's own note."""
    desk.review().reject([desk.draft("Squash before merging.").entry], note="wrong")
    (line,) = desk.journal.path.read_bytes().splitlines()
    assert b"quash" not in line
    assert orjson.loads(line)["note"] == "wrong"


def test_what_was_decided_before_it_was_written_down_is_written_down_once(desk: Desk) -> None:
    """An upgraded database: its decisions come into the journal, and stand again where there is nothing else."""
    entry_id = desk.draft().entry.entry_id
    desk.review().reject([desk.draft().entry], note="no")
    desk.world.clock.moment += 60
    desk.review().note(desk.draft().entry, "really")
    desk.review().approve([desk.draft(one).entry for one in ("Use pnpm.", "Squash before merging.")], note="well")
    before = desk.world.store.drafts.every()
    forget_records(desk.world)
    desk.journal.path.unlink()
    for _ in range(2):
        desk.review().catch_up()
        assert desk.world.store.drafts.every() == before
        assert len(desk.journal.read_reviews()) == 4
    other = World(desk.world.folder / "anew")
    try:
        other.config.journal_path.parent.mkdir(exist_ok=True, parents=True)
        other.config.journal_path.write_bytes(desk.journal.path.read_bytes())
        anew = Desk(other)
        assert [replace(one, drafted_at=0) for one in other.store.drafts.every()] == [
            replace(one, drafted_at=0) for one in before
        ]
        assert len(anew.review().undo()) == 2
        assert anew.draft().review_note == "really"
        assert anew.review().undo() == [entry_id]
        assert anew.draft().review_status is ReviewStatus.REJECTED
    finally:
        other.close()


def test_a_backup_from_before_tells_the_journal_nothing_twice(desk: Desk) -> None:
    """The decisions that such a database knows stand in the journal already."""
    desk.review().reject([desk.draft().entry], note="no")
    forget_records(desk.world)
    desk.journal.path.unlink()
    desk.review().catch_up()
    told = desk.journal.path.read_bytes()
    forget_records(desk.world)
    desk.review().catch_up()
    assert desk.journal.path.read_bytes() == told
    assert desk.review().undo() == [desk.draft().entry.entry_id]


UNUSABLE_FINGERPRINTS = [
    {},
    {"salt": "00"},
    {"salt": 5, "whole": "w", "words": [], "refused": [], "exact": [], "negates": False},
    {"salt": "00", "whole": "w", "words": 5, "refused": [], "exact": [], "negates": False},
    {"salt": "00", "whole": "w", "words": [["a"]], "refused": [], "exact": [], "negates": False},
    {"salt": "00", "whole": "w", "words": [], "refused": [], "exact": [], "negates": "no"},
]


@pytest.mark.parametrize("fingerprint", UNUSABLE_FINGERPRINTS)
def test_a_rejection_with_a_spoiled_fingerprint_rejects_its_own_draft_alone(desk: Desk, fingerprint: object) -> None:
    """A journal that was edited by hand stops no run: the decision counts, and what can't be read of it does not."""
    desk.journal.append_lines([_line(desk.draft(), status="rejected", fingerprint=fingerprint)])
    desk.review().run_once()
    desk.world.says("thread-b", entry("Always use pnpm."))
    desk.review().run_once()
    assert desk.draft().review_status is ReviewStatus.REJECTED
    assert desk.draft("Always use pnpm.").review_status is ReviewStatus.PENDING


def test_a_rejection_of_a_session_that_is_gone_reaches_what_waits_already(desk: Desk) -> None:
    """An older database came back: what it holds as waiting was rejected since, in other words, elsewhere."""
    fingerprint = orjson.loads(fingerprint_of("Please always use pnpm!", "", salt="00").as_json())
    gone = {"entry_id": "e_gone", "thread_id": "thread-gone", "status": "rejected", "fingerprint": fingerprint}
    assert desk.draft().review_status is ReviewStatus.PENDING
    desk.journal.append_lines([_line(desk.draft(), **gone)])
    desk.review().run_once()
    assert desk.draft().review_status is ReviewStatus.REJECTED
    assert desk.draft("Squash before merging.").review_status is ReviewStatus.PENDING


def test_a_deferral_without_an_end_comes_back(desk: Desk) -> None:
    """What is put off until nobody knows when would be lost."""
    desk.journal.append_lines([_line(desk.draft(), status="deferred", until="some day")])
    desk.review().catch_up()
    desk.review().run_once()
    assert desk.draft().review_status is ReviewStatus.PENDING


def test_what_is_put_off_for_a_century_stays_so_in_a_database_made_anew(desk: Desk) -> None:
    """No time of a log is believed that far ahead; the person's is."""
    desk.review().defer([desk.draft().entry], days=36_500)
    wanted = desk.draft().deferred_until
    (record,) = desk.journal.read_reviews()
    assert wanted is not None
    assert record.deferred_until == pytest.approx(wanted, abs=0.001)


def test_a_note_in_an_edited_journal_is_kept_like_any_other(desk: Desk) -> None:
    """One line, without control characters, secrets masked."""
    note = "\x1b[2Jtwo\nlines, key sk-proj-" + "a1B2" * 10
    desk.journal.append_lines([_line(desk.draft(), status="deferred", until="2099-01-01T00:00:00Z", note=note)])
    desk.review().catch_up()
    kept = desk.draft().review_note
    assert "two lines" in kept
    assert "a1B2a1B2" not in kept
    assert not set(kept) & {"\x1b", "\n"}


def _line(draft: Draft, **fields: object) -> bytes:
    """A line about a draft, as a person may have edited it."""
    told = {
        "id": "j_edited",
        "at": "2026-01-01T00:00:00Z",
        "action": "review",
        "act": "decide",
        "batch": "j_edited",
        "entry_id": draft.entry.entry_id,
        "thread_id": draft.entry.thread_id,
        "kind": draft.entry.kind,
        "scope": draft.entry.scope,
    }
    return orjson.dumps(told | fields)


def forget_records(world: World) -> None:
    """Let the database be as a version left it that wrote no decision down."""
    import sqlite3

    with contextlib.closing(sqlite3.connect(world.config.database_path)) as connection, connection:
        connection.execute("DELETE FROM review_records")
        connection.execute("UPDATE review_decisions SET record_id = NULL")


def test_a_note_on_what_the_policy_let_pass_makes_no_decision_of_it(world: World) -> None:
    """Written down later, it is a note still."""
    world.says("thread-a", entry("Use pnpm."))
    review = Review(world.config, world.store, world.clock)
    review.run_once()
    (draft,) = world.store.drafts.every()
    review.note(draft.entry, "good")
    forget_records(world)
    world.config.journal_path.unlink()
    review.catch_up()
    (record,) = Journal(world.config.journal_path).read_reviews()
    assert (record.act, record.status, record.note) == (ReviewAct.NOTE, None, "good")


def test_an_entry_that_was_read_anew_under_another_id_keeps_its_decision(desk: Desk) -> None:
    """Its session says the same, on other lines: the words tell which one was meant."""
    desk.review().reject([desk.draft().entry], note="no")
    other = World(desk.world.folder / "anew")
    try:
        other.config.journal_path.parent.mkdir(exist_ok=True, parents=True)
        other.config.journal_path.write_bytes(desk.journal.path.read_bytes())
        other.says("thread-a", entry("Use pnpm.", at=NOW - 5), learned("pnpm is there."))
        review = Review(other.config, other.store, other.clock)
        review.run_once()
        (found,) = [one for one in other.store.drafts.every() if one.entry.statement == "Use pnpm."]
        assert found.entry.entry_id != desk.draft().entry.entry_id
        assert (found.review_status, found.review_note) == (ReviewStatus.REJECTED, "no")
    finally:
        other.close()
