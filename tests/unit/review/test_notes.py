"""What an agent noted: a draft like those of sessions, with evidence in the journal, that only a person lets pass."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from forgetting_runs import files_holding
from kept_state import KeptState
from rollout_logs import thread_id_of

from memory_pipeline.forget.selection import Selector
from memory_pipeline.lock import os_lock
from memory_pipeline.phase2.places import workspace_lock_path
from memory_pipeline.records import Draft, EntryKind, JournalAction, JournalRecord, MemoryStatus, ReviewStatus, Speaker
from memory_pipeline.rollouts.journal import JOURNAL_THREAD, record_id_of

LINT = "Always run make lint before you commit"
REDIS = "The checkout tests need a running Redis"


@pytest.fixture
def kept(tmp_path: Path) -> KeptState:
    """A session that is remembered, under a policy that lets pass what it can."""
    made = KeptState(tmp_path, review={"mode": "off"})
    made.say(1, LINT)
    made.run()
    made.clock.go_on(60)
    return made


def note_of(kept: KeptState, statement: str = REDIS) -> JournalRecord:
    """Make what an agent notes."""
    return JournalRecord(
        record_id=record_id_of("test", statement),
        action=JournalAction.NOTE,
        at=kept.clock.at,
        origin="mcp",
        kind=EntryKind.KNOWLEDGE,
        scope="project:/home/sam/shop",
        statement=statement,
        speaker=Speaker.ASSISTANT,
    )


def note(kept: KeptState, statement: str = REDIS) -> Draft | None:
    """Let an agent note something."""
    with kept.open() as app:
        return app.note(note_of(kept, statement))


def waiting(kept: KeptState) -> set[str]:
    """Return what waits for the person."""
    with kept.open() as app:
        return {draft.entry.statement for draft in app.store.drafts.queue()}


def test_a_note_is_a_draft_at_once_and_stays_one(kept: KeptState) -> None:
    """No run, and no edit of the person's beside it, lets it pass or drops it."""
    draft = note(kept)
    assert draft is not None
    assert draft.review_status is ReviewStatus.PENDING
    kept.write_handbook(kept.handbook().replace("- the user asked", "- Keep pull requests small\n- the user asked", 1))
    for _ in range(2):
        kept.run()
    assert waiting(kept) == {REDIS}
    assert kept.statements() == {LINT, "Keep pull requests small"}


def test_what_is_rejected_does_not_come_back_in_another_note(kept: KeptState) -> None:
    """Nor in other words."""
    draft = note(kept)
    assert draft is not None
    with kept.open() as app:
        app.review().reject([draft.entry])
    again = note(kept, "The tests of the checkout need a running Redis")
    assert again is not None
    assert again.review_status is ReviewStatus.REJECTED


def test_an_approved_note_ages_like_what_a_session_came_upon(kept: KeptState) -> None:
    """It is nobody's word but the agent's: unused for long, it is retired."""
    draft = note(kept)
    assert draft is not None
    with kept.open() as app:
        app.review().approve([draft.entry])
    kept.run()
    assert REDIS in kept.statements()
    kept.clock.go_on(40 * 86_400)
    kept.run()
    with kept.open() as app:
        (found,) = [one for one in app.store.memories.every() if one.statement == REDIS]
    assert (found.status, found.pinned) == (MemoryStatus.RETIRED, False)


def test_a_note_beside_a_run_is_kept_and_becomes_a_draft_later(kept: KeptState) -> None:
    """Another run holds the workspace: the note is in the journal, and the next ones do the rest."""
    lock = workspace_lock_path(kept.config.workspace_path)
    with kept.open() as app, os_lock(lock, purpose="phase two"):
        assert app.note(note_of(kept)) is None
    kept.run()
    kept.run()
    assert waiting(kept) == {REDIS}


def test_the_journal_is_the_latest_session_only_after_a_note(kept: KeptState) -> None:
    """What the person does by hand later makes old notes no news."""
    note(kept)
    with kept.open() as app:
        assert app.store.drafts.latest_thread() == JOURNAL_THREAD
    kept.clock.go_on(2 * 86_400)
    kept.say(2, "From now on use pnpm here", after=timedelta(days=3))
    kept.run(force=True)
    kept.clock.go_on(86_400)
    kept.write_handbook(kept.handbook().replace("- the user asked", "- Keep pull requests small\n- the user asked", 1))
    kept.run()
    with kept.open() as app:
        assert app.store.drafts.latest_thread() == thread_id_of(2)


def test_notes_outlive_the_database(kept: KeptState) -> None:
    """The journal tells them again, and they wait again."""
    note(kept)
    kept.database.unlink()
    for path in sorted(kept.backups.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    kept.run()
    kept.run()
    assert waiting(kept) == {REDIS}
    assert kept.statements() == {LINT}


def test_a_forgotten_note_is_gone_from_everywhere(kept: KeptState) -> None:
    """The journal's line included; what else was noted stays."""
    draft = note(kept)
    note(kept, "Port 8080 is taken by the mail catcher")
    assert draft is not None
    with kept.open() as app:
        app.forgetting().forget(Selector(entry=draft.entry.entry_id))
    assert files_holding(kept.state, "Redis") == []
    kept.run()
    assert waiting(kept) == {"Port 8080 is taken by the mail catcher"}
