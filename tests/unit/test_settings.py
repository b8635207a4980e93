"""What is in force for the whole, a project and one thread: the nearer wins, and what is set outlives the database."""

from __future__ import annotations

import itertools
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from kept_state import KeptState, SetClock
from msgspec.structs import replace
from rollout_logs import thread_id_of
from store_samples import index

from memory_pipeline.config import Config, load_config, value_in
from memory_pipeline.errors import ConfigError, UsageError
from memory_pipeline.forget.selection import Selector
from memory_pipeline.records import Gate, JobState, RateLimit, SettingRecord
from memory_pipeline.rollouts.journal import Journal
from memory_pipeline.safekeeping.verify import verify_state
from memory_pipeline.settings import (
    GENERATE,
    SETTABLE,
    USE,
    WHOLE,
    WHOLE_ONLY,
    InForce,
    Setting,
    SettingOrigin,
    Settings,
    settings_tombstones,
    thread_target,
)
from memory_pipeline.store.store import Store
from memory_pipeline.tombstones import Tombstones

LINT = "Always run make lint before you commit"
PUSH = "From now on, never push to main without asking me"
SCOPE = "project:example.org/sam/shop"
THREAD = "01a0c34d-a5e8-74cb-9978-11cc3769ae78"

#: Two values for each key that may stand at every level, both unlike the default.
VALUES: dict[str, tuple[str, str]] = {
    GENERATE: ("false", "true"),
    USE: ("false", "true"),
    "gates.sources": ('["headless"]', '["other"]'),
    "gates.idle_seconds": ("1", "2.5"),
    "gates.min_duration_seconds": ("1", "2.5"),
    "gates.min_result_chars": ("1", "2"),
    "gates.max_age_days": ("1", "2.5"),
    "gates.include_archived": ("true", "false"),
    "gates.external_context": ('"include"', '"skip"'),
    "gates.min_rate_limit_remaining_percent": ("1", "2.5"),
    "model.extract_model": ('"model-x"', '"model-y"'),
}
LEVELS = ((WHOLE, SettingOrigin.WHOLE), (SCOPE, SettingOrigin.PROJECT), (thread_target(THREAD), SettingOrigin.THREAD))


def _row(target: str, key: str, value: str | None, at: float = 1.0) -> SettingRecord:
    return SettingRecord(record_id="j_1", target=target, key=key, value=value, at=at)


def _in_force(*rows: SettingRecord, config: Config | None = None, tombstones: Tombstones | None = None) -> InForce:
    return InForce(config or Config(), rows, tombstones or Tombstones())


@pytest.fixture
def kept(tmp_path: Path) -> KeptState:
    """A state in which two sessions of one project were consolidated."""
    made = KeptState(tmp_path)
    made.say(1, LINT + ".")
    made.say(2, PUSH + ".")
    made.run()
    return made


def _scope(kept: KeptState) -> str:
    with kept.open() as app:
        return app.store.threads.every()[0].scope


def _set(kept: KeptState, key: str, value: Any, **target: Any) -> Setting:
    with kept.open() as app:
        found = app.settings().set(key, value, **target)
        app.regate()
        return found


def _unset(kept: KeptState, key: str, **target: Any) -> Setting:
    with kept.open() as app:
        found = app.settings().unset(key, **target)
        app.regate()
        return found


def _gates(kept: KeptState) -> dict[int, tuple[JobState, Gate | None]]:
    with kept.open() as app:
        found = {thread.thread_id: (thread.state, thread.gate) for thread in app.store.threads.every()}
    return {number: found[thread_id_of(number)] for number in range(1, 9) if thread_id_of(number) in found}


# --- the nearer wins --------------------------------------------------------------------------------------------------


def test_every_key_that_can_be_set_nearer_is_tried_here() -> None:
    """A key that is added must be given two values above."""
    assert VALUES.keys() == set(SETTABLE) - WHOLE_ONLY.keys()


@pytest.mark.parametrize("key", VALUES)
@pytest.mark.parametrize("choice", list(itertools.product((None, 0, 1), repeat=3)))
def test_the_nearest_value_wins(key: str, choice: tuple[int | None, ...]) -> None:
    """For every combination of values at the three levels, with the one that is set nearest to the thread."""
    rows = [
        _row(target, key, None if position is None else VALUES[key][position])
        for (target, _), position in zip(LEVELS, choice, strict=True)
    ]
    in_force = _in_force(*rows)
    found = in_force.of(key, scope=SCOPE, thread_id=THREAD)
    set_levels = [(row, origin) for row, (_, origin) in zip(rows, LEVELS, strict=True) if row.value is not None]
    if not set_levels:
        assert (found.origin, found.value) == (SettingOrigin.DEFAULT, value_in(Config(), key))
    else:
        row, origin = set_levels[-1]
        alone = _in_force(replace(row, target=WHOLE)).of(key)
        assert (found.origin, found.value) == (origin, alone.value)
    assert value_in(in_force.config_for(scope=SCOPE, thread_id=THREAD), key) == found.value


@hypothesis_settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([target for target, _ in LEVELS]), st.sampled_from(sorted(VALUES)), st.integers(0, 2)
        ),
        max_size=12,
    )
)
def test_a_configuration_says_what_each_setting_says(deeds: list[tuple[str, str, int]]) -> None:
    """However much is set and unset, a configuration and its single settings agree everywhere."""
    rows = {(target, key): _row(target, key, (*VALUES[key], None)[choice]) for target, key, choice in deeds}
    in_force = _in_force(*rows.values())
    for place in ({}, {"scope": SCOPE}, {"scope": SCOPE, "thread_id": THREAD}, {"scope": "project:elsewhere"}):
        config = in_force.config_for(**place)
        assert all(value_in(config, key) == in_force.of(key, **place).value for key in SETTABLE)
    assert in_force.config_for(scope="project:elsewhere") == in_force.config_for()


def test_the_config_file_is_wider_than_what_was_set(tmp_path: Path) -> None:
    """A key of the file comes from there, though it says the default; what was set for the whole beats it."""
    path = tmp_path / "config.toml"
    path.write_text("[gates]\nidle_seconds = 900\nmax_age_days = 7\n", encoding="utf-8")
    config = load_config(str(path), environ={})
    in_force = _in_force(_row(WHOLE, "gates.max_age_days", "3"), config=config)
    assert in_force.of("gates.idle_seconds").origin is SettingOrigin.CONFIG_FILE
    assert in_force.of("gates.min_result_chars").origin is SettingOrigin.DEFAULT
    assert (in_force.of("gates.max_age_days").value, in_force.overridden()) == (3, ["gates.max_age_days"])


def test_a_value_that_this_program_does_not_take_is_passed_over() -> None:
    """What another version, or damage, left there holds nothing up: the next wider value counts."""
    rows = [_row(SCOPE, "gates.idle_seconds", '"soon"'), _row(SCOPE, "no.such_key", "1"), _row(SCOPE, USE, "{")]
    in_force = _in_force(*rows, _row(WHOLE, "gates.idle_seconds", "5"))
    assert in_force.config_for(scope=SCOPE).gates.idle_seconds == 5
    assert in_force.may_use(scope=SCOPE)


# --- setting and unsetting --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [{}, {"scope": SCOPE}, {"thread_id": THREAD}])
@pytest.mark.parametrize("key", ["gates.idle_seconds", USE, "model.extract_model"])
def test_what_is_unset_is_as_it_was(kept: KeptState, key: str, target: dict[str, str]) -> None:
    """Setting twice and unsetting once leaves what was in force before, also at a clock that stands."""
    with kept.open() as app:
        before = app.settings().in_force().of(key, **target)
        values = {"gates.idle_seconds": (5, 6), USE: (False, True), "model.extract_model": ("one", "two")}[key]
        for value in values:
            assert app.settings().set(key, value, **target).value == value
        assert app.settings().unset(key, **target) == before


PLACES: dict[str, dict[str, str]] = {
    "whole": {},
    "project": {"scope": SCOPE},
    "thread": {"thread_id": THREAD},
}


@hypothesis_settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(PLACES)), st.sampled_from([USE, "gates.idle_seconds"]), st.integers(0, 2)),
        max_size=8,
    ),
    st.floats(-100, 100),
)
def test_whatever_is_set_and_unset_the_last_word_counts_and_is_read_back(
    deeds: list[tuple[str, str, int]], step: float
) -> None:
    """As a plain table would have it, on any clock; a new database beside the same journal says the same."""
    with TemporaryDirectory() as folder:
        config = Config(state_dir=folder, memories_dir=f"{folder}/memories")
        clock = SetClock(1_790_000_000.0)
        store = Store(config.database_path)
        told: dict[tuple[str, str], Any] = {}
        for place, key, choice in deeds:
            clock.go_on(step)
            value = {USE: (False, True, None), "gates.idle_seconds": (5, 6, None)}[key][choice]
            made = Settings(config, store, clock)
            if value is None:
                made.unset(key, **PLACES[place])
            else:
                made.set(key, value, **PLACES[place])
            told[place, key] = value
        store.close()
        for path in Path(folder).glob("memory.db*"):
            path.unlink()
        anew = Store(config.database_path)
        settings = Settings(config, anew, clock)
        settings.catch_up()
        in_force = settings.in_force()
        anew.close()
    for key in (USE, "gates.idle_seconds"):
        values = [told.get((place, key)) for place in ("thread", "project", "whole")]
        expected = next((value for value in values if value is not None), value_in(Config(), key))
        assert in_force.of(key, scope=SCOPE, thread_id=THREAD).value == expected


def test_values_are_checked_as_the_configuration_checks_them(kept: KeptState) -> None:
    """The same ranges in the same words; an unknown key names the nearest; what can't be nearer says why."""
    with kept.open() as app:
        settings = app.settings()
        for key, text, said in (
            ("gates.idle_seconds", "-1", "gates.idle_seconds must be at least 0, not -1"),
            ("gates.idle_seconds", "soon", "gates.idle_seconds must be a number, not 'soon'"),
            ("gates.min_result_chars", "1.5", "gates.min_result_chars must be a whole number, not 1.5"),
            ("gates.external_context", "maybe", "must be one of include, withhold, skip, not 'maybe'"),
            ("gates.sources", "interactive,own", "gates.sources holds 'own'"),
            ("gates.min_rate_limit_remaining_percent", "101", "must be at most 100"),
            (USE, "perhaps", "settings.use_memories must be true or false"),
            ("model.extract_model", "", "must name a model"),
        ):
            with pytest.raises(ConfigError) as refused:
                settings.set_text(key, text)
            assert said in str(refused.value)
        for key, said in (
            ("gates.idle_second", "unknown key gates.idle_second; the nearest known key is gates.idle_seconds"),
            ("use_memories", "the nearest known key is settings.use_memories"),
            ("budget.daily_tokens", "budget.daily_tokens stands in the configuration file alone"),
        ):
            with pytest.raises(UsageError) as unknown:
                settings.set_text(key, "1")
            assert said in str(unknown.value)
        with pytest.raises(UsageError, match="for the whole alone: one consolidation works on all projects"):
            settings.set("model.consolidation_model", "model-x", thread_id=THREAD)
        with pytest.raises(UsageError, match="user is no project"):
            settings.set(USE, False, scope="user")
        assert app.store.settings.every() == []


def test_what_is_typed_is_read_by_the_kind_of_its_key(kept: KeptState) -> None:
    """On and off are switches, commas separate a list, digits are a number only where one is meant."""
    with kept.open() as app:
        settings = app.settings()
        assert settings.set_text(USE, "off").value is False
        assert settings.set_text("gates.sources", "interactive, headless").value == ("interactive", "headless")
        assert settings.set_text("gates.idle_seconds", "2.5").value == 2.5
        assert settings.set_text("model.extract_model", "4").value == "4"


# --- what they do -----------------------------------------------------------------------------------------------------


def test_a_project_that_is_switched_off_is_not_extracted_and_keeps_its_memories(kept: KeptState) -> None:
    """New sessions are held back as disabled, old ones stay done, nothing is withdrawn; switched on, they are due."""
    scope = _scope(kept)
    before = kept.statements()
    _set(kept, GENERATE, False, scope=scope)
    kept.say(3, "Always use tabs in Makefiles.")
    assert kept.run().phase1.claimed == 0
    assert _gates(kept) == {
        1: (JobState.DONE, Gate.DISABLED),
        2: (JobState.DONE, Gate.DISABLED),
        3: (JobState.GATED, Gate.DISABLED),
    }
    assert kept.statements() == before
    _unset(kept, GENERATE, scope=scope)
    assert kept.run().phase1.succeeded == 1
    assert _gates(kept) == dict.fromkeys((1, 2, 3), (JobState.DONE, None))
    assert len(kept.statements()) == len(before) + 1


def test_a_thread_beats_its_project(kept: KeptState) -> None:
    """Switched on it is extracted though its project is off; switched off it is withdrawn though its project is on."""
    scope = _scope(kept)
    _set(kept, GENERATE, False, scope=scope)
    _set(kept, GENERATE, True, thread_id=thread_id_of(3))
    kept.say(3, "Always use tabs in Makefiles.")
    kept.say(4, "Never use spaces in Makefiles.")
    assert kept.run().phase1.claimed == 1
    assert _gates(kept)[3] == (JobState.DONE, None)
    assert _gates(kept)[4] == (JobState.GATED, Gate.DISABLED)
    _unset(kept, GENERATE, scope=scope)
    _set(kept, GENERATE, False, thread_id=thread_id_of(1))
    kept.run()
    assert _gates(kept)[1] == (JobState.GATED, Gate.DISABLED)
    assert not any(LINT in statement for statement in kept.statements())


def test_switched_off_as_a_whole_a_project_may_be_on(tmp_path: Path) -> None:
    """The configuration file says no, the project says yes: its sessions are extracted, and no others."""
    kept = KeptState(tmp_path, settings={"generate_memories": False})
    kept.say(1, LINT + ".")
    counts = kept.run().phase1
    assert (counts.claimed, counts.skipped) == (0, {"disabled": 1})
    _set(kept, GENERATE, True, scope=_scope(kept))
    assert kept.run().phase1.succeeded == 1


@pytest.mark.parametrize("target", ["whole", "project", "thread"])
def test_the_numbers_of_the_gates_hold_where_they_are_set(tmp_path: Path, target: str) -> None:
    """A session that ended too long ago for the default passes once the limit is raised for it."""
    kept = KeptState(tmp_path)
    kept.say(1, LINT + ".")
    kept.clock.go_on(60 * 86_400)
    assert kept.run().phase1.skipped == {"too_old": 1}
    where = {"whole": {}, "project": {"scope": _scope(kept)}, "thread": {"thread_id": thread_id_of(1)}}[target]
    _set(kept, "gates.max_age_days", 90, **where)
    assert kept.run().phase1.succeeded == 1


def test_the_consolidating_model_is_set_for_the_whole(kept: KeptState) -> None:
    """At once, and for every later start; unset, the file's holds again."""
    _set(kept, "model.consolidation_model", "model-y")
    with kept.open() as app:
        assert app.config.model.curating_model == "model-y"
        app.settings().unset("model.consolidation_model")
        app.regate()
        assert app.config.model.curating_model == ""


def test_a_quota_may_be_held_less_tightly_for_one_project(tmp_path: Path) -> None:
    """Paid work of the whole waits for the agent's quota; that of a project that needs none left does not."""
    model = {"provider": "openai", "extract_model": "model-x", "base_url": "http://127.0.0.1:9/v1"}
    kept = KeptState(tmp_path, model=model)
    now = kept.clock.now()
    with kept.open() as app:
        for name, scope in (("a", SCOPE), ("b", "project:elsewhere")):
            limit = RateLimit(used_percent=95.0, window_minutes=300, resets_at=now + 60, seen_at=now)
            index(
                app.store,
                name,
                scope=scope,
                now=now,
                rate_limits=(limit,),
                started_at=now - 6_000,
                updated_at=now - 5_000,
            )
        app.settings().set("gates.min_rate_limit_remaining_percent", 0, scope=SCOPE)
        app.regate()
        assert {one.thread_id: one.gate for one in app.store.threads.every()} == {"a": None, "b": Gate.RATE_LIMIT}


def test_use_is_asked_for_a_thread_that_is_not_known_yet(kept: KeptState) -> None:
    """The first turn of a session comes before its log is indexed."""
    scope = _scope(kept)
    _set(kept, USE, False, scope=scope)
    _set(kept, USE, True, thread_id="a-thread-to-come")
    with kept.open() as app:
        in_force = app.settings().in_force()
    assert not in_force.may_use(scope=scope)
    assert not in_force.may_use(scope=scope, thread_id="another")
    assert in_force.may_use(scope=scope, thread_id="a-thread-to-come")
    assert in_force.may_use(scope="project:elsewhere")


def test_a_setting_follows_its_project_to_the_name_of_its_remote(kept: KeptState) -> None:
    """What was set for a folder holds for the remote that a log names for that folder later."""
    scope = _scope(kept)
    _set(kept, GENERATE, False, scope=scope)
    with kept.open() as app:
        app.store.threads.rescope({scope.removeprefix("project:"): SCOPE})
        in_force = app.settings().in_force()
        assert (in_force.may_generate(scope=SCOPE), in_force.may_generate(scope="project:elsewhere")) == (False, True)
        app.settings().set(GENERATE, True, scope=SCOPE)
        app.store.threads.rescope({scope.removeprefix("project:"): SCOPE})
        assert app.settings().in_force().may_generate(scope=SCOPE)


# --- what they outlive ------------------------------------------------------------------------------------------------


def test_settings_outlive_the_database(kept: KeptState) -> None:
    """Made anew from the logs and the journal, it extracts nothing that was switched off, and not even for a moment."""
    scope = _scope(kept)
    _set(kept, "gates.max_age_days", 90)
    _set(kept, "gates.idle_seconds", 5, scope=scope)
    _unset(kept, "gates.idle_seconds", scope=scope)
    _set(kept, USE, False, scope=scope)
    _set(kept, GENERATE, False, thread_id=thread_id_of(1))
    with kept.open() as app:
        before = [(row.target, row.key, row.value, row.at) for row in app.store.settings.every()]
    assert len(before) == 4
    for path in [*kept.state.glob("memory.db*"), *kept.state.glob("backups/*/*.db")]:
        path.unlink()
    counts = kept.run().phase1
    with kept.open() as app:
        assert [(row.target, row.key, row.value, row.at) for row in app.store.settings.every()] == before
    assert (counts.claimed, counts.skipped) == (1, {"disabled": 1})


def test_a_crash_between_journal_and_database_is_made_good(kept: KeptState) -> None:
    """What stands in the journal alone is taken in by the next start; a journal that is lost takes nothing back."""
    Journal(kept.config.journal_path).append_settings([_row(WHOLE, USE, "false", at=kept.clock.now())])
    with kept.open() as app:
        assert not app.settings().in_force().may_use()
    kept.config.journal_path.unlink()
    with kept.open() as app:
        assert not app.settings().in_force().may_use()


def test_an_older_line_told_again_does_not_take_back_a_newer_one(kept: KeptState) -> None:
    """The journal may be read in any order, and however often: the last word of each key counts."""
    _set(kept, "gates.idle_seconds", 5)
    kept.clock.go_on(-3_600)  # the clock was set back
    _set(kept, "gates.idle_seconds", 6)
    lines = kept.config.journal_path.read_bytes().splitlines(keepends=True)
    kept.config.journal_path.write_bytes(b"".join(reversed(lines)))
    with kept.open() as app:
        assert app.settings().in_force().of("gates.idle_seconds").value == 6


def test_what_the_person_set_is_no_torn_line_of_the_journal(kept: KeptState) -> None:
    """Whoever checks the journal can read it; phase two takes nothing of it for a deed."""
    _set(kept, "gates.idle_seconds", 6)
    assert kept.run().phase2.outcome == "no_changes"
    assert not [fault for fault in verify_state(kept.config) if fault.path == kept.config.journal_path]


# --- forgetting -------------------------------------------------------------------------------------------------------


def _bytes_of(kept: KeptState) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(kept.state.rglob("*")) if path.is_file())


def test_forgetting_a_project_takes_its_name_from_its_settings_and_leaves_it_off(kept: KeptState) -> None:
    """No byte names it any more, and yet its next session is not extracted, unseen, nor given memories."""
    name = "example.org/sam/a-secret-project"
    scope = f"project:{name}"
    _set(kept, GENERATE, False, scope=scope)
    _set(kept, USE, False, scope=scope)
    _set(kept, "gates.external_context", "skip", scope=scope)
    _set(kept, "gates.idle_seconds", 5, scope=scope)
    assert name.encode() in _bytes_of(kept)
    with kept.open() as app:
        receipt = app.forgetting().forget(Selector(scope=scope))
    assert receipt.counts["settings"] == 4
    assert name.encode() not in _bytes_of(kept)
    with kept.open() as app:
        in_force = app.settings().in_force()
        config = in_force.config_for(scope=scope)
        found = in_force.of(GENERATE, scope=scope)
        assert (found.value, found.origin) == (False, SettingOrigin.FORGOTTEN)
        assert not in_force.may_use(scope=scope)
        assert (config.gates.external_context, config.gates.idle_seconds) == ("skip", 900)
        assert in_force.may_generate(scope="project:elsewhere")
        app.settings().unset(GENERATE, scope=scope)
        assert app.settings().in_force().may_generate(scope=scope)


def test_a_forgotten_setting_does_not_come_back_with_an_older_journal(kept: KeptState) -> None:
    """Put beside the new database, it is read without the lines that were forgotten."""
    scope = "project:example.org/sam/a-secret-project"
    _set(kept, "gates.idle_seconds", 5, scope=scope)
    old = kept.config.journal_path.read_bytes()
    with kept.open() as app:
        app.forgetting().forget(Selector(scope=scope))
    kept.config.journal_path.write_bytes(old)
    with kept.open() as app:
        assert app.store.settings.every() == []


def test_forgetting_a_project_reaches_what_was_set_for_it_under_an_older_name(kept: KeptState) -> None:
    """Set for the folder, forgotten by the name of its remote: neither stays."""
    old = "project:/home/sam/a-secret-folder"
    _set(kept, "gates.idle_seconds", 5, scope=old)
    with kept.open() as app:
        app.store.threads.rescope({old.removeprefix("project:"): SCOPE})
        app.forgetting().forget(Selector(scope=SCOPE))
        assert app.store.settings.every() == []
    assert b"a-secret-folder" not in _bytes_of(kept)


def test_a_forgotten_thread_keeps_its_switches_and_is_never_switched_on(kept: KeptState) -> None:
    """Its settings go, what they held back stays held back, and generation can't be asked for again."""
    _set(kept, USE, False, thread_id=thread_id_of(1))
    with kept.open() as app:
        app.forgetting().forget(Selector(thread=thread_id_of(1)))
        assert app.store.settings.every() == []
        assert not app.settings().in_force().may_use(thread_id=thread_id_of(1))
        with pytest.raises(UsageError, match="was forgotten, and is never extracted again"):
            app.settings().set(GENERATE, True, thread_id=thread_id_of(1))


def test_the_last_forgetting_of_a_switch_counts() -> None:
    """Forgotten while it was off, switched on, forgotten again: it is on."""
    stones = [
        Tombstones.of(settings_tombstones([_row(SCOPE, GENERATE, value)], SCOPE), now=at)
        for at, value in ((1.0, "false"), (2.0, "true"))
    ]
    assert _in_force(tombstones=stones[0]).may_generate(scope=SCOPE) is False
    assert _in_force(tombstones=stones[0].with_others(stones[1])).may_generate(scope=SCOPE) is True
