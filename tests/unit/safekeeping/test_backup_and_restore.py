"""A backup is whole and private or not there; restoring one is all or nothing, and brings nothing forgotten back."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import orjson
import pytest
from kept_state import KeptState

from memory_pipeline.errors import LockedError, UsageError
from memory_pipeline.files import sha256_hex
from memory_pipeline.forget.selection import Selector
from memory_pipeline.safekeeping.backup import back_up, backups_in, faults_of_backup, read_manifest, sha256_of
from memory_pipeline.safekeeping.restore import restore
from memory_pipeline.safekeeping.verify import verify_backup, verify_state
from memory_pipeline.store.migrations import SCHEMA_VERSION

LINT = "Always run make lint before you commit"
PUSH = "From now on, never push to main without asking me"
DAY = 86_400.0


class Killed(BaseException):
    """Stands for a program that is killed."""


@pytest.fixture
def kept(tmp_path: Path) -> KeptState:
    """Return a state in which one session was consolidated."""
    kept = KeptState(tmp_path)
    kept.say(1, LINT + ".")
    kept.run()
    return kept


def _backup(kept: KeptState) -> Path:
    with kept.open() as app:
        return back_up(kept.config, app.store, kept.clock, kept.root / "my backup").path


def _go_on(kept: KeptState) -> None:
    """Let a second session come after the backup."""
    kept.say(2, PUSH + ".", after=timedelta(hours=2))
    kept.run()
    assert kept.statements() == {LINT, PUSH}


# --- backups ---


def test_one_backup_is_kept_after_each_consolidation_and_one_before(kept: KeptState) -> None:
    """A pass that publishes leaves a whole backup; of many, the last two stay; a pass without news makes none."""
    for number in range(2, 6):
        kept.say(number, f"Always keep rule number {number} in mind.", after=timedelta(hours=number))
        kept.clock.go_on(3600)
        kept.run()
    before = backups_in(kept.config)
    assert len(before) == 2
    assert faults_of_backup(before[0]) == []
    kept.run()
    assert backups_in(kept.config) == before
    with kept.open() as app:
        last = app.store.memories.last_success()
    assert last is not None
    assert read_manifest(before[0]).consolidation_id == last.consolidation_id


def test_a_backup_shares_what_did_not_change_with_the_one_before(kept: KeptState) -> None:
    """But no damage of it, and a copy that a person asks for shares nothing."""
    for number in range(2, 4):
        kept.say(number, f"Always keep rule number {number} in mind.", after=timedelta(hours=number))
        kept.run()
    newer, older = backups_in(kept.config)
    summaries = sorted(path.relative_to(older).as_posix() for path in older.rglob("rollout_summaries/*.md"))
    assert summaries
    assert all((newer / name).samefile(older / name) for name in summaries)
    assert not (newer / "memory.db").samefile(older / "memory.db")
    own = kept.config.state_path.parent / "own"
    with kept.open() as app:
        back_up(kept.config, app.store, kept.clock, own)
    assert not any((own / name).samefile(newer / name) for name in summaries)
    assert not any((newer / name).stat().st_mode & 0o222 for name in summaries)
    _spoil(newer / summaries[0])
    kept.say(4, "Always keep rule number 4 in mind.", after=timedelta(hours=4))
    kept.run()
    newest = backups_in(kept.config)[0]
    assert faults_of_backup(newest) == []
    assert (newest / summaries[0]).read_bytes() == (own / summaries[0]).read_bytes()


def test_a_backup_shares_nothing_with_one_that_a_person_named(kept: KeptState) -> None:
    """It is theirs to change, also where it is the only one."""
    with kept.open() as app:
        own = back_up(kept.config, app.store, kept.clock, kept.backups / "mine").path
        for path in backups_in(kept.config):
            if path != own:
                shutil.rmtree(path)
        back_up(kept.config, app.store, kept.clock, None)
    (made,) = (path for path in backups_in(kept.config) if path != own)
    assert not any(path.stat().st_nlink > 1 for path in made.rglob("*") if path.is_file())


def test_a_spoilt_file_that_backups_share_does_not_cost_the_database(kept: KeptState) -> None:
    """Each of the backups is faulty then, but the newest one's database still takes the place of a damaged one."""
    kept.say(2, "Always keep rule number 2 in mind.", after=timedelta(hours=2))
    kept.run()
    backups = backups_in(kept.config)
    shared = next(path for path in backups[0].rglob("rollout_summaries/*.md") if path.stat().st_nlink > 1)
    _spoil(shared)
    assert all(faults_of_backup(path) for path in backups)
    kept.database.write_bytes(b"x" * 5000)
    with kept.open() as app:
        last = app.store.memories.last_success()
    assert last is not None
    assert last.consolidation_id == read_manifest(backups[0]).consolidation_id


def _spoil(path: Path) -> None:
    path.chmod(0o600)
    path.write_bytes(b"spoilt")


def test_backups_of_a_persons_own_names_stay_and_displace_none(kept: KeptState) -> None:
    """Whatever a person keeps beside the backups, the newest one is still the last that was made by itself."""
    for name in ("before the upgrade", "zz", "1"):
        with kept.open() as app:
            back_up(kept.config, app.store, kept.clock, kept.backups / name)
    _go_on(kept)
    kept.run()
    own = [path for path in backups_in(kept.config) if path.name not in ("before the upgrade", "zz", "1")]
    assert backups_in(kept.config)[:2] == own
    assert len(own) == 2
    assert {"before the upgrade", "zz", "1"} <= {path.name for path in kept.backups.iterdir()}
    kept.database.unlink()
    with kept.open() as app:
        last = app.store.memories.last_success()
    assert last is not None
    assert read_manifest(own[0]).consolidation_id == last.consolidation_id


def test_a_clock_that_was_set_back_does_not_lose_the_newest_backup(kept: KeptState) -> None:
    """Which backup is the newest is told by its number, not by its time."""
    kept.clock.go_on(-DAY)
    _go_on(kept)
    assert read_manifest(backups_in(kept.config)[0]).made_at == kept.clock.now()


def test_a_backup_is_for_its_owner_only(kept: KeptState) -> None:
    """Under whichever umask its files are 0600 and its folders 0700; nobody writes to what two backups share."""
    before = os.umask(0)
    try:
        path = _backup(kept)
    finally:
        os.umask(before)
    for one in (path, *path.rglob("*")):
        mode = 0o700 if one.is_dir() else 0o400 if one.stat().st_nlink > 1 else 0o600
        assert stat.S_IMODE(one.stat().st_mode) == mode, one


def test_nothing_is_overwritten_by_a_backup(kept: KeptState) -> None:
    """A path at which something stands is refused."""
    path = _backup(kept)
    with kept.open() as app, pytest.raises(UsageError, match="is there already"):
        back_up(kept.config, app.store, kept.clock, path)


@pytest.mark.parametrize("name", ["memory.db", "workspace/MEMORY.md", "baseline/manifest.json", "manifest.json"])
@pytest.mark.parametrize("harm", ["flip", "lose", "link"])
def test_a_changed_file_of_a_backup_is_noticed(kept: KeptState, name: str, harm: str) -> None:
    """A flipped bit, a missing file, and a link in its place are told, and such a backup is not restored."""
    path = _backup(kept)
    file = path / name
    content = file.read_bytes()
    file.unlink()
    if harm == "flip":
        file.write_bytes(content[:-20] + bytes([content[-20] ^ 1]) + content[-19:])
    elif harm == "link" and name != "manifest.json":
        (kept.root / "elsewhere").write_bytes(content)
        file.symlink_to(kept.root / "elsewhere")
    assert verify_backup(path)
    with pytest.raises(UsageError):
        restore(kept.config, path, kept.clock)
    assert kept.statements() == {LINT}


def test_what_is_no_backup_is_told_as_such(kept: KeptState) -> None:
    """A folder of something else, and a path at which nothing stands."""
    assert "no backup of memory-pipeline" in verify_backup(kept.codex)[0].what
    with pytest.raises(UsageError, match="no backup"):
        restore(kept.config, kept.root / "nowhere", kept.clock)


def _seal(backup: Path, *names: str, made_at: float | None = None) -> None:
    """Write into a backup's list what it holds under ``names``, as its maker would."""
    table = orjson.loads((backup / "manifest.json").read_bytes())
    for name in names:
        table["files"][name] = [(backup / name).stat().st_size, sha256_of(backup / name)]
    if made_at is not None:
        table["made_at_seconds"] = made_at
    del table["checksum"]
    table["checksum"] = sha256_hex(orjson.dumps(table, option=orjson.OPT_SORT_KEYS))
    (backup / "manifest.json").write_bytes(orjson.dumps(table))


def _database_of_others(backup: Path) -> None:
    _fresh_database(backup, "CREATE TABLE memories (note TEXT); PRAGMA user_version = 3")


def _database_without_its_tables(backup: Path) -> None:
    _fresh_database(backup, f"CREATE TABLE memories (note TEXT); PRAGMA user_version = {SCHEMA_VERSION}")


def _fresh_database(backup: Path, script: str) -> None:
    (backup / "memory.db").unlink()
    with closing(sqlite3.connect(backup / "memory.db")) as plain:
        plain.executescript(script)


def _file_through_a_link(backup: Path) -> None:
    (backup / "workspace" / "extensions").symlink_to(backup.parent / "codex")
    (backup.parent / "codex" / "secret").write_text("somebody's", encoding="utf-8")


def _nothing(_backup: Path) -> None:
    pass


@pytest.mark.parametrize(
    ("harm", "names", "made_at"),
    [
        (_database_of_others, ["memory.db"], 0.0),
        (_database_without_its_tables, ["memory.db"], 0.0),
        (_file_through_a_link, ["workspace/extensions/secret"], 0.0),
        (_nothing, ["workspace/../../config.toml"], 0.0),
        (_nothing, ["workspace//MEMORY.md"], 0.0),
        (_nothing, [], 1e300),
    ],
)
def test_a_list_of_files_that_fits_does_not_make_a_good_backup(
    kept: KeptState, harm: Callable[[Path], None], names: list[str], made_at: float
) -> None:
    """What this program can't work on, leads out of the backup, or names no moment is told before anything changes."""
    path = _backup(kept)
    harm(path)
    _seal(path, *names, made_at=made_at)
    assert verify_backup(path)
    with pytest.raises(UsageError):
        restore(kept.config, path, kept.clock)
    assert not kept.config.restoring_path.exists()
    assert kept.statements() == {LINT}


def test_a_backup_of_an_older_version_is_good(kept: KeptState) -> None:
    """A database that lacks the last step of the schema is brought up to date once it is restored."""
    path = _backup(kept)
    with closing(sqlite3.connect(path / "memory.db")) as plain:
        plain.executescript(
            "DROP TABLE chronicle; DELETE FROM _sqlite_migrations WHERE name = 'chronicle'; PRAGMA user_version = 5"
        )
    _seal(path, "memory.db")
    assert verify_backup(path) == []
    _go_on(kept)
    restore(kept.config, path, kept.clock)
    assert kept.statements() == {LINT}


# --- restoring ---


def test_restoring_goes_back_and_keeps_what_it_replaces(kept: KeptState) -> None:
    """Memories, MEMORY.md and journal are as they were; the state that was is kept; new logs are read again."""
    path = _backup(kept)
    _go_on(kept)
    aside = restore(kept.config, path, kept.clock)
    assert kept.statements() == {LINT}
    assert PUSH not in kept.handbook()
    assert PUSH in (aside / "MEMORY.md").read_text(encoding="utf-8")
    kept.run()
    assert kept.statements() == {LINT, PUSH}


def test_restoring_into_an_empty_state_folder(kept: KeptState) -> None:
    """A new machine has everything from the backup alone."""
    path = _backup(kept)
    other = KeptState(kept.root / "other machine")
    restore(other.config, path, other.clock)
    assert other.statements() == {LINT}
    assert LINT in other.handbook()


def test_what_was_forgotten_after_the_backup_stays_forgotten(kept: KeptState) -> None:
    """The restored state forgets it at once, and no byte of it is left in the state folder."""
    kept.say(2, PUSH + ".", after=timedelta(hours=2))
    kept.run()
    path = _backup(kept)
    with kept.open() as app:
        app.forgetting().forget(Selector(match="make lint"))
    restore(kept.config, path, kept.clock)
    assert kept.statements() == {PUSH}
    assert LINT not in kept.handbook()
    left = b"".join(one.read_bytes() for one in kept.state.rglob("*") if one.is_file())
    assert b"make lint" not in left


def test_what_was_spent_since_the_backup_stays_booked(kept: KeptState) -> None:
    """A restored ledger does not open the budget anew."""
    path = _backup(kept)
    now = kept.clock.now()
    with kept.open() as app:
        app.store.ledger.reserve(tokens=700, caps=(), phase="phase1", thread_id=None, scope=None, model="m", now=now)
    restore(kept.config, path, kept.clock)
    with kept.open() as app:
        assert app.store.ledger.spent(since=now - DAY) == 700


def test_a_run_at_work_is_not_restored_under(kept: KeptState) -> None:
    """While another process has the state open, nothing is changed."""
    path = _backup(kept)
    with kept.open(), pytest.raises(LockedError, match="another run uses"):
        restore(kept.config, path, kept.clock)
    assert not kept.config.restoring_path.exists()


def _kill_at(wanted: str) -> Callable[[str], None]:
    def on_step(name: str) -> None:
        if name == wanted:
            raise Killed

    return on_step


def _steps(kept: KeptState, path: Path) -> list[str]:
    steps: list[str] = []
    restore(kept.config, path, kept.clock, on_step=steps.append)
    return steps


def test_killed_at_any_step_it_is_the_old_state_or_the_new_one(kept: KeptState) -> None:
    """The next start has all of the old state or all of the backup, whichever step was the last."""
    kept.write_handbook(kept.handbook() + "\nA note of my own.\n")
    kept.run()
    path = _backup(kept)
    _go_on(kept)
    whole = _backup_named(kept, "whole")
    steps = _steps(kept, path)
    assert len(steps) > 10
    for step in steps:
        restore(kept.config, whole, kept.clock)
        assert kept.statements() == {LINT, PUSH}
        with pytest.raises(Killed):
            restore(kept.config, path, kept.clock, on_step=_kill_at(step))
        expected = {LINT, PUSH} if step.startswith("staged ") else {LINT}
        assert kept.statements() == expected, step
        assert (PUSH in kept.handbook()) == (PUSH in expected), step
        assert "A note of my own." in kept.handbook(), step
        assert not kept.config.restoring_path.exists(), step
        assert verify_state(kept.config) == [], step


def _backup_named(kept: KeptState, name: str) -> Path:
    with kept.open() as app:
        return back_up(kept.config, app.store, kept.clock, kept.root / name).path


# --- looking ---


def test_a_whole_state_has_no_faults(kept: KeptState) -> None:
    """After a run, everything that is kept is whole and private."""
    assert verify_state(kept.config) == []


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (lambda kept: kept.database.write_bytes(b"x" * 5000), "not a database"),
        (lambda kept: kept.database.unlink(), "the database is gone"),
        (lambda kept: kept.database.chmod(0o644), "others may look into it"),
        (lambda kept: (kept.state / "baseline" / "manifest.json").write_text("{"), "baseline can't be read"),
        (lambda kept: (kept.state / "baseline" / "files" / "MEMORY.md").write_text("x"), "not what was published"),
        (lambda kept: (kept.state / "journal.jsonl").write_text("{torn"), "torn"),
        (lambda kept: (backups_in(kept.config)[0] / "memory.db").write_text("x"), "not what was written"),
    ],
)
def test_what_is_wrong_is_told_with_what_to_do(kept: KeptState, harm: Callable[[KeptState], object], told: str) -> None:
    """Each kind of harm has its sentence and its advice."""
    harm(kept)
    faults = verify_state(kept.config)
    assert any(told in fault.what for fault in faults), faults
    assert all(fault.advice for fault in faults)
