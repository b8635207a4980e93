"""What ``memory why`` prints: each memory whole, down to the words in the log."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from memory_pipeline.cli.output import entry_document, memory_document, operation_document, printable, short_time
from memory_pipeline.records import EvidenceLine, Memory
from memory_pipeline.redact import redact

if TYPE_CHECKING:
    from memory_pipeline.recall.why import ExplainedEntry, ExplainedMemory, Explanation
    from memory_pipeline.rollouts.readback import ReadBack

_WIDEST = 100
_LABEL_COLUMNS = 16


def why_document(query: str, explanation: Explanation) -> dict[str, Any]:
    """Return what ``memory why --json`` prints."""
    document = {
        "query": query,
        "memories": [_explained_document(item) for item in explanation.memories],
        "left_out": explanation.left_out,
    }
    masked: dict[str, Any] = _masked(document)
    return masked


def print_why(explanation: Explanation, *, listing: str) -> None:
    """Print the memories one after the other; ``listing`` is the command that shows all."""
    for number, item in enumerate(explanation.memories):
        if number:
            click.echo()
        for line in _memory_lines(item):
            click.echo(line)
    if explanation.left_out:
        click.echo()
        _echo_all(_wrapped(f"{explanation.left_out} more fit. Say more of the text, or see `{listing}`."))


def _explained_document(item: ExplainedMemory) -> dict[str, Any]:
    linked = [("supersedes", memory) for memory in item.supersedes]
    linked += [("superseded_by", item.superseded_by)] if item.superseded_by is not None else []
    return {
        **memory_document(item.memory),
        "reason": item.memory.reason,
        "independent_threads": item.independent_threads,
        "links": [
            {
                "relation": relation,
                "memory_id": memory.memory_id,
                "status": memory.status_now,
                "statement": memory.statement,
            }
            for relation, memory in linked
        ],
        "history": [operation_document(done) for done in item.history],
        "entries": [_entry_document(entry) for entry in item.entries],
    }


def _entry_document(item: ExplainedEntry) -> dict[str, Any]:
    document = entry_document(item.entry, None)
    pairs = zip(document["evidence"], item.evidence, strict=True)
    evidence = [{**stored, **_read_back_document(read)} for stored, read in pairs]
    named = {name: document[name] for name in ("entry_id", "kind", "scope", "condition", "statement")}
    return {**named, "thread_id": item.entry.thread_id, "stands": item.stands, "evidence": evidence}


def _read_back_document(read: ReadBack) -> dict[str, Any]:
    place = None
    if read.rollout_path is not None:
        place = {
            "rollout_path": read.rollout_path,
            "byte_start": read.byte_start,
            "byte_end": read.byte_end,
            "line": read.line_number,
        }
    return {"state": read.state, "words": read.words, "reason": read.reason, "found_at": place}


def _masked(value: Any) -> Any:
    """Mask every text of a document once more, ids and paths included: none of them looks like a secret."""
    if isinstance(value, str):
        return redact(value).text
    if isinstance(value, dict):
        return {name: _masked(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_masked(item) for item in value]
    return value


# --- text


def _memory_lines(item: ExplainedMemory) -> Iterator[str]:
    memory = item.memory
    yield from _wrapped(f"{memory.kind}: {memory.statement}")
    threads = item.independent_threads
    facts = (
        ("memory", f"{memory.memory_id}, {memory.status_now}{', pinned' if memory.pinned else ''}"),
        ("why so", memory.reason),
        ("scope", memory.scope),
        ("condition", memory.condition),
        ("first seen", short_time(memory.first_seen)),
        ("last confirmed", short_time(memory.last_confirmed)),
        ("said in", f"{threads} {'thread' if threads == 1 else 'threads'}"),
    )
    for name, told in facts:
        if told:
            yield from _wrapped(told, label=name)
    for older in item.supersedes:
        yield from _wrapped(_linked(older), label="took over from")
    if item.superseded_by is not None:
        yield from _wrapped(_linked(item.superseded_by), label="superseded by")
    if item.history:
        yield ""
        yield "  History"
        for done in item.history:
            what = f"{done.operation.kind}: {done.operation.reason}"
            yield from _wrapped(what, label=f"  {short_time(done.at)}")
    yield ""
    yield "  Rests on" if any(entry.stands for entry in item.entries) else "  Rests on nothing that still stands"
    for entry in item.entries:
        yield from _entry_lines(entry)


def _linked(memory: Memory) -> str:
    return f"{memory.memory_id} ({memory.status_now}): {memory.statement}"


def _entry_lines(item: ExplainedEntry) -> Iterator[str]:
    entry = item.entry
    withdrawn = "" if item.stands else " (withdrawn: its thread no longer says it)"
    condition = f" ({entry.condition})" if entry.condition else ""
    yield from _wrapped(f"{entry.kind}: {entry.statement}{condition}", indent=4)
    yield from _wrapped(f"entry {entry.entry_id} of thread {entry.thread_id}{withdrawn}", indent=6)
    for line, read in zip(entry.evidence, item.evidence, strict=True):
        yield from _evidence_lines(line, read)


def _evidence_lines(line: EvidenceLine, read: ReadBack) -> Iterator[str]:
    when = f" {short_time(line.at)}" if line.at is not None else ""
    reason = f": {read.reason}" if read.reason else ""
    yield from _wrapped(f"[{line.speaker}{when}] {read.state}{reason}", indent=6)
    yield from _wrapped(f'"{" ".join(read.words.split())}"', indent=8)
    if read.rollout_path is not None:
        place = f"{read.rollout_path}:{read.byte_start}-{read.byte_end}, line {read.line_number}"
    else:
        place = f"{line.rollout_path}:{line.byte_start}-{line.byte_end}"
    yield f"        {_safe(place)}"  # whole on one line, so that it can be copied


def _echo_all(lines: Iterator[str]) -> None:
    for line in lines:
        click.echo(line)


def _wrapped(text: str, *, indent: int = 0, label: str = "") -> Iterator[str]:
    """Fold a text to the terminal's width: behind a label, or indented; what is folded is indented alike."""
    from rich.console import Console
    from rich.text import Text

    if label:
        indent = max(_LABEL_COLUMNS, len(label) + 1) + 2
    width = min(shutil.get_terminal_size().columns, _WIDEST) - indent
    lines = Text(_safe(text)).wrap(Console(), max(width, 20))
    for number, line in enumerate(lines):
        lead = f"  {label}".ljust(indent) if label and number == 0 else " " * indent
        yield f"{lead}{line.plain.rstrip()}"


def _safe(text: str) -> str:
    return printable(redact(text).text)
