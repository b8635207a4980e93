"""From an extractor's answer to what may be stored: every proposal is checked, redacted and tied to its lines."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from memory_pipeline.directions import find_directions, own_words
from memory_pipeline.raw_memory import render_raw_memory
from memory_pipeline.records import (
    STATED_KINDS,
    USER_SCOPE,
    Coverage,
    Entry,
    EntryDraft,
    EntryKind,
    EventKind,
    Evidence,
    EvidenceLine,
    EvidenceRow,
    Extraction,
    ExtractionAnswer,
    Speaker,
    StoredExtraction,
    Task,
    TaskDraft,
    TaskOutcome,
)
from memory_pipeline.redact import redact
from memory_pipeline.statements import one_line, statement_fault
from memory_pipeline.tombstones import Tombstones

QUOTE_CHARS = 500
TITLE_CHARS = 80
CONDITION_CHARS = 200
SLUG_CHARS = 60
SUMMARY_CHARS = 6_000
SUMMARY_LINE_CHARS = 1_000

#: What one thread may say at most; a model that lists everything would drown what matters.
MOST_TASKS = 20
MOST_ENTRIES = 60
MOST_EVIDENCE = 8
MOST_PATHS = 20


ScopeAt = Callable[[str | None], str]


def check_answer(answer: ExtractionAnswer, evidence: Evidence, *, scope_at: ScopeAt | None = None) -> Extraction:
    """Keep what stands in an answer; what breaks a rule is dropped and counted by its reason.

    ``scope_at`` tells the project scope of a working folder; by default all of the thread is of one project.
    """
    scope_at = scope_at or (lambda _cwd: evidence.scope)
    rows = {row.number: row for row in evidence.rows}
    dropped: dict[str, int] = {}
    seen: set[str] = set()
    tasks: list[Task] = []
    for number, draft in enumerate(answer.tasks):
        if len(tasks) == MOST_TASKS:
            _count(dropped, "too_many", sum(len(late.entries) for late in answer.tasks[number:]))
            break
        task = _check_task(draft, evidence, rows, scope_at, dropped, seen)
        if task is not None:
            tasks.append(task)
    summary = _clean_summary(answer.rollout_summary)
    if not summary and tasks:
        summary = "\n".join(f"- {task.title} ({task.outcome})" for task in tasks)
    if not summary:
        tasks = []
    return Extraction(
        thread_id=evidence.thread_id,
        rollout_summary=summary,
        slug=clean_slug(answer.rollout_slug) if summary else "",
        raw_memory=render_raw_memory(tasks),
        tasks=tuple(tasks),
        # What one thread says beyond its room is no less lost than what was not read.
        coverage=evidence.coverage if answer.saw_all_rows and "too_many" not in dropped else Coverage.PARTIAL,
        dropped_entries=dropped,
        redactions=evidence.redactions,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
    )


def keep_earlier_entries(new: Extraction, earlier: StoredExtraction | None) -> Extraction:
    """Let a partial reading add to what a thread said before, never replace it.

    What it missed may still stand in the log.
    """
    if earlier is None or new.coverage is Coverage.HIGH:
        return new
    said_again = {entry.entry_id for task in new.tasks for entry in task.entries}
    tasks = list(new.tasks)
    # A log that stays torn is read partially for ever; what it adds is bounded like everything one thread says.
    room = max(MOST_ENTRIES - len(said_again), 0)
    for task in earlier.tasks:
        missing = tuple(entry for entry in task.entries if entry.entry_id not in said_again)[:room]
        room -= len(missing)
        if missing:
            tasks.append(Task(title=task.title, outcome=task.outcome, entries=missing))
    if len(tasks) == len(new.tasks) and new.rollout_summary:
        return new
    return Extraction(
        thread_id=new.thread_id,
        rollout_summary=new.rollout_summary or earlier.rollout_summary,
        slug=new.slug or earlier.slug,
        raw_memory=render_raw_memory(tasks),
        tasks=tuple(tasks),
        coverage=new.coverage,
        dropped_entries=new.dropped_entries,
        redactions=new.redactions,
        input_tokens=new.input_tokens,
        output_tokens=new.output_tokens,
    )


def keep_spared_entries(new: Extraction, earlier: StoredExtraction | None, tombstones: Tombstones) -> Extraction:
    """Carry over what a thread said before and no reading finds again, since a line that it rests on was forgotten.

    What was forgotten itself is left out, whatever the reading says.
    """
    said_again = {(entry.scope, entry.statement) for task in new.tasks for entry in task.entries}
    tasks = [
        replace(task, entries=tuple(entry for entry in task.entries if not tombstones.has_entry(entry)))
        for task in new.tasks
    ]
    for task in earlier.tasks if earlier is not None else ():
        spared = tuple(
            entry
            for entry in task.entries
            if tombstones.spares(entry.entry_id)
            and not tombstones.has_entry(entry)
            and (entry.scope, entry.statement) not in said_again
        )
        if spared:
            tasks.append(replace(task, entries=spared))
    if tasks == list(new.tasks):
        return new
    return replace(
        new,
        rollout_summary=new.rollout_summary or (earlier.rollout_summary if earlier is not None else ""),
        slug=new.slug or (earlier.slug if earlier is not None else ""),
        raw_memory=render_raw_memory(tasks),
        tasks=tuple(tasks),
    )


def clean_slug(slug: str) -> str:
    """Make a slug of ``[a-z0-9_]``, at most 60 characters; ``session`` when nothing is left."""
    cleaned = re.sub(r"[^a-z0-9]+", "_", redact(slug).text.lower()).strip("_")[:SLUG_CHARS].strip("_")
    return cleaned or "session"


def _check_task(
    draft: TaskDraft,
    evidence: Evidence,
    rows: Mapping[int, EvidenceRow],
    scope_at: ScopeAt,
    dropped: dict[str, int],
    seen: set[str],
) -> Task | None:
    entries = []
    for proposal in draft.entries:
        entry = _check_entry(proposal, evidence, rows, scope_at)
        if isinstance(entry, str):
            _count(dropped, entry)
        elif entry.entry_id in seen or len(seen) >= MOST_ENTRIES:
            _count(dropped, "duplicate" if entry.entry_id in seen else "too_many")
        else:
            seen.add(entry.entry_id)
            entries.append(entry)
    title = one_line(redact(draft.title).text, TITLE_CHARS)
    if not title and not entries:
        return None
    outcome = TaskOutcome(draft.outcome) if draft.outcome in set(TaskOutcome) else TaskOutcome.UNCERTAIN
    return Task(title=title or "Untitled task", outcome=outcome, entries=tuple(entries))


def _count(dropped: dict[str, int], reason: str, number: int = 1) -> None:
    if number:
        dropped[reason] = dropped.get(reason, 0) + number


def _check_entry(
    draft: EntryDraft, evidence: Evidence, rows: Mapping[int, EvidenceRow], scope_at: ScopeAt
) -> Entry | str:
    """Return the entry, or the name of the rule that the proposal breaks."""
    if draft.kind not in set(EntryKind):
        return "unknown_kind"
    kind = EntryKind(draft.kind)
    cited = [rows[number] for number in dict.fromkeys(draft.evidence) if number in rows][:MOST_EVIDENCE]
    if not cited:
        return "no_such_row"
    if kind in STATED_KINDS and not any(_is_persons_word(row) for row in cited):
        return "not_said_by_user"
    if kind in STATED_KINDS and _was_pasted(draft.statement, cited):
        return "pasted"
    if kind not in STATED_KINDS and all(row.speaker is Speaker.HARNESS for row in cited):
        return "only_harness"
    statement = redact(draft.statement.strip()).text
    fault = statement_fault(statement)
    if fault is not None:
        return fault
    scope = scope_at(next((row for row in cited if _is_persons_word(row)), cited[0]).cwd)
    if draft.scope == USER_SCOPE and any(_is_said_everywhere(row, statement) for row in cited):
        scope = USER_SCOPE
    calls = {row.call_id: row for row in rows.values() if row.call_id and row.kind is EventKind.TOOL_CALL}
    lines = tuple(_evidence_line(row, calls, evidence.rollout_path, statement) for row in cited)
    return Entry(
        entry_id=_entry_id(evidence.thread_id, kind, scope, statement, lines),
        thread_id=evidence.thread_id,
        kind=kind,
        scope=scope,
        condition=one_line(redact(draft.condition).text, CONDITION_CHARS),
        statement=statement,
        evidence=lines,
    )


def _is_persons_word(row: EvidenceRow) -> bool:
    return row.speaker is Speaker.USER and row.kind is EventKind.PROMPT and bool(own_words(row.text).strip())


def _was_pasted(statement: str, cited: Sequence[EvidenceRow]) -> bool:
    """Whether a statement comes from what the person pasted beside their own words, and not from those."""
    said = [row for row in cited if _is_persons_word(row)]
    words = _words(statement)
    own = set().union(*(_words(own_words(row.text)) for row in said))
    pasted = set().union(*(_words(row.text) for row in said)) - own
    return len(words & pasted) > len(words & own)


def _is_said_everywhere(row: EvidenceRow, statement: str) -> bool:
    if not _is_persons_word(row):
        return False
    words = _words(statement)
    said = [direction for direction in find_directions(row.text) if direction.everywhere]
    # Another direction in the same prompt may hold everywhere without this one doing so.
    return any(2 * len(words & _words(direction.text)) >= len(words) for direction in said)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+", text.casefold()))


def _evidence_line(
    row: EvidenceRow, calls: Mapping[str, EvidenceRow], rollout_path: str, statement: str
) -> EvidenceLine:
    call = calls.get(row.call_id or "", row)  # a result is told by what was called
    return EvidenceLine(
        rollout_path=rollout_path,
        byte_start=row.byte_start,
        byte_end=row.byte_end,
        line_sha256=row.line_sha256,
        speaker=row.speaker,
        at=row.at,
        quote=_quote(row.text, statement),
        turn=row.turn,
        command=command[:QUOTE_CHARS] if (command := row.command or call.command) else None,
        paths=(row.paths or call.paths)[:MOST_PATHS],
    )


def _quote(text: str, statement: str) -> str:
    """Take the part of a row around the words that the statement took from it."""
    if len(text) <= QUOTE_CHARS:
        return text
    found = max(text.find(statement[:40]), 0)
    start = max(0, min(found - QUOTE_CHARS // 4, len(text) - QUOTE_CHARS))
    return text[start : start + QUOTE_CHARS]


def _entry_id(thread_id: str, kind: EntryKind, scope: str, statement: str, lines: Sequence[EvidenceLine]) -> str:
    parts = [thread_id, kind, scope, statement, *sorted(line.line_sha256 for line in lines)]
    return "e_" + hashlib.sha256("\x1f".join(parts).encode("utf-8", "replace")).hexdigest()[:24]


def _clean_summary(summary: str) -> str:
    lines = []
    for line in redact(summary).text.splitlines():
        is_item = re.match(r"\s*[-*]\s", line) is not None
        is_heading = re.match(r"\s*#", line) is not None
        words = one_line(line, SUMMARY_LINE_CHARS)
        prefix = "- " if is_item else "### " if is_heading else ""
        lines.append(f"{prefix}{words}" if words else "")
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    return text if len(text) <= SUMMARY_CHARS else text[: SUMMARY_CHARS - 1].rstrip() + "…"
