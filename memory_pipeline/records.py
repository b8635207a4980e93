"""Frozen records and outcome enums that the rooms hand to each other. Times are seconds since the epoch, UTC."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct, field

# Told here too: most rooms know them from here.
from memory_pipeline.kinds import PROJECT_SCOPE_PREFIX as PROJECT_SCOPE_PREFIX  # noqa: PLC0414
from memory_pipeline.kinds import STATED_KINDS as STATED_KINDS  # noqa: PLC0414
from memory_pipeline.kinds import USER_SCOPE as USER_SCOPE  # noqa: PLC0414
from memory_pipeline.kinds import WITHDRAWING_GATES as WITHDRAWING_GATES  # noqa: PLC0414
from memory_pipeline.kinds import Agent as Agent  # noqa: PLC0414
from memory_pipeline.kinds import EntryKind as EntryKind  # noqa: PLC0414
from memory_pipeline.kinds import Gate as Gate  # noqa: PLC0414
from memory_pipeline.kinds import MemoryStatus as MemoryStatus  # noqa: PLC0414
from memory_pipeline.kinds import SettingRecord as SettingRecord  # noqa: PLC0414
from memory_pipeline.kinds import Source as Source  # noqa: PLC0414


class Speaker(StrEnum):
    """Whose words a row is. A person's word is ``user``; everything that merely stands under role user is not."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    HARNESS = "harness"
    OTHER_AGENT = "other_agent"


class EventKind(StrEnum):
    """What one event of a rollout is."""

    PROMPT = "prompt"  # the person typed it (or answered a question that the agent asked)
    SHELL = "shell"  # the person's own shell command; its output is a TOOL_RESULT that names it by call_id
    COMMENTARY = "commentary"  # the assistant, while working
    FINAL_ANSWER = "final_answer"  # the assistant, at the end of a turn
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    INTERRUPTED = "interrupted"  # the person stopped the turn
    FAILED_TURN = "failed_turn"  # the turn ended in an error of the agent or its provider
    COMPACTED = "compacted"  # the context was compacted here; repeats nothing that counts
    REPORT = "report"  # a sub-agent's or reviewer's words
    CONTEXT = "context"  # put in by the harness: instructions, environment, reminders, injected memory


class ToolStatus(StrEnum):
    """How a tool call ended, for a TOOL_RESULT."""

    OK = "ok"
    FAILED = "failed"
    DENIED = "denied"  # the person or the policy refused it; it did not run
    INTERRUPTED = "interrupted"
    UNKNOWN = "unknown"


class Coverage(StrEnum):
    """Whether every row that matters was seen."""

    HIGH = "high"
    PARTIAL = "partial"


class JobState(StrEnum):
    """The state of a thread's extraction. ``gated`` is shown while a gate holds back what was never extracted."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    NO_OUTPUT = "no_output"
    ERROR = "error"
    EXHAUSTED = "exhausted"
    GATED = "gated"


class TaskOutcome(StrEnum):
    """How one task of a session ended."""

    SUCCESS = "success"
    PARTIAL = "partial"
    FAIL = "fail"
    UNCERTAIN = "uncertain"


class Event(NamedTuple):
    """One thing that happened in a rollout, in the log's order. A named tuple, since a log has thousands.

    Several events may come from one line (an assistant message with several blocks); they share the line's byte
    range. ``byte_start`` to ``byte_end`` (exclusive, without the line end) count the plain, decompressed log.
    """

    kind: EventKind
    speaker: Speaker
    text: str
    at: float | None
    byte_start: int
    byte_end: int
    line_number: int  # from 1
    turn: int  # from 0; a prompt of the person opens the next one
    cwd: str | None = None  # the working folder of the turn, as the log says
    call_id: str | None = None  # joins TOOL_CALL and TOOL_RESULT, SHELL and its result
    tool: str | None = None  # the tool's own name, for TOOL_CALL and (where known) TOOL_RESULT
    command: str | None = None  # the shell command line, when the call runs one
    paths: tuple[str, ...] = ()  # files that a TOOL_CALL writes or edits
    status: ToolStatus | None = None  # for TOOL_RESULT
    exit_code: int | None = None  # for TOOL_RESULT of a shell command, where the log tells it
    external: bool = False  # web or MCP: words from outside the machine
    places: tuple[str, ...] = ()  # what a TOOL_CALL names beside its text: its folder, files that a script opens
    session: str | None = None  # the running command that a call starts or goes on with


class RateLimit(Struct, frozen=True, kw_only=True):
    """One rate-limit window, as a rollout last reported it."""

    used_percent: float
    window_minutes: int | None
    resets_at: float | None
    seen_at: float


class RolloutFile(NamedTuple):
    """A rollout found on disk, before it is opened. A named tuple, since every pass makes one for each file."""

    agent: Agent
    path: str  # absolute, below the resolved home
    thread_id: str  # from the file's name; the log may know better
    archived: bool
    size: int  # bytes on disk
    mtime_ns: int
    inode: int
    device: int


class Citation(Struct, frozen=True, kw_only=True):
    """What one final answer says it used: threads, and lines of MEMORY.md."""

    citation_id: str  # the same wherever the same answer stands
    at: float | None
    threads: tuple[str, ...]
    lines: tuple[int, ...]  # numbers from 1, ascending


class ThreadFacts(Struct, frozen=True, kw_only=True):
    """What one reading of a rollout tells about its thread, for the index and the gates."""

    thread_id: str
    agent: Agent
    source: Source
    cwd: str | None  # of the session's start, else of its first turn
    git_remote: str | None  # as the log says; credentials are dropped when the scope key is made
    git_branch: str | None
    title: str | None  # redacted first prompt of the person, one line of at most 80 characters
    started_at: float | None
    updated_at: float | None  # the last record's time that can be believed and has come
    prompt_count: int  # prompts of the person
    result_chars: int  # characters of the assistant's final answers
    gives_direction: bool  # a prompt of the person gives a direction to keep
    memory_mode: str | None  # "disabled" or "polluted", where the log says so
    model_provider: str | None
    external_context: bool  # web or MCP results stand in it
    rate_limits: tuple[RateLimit, ...]
    content_digest: str  # over the lines that yield events; equal digests mean: nothing new was said
    understood_lines: int
    total_lines: int
    skipped_lines: Mapping[str, int]  # reason -> count
    unknown_types: Mapping[str, int]  # line type -> count
    record_hashes: bytes = b""  # of the records' own ids, in order, eight bytes each, where the agent gives them ids
    skipped_places: tuple[tuple[int, str], ...] = ()  # the first hundred: line number, reason
    newest_at: float | None = None  # the last record's time that can be believed, though it may not have come yet
    forked_from: str | None = None  # the thread of which this one is a fork, as its log says
    disabled_from_start: bool = False  # memory_mode was "disabled" when the session began, so by a setting of its agent
    citations: tuple[Citation, ...] = ()  # of the final answers that stand


#: What stands in a row in the place of words that are kept from extraction.
WITHHELD = "[result of a web or MCP tool withheld]"
ECHO = "[what passed between the agent and a memory, left out: it is no new evidence]"


class EvidenceRow(Struct, frozen=True, kw_only=True):
    """One row that a model may see and cite: filtered, redacted, cut to the budget."""

    number: int  # from 1, unique in its evidence, in the log's order
    kind: EventKind
    speaker: Speaker
    text: str  # redacted; what was cut is marked in the text
    at: float | None
    turn: int
    byte_start: int
    byte_end: int
    line_sha256: str
    cwd: str | None = None
    call_id: str | None = None
    tool: str | None = None
    command: str | None = None
    paths: tuple[str, ...] = ()
    status: ToolStatus | None = None
    exit_code: int | None = None


class Evidence(Struct, frozen=True, kw_only=True):
    """The rows of one thread, in the log's order, with what is known of their completeness."""

    thread_id: str
    agent: Agent
    rollout_path: str
    cwd: str | None
    scope: str  # the thread's project scope, ``project:<key>``
    git_branch: str | None
    updated_at: float
    rows: tuple[EvidenceRow, ...]
    omitted_after: Mapping[int, int]  # row number -> how many rows were left out after it (0: before the first)
    coverage: Coverage
    redactions: Mapping[str, int]  # kind of secret -> how many were masked


class EntryDraft(Struct, frozen=True, kw_only=True):
    """One statement as an extractor proposes it; ``evidence`` lists row numbers. Nothing in it is trusted yet."""

    kind: str
    scope: str  # "user" or "project"
    condition: str  # under which it holds; "" when it always does
    statement: str
    evidence: tuple[int, ...]


class TaskDraft(Struct, frozen=True, kw_only=True):
    """One task of a session as an extractor proposes it."""

    title: str
    outcome: str
    entries: tuple[EntryDraft, ...]


class ExtractionAnswer(Struct, frozen=True, kw_only=True):
    """What an extractor gives back for one thread. All fields empty is a valid answer: nothing worth keeping."""

    rollout_summary: str
    rollout_slug: str
    tasks: tuple[TaskDraft, ...]
    input_tokens: int = 0
    output_tokens: int = 0
    requests: int = 0
    saw_all_rows: bool = True  # false: the input had to be cut further, so the reading is partial


class EvidenceLine(Struct, frozen=True, kw_only=True):
    """One piece of stored evidence: a whole raw line of a rollout, and the redacted words that count."""

    rollout_path: str
    byte_start: int
    byte_end: int
    line_sha256: str
    speaker: Speaker
    at: float | None
    quote: str  # redacted, at most 500 characters
    turn: int | None = None  # of its log, as events count them; None where it was stored before turns were
    command: str | None = None  # redacted: the shell command that the line runs or answers
    paths: tuple[str, ...] = ()  # redacted: files that its call writes or edits


class Entry(Struct, frozen=True, kw_only=True):
    """One immutable statement of a raw memory, with the lines it rests on."""

    entry_id: str
    thread_id: str
    kind: EntryKind
    scope: str
    condition: str
    statement: str
    evidence: tuple[EvidenceLine, ...]


class Task(Struct, frozen=True, kw_only=True):
    """One task of a session: what was wanted, how it ended, what it taught."""

    title: str
    outcome: TaskOutcome
    entries: tuple[Entry, ...]


class Extraction(Struct, frozen=True, kw_only=True):
    """The outputs of phase one for one thread, checked and ready to store."""

    thread_id: str
    rollout_summary: str
    slug: str
    raw_memory: str
    tasks: tuple[Task, ...]
    coverage: Coverage
    dropped_entries: Mapping[str, int] = field(default_factory=dict)  # why -> how many proposals were dropped
    redactions: Mapping[str, int] = field(default_factory=dict)  # kind of secret -> how many were masked in the log
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether there was nothing worth keeping."""
        return not self.tasks and not self.rollout_summary


class SeenFile(NamedTuple):
    """A rollout file as the index knows it. A named tuple, since every pass makes one for each file ever seen."""

    path: str
    thread_id: str
    archived: bool
    size: int
    mtime_ns: int
    inode: int
    device: int
    present: bool
    open_error: bool  # it could not be opened, so it is tried again on every pass


class IndexedThread(Struct, frozen=True, kw_only=True):
    """One thread of the index with the state of its job: what lists show and what gates look at."""

    thread_id: str
    agent: Agent
    rollout_path: str
    archived: bool
    present: bool  # its file is still on disk
    size: int
    index_error: str | None
    source: Source
    cwd: str | None
    scope: str
    git_branch: str | None
    title: str | None
    started_at: float | None
    updated_at: float
    prompt_count: int
    result_chars: int
    gives_direction: bool
    memory_mode: str | None
    model_provider: str | None
    external_context: bool
    content_digest: str
    understood_lines: int
    total_lines: int
    skipped_lines: Mapping[str, int]
    unknown_types: Mapping[str, int]
    disabled_by_person: bool
    skipped_places: tuple[tuple[int, str], ...] = ()  # the first hundred: line number, reason
    disabled_from_start: bool = False  # memory_mode was "disabled" when the session began
    is_shared_out: bool = True  # it is decided which of its records are its own
    gate: Gate | None
    job_state: JobState | None  # None: it never passed the gates
    source_digest: str | None  # the content for which job_state holds
    attempts: int
    retry_at: float | None
    last_error: str | None
    extracted: bool  # an outcome of phase one is stored
    no_output: bool  # and that outcome is no-output
    task_status: SubmittedStatus | None = None  # of a submitted task
    keeps_words: bool = False  # what it said stays though its gate would withdraw it: a whole project is switched off

    @property
    def is_withdrawn(self) -> bool:
        """Whether its gate withdraws what it said."""
        return self.gate in WITHDRAWING_GATES and not self.keeps_words

    @property
    def unpacks_past_limit(self) -> bool:
        """Whether it is a packed log with more plain text than it may have. What a plain one has, its size tells."""
        return self.rollout_path.endswith(".zst") and PAST_LIMIT in self.skipped_lines

    @property
    def rollout(self) -> RolloutFile:
        """Its file, to be read anew; what was last seen of the file's stamps is not told."""
        return RolloutFile(
            agent=self.agent,
            path=self.rollout_path,
            thread_id=self.thread_id,
            archived=self.archived,
            size=self.size,
            mtime_ns=0,
            inode=0,
            device=0,
        )

    @property
    def state(self) -> JobState:
        """The state as it is shown: the last stored outcome, or ``gated`` while a gate holds back what has none."""
        if self.is_withdrawn:
            return JobState.GATED
        if self.job_state in (JobState.RUNNING, JobState.DONE, JobState.NO_OUTPUT):
            return self.job_state
        if self.gate is not None:
            if self.extracted:
                return JobState.NO_OUTPUT if self.no_output else JobState.DONE
            return JobState.GATED
        return self.job_state or JobState.PENDING


#: Why reading a log stopped early: it has more plain text than it may have. One of ``skipped_lines``.
PAST_LIMIT = "past_limit"


class ClaimOutcome(StrEnum):
    """What asking for a job gave."""

    CLAIMED = "claimed"  # a job is leased to the caller
    NOTHING_DUE = "nothing_due"  # no candidate is pending, due for a retry, or left behind by a dead worker
    RESTING = "resting"  # the provider rests for everyone; nothing is claimed meanwhile


class Lease(Struct, frozen=True, kw_only=True):
    """The time-limited right to work on one thread."""

    thread: IndexedThread
    owner: str
    fence: int  # every completing write must still match it
    attempt: int  # from 1
    provider_faults: int  # how many times the provider failed on this thread since its source changed
    lease_until: float


class Claim(Struct, frozen=True, kw_only=True):
    """The answer to asking for a job."""

    outcome: ClaimOutcome
    lease: Lease | None = None
    rest_until: float | None = None


class StoredExtraction(Struct, frozen=True, kw_only=True):
    """What phase one stored for a thread, with the entries that still stand."""

    thread_id: str
    rollout_summary: str
    slug: str
    raw_memory: str
    tasks: tuple[Task, ...]
    coverage: Coverage
    generated_at: float
    source_updated_at: float
    dropped_entries: Mapping[str, int]
    redactions: Mapping[str, int] = field(default_factory=dict)


class Usage(Struct, frozen=True, kw_only=True):
    """How often something was cited or opened, and when last."""

    count: int = 0
    last_usage: float | None = None


class SelectedThread(Struct, frozen=True, kw_only=True):
    """One raw memory that a consolidation reads."""

    thread: IndexedThread
    extraction: StoredExtraction
    usage: Usage


class Memory(Struct, frozen=True, kw_only=True):
    """One consolidated statement: what MEMORY.md says."""

    memory_id: str
    kind: EntryKind
    scope: str
    condition: str
    statement: str
    status: MemoryStatus
    pinned: bool
    first_seen: float
    last_confirmed: float  # when it was last said, by the newest of its entries
    learned_at: float  # when it became a memory
    superseded_by: str | None
    reason: str  # why it has its status, in one line; "" while active
    entry_ids: tuple[str, ...]  # entries that still stand, in the order they joined
    thread_ids: tuple[str, ...]
    supersedes: tuple[str, ...]
    usage: Usage
    by_hand: bool = False  # its wording is from the person's own hand
    group: str = ""  # memories of one scope with the same mark here are told next to one another

    @property
    def status_now(self) -> MemoryStatus:
        """Its status by what stands now: the next consolidation retires what rests on nothing any more."""
        return self.status if self.entry_ids else MemoryStatus.RETIRED


class Actor(StrEnum):
    """Who proposes an operation."""

    RULES = "rules"  # the curator of rules
    MODEL = "model"  # a model as curator
    PERSON = "person"  # by an edit of MEMORY.md, a note, or a command


class OperationKind(StrEnum):
    """One typed change to the memories."""

    ADD = "add"  # a new memory that rests on an entry
    MERGE = "merge"  # an entry joins a memory that says the same
    REWORD = "reword"  # says what its entry says, or what the operation says in words of its entries
    SUPERSEDE = "supersede"  # a person's newer statement takes the place of their older one
    RETIRE = "retire"  # no longer told; findable, and can be restored
    RESTORE = "restore"  # told again
    PIN = "pin"  # neither retention nor a curator takes it out
    UNPIN = "unpin"
    GROUP = "group"  # is told next to other memories of its scope that belong to the same task
    REVERT = "revert"  # is as it was before a consolidation that the person undid


class Operation(Struct, frozen=True, kw_only=True):
    """A change that a curator or the person proposes, and then what was applied."""

    kind: OperationKind
    memory_id: str
    reason: str
    actor: Actor = Actor.RULES
    entry_id: str | None = None
    other_memory_id: str | None = None  # SUPERSEDE: the memory that takes its place; GROUP: the first of the group
    statement: str | None = None  # REWORD: the new wording, where it is not simply the entry's
    condition: str | None = None  # REWORD: the new condition, where it is not simply the entry's


class Change(Struct, frozen=True, kw_only=True):
    """An operation that took effect, and the memory as it was before; None when the operation made it."""

    operation: Operation
    before: Memory | None


class AppliedOperation(Struct, frozen=True, kw_only=True):
    """One operation of the history: what was done, when, in which consolidation, and what stood before."""

    operation: Operation
    consolidation_id: int
    at: float
    before: Memory | None  # the memory as it was before; None when this operation made it

    @property
    def tells_before(self) -> bool:
        """Whether it is known how the memory was; an operation of a program before 0.1.0 does not tell."""
        return self.before is not None or self.operation.kind is OperationKind.ADD


class ConsolidationKind(StrEnum):
    """What a consolidation was made for."""

    RUN = "run"  # a run of phase two
    PERSON = "person"  # a command of the person: only their words were taken in
    UNDO = "undo"  # it undid another one
    FORGET = "forget"  # it showed what a forgetting left


class Consolidation(Struct, frozen=True, kw_only=True):
    """One consolidation of the history."""

    consolidation_id: int
    kind: ConsolidationKind
    state: str  # running, publishing, done or failed
    started_at: float
    finished_at: float | None
    undoes: int | None  # the consolidation that this one undid
    undone_by: int | None
    operations: Mapping[str, int]  # operation -> count


class JournalAction(StrEnum):
    """What the person did, as one line of the journal tells it."""

    ADD = "add"  # said something to remember
    EDIT = "edit"  # worded a memory anew
    RETIRE = "retire"  # took a memory out
    RESTORE = "restore"  # had a memory told again
    PIN = "pin"
    UNPIN = "unpin"
    NOTE = "note"  # not the person: an agent noted something, and the person is to decide about it
    USE = "use"  # a memory or a thread was used


class JournalRecord(Struct, frozen=True, kw_only=True):
    """One line of the journal: what the person did, with the words that count."""

    record_id: str  # the same deed found twice has the same id
    action: JournalAction
    at: float
    origin: str  # "MEMORY.md", "command", "undo", or the path of a note in the workspace
    memory_id: str | None = None  # all but ADD and NOTE
    thread_id: str | None = None  # USE of a thread
    kind: EntryKind | None = None
    scope: str | None = None
    condition: str = ""
    statement: str = ""  # ADD, EDIT: what is said now; else what the memory said
    was: str = ""  # EDIT: what the memory said before
    was_condition: str = ""  # EDIT
    speaker: Speaker = Speaker.USER  # whose words they are: the person's, an extension's (tool), an agent's (assistant)


class SubmittedStatus(StrEnum):
    """How far a task is that another program submitted."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class SubmittedTask(Struct, frozen=True, kw_only=True):
    """A task that another program submitted, as a line of the journal tells it; a later line of it replaces that."""

    task_id: str
    scope: str  # a project's
    goal: str  # what was wanted, redacted
    result: str  # what came of it, redacted
    status: SubmittedStatus
    started_at: float
    finished_at: float | None  # None while it runs
    parent_task_id: str | None  # of a sub-task
    continued_from: str | None  # the task that it goes on with
    outside_context: bool  # something from outside the machine was used
    received_at: float

    @property
    def thread_id(self) -> str:
        """The id of its thread."""
        return f"{TASK_THREAD_PREFIX}{self.task_id}"

    @property
    def is_external(self) -> bool:
        """Whether what it says comes from elsewhere too: from outside, or from another task."""
        return self.outside_context or self.parent_task_id is not None or self.continued_from is not None


#: How the threads of submitted tasks are named.
TASK_THREAD_PREFIX = "task-"


class TaskLine(Struct, frozen=True, kw_only=True):
    """A task in the journal and where it stands there."""

    task: SubmittedTask
    byte_start: int
    byte_end: int  # exclusive, without the line end
    line_sha256: str


class JournalLine(Struct, frozen=True, kw_only=True):
    """A record of the journal and where it stands."""

    record: JournalRecord
    byte_start: int
    byte_end: int  # exclusive, without the line end
    line_sha256: str


class DraftLabel(StrEnum):
    """What a draft is to what is already remembered in its scope."""

    NEW = "new"  # nothing like it is remembered
    REFINE = "refine"  # much like a memory, and says it otherwise, or more
    CONFIRM = "confirm"  # says what a memory says
    CONFLICT = "conflict"  # can't hold together with a memory
    EPHEMERAL = "ephemeral"  # holds for the moment only


class Readiness(StrEnum):
    """What stands between a draft and the memories, by its label and its coverage."""

    READY_CANDIDATE = "ready-candidate"
    NEEDS_RAW_REVIEW = "needs-raw-review"  # its log was not read whole
    NEEDS_CONFLICT_REVIEW = "needs-conflict-review"
    LOCAL_ONLY = "local-only"  # is not to be remembered


class ReviewStatus(StrEnum):
    """What was decided about a draft. Only an approved one reaches phase two."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    DEFERRED = "deferred"


class Decider(StrEnum):
    """Who decided about a draft."""

    POLICY = "policy"  # review.mode
    PERSON = "person"
    REJECTION = "rejection"  # it says what the person rejected before


class ReviewEvent(Struct, frozen=True, kw_only=True):
    """One decision of a person about a draft, as its review log keeps it."""

    at: float
    status: ReviewStatus
    note: str = ""


class ReviewAct(StrEnum):
    """What a person did in the review, as one line of the journal tells it."""

    DECIDE = "decide"
    NOTE = "note"
    UNDO = "undo"  # took back what another line tells


class ReviewRecord(Struct, frozen=True, kw_only=True):
    """One line of the journal about a draft: whatever the database needs to know the decision again.

    Of the words of the draft it holds hashes alone, by which a rejection holds, and by which an entry that was read
    anew is known again.
    """

    record_id: str
    act: ReviewAct
    at: float
    batch: str  # the same for all that was decided at once
    entry_id: str
    thread_id: str
    kind: EntryKind
    scope: str
    fingerprint: str = ""  # of statement and condition; see review.fingerprint
    status: ReviewStatus | None = None  # DECIDE
    note: str = ""
    deferred_until: float | None = None
    undoes: str | None = None  # UNDO: the record that is taken back
    merges: tuple[str, ...] = ()  # of a draft about memories: their ids


class Draft(Struct, frozen=True, kw_only=True):
    """An entry under review."""

    entry: Entry
    coverage: Coverage  # of the reading that it is from
    label: DraftLabel
    readiness: Readiness
    rationale: str  # why it has its label, in one line without words of the memories
    nearest: tuple[str, ...]  # ids of the memories that are most like it, most alike first
    review_status: ReviewStatus
    decided_by: Decider | None  # None while it is pending
    review_note: str
    reviewed_at: float | None  # when a person last decided
    deferred_until: float | None
    review_log: tuple[ReviewEvent, ...]  # oldest first
    drafted_at: float
    dropped: str | None = None  # why it left the queue undecided: "age" or "rank"
    collaborator_notes: tuple[str, ...] = ()  # what review.collaborator said of it; never the person's words
    collaborator_evidence: tuple[str, ...] = ()
    is_said: bool = True  # its thread still says it; else it was withdrawn, and nothing can be decided about it
    merges: tuple[str, ...] = ()  # of a proposal about memories: the one that stays, then those that give way to it
    carried_out: int | None = None  # the consolidation that carried the proposal out

    @property
    def standing(self) -> tuple[object, ...]:
        """What whoever decides relies on: where it differs by then, the draft is not the one that was looked at."""
        return (self.label, self.readiness, self.review_status, self.decided_by, self.reviewed_at)


#: Where the entry of a draft would name its thread, if the draft is about memories.
MEMORIES_THREAD = "memories"


class Merge(Struct, frozen=True, kw_only=True):
    """A proposal that of several memories one stays, and the others give way to it."""

    merge_id: str
    label: DraftLabel  # refine: they say the same; conflict: they can't hold together
    keeps: str
    gives_way: tuple[str, ...]
    rationale: str = ""


class Judgement(Struct, frozen=True, kw_only=True):
    """What labelling and the policy say of an entry."""

    entry_id: str
    coverage: Coverage
    label: DraftLabel
    readiness: Readiness
    rationale: str
    nearest: tuple[str, ...]
    review_status: ReviewStatus  # pending, or what decided_by decided
    decided_by: Decider | None


class ReviewCounts(Struct, frozen=True, kw_only=True):
    """What one run of the review between the phases did, and what waits."""

    labelled: int = 0
    approved: int = 0  # by the policy, in this run
    pending: int = 0  # in the queue now
    dropped: int = 0  # that left the queue undecided in this run
    problems: tuple[str, ...] = ()


class Happened(StrEnum):
    """What the chronicle tells of a thread."""

    INDEXED = "indexed"  # its log was met for the first time
    GREW = "grew"  # its log says something new
    MOVED = "moved"  # its log lies elsewhere now
    VANISHED = "vanished"  # its log is gone
    RETURNED = "returned"  # its log is there again
    GATED = "gated"  # a gate closed
    OPENED = "opened"  # no gate holds it back any longer
    WITHDRAWN = "withdrawn"  # what it said does not count while that gate stands
    CLAIMED = "claimed"  # a run began to extract it
    TAKEN_OVER = "taken_over"  # the same, from a run that died
    SUCCEEDED = "succeeded"  # it gave entries
    NO_OUTPUT = "no_output"  # nothing in it was worth keeping
    FAILED = "failed"  # it will be tried again
    EXHAUSTED = "exhausted"  # it failed, and no tries are left
    GIVEN_BACK = "given_back"  # the run was stopped, or may not go on; no try was used
    RETRIED = "retried"  # the person gave it all its tries again
    DISABLED = "disabled"  # the person keeps it out
    ENABLED = "enabled"  # the person lets it count again
    FORGOTTEN = "forgotten"  # the person had it forgotten
    GIVEN = "given"  # memories were given to it at its start


class ChronicleLine(Struct, frozen=True, kw_only=True):
    """One line of the chronicle."""

    at: float
    thread_id: str
    what: Happened
    gate: Gate | None = None  # GATED
    # SUCCEEDED, WITHDRAWN: entries; GIVEN: memories; CLAIMED, TAKEN_OVER, FAILED, EXHAUSTED: tries used
    count: int | None = None
    reason: str | None = None  # FAILED, EXHAUSTED


class ConsolidationLine(Struct, frozen=True, kw_only=True):
    """One consolidation as the chronicle shows it, whatever became of it."""

    at: float  # its end, or its beginning while it has none
    consolidation_id: int
    kind: ConsolidationKind
    state: str  # running, publishing, done or failed
    started_at: float
    operations: Mapping[str, int]  # operation -> count
    reason: str | None  # why it failed


class Phase2Outcome(StrEnum):
    """How one run of phase two ended."""

    CONSOLIDATED = "consolidated"  # the workspace differed from the baseline and was published anew
    NO_CHANGES = "no_changes"  # nothing differed: nothing was touched
    NO_INPUTS = "no_inputs"  # no raw memory yet, and nothing remembered
    COOLDOWN = "cooldown"  # the last consolidation is too recent, or failed and waits
    LOCKED = "locked"  # another run holds the workspace lock
    FAILED = "failed"  # published files and baseline are as they were
    SKIPPED = "skipped"  # this run was not asked for phase two


class Phase1Counts(Struct, frozen=True, kw_only=True):
    """What one run of phase one did."""

    discovered: int = 0
    eligible: int = 0
    claimed: int = 0
    succeeded: int = 0
    no_output: int = 0
    failed: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    problems: tuple[str, ...] = ()  # sentences for the person: a home that is missing, a provider that rests


class Phase2Counts(Struct, frozen=True, kw_only=True):
    """What one run of phase two did."""

    outcome: Phase2Outcome = Phase2Outcome.SKIPPED
    selected: int = 0
    added: int = 0
    modified: int = 0
    removed: int = 0
    seconds: float = 0.0
    problems: tuple[str, ...] = ()


class RunCounts(Struct, frozen=True, kw_only=True):
    """What one pass did."""

    phase1: Phase1Counts = field(default_factory=Phase1Counts)
    review: ReviewCounts = field(default_factory=ReviewCounts)
    phase2: Phase2Counts = field(default_factory=Phase2Counts)
