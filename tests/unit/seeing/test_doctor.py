"""The doctor: each thing that can be wrong is found, with what to do, and nothing is changed."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from command import contents
from msgspec.structs import replace
from phase2_world import DAY, NOW, World, entry
from store_samples import enqueue, index, lease

from memory_pipeline.config import Config, ModelConfig, SourceConfig, SourcesConfig
from memory_pipeline.errors import ConfigError, ProviderError
from memory_pipeline.lock import os_lock
from memory_pipeline.phase2.places import workspace_lock_path
from memory_pipeline.records import EntryKind, JournalAction
from memory_pipeline.seeing.doctor.doctor import CHECKS, examine
from memory_pipeline.seeing.doctor.findings import Finding, Level, Patient, Said, SeenService
from memory_pipeline.seeing.doctor.program import missing_libraries
from memory_pipeline.store.connection import suspicion_of
from memory_pipeline.tombstones import Tombstone, TombstoneFolder, TombstoneKind


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A machine on which all is well: homes of both agents, one consolidated session."""
    made = World(tmp_path)
    for home in ("codex", "claude"):
        (tmp_path / home / ("sessions" if home == "codex" else "projects")).mkdir(parents=True)
    sources = SourcesConfig(
        codex=SourceConfig(home=str(tmp_path / "codex")), claude=SourceConfig(home=str(tmp_path / "claude"))
    )
    made.config = replace(made.config, sources=sources)
    made.says("t1", entry("use pnpm"))
    made.run()
    made.workspace.chmod(0o700)
    yield made
    made.close()


def nothing_wrong(_config: Config) -> None:
    """A schedule that can be used."""


def patient_of(world: World, **fields: Any) -> Patient:
    """What the checks look at; the files of the database are as old as the world's clock says."""
    for path in world.config.state_path.glob("memory.db*"):
        os.utime(path, (NOW, NOW))
    known: dict[str, Any] = {
        "config": world.config,
        "environ": {},
        "clock": world.clock,
        "offered_models": None,
        "check_schedule": nothing_wrong,
        "services": lambda: [SeenService(kind="systemd", is_running=True, differs=False)],
        "file_system_of": lambda _path: "ext4",
    }
    return Patient(**(known | fields))


def found(patient: Patient, check: str) -> list[Finding]:
    """What one check finds that is not as it should be."""
    return [one for one in examine(patient, {check: CHECKS[check]}) if one.level is not Level.OK]


def only(patient: Patient, check: str) -> Finding:
    """The one thing that a check finds."""
    (one,) = found(patient, check)
    assert one.remedy, "it must say what to do"
    return one


def with_model(world: World, **model: Any) -> Config:
    """A configuration with a model."""
    fields = {"provider": "openai", "extract_model": "m1", "base_url": "https://llm.example.com/v1"} | model
    return replace(world.config, model=ModelConfig(**fields))


def test_all_is_well_where_all_is_well(world: World) -> None:
    """Every check has something to say, and nothing is wrong; the files are as they were."""
    before = contents(world.folder)
    findings = list(examine(patient_of(world)))
    assert [one for one in findings if one.level in (Level.WARNING, Level.ERROR)] == []
    assert {one.check for one in findings} == set(CHECKS)
    after = contents(world.folder)
    assert {path: after[path] for path in before if not path.endswith("-shm")} == {
        path: content for path, content in before.items() if not path.endswith("-shm")
    }


def test_a_check_that_trips_does_not_stop_the_others(world: World) -> None:
    """It is told as such, with the place and without the message, which may quote what was read."""

    def trips(_patient: Patient) -> Iterator[Said]:
        raise ValueError("canary")

    first, *rest = examine(patient_of(world), {"broken": trips, "journal": CHECKS["journal"]})
    assert (first.level, first.check) == (Level.ERROR, "broken")
    assert "ValueError in trips" in first.what
    assert "canary" not in first.what
    assert [one.check for one in rest] == ["journal"]


def test_a_schedule_that_is_none_is_an_error(world: World) -> None:
    """As the daemon would refuse it."""

    def refuse(_config: Config) -> None:
        raise ConfigError("daemon.schedule: 'x' is no cron expression")

    assert only(patient_of(world, check_schedule=refuse), "configuration").level is Level.ERROR


def test_a_configuration_that_others_can_write_is_a_warning(world: World) -> None:
    """They could name a server of theirs."""
    path = world.folder / "config.toml"
    path.write_text("")
    path.chmod(0o666)
    one = only(patient_of(world, config=replace(world.config, path=str(path))), "configuration")
    assert (one.level, one.remedy) == (Level.WARNING, f"chmod go-w {path}")


def test_a_home_that_the_agents_variable_names_and_that_is_missing_is_told(world: World, tmp_path: Path) -> None:
    """With the name of the variable; the other agent is looked at all the same."""
    gone = str(tmp_path / "gone")
    sources = replace(world.config.sources, codex=SourceConfig(home=gone))
    config = replace(world.config, sources=sources)
    one = only(patient_of(world, config=config, environ={"CODEX_HOME": gone}), "homes")
    assert (one.level, one.what) == (
        Level.WARNING,
        f"the home of codex {gone} does not exist (from CODEX_HOME)",
    )


def test_a_variable_that_does_not_count_is_told(world: World) -> None:
    """A home that is configured wins over the agent's variable."""
    one = only(patient_of(world, environ={"CODEX_HOME": "/elsewhere"}), "homes")
    assert one.level is Level.NOTE
    assert "CODEX_HOME names /elsewhere, but" in one.what


def test_no_home_at_all_is_an_error(world: World, tmp_path: Path) -> None:
    """There is nothing to read."""
    sources = SourcesConfig(
        codex=SourceConfig(home=str(tmp_path / "no1")), claude=SourceConfig(home=str(tmp_path / "no2"))
    )
    findings = found(patient_of(world, config=replace(world.config, sources=sources)), "homes")
    assert [one.level for one in findings] == [Level.WARNING, Level.WARNING, Level.ERROR]


@pytest.mark.parametrize(
    ("target", "words"),
    [("loop", "a loop of links"), ("nowhere", "leads nowhere"), ("../..", "folder above"), ("/usr", "leads out of")],
)
def test_links_that_are_passed_over_are_told(world: World, tmp_path: Path, target: str, words: str) -> None:
    """Loops, dead ones, and those that lead back or out."""
    (tmp_path / "codex" / "sessions" / "loop").symlink_to(target)
    one = only(patient_of(world), "homes")
    assert words in one.what
    assert one.level is Level.NOTE


@pytest.mark.skipif(os.geteuid() == 0, reason="root ignores modes")
def test_a_folder_of_logs_that_can_not_be_listed_is_a_warning(world: World, tmp_path: Path) -> None:
    """Its sessions are not seen."""
    (tmp_path / "codex" / "sessions" / "2026").mkdir(mode=0)
    assert only(patient_of(world), "homes").level is Level.WARNING


def test_files_and_folders_that_others_can_read_are_warnings(world: World) -> None:
    """With the command that mends it."""
    world.config.state_path.chmod(0o755)
    world.config.database_path.chmod(0o644)
    folder, file = found(patient_of(world), "permissions")
    assert (folder.level, folder.remedy) == (Level.WARNING, f"chmod 700 {world.config.state_path}")
    assert str(world.config.database_path) in file.what


def test_a_state_folder_that_is_not_there_yet_is_a_note(world: World, tmp_path: Path) -> None:
    """And it is not made."""
    config = replace(world.config, state_dir=str(tmp_path / "new" / "state"))
    assert only(patient_of(world, config=config), "permissions").level is Level.NOTE
    assert not (tmp_path / "new").exists()


def test_a_file_in_place_of_the_workspace_is_an_error(world: World, tmp_path: Path) -> None:
    """Nothing can be published there."""
    (tmp_path / "file").write_text("")
    config = replace(world.config, memories_dir=str(tmp_path / "file"))
    assert only(patient_of(world, config=config), "permissions").level is Level.ERROR


def test_a_file_system_of_other_machines_is_a_warning(world: World) -> None:
    """Its locks can't be relied on."""
    one = only(patient_of(world, file_system_of=lambda _path: "nfs4"), "disk")
    assert (one.level, "nfs4" in one.what) == (Level.WARNING, True)


@pytest.mark.parametrize(
    ("change", "level", "words"),
    [
        (Path.unlink, Level.NOTE, "does not exist yet"),
        (lambda path: path.write_bytes(b"no database " * 900), Level.ERROR, "damaged"),
        (lambda path: set_version(path, 1), Level.NOTE, "earlier version"),
        (lambda path: set_version(path, 999), Level.ERROR, "newer version"),
    ],
)
def test_what_is_wrong_with_the_database_is_told(
    world: World, change: Callable[[Path], Any], level: Level, words: str
) -> None:
    """Missing and older ones mend themselves; and every other check still has its say."""
    world.close()
    for beside in world.config.state_path.glob("memory.db-*"):
        beside.unlink()
    change(world.config.database_path)
    one = only(patient_of(world), "database")
    assert one.level is level
    assert words in one.what
    findings = list(examine(patient_of(world)))
    assert {one.check for one in findings} >= set(CHECKS) - {"sessions", "backups"}
    assert [one for one in findings if "tripped" in one.what] == []


def set_version(path: Path, version: int) -> None:
    """Write another version into a database."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")


def test_who_holds_a_lock_is_told(world: World) -> None:
    """Never with the advice to delete it."""
    with os_lock(workspace_lock_path(world.workspace), purpose="a test"):
        one = only(patient_of(world), "locks")
    assert one.level is Level.NOTE
    assert "the workspace is held by" in one.what
    assert "don't delete it" in one.remedy


def test_a_consolidation_that_was_cut_off_while_publishing_is_a_warning(world: World) -> None:
    """As long as nobody holds the workspace."""
    begun = world.store.memories.begin(owner="dead", now=NOW)
    world.store.memories.commit(begun, (), (), (), now=NOW)
    one = only(patient_of(world), "locks")
    assert (one.level, one.remedy) == (Level.WARNING, "`run` finishes it")


def test_sessions_that_failed_are_told_with_their_reason(world: World) -> None:
    """Exhausted ones need a person; the others are tried again."""
    enqueue(world.store, "a", "b")
    world.store.jobs.fail(lease(world.store, now=NOW), "no JSON", now=NOW, retry_at=NOW + 60, max_attempts=1)
    world.store.jobs.fail(lease(world.store, now=NOW), "torn", now=NOW, retry_at=NOW + 60, max_attempts=3)
    exhausted, failed = found(patient_of(world), "sessions")
    assert (exhausted.level, "no JSON" in exhausted.what, failed.level) == (Level.WARNING, True, Level.NOTE)


def test_unknown_types_are_told_by_name_with_counts(world: World) -> None:
    """How many lines, in how many sessions."""
    index(world.store, "a", unknown_types={"hologram": 3})
    index(world.store, "b", unknown_types={"hologram": 2})
    assert "hologram (5 in 2 sessions)" in only(patient_of(world), "sessions").what


def test_a_log_from_the_future_is_a_warning(world: World) -> None:
    """One of the two clocks is wrong."""
    index(world.store, "a", updated_at=NOW + 9 * DAY, newest_at=NOW + 9 * DAY)
    assert only(patient_of(world), "clock").level is Level.WARNING


def test_a_database_from_the_future_is_a_warning(world: World) -> None:
    """This machine's clock is behind, or that of the machine that holds the folder is ahead."""
    patient = patient_of(world)
    os.utime(world.config.database_path, (NOW + 9 * DAY, NOW + 9 * DAY))
    assert only(patient, "clock").level is Level.WARNING


def test_a_clock_that_can_not_be_right_is_an_error(world: World) -> None:
    """A machine that begins its life in 1970."""
    world.clock.moment = 86_400.0
    assert only(patient_of(world), "clock").level is Level.ERROR


def test_a_journal_that_is_gone_is_a_warning_once_the_database_knows_of_it(world: World) -> None:
    """Deleted by mistake, it takes nothing with it as long as the database is whole; nobody would notice until then."""
    assert found(patient_of(world), "journal") == []
    world.does(JournalAction.ADD, statement="Use uv", scope="user", kind=EntryKind.PREFERENCE)
    assert found(patient_of(world), "journal") == []
    world.config.journal_path.unlink()
    assert only(patient_of(world), "journal").level is Level.WARNING


def test_a_line_of_the_journal_that_can_not_be_read_is_a_warning(world: World) -> None:
    """What the person did there does not count."""
    world.config.journal_path.write_bytes(b'{"torn\n')
    assert only(patient_of(world), "journal").level is Level.WARNING


def test_a_tombstone_that_can_not_be_read_is_an_error(world: World) -> None:
    """What it forgot could come back."""
    folder = TombstoneFolder(world.config.tombstones_path)
    path = folder.add([Tombstone(kind=TombstoneKind.THREAD, value="t")], now=NOW)
    assert only(patient_of(world), "forgotten").level is Level.WARNING  # a forgetting that was cut off
    path.write_bytes(b"{")
    assert only(patient_of(world), "forgotten").level is Level.ERROR


def test_codex_that_does_not_leave_its_memory_to_us_is_an_error(world: World, tmp_path: Path) -> None:
    """With the lines to put in."""
    (tmp_path / "codex" / "config.toml").write_text("")
    config = replace(world.config, memories_dir=str(tmp_path / "codex" / "memories"))
    one = only(patient_of(world, config=config), "codex")
    assert (one.level, 'version = "v1"' in one.remedy) == (Level.ERROR, True)


def test_a_key_that_is_missing_is_an_error_and_nothing_is_asked(world: World) -> None:
    """A remote server takes nobody without one."""

    def ask(_model: ModelConfig, _key: str | None) -> list[str]:
        raise AssertionError

    one = only(patient_of(world, config=with_model(world), offered_models=ask), "model")
    assert (one.level, "OPENAI_API_KEY" in one.what) == (Level.ERROR, True)


def test_a_server_that_does_not_answer_is_an_error(world: World) -> None:
    """With its reason."""

    def ask(_model: ModelConfig, _key: str | None) -> list[str]:
        raise ProviderError("llm.example.com can't be reached: connection refused")

    patient = patient_of(world, config=with_model(world), offered_models=ask, environ={"OPENAI_API_KEY": "fake"})
    one = only(patient, "model")
    assert (one.level, "can't be reached" in one.what) == (Level.ERROR, True)


def test_a_model_that_the_server_does_not_list_is_a_warning(world: World) -> None:
    """It names the key of the configuration, and what there is."""

    def ask(_model: ModelConfig, key: str | None) -> list[str]:
        assert key == "fake"
        return ["m1", "m2:latest"]

    environ = {"OPENAI_API_KEY": "fake"}
    known = with_model(world, consolidation_model="m2")
    assert found(patient_of(world, config=known, offered_models=ask, environ=environ), "model") == []
    unknown = with_model(world, consolidation_model="m3")
    one = only(patient_of(world, config=unknown, offered_models=ask, environ=environ), "model")
    assert (one.level, "m3 (model.consolidation_model)" in one.what) == (Level.WARNING, True)


def test_offline_asks_nobody(world: World) -> None:
    """That it was not looked at is told."""
    one = only(patient_of(world, config=with_model(world), environ={"OPENAI_API_KEY": "fake"}), "model")
    assert (one.level, "was not asked" in one.what) == (Level.NOTE, True)


@pytest.mark.parametrize(
    ("services", "level", "words"),
    [
        ([], Level.NOTE, "nothing runs it by itself"),
        ([SeenService(kind="systemd", is_running=False, differs=False)], Level.WARNING, "is installed, but"),
        ([SeenService(kind="crontab", is_running=None, differs=True)], Level.NOTE, "differs"),
    ],
)
def test_what_runs_it_is_told(world: World, services: list[SeenService], level: Level, words: str) -> None:
    """A service that is stopped, one of an older version, or none."""
    one = only(patient_of(world, services=lambda: services), "service")
    assert (one.level, words in one.what) == (level, True)


def test_a_daemon_that_is_alive_is_told(world: World) -> None:
    """Then nothing else has to run it."""
    with os_lock(world.config.daemon_lock_path, purpose="a test"):
        findings = list(examine(patient_of(world, services=list), {"service": CHECKS["service"]}))
    assert [(one.level, "a daemon is alive" in one.what) for one in findings] == [(Level.OK, True)]


def test_a_database_that_seemed_damaged_is_a_warning(world: World) -> None:
    """The next run looks at it."""
    suspicion_of(world.config.database_path).touch()
    assert found(patient_of(world), "backups")[0].level is Level.WARNING


def test_libraries_that_are_missing_are_named() -> None:
    """None of ours is; of a program that is not installed, itself."""
    assert missing_libraries() == []
    assert missing_libraries("no-such-program-of-ours") == ["no-such-program-of-ours"]
