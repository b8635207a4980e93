"""What is in force for the whole, a project and one thread: the nearer wins.

From the widest to the nearest: the built-in default, the configuration file, what was set for the whole, for the
project, for the thread. What is set is written into the journal first, and so outlives the database.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from memory_pipeline.clock import Clock, iso
from memory_pipeline.config import (
    Config,
    checked_value,
    key_names,
    nearest_key,
    value_in,
    value_of_text,
    with_values,
)
from memory_pipeline.errors import ConfigError, UsageError
from memory_pipeline.kinds import PROJECT_SCOPE_PREFIX, SettingRecord
from memory_pipeline.tombstones import Tombstone, TombstoneFolder, TombstoneKind, Tombstones, switch_value

if TYPE_CHECKING:
    from memory_pipeline.store.store import Store

WHOLE = "whole"
_THREAD_PREFIX = "thread:"

GENERATE = "settings.generate_memories"
USE = "settings.use_memories"

#: What can be set beside the configuration file.
SETTABLE: Sequence[str] = (
    GENERATE,
    USE,
    "gates.sources",
    "gates.idle_seconds",
    "gates.min_duration_seconds",
    "gates.min_result_chars",
    "gates.max_age_days",
    "gates.max_rollout_bytes",
    "gates.include_archived",
    "gates.external_context",
    "gates.min_rate_limit_remaining_percent",
    "model.extract_model",
    "model.consolidation_model",
)
#: What can be set for the whole alone, and why.
WHOLE_ONLY: Mapping[str, str] = {
    "gates.max_rollout_bytes": "a log is read before it is known which project it is of",
    "model.consolidation_model": "one consolidation works on all projects together",
}
#: Settings with few positions, each as JSON. What of them was set for a project or thread outlives its forgetting.
_SWITCHES: Mapping[str, Sequence[str]] = {
    GENERATE: ("true", "false"),
    USE: ("true", "false"),
    "gates.include_archived": ("true", "false"),
    "gates.external_context": ('"include"', '"withhold"', '"skip"'),
}
_ORIGIN = "settings"
#: What a deed is later than the one before it, where the clock stands or was set back.
_LATER_SECONDS = 0.002


class SettingOrigin(StrEnum):
    """Where the value in force comes from."""

    DEFAULT = "default"
    CONFIG_FILE = "config file"
    WHOLE = "whole"
    PROJECT = "project"
    THREAD = "thread"
    FORGOTTEN = "forgotten"  # a switch of a project or thread that was forgotten stays as it was


_FROM_FILE = (SettingOrigin.DEFAULT, SettingOrigin.CONFIG_FILE)


class Setting(Struct, frozen=True, kw_only=True):
    """One key with the value in force, and where that comes from."""

    key: str
    value: Any
    origin: SettingOrigin
    set_at: float | None = None  # when it was set; None where it was not


def thread_target(thread_id: str) -> str:
    """Return what settings of a thread are stored under; a project's are under its scope, the whole's under WHOLE."""
    return f"{_THREAD_PREFIX}{thread_id}"


def settings_tombstones(rows: Sequence[SettingRecord], target: str) -> Iterator[Tombstone]:
    """Yield what is to be kept of the settings of a project or thread that is forgotten: how its switches stood."""
    yield Tombstone(kind=TombstoneKind.SETTINGS, value=target)
    for row in rows:
        if row.target == target and row.value in _SWITCHES.get(row.key, ()):
            yield Tombstone(kind=TombstoneKind.SWITCH, value=switch_value(target, row.key, row.value or ""))


class _Layer(Struct, frozen=True, kw_only=True):
    """What was set for one target."""

    target: str
    origin: SettingOrigin


class _Row(Struct, frozen=True, kw_only=True):
    """What was set last for one key of a target: the value, None where it was unset."""

    value: Any
    at: float


class InForce:
    """All settings at one moment. Asking it looks at nothing but memory."""

    def __init__(self, config: Config, rows: Sequence[SettingRecord], tombstones: Tombstones) -> None:
        """Take what the configuration file says, what was set, and what was forgotten."""
        self._config = config
        self._tombstones = tombstones
        self._rows: dict[str, dict[str, _Row]] = {}
        for row in rows:
            if row.key in SETTABLE:
                self._rows.setdefault(row.target, {})[row.key] = _Row(value=_value_of(row), at=row.at)
        self._made: dict[tuple[str, ...], Config] = {}

    def of(self, key: str, *, scope: str | None = None, thread_id: str | None = None) -> Setting:
        """Return what is in force for a thread of a project, for a project, or for the whole.

        Raises:
            UsageError: there is no such key.
        """
        check_key(key)
        for layer in reversed(_layers(scope, thread_id)):
            found = self._set_in(layer, key)
            if found is not None:
                return found
        written = key in self._config.written
        origin = SettingOrigin.CONFIG_FILE if written else SettingOrigin.DEFAULT
        return Setting(key=key, value=value_in(self._config, key), origin=origin)

    def every(self, *, scope: str | None = None, thread_id: str | None = None) -> list[Setting]:
        """Return all settings that can be set there, in a fixed order."""
        wide = scope is None and thread_id is None
        return [self.of(key, scope=scope, thread_id=thread_id) for key in SETTABLE if wide or key not in WHOLE_ONLY]

    def flag(self, key: str, thread_id: str) -> bool | None:
        """Return what was set of a switch for this one thread; None where it follows its project."""
        found = self._set_in(_layers(None, thread_id)[-1], key)
        return bool(found.value) if found is not None else None

    def may_generate(self, *, scope: str | None = None, thread_id: str | None = None) -> bool:
        """Whether a thread of a project may be extracted."""
        return bool(self.of(GENERATE, scope=scope, thread_id=thread_id).value)

    def may_use(self, *, scope: str | None = None, thread_id: str | None = None) -> bool:
        """Whether memories may be given to a thread of a project. A thread need not be known yet."""
        return bool(self.of(USE, scope=scope, thread_id=thread_id).value)

    def config_for(self, *, scope: str | None = None, thread_id: str | None = None) -> Config:
        """Return the configuration as it is in force there."""
        targets = tuple(layer.target for layer in _layers(scope, thread_id) if self._says_something(layer.target))
        if targets not in self._made:
            # Most of many thousands of threads have no settings of their own, and share what is made here.
            found = [self.of(key, scope=scope, thread_id=thread_id) for key in (SETTABLE if targets else ())]
            values = {one.key: one.value for one in found if one.origin not in _FROM_FILE}
            self._made[targets] = with_values(self._config, values) if values else self._config
        return self._made[targets]

    def stamp_of(self, keys: Sequence[str]) -> str:
        """Return what changes whenever any of these keys may be in force otherwise, for whatever project or thread.

        ``keys`` are such, or, ending with a dot, whole tables.
        """
        told = (
            [(key, value_in(self._config, key)) for key in key_names() if key.startswith(tuple(keys))],
            [
                (target, key, row)
                for target, rows in sorted(self._rows.items())
                for key, row in sorted(rows.items())
                if key.startswith(tuple(keys))
            ],
            self._tombstones.digest if self._tombstones.holds_switches else "",
        )
        return hashlib.sha256(repr(told).encode("utf-8", "replace")).hexdigest()

    def values_of(self, key: str) -> set[Any]:
        """Return every value of a key that was set somewhere, and that of the configuration file."""
        found = {rows[key].value for rows in self._rows.values() if key in rows}
        return {value_in(self._config, key)} | (found - {None})

    def counts_of_own(self, key: str, value: Any) -> dict[SettingOrigin, int]:
        """Count the projects and the threads for which a key was set to this value."""
        counts = dict.fromkeys((SettingOrigin.PROJECT, SettingOrigin.THREAD), 0)
        for target, rows in self._rows.items():
            level = _level_of(target)
            if level in counts and key in rows and rows[key].value == value:
                counts[level] += 1
        return counts

    def overridden(self) -> list[str]:
        """Return the keys of the configuration file that do not count, since something else was set for the whole."""
        return [
            key for key in SETTABLE if key in self._config.written and self.of(key).value != value_in(self._config, key)
        ]

    def _says_something(self, target: str) -> bool:
        return target in self._rows or (self._tombstones.holds_switches and self._tombstones.knows_settings_of(target))

    def _set_in(self, layer: _Layer, key: str) -> Setting | None:
        if not self._says_something(layer.target):
            return None
        row = self._rows.get(layer.target, {}).get(key)
        if row is not None:
            # What was unset after a forgetting is unset: the person has seen it.
            return None if row.value is None else Setting(key=key, value=row.value, origin=layer.origin, set_at=row.at)
        stood = self._tombstones.switch(layer.target, key, _SWITCHES.get(key, ()))
        return None if stood is None else Setting(key=key, value=json.loads(stood), origin=SettingOrigin.FORGOTTEN)


def in_force_now(config: Config, store: Store) -> InForce:
    """Return what is in force now; ``config`` is as the configuration file says. Changes nothing.

    Raises:
        StoreError: it can't be read, or what was forgotten can't.
    """
    return in_force_of(config, store.settings.every())


def in_force_of(config: Config, rows: Sequence[SettingRecord]) -> InForce:
    """Return what is in force where these are the stored rows; see in_force_now.

    Raises:
        StoreError: what was forgotten can't be read.
    """
    return InForce(config, rows, TombstoneFolder(config.tombstones_path).current())


class Settings:
    """What a person sets and unsets, and how it is kept."""

    def __init__(self, config: Config, store: Store, clock: Clock) -> None:
        """Take the parts; ``config`` is as the configuration file says."""
        self._config = config
        self._store = store
        self._clock = clock
        self._tombstones = TombstoneFolder(config.tombstones_path)

    def in_force(self) -> InForce:
        """Return what is in force now; see in_force_now."""
        return InForce(self._config, self._store.settings.every(), self._tombstones.current())

    def set(self, key: str, value: Any, *, scope: str | None = None, thread_id: str | None = None) -> Setting:
        """Set a key for the whole, a project (``scope``) or one thread; returns what is in force there then.

        Raises:
            UsageError: there is no such key, or it can't be set there; the message says why.
            ConfigError: the value does not fit.
            OSError, LockedError, StoreError: it can't be stored.
        """
        target = self._checked_target(key, scope, thread_id)
        checked = checked_value(key, value, _ORIGIN)
        if key == "model.extract_model" and not checked:
            raise ConfigError(f"{_ORIGIN}: {key} must name a model; unset it to have that of the configuration again")
        if thread_id is not None and self._tombstones.current().has_thread(thread_id) and key == GENERATE and checked:
            raise UsageError(f"thread {thread_id} was forgotten, and is never extracted again")
        self._write_down(target, key, json.dumps(list(checked) if isinstance(checked, tuple) else checked))
        return self._after(key, scope, thread_id)

    def set_text(self, key: str, text: str, *, scope: str | None = None, thread_id: str | None = None) -> Setting:
        """Set a key to a value as somebody typed it; see set."""
        check_key(key)
        return self.set(key, value_of_text(key, text), scope=scope, thread_id=thread_id)

    def unset(self, key: str, *, scope: str | None = None, thread_id: str | None = None) -> Setting:
        """Let the next wider value hold again; returns what is in force then.

        Raises:
            UsageError: there is no such key, or it can't be set there.
            OSError, LockedError, StoreError: it can't be stored.
        """
        self._write_down(self._checked_target(key, scope, thread_id), key, None)
        return self._after(key, scope, thread_id)

    def set_flags(self, thread_id: str, flags: Mapping[str, bool | None]) -> None:
        """Switch a thread on or off, or (None) let it follow its project; by key, GENERATE and USE.

        Raises:
            UsageError, ConfigError, OSError, LockedError, StoreError: as set; what comes before it is set.
        """
        for key, position in flags.items():
            if position is None:
                self.unset(key, thread_id=thread_id)
            else:
                self.set(key, position, thread_id=thread_id)

    def catch_up(self) -> None:
        """Read what the journal tells and the database does not: it was made anew, or a crash came between the two.

        Raises:
            OSError, StoreError: one of them can't be read.
        """
        from memory_pipeline.rollouts.journal import Journal

        journal = Journal(self._config.journal_path)
        stamp = journal.stamp()
        if stamp == self._store.settings.read_stamp():
            return
        tombstones = self._tombstones.current()
        told = [one for one in journal.read_settings() if not tombstones.takes_settings(one.target, at=one.at)]
        self._store.settings.put(told)
        self._store.settings.set_read_stamp(stamp)

    def _after(self, key: str, scope: str | None, thread_id: str | None) -> Setting:
        if thread_id is not None and key == GENERATE:
            is_off = self.in_force().flag(GENERATE, thread_id) is False
            is_forgotten = self._tombstones.current().has_thread(thread_id)
            self._store.threads.set_disabled(thread_id, disabled=is_off or is_forgotten, now=self._clock.now())
        return self.in_force().of(key, scope=scope, thread_id=thread_id)

    def _checked_target(self, key: str, scope: str | None, thread_id: str | None) -> str:
        check_key(key)
        if (scope is not None or thread_id is not None) and key in WHOLE_ONLY:
            raise UsageError(f"{key} can be set for the whole alone: {WHOLE_ONLY[key]}")
        if thread_id is not None:
            return thread_target(thread_id)
        if scope is not None and not scope.startswith(PROJECT_SCOPE_PREFIX):
            raise UsageError(f"{scope} is no project; write {PROJECT_SCOPE_PREFIX}KEY, or leave it out for the whole")
        return scope if scope is not None else WHOLE

    def _write_down(self, target: str, key: str, value: str | None) -> None:
        from memory_pipeline.rollouts.journal import Journal, record_id_of
        from memory_pipeline.rollouts.times import to_seconds

        self.catch_up()
        known = {(row.target, row.key): row for row in self._store.settings.every()}.get((target, key))
        if known is not None and known.value == value:
            return
        tombstones = self._tombstones.current()
        if known is None and value is None and not tombstones.holds_switches:
            return
        before = max(known.at if known is not None else 0.0, tombstones.settings_taken_at(target))
        now = max(self._clock.now(), before + _LATER_SECONDS)
        at = to_seconds(iso(now)) or now  # as the journal tells it back
        record = SettingRecord(
            record_id=record_id_of("setting", target, key, value, at), target=target, key=key, value=value, at=at
        )
        Journal(self._config.journal_path).append_settings([record])
        self.catch_up()


def check_key(key: str) -> None:
    """Refuse what can't be set.

    Raises:
        UsageError: there is no such key, or it stands in the configuration file alone.
    """
    if key in SETTABLE:
        return
    if key in key_names():
        raise UsageError(f"{key} stands in the configuration file alone; what can be set here: {', '.join(SETTABLE)}")
    raise UsageError(f"unknown key {key}; the nearest known key is {nearest_key(key, SETTABLE)}")


def _layers(scope: str | None, thread_id: str | None) -> tuple[_Layer, ...]:
    """Return where values may be set, from the widest to the nearest."""
    layers = [_Layer(target=WHOLE, origin=SettingOrigin.WHOLE)]
    if scope is not None and scope.startswith(PROJECT_SCOPE_PREFIX):
        layers.append(_Layer(target=scope, origin=SettingOrigin.PROJECT))
    if thread_id is not None:
        layers.append(_Layer(target=thread_target(thread_id), origin=SettingOrigin.THREAD))
    return tuple(layers)


def _level_of(target: str) -> SettingOrigin:
    if target.startswith(_THREAD_PREFIX):
        return SettingOrigin.THREAD
    return SettingOrigin.WHOLE if target == WHOLE else SettingOrigin.PROJECT


def _value_of(row: SettingRecord) -> Any:
    """Return the value of a row; None where it was unset, or is none that this program takes: another one set it."""
    if row.value is None:
        return None
    try:
        return checked_value(row.key, json.loads(row.value), _ORIGIN)
    except (ConfigError, ValueError):
        return None
