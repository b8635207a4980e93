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


class Gate(StrEnum):
    """One named reason why a rollout is not extracted now."""

    TOO_RECENT = "too_recent"
    TOO_OLD = "too_old"
    TOO_SHORT = "too_short"
    SOURCE = "source"
    SUBAGENT = "subagent"
    OWN_RUN = "own_run"
    ARCHIVED = "archived"
    DISABLED = "disabled"
    POLLUTED = "polluted"
    EXTERNAL_CONTEXT = "external_context"
    NO_USER_MESSAGE = "no_user_message"
    BUDGET = "budget"
    RATE_LIMIT = "rate_limit"
    PROVIDER_POLICY = "provider_policy"
    OVERSIZE = "oversize"
    UNREADABLE = "unreadable"
    EMPTY = "empty"
    NOT_COMPLETED = "not_completed"


#: Gates that turn a thread ``gated`` whatever was extracted, and withdraw its entries while they stand; see
#: ``IndexedThread.keeps_words`` for when they don't.
WITHDRAWING_GATES = frozenset({Gate.DISABLED, Gate.POLLUTED, Gate.OWN_RUN, Gate.SUBAGENT, Gate.NOT_COMPLETED})


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
