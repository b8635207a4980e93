"""What commands print: one JSON document, or tables and sentences that fit the terminal."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
import orjson

from memory_pipeline.clock import iso
from memory_pipeline.config import Config
from memory_pipeline.records import (
    AppliedOperation,
    Consolidation,
    Draft,
    Entry,
    EvidenceLine,
    Gate,
    IndexedThread,
    Memory,
    OperationKind,
    Phase1Counts,
    Phase2Counts,
    Phase2Outcome,
    RunCounts,
    StoredExtraction,
    Usage,
)
from memory_pipeline.redact import redact

if TYPE_CHECKING:
    from memory_pipeline.phase1.index import Progress
    from memory_pipeline.pipeline import PassOptions


def print_json(document: Any) -> None:
    """Print exactly one JSON document on standard output."""
    text = orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()
    click.echo(text)


def say(sentence: str) -> None:
    """Tell the person something on standard error, so that standard output stays what was asked for."""
    click.echo(printable(redact(sentence).text), err=True)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, flexible: Sequence[str]) -> None:
    """Print a table that fits the terminal's width.

    ``flexible`` names the columns that give way first, in their order; then the others do, from the right. The first
    column, which names its row, never does unless it is named.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # Text, not markup: a log may hold brackets, and control characters must not reach the terminal.
    cells = [[Text(printable(cell)) for cell in row] for row in rows]
    console = Console(highlight=False, soft_wrap=False)
    widths = [max(len(column), *(row[number].cell_len for row in cells)) for number, column in enumerate(columns)]
    excess = sum(widths) + _COLUMN_GAP * (len(widths) - 1) - console.width
    for number in (*map(columns.index, flexible), *range(len(columns) - 1, 0, -1)):
        given = min(max(excess, 0), max(widths[number] - _NARROWEST_COLUMN, 0))
        widths[number] -= given
        excess -= given
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, _COLUMN_GAP - 1, 0, 0))
    for column, width in zip(columns, widths, strict=True):
        table.add_column(column, overflow="ellipsis", no_wrap=True, width=width)
    for row in cells:
        table.add_row(*row)
    with console.capture() as drawn:  # by itself it would end the program with 1 when the reader goes away
        console.print(table)
    click.echo(drawn.get(), nl=False)


_COLUMN_GAP = 2
_NARROWEST_COLUMN = 4


@contextmanager
def progress_bars(*, quiet: bool) -> Iterator[tuple[Progress, Progress]]:
    """Show how far indexing and extracting are: bars on a terminal, a line now and then elsewhere, nothing if quiet."""
    if quiet:
        yield _silent, _silent
    elif sys.stderr.isatty():
        with _bars() as progresses:
            yield progresses
    else:
        yield _Lines("indexed"), _Lines("extracted")


def run_document(counts: RunCounts) -> dict[str, Any]:
    """Return what ``run --json`` prints."""
    return {"phase1": _phase1_document(counts.phase1), "phase2": _phase2_document(counts.phase2)}


def thread_document(thread: IndexedThread) -> dict[str, Any]:
    """Return one thread as lists show it."""
    return {
        "thread_id": thread.thread_id,
        "agent": thread.agent,
        "rollout_path": thread.rollout_path,
        "cwd": thread.cwd,
        "scope": thread.scope,
        "source": thread.source,
        "updated_at": iso(thread.updated_at),
        "state": thread.state,
        "gate": thread.gate,
        "attempts": thread.attempts,
        "retry_at": iso(thread.retry_at),
        "last_error": _last_error(thread),
    }


def _last_error(thread: IndexedThread) -> str | None:
    if thread.last_error is not None or thread.index_error is not None:
        return thread.last_error if thread.last_error is not None else thread.index_error
    lost = f" ({counted(thread.skipped_lines)})" if thread.skipped_lines else ""
    if thread.gate is Gate.UNREADABLE and thread.total_lines == 0:
        return f"no line of it could be read{lost}: the file is torn or damaged"
    if thread.gate is Gate.UNREADABLE:
        return f"none of its {thread.total_lines} lines is understood{lost}"
    if thread.gate is Gate.OVERSIZE and thread.unpacks_past_limit:
        return (
            "unpacked, it is larger than gates.max_rollout_bytes, or a hundred times what is packed; "
            "if it is a log, unpack it, or raise the limit and touch the file"
        )
    return None


def thread_details(
    thread: IndexedThread, extraction: StoredExtraction | None, usage: Usage, drafts: Mapping[str, Draft]
) -> dict[str, Any]:
    """Return one thread with all that was stored for it; ``drafts`` are those of its entries, by entry."""
    entries = [entry for task in extraction.tasks for entry in task.entries] if extraction else []
    return {
        **thread_document(thread),
        "coverage": extraction.coverage if extraction else None,
        "raw_memory": extraction.raw_memory if extraction else None,
        "rollout_summary": extraction.rollout_summary if extraction else None,
        "slug": extraction.slug if extraction else None,
        "generated_at": iso(extraction.generated_at) if extraction else None,
        "usage_count": usage.count,
        "last_usage": iso(usage.last_usage),
        "skipped_lines": dict(thread.skipped_lines),
        "unknown_types": dict(thread.unknown_types),
        "skipped_places": [{"line": line, "reason": reason} for line, reason in thread.skipped_places],
        "dropped_entries": dict(extraction.dropped_entries) if extraction else {},
        "redactions": dict(extraction.redactions) if extraction else {},
        "entries": [entry_document(entry, drafts.get(entry.entry_id)) for entry in entries],
    }


def entry_document(entry: Entry, draft: Draft | None) -> dict[str, Any]:
    """Return one entry with its evidence, and what the review says of it."""
    return {
        "entry_id": entry.entry_id,
        "kind": entry.kind,
        "scope": entry.scope,
        "condition": entry.condition,
        "statement": entry.statement,
        "evidence": [_evidence_document(line) for line in entry.evidence],
        "label": draft.label if draft else None,
        "review_status": draft.review_status if draft else None,
    }


def memory_document(memory: Memory) -> dict[str, Any]:
    """Return one memory as ``memory list`` and ``memory show`` print it."""
    return {
        "memory_id": memory.memory_id,
        "kind": memory.kind,
        "scope": memory.scope,
        "condition": memory.condition,
        "statement": memory.statement,
        "status": memory.status_now,
        "pinned": memory.pinned,
        "entries": list(memory.entry_ids),
        "threads": list(memory.thread_ids),
        "first_seen": iso(memory.first_seen),
        "last_confirmed": iso(memory.last_confirmed),
        "usage_count": memory.usage.count,
        "last_usage": iso(memory.usage.last_usage),
        "supersedes": list(memory.supersedes),
        "superseded_by": memory.superseded_by,
    }


def short_time(seconds: float | None) -> str:
    """Return a moment for a table, to the minute in UTC; "" for none."""
    return (iso(seconds) or "")[:16].replace("T", " ")


def counted(counts: Mapping[str, int]) -> str:
    """Return counts as a phrase: ``3 too_recent, 1 source``."""
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _phase1_document(counts: Phase1Counts) -> dict[str, Any]:
    return {
        "discovered": counts.discovered,
        "eligible": counts.eligible,
        "claimed": counts.claimed,
        "succeeded": counts.succeeded,
        "no_output": counts.no_output,
        "failed": counts.failed,
        "skipped": dict(counts.skipped),
        "tokens": {"input": counts.input_tokens, "output": counts.output_tokens},
        "seconds": round(counts.seconds, 3),
    }


def _phase2_document(counts: Phase2Counts) -> dict[str, Any]:
    return {
        "outcome": counts.outcome,
        "selected": counts.selected,
        "added": counts.added,
        "modified": counts.modified,
        "removed": counts.removed,
        "seconds": round(counts.seconds, 3),
    }


def _evidence_document(line: EvidenceLine) -> dict[str, Any]:
    return {
        "rollout_path": line.rollout_path,
        "byte_start": line.byte_start,
        "byte_end": line.byte_end,
        "line_sha256": line.line_sha256,
        "speaker": line.speaker,
        "at": iso(line.at),
        "quote": line.quote,
    }


def printable(text: str) -> str:
    """Return a text without what could steer a terminal; line ends and other white space become spaces."""
    return "".join(map(_printable_character, text))


def _printable_character(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character.isspace() else "\N{REPLACEMENT CHARACTER}"


def _silent(done: int, total: int) -> None:
    """Say nothing."""


class _Lines:
    """A line every few seconds of long work."""

    def __init__(self, verb: str) -> None:
        self._verb = verb
        self._told_at = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if done and now - self._told_at >= _SECONDS_BETWEEN_LINES:
            self._told_at = now
            click.echo(f"{self._verb} {done} of {total} sessions", err=True)


_SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def _bars() -> Iterator[tuple[Progress, Progress]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        tasks: dict[str, Any] = {}

        def shower(description: str) -> Progress:
            def show(done: int, total: int) -> None:
                if total and description not in tasks:
                    tasks[description] = progress.add_task(description, total=total)
                if description in tasks:
                    progress.update(tasks[description], completed=done, total=total)

            return show  # type: ignore[return-value]

        yield shower("Indexing sessions"), shower("Extracting memories")  # type: ignore[misc]


def print_run(counts: RunCounts, options: PassOptions, config: Config, command: Callable[[str], str]) -> None:
    """Print what a run did, and where to look."""
    if options.phase1:
        phase1 = counts.phase1
        click.echo(
            f"Phase one: {phase1.discovered} sessions on disk, {phase1.eligible} due: "
            f"{phase1.succeeded} gave memories, {phase1.no_output} had nothing worth keeping, "
            f"{phase1.failed} failed ({phase1.seconds:.1f} s)."
        )
        if phase1.skipped:
            click.echo(f"           Held back: {counted(phase1.skipped)}.")
        if phase1.failed:
            click.echo(f"           `{command('threads list --state error')}` shows what failed and why.")
    if options.phase2:
        phase2 = counts.phase2
        click.echo(f"Phase two: {_PHASE2_SENTENCES[phase2.outcome]} ({phase2.seconds:.1f} s).")
        if phase2.outcome is Phase2Outcome.CONSOLIDATED:
            click.echo(
                f"           {phase2.selected} raw memories read; "
                f"{phase2.added} files added, {phase2.modified} modified, {phase2.removed} removed."
            )
    if counts.review.pending:
        click.echo(f"Review:    {drafts_wait(counts.review.pending, command)}.")
    handbook = config.workspace_path / "MEMORY.md"
    if handbook.is_file():
        click.echo(f"\nMemories:  {handbook}")
        click.echo(f"           {config.workspace_path / 'memory_summary.md'}")
        click.echo(f"Look:      less {shlex.quote(str(handbook))}")
        click.echo(f"           {command('memory list')}")
        click.echo(f"           {command('threads list')}")


def drafts_wait(waiting: int, command: Callable[[str], str]) -> str:
    """Say how many drafts wait for the person, and what shows them."""
    return f"{waiting} {'draft waits' if waiting == 1 else 'drafts wait'} for you: `{command('drafts review')}`"


_PHASE2_SENTENCES: Mapping[Phase2Outcome, str] = {
    Phase2Outcome.CONSOLIDATED: "consolidated",
    Phase2Outcome.NO_CHANGES: "no changes, nothing was touched",
    Phase2Outcome.NO_INPUTS: "nothing to remember yet",
    Phase2Outcome.COOLDOWN: "waits",
    Phase2Outcome.LOCKED: "another run holds the workspace",
    Phase2Outcome.FAILED: "failed; the published files are as they were",
    Phase2Outcome.SKIPPED: "not asked for",
}


def print_thread(document: Mapping[str, Any], thread: IndexedThread) -> None:
    """Print one thread with its entries and their evidence."""
    for name in ("thread_id", "agent", "rollout_path", "cwd", "scope", "source", "updated_at", "state", "gate"):
        if document[name] is not None:
            click.echo(f"{name + ':':14}{printable(str(document[name]))}")
    for name, flag in document["flags"].items():
        click.echo(f"{name + ':':14}{'on' if flag['in_force'] else 'off'} (from: {flag['origin']})")
    if document["last_error"]:
        click.echo(f"{'last_error:':14}{printable(redact(document['last_error']).text)} (tries: {thread.attempts})")
    if document["retry_at"]:
        click.echo(f"{'retry_at:':14}{document['retry_at']}")
    for name in ("skipped_lines", "unknown_types", "dropped_entries", "redactions"):
        if document[name]:
            click.echo(f"{name + ':':14}{printable(counted(document[name]))}")
    if document["coverage"] is None:
        click.echo("Nothing was extracted yet.")
        return
    click.echo(f"{'coverage:':14}{document['coverage']}")
    click.echo(f"\n{_printable_lines(document['rollout_summary'] or 'Nothing worth keeping.')}")
    for entry in document["entries"]:
        condition = f" ({entry['condition']})" if entry["condition"] else ""
        click.echo(f"\n{entry['kind']}: {printable(entry['statement'] + condition)}")
        print_evidence(entry["evidence"])


def print_memory(memory: Memory, entries: Sequence[Entry], operations: Sequence[AppliedOperation]) -> None:
    """Print one memory, what it rests on, and what was done to it."""
    document = memory_document(memory)
    condition = f" ({memory.condition})" if memory.condition else ""
    click.echo(f"{memory.kind}: {printable(memory.statement + condition)}")
    for name in ("memory_id", "scope", "status", "first_seen", "last_confirmed", "superseded_by"):
        if document[name] is not None:
            click.echo(f"{name + ':':16}{printable(document[name])}")
    if memory.reason:
        click.echo(f"{'reason:':16}{printable(memory.reason)}")
    if memory.supersedes:
        click.echo(f"{'supersedes:':16}{', '.join(memory.supersedes)}")
    for entry in entries:
        click.echo(f"\nfrom thread {printable(entry.thread_id)}: {printable(entry.statement)}")
        print_evidence(entry_document(entry, None)["evidence"])
    if operations:
        click.echo("\nHistory:")
        print_history(operations)


def print_history(operations: Sequence[AppliedOperation]) -> None:
    """Print what was done to a memory, oldest first."""
    for applied in operations:
        done = applied.operation
        other = f" [{done.other_memory_id}]" if done.other_memory_id else ""
        click.echo(f"  {short_time(applied.at)}  {done.kind}: {printable(done.reason)}{other}")
        if done.kind is OperationKind.REWORD and applied.before is not None:
            click.echo(f"      it said before: {printable(applied.before.statement)}")


def operation_document(applied: AppliedOperation) -> dict[str, Any]:
    """Return one operation of a history."""
    done = applied.operation
    return {
        "operation": done.kind,
        "actor": done.actor,
        "at": iso(applied.at),
        "consolidation": applied.consolidation_id,
        "reason": done.reason,
        "entry_id": done.entry_id,
        "other_memory_id": done.other_memory_id,
        "before": wording_document(applied.before),
    }


def consolidation_document(one: Consolidation) -> dict[str, Any]:
    """Return one consolidation of the history."""
    return {
        "consolidation": one.consolidation_id,
        "kind": one.kind,
        "started_at": iso(one.started_at),
        "finished_at": iso(one.finished_at),
        "undoes": one.undoes,
        "undone_by": one.undone_by,
        "operations": dict(one.operations),
    }


def wording_document(one: Memory | None) -> dict[str, Any] | None:
    """Return what a memory says and whether it is told; null for none."""
    if one is None:
        return None
    return {
        "kind": one.kind,
        "scope": one.scope,
        "condition": one.condition,
        "statement": one.statement,
        "status": one.status,
        "pinned": one.pinned,
        "reason": one.reason,
    }


def print_evidence(evidence: Sequence[Mapping[str, Any]]) -> None:
    """Print the lines that an entry rests on."""
    for line in evidence:
        when = f" {line['at']}" if line["at"] else ""
        place = f"{line['rollout_path']}:{line['byte_start']}-{line['byte_end']}"
        click.echo(f"  [{line['speaker']}{when}] {printable(' '.join(line['quote'].split()))[:200]}")
        click.echo(f"      {printable(place)}")


def print_toml(table: Mapping[str, Any], prefix: str = "") -> None:
    """Print nested settings as TOML."""
    for name, value in table.items():
        if not isinstance(value, Mapping):
            click.echo(f"{name} = {orjson.dumps(value).decode()}")
    for name, value in table.items():
        if isinstance(value, Mapping):
            if any(not isinstance(item, Mapping) for item in value.values()):
                click.echo(f"\n[{prefix}{name}]")
            print_toml(value, f"{prefix}{name}.")


def _printable_lines(text: str) -> str:
    return "\n".join(printable(line) for line in text.split("\n"))
