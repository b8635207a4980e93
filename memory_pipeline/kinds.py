"""The kinds and scopes that nearly everything names, by themselves: what starts quickly can't load every record."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Agent(StrEnum):
    """Who wrote a log."""

    CODEX = "codex"
    CLAUDE = "claude"
    JOURNAL = "journal"
    TASK = "task"  # another program, which submitted a task


class Source(StrEnum):
    """How a session ran, as its own log says."""

    INTERACTIVE = "interactive"
    HEADLESS = "headless"
    SUBAGENT = "subagent"
    OWN = "own"
    OTHER = "other"


class EntryKind(StrEnum):
    """What sort of statement an entry or a memory is."""

    PREFERENCE = "preference"
    DECISION = "decision"
    PROCEDURE = "procedure"
    KNOWLEDGE = "knowledge"
    FAILURE = "failure"


#: Kinds that rest on the person's word: each needs an evidence line spoken by the user.
STATED_KINDS = frozenset({EntryKind.PREFERENCE, EntryKind.DECISION, EntryKind.PROCEDURE})


class MemoryStatus(StrEnum):
    """Whether a memory is told as current."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    RETIRED = "retired"


USER_SCOPE = "user"
PROJECT_SCOPE_PREFIX = "project:"


class SettingRecord(Struct, frozen=True, kw_only=True):
    """One setting that the person gave a value, or took it from."""

    record_id: str
    target: str  # the whole, a project's scope, or a thread; see settings
    key: str  # of the configuration, dotted
    value: str | None  # JSON; None: the next wider one holds
    at: float
