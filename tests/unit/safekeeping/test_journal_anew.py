"""A journal that was deleted is written anew, as much as is known of it, and tells a later database what it told."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from kept_state import KeptState
from killed_anywhere import Crash, in_child
from rollout_logs import thread_id_of

from memory_pipeline.app import App
from memory_pipeline.forget.selection import Selector
from memory_pipeline.pipeline import PassOptions
from memory_pipeline.records import EntryKind, JournalAction, JournalRecord, Memory, MemoryStatus, Phase2Outcome
from memory_pipeline.rollouts.journal import record_id_of
from memory_pipeline.settings import GENERATE

LINT = "Always run make lint before you commit"
PUSH = "From now on, never push to main without asking me"
TABS = "Always use tabs in Makefiles"
NAMES = "From now on name every branch after its ticket"
UV = "Use uv for everything"
LINT_NOW = "Always run make lint and make types before you commit"
SHOP = "project:/home/sam/shop"

#: What was deleted after which the journal has to be written anew.
Loss = Callable[[KeptState], None]


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> KeptState:
    """A state in which the person did one thing of each kind, none of it in a backup."""
    kept = KeptState(tmp_path_factory.mktemp("learned"))
    for number, rule in enumerate((LINT, PUSH, TABS, NAMES)):
        kept.say(number, f"{rule}.")
    kept.run()
    with kept.open() as app:
        do(app, JournalAction.ADD, statement=UV, kind=EntryKind.PREFERENCE, scope="user")
        do(app, JournalAction.EDIT, of(app, LINT), statement=LINT_NOW)
        do(app, JournalAction.RETIRE, of(app, PUSH))
        do(app, JournalAction.PIN, of(app, TABS))
        do(app, JournalAction.RETIRE, of(app, NAMES))
        do(app, JournalAction.RESTORE, of(app, NAMES))
        (draft,) = (one for one in app.store.drafts.every() if one.entry.statement == TABS)
        app.review().note(draft.entry, "ask Kim")
        app.settings().set(GENERATE, False, scope=SHOP)
        app.record_uses([("memory", of(app, TABS).memory_id)], origin="command", distinct=1, at=app.clock.now())
    lose_backups(kept)
    return kept


@pytest.fixture
def kept(learned: KeptState, tmp_path: Path) -> KeptState:
    """A copy of it, for a test that changes it."""
    made = KeptState(tmp_path)
    shutil.rmtree(made.codex)
    shutil.copytree(learned.codex, made.codex)
    shutil.copytree(learned.state, made.state)
    made.clock.at = learned.clock.at
    return made


def do(app: App, action: JournalAction, memory: Memory | None = None, **fields: object) -> None:
    """Let the person do something by a command, a minute after what was before."""
    app.clock.go_on(60)  # type: ignore[attr-defined]
    about = {}
    if memory is not None:
        about = {name: getattr(memory, name) for name in ("memory_id", "kind", "scope", "condition", "statement")}
    said = about | fields
    record_id = record_id_of(action, app.clock.now(), sorted(map(str, said.items())))
    app.take_in_hand([JournalRecord(record_id=record_id, action=action, at=app.clock.now(), origin="command", **said)])


def of(app: App, statement: str) -> Memory:
    """Return the memory that says this."""
    (found,) = (one for one in app.store.memories.every() if one.statement == statement)
    return found


def lose_backups(kept: KeptState) -> None:
    """Delete every backup."""
    shutil.rmtree(kept.backups, ignore_errors=True)


def lose_journal(kept: KeptState) -> None:
    """Delete the journal alone."""
    kept.config.journal_path.unlink()


def lose_database(kept: KeptState) -> None:
    """Delete the database, what lies beside it, and every backup."""
    lose_backups(kept)
    for path in kept.state.glob("memory.db*"):
        path.unlink()


def as_it_stands(kept: KeptState) -> dict[str, object]:
    """Return what the person's hand left, by what can be seen of it."""
    with kept.open() as app:
        memories = app.store.memories.every()
        (noted,) = (one.review_note for one in app.store.drafts.every() if one.entry.statement == TABS)
        return {
            "memories": {(one.statement, one.status, one.pinned, one.usage.count) for one in memories},
            "note": noted,
            "generate": app.settings().in_force().may_generate(scope=SHOP),
        }


def test_a_start_writes_it_anew_and_nothing_is_done_twice(kept: KeptState) -> None:
    """The next run finds nothing that the person did since, and the evidence of their words is read in it again."""
    before = as_it_stands(kept)
    lose_journal(kept)
    assert as_it_stands(kept) == before
    assert kept.config.journal_path.is_file()
    assert kept.config.journal_path.stat().st_mode & 0o777 == 0o600
    kept.run()
    again = kept.run()
    assert again.phase2.outcome is Phase2Outcome.NO_CHANGES
    assert as_it_stands(kept) == before
    with kept.open() as app:
        (explained,) = app.why(UV).memories
        assert [line.state for entry in explained.entries for line in entry.evidence] == ["verified"]


def test_it_tells_a_later_database_what_the_lost_one_told(kept: KeptState) -> None:
    """Words, edits, what was taken out, pins, notes, settings and uses are there again."""
    before = as_it_stands(kept)
    lose_journal(kept)
    as_it_stands(kept)
    lose_database(kept)
    shutil.rmtree(kept.config.workspace_path)
    shutil.rmtree(kept.state / "baseline")
    with kept.open() as app:
        app.settings().set(GENERATE, True, scope=SHOP)  # else what it says could not be learned again
    kept.run()
    assert as_it_stands(kept) == before | {"generate": True}


def test_the_next_pass_of_a_daemon_writes_it_anew(kept: KeptState) -> None:
    """Else the next deed would begin a journal in which everything before it is missing."""
    with kept.open() as app:
        lose_journal(kept)
        app.run_once(PassOptions())
        do(app, JournalAction.PIN, of(app, NAMES))
    written = kept.config.journal_path.read_text(encoding="utf-8")
    assert all(statement in written for statement in (LINT_NOW, UV, TABS, NAMES))


def test_the_last_of_several_changes_of_mind_counts_each_time_it_is_gone(kept: KeptState) -> None:
    """What was written anew and is in a backup by now does not stand for what the person did again later."""
    lose_journal(kept)
    for number, action in enumerate((JournalAction.UNPIN, JournalAction.PIN)):
        kept.clock.go_on(2 * 86_400)
        kept.say(10 + number, f"Always check number {number} of the list.")
        kept.run()  # with a backup
        with kept.open() as app:
            do(app, action, of(app, TABS))
    lose_journal(kept)
    as_it_stands(kept)
    lose_database(kept)
    shutil.rmtree(kept.config.workspace_path)
    shutil.rmtree(kept.state / "baseline")
    with kept.open() as app:
        app.settings().set(GENERATE, True, scope=SHOP)
    kept.run()
    with kept.open() as app:
        assert of(app, TABS).pinned


def test_what_a_backup_has_of_it_is_put_back_to_the_letter(kept: KeptState) -> None:
    """What came after the backup is added at the end."""
    with kept.open() as app:
        app.settings().set(GENERATE, True, scope=SHOP)
    kept.say(5, "Always sort the imports.")
    kept.run()
    whole = kept.config.journal_path.read_bytes()
    with kept.open() as app:
        do(app, JournalAction.PIN, of(app, NAMES))
    lose_journal(kept)
    as_it_stands(kept)
    written = kept.config.journal_path.read_bytes()
    assert written.startswith(whole)
    (told,) = (line for line in written[len(whole) :].splitlines() if NAMES.encode() in line)
    assert b'"pin"' in told


def test_nothing_that_was_forgotten_comes_back(kept: KeptState) -> None:
    """Neither the words nor the ids of what they stood for."""
    with kept.open() as app:
        names = {of(app, statement).memory_id for statement in (UV, TABS)}
        app.forgetting().forget(Selector(match="uv for everything"))
        app.forgetting().forget(Selector(thread=thread_id_of(2)))
    lose_journal(kept)
    with kept.open():
        written = kept.config.journal_path.read_text(encoding="utf-8")
    assert LINT_NOW in written
    assert not any(gone in written for gone in (UV, TABS, "ask Kim", *names))


def test_a_backup_of_before_a_forgetting_that_was_put_back_brings_nothing_into_it(kept: KeptState) -> None:
    """What is taken over from it is held against what was forgotten like all else."""
    kept.clock.go_on(2 * 86_400)
    kept.run()  # with a backup
    shutil.copytree(kept.backups, kept.root / "copy")
    with kept.open() as app:
        app.forgetting().forget(Selector(match="uv for everything"))
    lose_backups(kept)
    shutil.copytree(kept.root / "copy", kept.backups)
    lose_journal(kept)
    with kept.open():
        written = kept.config.journal_path.read_text(encoding="utf-8")
    assert LINT_NOW in written
    assert UV not in written


def test_killed_anywhere_it_leaves_none_or_a_whole_one(kept: KeptState) -> None:
    """The next start writes the very same."""
    lose_journal(kept)
    at, code = 0, -9
    written = set()
    while code:
        at += 1
        assert at < 50
        trial = KeptState(kept.root / f"trial{at}")
        shutil.rmtree(trial.codex)
        shutil.copytree(kept.codex, trial.codex)
        shutil.copytree(kept.state, trial.state)
        code = in_child(lambda trial=trial, at=at: _start_and_die(trial, at))  # type: ignore[misc]
        with trial.open() as app:
            assert {one.status for one in app.store.memories.every()} == {MemoryStatus.ACTIVE, MemoryStatus.RETIRED}
        written.add(trial.config.journal_path.read_bytes())
    assert at > 2
    assert len(written) == 1


def _start_and_die(kept: KeptState, at: int) -> int:
    Crash(kept.state, at).arm()
    with kept.open():
        return 0


def test_a_journal_that_is_there_is_left_as_it_is(kept: KeptState) -> None:
    """Also one that somebody emptied: it may be meant."""
    kept.config.journal_path.write_bytes(b"")
    as_it_stands(kept)
    assert kept.config.journal_path.read_bytes() == b""


def test_without_anything_that_a_journal_told_there_is_none(tmp_path: Path) -> None:
    """A state in which the person did nothing needs none."""
    made = KeptState(tmp_path)
    made.say(1, f"{LINT}.")
    made.run()
    assert made.statements() == {LINT}
    assert not made.config.journal_path.exists()
