"""The answers of the interface: one type each, from which their description is made too."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Struct

from memory_pipeline.clock import iso
from memory_pipeline.config import JOURNAL_FILE
from memory_pipeline.records import (
    Actor,
    AppliedOperation,
    Coverage,
    Decider,
    Draft,
    DraftLabel,
    EntryKind,
    EvidenceLine,
    Gate,
    JobState,
    Memory,
    MemoryStatus,
    OperationKind,
    Phase2Outcome,
    Readiness,
    ReviewStatus,
    RunCounts,
    Speaker,
    SubmittedStatus,
)
from memory_pipeline.rollouts.readback import EvidenceState

if TYPE_CHECKING:
    from memory_pipeline.forget.forgetting import Plan
    from memory_pipeline.forget.receipt import Receipt
    from memory_pipeline.recall.search import Found
    from memory_pipeline.recall.why import ExplainedEntry, ExplainedMemory
    from memory_pipeline.rollouts.readback import ReadBack

Moment = Annotated[str, msgspec.Meta(description="ISO 8601 in UTC, ending in Z.")]


class MemoryDocument(Struct, frozen=True, kw_only=True):
    """One memory."""

    memory_id: str
    kind: EntryKind
    scope: str
    condition: str
    statement: str
    status: MemoryStatus
    pinned: bool
    entries: list[str]
    threads: list[str]
    first_seen: Moment | None
    last_confirmed: Moment | None
    usage_count: int
    last_usage: Moment | None
    supersedes: list[str]
    superseded_by: str | None


class MemoryList(Struct, frozen=True, kw_only=True):
    """Memories, by scope; ``total`` counts those that fit, also past the limit."""

    memories: list[MemoryDocument]
    total: int


class EvidenceDocument(Struct, frozen=True, kw_only=True):
    """One line that an entry rests on, and whether it still stands in the log."""

    rollout_path: str
    byte_start: int
    byte_end: int
    line_sha256: str
    speaker: Speaker
    at: Moment | None
    quote: str
    state: EvidenceState | None = None
    words: str | None = None
    reason: str = ""


class EntryDocument(Struct, frozen=True, kw_only=True):
    """What one thread says; ``stands`` is false once it no longer does."""

    entry_id: str
    thread_id: str
    kind: EntryKind
    scope: str
    condition: str
    statement: str
    stands: bool
    evidence: list[EvidenceDocument]


class WordingDocument(Struct, frozen=True, kw_only=True):
    """What a memory said before a step."""

    kind: EntryKind
    scope: str
    condition: str
    statement: str
    status: MemoryStatus
    pinned: bool


class StepDocument(Struct, frozen=True, kw_only=True):
    """One step of a history."""

    operation: OperationKind
    actor: Actor
    at: Moment | None
    consolidation: int
    reason: str
    entry_id: str | None
    other_memory_id: str | None
    before: WordingDocument | None


class MemoryDetails(Struct, frozen=True, kw_only=True):
    """One memory, how it came to be, and what it rests on."""

    memory: MemoryDocument
    reason: str
    history: list[StepDocument]
    entries: list[EntryDocument]


class FoundDocument(Struct, frozen=True, kw_only=True):
    """One memory that a query found, and by what."""

    memory: MemoryDocument
    score: float
    matched: list[str]
    where: str
    snippet: str


class FoundList(Struct, frozen=True, kw_only=True):
    """What a query found, the best first."""

    found: list[FoundDocument]


class DraftDocument(Struct, frozen=True, kw_only=True):
    """One draft: an entry that waits for a decision, or was decided about."""

    entry_id: str
    thread_id: str
    kind: EntryKind
    scope: str
    condition: str
    statement: str
    label: DraftLabel
    readiness: Readiness
    coverage: Coverage
    rationale: str
    nearest: list[str]
    review_status: ReviewStatus
    decided_by: Decider | None
    review_note: str
    reviewed_at: Moment | None
    deferred_until: Moment | None
    drafted_at: Moment | None
    dropped: str | None
    merges: list[str]
    carried_out: int | None
    version: Annotated[
        str, msgspec.Meta(description="Changes when the draft does; sent back with a decision about it.")
    ]
    evidence: list[EvidenceDocument]


class DraftList(Struct, frozen=True, kw_only=True):
    """Drafts; ``total`` counts those that fit, also past the limit."""

    drafts: list[DraftDocument]
    total: int


class DecidedDocument(Struct, frozen=True, kw_only=True):
    """What became of a decision: drafts that ``changed`` meanwhile, or are ``gone``, were not decided about."""

    drafts: list[DraftDocument]
    changed: list[str]
    gone: list[str]


class NamedWords(Struct, frozen=True, kw_only=True):
    """Something that goes, and what it says."""

    name: str
    scope: str
    statement: str


class Rewording(Struct, frozen=True, kw_only=True):
    """A memory that stays, since others support it, and says something else from then on."""

    memory_id: str
    before: str
    after: str


class ForgetAnswer(Struct, frozen=True, kw_only=True):
    """What goes, or went. After a dry run there is no ``receipt``."""

    dry_run: bool
    counts: dict[str, int]
    threads: list[str]
    entries: list[NamedWords]
    memories: list[NamedWords]
    reworded: list[Rewording]
    handbook_lines: list[str]
    receipt: ReceiptDocument | None = None


class ReceiptDocument(Struct, frozen=True, kw_only=True):
    """What a search of every file found afterwards."""

    is_clean: bool
    searched_for: int
    searched_files: int
    still_hold: int
    unread: int
    notes: list[str]


class Phase1Document(Struct, frozen=True, kw_only=True):
    """What phase one did."""

    discovered: int
    eligible: int
    claimed: int
    succeeded: int
    no_output: int
    failed: int
    skipped: dict[str, int]
    input_tokens: int
    output_tokens: int
    seconds: float


class Phase2Document(Struct, frozen=True, kw_only=True):
    """What phase two did."""

    outcome: Phase2Outcome
    selected: int
    added: int
    modified: int
    removed: int
    seconds: float


class RunDocument(Struct, frozen=True, kw_only=True):
    """What a run did."""

    phase1: Phase1Document
    phase2: Phase2Document
    drafts_waiting: int
    problems: list[str]


class LogRow(Struct, frozen=True, kw_only=True):
    """What became of one task; ``why`` says what holds it back, or what went wrong."""

    task_id: str
    thread_id: str
    scope: str
    title: str | None
    status: SubmittedStatus | None
    started_at: Moment | None
    finished_at: Moment | None
    external_context: bool
    state: JobState
    gate: Gate | None
    why: str | None
    retry_at: Moment | None
    memories: list[str]


class LogDocument(Struct, frozen=True, kw_only=True):
    """What became of the tasks; ``total`` counts those past the limit too."""

    tasks: list[LogRow]
    total: int


class TaskDocument(Struct, frozen=True, kw_only=True):
    """A task that was taken in; ``is_new`` is false where it said just what was known."""

    task: LogRow
    is_new: bool


class SettingsDocument(Struct, frozen=True, kw_only=True):
    """The settings in force. Without a model, that of the server's configuration is used."""

    generate_memories: bool
    use_memories: bool
    disable_on_external_context: bool
    min_rate_limit_remaining_percent: float
    idle_seconds: float
    min_duration_seconds: float
    min_result_chars: int
    extract_model: str | None
    consolidation_model: str | None


class FlagsDocument(Struct, frozen=True, kw_only=True):
    """The switches of one task, null where it follows the settings; and what holds for it with them."""

    task_id: str
    use: bool | None
    generate: bool | None
    may_use: bool
    may_generate: bool


class Without(StrEnum):
    """Why a task is given nothing."""

    SWITCHED_OFF = "switched_off"
    CONTINUED = "continued"  # it goes on with a task that was given its context
    GIVEN_BEFORE = "given_before"
    NOTHING = "nothing_remembered"


class ToldMemory(Struct, frozen=True, kw_only=True):
    """One memory that stands in a context."""

    memory_id: str
    scope: str
    kind: EntryKind
    condition: str
    statement: str
    pinned: bool
    last_confirmed: Moment | None


class ContextDocument(Struct, frozen=True, kw_only=True):
    """What a task is given: a text to put before its first turn; null, and why, where there is nothing to give."""

    context: str | None
    tokens: int
    scope: str | None
    memories: list[ToldMemory]
    not_shown: dict[str, int]
    without: Without | None


def memory_document(memory: Memory) -> MemoryDocument:
    """Return one memory as it is shown."""
    return MemoryDocument(
        memory_id=memory.memory_id,
        kind=memory.kind,
        scope=memory.scope,
        condition=memory.condition,
        statement=memory.statement,
        status=memory.status_now,
        pinned=memory.pinned,
        entries=list(memory.entry_ids),
        threads=list(memory.thread_ids),
        first_seen=iso(memory.first_seen),
        last_confirmed=iso(memory.last_confirmed),
        usage_count=memory.usage.count,
        last_usage=iso(memory.usage.last_usage),
        supersedes=list(memory.supersedes),
        superseded_by=memory.superseded_by,
    )


def memory_details(item: ExplainedMemory) -> MemoryDetails:
    """Return one memory with its history and its evidence."""
    return MemoryDetails(
        memory=memory_document(item.memory),
        reason=item.memory.reason,
        history=[_step_document(step) for step in item.history],
        entries=[_entry_document(entry) for entry in item.entries],
    )


def found_list(found: Iterable[Found]) -> FoundList:
    """Return what a query found."""
    return FoundList(
        found=[
            FoundDocument(
                memory=memory_document(one.memory),
                score=round(one.score, 3),
                matched=list(one.matched),
                where=one.where,
                snippet=one.snippet,
            )
            for one in found
        ]
    )


def draft_document(draft: Draft, *, version: str) -> DraftDocument:
    """Return one draft as it is shown."""
    return DraftDocument(
        entry_id=draft.entry.entry_id,
        thread_id=draft.entry.thread_id,
        kind=draft.entry.kind,
        scope=draft.entry.scope,
        condition=draft.entry.condition,
        statement=draft.entry.statement,
        label=draft.label,
        readiness=draft.readiness,
        coverage=draft.coverage,
        rationale=draft.rationale,
        nearest=list(draft.nearest),
        review_status=draft.review_status,
        decided_by=draft.decided_by,
        review_note=draft.review_note,
        reviewed_at=iso(draft.reviewed_at),
        deferred_until=iso(draft.deferred_until),
        drafted_at=iso(draft.drafted_at),
        dropped=draft.dropped,
        merges=list(draft.merges),
        carried_out=draft.carried_out,
        version=version,
        evidence=[_evidence_document(line) for line in draft.entry.evidence],
    )


def forget_answer(plan: Plan, receipt: Receipt | None = None) -> ForgetAnswer:
    """Return what goes, or went."""
    kept, erasure = plan.kept, plan.erasure
    return ForgetAnswer(
        dry_run=receipt is None,
        counts=dict(plan.counts if receipt is None else receipt.counts),
        threads=sorted(erasure.threads),
        entries=[
            NamedWords(name=name, scope=one.scope, statement=one.statement)
            for name, one in kept.entries.items()
            if name in erasure.entries
        ],
        memories=[
            NamedWords(name=name, scope=kept.memories[name].scope, statement=kept.memories[name].statement)
            for name in sorted(erasure.memories)
        ],
        reworded=[
            Rewording(memory_id=name, before=kept.memories[name].statement, after=memory.statement)
            for name, memory in sorted(erasure.reworded.items())
            if memory.statement != kept.memories[name].statement
        ],
        handbook_lines=list(plan.found.handbook_lines),
        receipt=_receipt_document(receipt) if receipt is not None else None,
    )


def run_document(counts: RunCounts) -> RunDocument:
    """Return what a run did."""
    one, two = counts.phase1, counts.phase2
    return RunDocument(
        phase1=Phase1Document(
            discovered=one.discovered,
            eligible=one.eligible,
            claimed=one.claimed,
            succeeded=one.succeeded,
            no_output=one.no_output,
            failed=one.failed,
            skipped=dict(one.skipped),
            input_tokens=one.input_tokens,
            output_tokens=one.output_tokens,
            seconds=round(one.seconds, 3),
        ),
        phase2=Phase2Document(
            outcome=two.outcome,
            selected=two.selected,
            added=two.added,
            modified=two.modified,
            removed=two.removed,
            seconds=round(two.seconds, 3),
        ),
        drafts_waiting=counts.review.pending,
        problems=list(dict.fromkeys((*one.problems, *counts.review.problems, *two.problems))),
    )


def _step_document(step: AppliedOperation) -> StepDocument:
    done, before = step.operation, step.before
    return StepDocument(
        operation=done.kind,
        actor=done.actor,
        at=iso(step.at),
        consolidation=step.consolidation_id,
        reason=done.reason,
        entry_id=done.entry_id,
        other_memory_id=done.other_memory_id,
        before=None
        if before is None
        else WordingDocument(
            kind=before.kind,
            scope=before.scope,
            condition=before.condition,
            statement=before.statement,
            status=before.status,
            pinned=before.pinned,
        ),
    )


def _entry_document(item: ExplainedEntry) -> EntryDocument:
    entry = item.entry
    pairs = zip(entry.evidence, item.evidence, strict=True)
    return EntryDocument(
        entry_id=entry.entry_id,
        thread_id=entry.thread_id,
        kind=entry.kind,
        scope=entry.scope,
        condition=entry.condition,
        statement=entry.statement,
        stands=item.stands,
        evidence=[_evidence_document(line, read) for line, read in pairs],
    )


def _evidence_document(line: EvidenceLine, read: ReadBack | None = None) -> EvidenceDocument:
    return EvidenceDocument(
        rollout_path=_shown_path(line.rollout_path),
        byte_start=line.byte_start,
        byte_end=line.byte_end,
        line_sha256=line.line_sha256,
        speaker=line.speaker,
        at=iso(line.at),
        quote=line.quote,
        state=read.state if read is not None else None,
        words=read.words if read is not None else None,
        reason=read.reason if read is not None else "",
    )


def _shown_path(path: str) -> str:
    """Return where a log lies; of our own journal its name alone, since its folder is the server's matter."""
    return JOURNAL_FILE if path.endswith(f"/{JOURNAL_FILE}") else path


def _receipt_document(receipt: Receipt) -> ReceiptDocument:
    return ReceiptDocument(
        is_clean=receipt.is_clean,
        searched_for=receipt.searched_for,
        searched_files=sum(receipt.places.values()),
        still_hold=len(receipt.still_hold),
        unread=len(receipt.unread),
        notes=list(receipt.notes),
    )
