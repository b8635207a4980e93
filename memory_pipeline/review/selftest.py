"""A quick check of the review's rules on built-in cases, in a store of its own. Looks at nothing of the person's."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memory_pipeline.config import Config, ReviewConfig
from memory_pipeline.records import (
    Agent,
    Coverage,
    Decider,
    DraftLabel,
    Entry,
    EntryKind,
    EvidenceLine,
    Extraction,
    Readiness,
    ReviewStatus,
    RolloutFile,
    Source,
    Speaker,
    Task,
    TaskOutcome,
    ThreadFacts,
)
from memory_pipeline.review.fingerprint import fingerprint_of
from memory_pipeline.review.labels import Known, Labeller
from memory_pipeline.review.policy import passes, readiness_of
from memory_pipeline.review.run import Review
from memory_pipeline.store.store import Store

_SCOPE = "project:example.com/sam/shop"
_MOMENT = 1_700_000_000.0

#: What is remembered, what is said, and which label that must get.
_LABELS = (
    ("Use pnpm in this repo.", "Use pnpm in this repo.", DraftLabel.CONFIRM),
    ("Use npm in this repo.", "Use pnpm in this repo.", DraftLabel.CONFLICT),
    ("The dev server listens on port 8080.", "The dev server listens on port 9090.", DraftLabel.CONFLICT),
    ("Never squash before merging.", "Always squash before merging.", DraftLabel.CONFLICT),
    ("要跑测试", "不要跑测试", DraftLabel.CONFLICT),
    ("Use pnpm in this repo.", "The invoices are printed in Helvetica.", DraftLabel.NEW),
    ("Use pnpm in this repo.", "The build is still failing today.", DraftLabel.EPHEMERAL),
)
_READINESS = (
    (DraftLabel.NEW, Coverage.HIGH, Readiness.READY_CANDIDATE),
    (DraftLabel.NEW, Coverage.PARTIAL, Readiness.NEEDS_RAW_REVIEW),
    (DraftLabel.CONFLICT, Coverage.HIGH, Readiness.NEEDS_CONFLICT_REVIEW),
    (DraftLabel.EPHEMERAL, Coverage.PARTIAL, Readiness.LOCAL_ONLY),
)


class Check(Struct, frozen=True, kw_only=True):
    """One rule, whether it holds, and what was found where it doesn't."""

    name: str
    holds: bool
    found: str = ""


class _StandingClock:
    """A clock that stands, so that a check ends the same whenever it is made."""

    def now(self) -> float:
        return _MOMENT


def run_checks() -> list[Check]:
    """Check every rule; the order is always the same."""
    return [*_check_labels(), *_check_readiness(), *_check_policy(), *_check_fingerprints(), *_check_decisions()]


def _check(name: str, found: object, wanted: object) -> Check:
    return Check(name=name, holds=found == wanted, found="" if found == wanted else f"{found}, not {wanted}")


def _check_labels() -> Iterator[Check]:
    for remembered, said, wanted in _LABELS:
        known = Known(known_id="m_1", statement=remembered, kind=EntryKind.PREFERENCE, scope=_SCOPE)
        yield _check(f'"{said}" beside "{remembered}"', Labeller([known]).label(_entry(said)).label.value, wanted.value)


def _check_readiness() -> Iterator[Check]:
    for label, coverage, wanted in _READINESS:
        yield _check(f"readiness of {label} at coverage {coverage}", readiness_of(label, coverage).value, wanted.value)


def _check_policy() -> Iterator[Check]:
    guess = _entry("The cache is cleared at night.", speaker=Speaker.ASSISTANT, kind=EntryKind.KNOWLEDGE)
    shown = _entry("The cache is cleared at night.", speaker=Speaker.TOOL, kind=EntryKind.KNOWLEDGE)
    cases = (
        ("the person's own word", "policy", _entry("Use pnpm."), Coverage.HIGH, True),
        ("the person's own word, read in part", "policy", _entry("Use pnpm."), Coverage.PARTIAL, False),
        ("an assistant's guess", "policy", guess, Coverage.HIGH, False),
        ("what a tool showed", "policy", shown, Coverage.HIGH, True),
        ("an assistant's guess in mode off", "off", guess, Coverage.HIGH, True),
        ("the person's own word in mode manual", "manual", _entry("Use pnpm."), Coverage.HIGH, False),
    )
    for name, mode, entry, coverage, wanted in cases:
        yield _check(f"{name} passes by itself", passes(mode, entry, Labeller([]).label(entry), coverage), wanted)


def _check_fingerprints() -> Iterator[Check]:
    rejected = fingerprint_of("Use pnpm for packages.", "", salt="salt")
    for said, wanted in (
        ("Please always use pnpm for all packages!", True),
        ("Never use pnpm for packages.", False),
        ("Use yarn for packages.", False),
    ):
        name = f'"{said}" comes back after "Use pnpm for packages." was rejected'
        yield _check(name, not rejected.covers(said, ""), not wanted)


def _check_decisions() -> Iterator[Check]:
    with tempfile.TemporaryDirectory(prefix="memory-pipeline-self-test-") as folder:
        config = Config(state_dir=folder, review=ReviewConfig(mode="manual"))
        store = Store(Path(folder) / "memory.db")
        try:
            yield from _check_decisions_in(store, Review(config, store, _StandingClock()))
        finally:
            store.close()


def _check_decisions_in(store: Store, review: Review) -> Iterator[Check]:
    _say(store, "first", _entry("Use pnpm for packages."), _entry("Squash before merging."))
    review.run_once()
    before = store.drafts.every()
    yield _check("what nobody reviewed waits", len(store.drafts.queue()), 2)
    review.reject([before[0].entry], note="no")
    review.approve([before[1].entry], note="yes")
    yield _check("what was decided waits no longer", len(store.drafts.queue()), 0)
    _say(store, "second", _entry("Always use pnpm for all packages."))
    review.run_once()
    again = store.drafts.every(thread_id="second")[0]
    yield _check("what was rejected stays away", again.decided_by, Decider.REJECTION)
    late = review.approve([before[0].entry], seen=before)
    yield _check("a decision made elsewhere stands", (late.entry_ids, len(late.changed)), ((), 1))
    review.undo()
    review.undo()
    yield _check("undoing leaves each draft as it was", store.drafts.every(thread_id="first") == before, wanted=True)
    review.defer([before[0].entry], days=0)
    deferred = store.drafts.get(before[0].entry.entry_id)
    yield _check("a draft can be put off", deferred and deferred.review_status, ReviewStatus.DEFERRED)
    review.run_once()
    waiting = store.drafts.queue_ids()
    yield _check("and comes back after its time", before[0].entry.entry_id in waiting, wanted=True)
    yield _check("a rejection taken back holds nothing back", again.entry.entry_id in waiting, wanted=True)


def _entry(statement: str, *, speaker: Speaker = Speaker.USER, kind: EntryKind = EntryKind.PREFERENCE) -> Entry:
    digest = hashlib.sha256(statement.encode()).hexdigest()
    line = EvidenceLine(
        rollout_path="built-in",
        byte_start=0,
        byte_end=len(statement.encode()),
        line_sha256=digest,
        speaker=speaker,
        at=_MOMENT,
        quote=statement,
    )
    return Entry(
        entry_id=f"e_{digest[:24]}",
        thread_id="first",
        kind=kind,
        scope=_SCOPE,
        condition="",
        statement=statement,
        evidence=(line,),
    )


def _say(store: Store, thread_id: str, *entries: Entry) -> None:
    """Store what a session said, as phase one would."""
    entries = tuple(replace(entry, thread_id=thread_id) for entry in entries)
    path = f"/built-in/{thread_id}.jsonl"
    file = RolloutFile(Agent.CODEX, path, thread_id, archived=False, size=1, mtime_ns=1, inode=1, device=1)
    facts = ThreadFacts(
        thread_id=thread_id,
        agent=Agent.CODEX,
        source=Source.INTERACTIVE,
        cwd="/built-in",
        git_remote=None,
        git_branch=None,
        title=None,
        started_at=_MOMENT,
        updated_at=_MOMENT,
        prompt_count=1,
        result_chars=1,
        gives_direction=True,
        memory_mode=None,
        model_provider=None,
        external_context=False,
        rate_limits=(),
        content_digest=thread_id,
        understood_lines=1,
        total_lines=1,
        skipped_lines={},
        unknown_types={},
    )
    store.threads.record_reading(file, facts, _SCOPE, now=_MOMENT)
    store.jobs.set_gates({thread_id: None})
    lease = store.jobs.claim(owner="self-test", now=_MOMENT, lease_seconds=60, max_attempts=1).lease
    if lease is None:
        return
    task = Task(title="Built in", outcome=TaskOutcome.SUCCESS, entries=entries)
    store.jobs.complete(
        lease,
        Extraction(
            thread_id=thread_id,
            rollout_summary="Built in.",
            slug="built_in",
            raw_memory="",
            tasks=(task,),
            coverage=Coverage.HIGH,
        ),
        now=_MOMENT,
    )
