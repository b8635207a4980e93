"""Applying today's rules for secrets to what is stored already."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from forgetting_runs import files_holding
from phase2_world import NOW, World, entry

from memory_pipeline.app import App
from memory_pipeline.records import JournalAction, JournalRecord
from memory_pipeline.redact import Redacted

SECRET = "hunter2hunter2"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A world whose words hold a secret that no rule knew when they were stored."""
    made = World(tmp_path)
    made.says("a", entry(f"Log in with {SECRET} on the stage."), title=f"Try {SECRET}")
    made.run()
    with App(made.config, clock=made.clock) as app:
        app.take_in_hand(
            [
                JournalRecord(
                    record_id=f"j_{number}",
                    action=JournalAction.ADD,
                    at=NOW,
                    origin="command",
                    scope="user",
                    statement=statement,
                )
                for number, statement in enumerate((f"The password is {SECRET}.", "Drink tea at four."))
            ]
        )
    made.handbook.write_text(made.handbook.read_text(encoding="utf-8") + f"Mine: {SECRET}\n", encoding="utf-8")
    made.run()
    yield made
    made.close()


def stricter(text: str) -> Redacted:
    """Know a secret that the rules of the program don't know."""
    count = text.count(SECRET)
    return Redacted(text=text.replace(SECRET, "[redacted:test]"), counts={"test": count} if count else {})


def test_a_secret_that_a_new_rule_knows_is_masked_everywhere(world: World) -> None:
    """Statements, titles, quotes, history, the journal and the person's lines: no byte of it is left."""
    assert files_holding(world.folder, SECRET) != []
    with App(world.config, clock=world.clock) as app:
        receipt = app.rescanning(redact_text=stricter).rescan()
        assert app.rescanning(redact_text=stricter).count() == {}
    assert receipt.is_clean
    assert receipt.searched_for > 0
    assert receipt.counts["test"] > 3
    assert files_holding(world.folder, SECRET) == []
    told = world.handbook.read_text(encoding="utf-8")
    assert [told.count(words) for words in ("Mine: [redacted:test]", "Drink tea")] == [1, 1]


def test_after_a_rescan_nothing_is_left_to_do(world: World) -> None:
    """The masked journal makes no new deed, and the masked line of the person no edit."""
    with App(world.config, clock=world.clock) as app:
        app.rescanning(redact_text=stricter).rescan()
    statements = [memory.statement for memory in world.store.memories.every()]
    assert world.run().outcome == "no_changes"
    assert [memory.statement for memory in world.store.memories.every()] == statements


def test_counting_changes_nothing(world: World) -> None:
    """A dry run tells how much would be masked, by kind."""
    before = world.files()
    with App(world.config, clock=world.clock) as app:
        assert app.rescanning(redact_text=stricter).count()["test"] > 3
    assert world.files() == before
    assert files_holding(world.config.state_path, SECRET) != []


def test_a_rescan_that_was_cut_off_is_published_by_the_next_start(world: World) -> None:
    """Once the database is masked, the workspace follows, whatever happens in between."""
    with App(world.config, clock=world.clock) as app:
        app.store.forgetting.mask(lambda text: stricter(text).text, met="rescan")
    App(world.config, clock=world.clock).close()
    assert [name for name in files_holding(world.workspace, SECRET) if name != "MEMORY.md"] == []
    assert world.handbook.read_text(encoding="utf-8").count(SECRET) == 1  # the person's own line waits for the rescan


def test_an_extension_that_holds_a_secret_is_told_and_left(world: World) -> None:
    """Its file is not ours; the receipt names it."""
    note = world.workspace / "extensions" / "ad_hoc" / "notes" / "2026-11-20-login.md"
    note.parent.mkdir(parents=True)
    note.write_text(f"Use {SECRET}.\n", encoding="utf-8")
    with App(world.config, clock=world.clock) as app:
        receipt = app.rescanning(redact_text=stricter).rescan()
    assert "2026-11-20-login.md" in " ".join(receipt.notes)
    assert (SECRET in note.read_text(encoding="utf-8"), receipt.is_clean) == (True, False)
