"""A database that is damaged or gone is noticed, set aside and replaced; nothing that is remembered is lost over it."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kept_state import KeptState
from msgspec.structs import replace

from memory_pipeline.config import BudgetConfig
from memory_pipeline.errors import LockedError
from memory_pipeline.forget.selection import Selector
from memory_pipeline.pipeline import PassOptions
from memory_pipeline.records import Phase2Outcome
from memory_pipeline.safekeeping.backup import back_up
from memory_pipeline.safekeeping.recover import mend_database, move_database, new_set_aside, set_aside_in
from memory_pipeline.store.opening import alone

LINT = "Always run make lint before you commit"
PUSH = "From now on, never push to main without asking me"
TABS = "Always use tabs in Makefiles"

Damage = Callable[[Path], None]


def zero(path: Path) -> None:
    """Overwrite all of it with zeros."""
    path.write_bytes(bytes(path.stat().st_size))


def cut(path: Path) -> None:
    """Lose the second half."""
    os.truncate(path, path.stat().st_size // 2 // 4096 * 4096)


def cut_within_a_page(path: Path) -> None:
    """Lose all but the first few hundred bytes."""
    os.truncate(path, 700)


def lose_the_header(path: Path) -> None:
    """Lose the first hundred bytes."""
    path.write_bytes(bytes(100) + path.read_bytes()[100:])


def replace_by_text(path: Path) -> None:
    """Be no database at all."""
    path.write_bytes(b"these are somebody's notes\n" * 500)


def scramble_pages(path: Path) -> None:
    """Overwrite every page but the first."""
    content = bytearray(path.read_bytes())
    for start in range(4096, len(content), 4096):
        content[start : start + 64] = b"\xa5" * 64
    path.write_bytes(content)


def garble_a_name(path: Path) -> None:
    """Lose a letter of the name of a table, so that SQLite itself complains in words that are no text."""
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE threads", b"CREATE TA\xffLE thr\xffads"))


DAMAGES = [zero, cut, cut_within_a_page, lose_the_header, replace_by_text, scramble_pages, garble_a_name]


@pytest.fixture
def kept(tmp_path: Path) -> KeptState:
    """Return a state in which two sessions were consolidated."""
    kept = KeptState(tmp_path)
    kept.say(1, LINT + ".")
    kept.say(2, PUSH + ".")
    kept.run()
    assert kept.statements() == {LINT, PUSH}
    return kept


def _lose_backups(kept: KeptState) -> None:
    kept.backups.rename(kept.root / "lost backups")


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_database_is_set_aside_and_its_backup_takes_its_place(kept: KeptState, damage: Damage) -> None:
    """However it is damaged, the next start has all memories, and the damaged file is kept with its reason."""
    if damage is scramble_pages:
        kept.database.with_name("database.suspect").touch()  # as a statement that met such a page leaves it
    damage(kept.database)
    damaged = kept.database.read_bytes()
    assert kept.statements() == {LINT, PUSH}
    (aside,) = set_aside_in(kept.config)
    assert (aside.path / "memory.db").read_bytes() == damaged
    assert aside.is_mended
    assert "the backup of 2026-09-03" in aside.told
    assert kept.run().phase2.outcome in (Phase2Outcome.NO_CHANGES, Phase2Outcome.CONSOLIDATED)
    assert LINT in kept.handbook()


@pytest.mark.parametrize("damage", [*DAMAGES, Path.unlink])
def test_without_a_backup_nothing_is_lost_though_a_log_is_gone(kept: KeptState, damage: Damage) -> None:
    """What only the deleted log said stays in MEMORY.md and among the memories; what a log says rests on it again."""
    _lose_backups(kept)
    kept.forget_log(1)
    if damage is scramble_pages:
        kept.database.with_name("database.suspect").touch()
    damage(kept.database)
    kept.run()
    assert kept.statements() == {LINT, PUSH}
    assert LINT in kept.handbook()
    with kept.open() as app:
        push = next(one for one in app.store.memories.every() if one.statement == PUSH)
        assert any(thread != "journal" for thread in push.thread_ids)


def test_what_was_said_after_the_backup_is_read_again(kept: KeptState) -> None:
    """A session that was consolidated after the last backup comes back from its log, or from MEMORY.md."""
    older = kept.root / "older backups"
    kept.backups.rename(older)
    kept.say(3, TABS + ".", after=timedelta(hours=2))
    kept.run()
    kept.forget_log(3)
    for path in kept.backups.iterdir():
        path.rename(kept.root / path.name)
    kept.backups.rmdir()
    older.rename(kept.backups)
    zero(kept.database)
    kept.run()
    assert kept.statements() == {LINT, PUSH, TABS}
    assert TABS in kept.handbook()


def test_a_damaged_backup_is_passed_over(kept: KeptState) -> None:
    """The newest good one is taken; where none is good, the database is made anew."""
    (newest,) = kept.backups.iterdir()
    (newest / "memory.db").write_bytes(b"damaged")
    zero(kept.database)
    kept.run()
    assert kept.statements() == {LINT, PUSH}
    (aside,) = set_aside_in(kept.config)
    assert "no good backup" in aside.told


def test_an_index_is_built_anew(kept: KeptState) -> None:
    """When only an index contradicts its table, the database stays where it is, and loses nothing."""
    plain = sqlite3.connect(kept.database)
    plain.execute("PRAGMA writable_schema = ON")
    root = plain.execute("SELECT rootpage FROM sqlite_master WHERE name = 'memories_by_scope'").fetchone()[0]
    size = plain.execute("PRAGMA page_size").fetchone()[0]
    plain.close()
    content = bytearray(kept.database.read_bytes())
    start = (root - 1) * size
    content[start + 3 : start + 5] = b"\0\0"  # an index page that claims to hold nothing
    kept.database.write_bytes(content)
    kept.database.with_name("database.suspect").touch()
    assert kept.statements() == {LINT, PUSH}
    assert set_aside_in(kept.config) == []


def test_damage_that_shows_in_the_middle_of_a_pass_is_mended_by_the_pass(kept: KeptState) -> None:
    """A program that runs for months notices it, mends the database and runs the pass over."""
    kept.say(3, TABS + ".", after=timedelta(hours=2))
    with kept.open() as app:
        app.run_once(PassOptions(phase2=False))
        scramble_pages(kept.database)
        for suffix in ("-wal", "-shm"):
            kept.database.with_name(f"memory.db{suffix}").unlink(missing_ok=True)
        kept.say(4, "Always write release notes by hand.", after=timedelta(hours=3))
        app.run_once(PassOptions())
        said = {memory.statement for memory in app.store.memories.every()}
    assert {LINT, PUSH, TABS, "Always write release notes by hand"} <= said
    assert len(set_aside_in(kept.config)) == 1


def test_the_daily_look_notices_a_page_that_nothing_reads(kept: KeptState) -> None:
    """Damage in a table that no pass looks at is found within a day and mended at the next pass."""
    with kept.open() as app:
        app.store.upkeep.note_done("upkeep", now=kept.clock.now())
    plain = sqlite3.connect(kept.database)
    root = plain.execute("SELECT rootpage FROM sqlite_master WHERE name = 'ledger'").fetchone()[0]
    plain.close()
    content = bytearray(kept.database.read_bytes())
    content[(root - 1) * 4096 : (root - 1) * 4096 + 8] = b"\xa5" * 8
    kept.database.write_bytes(content)
    kept.clock.go_on(90_000)
    kept.run()
    assert len(set_aside_in(kept.config)) == 1
    assert kept.statements() == {LINT, PUSH}


def test_what_the_person_took_out_stays_out(kept: KeptState) -> None:
    """A memory that was retired by hand does not come back from its log into a database that was made anew."""
    kept.write_handbook("".join(line for line in kept.handbook().splitlines(keepends=True) if f'"{LINT}' not in line))
    kept.run()
    assert kept.statements() == {PUSH}
    _lose_backups(kept)
    kept.database.unlink()
    kept.run()
    kept.run()
    assert kept.statements() == {PUSH}
    assert f'"{LINT}' not in kept.handbook()


def test_what_the_person_does_while_the_database_is_gone_counts(kept: KeptState) -> None:
    """A line that was taken out, and one that was worded anew, before the next start are taken as such."""
    _lose_backups(kept)
    kept.forget_log(1)
    kept.database.unlink()
    lines = [line for line in kept.handbook().splitlines(keepends=True) if f'"{LINT}' not in line]
    kept.write_handbook("".join(lines).replace(PUSH, "From now on, never push to main or release without asking me"))
    kept.run()
    kept.run()
    assert kept.statements() == {"From now on, never push to main or release without asking me"}


def test_what_was_forgotten_stays_forgotten(kept: KeptState) -> None:
    """Neither a backup nor MEMORY.md brings it back, and no set-aside database holds it."""
    zero(kept.database)
    assert kept.statements() == {LINT, PUSH}
    with kept.open() as app:
        app.forgetting().forget(Selector(match="make lint"))
    assert set_aside_in(kept.config) == []
    assert not list(kept.backups.iterdir())
    kept.database.unlink()
    kept.run()
    assert kept.statements() == {PUSH}
    assert b"make lint" not in b"".join(path.read_bytes() for path in kept.state.rglob("*") if path.is_file())


def test_forgetting_a_session_takes_what_was_saved_from_the_file_along(kept: KeptState) -> None:
    """What was read back from MEMORY.md supports nothing by itself once its session is known again."""
    _lose_backups(kept)
    kept.database.unlink()
    kept.run(phase1=False)
    kept.run()
    with kept.open() as app:
        lint = next(one for one in app.store.memories.every() if one.statement == LINT)
        assert "journal" in lint.thread_ids
        (thread,) = set(lint.thread_ids) - {"journal"}
        app.forgetting().forget(Selector(thread=thread))
    assert kept.statements() == {PUSH}
    assert LINT not in kept.handbook()


def test_a_fresh_start_is_no_loss(tmp_path: Path) -> None:
    """Without a baseline or a backup there was no database, and nothing is set aside or said."""
    kept = KeptState(tmp_path)
    kept.say(1, LINT + ".")
    assert kept.run().phase1.problems == ()
    assert set_aside_in(kept.config) == []


def test_what_was_set_aside_is_private_and_bounded(kept: KeptState) -> None:
    """Of many damages the last two are kept, for the owner only."""
    for _ in range(4):
        kept.clock.go_on(60)
        zero(kept.database)
        kept.statements()
    assert len(set_aside_in(kept.config)) == 2
    for path in kept.config.set_aside_path.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


def test_nobody_mends_what_another_still_uses(kept: KeptState) -> None:
    """While another process has it open, the database stays where it is, and the person is told."""
    with kept.open(), pytest.raises(LockedError, match="another run uses"):
        enter_alone(kept)


def enter_alone(kept: KeptState) -> None:
    """Ask to have the database alone, without waiting."""
    with alone(kept.database, wait_seconds=0):
        pass


def test_a_false_alarm_changes_nothing(kept: KeptState) -> None:
    """A database that only seemed damaged is looked at and kept."""
    kept.database.with_name("database.suspect").touch()
    before = kept.database.read_bytes()
    assert mend_database(kept.config, kept.clock) is None
    assert kept.database.read_bytes() == before
    assert not kept.database.with_name("database.suspect").exists()


_START = """
import sys
from memory_pipeline.app import App
from memory_pipeline.config import load_config

print("ready", flush=True)
sys.stdin.readline()
with App(load_config(sys.argv[1], environ={}), environ={}) as app:
    print(len(app.store.memories.every()))
"""


def test_of_many_starters_exactly_one_mends(kept: KeptState) -> None:
    """Processes that all find the damage at once have one whole database, and one set-aside folder."""
    zero(kept.database)

    def start(_: int) -> str:
        words = [sys.executable, "-c", _START, str(kept.root / "config.toml")]
        done = subprocess.run(words, input="go\n", capture_output=True, text=True, check=True, timeout=100)
        return done.stdout

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(start, range(4))) == ["ready\n2\n"] * 4
    assert len(set_aside_in(kept.config)) == 1


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> KeptState:
    """Return one state for many damages; ``whole.db`` is its database as it was."""
    kept = KeptState(tmp_path_factory.mktemp("many"))
    kept.say(1, LINT + ".")
    kept.say(2, PUSH + ".")
    kept.run()
    (kept.root / "whole.db").write_bytes(kept.database.read_bytes())
    return kept


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(places=st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=30), value=st.integers(0, 255))
def test_whatever_bytes_are_flipped_the_next_passes_end_well(once: KeptState, places: list[float], value: int) -> None:
    """However it is damaged, a pass ends, MEMORY.md is whole, and what the damage left untouched is told."""
    kept = once
    content = bytearray((kept.root / "whole.db").read_bytes())
    for place in places:
        content[int(place * len(content))] = value
    kept.database.write_bytes(content)
    kept.database.with_name("database.suspect").touch()
    kept.run()
    kept.run()
    # A letter that became another one can't be told from what was written.
    assert len(kept.statements()) == 2
    assert kept.handbook().startswith("# Task Group: ")


def test_tables_that_do_not_fit_each_other_are_damage(once: KeptState) -> None:
    """A changed letter in the description of a table leaves one that SQLite reads, and another table points to."""
    content = (once.root / "whole.db").read_bytes()
    described = b"CREATE TABLE entries (\n        entry_id"
    assert described in content
    once.database.write_bytes(content.replace(described, described[:-1] + b"A"))
    once.database.with_name("database.suspect").touch()
    once.run()
    once.run()
    assert len(once.statements()) == 2


@pytest.mark.parametrize("word", ["CREATE TABLE threads", "CREATE INDEX jobs_by_turn"])
def test_a_schema_that_is_no_text_is_damage(once: KeptState, word: str) -> None:
    """SQLite quotes it in its complaint, which then is no text either: the next pass mends it all the same."""
    content = (once.root / "whole.db").read_bytes()
    assert word.encode() in content
    once.database.write_bytes(content.replace(word.encode(), word[:9].encode() + b"\x80" * (len(word) - 9)))
    once.run()
    assert len(once.statements()) == 2


# --- a start that was cut off, and what was spent ---


def _spend(kept: KeptState, tokens: int) -> None:
    with kept.open() as app:
        app.store.ledger.reserve(
            tokens=tokens,
            caps=(),
            phase="phase1",
            thread_id=None,
            scope=None,
            model="m",
            now=kept.clock.now(),
        )


def _spent(kept: KeptState) -> int:
    with kept.open() as app:
        return app.store.ledger.spent(since=kept.clock.now() - 86_400)


def _with_a_cap(kept: KeptState) -> None:
    config = kept.config
    model = replace(config.model, provider="openai", extract_model="m")
    kept.config = replace(config, model=model, budget=BudgetConfig(daily_tokens=1000, weekly_tokens=5000))


def _damage_table(kept: KeptState, table: str) -> None:
    plain = sqlite3.connect(kept.database)
    root = plain.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]
    plain.close()
    content = bytearray(kept.database.read_bytes())
    content[(root - 1) * 4096 : (root - 1) * 4096 + 8] = b"\xa5" * 8
    kept.database.write_bytes(content)
    kept.database.with_name("database.suspect").touch()


def test_a_start_that_was_cut_off_with_the_database_set_aside_is_gone_on_from(kept: KeptState) -> None:
    """Killed with no database in its place, the next start puts one there, with what was spent."""
    _spend(kept, 321)
    move_database(kept.database, new_set_aside(kept.config, reason="a test", now=kept.clock.now()))
    assert not kept.database.exists()
    assert kept.statements() == {LINT, PUSH}
    assert _spent(kept) == 321
    (aside,) = set_aside_in(kept.config)
    assert aside.is_mended


def test_what_a_damaged_database_tells_of_the_spending_is_carried_over(kept: KeptState) -> None:
    """The backup knows nothing of it, the damaged file does: the budget is not opened anew."""
    _with_a_cap(kept)
    _spend(kept, 321)
    _damage_table(kept, "memories")
    assert _spent(kept) == 321
    assert len(set_aside_in(kept.config)) == 1


def test_spending_that_nothing_tells_of_counts_as_a_whole_cap(kept: KeptState) -> None:
    """When the ledger itself can't be read, paid work holds rather than spend twice; offline work goes on."""
    _with_a_cap(kept)
    _spend(kept, 321)
    zero(kept.database)
    assert _spent(kept) == 5000
    assert "counts as spent" in set_aside_in(kept.config)[0].told


def test_without_a_cap_nothing_is_booked(kept: KeptState) -> None:
    """Where nothing is paid for, there is nothing to hold."""
    zero(kept.database)
    assert _spent(kept) == 0


def test_a_session_that_was_disabled_stays_disabled(kept: KeptState) -> None:
    """The backup tells what the person switched off."""
    with kept.open() as app:
        thread = app.store.threads.every()[0].thread_id
        app.store.threads.set_disabled(thread, disabled=True)
        back_up(kept.config, app.store, kept.clock, None)
    zero(kept.database)
    with kept.open() as app:
        found = app.store.threads.get(thread)
    assert found is not None
    assert found.disabled_by_person
